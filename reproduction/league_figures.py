"""The pictures of the league table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.figures import new_canvas, save
from reproduction.league_scores import OUR_METHOD, family, label
from rowsparse._arrays import Array
from rowsparse.evaluation import Comparison
from rowsparse.plotting.axes import STRONG
from rowsparse.plotting.ranks import draw_ranks

Draw = Callable[[Path], None]

FAMILIES = {
    "sparse": ("sparse model", "#4477aa"),
    "filter": ("filter", "#228833"),
    "subspace": ("subspace or graph", "#aa3377"),
    "unsupervised": ("without targets", "#999933"),
    "deep": ("network", "#66aacc"),
    "package": ("scikit-learn and other packages", "#dd7722"),
    "baseline": ("baseline", "#888888"),
}
# Where a label may stand, seen from its point: nearer ones first, in points of type.
_RADII = (7, 14, 22, 31, 41, 52, 64)
_ANGLES = np.deg2rad(np.arange(0, 360, 20))


def _colour(method: str) -> str:
    return STRONG if method == OUR_METHOD else FAMILIES[family(method)][1]


def _weight(method: str) -> str:
    return "bold" if method == OUR_METHOD else "normal"


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
            own = method == OUR_METHOD
            axes.plot(
                seconds,
                score,
                "*" if own else "o",
                color=_colour(method),
                markersize=15 if own else 6,
                zorder=3 if own else 2,
            )
        axes.set_xscale("log")
        axes.set(xlabel="seconds to select for all k, one fold (geometric mean)", ylabel=y)
        axes.margins(0.09)
        axes.grid(alpha=0.3)
        _legend(figure, list(points))
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        _label_points(figure, axes, points)
        save(figure, path)

    return draw


def _label_points(figure: Any, axes: Any, points: Mapping[str, tuple[float, float]]) -> None:
    """Write each name where it covers neither a point nor another name."""
    from matplotlib.transforms import Bbox

    scale = figure.dpi / 72.0
    centres = {m: axes.transData.transform(p) for m, p in points.items()}
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in centres.values()]
    frame = axes.get_window_extent()
    # TopK first, then from the crowded middle outwards.
    middle = np.median(list(centres.values()), axis=0)
    order = sorted(points, key=lambda m: (m != OUR_METHOD, np.sum((centres[m] - middle) ** 2)))
    for method in order:
        text = axes.annotate(
            label(method),
            centres[method],
            xycoords="figure pixels",
            fontsize="small",
            color=_colour(method),
            fontweight=_weight(method),
            ha="center",
            va="center",
        )
        size = text.get_window_extent()
        best = _free_place(centres[method], (size.width, size.height), taken, frame, scale)
        text.set_position(best)
        text.xyann = best
        taken.append(_box(best, (size.width, size.height)))
        gap = np.asarray(best) - centres[method]
        if np.hypot(gap[0] - np.sign(gap[0]) * size.width / 2, gap[1]) > 16 * scale:
            axes.annotate(
                "",
                centres[method],
                best,
                xycoords="figure pixels",
                textcoords="figure pixels",
                arrowprops={
                    "arrowstyle": "-",
                    "color": _colour(method),
                    "linewidth": 0.5,
                    "alpha": 0.6,
                },
                zorder=1,
            )


def _box(centre: Any, size: tuple[float, float]) -> Any:
    from matplotlib.transforms import Bbox

    return Bbox.from_bounds(centre[0] - size[0] / 2, centre[1] - size[1] / 2, *size)


def _free_place(
    centre: Array, size: tuple[float, float], taken: list[Any], frame: Any, scale: float
) -> tuple[float, float]:
    """The nearest place around a point where a box overlaps least with what is there."""
    best, least = (float(centre[0]), float(centre[1])), np.inf
    for radius in _RADII:
        for angle in _ANGLES:
            x = centre[0] + np.cos(angle) * (radius * scale + size[0] / 2)
            y = centre[1] + np.sin(angle) * (radius * scale + size[1] / 2)
            box = _box((x, y), size)
            inside = frame.x0 < box.x0 and box.x1 < frame.x1 and frame.y0 < box.y0 < frame.y1
            overlap = sum(box.overlaps(other) for other in taken) + 10 * (not inside)
            if overlap < least:
                best, least = (float(x), float(y)), overlap
        if least == 0:
            break
    return best


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
