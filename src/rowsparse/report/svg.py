"""What every chart is made of: escaped elements, scales and ticks."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rowsparse.report.names import full, shown

__all__ = [
    "NARROW",
    "WIDE",
    "Scale",
    "Svg",
    "fitting",
    "join",
    "label",
    "log_ticks",
    "picture",
    "points",
    "tag",
    "ticks",
    "words",
]

# Widths of a chart on a screen or on paper, and on a phone.
WIDE, NARROW = 840, 340
# An ordinary letter of the charts' type, in their units.
LETTER = 7.2


class Svg(str):
    """Finished markup: not escaped again, neither by :func:`tag` nor by a template."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def tag(name: str, *children: str, **attributes: object) -> Svg:
    """One element; text and attributes are escaped.

    Names of attributes are written with underscores for hyphens, and a trailing one where Python
    keeps the word for itself; None leaves an attribute out.

    Examples
    --------
    >>> tag("text", "a < b", x=1.0, text_anchor="end", class_="quiet")
    '<text x="1" text-anchor="end" class="quiet">a &lt; b</text>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_written(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if not children:
        return Svg(f"<{name}{written}/>")
    return Svg(f"<{name}{written}>{join(children)}</{name}>")


def join(parts: Iterable[str]) -> Svg:
    """Elements and text, one after the other."""
    return Svg(
        "".join(part if isinstance(part, Svg) else html.escape(part, quote=False) for part in parts)
    )


def _written(value: object) -> str:
    if isinstance(value, float):
        text = f"{value:.2f}".rstrip("0").rstrip(".")
        return "0" if text == "-0" else text
    return html.escape(str(value))


def picture(width: float, height: float, name: str, title: str, desc: str, *children: str) -> Svg:
    """A whole chart, with a title and a description for those who cannot see it.

    ``name`` has to be unique on the page.
    """
    return tag(
        "svg",
        tag("title", title, id=f"{name}-title"),
        tag("desc", desc, id=f"{name}-desc"),
        *children,
        class_="chart",
        viewBox=f"0 0 {_written(float(width))} {_written(float(height))}",
        width=float(width),
        height=float(height),
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )


def words(x: float, y: float, text: str, class_: str = "", anchor: str | None = None) -> Svg:
    """A line of text of our own."""
    return tag("text", text, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def label(
    x: float,
    y: float,
    name: object,
    room: float,
    *,
    class_: str = "name",
    anchor: str | None = None,
    transform: str | None = None,
) -> Svg:
    """A name from the data: shortened to the room there is, whole in a tooltip."""
    text = fitting(name, room)
    hint = (tag("title", full(name)),) if text != str(name) else ()
    return tag(
        "text", text, *hint, x=x, y=y, class_=class_, text_anchor=anchor, transform=transform
    )


def fitting(name: object, room: float) -> str:
    """A name shortened to `room` units of a chart."""
    return shown(name, max(3, int(room / LETTER)))


def points(x: Iterable[float], y: Iterable[float]) -> str:
    """Corners as an attribute of a line or a polygon."""
    return " ".join(f"{_written(float(a))},{_written(float(b))}" for a, b in zip(x, y, strict=True))


@dataclass(frozen=True)
class Scale:
    """From values to places in a chart."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, float(value)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.stop - self.start)

    def each(self, values: Iterable[float]) -> list[float]:
        """The places of several values."""
        return [self(value) for value in values]


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers from `low` to `high`, about `count` of them.

    Examples
    --------
    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(3.0, 3.0)
    [3.0]
    """
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return [low]
    rough = span / max(1, count)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * m for m in (1, 2, 2.5, 5, 10) if unit * m >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    digits = max(0, 2 - math.floor(math.log10(step)))
    # Numbers too close for their own size would come in by the thousand.
    return [round(at * step, digits) + 0.0 for at in range(first, min(last, first + 99) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, or 1, 2 and 5 times them where there would be too few.

    Examples
    --------
    >>> log_ticks(0.5, 2000.0)
    [1.0, 10.0, 100.0, 1000.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    few: Sequence[float] = [float(f"1e{d}") for d in decades if low <= float(f"1e{d}") <= high]
    if len(few) >= 3:
        step = -(-len(few) // 7)
        return list(few)[::step]
    fine = [float(f"{m}e{d}") for d in decades for m in (1, 2, 5)]
    return [value for value in fine if low <= value <= high]
