"""One self-contained HTML page from a template: nothing is fetched, and no data can run."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from rowsparse._names import full, shown
from rowsparse._text import counted
from rowsparse.report import numbers
from rowsparse.report.extra import require_extra
from rowsparse.report.names import breakable
from rowsparse.report.strips import bar
from rowsparse.report.svg import Svg

__all__ = ["Tile", "asset", "render"]


@dataclass(frozen=True)
class Tile:
    """A box with one important number: a label above it and a note below it."""

    label: str
    value: str
    note: str = ""
    tone: str = ""


def render(template: str, **context: Any) -> str:
    """The page as text.

    Raises
    ------
    ImportError
        If a package of the extra ``report`` is not installed.
    """
    require_extra()
    from rowsparse import __version__

    style, script = asset("report.css"), asset("report.js")
    page = (
        _environment()
        .get_template(template)
        .render(
            style=Svg(style),
            script=Svg(script),
            policy=_policy(style, script),
            rowsparse_version=__version__,
            **context,
        )
    )
    # Half of a surrogate pair, from a broken file, cannot be written as UTF-8.
    return str(page).encode("utf-8", "replace").decode("utf-8")


def _policy(style: str, script: str) -> str:
    """Only this style, this script and images inside the page; nothing from anywhere else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def asset(name: str) -> str:
    """A file of the page: style or script."""
    source = files("rowsparse.report").joinpath("templates", name).read_text(encoding="utf-8")
    # A browser reads every end of line as \n, and the digest is of what it reads.
    return source.replace("\r\n", "\n")


def _setting(value: Any) -> str:
    """The value of a parameter as text."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value)) or "none"
    return str(value)


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
        breakable=breakable,
        count="{:,}".format,
        decimal=numbers.decimal,
        full=full,
        metric_name=numbers.metric_name,
        number=numbers.number,
        p_value=numbers.p_value,
        percent=numbers.percent,
        seconds=numbers.seconds,
        setting=_setting,
        shown=shown,
    )
    environment.globals.update(bar=bar, counted=counted, score=numbers.score, spread=numbers.spread)
    return environment
