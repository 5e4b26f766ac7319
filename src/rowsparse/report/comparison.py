"""The report of a comparison of methods."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rowsparse._arrays import Array
from rowsparse._names import full, shown
from rowsparse._text import counted
from rowsparse.evaluation import SelectionCurve
from rowsparse.evaluation.metrics import is_better_low
from rowsparse.plotting import ComparisonDisplay
from rowsparse.plotting.axes import COLOURS, QUIET
from rowsparse.report import words
from rowsparse.report.cell_charts import Cells, share_cells
from rowsparse.report.charts import (
    Chart,
    draw_score_axis,
    named_rows,
    row_height,
    spread_within,
    style_class,
    write_names,
)
from rowsparse.report.numbers import (
    best_word,
    decimal,
    metric_name,
    score,
    seconds,
    spread,
)
from rowsparse.report.page import Tile, render
from rowsparse.report.words import isolated, listing
from rowsparse.workflow.results import ComparisonResult

MOST_ROWS = 1000
# A reference line may widen the axis of the scores by this many times its length.
_MOST_AIR = 1.0
# With more lines than this, error bars hide each other.
_MOST_BARS = 3
# More features than these are not read.
_MOST_AGREED = 30
# A method selects a feature if it does so in this share of the folds at least.
_MOST_FOLDS = 0.5


@dataclass(frozen=True)
class MethodRow:
    """A method with one number of features.

    ``n_selected`` is how many it took, which is all for AllFeatures. ``scores`` has the mean over
    the folds and its standard deviation for each estimator; ``mean`` and ``sd`` are those of the
    first, and ``sign`` is -1 if a lower score is better.
    """

    method: str
    style: str
    k: int
    scores: list[tuple[float, float]]
    stability: float
    redundancy: float
    seconds: float
    n_selected: int
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
    """The report of ``rowsparse compare``: an HTML page with style, script and charts inside."""
    curve = result.curve
    rows = method_rows(curve)
    best = _best(rows)
    return render(
        "comparison.html.j2",
        result=result,
        title=f"{counted(_n_compared(rows), 'method')} compared: features to "
        f"{words.purpose(result.data)}",
        metric=curve.metrics[0],
        estimators=curve.estimators,
        summary=_summary(result, rows),
        tiles=_tiles(result, rows),
        rows=rows,
        most_rows=MOST_ROWS,
        top_scores=top_scores(rows),
        legend=[(name, style_class(at), "") for at, name in enumerate(curve.selectors)],
        charts={chart.name: chart for chart in comparison_charts(result)},
        reference_words=_reference_sentence(result, rows),
        agreement=_agreement(curve, result.names, best.k) if best else None,
        failures=Counter((r.selector, r.error) for r in curve.records if r.error),
        protocol_words=_protocol_sentence(curve.protocol),
    )


def comparison_charts(result: ComparisonResult) -> list[Chart]:
    """The charts of the page."""
    rows = method_rows(result.curve)
    charts = [_score_chart(result, rows), _time_chart(result.curve, rows)]
    return [chart for chart in charts if chart is not None]


def method_rows(curve: SelectionCurve) -> list[MethodRow]:
    """Every method with every number of features, the numbers of one method together."""
    metric, estimators = curve.metrics[0], curve.estimators
    means = [curve.mean(metric, name) for name in estimators]
    sds = [curve.sd(metric, name) for name in estimators]
    redundancy, passed = curve.mean("redundancy"), curve.mean("seconds")
    return [
        MethodRow(
            method,
            style_class(i),
            k,
            [(float(mean[i, j]), float(sd[i, j])) for mean, sd in zip(means, sds, strict=True)],
            curve.stability(method, k)[0],
            float(redundancy[i, j]),
            float(passed[i, j]),
            int(curve.values("n_selected", method, estimators[0], k).max(initial=0)) or k,
            -1 if is_better_low(metric) else 1,
        )
        for i, method in enumerate(curve.selectors)
        for j, k in enumerate(curve.ks)
    ]


def _n_compared(rows: list[MethodRow]) -> int:
    """Number of methods that came to a result for some number of features."""
    return len({row.method for row in rows if math.isfinite(row.mean)})


def _best(rows: list[MethodRow]) -> MethodRow | None:
    """The row with the best score and, of equal scores, the fewest features."""
    scored = [row for row in rows if math.isfinite(row.mean)]
    return max(scored, key=lambda row: (row.merit, -row.n_selected), default=None)


def top_scores(rows: list[MethodRow]) -> dict[int, float]:
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
    found = _found(curve, rows) + words.verdict_sentence(result.verdict, "The best")
    return asked, found, _protocol_sentence(curve.protocol)


def _found(curve: SelectionCurve, rows: list[MethodRow]) -> str:
    best = _best(rows)
    if best is None:
        return "No method came to a result."
    metric = curve.metrics[0]
    text = (
        f"The {best_word(metric)} {metric_name(metric)}, {score(metric, best.mean)}, was reached "
        f"by {isolated(best.method)} with {counted(best.n_selected, 'feature')}"
    )
    near = {row.method for row in rows if row.merit >= best.merit - best.sd} - {best.method}
    ordered = [method for method in curve.selectors if method in near]
    if ordered:
        verb = "comes" if len(ordered) == 1 else "come"
        text += f"; {listing(ordered)} {verb} within one standard deviation of that"
    return text + "."


def _tiles(result: ComparisonResult, rows: list[MethodRow]) -> list[Tile]:
    best, curve = _best(rows), result.curve
    if best is None:
        return []
    metric = curve.metrics[0]
    name = f"{best_word(metric).capitalize()} {metric_name(metric)}"
    tiles = [Tile(name, score(metric, best.mean), _whose(best), words.tone(result.verdict))]
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
    return f"{isolated(row.method, 20)}, k = {row.n_selected:,}"


def _references(
    result: ComparisonResult, rows: list[MethodRow]
) -> list[tuple[float, str, str, bool]]:
    """Score, words, kind of line and whether it is near enough to be drawn: all features, none."""
    metric = result.curve.metrics[0]
    every = [end for row in rows for end in (row.mean - row.sd, row.mean + row.sd)]
    known = np.array([end for end in every if math.isfinite(end)])
    if not known.size:
        return []
    low, high = float(known.min()), float(known.max())
    room = _MOST_AIR * ((high - low) or 0.1 * abs(high) or 1.0)
    return [
        (value, f"{name}: {score(metric, value)}", line, low - room <= value <= high + room)
        for value, name, line in (
            (result.baseline_score, "all features", "--"),
            (result.chance_score, "guessing", ":"),
        )
        if math.isfinite(value)
    ]


def _reference_sentence(result: ComparisonResult, rows: list[MethodRow]) -> str:
    """What the lines are, and what lies outside of the chart."""
    places = {"--": "dashed line", ":": "dotted line"}
    parts = [
        f"{places[line] if is_near else 'outside of the chart'}: {text.replace(':', '')}"
        for _, text, line, is_near in _references(result, rows)
    ]
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def _score_chart(result: ComparisonResult, rows: list[MethodRow]) -> Chart:
    """The scores over k; of a single k a row for each method, the best first."""
    curve, metric = result.curve, result.curve.metrics[0]
    is_single = len(curve.ks) == 1
    if is_single:
        rows = sorted(rows, key=lambda row: (not math.isfinite(row.mean), -row.merit))
    every = [[row for row in rows if row.method == method] for method in curve.selectors]
    if is_single:
        every.sort(key=lambda own: rows.index(own[0]))
    methods = [own[0].method for own in every]
    means = np.array([[row.mean for row in own] for own in every])
    sds = [[row.sd for row in own] for own in every]
    display = ComparisonDisplay(
        methods,
        ks=curve.ks,
        means=means,
        sds=np.array([spread_within(metric, *both) for both in zip(means, sds, strict=True)]),
        score_name=f"{metric_name(metric)}, mean over the folds",
        is_low_better=is_better_low(metric),
    )

    def draw(axes: Any) -> None:
        place = axes.axvline if is_single else axes.axhline
        for value, text, line, is_near in _references(result, rows):
            if is_near:
                place(value, color=QUIET, ls=line, lw=1.2, label="" if is_single else text)
        display.plot(axes, show_sd=is_single or len(methods) <= _MOST_BARS)
        draw_score_axis(axes, metric, "x" if is_single else "y")
        if is_single:
            named_rows(axes, methods)
            for at, row in enumerate(rows):
                words_ = f"{score(metric, row.mean)} {spread(metric, row.sd)}"
                axes.annotate(
                    words_,
                    (1.0, at),
                    (8, 0),
                    xycoords=("axes fraction", "data"),
                    textcoords="offset points",
                    va="center_baseline",
                    color=QUIET,
                )
            return
        axes.get_legend().remove()
        for at, line in enumerate(display.lines_):
            for artist in line.get_children():
                artist.set_gid(f"series-{at}")

    label = f"{metric_name(metric)} of every method. {_found(curve, rows)}"
    return Chart("scores", draw, label, row_height(len(methods)) if is_single else 310)


def _time_chart(curve: SelectionCurve, rows: list[MethodRow]) -> Chart | None:
    metric = curve.metrics[0]
    bests = [
        (at, best)
        for at, method in enumerate(curve.selectors)
        if (best := _best([row for row in rows if row.method == method and row.seconds > 0]))
    ]
    if not bests:
        return None

    def draw(axes: Any) -> None:
        axes.set_xscale("log")
        for at, best in bests:
            (dot,) = axes.plot(
                best.seconds, best.mean, "o", ms=9, mec="white", color=COLOURS[at % len(COLOURS)]
            )
            dot.set_gid(f"series-{at}")
            dot.set_url(
                f"{full(best.method, 80)}, k = {best.k:,}: {score(metric, best.mean)} in "
                f"{seconds(best.seconds)}"
            )
        axes.margins(0.08)
        axes.grid(alpha=0.3)
        axes.set(
            xlabel="seconds for one selection (logarithmic)",
            ylabel=f"{metric_name(metric)}, at each method's best k",
        )
        draw_score_axis(axes, metric)

    label = (
        f"{metric_name(metric)} against the time of a selection: one point for each method, at "
        "the number of features where it scores best."
    )
    points = np.array([(best.seconds, best.mean) for _, best in bests])
    names = [shown(best.method, 20) for _, best in bests]
    return Chart("times", draw, label, 310, finish=partial(write_names, points=points, names=names))


@dataclass(frozen=True)
class Agreement:
    """The chart, a sentence on it, and how many features are not drawn."""

    chart: Cells
    sentence: str
    n_left_out: int


def _agreement(curve: SelectionCurve, names: tuple[str, ...], k: int) -> Agreement | None:
    """How often each method selects each feature, the most agreed on first.

    None without the names of all features, or with fewer than two methods.
    """
    if not names:
        return None
    shares: dict[str, Array] = {}
    for method in curve.selectors:
        supports = [
            record.support
            for record in curve.records
            if (record.selector, record.k) == (method, k)
            and record.estimator == curve.estimators[0]
            and not record.error
        ]
        if supports:
            counts = np.zeros(len(names))
            for support in supports:
                counts[list(support)] += 1
            shares[method] = counts / len(supports)
    if len(shares) < 2:
        return None
    table = np.array(list(shares.values())).T
    agreed = (table >= _MOST_FOLDS).sum(axis=1)
    order = np.lexsort((-table.sum(axis=1), -agreed))
    order = order[table[order].any(axis=1)]
    drawn = order[:_MOST_AGREED]
    chart = share_cells(
        table[drawn],
        [names[j] for j in drawn.tolist()],
        list(shares),
        f"Share of the folds in which each method selects a feature, k = {k}",
    )
    every = [names[j] for j in order.tolist() if agreed[j] == len(shares)]
    return Agreement(chart, _agreement_sentence(every, len(shares), k), len(order) - len(drawn))


def _agreement_sentence(every: list[str], n_methods: int, k: int) -> str:
    of = f"With {counted(k, 'feature')},"
    within = "in at least half of the folds"
    if not every:
        return f"{of} no feature is selected by all {n_methods} methods {within}."
    verb = "is" if len(every) == 1 else "are"
    return (
        f"{of} {counted(len(every), 'feature')} {verb} selected by all {n_methods} methods "
        f"{within}: {listing(every, 6)}."
    )
