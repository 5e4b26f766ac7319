"""The report of a path: the selection for every number of features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rowsparse._arrays import Array
from rowsparse._text import counted
from rowsparse.plotting import PathDisplay
from rowsparse.plotting.path_display import draw_stays, entry_order
from rowsparse.report import words
from rowsparse.report.charts import Chart, k_curve, named_rows, row_height
from rowsparse.report.numbers import best_word, metric_name, number, score
from rowsparse.report.page import Tile, render
from rowsparse.report.words import repeated
from rowsparse.workflow.results import PathResult

MOST_ROWS = 500
MOST_DRAWN = 60


@dataclass(frozen=True)
class Stay:
    """At which of the numbers of features a feature is selected."""

    index: int
    name: str
    enters: int
    last: int
    share: float
    member: Array


def path_page(result: PathResult) -> str:
    """The report of ``rowsparse path``: an HTML page with style, script and charts inside."""
    stays = _stays(result)
    kept = _n_never_dropped(stays)
    return render(
        "path.html.j2",
        result=result,
        title=f"Features to {words.purpose(result.data)}, for every number of them",
        summary=_summary(result, len(stays), kept),
        tiles=_tiles(result, len(stays), kept),
        stays=stays,
        most_rows=MOST_ROWS,
        most_drawn=MOST_DRAWN,
        ambiguous=repeated(stay.name for stay in stays),
        per_k=_per_k(result),
        charts={chart.name: chart for chart in path_charts(result)},
    )


def path_charts(result: PathResult) -> list[Chart]:
    """The charts of the page."""
    stays = _stays(result)[:MOST_DRAWN]
    rows = [_membership(result, stays)] if stays else []
    return [*rows, k_curve("scores", result.curve), _objectives(result)]


def _stays(result: PathResult) -> list[Stay]:
    """Every feature that is ever selected, those that enter first and stay longest first."""
    ever = sorted({int(j) for support in result.supports for j in support})
    row_of = {j: row for row, j in enumerate(ever)}
    member = np.zeros((len(ever), len(result.ks)), dtype=bool)
    for column, support in enumerate(result.supports):
        member[[row_of[int(j)] for j in support], column] = True
    stays = []
    for j, row in zip(ever, member, strict=True):
        selected = [k for k, is_in in zip(result.ks, row, strict=True) if is_in]
        share = float(row.mean())
        stays.append(Stay(j, result.names[j], selected[0], selected[-1], share, row))
    return [stays[row] for row in entry_order(member.T).tolist()]


def _n_never_dropped(stays: list[Stay]) -> int:
    """Number of features that, once selected, are selected at every larger k."""
    return sum(bool(stay.member[int(np.argmax(stay.member)) :].all()) for stay in stays)


def _summary(result: PathResult, n_ever: int, n_kept: int) -> tuple[str, str, str]:
    data, ks = result.data, result.ks
    asked = (
        f"For every number of features from {ks[0]:,} to {ks[-1]:,}, a choice was made from "
        f"{words.measured(data)}, to {words.purpose(data)}."
    )
    stayed = (
        f"{counted(n_ever, 'feature')} {'is' if n_ever == 1 else 'are'} in at least one of these "
        f"choices, and {n_kept:,} of them, once in, are never left out again."
    )
    verdict = words.verdict_sentence(result.verdict)
    scored = words.curve_sentence(result.curve) + verdict
    return asked, scored, stayed


def _tiles(result: PathResult, n_ever: int, n_kept: int) -> list[Tile]:
    curve = result.curve
    tiles = []
    if curve.chosen_k in curve.ks:
        reached = score(curve.metric, curve.mean[curve.ks.index(curve.chosen_k)])
        note = f"{metric_name(curve.metric)} {reached}"
        tone = words.tone(result.verdict)
        tiles.append(Tile("Suggested k", f"{curve.chosen_k:,}", note, tone))
    return [
        *tiles,
        Tile(f"{best_word(curve.metric).capitalize()} score at", f"k = {curve.best_k:,}"),
        Tile("Ever selected", f"{n_ever:,}", f"of {result.data.n_features:,} features"),
        Tile("Never dropped again", f"{n_kept:,}", "once selected"),
    ]


def _membership(result: PathResult, stays: list[Stay]) -> Chart:
    def draw(axes: Any) -> None:
        names = [stay.name for stay in stays]
        draw_stays(axes, names, np.array(result.ks), np.array([stay.member for stay in stays]))
        named_rows(axes, names)

    label = "Which features are selected at which k, in the order in which they enter"
    return Chart("membership", draw, label, row_height(len(stays)))


def _per_k(result: PathResult) -> list[tuple[int, float, float, float]]:
    """k, objective, mean score and its standard deviation, NaN where there is none."""
    scores = result.curve.by_k()
    nothing = (math.nan, math.nan)
    return [
        (k, objective, *scores.get(k, nothing))
        for k, objective in zip(result.ks, result.objectives, strict=True)
    ]


def _objectives(result: PathResult) -> Chart:
    ks, values = np.array(result.ks), np.array(result.objectives)
    label = (
        f"Objective against the number of features: from {number(values[0])} at k = {ks[0]} to "
        f"{number(values[-1])} at k = {ks[-1]}."
    )
    display = PathDisplay(ks, values, value_name="objective on all samples")
    return Chart("objective", display.plot, label, 220)
