"""The directive ``picture``: code of a page, and the figure that it draws.

The code of all pictures of a page shares its names, from top to bottom.
"""

from __future__ import annotations

import base64
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs.extensions.code_figures import figure_of


class Picture(SphinxDirective):  # type: ignore[misc]
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        code = "\n".join(self.content)
        names = self.env.temp_data.setdefault("names of pictures", {})
        data = base64.b64encode(figure_of(code, names, self.env.docname)).decode()
        image = nodes.image(uri=f"data:image/png;base64,{data}", alt=self.options["alt"])
        return [nodes.literal_block(code, code, language="python"), image]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
