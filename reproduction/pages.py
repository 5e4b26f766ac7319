"""Pages from stored rows: tables in Markdown, curves as pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.declare import Paper, Row
from rowsparse._files import write_whole

__all__ = ["Panels", "curves", "markdown_table", "mean_and_sd", "method_panels", "write_page"]

# By the title of a panel and the name of a line: where its points are, and their values.
Panels = dict[str, dict[str, tuple[Sequence[float], Sequence[float]]]]

_COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000",
)  # fmt: skip


def mean_and_sd(rows: Iterable[Row], what: str, **where: Any) -> tuple[float, float, int]:
    """Mean, standard deviation and number of the rows that agree with ``where``.

    >>> rows = [{"k": 1, "accuracy": 0.5}, {"k": 1, "accuracy": 0.7}, {"k": 2, "accuracy": 0.9}]
    >>> [round(value, 3) for value in mean_and_sd(rows, "accuracy", k=1)]
    [0.6, 0.1, 2]
    """
    values = [
        row[what]
        for row in rows
        if row.get(what) is not None
        and all(row.get(name) == value for name, value in where.items())
    ]
    if not values:
        return float("nan"), float("nan"), 0
    return float(np.mean(values)), float(np.std(values)), len(values)


def markdown_table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; the first column to the left, the others to the right.

    >>> print(markdown_table(["data", "RFS"], [["ALLAML", "95.9"]]))
    | data | RFS |
    |:--|--:|
    | ALLAML | 95.9 |
    """
    rule = "|" + "|".join([":--"] + ["--:"] * (len(header) - 1)) + "|"
    rows = ["| " + " | ".join(line) + " |" for line in [list(header), *map(list, lines)]]
    return "\n".join([rows[0], rule, *rows[1:]])


def method_panels(
    rows: Sequence[Row],
    datasets: Mapping[str, str],
    methods: Mapping[str, str],
    *,
    what: str = "accuracy",
    factor: float = 100.0,
    **where: Any,
) -> Panels:
    """Panels for :func:`curves`: the mean of a figure over k, by the titles of data and methods.

    >>> rows = [{"dataset": "iris", "method": "rfs", "k": 2, "accuracy": 0.9}]
    >>> method_panels(rows, {"iris": "Iris"}, {"rfs": "RFS"})
    {'Iris': {'RFS': ([2], [90.0])}}
    """
    ks = sorted({row["k"] for row in rows if "k" in row})
    panels: Panels = {}
    for dataset, title in datasets.items():
        own = [row for row in rows if row.get("dataset") == dataset]
        lines: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
        for method, label in methods.items():
            means = {k: mean_and_sd(own, what, method=method, k=k, **where) for k in ks}
            points = {k: factor * mean for k, (mean, _, n) in means.items() if n}
            if points:
                lines[label] = (list(points), list(points.values()))
        if lines:
            panels[title] = lines
    return panels


def curves(
    panels: Panels,
    *,
    x: str,
    y: str,
    columns: int = 3,
) -> Callable[[Path], None]:
    """A function that draws one panel a data set, one line a method."""

    def draw(path: Path) -> None:
        try:
            from matplotlib.figure import Figure as Canvas
        except ImportError:
            raise ImportError(
                'Pictures need matplotlib: pip install "rowsparse[report]".'
            ) from None
        rows = -(-len(panels) // columns)
        width = min(columns, len(panels))
        figure = Canvas(figsize=(4.2 * width, 3.1 * rows + 0.7), layout="constrained")
        grid = np.ravel(figure.subplots(rows, width, squeeze=False))
        names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
        for axes, (title, lines) in zip(grid, panels.items(), strict=False):
            for name, (at, values) in lines.items():
                own = name == "TopK"
                again, colour = divmod(names.index(name), len(_COLOURS))
                axes.plot(
                    at, values, label=name, marker="o", markersize=2.5,
                    linewidth=2.4 if own else 1.2, zorder=3 if own else 2,
                    linestyle="--" if again and not own else "-",
                    color="#d62728" if own else _COLOURS[colour],
                )  # fmt: skip
            axes.set(title=title, xlabel=x, ylabel=y)
            axes.grid(alpha=0.3)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        handles = {
            label: handle
            for axes in grid[: len(panels)]
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center",
            ncols=max(2, 3 * width // 2), frameon=False,
        )  # fmt: skip
        figure.savefig(path, dpi=110, metadata={"Software": None})

    return draw


def write_page(paper: Paper, rows: Mapping[str, list[Row]], folder: Path) -> Path:
    """Write the page of a paper and its pictures, from rows by experiment; the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [f"# {paper.title}", paper.citation, paper.intro]
    for section in paper.sections(rows):
        parts += [f"## {section.title}", section.text]
        for figure in section.figures:
            picture = folder / f"{figure.name}.png"
            write_whole(picture, figure.draw)
            parts.append(f"![{figure.caption}]({picture.name})\n\n*{figure.caption}*")
    text = "\n\n".join(part.strip() for part in parts) + "\n"
    page = folder / f"{paper.name}.md"
    write_whole(page, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    return page
