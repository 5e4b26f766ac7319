"""The report of one selection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rowsparse._arrays import Array
from rowsparse._names import full
from rowsparse._text import counted
from rowsparse.report import score_words, search_words, words
from rowsparse.report.cells import Cells, confusion_cells, signed_cells, triangle_cells
from rowsparse.report.curves import k_curve
from rowsparse.report.lines import Series, line_chart, stairs
from rowsparse.report.names import isolated, repeated
from rowsparse.report.numbers import (
    decimal,
    digits_between,
    finite,
    fixed_format,
    metric_name,
    number,
    score,
    spread,
)
from rowsparse.report.objective import minimised
from rowsparse.report.page import Tile, render
from rowsparse.report.pixels import pixel_picture
from rowsparse.report.roc import roc_chart
from rowsparse.report.strips import Strips, boxes, gauge, proportions, signed_bars
from rowsparse.report.svg import Svg
from rowsparse.report.volcano import volcano

if TYPE_CHECKING:
    from rowsparse.workflow.results import (
        Confusion,
        KCurve,
        ProgressPoint,
        RankedFeature,
        SelectionResult,
    )

__all__ = ["selection_charts", "selection_page"]

Legend = list[tuple[str, str, str]]

# A page with more than these would be too long to read and too large to open.
MOST_ROWS = 500
MOST_DRAWN = 40
MOST_GROUPS = 16
MOST_CLASSES = 30
MOST_IMAGES = 30
# How the tile of the score looks, by the verdict on it.
_TONES = {"better": "good", "unclear": "", "worse": "warn"}


def selection_page(result: SelectionResult) -> str:
    """The report of ``rowsparse select`` as one HTML page.

    Parameters
    ----------
    result : SelectionResult
        What was found out.

    Returns
    -------
    str
        The page: style, script and charts are inside, and nothing is fetched.
    """
    drawn = result.features[:MOST_DRAWN]
    correlation = result.correlation[:MOST_DRAWN, :MOST_DRAWN]
    confusion = result.confusion
    charts = {name: chart for name, (chart, _) in selection_charts(result).items()}
    return render(
        "selection.html.j2",
        result=result,
        title=f"{words.features(result.k, len(result.features))} that {words.purpose(result.data)}",
        summary=_summary(result),
        tiles=_tiles(result),
        most_rows=MOST_ROWS,
        most_drawn=MOST_DRAWN,
        most_groups=MOST_GROUPS,
        ambiguous=repeated(feature.name for feature in result.features),
        written=fixed_format(feature.score for feature in result.features),
        largest_score=max(finite(feature.score for feature in result.features), default=0.0),
        curve=charts.get("curve"),
        curve_words=score_words.curve_sentence(result.curve) if result.curve else "",
        correlation=_correlation(correlation, drawn),
        correlation_words=words.correlation_sentence(correlation),
        alternatives=[pair for pair in zip(drawn, result.alternatives, strict=False) if pair[1]],
        distributions=_distributions(result),
        coefficients=_coefficients(result, drawn),
        images=_images(result),
        stability_words=words.stability_sentence(result),
        stability=_stability(result),
        progress=charts.get("search"),
        progress_words=search_words.progress_sentence(result.progress) if result.progress else "",
        minimised=minimised(result.settings),
        has_bounds=any(map(math.isfinite, _bounds(result.progress))),
        confusion=_confusion(confusion) if confusion else None,
        confusion_words=score_words.confusion_sentence(confusion) if confusion else "",
        mistakes=_mistakes(confusion) if confusion else [],
        volcano=charts.get("volcano"),
        effect_words=words.effect_words,
        effect_word=words.EFFECT_WORDS[result.tests.effect_name] if result.tests else "",
        direction_words=words.direction_words(result.tests) if result.tests else "",
        tests_words=words.tests_sentence(result.tests) if result.tests else "",
        roc=roc_chart(result.class_scores, two_classes=len(result.data.classes) == 2),
    )


def selection_charts(result: SelectionResult) -> dict[str, tuple[Svg, Legend]]:
    """The line charts of the page by name, each with its legend."""
    charts: dict[str, tuple[Svg, Legend]] = {}
    if result.curve and result.curve.ks:
        charts["curve"] = _curve(result, result.curve), []
    if result.tests:
        charts["volcano"] = volcano(result.tests, result.features, MOST_DRAWN), []
    roc = roc_chart(result.class_scores, two_classes=len(result.data.classes) == 2)
    if roc:
        charts["roc"] = roc.drawing, roc.legend
    if search_words.has_course(result.progress):
        names = [("objective", "s0", ""), ("lower bound", "s1", "")]
        bounded = any(map(math.isfinite, _bounds(result.progress)))
        charts["search"] = _progress(result.progress), names if bounded else names[:1]
    return charts


def _summary(result: SelectionResult) -> list[str]:
    held = [score_words.holdout_sentence(result.holdout)] if result.holdout else []
    return [
        words.asked_sentence(result),
        score_words.score_sentence(result),
        *held,
        search_words.certificate_sentence(result.certificate, result.k, result.method),
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
            notes.append(score_words.verdict_words(result.verdict).partition(" (")[0])
        tiles.append(
            Tile(
                f"{name[0].upper()}{name[1:]} on unseen samples",
                score(result.metric, result.score),
                "; ".join(notes),
                _TONES[result.verdict.level] if result.verdict else "",
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
    value, note = search_words.certificate_label(result.certificate)
    tiles.append(Tile("Best choice?", value, note, "" if value == "Not proven" else "good"))
    if result.stability is not None and math.isfinite(result.stability[0]):
        level = result.stability[0]
        tiles.append(Tile("Stability", decimal(level), f"{words.stability_word(level)}; 1 is best"))
    return tiles


def _curve(result: SelectionResult, curve: KCurve) -> Svg:
    if not math.isfinite(result.baseline_score) or result.metric != curve.metric:
        return k_curve(curve, "taken")
    reached = score(curve.metric, result.baseline_score)
    return k_curve(curve, "taken", (result.baseline_score, f"all features: {reached}"))


def _correlation(correlation: Array, drawn: tuple[RankedFeature, ...]) -> Cells | None:
    if len(drawn) < 2:
        return None
    names = [feature.name for feature in drawn]
    return triangle_cells(correlation, names, "Correlations of the selected features")


def _distributions(result: SelectionResult) -> list[tuple[str, Strips]]:
    """For each of the first features its name, and its distribution in each group."""
    charts = []
    for one in result.distributions[:MOST_DRAWN]:
        groups = one.groups[:MOST_GROUPS]
        quantiles = np.asarray(one.quantiles, dtype=np.float64)[:MOST_GROUPS]
        if one.shares:
            shares = one.shares[:MOST_GROUPS]
            label = f"Share of ones of {full(one.feature, 60)} in each group"
            charts.append((one.feature, proportions(groups, shares, label)))
            continue
        medians = [
            f"{isolated(group, 20)} {number(row[2])}"
            for group, row in zip(groups, quantiles.tolist(), strict=True)
        ]
        label = f"Distribution of {full(one.feature, 60)}. Medians: {', '.join(medians)}."
        charts.append((one.feature, boxes(groups, quantiles, label)))
    return charts


def _coefficients(
    result: SelectionResult, drawn: tuple[RankedFeature, ...]
) -> Cells | Strips | None:
    width = max((len(feature.coefficients) for feature in drawn), default=0)
    if not width:
        return None
    features = [feature.name for feature in drawn]
    label = "Coefficients of the selected features, in the order of the table above"
    table = np.full((len(drawn), width), np.nan)
    for row, feature in zip(table, drawn, strict=True):
        row[: len(feature.coefficients)] = feature.coefficients
    if width == 1:
        return signed_bars(features, table[:, 0].tolist(), label)
    names = result.data.classes if len(result.data.classes) == width else result.data.targets
    if len(names) != width:
        names = tuple(f"target {at + 1}" for at in range(width))
    return signed_cells(table[:, :MOST_CLASSES], features, names[:MOST_CLASSES], label)


def _images(result: SelectionResult) -> list[tuple[str, Svg]]:
    """The class means with the selected pixels; empty where the columns are not those pixels."""
    if result.image_shape is None or result.class_means is None:
        return []
    height, width = result.image_shape
    means = np.asarray(result.class_means, dtype=np.float64)
    if means.ndim != 2 or means.shape[1] != height * width or not means.size:
        return []
    low, high = float(np.nanmin(means)), float(np.nanmax(means))
    ink = (means - low) / ((high - low) or 1.0)
    names = result.data.classes or tuple(str(at + 1) for at in range(len(means)))
    pixels = [f.index for f in result.features if 0 <= f.index < height * width]
    marked = f"{counted(len(pixels), 'selected pixel')} outlined"
    return [
        (
            name,
            pixel_picture(
                image.reshape(height, width), pixels, f"Mean image of {full(name, 60)}, {marked}."
            ),
        )
        for name, image in zip(names[:MOST_IMAGES], ink, strict=False)
    ]


def _stability(result: SelectionResult) -> Svg | None:
    if result.stability is None or not math.isfinite(result.stability[0]):
        return None
    value, *interval = result.stability
    label = words.stability_sentence(result)
    return gauge(value, (interval[0], interval[1]), zones=words.STABILITY_ZONES, label=label)


def _bounds(progress: Sequence[ProgressPoint]) -> list[float]:
    return [math.nan if point.lower_bound is None else point.lower_bound for point in progress]


def _progress(progress: tuple[ProgressPoint, ...]) -> Svg:
    points = search_words.best_so_far(progress)
    times = [point.seconds for point in points]
    objective = stairs(times, [point.objective for point in points])
    bound = stairs(times, _bounds(points))
    shown = finite([*objective[1], *bound[1]])
    series = [Series("objective", *objective, style=0, dots=False)]
    if any(map(math.isfinite, bound[1])):
        band = (bound[1], objective[1])
        series.append(Series("lower bound", *bound, band=band, style=1, dots=False))
    return line_chart(
        series,
        label=f"Objective and lower bound over time. {search_words.progress_sentence(progress)}",
        x_label="seconds",
        y_label="objective",
        y_format=partial(number, digits=digits_between(min(shown), max(shown))),
        log_x=min(times) > 0 and max(times) > 100 * min(times),
    )


def _confusion(confusion: Confusion) -> Cells | None:
    if len(confusion.classes) > MOST_CLASSES:
        return None
    return confusion_cells(confusion.classes, confusion.counts, "Confusion matrix, cross-validated")


def _mistakes(confusion: Confusion, most: int = 12) -> list[tuple[str, str, int]]:
    """The most frequent mistakes, for classes too many to draw."""
    if len(confusion.classes) <= MOST_CLASSES:
        return []
    wrong = np.array(confusion.counts)
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    pairs = [divmod(int(at), len(wrong)) for at in order if wrong.flat[at] > 0]
    names = confusion.classes
    return [(names[i], names[j], int(wrong[i, j])) for i, j in pairs]
