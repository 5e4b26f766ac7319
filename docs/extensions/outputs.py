"""What the Python code of the guide prints, below each block: it is run as the site is built.

The blocks of a page share their names, from top to bottom; as at the prompt, what an expression
gives is shown. ``picture`` is the directive for code that draws.
"""

from __future__ import annotations

import ast
import warnings
from contextlib import chdir, redirect_stdout
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from docutils import nodes
from sphinx.application import Sphinx

# Packages that a page may need and the site is built without.
_OPTIONAL = {"torch"}
_LANGUAGE = "python"


def output_of(code: str, names: dict[str, Any], page: str) -> str:
    """What the code prints, and the values of its expressions.

    >>> output_of("x = 2\\nx + 1\\nprint(x)", {}, "page")
    '3\\n2\\n'
    """
    printed = StringIO()
    with (
        redirect_stdout(printed),
        warnings.catch_warnings(),
        np.printoptions(threshold=30, edgeitems=3, precision=4, legacy="1.25"),
    ):
        warnings.simplefilter("ignore")
        for statement in ast.parse(code).body:
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), page, "eval"), names)
                if value is not None:
                    print(repr(value))
            else:
                exec(compile(ast.Module([statement], []), page, "exec"), names)
    return printed.getvalue()


def add_outputs(app: Sphinx, doctree: nodes.document) -> None:
    """Put the output of each block below it, on the pages of the guide."""
    page = app.env.docname
    if not page.startswith("guide/"):
        return
    names: dict[str, Any] = {"__name__": page}
    with TemporaryDirectory() as folder, chdir(folder):  # for the files that examples write
        for block in list(doctree.findall(nodes.literal_block)):
            if block.get("language") == _LANGUAGE and (text := _printed(block, names, page)):
                shown = nodes.literal_block(text, text, language="none", classes=["output"])
                block.parent.insert(block.parent.index(block) + 1, shown)


def _printed(block: nodes.literal_block, names: dict[str, Any], page: str) -> str:
    try:
        return output_of(block.astext(), names, page).rstrip()
    except ModuleNotFoundError as missing:
        if missing.name not in _OPTIONAL:
            raise
        return ""


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", add_outputs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
