"""Curves as pictures: one panel a data set, one line a method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reproduction.declare import Row
from reproduction.summaries import values_by
from rowsparse._text import joined
from rowsparse.evaluation.curve import PROTOCOLS
from rowsparse.plotting.axes import STRONG, draw_line, require_matplotlib


class Line(NamedTuple):
    """Where the points of a curve are, their values, and the lengths of their error bars."""

    at: Sequence[float]
    values: Sequence[float]
    spread: Sequence[float] | None = None


# By the title of a panel and the name of a line.
Panels = dict[str, dict[str, Line]]
# Curves whose points differ by less than this share of the panel's height hide each other.
_HIDDEN = 0.005

_DPI = 110


@dataclass(frozen=True)
class Picture:
    """The name of a file, the function that draws it, and a sentence to add to its caption."""

    name: str
    draw: Callable[[Path], None]
    note: str = ""


def new_canvas(width: float, height: float) -> Any:
    """An empty figure of matplotlib, in inches."""
    require_matplotlib()
    from matplotlib.figure import Figure

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
    {'Iris': {'RFS': Line(at=[2], values=[90.0], spread=None)}}
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
                line = Line(list(points), list(points.values()))
                panels.setdefault(title, {})[label] = line
    return panels


def protocol_pictures(
    name: str,
    panels: Callable[[str], Panels],
    *,
    y: str = "accuracy, %",
    columns: int = 3,
    subject: str = "TopK",
) -> dict[str, Picture]:
    """A picture for each protocol that was run, from the panels of a protocol."""
    return {
        protocol: curve_picture(
            f"{name}-{protocol}", found, x="features", y=y, columns=columns, subject=subject
        )
        for protocol in PROTOCOLS
        if (found := panels(protocol))
    }


def coinciding(panels: Panels) -> dict[str, list[str]]:
    """Pairs of curves that cannot be told apart, and the panels where this is so.

    >>> line = Line([1, 2], [0.5, 0.7])
    >>> coinciding({"Iris": {"MTFS": line, "SFS": line, "RFS": Line([1, 2], [0.5, 0.9])}})
    {'MTFS and SFS': ['Iris']}
    """
    found: dict[str, list[str]] = {}
    for title, lines in panels.items():
        every = np.concatenate([np.asarray(line.values, dtype=float) for line in lines.values()])
        least = _HIDDEN * float(np.ptp(every))
        for (one, first), (other, second) in combinations(lines.items(), 2):
            # One may go on where the other has ended.
            left, right = (dict(zip(x.at, x.values, strict=True)) for x in (first, second))
            shared = left.keys() & right.keys()
            covered = len(shared) == min(len(left), len(right))
            if covered and max(abs(left[at] - right[at]) for at in shared) <= least:
                found.setdefault(f"{one} and {other}", []).append(title)
    return found


def curve_picture(
    name: str, panels: Panels, *, x: str, y: str, columns: int = 3, subject: str = "TopK"
) -> Picture:
    """A picture of the panels, whose note names the curves that hide each other.

    The line of the ``subject`` stands out.
    """
    hidden = [f"{pair} ({'; '.join(titles)})" for pair, titles in coinciding(panels).items()]
    note = f"Curves that lie on each other: {joined(hidden)}." if hidden else ""
    return Picture(name, curves(panels, x=x, y=y, columns=columns, subject=subject), note)


def curves(
    panels: Panels, *, x: str, y: str, columns: int = 3, subject: str = "TopK"
) -> Callable[[Path], None]:
    """A function that draws the panels."""

    def draw(path: Path) -> None:
        rows = -(-len(panels) // columns)
        width = min(columns, len(panels))
        names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
        legend_columns = max(1, 3 * width // 2)
        legend_rows = -(-len(names) // legend_columns)
        figure = new_canvas(4.2 * width, 3.1 * rows + 0.25 + 0.22 * legend_rows)
        grid = np.ravel(figure.subplots(rows, width, squeeze=False))
        handles = {}
        for axes, (title, lines) in zip(grid, panels.items(), strict=False):
            for name, line in lines.items():
                is_own = name == subject
                colour = {"color": STRONG} if is_own else {}
                handles[name] = draw_line(
                    axes, *line, number=names.index(name), highlight=is_own, **colour
                )
            axes.set(title=title, xlabel=x, ylabel=y)
            axes.grid(alpha=0.3)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=legend_columns,
            frameon=False,
        )
        save(figure, path)

    return draw
