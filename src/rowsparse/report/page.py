"""One self-contained HTML page from a template: nothing is fetched, and no data can run."""

from __future__ import annotations

import base64
import hashlib
import html
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from rowsparse._names import full, pieces, shown
from rowsparse._text import counted
from rowsparse.report import numbers, words

_PACKAGES = {"jinja2": "Jinja2", "matplotlib": "matplotlib"}


class Markup(str):
    """Finished markup, which a template does not escape again."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def breakable(text: str) -> Markup:
    """The text as markup that a browser may break after each separator.

    >>> breakable("GENE114_3<a>")
    'GENE114_<wbr>3&lt;a&gt;'
    """
    return Markup("<wbr>".join(html.escape(piece, quote=False) for piece in pieces(text)))


@dataclass(frozen=True)
class Tile:
    """A box with one important number: a label above it and a note below it."""

    label: str
    value: str
    note: str = ""
    tone: str = ""


def require_extra() -> None:
    """Refuse to go on without the packages of the extra ``report``."""
    missing = [name for module, name in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise ImportError(
            f'Reports and figures need {missing[0]}: pip install "rowsparse[report]".'
        )


def render(template: str, **context: Any) -> str:
    """The page as text."""
    require_extra()
    from rowsparse import __version__

    style, script = asset("report.css"), asset("report.js")
    page = (
        _environment()
        .get_template(template)
        .render(
            style=Markup(style),
            script=Markup(script),
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


def _length(share: float) -> float:
    """The length of a bar, in percent."""
    return round(100 * min(max(float(share), 0.0), 1.0), 1) if math.isfinite(share) else 0.0


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
        length_of=_length,
        metric_name=numbers.metric_name,
        number=numbers.number,
        p_value=numbers.p_value,
        percent=numbers.percent,
        seconds=numbers.seconds,
        setting=_setting,
        shown=shown,
    )
    environment.globals.update(
        counted=counted,
        score=numbers.score,
        spread=numbers.spread,
        words=words,
    )
    return environment
