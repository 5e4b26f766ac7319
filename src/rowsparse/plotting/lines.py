"""Lines of several methods, in styles that can be told apart."""

from __future__ import annotations

from typing import Any

from rowsparse.plotting.axes import COLOURS

__all__ = ["draw_line"]


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

    ``number`` counts the lines: each has a colour, and more lines than colours are dashed. A
    highlighted line is solid and thicker.
    """
    again, colour = divmod(number, len(COLOURS))
    style = {
        "marker": "o",
        "markersize": 2.5,
        "linewidth": 2.4 if highlight else 1.2,
        "zorder": 3 if highlight else 2,
        "linestyle": "--" if again and not highlight else "-",
        "color": COLOURS[colour],
    }
    if spread is not None:
        style |= {"yerr": spread, "capsize": 2.0, "elinewidth": 0.8}
    return axes.errorbar(at, values, **style | options)
