"""One self-contained HTML page from a template: nothing is fetched, and no data can run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from rowsparse.report import numbers
from rowsparse.report.files import require_jinja2
from rowsparse.report.grids import png_uri
from rowsparse.report.names import full, shown
from rowsparse.report.svg import NARROW, WIDE, Svg, join, tag

if TYPE_CHECKING:
    from rowsparse.workflow.results import DataSummary

__all__ = ["Provenance", "Tile", "both_widths", "provenance", "render"]


@dataclass(frozen=True)
class Tile:
    """One figure that matters, with a word over it and some under it."""

    label: str
    value: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Provenance:
    """Where a result comes from: the data and what was done to them, settings, versions, times."""

    data: DataSummary
    classes: list[tuple[str, int, Svg]]
    n_more_classes: int
    settings: list[tuple[str, str]]
    versions: list[tuple[str, str]]
    seconds: list[tuple[str, str]]


def both_widths(draw: Callable[..., Svg], *data: Any, name: str, **how: Any) -> Svg:
    """A chart twice: for screens and paper, and for phones; the style sheet shows one of them."""
    wide = draw(*data, name=name, width=WIDE, **how)
    narrow = draw(*data, name=f"{name}-narrow", width=NARROW, **how)
    return join([tag("div", wide, class_="wide"), tag("div", narrow, class_="narrow")])


def provenance(
    data: DataSummary,
    settings: Mapping[str, Any],
    versions: Mapping[str, str],
    seconds: Mapping[str, float],
    most_classes: int = 30,
) -> Provenance:
    """The part that closes every report."""
    from rowsparse.report.bars import bar

    counted = list(zip(data.classes, data.class_counts, strict=False))
    largest = max((count for _, count in counted), default=1) or 1
    return Provenance(
        data=data,
        classes=[(name, n, bar(n / largest)) for name, n in counted[:most_classes]],
        n_more_classes=max(0, len(counted) - most_classes),
        settings=[(str(key), _setting(value)) for key, value in settings.items()],
        versions=[(str(key), str(value)) for key, value in versions.items()],
        seconds=[(str(key), numbers.seconds(float(value))) for key, value in seconds.items()],
    )


def _setting(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value)) or "none"
    return str(value)


def render(template: str, **context: Any) -> str:
    """The page as text.

    Raises
    ------
    ImportError
        If Jinja2 is not installed; the message names the extra to install.
    """
    require_jinja2()
    from rowsparse import __version__

    style, script = _asset("report.css"), _asset("report.js")
    page = (
        _environment()
        .get_template(template)
        .render(
            style=Svg(style),
            script=Svg(script),
            policy=_policy(style, script),
            icon=png_uri(_ICON),
            rowsparse_version=__version__,
            **context,
        )
    )
    # What is no character (half of a pair, from a broken file) cannot be written as UTF-8.
    return str(page).encode("utf-8", "replace").decode("utf-8")


# Rows of which some are kept.
_ICON = np.repeat([[0.15], [1.0], [0.15], [0.15], [1.0], [1.0], [0.15], [0.15]], 8, axis=1)


def _policy(style: str, script: str) -> str:
    """Only this style, this script and images inside the page; nothing from anywhere else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    source = files("rowsparse.report").joinpath("templates", name).read_text(encoding="utf-8")
    # A browser reads every end of line as \n, and the digest is of what it reads.
    return source.replace("\r\n", "\n")


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("rowsparse.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=numbers.number,
        seconds=numbers.seconds,
        percent=numbers.percent,
        shown=shown,
        full=full,
    )
    environment.globals.update(
        plural=numbers.plural,
        score=numbers.score,
        spread=numbers.spread,
        metric_names=numbers.METRIC_NAMES,
    )
    return environment
