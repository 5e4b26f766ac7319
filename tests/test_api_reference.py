"""The lists of docs/api name what is public, all of it, and nothing else."""

import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import rowsparse

PAGES = sorted((Path(__file__).parents[1] / "docs" / "api").glob("*.md"))
# Private modules: docs/inside describes them.
INSIDE = {"deep", "demo", "design", "report", "rows", "selectors", "solvers", "targets", "workflow"}
PUBLIC = [
    "rowsparse",
    *(
        f"rowsparse.{module.name}"
        for module in pkgutil.iter_modules(rowsparse.__path__)
        if not module.name.startswith("_") and module.name not in INSIDE
    ),
]


def listed() -> set[str]:
    """Full names in the autosummary lists."""
    found = set()
    for page in PAGES:
        module = ""
        text = re.sub(r"^```\{eval-rst\}\n", "", page.read_text("utf-8"), flags=re.MULTILINE)
        for line in text.splitlines():
            if directive := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = directive[1]
            elif name := re.fullmatch(r" {3}(\w+)", line):
                found.add(f"{module}.{name[1]}")
    return found


def value(full_name: str) -> Any:
    module, _, name = full_name.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module: str) -> None:
    names = [n for n in importlib.import_module(module).__all__ if not n.startswith("__")]
    ours = {id(value(name)) for name in listed()}
    missing = [n for n in names if id(value(f"{module}.{n}")) not in ours]
    assert names
    assert missing == [], "list these names in a page of docs/api"


def test_every_name_of_the_reference_is_public() -> None:
    for name in sorted(listed()):
        module, _, last = name.rpartition(".")
        assert module in PUBLIC
        assert last in importlib.import_module(module).__all__, name


def test_the_index_lists_every_page() -> None:
    index = (PAGES[0].parent / "index.md").read_text("utf-8")
    for page in PAGES:
        assert page.name == "index.md" or f"\n{page.stem}\n" in index
        assert page.name == "index.md" or f"]({page.name})" in index
