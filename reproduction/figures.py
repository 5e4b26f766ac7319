"""Curves as pictures: one panel a data set, one line a method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.declare import Row
from reproduction.summaries import values_by
from rowsparse.evaluation import PROTOCOLS

# Where the points of a line are, and their values.
Line = tuple[Sequence[float], Sequence[float]]
# By the title of a panel and the name of a line.
Panels = dict[str, dict[str, Line]]

_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000")
OWN_COLOUR = "#d62728"
_DPI = 110


@dataclass(frozen=True)
class Picture:
    """The name of a file, and the function that draws it."""

    name: str
    draw: Callable[[Path], None]


def new_canvas(width: float, height: float) -> Any:
    """An empty figure of matplotlib, in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('Pictures need matplotlib: pip install "rowsparse[report]".') from None
    return Figure(figsize=(width, height), dpi=_DPI, layout="constrained")


def save(figure: Any, path: Path) -> None:
    """Write a picture that is the same for the same data."""
    figure.savefig(path, dpi=_DPI, metadata={"Software": None})


def method_panels(
    rows: Sequence[Row],
    datasets: Mapping[str, str],
    methods: Mapping[str, str],
    *,
    what: str = "accuracy",
    factor: float = 100.0,
    **where: Any,
) -> Panels:
    """Means over k, by the titles of data sets and methods.

    >>> rows = [{"dataset": "iris", "method": "rfs", "k": 2, "accuracy": 0.9}]
    >>> method_panels(rows, {"iris": "Iris"}, {"rfs": "RFS"})
    {'Iris': {'RFS': ([2], [90.0])}}
    """
    means = {
        cell: factor * float(np.mean(values))
        for cell, values in values_by(rows, what, "dataset", "method", "k", **where).items()
    }
    ks = sorted({k for _, _, k in means})
    panels: Panels = {}
    for dataset, title in datasets.items():
        for method, label in methods.items():
            points = {k: means[dataset, method, k] for k in ks if (dataset, method, k) in means}
            if points:
                line = (list(points), list(points.values()))
                panels.setdefault(title, {})[label] = line
    return panels


def protocol_pictures(
    name: str,
    panels: Callable[[str], Panels],
    *,
    y: str = "accuracy, %",
    columns: int = 3,
) -> dict[str, Picture]:
    """A picture for each protocol that was run, from the panels of a protocol."""
    return {
        protocol: Picture(f"{name}-{protocol}", curves(found, x="features", y=y, columns=columns))
        for protocol in PROTOCOLS
        if (found := panels(protocol))
    }


def curves(panels: Panels, *, x: str, y: str, columns: int = 3) -> Callable[[Path], None]:
    """A function that draws the panels."""

    def draw(path: Path) -> None:
        rows = -(-len(panels) // columns)
        width = min(columns, len(panels))
        figure = new_canvas(4.2 * width, 3.1 * rows + 0.7)
        grid = np.ravel(figure.subplots(rows, width, squeeze=False))
        names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
        handles = {}
        for axes, (title, lines) in zip(grid, panels.items(), strict=False):
            for name, (at, values) in lines.items():
                (handles[name],) = axes.plot(at, values, **_style(name, names.index(name)))
            axes.set(title=title, xlabel=x, ylabel=y)
            axes.grid(alpha=0.3)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=max(2, 3 * width // 2),
            frameon=False,
        )
        save(figure, path)

    return draw


def _style(name: str, at: int) -> dict[str, Any]:
    """TopK stands out; more lines than colours are dashed."""
    own = name == "TopK"
    again, colour = divmod(at, len(_COLOURS))
    return {
        "marker": "o",
        "markersize": 2.5,
        "linewidth": 2.4 if own else 1.2,
        "zorder": 3 if own else 2,
        "linestyle": "--" if again and not own else "-",
        "color": OWN_COLOUR if own else _COLOURS[colour],
    }
