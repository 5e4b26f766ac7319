"""Data goes one way through the house: the imports are parsed and held to it."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
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
    ("solvers.solution", "solvers.ridge", "solvers.proximal", "solvers.convex", "solvers.choices"),
    ("solvers.losses",),
    ("solvers.problem",),
    ("solvers.search", "solvers.filters"),
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
    ("workflow",),
    ("report",),
    ("cli",),
    ("__main__",),
)
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}
WITHOUT_SKLEARN = {"rows", "design", "solvers", "deep"}
EXTRAS_ALLOWED = {"cli", "report"}
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


def command_line(module: str, items: list[Import]) -> list[str]:
    return [place(module, i) for i in items if internal_target(i) == "rowsparse.cli"]


def other_packages(module: str, items: list[Import]) -> list[str]:
    allowed = CORE_PACKAGES | sys.stdlib_module_names
    return [place(module, i) for i in items if i.at_import and i.package not in allowed]


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


def test_a_file_name_says_what_is_in_it_without_its_folder() -> None:
    names = Counter(path.name for path in SOURCES.values() if path.name != "__init__.py")
    assert [name for name, times in names.items() if times > 1] == []


def test_every_module_has_a_room() -> None:
    homeless = {room_of(module) for module in SOURCES} - set(RANK)
    assert not homeless, "give these a place in LAYERS"


def test_the_page_describes_every_room() -> None:
    page = Path(__file__).parents[1] / "docs" / "inside" / "architecture.md"
    first_cells = re.findall(r"^\|(.*?)\|", page.read_text("utf-8"), re.MULTILINE)
    described = re.findall(r"`([\w/]+?)/?`", " ".join(first_cells))
    rooms = {room for room in RANK if not room.startswith("_")}
    missing = [r for r in rooms if not {r.replace(".", "/"), r.partition(".")[0]} & set(described)]
    assert missing == []
    assert {name.replace("/", ".") for name in described} - rooms == {"solvers"}


@pytest.mark.parametrize(
    ("forbidden", "free"),
    [
        (upward_imports, set()),
        (command_line, set()),
        (private_sklearn, {"_compat"}),
        (other_packages, EXTRAS_ALLOWED),
    ],
)
def test_no_module_has_an_import_that_is_forbidden(
    forbidden: Callable[[str, list[Import]], list[str]], free: set[str]
) -> None:
    modules = [name for name in SOURCES if floor_of(name) not in free]
    assert [found for name in modules for found in forbidden(name, imports_of(name))] == []


def test_solvers_know_no_sklearn() -> None:
    modules = [name for name in SOURCES if floor_of(name) in WITHOUT_SKLEARN]
    assert len(modules) > 50
    assert [name for name in modules if reaches(name, "sklearn")] == []


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


def test_only_what_a_fit_needs_is_loaded() -> None:
    script = """
import sys
import numpy as np
from rowsparse import TopK, get_selector
X = np.random.default_rng(0).standard_normal((20, 3))
get_selector("topk", 1).fit(X, X[:, 1]).transform(X)
others = ("rowsparse.streams", "rowsparse.moments", "rowsparse.selectors.sparse.rfs")
print([name for name in sys.modules if name.startswith(others)])
get_selector("rfs", 3)
print("rowsparse.selectors.sparse.rfs" in sys.modules)
"""
    assert run_script(script).split() == ["[]", "True"]


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
    assert command_line("rowsparse.rows", imports_in("from rowsparse import cli", "rowsparse.rows"))
    lazy = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas\n"
    assert [i.at_import for i in imports_in(lazy, "rowsparse.rows")] == [True, False]
    assert other_packages("rowsparse.rows", imports_in("import pandas", "rowsparse.rows"))
    assert not other_packages("rowsparse.rows", imports_in(lazy, "rowsparse.rows"))
