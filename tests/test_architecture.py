"""Data goes one way through the house: the imports are parsed and held to it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.extensions.rooms import (
    ROOT,
    SOURCES,
    Import,
    floor_of,
    imports_in,
    imports_of,
    internal_target,
    room_of,
)
from rowsparse import selectors

# From the first room to the last. A module may import from its own room and from earlier ones.
LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "_arrays",
        "_compat",
        "_deadline",
        "_files",
        "_mat",
        "_names",
        "_npz",
        "_parameters",
        "_text",
        "_threads",
        "_validation",
    ),
    ("rows", "design", "targets"),
    ("certificate", "moments"),
    ("streams",),
    ("solvers.solution", "solvers.ridge", "solvers.proximal", "solvers.blocks"),
    ("solvers.losses",),
    ("solvers.subset", "solvers.filters"),
    ("solvers.l21", "solvers.proof", "solvers.subspace"),
    ("solvers.sparse", "deep"),
    ("selectors.registry", "selectors.base"),
    (
        "selectors.topk",
        "selectors.sparse",
        "selectors.filters",
        "selectors.subspace",
        "selectors.deep",
        "selectors.baseline",
    ),
    ("selectors.meta",),
    ("selectors",),  # the public names
    ("datasets",),
    ("evaluation",),
    ("plotting",),
    ("__init__",),
    ("workflow", "demo"),
    ("report",),
    ("cli",),
    ("__main__",),
)
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}
WITHOUT_SKLEARN = {"rows", "design", "solvers", "deep"}
EXTRAS_ALLOWED = {"cli", "report", "demo"}
CORE_PACKAGES = {"numpy", "scipy", "sklearn", "array_api_compat", "rowsparse"}

EXTRAS = [
    "dask",
    "distributed",
    "fastexcel",
    "h5py",
    "jinja2",
    "matplotlib",
    "pandas",
    "polars",
    "pooch",
    "pyarrow",
    "rich",
    "torch",
    "typer",
    "xlsxwriter",
]
IMPORT_ALL_PUBLIC = """
from rowsparse import *
from rowsparse.datasets import *
from rowsparse.plotting import *
"""


def place(module: str, item: Import) -> str:
    return f"{module}:{item.line} imports {'.'.join(item.parts)}"


def upward_imports(module: str, items: list[Import]) -> list[str]:
    here = RANK[room_of(module)]
    targets = [(item, internal_target(item)) for item in items]
    return [place(module, item) for item, to in targets if to and RANK[room_of(to)] > here]


def private_sklearn(module: str, items: list[Import]) -> list[str]:
    return [
        place(module, item)
        for item in items
        if item.package == "sklearn"
        and any(part.startswith("_") and not part.endswith("__") for part in item.parts)
    ]


def reaches(module: str, package: str) -> bool:
    """Whether `module` imports `package`, itself or through modules of this package."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        current = todo.pop()
        seen.add(current)
        for item in imports_of(current):
            if item.package == package:
                return True
            target = internal_target(item)
            if target in SOURCES and target not in seen:
                todo.append(target)
    return False


@pytest.mark.parametrize("module", SOURCES)
def test_every_module_has_a_room(module: str) -> None:
    assert room_of(module) in RANK, f"give {room_of(module)!r} a place in LAYERS"


def test_the_page_describes_every_room() -> None:
    page = Path(__file__).parents[1] / "docs" / "inside" / "architecture.md"
    first_cells = re.findall(r"^\|(.*?)\|", page.read_text("utf-8"), re.MULTILINE)
    described = re.findall(r"`([\w/]+?)/?`", " ".join(first_cells))
    rooms = {room for room in RANK if not room.startswith("_")}
    missing = [r for r in rooms if not {r.replace(".", "/"), r.partition(".")[0]} & set(described)]
    assert missing == []
    assert {name.replace("/", ".") for name in described} - rooms == {"solvers"}


@pytest.mark.parametrize("module", SOURCES)
def test_imports_go_one_way(module: str) -> None:
    assert upward_imports(module, imports_of(module)) == []


