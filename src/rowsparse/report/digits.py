"""The picture of the digits demonstration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rowsparse._files import write_whole
from rowsparse.report.extra import require_extra

if TYPE_CHECKING:
    from rowsparse.demo import DigitsDemo, DigitsRow

__all__ = ["draw_digits", "save_digits_figure"]

# Okabe and Ito's colours, told apart by readers with any usual colour vision.
_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7E57C2")
_TEXT = "#222222"
_QUIET = "#666666"


def save_digits_figure(result: DigitsDemo, path: Path) -> None:
    """Draw, for each method, its pixels over the ten mean digits, and save it.

    Parameters
    ----------
    result : DigitsDemo
        What :func:`rowsparse.demo.run_digits` returned.
    path : Path
        The image file to make; the suffix chooses the format.
    """
    figure = draw_digits(result)
    write_whole(path, lambda temporary: figure.savefig(temporary, dpi=160, facecolor="white"))


def draw_digits(result: DigitsDemo) -> Any:
    """A matplotlib figure with a row of ten mean digits for each method."""
    require_extra()
    from matplotlib.figure import Figure

    methods = [row for row in result.rows if row.paper]
    height = 1.55 + 0.86 * len(methods)
    figure = Figure(figsize=(11.2, height))
    grid = figure.subplots(
        len(methods),
        10,
        squeeze=False,
        gridspec_kw={
            "left": 0.135,
            "right": 0.875,
            "top": 1 - 1.08 / height,
            "bottom": 0.36 / height,
            "wspace": 0.08,
            "hspace": 0.08,
        },
    )
    for index, (row, axes) in enumerate(zip(methods, grid, strict=True)):
        _draw_row(axes, row, result.mean_digits, _COLOURS[index % len(_COLOURS)])
    for digit, axis in enumerate(grid[0]):
        axis.set_title(str(digit), fontsize=11, color=_QUIET, pad=4)
    _write_words(figure, result, height)
    return figure


def _draw_row(axes: Any, row: DigitsRow, mean_digits: Any, colour: str) -> None:
    """Draw the ten mean digits, the selected pixels outlined, and the words on both sides."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    ink = LinearSegmentedColormap.from_list("ink", ["white", colour])
    for axis, image in zip(axes, mean_digits, strict=True):
        axis.imshow(image, cmap="Greys", vmin=0, vmax=26, interpolation="nearest")
        for pixel in np.flatnonzero(row.support):
            y, x = divmod(int(pixel), 8)
            fill = ink(image[y, x] / 16)
            axis.add_patch(Rectangle((x - 0.42, y - 0.42), 0.84, 0.84, fc=fill, ec=colour, lw=1.3))
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set(color="#cccccc", lw=0.6)
    _side_words(axes[0], -0.16, "right", row.method, row.paper)
    accuracy = f"{100 * row.accuracy:.1f} %"
    _side_words(axes[-1], 1.16, "left", accuracy, "correct")


def _side_words(axis: Any, x: float, side: str, bold: str, quiet: str) -> None:
    """Write a bold word and a quiet line under it beside an axis."""
    place = {"transform": axis.transAxes, "ha": side}
    axis.text(x, 0.56, bold, va="bottom", fontsize=13, fontweight="bold", color=_TEXT, **place)
    axis.text(x, 0.46, quiet, va="top", fontsize=8.5, color=_QUIET, **place)


def _write_words(figure: Any, result: DigitsDemo, height: float) -> None:
    """Write the title, the sentence that explains it, and the comparison with all pixels."""
    one = result.k == 1
    title = "Which pixel tells" if one else f"Which {result.k} pixels tell"
    whole = next(row for row in result.rows if not row.paper)
    lines: tuple[tuple[float, str, dict[str, Any]], ...] = (
        (
            1 - 0.14 / height,
            f"{title} the ten handwritten digits apart?",
            {"va": "top", "fontsize": 16, "fontweight": "bold", "color": _TEXT},
        ),
        (
            1 - 0.5 / height,
            f"Each method keeps the same {result.k} pixel{'' if one else 's'} of 64 in every image "
            "(coloured squares); a dark square has ink in the average image of that digit",
            {"va": "top", "fontsize": 10.5, "color": _QUIET},
        ),
        (
            0.1 / height,
            "Accuracy of a linear support vector machine on held-out images (5 folds, pixels "
            f"picked inside each fold). With all 64 pixels: {100 * whole.accuracy:.1f} %.",
            {"va": "bottom", "fontsize": 9, "color": _QUIET},
        ),
    )
    for y, words, style in lines:
        figure.text(0.5, y, words, ha="center", **style)
