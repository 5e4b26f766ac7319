"""Docstrings on the site: formulae in plain text, and what is inherited from scikit-learn."""

from __future__ import annotations

import inspect
import re
from typing import Any

from sphinx.application import Sphinx

# Their text refers to pages of scikit-learn's own site.
LEFT_OUT = re.compile(r"get_metadata_routing|set_output|set_\w+_request")
LITERAL = re.compile(r"(``.*?``)")


def skip(app: Sphinx, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    module = getattr(inspect.unwrap(value), "__module__", "") if callable(value) else ""
    return True if LEFT_OUT.fullmatch(name) and "rowsparse" not in (module or "") else None


def escape(line: str) -> str:
    """A bar is one of an absolute value or a norm, never a substitution of reStructuredText."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = LITERAL.split(line)
    return "".join(p if p.startswith("``") else p.replace("|", r"\|") for p in parts)


def escape_bars(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    lines[:] = [escape(line) for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", escape_bars)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