@pytest.mark.parametrize("module", [name for name in SOURCES if floor_of(name) in WITHOUT_SKLEARN])
def test_solvers_know_no_sklearn(module: str) -> None:
    assert not reaches(module, "sklearn")


@pytest.mark.parametrize("module", SOURCES)
def test_nothing_imports_the_command_line(module: str) -> None:
    found = [place(module, i) for i in imports_of(module) if internal_target(i) == "rowsparse.cli"]
    assert found == []


@pytest.mark.parametrize("module", [name for name in SOURCES if floor_of(name) != "_compat"])
def test_private_sklearn_names_only_in_compat(module: str) -> None:
    assert private_sklearn(module, imports_of(module)) == []


@pytest.mark.parametrize("module", [n for n in SOURCES if floor_of(n) not in EXTRAS_ALLOWED])
def test_core_imports_only_core_packages(module: str) -> None:
    allowed = CORE_PACKAGES | sys.stdlib_module_names
    found = [i for i in imports_of(module) if i.at_import and i.package not in allowed]
    assert [place(module, item) for item in found] == []


def run_script(script: str) -> str:
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_rowsparse_itself_imports_no_extra() -> None:
    # scikit-learn may import pandas or rich for itself, so ask who imports.
    script = f"""
import builtins
extras, found, real = {EXTRAS!r}, set(), builtins.__import__
def watch(name, globals=None, *rest):
    importer = (globals or {{}}).get("__name__") or ""
    if importer.partition(".")[0] == "rowsparse" and name.partition(".")[0] in extras:
        found.add((importer, name))
    return real(name, globals, *rest)
builtins.__import__ = watch
{IMPORT_ALL_PUBLIC}
print(sorted(found))
"""
    assert run_script(script) == "[]"


def test_rowsparse_imports_where_no_extra_is_installed() -> None:
    script = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
{IMPORT_ALL_PUBLIC}
print("imported")
"""
    assert run_script(script) == "imported"


def test_the_stub_of_the_selectors_has_the_names_of_the_package() -> None:
    stub = (ROOT / "selectors" / "__init__.pyi").read_text(encoding="utf-8")
    found = [
        (item.module.removeprefix("rowsparse.selectors."), item.name)
        for item in imports_in(stub, "x")
    ]
    assert sorted(found) == sorted(
        (module, name) for module, names in selectors.MODULES.items() for name in names
    )
    for name in selectors.__all__:
        assert getattr(selectors, name).__name__ == name


def test_every_module_that_registers_a_selector_is_listed() -> None:
    registering = {
        module.removeprefix("rowsparse.selectors.")
        for module in SOURCES
        if module.startswith("rowsparse.selectors.")
        and "\n@register(" in SOURCES[module].read_text(encoding="utf-8")
    }
    assert len(registering) > 20
    assert registering <= set(selectors.MODULES)


def test_no_public_name_of_the_selectors_is_that_of_a_module() -> None:
    modules = {p.stem for p in (ROOT / "selectors").iterdir()}
    assert modules.isdisjoint(selectors.__all__)


def test_a_selector_is_loaded_without_the_others() -> None:
    script = """
import sys
from rowsparse import TopK, get_selector
get_selector("topk", 3)
print("rowsparse.selectors.sparse.rfs" in sys.modules)
get_selector("rfs", 3)
print("rowsparse.selectors.sparse.rfs" in sys.modules)
"""
    assert run_script(script).split() == ["False", "True"]


def test_the_rules_catch_what_they_forbid() -> None:
    bad = "from ...selectors import base\ndef f():\n    from rowsparse import cli\n"
    module = "rowsparse.solvers.sparse.x"
    found = upward_imports(module, imports_in(bad, module))
    assert [text.split(" imports ")[1] for text in found] == [
        "rowsparse.selectors.base",
        "rowsparse.cli",
    ]
    for line in ("from sklearn.utils._tags import Tags", "from sklearn.base import _fit_context"):
        assert private_sklearn("rowsparse.rows", imports_in(line, "rowsparse.rows"))
    lazy = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas\n"
    assert [i.at_import for i in imports_in(lazy, "rowsparse.rows")] == [True, False]
