"""The report of one selection, and its charts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from rowsparse._arrays import Array
from rowsparse._names import full, shown
from rowsparse._text import counted
from rowsparse.plotting import CertificateDisplay, NearOptimalDisplay, SurvivalDisplay
from rowsparse.plotting.axes import COLOURS, QUIET, draw_line
from rowsparse.report import words
from rowsparse.report.cell_charts import (
    MOST_GROUPS,
    Cells,
    boxes,
    confusion_cells,
    signed_cells,
    triangle_cells,
)
from rowsparse.report.charts import (
    NARROW,
    Chart,
    k_curve,
    named_rows,
    row_height,
    style_class,
    write_names,
)
from rowsparse.report.numbers import (
    decimal,
    digits_between,
    finite,
    fixed_format,
    metric_name,
    number,
    p_value,
    percent,
    score,
    spread,
)
from rowsparse.report.page import Tile, render
from rowsparse.report.words import repeated
from rowsparse.workflow.results import (
    Alternatives,
    ClassScore,
    Confusion,
    NumberScore,
    ProgressPoint,
    RankedFeature,
    SelectionResult,
    SurvivalScore,
)
from rowsparse.workflow.univariate import UnivariateTests

# A page with more than these would be too long to read and too large to open.
_MOST_ROWS = 500
_MOST_CLASSES = 30
# Distributions that are read.
_MOST_BOXES = 12
# Features, choices, targets and ROC curves that can be told apart.
_MOST_DRAWN = 40
_MOST_CHOICES = 60
_MOST_TARGETS = 6
_MOST_CURVES = 12
# p-values below 10 to the minus this are drawn there; more points than these are an image.
_LOWEST, _MOST_POINTS = 300.0, 500
# Pixels across a small chart, and of a side of a square one.
_SMALL, _SQUARE = 260, 420


def selection_page(result: SelectionResult) -> str:
    """The report of ``rowsparse select``: an HTML page with style, script and charts inside."""
    drawn = result.features[:_MOST_DRAWN]
    correlation = result.correlation[:_MOST_DRAWN, :_MOST_DRAWN]
    confusion = result.confusion
    charts = {chart.name: chart for chart in selection_charts(result)}
    roc, n_left_out = _drawn_classes(result)
    return render(
        "selection.html.j2",
        result=result,
        title=words.headline(result),
        summary=_summary(result),
        tiles=_tiles(result),
        most_rows=_MOST_ROWS,
        most_drawn=_MOST_DRAWN,
        most_groups=MOST_GROUPS,
        ambiguous=repeated(feature.name for feature in result.features),
        written=fixed_format(feature.score for feature in result.features),
        largest_score=max(finite(feature.score for feature in result.features), default=0.0),
        charts=charts,
        correlation=_correlation(correlation, drawn),
        correlation_words=words.correlation_sentence(correlation),
        alternatives_words=" ".join(_alternatives_words(result)),
        most_choices=_MOST_CHOICES,
        closest=[pair for pair in zip(drawn, result.closest, strict=False) if pair[1]],
        distributions=[boxes(one) for one in result.distributions[:_MOST_BOXES]],
        coefficients=_coefficients(result, drawn),
        confusion=_confusion(confusion) if confusion else None,
        mistakes=_mistakes(confusion) if confusion else [],
        observed=[chart for name, chart in charts.items() if name.startswith("observed")],
        legends=[
            [
                (one.name, style_class(at), f"{what} {decimal(getattr(one, field), 3)}")
                for at, one in enumerate(roc)
            ]
            for what, field in (("AUC", "auc"), ("average precision", "average_precision"))
        ],
        n_left_out=n_left_out,
    )


def _summary(result: SelectionResult) -> list[str]:
    held = [words.holdout_sentence(result.holdout)] if result.holdout else []
    return [
        words.asked_sentence(result),
        words.score_sentence(result),
        *held,
        words.certificate_sentence(result.certificate, result.k, result.method),
        *filter(None, [words.proven_sentence(result)]),
        *_alternatives_words(result),
    ]


def _tiles(result: SelectionResult) -> list[Tile]:
    how = ", as cross-validation chose" if result.k_was_chosen else ""
    picked, what = words.picked_of(result)
    tiles = [Tile("Picked", picked, f"{what}{how}")]
    if math.isfinite(result.score):
        name = metric_name(result.metric)
        around = spread(result.metric, result.score_sd)
        notes = [f"{around} over the folds"] if around else []
        if result.verdict:
            notes.append(words.verdict_words(result.verdict).partition(" (")[0])
        tiles.append(
            Tile(
                f"{name[0].upper()}{name[1:]} on unseen samples",
                score(result.metric, result.score),
                "; ".join(notes),
                words.tone(result.verdict),
            )
        )
    if result.holdout is not None:
        held = result.holdout
        name = metric_name(held.metric)
        tiles.append(
            Tile(
                f"{name[0].upper()}{name[1:]} on the holdout",
                score(held.metric, held.score),
                counted(held.n_samples, "sample"),
            )
        )
    if result.stability is not None and math.isfinite(result.stability[0]):
        level = result.stability[0]
        tiles.append(Tile("Stability", decimal(level), f"{words.stability_word(level)}; 1 is best"))
    value, note = words.certificate_label(result.certificate)
    # Without a colour: the least loss says nothing about other samples.
    tiles.append(Tile("Loss on these samples", value, note))
    return tiles


def _correlation(correlation: Array, drawn: tuple[RankedFeature, ...]) -> Cells | None:
    if len(drawn) < 2:
        return None
    names = [feature.name for feature in drawn]
    return triangle_cells(correlation, names, "Correlations of the selected features")


def _coefficients(result: SelectionResult, drawn: tuple[RankedFeature, ...]) -> Cells | None:
    """Cells of the coefficients of several classes or targets; those of one are a chart."""
    table = _coefficients_of(drawn)
    width = table.shape[1]
    if width < 2:
        return None
    names = result.data.outputs
    if len(names) != width:
        names = tuple(f"target {at + 1}" for at in range(width))
    features = [feature.name for feature in drawn]
    label = "Coefficients of the selected features, in the order of the table above"
    return signed_cells(table[:, :_MOST_CLASSES], features, names[:_MOST_CLASSES], label)


def _confusion(confusion: Confusion) -> Cells | None:
    if len(confusion.classes) > _MOST_CLASSES:
        return None
    return confusion_cells(confusion.classes, confusion.counts, "Confusion matrix, cross-validated")


def _mistakes(confusion: Confusion, most: int = 12) -> list[tuple[str, str, int]]:
    """The most frequent mistakes, for classes too many to draw."""
    if len(confusion.classes) <= _MOST_CLASSES:
        return []
    wrong = np.array(confusion.counts)
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    pairs = [divmod(int(at), len(wrong)) for at in order if wrong.flat[at] > 0]
    names = confusion.classes
    return [(names[i], names[j], int(wrong[i, j])) for i, j in pairs]


# ------------------------------------------------------------------------------------- the charts
def selection_charts(result: SelectionResult) -> list[Chart]:
    """The charts of the page."""
    charts: list[Chart] = []
    if result.alternatives and result.alternatives.features:
        listed = " ".join(_alternatives_words(result))
        charts.append(_alternatives(result.alternatives, listed))
    if result.tests:
        charts.append(_volcano(result.tests, result.features))
    if result.curve and result.curve.ks:
        metric, reached = result.curve.metric, result.baseline_score
        is_known = math.isfinite(reached) and result.metric == metric
        level = (reached, f"all features: {score(metric, reached)}") if is_known else None
        charts.append(k_curve("curve", result.curve, level))
    drawn = result.features[:_MOST_DRAWN]
    if _coefficients_of(drawn).shape[1] == 1:
        charts.append(_coefficient_bars(drawn))
    if result.stability is not None and math.isfinite(result.stability[0]):
        charts.append(_stability(*result.stability, words.stability_sentence(result)))
    if words.has_course(result.progress):
        charts.append(_search(result.progress))
    alone = len(result.number_scores) == 1
    for at, one in enumerate(result.number_scores[:_MOST_TARGETS], start=1):
        charts.append(_observed("observed" if alone else f"observed-{at}", one, alone=alone))
    if result.survival:
        charts.append(_survival(result.survival, result.data.targets[0]))
    classes, _ = _drawn_classes(result)
    return [*charts, _roc(classes), _precision_recall(classes)] if classes else charts


def _alternatives_words(result: SelectionResult) -> list[str]:
    near = result.alternatives
    return [words.alternatives_sentence(near, result.data.n_features)] if near else []


def _alternatives(near: Alternatives, label: str) -> Chart:
    """The best choices, and of their features the first."""
    choices = near.choices[:_MOST_CHOICES]
    member = np.array([np.isin(np.arange(len(near.features)), one) for one in choices])
    drawn = np.flatnonzero(member.any(axis=0))[:_MOST_CHOICES]
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
    lines = [-math.log10(max(tests.threshold(), 10**-_LOWEST))] if tests.count() else []
    named = [shown(feature.name, 20) for feature in features[:_MOST_DRAWN]]
    name = partial(write_names, points=points[chosen], names=named, lines=lines)

    def draw(axes: Any) -> None:
        is_image = len(others) > _MOST_POINTS
        cloud = {"ms": 3.4, "mew": 0, "color": QUIET, "alpha": 0.4, "rasterized": is_image}
        axes.plot(*points[others].T, "o", **cloud)
        dots = axes.scatter(*points[chosen].T, s=60, color=COLOURS[0], edgecolor="white", zorder=3)
        dots.set_urls(hints)
        axes.set(xlabel=tests.effect_name, ylabel="−log₁₀ of p")
        axes.set_ylim(bottom=0.0)
        for height in lines:
            axes.axhline(height, color=QUIET, ls="--", lw=1.2)
            axes.set_title("dashed: FDR 5 %", loc="right", color=QUIET)
        axes.grid(alpha=0.3)

    label = (
        f"{tests.effect_name} against p-value of all features, the selected ones marked. "
        f"{tests.count():,} of {tests.n_tested:,} features have a false discovery rate of 5 % at "
        "most."
    )
    return Chart("volcano", draw, label, 360, finish=name)


def _coefficients_of(features: Sequence[RankedFeature]) -> Array:
    """A row for each feature and a column for each class or target, NaN where there is none."""
    table = np.full(
        (len(features), max((len(one.coefficients) for one in features), default=0)), np.nan
    )
    for row, feature in zip(table, features, strict=True):
        row[: len(feature.coefficients)] = feature.coefficients
    return table


def _coefficient_bars(features: Sequence[RankedFeature]) -> Chart:
    values = _coefficients_of(features)[:, 0]

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

    return Chart("survival", draw, words.survival_sentence(found, time), 330.0)


def _search(progress: Sequence[ProgressPoint]) -> Chart:
    """The objective and its bound over time."""
    points = words.best_so_far(progress)
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

    label = f"Objective and lower bound over time. {words.progress_sentence(progress)}"
    return Chart("search", draw, label)


def _drawn_classes(result: SelectionResult) -> tuple[list[ClassScore], int]:
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
