"""The drawings of a report as SVG files of their own, with plain coordinates and colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from rowsparse._names import display_width, shown
from rowsparse.report.comparison import comparison_charts
from rowsparse.report.lines import LETTER, N_STYLES
from rowsparse.report.page import asset
from rowsparse.report.path import path_charts
from rowsparse.report.selection import selection_charts
from rowsparse.report.svg import Svg, tag, text

if TYPE_CHECKING:
    from rowsparse.workflow.results import ComparisonResult, PathResult, SelectionResult

__all__ = ["comparison_figures", "path_figures", "selection_figures", "standalone"]

# Pixels across a figure, its margin, and the height of a row of the legend.
WIDTH, MARGIN, ROW = 760.0, 16.0, 22.0

Legend = Sequence[tuple[str, str, str]]


def selection_figures(result: SelectionResult) -> dict[str, str]:
    """The figures of a selection, by their names."""
    return {name: standalone(*chart) for name, chart in selection_charts(result).items()}


def comparison_figures(result: ComparisonResult) -> dict[str, str]:
    """The figures of a comparison, by their names."""
    return {name: standalone(*chart) for name, chart in comparison_charts(result).items()}


def path_figures(result: PathResult) -> dict[str, str]:
    """The figures of a path, by their names."""
    return {name: standalone(*chart) for name, chart in path_charts(result).items()}


def standalone(drawing: Svg, legend: Legend = ()) -> str:
    """A line chart as a file that any program for drawings opens.

    On the page, places are percentages of a width that the browser decides, lines are stretched,
    and colours follow the theme. Here all are numbers, in the light theme.

    Parameters
    ----------
    drawing : Svg
        What :func:`rowsparse.report.lines.line_chart` makes.
    legend : sequence of (str, str, str)
        Names, classes of their styles, and words after the names.
    """
    root = ElementTree.fromstring(f"<root>{drawing}</root>")
    above, plot, below = root
    axis, chart = plot
    gutter, height = float(axis.get("width", "0")), float(chart.get("height", "0"))
    width = WIDTH - gutter - 2 * MARGIN
    _flatten(chart, width)
    entries, top = _legend(legend)
    top += MARGIN
    parts = [
        tag("title", chart.get("aria-label", "")),
        tag("style", Svg(_style())),
        tag("rect", width=WIDTH, height=top + height + 50, fill="#ffffff"),
        *entries,
        text(MARGIN, top + 10, above.text or "", "tick"),
        tag("g", Svg(_inside(axis)), transform=f"translate({MARGIN:g} {top + 16:g})"),
        tag("g", Svg(_inside(chart)), transform=f"translate({MARGIN + gutter:g} {top + 16:g})"),
        text(MARGIN + gutter + width / 2, top + height + 34, below.text or "", "tick", "middle"),
    ]
    box = f"0 0 {WIDTH:g} {top + height + 50:g}"
    page = tag(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        width=WIDTH,
        height=top + height + 50,
        viewBox=box,
    )
    # Half of a surrogate pair, from a broken file, cannot be written as UTF-8.
    return f"{page}\n".encode("utf-8", "replace").decode("utf-8")


def _inside(element: Element) -> str:
    return "".join(ElementTree.tostring(child, encoding="unicode") for child in element)


def _flatten(element: Element, width: float, across: float = 1.0, down: float = 1.0) -> None:
    """Turn percentages and stretched parts into numbers, in place."""
    for child in element:
        if child.tag == "svg":
            _, _, box_width, box_height = map(float, child.get("viewBox", "0 0 1 1").split())
            height = float(element.get("height", box_height))
            child.tag, child.attrib = "g", {}
            _flatten(child, width, width / box_width, height / box_height)
            continue
        for name in ("x", "x1", "x2", "cx", "width"):
            value = child.get(name, "")
            if value.endswith("%"):
                child.set(name, f"{float(value[:-1]) * width / 100:.2f}")
        if (across, down) != (1.0, 1.0):
            for name in {"points", "d"} & set(child.attrib):
                child.set(name, _scaled(child.attrib[name], across, down))
        _flatten(child, width, across, down)


def _scaled(places: str, across: float, down: float) -> str:
    """Pairs of numbers, in points or after the M of a path, on another scale."""
    return re.sub(
        r"(-?[\d.]+)([ ,])(-?[\d.]+)(?=[ hM]|$)",
        lambda it: f"{float(it[1]) * across:.2f}{it[2]}{float(it[3]) * down:.2f}",
        places,
    )


def _legend(entries: Legend) -> tuple[list[Svg], float]:
    """The entries side by side, as many in a row as fit, and the height of all."""
    parts, x, row = [], MARGIN, 0
    for name, style, words in entries:
        label = f"{shown(name, 30)} {words}".strip()
        wide = 34 + LETTER * display_width(label)
        if x > MARGIN and x + wide > WIDTH - MARGIN:
            x, row = MARGIN, row + 1
        y = MARGIN + row * ROW
        line = tag("line", x1=x, x2=x + 18, y1=y, y2=y, class_="line")
        parts.append(tag("g", line, text(x + 24, y + 4, label, "name"), class_=style))
        x += wide
    return parts, (row + 1) * ROW if parts else 0.0


def _style() -> str:
    """The style of the page in the light theme, without what programs for drawings lack."""
    first_theme = asset("report.css").partition("}")[0]
    colours = dict(re.findall(r"--([\w-]+): (#\w+)", first_theme))
    quiet, ink, grid, accent = (colours[name] for name in ("quiet", "ink", "grid", "accent"))
    rules = [
        f"text {{ font: 12.5px sans-serif; fill: {ink}; }}",
        f".tick, .note {{ fill: {quiet}; }}",
        ".halo { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }",
        f".grid {{ stroke: {grid}; }}",
        f".rule {{ stroke: {quiet}; stroke-opacity: 0.6; }}",
        f".level {{ fill: none; stroke: {quiet}; stroke-dasharray: 5 4; }}",
        f".mark {{ stroke: {accent}; stroke-dasharray: 2 3; }}",
        ".line { fill: none; stroke-width: 2.2; }",
        ".dash1 .line { stroke-dasharray: 7 5; } .dash2 .line { stroke-dasharray: 1.5 4.5; }",
        f".cloud {{ stroke: {quiet}; stroke-width: 3.4; stroke-opacity: 0.4; "
        "stroke-linecap: round; }",
        ".dot { stroke: #ffffff; stroke-width: 1.2; } .band { fill-opacity: 0.15; }",
    ]
    for at in range(N_STYLES):
        colour = colours[f"s{at}"]
        rules.append(f".s{at} .line, .whisker.s{at} {{ stroke: {colour}; }}")
        rules.append(f".s{at} .dot, .dot.s{at}, .band.s{at} {{ fill: {colour}; }}")
    return "\n".join(rules)
