"""The directive ``architecture``: the drawing of the rooms, in the page."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs.extensions.drawing import svg


class Architecture(SphinxDirective):  # type: ignore[misc]
    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # the sources may have changed
        return [nodes.raw("", svg(), format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("architecture", Architecture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
