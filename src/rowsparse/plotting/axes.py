"""What all pictures share: axes to draw on, colours, and names of features beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from rowsparse._names import shown

__all__ = [
    "COLOURS",
    "QUIET",
    "STRONG",
    "axes_for",
    "name_ticks",
    "require_matplotlib",
    "row_axes",
]

# Paul Tol's bright colours, told apart by readers with any usual colour vision.
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000")
# What stands out, and what stays in the background.
STRONG, QUIET = "#d62728", "#777777"
# Letters of a name that are shown.
_NAME_WIDTH = 36
# The least size of a name, in points, and the share of its row that it takes.
_LEAST_SIZE, _LINE = 5.0, 0.8
# Inches for a row of a picture and for the rest of it, and the greatest height.
_ROW, _REST, _HIGHEST = 0.24, 1.2, 14.0


def require_matplotlib() -> None:
    """Refuse to go on without matplotlib.

    Raises
    ------
    ImportError
        The message names the extra to install.
    """
    if find_spec("matplotlib") is None:
        raise ImportError('Pictures need matplotlib: pip install "rowsparse[plot]".')


def axes_for(ax: Any, width: float = 6.4, height: float = 4.2) -> Any:
    """The axes given, or those of a new figure of pyplot, in inches."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def row_axes(ax: Any, n_rows: int) -> Any:
    """Axes with a row for each name, the first at the top."""
    axes = axes_for(ax, 6.4, min(_REST + _ROW * n_rows, _HIGHEST))
    axes.set_ylim(n_rows - 0.4, -0.6)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return axes


def name_ticks(axis: Any, names: Sequence[str | None], size: str | None = None) -> float:
    """Write names at the places 0, 1, 2, ... of an axis, cut, and as large as there is room.

    Nothing is written for None. ``size`` is the largest size, as matplotlib names it; by default
    it is that of ticks. Where the least readable size does not fit, every second name (or third,
    ...) is written. Returns the room of each, in points.
    """
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    box, dpi = axis.axes.get_window_extent(), axis.axes.figure.dpi
    upright = axis.axis_name == "y"
    room = _LINE * 72 * (box.height if upright else box.width) / dpi / max(len(names), 1)
    if size is None:
        size = rcParams["ytick.labelsize"] if upright else rcParams["xtick.labelsize"]
    usual = FontProperties(size=size).get_size_in_points()
    places = np.arange(0, len(names), max(1, math.ceil(_LEAST_SIZE / room)))
    written = [names[i] for i in places.tolist()]
    axis.set_ticks(places, ["" if name is None else shown(name, _NAME_WIDTH) for name in written])
    axis.set_tick_params(length=0)
    for label in axis.get_ticklabels():
        # A dollar sign in a name starts no formula.
        label.set_parse_math(False)
        label.set_fontsize(min(usual, max(room, _LEAST_SIZE)))
    return room
