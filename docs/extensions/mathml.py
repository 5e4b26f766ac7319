"""Formulae as MathML, which browsers draw themselves: no script and no font from a network."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


# In many fonts the sign of a transpose is far higher than a letter.
TRANSPOSE = ("<mi>⊤</mi>", '<mi mathvariant="normal">T</mi>')


def markup(node: nodes.math | nodes.math_block, *, as_block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=as_block).replace(*TRANSPOSE)
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return ""


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(markup(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{markup(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
