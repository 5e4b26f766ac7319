"""The charts of the report of one selection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from rowsparse._arrays import Array
from rowsparse._names import full, shown
from rowsparse.plotting import CertificateDisplay, NearOptimalDisplay, SurvivalDisplay
from rowsparse.plotting.axes import COLOURS, QUIET, draw_line
from rowsparse.report import score_words, search_words, words
from rowsparse.report.charts import (
    NARROW,
    Chart,
    k_curve,
    named_rows,
    row_height,
    write_names,
)
from rowsparse.report.numbers import decimal, digits_between, number, p_value, percent, score
from rowsparse.report.words import isolated
from rowsparse.workflow.results import (
    Alternatives,
    ClassScore,
    Distribution,
    NumberScore,
    ProgressPoint,
    RankedFeature,
    SelectionResult,
    SurvivalScore,
)
from rowsparse.workflow.univariate import UnivariateTests

__all__ = [
    "MOST_CHOICES",
    "MOST_DRAWN",
    "MOST_GROUPS",
    "alternatives_words",
    "coefficients_of",
    "distribution_charts",
    "drawn_classes",
    "selection_charts",
]

# Features, groups of samples and ROC curves that can be told apart; distributions that are read.
MOST_DRAWN = 40
MOST_GROUPS = 16
MOST_CHOICES = 60
_MOST_TARGETS = 6
_MOST_CURVES = 12
_MOST_DISTRIBUTIONS = 12
# p-values below 10 to the minus this are drawn there; more points than these are an image.
_LOWEST, _MOST_POINTS = 300.0, 500
# Pixels across a small chart, and of a side of a square one.
_SMALL, _SQUARE = 260, 420


def selection_charts(result: SelectionResult) -> list[Chart]:
    """The charts of the page, except the small ones of each feature."""
    charts: list[Chart] = []
    if result.alternatives and result.alternatives.features:
        listed = " ".join(alternatives_words(result))
        charts.append(_alternatives(result.alternatives, listed))
    if result.tests:
        charts.append(_volcano(result.tests, result.features))
    if result.curve and result.curve.ks:
        metric, reached = result.curve.metric, result.baseline_score
        is_known = math.isfinite(reached) and result.metric == metric
        level = (reached, f"all features: {score(metric, reached)}") if is_known else None
        charts.append(k_curve("curve", result.curve, level))
    drawn = result.features[:MOST_DRAWN]
    if coefficients_of(drawn).shape[1] == 1:
        charts.append(_coefficients(drawn))
    if result.stability is not None and math.isfinite(result.stability[0]):
        charts.append(_stability(*result.stability, words.stability_sentence(result)))
    if search_words.has_course(result.progress):
        charts.append(_search(result.progress))
    alone = len(result.number_scores) == 1
    for at, one in enumerate(result.number_scores[:_MOST_TARGETS], start=1):
        charts.append(_observed("observed" if alone else f"observed-{at}", one, alone=alone))
    if result.survival:
        charts.append(_survival(result.survival, result.data.targets[0]))
    classes, _ = drawn_classes(result)
    return [*charts, _roc(classes), _precision_recall(classes)] if classes else charts


def alternatives_words(result: SelectionResult) -> list[str]:
    near = result.alternatives
    return [search_words.alternatives_sentence(near, result.data.n_features)] if near else []


def _alternatives(near: Alternatives, label: str) -> Chart:
    """The best choices, and of their features the first."""
    choices = near.choices[:MOST_CHOICES]
    member = np.array([np.isin(np.arange(len(near.features)), one) for one in choices])
    drawn = np.flatnonzero(member.any(axis=0))[:MOST_CHOICES]
    features = [near.features[j] for j in drawn.tolist()]
    display = NearOptimalDisplay(
        [one.name + (f" or {len(one.copies)} like it" if one.copies else "") for one in features],
        member[:, drawn],
        np.maximum(near.increases[: len(choices)], 0.0),
        np.array([one.verdict == "all" for one in features]),
    )
    return Chart("alternatives", display.plot, label, 72 * display.figure_size[1])


def _volcano(tests: UnivariateTests, features: Sequence[RankedFeature]) -> Chart:
    """Effect against p-value of all features, the selected ones with their names."""
    known = np.abs(tests.effects[np.isfinite(tests.effects)]).max(initial=0.0) or 1.0
    # Infinite effects are drawn at the end of the others.
    effects = np.nan_to_num(np.clip(tests.effects, -known, known))
    points = np.column_stack([effects, -np.log10(np.maximum(tests.p, 10**-_LOWEST))])
    chosen = np.array([feature.index for feature in features], dtype=int)
    others = np.setdiff1d(np.flatnonzero(~np.isnan(tests.p + tests.effects)), chosen)
    hints = [
        f"{full(feature.name, 80)}: {tests.effect_name} {decimal(float(tests.effects[j]))}, "
        f"p {p_value(float(tests.p[j]))}, FDR {p_value(float(tests.fdr[j]))}"
        for feature, j in zip(features, chosen.tolist(), strict=True)
    ]

    def draw(axes: Any) -> None:
        is_image = len(others) > _MOST_POINTS
        cloud = {"ms": 3.4, "mew": 0, "color": QUIET, "alpha": 0.4, "rasterized": is_image}
        axes.plot(*points[others].T, "o", **cloud)
        dots = axes.scatter(*points[chosen].T, s=60, color=COLOURS[0], edgecolor="white", zorder=3)
        dots.set_urls(hints)
        axes.set(xlabel=tests.effect_name, ylabel="−log₁₀ of p")
        axes.set_ylim(bottom=0.0)
        lines = []
        if tests.count():
            lines = [-math.log10(max(tests.threshold(), 10**-_LOWEST))]
            axes.axhline(lines[0], color=QUIET, ls="--", lw=1.2)
            axes.set_title("dashed: FDR 5 %", loc="right", color=QUIET)
        axes.grid(alpha=0.3)
        named = [shown(feature.name, 20) for feature in features[:MOST_DRAWN]]
        write_names(axes, points[chosen], named, lines)

    label = (
        f"{tests.effect_name} against p-value of all features, the selected ones marked. "
        f"{tests.count():,} of {tests.n_tested:,} features have a false discovery rate of 5 % at "
        "most."
    )
    return Chart("volcano", draw, label, 360)


def coefficients_of(features: Sequence[RankedFeature]) -> Array:
    """A row for each feature and a column for each class or target, NaN where there is none."""
    table = np.full(
        (len(features), max((len(one.coefficients) for one in features), default=0)), np.nan
    )
    for row, feature in zip(table, features, strict=True):
        row[: len(feature.coefficients)] = feature.coefficients
    return table


def _coefficients(features: Sequence[RankedFeature]) -> Chart:
    values = coefficients_of(features)[:, 0]

    def draw(axes: Any) -> None:
        named_rows(axes, [feature.name for feature in features])
        colours = [COLOURS[int(value < 0)] for value in values]
        bars = axes.barh(range(len(values)), np.nan_to_num(values), color=colours, height=0.7)
        axes.bar_label(bars, [number(value) for value in values], padding=4, color=QUIET)
        axes.axvline(0.0, color=QUIET, lw=0.8)
        # Room for the numbers beside the bars, in pixels.
        axes.margins(x=120 / axes.get_window_extent().width)
        axes.set_xlabel("coefficient")

    label = "Coefficients of the selected features, in the order of the table above"
    return Chart("coefficients", draw, label, row_height(len(values)))


def _stability(value: float, low: float, high: float, label: str) -> Chart:
    """One number from 0 to 1 with its interval, over the zones of poor and excellent agreement."""

    def draw(axes: Any) -> None:
        for start, stop in pairwise((0.0, *words.STABILITY_ZONES, 1.0)):
            axes.barh(0, stop - start - 0.004, left=start, color=QUIET, alpha=0.2, height=0.9)
        ends = np.clip(np.nan_to_num([low, high], nan=value), 0.0, 1.0)
        axes.plot(ends, [0, 0], color=COLOURS[0], lw=7, alpha=0.5, solid_capstyle="round")
        axes.plot(np.clip(value, 0.0, 1.0), 0, "o", color=COLOURS[0], ms=13, mec="white")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.6, 0.6), yticks=[])
        axes.set_xticks([0.0, 1.0], ["0: as if drawn by lot", "1: always the same"])
        for at, text in enumerate(axes.get_xticklabels()):
            text.set_ha(("left", "right")[at])
        axes.spines[:].set_visible(False)

    return Chart("stability", draw, label, 48, (540, NARROW))


def _observed(name: str, scores: NumberScore, *, alone: bool = True) -> Chart:
    """The observed numbers against the predicted ones, with a line where they are the same.

    A chart that is one of several is small.
    """

    def draw(axes: Any) -> None:
        both = (*scores.observed, *scores.predicted)
        axes.axline((min(both),) * 2, slope=1.0, color=QUIET, ls="--", lw=1.2)
        dots = {"color": COLOURS[0], "alpha": 0.55, "linewidths": 0, "s": 22}
        axes.scatter(scores.predicted, scores.observed, **dots)
        axes.grid(alpha=0.3)
        axes.set_xlabel("predicted")
        axes.set_ylabel("observed")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: number(value))

    words = (
        f"Observed against predicted {full(scores.name, 40)} of held-out samples: RMSE "
        f"{number(scores.rmse)}, with the mean as the prediction {number(scores.guess_rmse)}."
    )
    widths = (_SQUARE, NARROW) if alone else (_SMALL,)
    return Chart(name, draw, words, min(_SQUARE, 1.1 * widths[-1]), widths)


def _survival(found: SurvivalScore, time: str) -> Chart:
    """Kaplan-Meier curves of the halves of the held-out samples by risk."""
    display = SurvivalDisplay(
        list(found.halves), ["higher risk", "lower risk"], time_name=full(time, 40)
    )

    def draw(axes: Any) -> None:
        display.plot(axes)
        axes.yaxis.set_major_formatter(lambda value, _: percent(value, 0))
        axes.xaxis.set_major_formatter(lambda value, _: number(value))

    return Chart("survival", draw, score_words.survival_sentence(found, time), 330.0)


def _search(progress: Sequence[ProgressPoint]) -> Chart:
    """The objective and its bound over time."""
    points = search_words.best_so_far(progress)
    bounds = np.array([math.nan if one.lower_bound is None else one.lower_bound for one in points])
    objectives = np.array([point.objective for point in points])
    times = np.array([point.seconds for point in points])
    gap = float((objectives[-1] - bounds[-1]) / abs(objectives[-1])) if objectives[-1] else 0.0
    display = CertificateDisplay(times, objectives, bounds, gap=gap, proven=gap <= 0)

    def draw(axes: Any) -> None:
        display.plot(axes)
        # The sentence above the chart says the same.
        axes.set_title("")
        axes.set_xlabel("seconds")
        digits = digits_between(*axes.get_ylim())
        axes.yaxis.set_major_formatter(lambda value, _: number(value, digits))

    label = f"Objective and lower bound over time. {search_words.progress_sentence(progress)}"
    return Chart("search", draw, label)


def drawn_classes(result: SelectionResult) -> tuple[list[ClassScore], int]:
    """The classes with a ROC curve each, and how many more have one.

    Of two classes one has all there is to see, and of too many those with the smallest areas are
    drawn.
    """
    known = [one for one in result.class_scores if one.false_positive_rate]
    if len(result.data.classes) == 2:
        known = known[1:]
    worst = sorted(known, key=lambda one: one.auc)[:_MOST_CURVES]
    return [one for one in known if one in worst], len(known) - len(worst)


def _roc(classes: Sequence[ClassScore]) -> Chart:
    """How many of a class are found, against how many others are taken for it."""

    def draw(axes: Any) -> None:
        axes.plot([0, 1], [0, 1], color=QUIET, ls="--", lw=1.2)
        curves = [(one.false_positive_rate, one.true_positive_rate) for one in classes]
        _draw_curves(axes, classes, curves)
        axes.set(xlabel="others taken for it (1 − specificity)", ylabel="found (sensitivity)")

    areas = ", ".join(f"{full(one.name, 40)} {decimal(one.auc, 3)}" for one in classes)
    return Chart("roc", draw, f"ROC curves. Area under the curve: {areas}.", 380, (440, NARROW))


def _precision_recall(classes: Sequence[ClassScore]) -> Chart:
    """How many of those taken for a class are of it, against how many of it are found."""

    def draw(axes: Any) -> None:
        if len(classes) == 1:
            axes.axhline(classes[0].share, color=QUIET, ls="--", lw=1.2)
        _draw_curves(axes, classes, [(one.recall, one.precision) for one in classes])
        axes.set(xlabel="found (sensitivity)", ylabel="right among those taken for it (precision)")

    means = ", ".join(
        f"{full(one.name, 40)} {decimal(one.average_precision, 3)}" for one in classes
    )
    words = f"Precision-recall curves. Average precision: {means}."
    return Chart("precision-recall", draw, words, 380, (440, NARROW))


def _draw_curves(axes: Any, classes: Sequence[ClassScore], curves: Sequence[Any]) -> None:
    """A line for each class, between 0 and 1."""
    for at, (one, (x, y)) in enumerate(zip(classes, curves, strict=True)):
        name = shown(one.name, 30)
        line = draw_line(axes, x, y, number=at, marker="", linewidth=2.0, label=name)
        line.lines[0].set_gid(f"series-{at}")
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    axes.grid(alpha=0.3)


def distribution_charts(result: SelectionResult) -> list[tuple[str, Chart]]:
    """For each of the first features its name, and its distribution in each group."""
    return [
        (one.feature, _distribution(f"distribution-{at + 1}", one))
        for at, one in enumerate(result.distributions[:_MOST_DISTRIBUTIONS])
    ]


def _distribution(name: str, one: Distribution) -> Chart:
    groups = one.groups[:MOST_GROUPS]
    title = full(one.feature, 60)
    if one.shares:
        draw = partial(_draw_shares, groups=groups, shares=np.array(one.shares[:MOST_GROUPS]))
        label = f"Share of ones of {title} in each group"
    else:
        quantiles = np.asarray(one.quantiles, dtype=np.float64)[:MOST_GROUPS]
        medians = ", ".join(
            f"{isolated(group, 20)} {number(row[2])}"
            for group, row in zip(groups, quantiles.tolist(), strict=True)
        )
        draw = partial(_draw_boxes, groups=groups, quantiles=quantiles)
        label = f"Distribution of {title}. Medians: {medians}."
    return Chart(name, draw, label, row_height(len(groups)) - 18, (_SMALL,))


def _draw_boxes(axes: Any, groups: Sequence[str], quantiles: Array) -> None:
    """For each group a line from 5 to 95 %, a box from 25 to 75 % and a stroke at the median."""
    named_rows(axes, groups)
    rows = np.arange(len(groups))
    p5, p25, p50, p75, p95 = quantiles.T
    axes.hlines(rows, p5, p95, color=COLOURS[0], lw=1.2)
    axes.barh(rows, p75 - p25, left=p25, height=0.6, color=COLOURS[0], alpha=0.4)
    middles = axes.vlines(p50, rows - 0.36, rows + 0.36, color="black", lw=2)
    middles.set_urls(
        [
            f"median {number(row[2])}, middle half {number(row[1])} to {number(row[3])}"
            for row in quantiles.tolist()
        ]
    )
    axes.locator_params(axis="x", nbins=4)
    axes.xaxis.set_major_formatter(lambda value, _: number(value))


def _draw_shares(axes: Any, groups: Sequence[str], shares: Array) -> None:
    """For each group a bar as long as its share of ones."""
    named_rows(axes, groups)
    rows = range(len(groups))
    axes.barh(rows, 1.0, height=0.5, color=QUIET, alpha=0.2)
    axes.barh(rows, np.nan_to_num(shares), height=0.5, color=COLOURS[0])
    labels = [percent(share, 0) for share in shares.tolist()]
    for row, text in zip(rows, labels, strict=True):
        place = {"textcoords": "offset points", "va": "center_baseline", "annotation_clip": False}
        axes.annotate(text, (1.0, row), (5, 0), color=QUIET, **place)
    axes.set(xlim=(0, 1), xticks=[])
    axes.spines[:].set_visible(False)
