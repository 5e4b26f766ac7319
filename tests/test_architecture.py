"""Data goes one way through the house: the imports are parsed and held to it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import rowsparse
from rowsparse import selectors

ROOT = Path(rowsparse.__file__).parent

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
SPLIT = ("solvers", "selectors")  # these have rooms of their own
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


@dataclass(frozen=True)
class Import:
    """One imported name: its absolute module, the name taken from it, and where it stands."""

    module: str
    name: str | None
    line: int
    at_import: bool

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]

    @property
    def parts(self) -> list[str]:
        return self.module.split(".") + ([self.name] if self.name else [])


def dotted_name(path: Path) -> str:
    parts = ("rowsparse", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# Empty packages hold nothing that could import.
SOURCES = {dotted_name(p): p for p in sorted(ROOT.rglob("*.py")) if p.stat().st_size}


def is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def walk(node: ast.AST, module: str, is_package: bool, at_import: bool = True) -> Iterator[Import]:
    """Every import under `node`; `at_import` says whether it runs when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, None, child.lineno, at_import)
        elif isinstance(child, ast.ImportFrom):
            source = absolute(child, module, is_package)
            for alias in child.names:
                yield Import(source, alias.name, child.lineno, at_import)
        else:
            deferred = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or (
                isinstance(child, ast.stmt) and is_type_checking(child)
            )
            yield from walk(child, module, is_package, at_import and not deferred)


def absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    base = module.split(".")
    base = base[: len(base) - node.level + is_package]
    return ".".join([*base, *([node.module] if node.module else [])])


def imports_in(source: str, module: str, is_package: bool = False) -> list[Import]:
    return list(walk(ast.parse(source), module, is_package))


@cache
def imports_of(module: str) -> list[Import]:
    path = SOURCES[module]
    return imports_in(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")


def floor_of(module: str) -> str:
    """The first part of a module's name below the package."""
    _, _, rest = module.partition(".")
    return rest.split(".")[0] if rest else "__init__"


def room_of(module: str) -> str:
    """What stands for a module in LAYERS."""
    parts = module.split(".")[1:3]
    return ".".join(parts) if parts and parts[0] in SPLIT else floor_of(module)


def picture() -> str:
    """LAYERS as the README shows them."""
    shown = [" ".join(rooms) for rooms in LAYERS if not rooms[0].startswith("_")]
    return "\n".join(f"{'└> ' if at else '   '}{line}" for at, line in enumerate(shown))


def internal_target(item: Import) -> str | None:
    """The module of this package that an import reaches, if it is one."""
    if item.package != "rowsparse":
        return None
    longer = f"{item.module}.{item.name}"
    return longer if longer in SOURCES else item.module


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


def test_the_readme_shows_the_rooms_in_their_order() -> None:
    readme = Path(__file__).parents[1] / "README.md"
    assert picture() in readme.read_text(encoding="utf-8")


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


def has_functions(module: str) -> bool:
    """False for modules of types and constants, which need no tests."""
    tree = ast.parse(SOURCES[module].read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree))


def mirrored_test(module: str) -> Path:
    """Where the tests of a module are: tests/A/test_name.py for rowsparse.A.name or A._name."""
    *folders, name = module.split(".")[1:]
    return Path(__file__).parent.joinpath(*folders, f"test_{name.lstrip('_')}.py")


def test_every_module_has_a_test_file_of_its_name() -> None:
    tested = {
        module.removeprefix("rowsparse."): mirrored_test(module).exists()
        for module, path in SOURCES.items()
        if path.name not in ("__init__.py", "__main__.py") and has_functions(module)
    }
    missing = [name for name, exists in tested.items() if not exists]
    assert missing == [], "write a test file for each of these modules"


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
