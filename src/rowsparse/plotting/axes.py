"""What all pictures share: axes, colours, lines, names of features, and what was selected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rowsparse._arrays import Mask
from rowsparse._names import shown

# Paul Tol's bright colours, told apart by readers with any usual colour vision.
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000")
# What stands out, and what stays in the background.
STRONG, QUIET = "#d62728", "#777777"
# Letters of a name that are shown.
NAME_WIDTH = 36
# The least size of a name, in points, and the share of its row that it takes.
_LEAST_SIZE, _LINE = 5.0, 0.8
# The largest share of a figure that names at its left take, and the width of a letter by its size.
_SHARE, _LETTER = 0.48, 0.6
# Inches for a row of a picture and for the rest of it, and the greatest height.
_ROW, _REST, _HIGHEST = 0.24, 1.2, 14.0


class Display:
    """A picture that can be drawn again, and knows where it was drawn."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure.
        **options
            Passed to the function of matplotlib that draws it.

        Returns
        -------
        Display
            Itself.
        """
        self.ax_ = self._draw(ax, options)
        self.figure_ = self.ax_.figure
        return self

    def _draw(self, ax: Any, options: dict[str, Any]) -> Any:
        raise NotImplementedError


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


def k_ticks(axis: Any) -> None:
    """Numbers of features are whole."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=10, integer=True))


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
    # On a narrow figure names would leave no room for what they name.
    most = _SHARE * axis.axes.figure.bbox.width * 72 / dpi / (_LETTER * usual)
    width = min(NAME_WIDTH, int(most)) if upright else NAME_WIDTH
    places = np.arange(0, len(names), max(1, math.ceil(_LEAST_SIZE / room)))
    written = [names[i] for i in places.tolist()]
    axis.set_ticks(places, ["" if name is None else shown(name, width) for name in written])
    axis.set_tick_params(length=0)
    for label in axis.get_ticklabels():
        # A dollar sign in a name starts no formula.
        label.set_parse_math(False)
        label.set_fontsize(min(usual, max(room, _LEAST_SIZE)))
    return room


def name_cells(axes: Any, rows: Sequence[str], columns: Sequence[str | None]) -> None:
    """Write names beside the rows of cells and, upright, below the columns."""
    name_ticks(axes.xaxis, columns)
    axes.tick_params(axis="x", rotation=90)
    whole = axes.figure.figure
    engine = whole.get_layout_engine()
    if engine is not None:  # the names below take from the height that the rows share
        engine.execute(whole)
    name_ticks(axes.yaxis, rows)


def draw_line(
    axes: Any,
    at: Any,
    values: Any,
    spread: Any = None,
    *,
    number: int,
    highlight: bool = False,
    **options: Any,
) -> Any:
    """Draw one line with its points, and error bars if there is a spread.

    ``number`` counts the lines: each has a colour, and more lines than colours are dashed, then
    dotted. A highlighted line is solid and thicker.
    """
    again, colour = divmod(number, len(COLOURS))
    style = {
        "marker": "o",
        "markersize": 2.5,
        "linewidth": 2.4 if highlight else 1.2,
        "zorder": 3 if highlight else 2,
        "linestyle": "-" if highlight else ("-", "--", ":")[again % 3],
        "color": COLOURS[colour],
    }
    if spread is not None:
        style |= {"yerr": spread, "capsize": 2.0, "elinewidth": 0.8}
    return axes.errorbar(at, values, **style | options)


def fitted_support(estimator: Any) -> Mask:
    """The mask of the selected features; NotFittedError before fit."""
    if not hasattr(estimator, "get_support"):
        raise TypeError(f"estimator must be a selector with get_support; got {estimator!r}.")
    check_is_fitted(estimator)
    return np.asarray(estimator.get_support(), dtype=bool)


def feature_names(estimator: Any, n_features: int) -> list[str]:
    """Names of all columns: those that ``fit`` has seen, or x0, x1, ... as in scikit-learn.

    >>> from rowsparse import TopK
    >>> feature_names(TopK(), 3)
    ['x0', 'x1', 'x2']
    """
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(n_features)] if names is None else [str(name) for name in names]
