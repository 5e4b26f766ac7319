"""The pictures of the league table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.figures import new_canvas, save
from reproduction.league_scores import OUR_METHOD, TIMED, family, label
from reproduction.point_labels import Label, label_points
from rowsparse._arrays import Array
from rowsparse.evaluation import Comparison
from rowsparse.plotting.axes import STRONG
from rowsparse.plotting.comparison_display import draw_ranks

Draw = Callable[[Path], None]

FAMILIES = {
    "sparse": ("sparse model", "#4477aa"),
    "filter": ("filter", "#228833"),
    "subspace": ("subspace or graph", "#aa3377"),
    "unsupervised": ("without targets", "#999933"),
    "deep": ("network", "#66aacc"),
    "package": ("other package", "#dd7722"),
    "baseline": ("baseline", "#888888"),
}


def _colour(method: str) -> str:
    return STRONG if method in (OUR_METHOD, TIMED) else FAMILIES[family(method)][1]


def _weight(method: str) -> str:
    return "bold" if method in (OUR_METHOD, TIMED) else "normal"


def _legend(figure: Any, methods: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    present = {family(method) for method in methods}
    handles = [Line2D([], [], marker="o", linestyle="", color=STRONG, label="TopK")] + [
        Line2D([], [], marker="o", linestyle="", color=colour, label=text)
        for name, (text, colour) in FAMILIES.items()
        if name in present
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize="small"
    )


def critical_difference(result: Comparison) -> Draw:
    """Mean ranks from the best down; bars to the right join methods that are not told apart."""

    def draw(path: Path) -> None:
        figure = new_canvas(8.6, 1.9 + 0.22 * len(result.methods))
        axes, bars = figure.subplots(1, 2, width_ratios=(5, 1), sharey=True)
        draw_ranks(
            axes,
            bars,
            result,
            labels=[label(method) for method in result.methods],
            colours=[_colour(method) for method in result.methods],
            highlight=OUR_METHOD,
        )
        _legend(figure, result.methods)
        save(figure, path)

    return draw


def time_and_score(points: Mapping[str, tuple[float, float]], y: str) -> Draw:
    """Seconds (logarithmic) against mean score, a point for each method, all with their names."""

    def draw(path: Path) -> None:
        figure = new_canvas(9.5, 7.5)
        axes = figure.subplots()
        for method, (seconds, score) in points.items():
            ours = method == TIMED
            axes.plot(
                seconds,
                score,
                "*" if ours else "o",
                color=_colour(method),
                markersize=15 if ours else 6,
                zorder=3 if ours else 2,
            )
        axes.set_xscale("log")
        axes.set(xlabel="seconds to select for all k, one fold (geometric mean)", ylabel=y)
        axes.margins(0.09)
        axes.grid(alpha=0.3)
        _legend(figure, list(points))
        labels = [Label(label(m), m == TIMED, _colour(m), _weight(m)) for m in points]
        label_points(figure, axes, list(points.values()), labels)
        save(figure, path)

    return draw


def place_map(
    places: Array, marks: Sequence[Sequence[str]], methods: Sequence[str], titles: Sequence[str]
) -> Draw:
    """Places as colours, methods from the best down, one column a data set.

    ``marks`` has a letter where a method did not end well.
    """

    def draw(path: Path) -> None:
        m, n = places.shape
        figure = new_canvas(3.2 + 0.3 * n, 2.2 + 0.22 * m)
        axes = figure.subplots()
        image = axes.imshow(places, cmap="RdYlBu_r", vmin=1, vmax=m, aspect="auto")
        for row in range(m):
            for column in range(n):
                place = places[row, column]
                text = marks[row][column] or ("" if np.isnan(place) else f"{place:.0f}")
                dark = not np.isnan(place) and abs(place - (m + 1) / 2) > m / 3
                axes.text(
                    column,
                    row,
                    text,
                    ha="center",
                    va="center",
                    fontsize=6,
                    color="white" if dark else "black",
                )
        axes.set_xticks(np.arange(n), titles, rotation=90, fontsize="x-small")
        axes.set_yticks(np.arange(m), [label(method) for method in methods], fontsize="x-small")
        for text, method in zip(axes.get_yticklabels(), methods, strict=True):
            text.set_color(_colour(method))
            text.set_fontweight(_weight(method))
        axes.tick_params(length=0)
        figure.colorbar(image, ax=axes, label="place", shrink=0.6, fraction=0.03)
        save(figure, path)

    return draw
