"""The report of a path: the selection for every number of features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rowsparse._arrays import Array
from rowsparse.report import numbers, words
from rowsparse.report.bars import bar
from rowsparse.report.charts import Series, line_chart
from rowsparse.report.curves import k_curve, metric_name
from rowsparse.report.grids import membership
from rowsparse.report.names import isolated, repeated
from rowsparse.report.page import Tile, both_widths, provenance, render
from rowsparse.report.svg import Svg

if TYPE_CHECKING:
    from rowsparse.workflow.results import PathResult

__all__ = ["path_page"]

MOST_ROWS = 500
MOST_DRAWN = 60


@dataclass(frozen=True)
class Stay:
    """How long a feature is on the path."""

    index: int
    name: str
    ambiguous: bool
    enters: int
    last: int
    share: float
    bar: Svg
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
    return render(
        "path.html.j2",
        result=result,
        title=f"The features that {words.purpose(result.data)}, for every number of them",
        summary=_summary(result, stays),
        tiles=_tiles(result, stays),
        stays=stays[:MOST_ROWS],
        n_left_out=max(0, len(stays) - MOST_ROWS),
        membership=_membership(result, stays),
        n_drawn=min(MOST_DRAWN, len(stays)),
        n_ever=len(stays),
        per_k=_per_k(result),
        metric=result.curve.metric,
        scores=k_curve(result.curve, "suggested"),
        score_words=words.curve_sentence(result.curve),
        objectives=_objectives(result),
        origin=provenance(result.data, result.settings, result.versions, result.seconds),
    )


def _stays(result: PathResult) -> list[Stay]:
    """Every feature that is ever selected, those that enter first and stay longest first."""
    ever = sorted({int(j) for support in result.supports for j in support})
    row_of = {j: row for row, j in enumerate(ever)}
    member = np.zeros((len(ever), len(result.ks)), dtype=bool)
    for column, support in enumerate(result.supports):
        member[[row_of[int(j)] for j in support], column] = True
    names = [result.names[j] for j in ever]
    twice = repeated(names)
    stays = []
    for j, name, row in zip(ever, names, member, strict=True):
        at = np.flatnonzero(row)
        stays.append(
            Stay(
                j,
                name,
                name in twice,
                result.ks[int(at[0])],
                result.ks[int(at[-1])],
                float(row.mean()),
                bar(float(row.mean())),
                row,
            )
        )
    return sorted(stays, key=lambda stay: (stay.enters, -stay.share, stay.index))


def _steady(stays: list[Stay], last_k: int) -> int:
    """Number of features that, once in, are never left out again."""
    return sum(
        stay.last == last_k and bool(stay.member[int(np.argmax(stay.member)) :].all())
        for stay in stays
    )


def _summary(result: PathResult, stays: list[Stay]) -> tuple[str, str, str]:
    data, ks = result.data, result.ks
    asked = (
        f"For every number of features from {ks[0]:,} to {ks[-1]:,}, a choice was made from the "
        f"{data.n_features:,} features of {isolated(data.source)}, measured on "
        f"{numbers.plural(data.n_samples, 'sample')}, to {words.purpose(data)}."
    )
    stayed = (
        f"{numbers.plural(len(stays), 'feature')} {'is' if len(stays) == 1 else 'are'} in at least "
        f"one of these choices, and {_steady(stays, ks[-1]):,} of them, once in, "
        "are never left out again."
    )
    return asked, words.curve_sentence(result.curve), stayed


def _tiles(result: PathResult, stays: list[Stay]) -> list[Tile]:
    curve = result.curve
    name = metric_name(curve.metric)
    at = curve.ks.index(curve.chosen_k) if curve.chosen_k in curve.ks else None
    tiles = []
    if at is not None:
        reached = numbers.score(curve.metric, curve.mean[at])
        tiles.append(Tile("Suggested k", f"{curve.chosen_k:,}", f"{name} {reached}", "good"))
    tiles.append(Tile("Highest score at", f"k = {curve.best_k:,}"))
    everything = f"of {result.data.n_features:,} features"
    tiles.append(Tile("Ever selected", f"{len(stays):,}", everything))
    tiles.append(Tile("Never dropped again", f"{_steady(stays, result.ks[-1]):,}", "once selected"))
    return tiles


def _membership(result: PathResult, stays: list[Stay]) -> Svg | None:
    drawn = stays[:MOST_DRAWN]
    if not drawn:
        return None
    return both_widths(
        membership,
        [stay.name for stay in drawn],
        result.ks,
        np.array([stay.member for stay in drawn]),
        name="membership-chart",
        title="Which features are selected at which k",
        desc="One row for each feature, in the order in which they enter; a bar where it is in.",
    )


def _per_k(result: PathResult) -> list[tuple[int, float, float, float]]:
    """k, objective, mean score and its standard deviation, NaN where there is none."""
    place = {k: at for at, k in enumerate(result.curve.ks)}
    nothing = math.nan
    return [
        (
            k,
            float(objective),
            float(result.curve.mean[place[k]]) if k in place else nothing,
            float(result.curve.sd[place[k]]) if k in place else nothing,
        )
        for k, objective in zip(result.ks, result.objectives, strict=True)
    ]


def _objectives(result: PathResult) -> Svg:
    return both_widths(
        line_chart,
        [Series("", result.ks, result.objectives, style=1)],
        name="objective-chart",
        title="Objective against the number of features",
        desc=f"From {numbers.number(result.objectives[0])} at k = {result.ks[0]} to "
        f"{numbers.number(result.objectives[-1])} at k = {result.ks[-1]}.",
        height=240,
        x_label="number of features k",
        y_label="objective on all samples",
        x_ticks=result.ks,
    )
