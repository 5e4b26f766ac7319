"""Links to files at the root of the repository lead to their pages of the site."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

# Files of the root that have a page, and where it is below docs/.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}


def from_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """In a page of docs/: ``../CONTRIBUTING.md`` is the page ``contributing.md``."""
    up = "../" * docname.count("/")
    for name, page in PAGES.items():
        source[0] = source[0].replace(f"]({up}../{name}", f"]({up}{page}")


def from_root(app: Sphinx, path: Path, docname: str, source: list[str]) -> None:
    """In a file of the root that a page includes: ``docs/cli.md`` is the page ``cli.md``."""
    if Path(path).name in PAGES:
        source[0] = re.sub(r"\]\(docs/", "](", source[0])
        for name, page in PAGES.items():
            source[0] = source[0].replace(f"]({name}", f"]({page}")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", from_page)
    app.connect("include-read", from_root)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
