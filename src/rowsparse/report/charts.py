"""Charts of a report: drawn by matplotlib, once for each width, styled by the page.

A chart is a function that draws into axes, such as the ``plot`` of a Display. The page holds its
SVG, in which colours are those of :data:`rowsparse.plotting.axes.COLOURS`; the style sheet of the
page replaces them by those of the theme. A file of the chart keeps them.
"""

from __future__ import annotations

import io
import itertools
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from rowsparse._arrays import Array
from rowsparse._names import display_width, full
from rowsparse.evaluation.metrics import is_better_low
from rowsparse.plotting import PathDisplay
from rowsparse.plotting.axes import COLOURS, QUIET, name_ticks, row_axes
from rowsparse.report.numbers import metric_name, number, tick_score
from rowsparse.report.words import curve_sentence
from rowsparse.workflow.results import KCurve

# Pixels across a chart on a large screen or on paper, and on a phone.
WIDE, NARROW = 720, 320
# Size of the type in pixels, about that of its letters, of a row and of a point.
_TYPE, _LETTER, _ROW, _DOT = 12.0, 7.0, 20.0, 4.5
# Pixels around a drawing; entries of a legend that find room between the lines.
_MARGIN, _FEW = 3.0, 5
_STYLE = {
    "font.size": _TYPE,
    "axes.labelsize": _TYPE,
    "axes.labelcolor": QUIET,
    "axes.titlesize": _TYPE,
    "axes.titley": 1.0,
    "axes.edgecolor": QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "figure.dpi": 72.0,
    "legend.fontsize": _TYPE,
    "legend.frameon": False,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.major.pad": 6.0,
    "xtick.major.size": 0.0,
    "ytick.major.size": 0.0,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "xtick.labelsize": _TYPE,
    "ytick.labelsize": _TYPE,
    "svg.fonttype": "none",
    "svg.hashsalt": "rowsparse",
    # A dollar sign in a name starts no formula.
    "text.parse_math": False,
}
_XLINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"(?<=#)\w+")
_NO_TEXT = re.compile(r"[^\t\n\r\x20-\ufffd\U00010000-\U0010ffff]")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-\d+)?")


@dataclass(frozen=True)
class Chart:
    """A chart that a template shows with ``{{ chart }}`` and that :meth:`file` makes a file of.

    Parameters
    ----------
    name : str
        A word of its own on the page; the file is named after it.
    draw : callable
        Draws into the axes that it is given. The ``url`` of an artist, and each of the ``urls`` of
        a collection, is shown under the pointer; the ``gid`` "series-0" makes an artist part of the
        first entry of the legend beside the chart.
    label : str
        What the chart shows, for those who cannot see it.
    height : float
        Pixels.
    widths : tuple of int
        Pixels; of two, the page shows the first on a large screen and the second on a phone.
    finish : callable
        Draws what depends on the place of the axes, once they fill the figure.
    """

    name: str
    draw: Callable[[Any], object]
    label: str
    height: float = 260.0
    widths: tuple[int, ...] = (WIDE, NARROW)
    finish: Callable[[Any], object] = lambda axes: None

    def __html__(self) -> str:
        """The markup of the page."""
        kinds = ("wide", "narrow") if len(self.widths) == 2 else ("",)
        drawn = []
        for kind, width in zip(kinds, self.widths, strict=True):
            root = self._drawing(width)
            root.attrib |= {
                "class": f"chart {kind}".rstrip(),
                "role": "img",
                "aria-label": self.label,
            }
            if width not in (WIDE, NARROW):
                root.set("width", str(width))
            drawn.append(ElementTree.tostring(root, encoding="unicode"))
        return "".join(drawn)

    def file(self) -> str:
        """A file that any program for drawings opens."""
        width = self.widths[0]
        root = self._drawing(width, with_legend=True)
        size = {"width": str(width), "height": f"{self.height:g}"}
        spaces = {"xmlns": "http://www.w3.org/2000/svg", "xmlns:xlink": _XLINK[1:-5]}
        root.attrib |= spaces | size
        title = Element("title")
        title.text = self.label
        paper = Element("rect", {"fill": "#ffffff", **size})
        root[:0] = [title, paper]
        return ElementTree.tostring(root, encoding="unicode") + "\n"

    def _drawing(self, width: int, *, with_legend: bool = False) -> Element:
        from matplotlib import style
        from matplotlib.figure import Figure

        written = io.StringIO()
        # What the user has set for own pictures does not count here.
        with style.context(["default", _STYLE]), warnings.catch_warnings():
            # The browser has letters that the fonts of matplotlib lack.
            warnings.filterwarnings("ignore", "Glyph .* missing from")
            figure = Figure((width / 72, self.height / 72))
            axes = figure.add_subplot()
            self.draw(axes)
            for one in figure.axes:
                _write_powers(one.xaxis)
                _write_powers(one.yaxis)
            if with_legend:
                _add_legend(axes)
            legend = axes.get_legend()
            if legend is not None:
                # Lines that it covers are seen through it, and do not strike its words out.
                legend.set_frame_on(True)
                legend.get_frame().set(facecolor="white", edgecolor="none", alpha=0.8)
                for text in legend.get_texts():
                    text.set_fontsize(_TYPE)
            if len(figure.axes) > 1:
                figure.set_layout_engine("constrained")
            else:
                _fit_to_figure(axes)
            self.finish(axes)
            figure.savefig(written, format="svg", transparent=True)
        # What a name may hold, and a page may not: control characters, half of a surrogate pair.
        source = _NO_TEXT.sub("?", written.getvalue()).encode("utf-8", "replace")
        root = _plain(ElementTree.fromstring(source))
        used = [name for one in root.iter() for name in _references(one)]
        names = {name: f"{self.name}-{width}-{at}" for at, name in enumerate(dict.fromkeys(used))}
        _tidy(root, names)
        root.attrib = {"viewBox": f"0 0 {width:g} {self.height:g}"} | {
            "font-size": f"{_TYPE:g}",
            "font-family": "sans-serif",
            "stroke-linejoin": "round",
        }
        return root


