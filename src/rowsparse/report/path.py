"""The report of a path: the selection for every number of features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rowsparse._arrays import Array
from rowsparse._text import counted
from rowsparse.plotting.path import entry_order
from rowsparse.report import score_words, words
from rowsparse.report.curves import k_curve
from rowsparse.report.lines import Series, line_chart
from rowsparse.report.names import repeated
from rowsparse.report.numbers import best_word, metric_name, number, score
from rowsparse.report.objective import minimised
from rowsparse.report.page import Tile, render
from rowsparse.report.strips import Strips, runs
from rowsparse.report.svg import Svg

if TYPE_CHECKING:
    from rowsparse.workflow.results import PathResult

__all__ = ["path_charts", "path_page"]

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
    """The report of ``rowsparse path`` as one HTML page.

    Parameters
    ----------
    result : PathResult
        What was found out.

    Returns
    -------
    str
        The page: style, script and charts are inside, and nothing is fetched.
    """
    stays = _stays(result)
    kept = _n_never_dropped(stays)
    return render(
        "path.html.j2",
        result=result,
        title=f"The features that {words.purpose(result.data)}, for every number of them",
        summary=_summary(result, len(stays), kept),
        tiles=_tiles(result, len(stays), kept),
        stays=stays,
        most_rows=MOST_ROWS,
        most_drawn=MOST_DRAWN,
        ambiguous=repeated(stay.name for stay in stays),
        membership=_membership(result, stays[:MOST_DRAWN]),
        per_k=_per_k(result),
        scores=k_curve(result.curve, "suggested"),
        curve_words=score_words.curve_sentence(result.curve),
        objectives=_objectives(result),
        minimised=minimised(result.settings),
    )


def path_charts(result: PathResult) -> dict[str, tuple[Svg, list[tuple[str, str, str]]]]:
    """The line charts of the page by name, each with its legend, which is empty."""
    return {
        "scores": (k_curve(result.curve, "suggested"), []),
        "objective": (_objectives(result), []),
    }


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
    verdict = score_words.verdict_sentence(result.verdict)
    scored = score_words.curve_sentence(result.curve) + verdict
    return asked, scored, stayed


def _tiles(result: PathResult, n_ever: int, n_kept: int) -> list[Tile]:
    curve = result.curve
    tiles = []
    if curve.chosen_k in curve.ks:
        reached = score(curve.metric, curve.mean[curve.ks.index(curve.chosen_k)])
        note = f"{metric_name(curve.metric)} {reached}"
        tiles.append(Tile("Suggested k", f"{curve.chosen_k:,}", note, "good"))
    return [
        *tiles,
        Tile(f"{best_word(curve.metric).capitalize()} score at", f"k = {curve.best_k:,}"),
        Tile("Ever selected", f"{n_ever:,}", f"of {result.data.n_features:,} features"),
        Tile("Never dropped again", f"{n_kept:,}", "once selected"),
    ]


def _membership(result: PathResult, drawn: list[Stay]) -> Strips | None:
    if not drawn:
        return None
    return runs(
        [stay.name for stay in drawn],
        result.ks,
        np.array([stay.member for stay in drawn]),
        "Which features are selected at which k, in the order in which they enter",
    )


def _per_k(result: PathResult) -> list[tuple[int, float, float, float]]:
    """k, objective, mean score and its standard deviation, NaN where there is none."""
    scores = result.curve.by_k()
    nothing = (math.nan, math.nan)
    return [
        (k, objective, *scores.get(k, nothing))
        for k, objective in zip(result.ks, result.objectives, strict=True)
    ]


def _objectives(result: PathResult) -> Svg:
    ks, values = result.ks, result.objectives
    return line_chart(
        [Series("", ks, values, style=1)],
        label=f"Objective against the number of features: from {number(values[0])} at "
        f"k = {ks[0]} to {number(values[-1])} at k = {ks[-1]}.",
        height=200,
        x_label="number of features k",
        y_label="objective on all samples",
        x_ticks=ks,
    )
