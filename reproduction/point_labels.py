"""Names beside the points of a picture, where they cover neither a point nor another name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rowsparse._arrays import Array

# Where a label may stand, seen from its point: nearer ones first, in points of type.
_RADII = (7, 14, 22, 31, 41, 52, 64)
_ANGLES = np.deg2rad(np.arange(0, 360, 20))


class Label(NamedTuple):
    """A name; those that come ``first`` have the best places."""

    text: str
    first: bool = False
    color: str = "black"
    weight: str = "normal"


def label_points(
    figure: Any, axes: Any, points: Sequence[tuple[float, float]], labels: Sequence[Label]
) -> None:
    """Write a label beside each point; the layout of the figure is final then."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    scale = figure.dpi / 72.0
    centres = [axes.transData.transform(point) for point in points]
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in centres]
    frame = axes.get_window_extent()
    # From the crowded middle outwards.
    middle = np.median(centres, axis=0)
    away = np.sum((np.array(centres) - middle) ** 2, axis=1)
    for at in sorted(range(len(labels)), key=lambda at: (not labels[at].first, away[at])):
        one, centre = labels[at], centres[at]
        text = axes.annotate(
            one.text,
            centre,
            xycoords="figure pixels",
            fontsize="small",
            color=one.color,
            fontweight=one.weight,
            ha="center",
            va="center",
        )
        size = text.get_window_extent()
        best = _free_place(centre, (size.width, size.height), taken, frame, scale)
        text.set_position(best)
        text.xyann = best
        taken.append(_box(best, (size.width, size.height)))
        gap = np.asarray(best) - centre
        if np.hypot(gap[0] - np.sign(gap[0]) * size.width / 2, gap[1]) > 16 * scale:
            line = {"arrowstyle": "-", "color": one.color, "linewidth": 0.5, "alpha": 0.6}
            pixels = {"xycoords": "figure pixels", "textcoords": "figure pixels"}
            axes.annotate("", centre, best, arrowprops=line, zorder=1, **pixels)


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