def _write_powers(axis: Any) -> None:
    """Numbers at a logarithmic axis: powers of ten, and more where there are few of them."""
    if axis.get_scale() != "log":
        return
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = axis.get_view_interval()
    is_long = high > 30 * low
    axis.set_major_locator(LogLocator(subs=(1.0,) if is_long else (1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: number(value))


def _add_legend(axes: Any) -> None:
    """What the page writes beside the chart; many entries stand at the right of it."""
    count = len(axes.get_legend_handles_labels()[1])
    if count and axes.get_legend() is None:
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if count > _FEW else {}
        axes.legend(**place)


def _fit_to_figure(axes: Any) -> None:
    """Fill the figure with the axes and what is written around them.

    Quicker than the layouts of matplotlib, for a figure with nothing else in it. The name of the
    y axis is written above it: beside low axes there is little room.
    """
    words = axes.get_ylabel()
    if words and not axes.get_title():
        axes.set_ylabel("")
        axes.set_title(words, loc="left", x=0.0, color=QUIET)
    if not axes.get_ylabel():
        axes.yaxis.set_label_coords(0.0, 0.5)  # else its place is looked for, again and again
    outer, inner, whole = axes.get_tightbbox(), axes.get_window_extent(), axes.figure.bbox
    start = (np.array(inner.min) - outer.min + _MARGIN) / whole.size
    stop = 1 - (np.array(outer.max) - inner.max + _MARGIN) / whole.size
    axes.set_position([*start, *np.maximum(stop - start, 0.1)])
    label = axes.xaxis.label
    x, y = label.get_position()
    axes.xaxis.set_label_coords(x, y - outer.y0 + _MARGIN, label.get_transform())


def row_height(n_rows: int) -> float:
    """Pixels of a chart with this number of rows and an axis with a name."""
    return 44.0 + _ROW * n_rows


def named_rows(axes: Any, names: Sequence[str]) -> None:
    """A row for each name, the first at the top; a shortened one is whole under the pointer."""
    row_axes(axes, len(names))
    name_ticks(axes.yaxis, names)
    for at, label in zip(axes.get_yticks().astype(int), axes.get_yticklabels(), strict=True):
        if label.get_text() != names[at]:
            label.set_url(full(names[at]))


def write_names(
    axes: Any, points: Array, names: Sequence[str], lines: Sequence[float] = ()
) -> None:
    """Write names beside points, on no other name, point or level line; the first come first.

    Names without room are left out.
    """
    frame = axes.get_window_extent().extents
    at = axes.transData.transform(points) if len(points) else points
    heights = np.array([axes.transData.transform((0.0, y))[1] for y in lines])
    taken = np.array([[x - _DOT, y - _DOT, x + _DOT, y + _DOT] for x, y in at]).reshape(-1, 4)
    for own, ((x, y), name) in enumerate(zip(at, names, strict=False)):
        width, gap = _LETTER * display_width(name) + 4, _DOT + 3
        for up, side in itertools.product((0, 11, -11), (1, -1)):
            left = x + gap if side > 0 else x - gap - width
            box = np.array([left, y + up - _TYPE / 2, left + width, y + up + _TYPE / 2])
            others = np.delete(taken, own, axis=0)
            meets = (others[:, :2] < box[2:]).all(axis=1) & (box[:2] < others[:, 2:]).all(axis=1)
            is_inside = (frame[:2] < box[:2]).all() and (box[2:] < frame[2:]).all()
            if (
                is_inside
                and not meets.any()
                and not ((box[1] < heights) & (heights < box[3])).any()
            ):
                place = {"textcoords": "offset points", "va": "center_baseline"}
                side_of = "left" if side > 0 else "right"
                axes.annotate(name, points[own], (side * gap, up), ha=side_of, **place)
                taken = np.vstack([taken, box])
                break


def score_limits(metric: str) -> tuple[float, float]:
    """What no score can go beyond."""
    return -math.inf if metric in ("r2", "d2") else 0.0, math.inf if is_better_low(metric) else 1.0


def spread_within(metric: str, mean: Any, sd: Any) -> Array:
    """Lengths of error bars below and above means, no further than scores can go."""
    low, high = score_limits(metric)
    middle, half = (
        np.asarray(mean, dtype=np.float64),
        np.nan_to_num(np.asarray(sd, dtype=np.float64)),
    )
    return np.array([np.minimum(half, middle - low), np.minimum(half, high - middle)])


def draw_score_axis(axes: Any, metric: str, which: str = "y") -> None:
    """Write scores as the metric is usually given, and nothing beyond what it can reach."""
    axis = getattr(axes, f"{which}axis")
    low, high = score_limits(metric)
    bottom, top = axis.get_view_interval()
    air = 0.02 * (top - bottom)
    getattr(axes, f"set_{which}lim")(max(bottom, low - air), min(top, high + air))
    axis.set_major_formatter(lambda value, _: tick_score(metric, value))


def k_curve(name: str, curve: KCurve, level: tuple[float, str] | None = None) -> Chart:
    """Mean score over the number of features; `level` is a score to compare with, and its words."""
    metric = metric_name(curve.metric)

    def draw(axes: Any) -> None:
        if level is not None:
            axes.axhline(level[0], color=QUIET, ls="--", lw=1.2, label=level[1])
        PathDisplay(
            np.asarray(curve.ks),
            np.asarray(curve.mean),
            errors=spread_within(curve.metric, curve.mean, curve.sd),
            chosen_k=curve.chosen_k,
            value_name=f"{metric}, mean",
            error_name="sd over the folds",
        ).plot(axes)
        draw_score_axis(axes, curve.metric)

    words = f"Cross-validated {metric} against the number of features. {curve_sentence(curve)}"
    return Chart(name, draw, words)


def style_class(style: int) -> str:
    """The classes of a line in a legend: its colour and, beyond the last, its dashes."""
    again, colour = divmod(style, len(COLOURS))
    return f"s{colour}" + (f" dash{again % 3}" if again % 3 else "")


def _references(element: Element) -> list[str]:
    """The names of other elements that an element refers to."""
    values = (element.get(_XLINK, ""), element.get("clip-path", ""))
    return [name for value in values if "#" in value for name in _REFERENCE.findall(value)]


def _plain(element: Element) -> Element:
    """Attributes in the place of styles, which the policy of the page forbids, and nothing idle."""
    element.tag = element.tag.rpartition("}")[2]
    if element.tag == "a":
        # The address of an artist is what the pointer shows of it.
        element.tag, hint = "g", Element("title")
        hint.text = full(element.get(_XLINK, ""))
        element.attrib.clear()
        element.insert(0, hint)
    for key, value in [
        part.split(":", 1) for part in element.attrib.pop("style", "").split(";") if ":" in part
    ]:
        _set_style(element, key.strip(), value.strip())
    if element.get("transform", "").startswith(("rotate(-0 ", "rotate(0 ")):
        del element.attrib["transform"]
    for key in {"d", "x", "y"} & set(element.attrib):
        short = _LONG_NUMBER.sub(
            lambda it: f"{round(float(it[0]), 1) + 0.0:g}", element.attrib[key]
        )
        element.attrib[key] = " ".join(short.split())
    element.text = element.text if element.tag in ("text", "title", "tspan") else None
    element.tail = None
    for child in element:
        _plain(child)
        if element.tag == "defs" and child.tag == "path":
            # What refers to it has the colour, and themes change it there alone.
            child.attrib.pop("stroke", None)
    return element


def _set_style(element: Element, key: str, value: str) -> None:
    if key == "font":
        size = re.search(r"([\d.]+)px", value)
        if size:
            _set_style(element, "font-size", size[0])
        if re.search(r"\b(bold|[6-9]00)\b", value):
            element.set("font-weight", "bold")
    elif key == "font-size":
        if float(value.removesuffix("px")) != _TYPE:
            element.set(key, value.removesuffix("px"))
    elif key != "font-family" and not (key == "stroke-linejoin" and value == "round"):
        element.set(key, value)


def _tidy(element: Element, names: dict[str, str]) -> None:
    """Take out what nothing shows or refers to, and give elements the names of the page."""
    identity = element.attrib.pop("id", "")
    if identity in names:
        element.set("id", names[identity])
    elif identity.startswith("series-"):
        element.attrib |= {"class": "series", "data-series": identity.partition("-")[2]}
    for key in {_XLINK, "clip-path"} & set(element.attrib):
        element.attrib[key] = _REFERENCE.sub(lambda it: names[it[0]], element.attrib[key])
    if _XLINK in element.attrib:
        element.set("xlink:href", element.attrib.pop(_XLINK))
    kept: list[Element] = []
    for child in element:
        _tidy(child, names)
        if _shows_nothing(child):
            continue
        is_idle = child.tag == "g" and not child.attrib and child[0].tag != "title"
        kept += child if is_idle else [child]
    element[:] = kept


def _shows_nothing(element: Element) -> bool:
    if element.tag in ("g", "defs"):
        return len(element) == 0
    is_clear = element.get("fill") == "none" and "stroke" not in element.attrib
    return element.tag in ("metadata", "style") or (is_clear and "id" not in element.attrib)
