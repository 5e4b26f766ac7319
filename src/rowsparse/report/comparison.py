"""The report of a comparison of methods."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rowsparse.report import numbers, words
from rowsparse.report.bars import bar
from rowsparse.report.charts import Series, line_chart, style_class
from rowsparse.report.curves import metric_name, score_limits, score_ticks
from rowsparse.report.names import isolated, listing
from rowsparse.report.page import Tile, both_widths, provenance, render
from rowsparse.report.svg import Svg

if TYPE_CHECKING:
    from rowsparse.evaluation import Record, SelectionCurve
    from rowsparse.workflow.results import ComparisonResult

__all__ = ["comparison_page"]

MOST_ROWS = 1000


@dataclass(frozen=True)
class Cell:
    """A score over the folds."""

    mean: float
    sd: float
    bar: Svg


@dataclass(frozen=True)
class MethodRow:
    """A method with one number of features."""

    method: str
    style: str
    k: int
    scores: list[Cell]
    best: bool
    stability: float
    redundancy: float
    seconds: float


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
    return render(
        "comparison.html.j2",
        result=result,
        title=f"{numbers.plural(len(curve.selectors), 'method')} compared: features that "
        f"{words.purpose(result.data)}",
        metric=curve.metrics[0],
        estimators=curve.estimators,
        summary=_summary(result, rows),
        tiles=_tiles(curve, rows),
        rows=rows[:MOST_ROWS],
        n_left_out=max(0, len(rows) - MOST_ROWS),
        legend=[(name, style_class(at)) for at, name in enumerate(curve.selectors)],
        scores=_score_chart(curve, rows),
        times=_time_chart(curve, rows),
        failures=_failures(curve.records),
        protocol_words=_protocol_sentence(curve.protocol),
        origin=provenance(result.data, result.settings, result.versions, result.seconds),
    )


def _rows(curve: SelectionCurve) -> list[MethodRow]:
    grouped: dict[tuple[str, str, int], list[Record]] = defaultdict(list)
    for record in curve.records:
        grouped[record.selector, record.estimator, record.k].append(record)
    metric, judges = curve.metrics[0], curve.estimators
    scores = {key: _cell(records, metric) for key, records in grouped.items()}
    top = {
        k: max(
            (cell.mean for (_, judge, count), cell in scores.items()
             if (judge, count) == (judges[0], k) and math.isfinite(cell.mean)),
            default=math.inf,
        )
        for k in curve.ks
    }  # fmt: skip
    rows = []
    for at, method in enumerate(curve.selectors):
        for k in curve.ks:
            first = grouped.get((method, judges[0], k), [])
            cells = [scores.get((method, judge, k), _EMPTY) for judge in judges]
            rows.append(
                MethodRow(
                    method,
                    style_class(at),
                    k,
                    cells,
                    bool(cells[0].mean >= top[k] - 1e-12),
                    curve.stability(method, k)[0],
                    _mean([record.redundancy for record in first]),
                    _mean([record.seconds for record in first]),
                )
            )
    return rows


_EMPTY = Cell(math.nan, math.nan, bar(0.0))


def _cell(records: list[Record], metric: str) -> Cell:
    values = np.array([record.scores.get(metric, math.nan) for record in records])
    mean = float(values.mean())
    return Cell(mean, float(values.std()), bar(mean))


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else math.nan


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


def _best_row(rows: list[MethodRow]) -> MethodRow | None:
    scored = [row for row in rows if math.isfinite(row.scores[0].mean)]
    # Of equal scores, the one with fewer features.
    return max(scored, key=lambda row: (row.scores[0].mean, -row.k), default=None)


def _summary(result: ComparisonResult, rows: list[MethodRow]) -> tuple[str, str, str]:
    curve, data = result.curve, result.data
    counts = listing([f"{k:,}" for k in curve.ks], 6)
    asked = (
        f"{numbers.plural(len(curve.selectors), 'method')} picked {counts} of the "
        f"{data.n_features:,} features of {isolated(data.source)}, measured on "
        f"{numbers.plural(data.n_samples, 'sample')}, to {words.purpose(data)}."
    )
    return asked, _found(curve, rows), _protocol_sentence(curve.protocol)


def _found(curve: SelectionCurve, rows: list[MethodRow]) -> str:
    best = _best_row(rows)
    if best is None:
        return "No method came to a result."
    metric = curve.metrics[0]
    name = metric_name(metric)
    top = best.scores[0]
    text = (
        f"The highest {name}, {numbers.score(metric, top.mean)}, was reached by "
        f"{isolated(best.method)} with {numbers.plural(best.k, 'feature')}"
    )
    near = {r.method for r in rows if r.scores[0].mean >= top.mean - top.sd} - {best.method}
    ordered = [method for method in curve.selectors if method in near]
    if ordered:
        verb = "comes" if len(ordered) == 1 else "come"
        text += f"; {listing(ordered)} {verb} within one standard deviation of that"
    return text + "."


def _tiles(curve: SelectionCurve, rows: list[MethodRow]) -> list[Tile]:
    best = _best_row(rows)
    if best is None:
        return []
    metric = curve.metrics[0]
    name = metric_name(metric)
    reached = numbers.score(metric, best.scores[0].mean)
    tiles = [Tile(f"Highest {name}", reached, _whose(best), "good")]
    timed = [row for row in rows if math.isfinite(row.seconds)]
    if timed:
        fast = min(timed, key=lambda row: row.seconds)
        tiles.append(Tile("Fastest", numbers.seconds(fast.seconds), _whose(fast)))
    steady = [row for row in rows if math.isfinite(row.stability)]
    if steady:
        row = max(steady, key=lambda row: row.stability)
        value = f"{row.stability:.2f}".replace("-", "−")
        tiles.append(Tile("Most stable", value, _whose(row)))
    tiles.append(Tile("Protocol", curve.protocol, "see below the table"))
    return tiles


def _whose(row: MethodRow) -> str:
    return f"{isolated(row.method, 20)}, k = {row.k:,}"


def _score_chart(curve: SelectionCurve, rows: list[MethodRow]) -> Svg:
    metric = curve.metrics[0]
    name = metric_name(metric)
    bands = len(curve.selectors) <= 3
    series = []
    for at, method in enumerate(curve.selectors):
        own = [row for row in rows if row.method == method]
        mean = np.array([row.scores[0].mean for row in own])
        sd = np.array([row.scores[0].sd for row in own])
        band = ((mean - sd).tolist(), (mean + sd).tolist()) if bands else None
        series.append(Series(isolated(method), [r.k for r in own], mean.tolist(), band, style=at))
    return both_widths(
        line_chart,
        series,
        name="score-chart",
        title=f"{name} of every method against the number of features",
        desc=_found(curve, rows),
        height=360,
        x_label="number of features k",
        y_label=f"{name}, mean over the folds" + (" ± standard deviation" if bands else ""),
        x_ticks=curve.ks,
        y_format=score_ticks(metric),
        limits=score_limits(metric),
    )


def _time_chart(curve: SelectionCurve, rows: list[MethodRow]) -> Svg | None:
    metric = curve.metrics[0]
    name = metric_name(metric)
    series = []
    for at, method in enumerate(curve.selectors):
        best = _best_row([row for row in rows if row.method == method and row.seconds > 0])
        if best is not None:
            title = f"{isolated(method)}, k = {best.k:,}"
            series.append(
                Series(title, [best.seconds], [best.scores[0].mean], style=at, line=False)
            )
    if not series:
        return None
    return both_widths(
        line_chart,
        series,
        name="time-chart",
        title=f"{name} against the time of a selection",
        desc="One point for each method, at the number of features where it scores best.",
        x_label="seconds for one selection (logarithmic)",
        y_label=f"{name}, at each method's best k",
        y_format=score_ticks(metric),
        log_x=True,
        limits=score_limits(metric),
    )


def _failures(records: list[Record]) -> list[tuple[str, int, str]]:
    """Each method that failed, in how many records, and why."""
    found: dict[tuple[str, str], int] = defaultdict(int)
    for record in records:
        if record.error:
            found[record.selector, record.error] += 1
    return [(method, count, error) for (method, error), count in found.items()]
