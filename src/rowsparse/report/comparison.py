"""The report of a comparison of methods."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rowsparse._names import shown
from rowsparse._text import counted
from rowsparse.report import score_words, words
from rowsparse.report.agreement import agreement
from rowsparse.report.curves import mean_and_band, score_axis
from rowsparse.report.labels import placed_labels
from rowsparse.report.lines import HEAD, Series, line_chart, style_class
from rowsparse.report.names import isolated, listing
from rowsparse.report.numbers import (
    best_word,
    decimal,
    metric_name,
    score,
    seconds,
    spread,
)
from rowsparse.report.page import Tile, render
from rowsparse.report.strips import Interval, Strips, dots
from rowsparse.report.svg import Scale, Svg, join

if TYPE_CHECKING:
    from rowsparse.evaluation import Record, SelectionCurve
    from rowsparse.workflow.results import ComparisonResult

__all__ = ["comparison_charts", "comparison_page"]

MOST_ROWS = 1000
# A reference line may widen the axis of the scores by this many times its length.
_MOST_AIR = 1.0


@dataclass(frozen=True)
class MethodRow:
    """A method with one number of features.

    ``scores`` has the mean over the folds and its standard deviation for each estimator; ``mean``
    and ``sd`` are those of the first, and ``sign`` is -1 if a lower score is better.
    """

    method: str
    style: str
    k: int
    scores: list[tuple[float, float]]
    stability: float
    redundancy: float
    seconds: float
    sign: int = 1

    @property
    def mean(self) -> float:
        return self.scores[0][0]

    @property
    def merit(self) -> float:
        """The higher, the better."""
        return self.sign * self.mean

    @property
    def sd(self) -> float:
        return self.scores[0][1]


def comparison_page(result: ComparisonResult) -> str:
    """The report of ``rowsparse compare`` as one HTML page.

    Parameters
    ----------
    result : ComparisonResult
        What was found out.

    Returns
    -------
    str
        The page: style, script and charts are inside, and nothing is fetched.
    """
    curve = result.curve
    rows = _rows(curve)
    best = _best(rows)
    return render(
        "comparison.html.j2",
        result=result,
        title=f"{counted(_n_compared(rows), 'method')} compared: features that "
        f"{words.purpose(result.data)}",
        metric=curve.metrics[0],
        estimators=curve.estimators,
        summary=_summary(result, rows),
        tiles=_tiles(curve, rows),
        rows=rows,
        most_rows=MOST_ROWS,
        top_scores=_top_scores(rows),
        legend=[(name, style_class(at), "") for at, name in enumerate(curve.selectors)],
        scores=_score_chart(result, rows) if len(curve.ks) > 1 else None,
        dots=_dots(result, rows) if len(curve.ks) == 1 else None,
        reference_words=_reference_sentence(result, rows),
        agreement=agreement(curve, result.names, best.k) if best else None,
        times=_time_chart(curve, rows),
        failures=Counter((r.selector, r.error) for r in curve.records if r.error),
        protocol_words=_protocol_sentence(curve.protocol),
    )


def comparison_charts(
    result: ComparisonResult,
) -> dict[str, tuple[Svg, list[tuple[str, str, str]]]]:
    """The line charts of the page by name, each with its legend."""
    rows, curve = _rows(result.curve), result.curve
    legend = [(name, style_class(at), "") for at, name in enumerate(curve.selectors)]
    drawn = {"times": _time_chart(curve, rows)}
    if len(curve.ks) > 1:
        drawn["scores"] = _score_chart(result, rows)
    return {name: (chart, legend) for name, chart in drawn.items() if chart is not None}


def _rows(curve: SelectionCurve) -> list[MethodRow]:
    grouped: dict[tuple[str, str, int], list[Record]] = defaultdict(list)
    for record in curve.records:
        grouped[record.selector, record.estimator, record.k].append(record)
    metric, first = curve.metrics[0], curve.estimators[0]
    rows = []
    for at, method in enumerate(curve.selectors):
        for k in curve.ks:
            scores = [
                _mean_and_sd(record.scores.get(metric, math.nan) for record in records)
                for records in (grouped[method, name, k] for name in curve.estimators)
            ]
            own = grouped[method, first, k]
            rows.append(
                MethodRow(
                    method,
                    style_class(at),
                    k,
                    scores,
                    curve.stability(method, k)[0],
                    _mean_and_sd(record.redundancy for record in own)[0],
                    _mean_and_sd(record.seconds for record in own)[0],
                    -1 if best_word(metric) == "lowest" else 1,
                )
            )
    return rows


def _n_compared(rows: list[MethodRow]) -> int:
    """Number of methods that came to a result for some number of features."""
    return len({row.method for row in rows if math.isfinite(row.mean)})


def _mean_and_sd(values: Iterable[float]) -> tuple[float, float]:
    """NaN if there are no values, or if one of them is NaN."""
    found = np.fromiter(values, dtype=np.float64)
    return (float(found.mean()), float(found.std())) if found.size else (math.nan, math.nan)


def _best(rows: list[MethodRow]) -> MethodRow | None:
    """The row with the best score and, of equal scores, the fewest features."""
    scored = [row for row in rows if math.isfinite(row.mean)]
    return max(scored, key=lambda row: (row.merit, -row.k), default=None)


def _top_scores(rows: list[MethodRow]) -> dict[int, float]:
    """The best score for each number of features."""
    best = {k: _best([row for row in rows if row.k == k]) for k in {row.k for row in rows}}
    return {k: row.mean for k, row in best.items() if row is not None}


def _protocol_sentence(protocol: str) -> str:
    if protocol == "honest":
        return (
            "The protocol is honest: features are picked inside each training fold, so the samples "
            "that judge them were never seen."
        )
    return (
        "The protocol is the one of many published papers: features are picked once, from all "
        "samples, those that judge them included, so these scores are too high."
    )


def _summary(result: ComparisonResult, rows: list[MethodRow]) -> tuple[str, str, str]:
    curve, data = result.curve, result.data
    counts = listing([f"{k:,}" for k in curve.ks], 6)
    asked = (
        f"{counted(_n_compared(rows), 'method')} picked {counts} of {words.measured(data)}, to "
        f"{words.purpose(data)}."
    )
    found = _found(curve, rows) + score_words.verdict_sentence(result.verdict)
    return asked, found, _protocol_sentence(curve.protocol)


def _found(curve: SelectionCurve, rows: list[MethodRow]) -> str:
    best = _best(rows)
    if best is None:
        return "No method came to a result."
    metric = curve.metrics[0]
    text = (
        f"The {best_word(metric)} {metric_name(metric)}, {score(metric, best.mean)}, was reached "
        f"by {isolated(best.method)} with {counted(best.k, 'feature')}"
    )
    near = {row.method for row in rows if row.merit >= best.merit - best.sd} - {best.method}
    ordered = [method for method in curve.selectors if method in near]
    if ordered:
        verb = "comes" if len(ordered) == 1 else "come"
        text += f"; {listing(ordered)} {verb} within one standard deviation of that"
    return text + "."


def _tiles(curve: SelectionCurve, rows: list[MethodRow]) -> list[Tile]:
    best = _best(rows)
    if best is None:
        return []
    metric = curve.metrics[0]
    name = f"{best_word(metric).capitalize()} {metric_name(metric)}"
    tiles = [Tile(name, score(metric, best.mean), _whose(best), "good")]
    timed = [row for row in rows if math.isfinite(row.seconds)]
    if timed:
        fast = min(timed, key=lambda row: row.seconds)
        tiles.append(Tile("Fastest", seconds(fast.seconds), _whose(fast)))
    stable = [row for row in rows if math.isfinite(row.stability)]
    if stable:
        most = max(stable, key=lambda row: row.stability)
        tiles.append(Tile("Most stable", decimal(most.stability), _whose(most)))
    return [*tiles, Tile("Protocol", curve.protocol, "see below the table")]


def _whose(row: MethodRow) -> str:
    return f"{isolated(row.method, 20)}, k = {row.k:,}"


def _references(
    result: ComparisonResult, rows: list[MethodRow]
) -> list[tuple[float, str, str, bool]]:
    """Score, words, class and whether it is near enough to be drawn: all features, and none."""
    metric = result.curve.metrics[0]
    every = [end for row in rows for end in (row.mean - row.sd, row.mean + row.sd)]
    known = np.array([end for end in every if math.isfinite(end)])
    if not known.size:
        return []
    low, high = float(known.min()), float(known.max())
    room = _MOST_AIR * ((high - low) or 0.1 * abs(high) or 1.0)
    found = []
    for value, words_, class_ in (
        (result.baseline_score, "all features", "level"),
        (result.chance_score, "guessing", "level dotted"),
    ):
        if math.isfinite(value):
            near = low - room <= value <= high + room
            found.append((value, f"{words_}: {score(metric, value)}", class_, near))
    return found


def _reference_sentence(result: ComparisonResult, rows: list[MethodRow]) -> str:
    """What the lines are that have no words, and what lies outside of the chart."""
    parts = []
    for _, text, class_, is_near in _references(result, rows):
        if is_near and len(result.curve.ks) > 1:
            continue
        line = "dotted line" if "dotted" in class_ else "dashed line"
        parts.append(f"{line if is_near else 'outside of the chart'}: {text.replace(':', '')}")
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def _dots(result: ComparisonResult, rows: list[MethodRow]) -> Strips:
    """The methods at a single number of features, the best first."""
    metric = result.curve.metrics[0]
    scored = sorted(
        (row for row in rows if math.isfinite(row.mean)), key=lambda row: row.merit, reverse=True
    )
    values = [
        Interval(
            row.method,
            row.mean,
            row.sd,
            f"{score(metric, row.mean)} {spread(metric, row.sd)}",
            row.style,
        )
        for row in scored
    ]
    return dots(
        values,
        [(value, class_) for value, _, class_, is_near in _references(result, rows) if is_near],
        f"{metric_name(metric)} of every method, the best first. {_found(result.curve, rows)}",
        **score_axis(metric),
    )


def _score_chart(result: ComparisonResult, rows: list[MethodRow]) -> Svg:
    curve = result.curve
    name = metric_name(curve.metrics[0])
    with_bands = len(curve.selectors) <= 3
    series = []
    for at, method in enumerate(curve.selectors):
        own = [row for row in rows if row.method == method]
        mean, band = mean_and_band([row.mean for row in own], [row.sd for row in own])
        shown_band = band if with_bands else None
        series.append(Series(isolated(method), [row.k for row in own], mean, shown_band, style=at))
    return line_chart(
        series,
        label=f"{name} of every method against the number of features. {_found(curve, rows)}",
        height=310,
        x_label="number of features k",
        y_label=f"{name}, mean over the folds" + (" ± standard deviation" if with_bands else ""),
        x_ticks=curve.ks,
        levels=[(value, text) for value, text, _, near in _references(result, rows) if near],
        **score_axis(curve.metrics[0]),
    )


def _names_on_dots(series: list[Series], x: Scale, y: Scale) -> Svg:
    points = [
        (x(one.x[0]), y(one.y[0]), shown(one.name.partition(",")[0].strip("\u2068\u2069"), 20))
        for one in series
    ]
    labels = placed_labels(points, [], (HEAD - 10, y(y.low)))
    return join(label.drawn() for label in labels)


def _time_chart(curve: SelectionCurve, rows: list[MethodRow]) -> Svg | None:
    name = metric_name(curve.metrics[0])
    series = []
    for at, method in enumerate(curve.selectors):
        best = _best([row for row in rows if row.method == method and row.seconds > 0])
        if best is not None:
            title = f"{isolated(method)}, k = {best.k:,}"
            series.append(Series(title, [best.seconds], [best.mean], style=at, line=False))
    if not series:
        return None
    return line_chart(
        series,
        label=f"{name} against the time of a selection: one point for each method, at the number "
        "of features where it scores best.",
        x_label="seconds for one selection (logarithmic)",
        y_label=f"{name}, at each method's best k",
        log_x=True,
        over=partial(_names_on_dots, series),
        **score_axis(curve.metrics[0]),
    )
