"""The rooms of the package, and the imports between them, read from the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import rowsparse

ROOT = Path(rowsparse.__file__).parent
SPLIT = ("solvers", "selectors")  # these have rooms of their own


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
    """A module or package below rowsparse, or below one of its packages that are split."""
    parts = module.split(".")[1:3]
    return ".".join(parts) if parts and parts[0] in SPLIT else floor_of(module)


def internal_target(item: Import) -> str | None:
    """The module of this package that an import reaches, if it is one."""
    if item.package != "rowsparse":
        return None
    longer = f"{item.module}.{item.name}"
    return longer if longer in SOURCES else item.module


@cache
def imports_between_rooms() -> dict[str, set[str]]:
    """The rooms that each room imports from; modules with private names are left out."""
    found: dict[str, set[str]] = {room_of(module): set() for module in SOURCES}
    for module in SOURCES:
        targets = {internal_target(item) for item in imports_of(module)}
        found[room_of(module)] |= {room_of(target) for target in targets if target in SOURCES}
    # Its modules are loaded by their names.
    by_name = import_module("rowsparse.selectors").MODULES
    found["selectors"] |= {room_of(f"rowsparse.selectors.{name}") for name in by_name}
    shown = {room for room in found if not room.startswith("_")}
    return {room: (found[room] & shown) - {room} for room in shown}
