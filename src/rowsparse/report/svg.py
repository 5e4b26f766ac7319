"""Escaped markup, scales and ticks: what every chart is made of.

Charts have no ``viewBox``: places across are percentages of the width, which the page decides, and
places down are pixels. Text keeps its size on a phone, and one drawing serves every width.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Scale", "Svg", "across", "join", "log_ticks", "span", "svg", "tag", "text", "ticks"]


class Svg(str):
    """Finished markup: not escaped again, neither by :func:`tag` nor by a template."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def tag(name: str, *children: str, **attributes: object) -> Svg:
    """One element; text and attributes are escaped.

    Names of attributes are written with underscores for hyphens, and a trailing one where the name
    is a keyword of Python; None leaves an attribute out.

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
        digits = f"{value:.2f}".rstrip("0").rstrip(".")
        return "0" if digits == "-0" else digits
    return html.escape(str(value))


def svg(
    class_: str, height: float, *children: str, label: str | None = None, **more: object
) -> Svg:
    """A drawing as wide as its place on the page.

    ``label`` describes it to those who cannot see it; without one it is decoration.
    """
    spoken = {"aria_hidden": "true"} if label is None else {"role": "img", "aria_label": label}
    return tag("svg", *children, class_=class_, height=float(height), **spoken, **more)


def across(percent: float) -> str:
    """A place or a length across a chart, as an attribute.

    Examples
    --------
    >>> across(12.5)
    '12.5%'
    """
    return f"{_written(float(percent))}%"


def span(start: float, stop: float, y: float, height: float, *children: str, **how: object) -> Svg:
    """A rectangle from one percentage of the width to another."""
    place = {"x": across(start), "width": across(stop - start), "y": float(y)}
    return tag("rect", *children, **place, height=float(height), **how)


def text(x: str | float, y: float, words: str, class_: str, anchor: str | None = None) -> Svg:
    """A line of text."""
    return tag("text", words, x=x, y=float(y), class_=class_, text_anchor=anchor)


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
    # A span near the rounding error of its ends could otherwise give thousands of ticks.
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
