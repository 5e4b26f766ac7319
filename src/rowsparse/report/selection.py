"""The report of one selection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rowsparse.report import numbers, words
from rowsparse.report.bars import bar, box_rows, gauge, signed_bars
from rowsparse.report.charts import Level, Series, line_chart, stairs
from rowsparse.report.curves import k_curve, metric_name
from rowsparse.report.grids import (
    confusion_matrix,
    pixel_picture,
    signed_heat_map,
    triangle_heat_map,
)
from rowsparse.report.names import full, isolated, repeated
from rowsparse.report.page import Tile, both_widths, provenance, render
from rowsparse.report.svg import Svg

if TYPE_CHECKING:
    from rowsparse.workflow.results import (
        Alternative,
        Confusion,
        KCurve,
        ProgressPoint,
        RankedFeature,
        SelectionResult,
    )

__all__ = ["selection_page"]

# Beyond these a page is no longer read, and grows too large to open.
MOST_ROWS = 500
MOST_DRAWN = 40
MOST_GROUPS = 16
MOST_CLASSES = 30
MOST_IMAGES = 30


@dataclass(frozen=True)
class FeatureRow:
    """A feature in the table: its bars, and its column where its name alone is ambiguous."""

    feature: RankedFeature
    ambiguous: bool
    score_bar: Svg
    frequency_bar: Svg | None


@dataclass(frozen=True)
class Named:
    """A chart under the name of what it shows."""

    rank: int
    name: str
    chart: Svg


@dataclass(frozen=True)
class Neighbours:
    """A selected feature and those left out that are most like it."""

    rank: int
    name: str
    alternatives: tuple[Alternative, ...]


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
    return render(
        "selection.html.j2",
        result=result,
        title=f"{numbers.plural(result.k, 'feature')} that {words.purpose(result.data)}",
        summary=words.summary(result),
        tiles=_tiles(result),
        rows=_rows(result.features),
        curve=_curve(result.curve, result) if result.curve and result.curve.ks else None,
        curve_words=words.curve_sentence(result.curve) if result.curve else "",
        correlation=_correlation(result, drawn),
        correlation_words=words.correlation_sentence(result.correlation[:MOST_DRAWN, :MOST_DRAWN]),
        neighbours=_neighbours(result, drawn),
        distributions=_distributions(result),
        n_hidden_groups=_hidden_groups(result),
        coefficients=_coefficients(result, drawn),
        images=_images(result),
        stability_words=words.stability_sentence(result.stability),
        stability=_stability(result.stability),
        progress=_progress(result.progress) if result.progress else None,
        progress_words=words.progress_sentence(result.progress) if result.progress else "",
        proof=any(_bounded(point) for point in result.progress),
        confusion=_confusion(result.confusion) if result.confusion else None,
        confusion_words=words.confusion_sentence(result.confusion) if result.confusion else "",
        mistakes=_mistakes(result.confusion) if result.confusion else [],
        n_drawn=len(drawn),
        n_rows=min(MOST_ROWS, len(result.features)),
        origin=provenance(result.data, result.settings, result.versions, result.seconds),
    )


def _tiles(result: SelectionResult) -> list[Tile]:
    data = result.data
    tiles = [
        Tile(
            "Picked",
            f"{result.k:,} of {data.n_features:,}",
            "features" + (", as cross-validation chose" if result.k_was_chosen else ""),
        )
    ]
    if math.isfinite(result.score):
        name = metric_name(result.metric)
        spread = numbers.spread(result.metric, result.score_sd)
        tiles.append(
            Tile(
                f"{name[0].upper()}{name[1:]} on unseen samples",
                numbers.score(result.metric, result.score),
                f"{spread} over the folds" if spread else "",
            )
        )
    value, note = words.certificate_label(result.certificate)
    tiles.append(Tile("Best choice?", value, note, "" if value == "Not proven" else "good"))
    if result.stability is not None and math.isfinite(result.stability[0]):
        level = f"{result.stability[0]:.2f}".replace("-", "−")
        word = words.stability_word(result.stability[0])
        tiles.append(Tile("Stability", level, f"{word}; 1 is best"))
    return tiles


def _rows(features: tuple[RankedFeature, ...]) -> list[FeatureRow]:
    twice = repeated(feature.name for feature in features)
    scores = [f.score for f in features if math.isfinite(f.score)]
    largest = max(scores, default=0.0)
    return [
        FeatureRow(
            feature,
            feature.name in twice,
            bar(feature.score / largest if largest > 0 else 0.0),
            None
            if feature.frequency is None
            else bar(feature.frequency, feature.frequency_interval),
        )
        for feature in features[:MOST_ROWS]
    ]


def _curve(curve: KCurve, result: SelectionResult) -> Svg:
    levels = []
    if math.isfinite(result.baseline_score) and result.metric == curve.metric:
        reached = numbers.score(curve.metric, result.baseline_score)
        levels.append(Level(result.baseline_score, f"all features: {reached}"))
    return k_curve(curve, "taken", levels)


def _correlation(result: SelectionResult, drawn: tuple[RankedFeature, ...]) -> Svg | None:
    if len(drawn) < 2:
        return None
    return both_widths(
        triangle_heat_map,
        np.asarray(result.correlation, dtype=np.float64),
        [feature.name for feature in drawn],
        name="correlation-chart",
        title="Correlations of the selected features",
        desc=words.correlation_sentence(result.correlation[:MOST_DRAWN, :MOST_DRAWN]),
    )


def _neighbours(result: SelectionResult, drawn: tuple[RankedFeature, ...]) -> list[Neighbours]:
    rows = zip(drawn, result.alternatives, strict=False)
    return [Neighbours(f.rank, f.name, others[:3]) for f, others in rows if others]


def _distributions(result: SelectionResult) -> list[Named]:
    return [
        Named(
            rank,
            one.feature,
            box_rows(
                one.groups[:MOST_GROUPS],
                np.asarray(one.quantiles, dtype=np.float64)[:MOST_GROUPS].tolist(),
                name=f"distribution-{rank}",
                title=f"Distribution of feature {rank}, {full(one.feature, 60)}, per group",
                desc=_medians(one.groups[:MOST_GROUPS], one.quantiles),
            ),
        )
        for rank, one in enumerate(result.distributions[:MOST_DRAWN], start=1)
    ]


def _medians(groups: tuple[str, ...], quantiles: np.ndarray) -> str:
    middle = [numbers.number(float(row[2])) for row in quantiles[: len(groups)]]
    pairs = [f"{isolated(g, 20)} {m}" for g, m in zip(groups, middle, strict=True)]
    return f"Medians: {', '.join(pairs)}."


def _hidden_groups(result: SelectionResult) -> int:
    most = max((len(one.groups) for one in result.distributions), default=0)
    return max(0, most - MOST_GROUPS)


def _coefficients(result: SelectionResult, drawn: tuple[RankedFeature, ...]) -> Svg | None:
    width = max((len(feature.coefficients) for feature in drawn), default=0)
    if not width:
        return None
    features = [feature.name for feature in drawn]
    title = "Coefficients of the selected features"
    desc = "One row for each selected feature, in the order of the table above."
    if width == 1:
        values = [f.coefficients[0] if f.coefficients else math.nan for f in drawn]
        return both_widths(
            signed_bars, features, values, name="coefficient-chart", title=title, desc=desc
        )
    names = result.data.classes if len(result.data.classes) == width else result.data.targets
    if len(names) != width:
        names = tuple(f"target {at + 1}" for at in range(width))
    table = np.full((len(drawn), width), np.nan)
    for row, feature in zip(table, drawn, strict=True):
        row[: len(feature.coefficients)] = feature.coefficients
    return both_widths(
        signed_heat_map,
        table[:, :MOST_CLASSES],
        features,
        names[:MOST_CLASSES],
        name="coefficient-chart",
        title=f"{title}, for each {'class' if result.data.classes else 'target'}",
        desc=desc,
    )


def _images(result: SelectionResult) -> list[Named]:
    """The class means with the selected pixels; empty where the columns are not those pixels."""
    if result.image_shape is None or result.class_means is None:
        return []
    height, width = result.image_shape
    means = np.asarray(result.class_means, dtype=np.float64)
    if means.ndim != 2 or means.shape[1] != height * width or not means.size:
        return []
    low, high = float(np.nanmin(means)), float(np.nanmax(means))
    names = result.data.classes or tuple(str(at + 1) for at in range(len(means)))
    pixels = [f.index for f in result.features if 0 <= f.index < height * width]
    return [
        Named(
            at + 1,
            name,
            pixel_picture(
                image.reshape(height, width),
                pixels,
                low=low,
                high=high,
                name=f"image-{at + 1}",
                title=f"Mean image of {full(name, 60)} with the selected pixels",
                desc=f"{numbers.plural(len(pixels), 'pixel')} outlined.",
            ),
        )
        for at, (name, image) in enumerate(zip(names[:MOST_IMAGES], means, strict=False))
    ]


def _stability(stability: tuple[float, float, float] | None) -> Svg | None:
    if stability is None or not math.isfinite(stability[0]):
        return None
    return both_widths(
        gauge,
        stability[0],
        (stability[1], stability[2]),
        name="stability-chart",
        title="Stability of the selection",
        desc=words.stability_sentence(stability),
        ends=("0: as if drawn by lot", "1: always the same"),
        zones=words.STABILITY_ZONES,
    )


def _bounded(point: ProgressPoint) -> bool:
    return point.lower_bound is not None and math.isfinite(point.lower_bound)


def _progress(progress: tuple[ProgressPoint, ...]) -> Svg:
    times = [point.seconds for point in progress]
    objective = stairs(times, [point.objective for point in progress])
    bounds = [math.nan if p.lower_bound is None else p.lower_bound for p in progress]
    proof = stairs(times, bounds)
    positive = [time for time in times if time > 0]
    series = [Series("objective", *objective, style=0, dots=len(progress) == 1)]
    if any(map(math.isfinite, proof[1])):
        series.append(
            Series("lower bound", *proof, band=(proof[1], objective[1]), style=1, dots=False)
        )
    return both_widths(
        line_chart,
        series,
        name="progress-chart",
        title="Objective and lower bound over time",
        desc=words.progress_sentence(progress),
        x_label="seconds",
        y_label="objective",
        log_x=len(positive) == len(times) and max(positive) > 100 * min(positive),
    )


def _confusion(confusion: Confusion) -> Svg | None:
    if len(confusion.classes) > MOST_CLASSES:
        return None
    return both_widths(
        confusion_matrix,
        confusion.classes,
        confusion.counts,
        name="confusion-chart",
        title="Confusion matrix, cross-validated",
        desc=words.confusion_sentence(confusion),
    )


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
