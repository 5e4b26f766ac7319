"""What README, guide and pages say is so: links, names, parameters, options and code blocks."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sklearn.feature_selection
import sklearn.linear_model
import sklearn.model_selection
import sklearn.pipeline
import sklearn.preprocessing
from typer.main import get_command

import rowsparse
import rowsparse.certificate
import rowsparse.datasets
import rowsparse.evaluation
import rowsparse.plotting
from rowsparse.cli import build_app

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
PROSE = [page for page in PAGES if page.parent.name != "reproduction"]
# Where a page that names a file may mean it to be.
PLACES = [ROOT, ROOT / "src" / "rowsparse", ROOT / "src" / "rowsparse" / "solvers", ROOT / "docs"]
# Written by commands, or the user's own.
WRITTEN = (
    r"(proof|result|features|comparison|path|reduced|report|digits|genes|league|proofs?|settings)\b"
)
# Of other packages, or no class at all.
ELSEWHERE = {
    "ConvergenceWarning",
    "LinearSVC",
    "MultiSURFstar",
    "MultiTaskRegression",
    "NaN",
    "NotFittedError",
    "NumPy",
    "PyTorch",
}
NAMESPACES = [
    rowsparse,
    rowsparse.certificate,
    rowsparse.datasets,
    rowsparse.evaluation,
    rowsparse.plotting,
    sklearn.feature_selection,
    sklearn.linear_model,
    sklearn.model_selection,
    sklearn.pipeline,
    sklearn.preprocessing,
    builtins,
]
# Code that runs; that of a picture has options below its first line.
CODE = r"(?:python|\{picture\}(?:\n:[^\n]*)*)"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def each(pages: list[Path]) -> Any:
    return pytest.mark.parametrize("page", pages, ids=name_of)


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    pattern = rf"^```{language}\n(.*?)^```"
    return re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def inline_code(page: Path) -> list[str]:
    return re.findall(r"`([^`\n]+)`", without_blocks(page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.*)$", without_blocks(page.read_text("utf-8")), re.MULTILINE)
    plain = [re.sub(r"[`*\[\]]", "", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def in_gallery(file: Path) -> bool:
    """Whether a file will be there once the gallery is built."""
    if file.parent != ROOT / "docs" / "gallery":
        return False
    return file.name == "index.rst" or (ROOT / "examples" / f"{file.stem}.py").exists()


@cache
def public() -> dict[str, Any]:
    """Every public callable by its name."""
    found: dict[str, Any] = {}
    for namespace in reversed(NAMESPACES):
        names = getattr(namespace, "__all__", None) or dir(namespace)
        # What scikit-learn calls experimental is not there unless it is asked for.
        here = [name for name in names if not name.startswith("_") and name[:7] != "Halving"]
        found |= {name: getattr(namespace, name) for name in here}
    return found


@cache
def parameters() -> set[str]:
    """The parameters of all public callables of this library, and of their methods."""
    found: set[str] = set()
    for value in public().values():
        error = inspect.isclass(value) and issubclass(value, Exception)
        if getattr(value, "__module__", "").startswith("rowsparse") and not error:
            members = [value, *(m for _, m in inspect.getmembers(value, inspect.isfunction))]
            for member in members:
                found |= set(inspect.signature(member).parameters)
    return found


@cache
def documented_words() -> str:
    """The docstrings of all public classes."""
    values = [v for v in public().values() if inspect.isclass(v)]
    ours = [v for v in values if v.__module__.startswith(("rowsparse", "sklearn"))]
    return "\n".join(inspect.getdoc(v) or "" for v in ours)


@cache
def defined_classes() -> set[str]:
    """The classes of this library, public or not."""
    sources = (path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    return {name for text in sources for name in re.findall(r"^class (\w+)", text, re.MULTILINE)}


@cache
def options() -> dict[str, set[str]]:
    """The flags of each command of the command line."""
    group = get_command(build_app())
    commands: dict[str, Any] = vars(group)["commands"]
    return {
        name: {flag for p in command.params for flag in [*p.opts, *p.secondary_opts]} | {"--help"}
        for name, command in commands.items()
    }


@each(PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", without_blocks(page.read_text("utf-8"))):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists() or in_gallery(file), target
        if anchor:
            assert anchor in anchors(file), target


@each(PAGES)
def test_figures_are_there_or_drawn_by_an_example(page: Path) -> None:
    for block in re.findall(r"^```\{figure\} .*?^```", page.read_text("utf-8"), re.M | re.S):
        (image,), (target,) = (re.findall(p, block) for p in (r"\} (\S+)", r":target: (\S+)\.html"))
        drawn = re.fullmatch(r"(.*gallery/)images/sphx_glr_(plot_\w+)_\d+\.png", image)
        if drawn:
            assert target == drawn[1] + drawn[2]
            assert in_gallery(page.parent.joinpath(target).with_suffix(".rst").resolve()), image
        else:
            assert (page.parent / image).exists(), image


@each([page for page in GUIDE if page.name != "index.md"])
def test_a_page_of_the_guide_starts_with_lines_that_run_and_their_figure(page: Path) -> None:
    start = r"# [^\n]+\n\n```python\n.*?^```\n\n```\{figure\} "
    assert re.match(start, page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@each(PROSE)
def test_named_files_exist(page: Path) -> None:
    for code in inline_code(page):
        if re.fullmatch(r"[\w./-]+(\.(py|md|toml|txt)|/)", code) and not re.match(WRITTEN, code):
            assert any((place / code).exists() for place in [*PLACES, page.parent]), code


@each(PROSE)
def test_named_modules_and_classes_exist(page: Path) -> None:
    for code in inline_code(page):
        if re.fullmatch(r"rowsparse(\.\w+)+", code):
            module, _, name = code.rpartition(".")
            assert hasattr(importlib.import_module(module), name) or importlib.import_module(code)
        elif re.fullmatch(r"[A-Z][a-z]+[A-Z]\w*", code):
            assert code in public() or code in defined_classes() or code in ELSEWHERE, code


@each(PROSE)
def test_named_attributes_are_documented_ones(page: Path) -> None:
    for code in inline_code(page):
        if re.fullmatch(r"[a-z]\w*_", code):
            assert re.search(rf"\b{code}(?!\w)", documented_words()), code


@each(PROSE)
def test_named_parameters_exist(page: Path) -> None:
    for code in inline_code(page):
        if found := re.fullmatch(r"([a-z]\w+)=.*", code):
            assert found[1] in parameters(), code
        if not re.match(r"[A-Za-z_]\w*\(", code):
            continue
        try:
            call = ast.parse(code, mode="eval").body
        except SyntaxError:
            continue
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            function = public().get(call.func.id)
            if function is None:
                continue
            known = inspect.signature(function).parameters
            for keyword in call.keywords:
                assert keyword.arg is None or keyword.arg in known, code


@each(PROSE)
def test_commands_have_the_options_that_are_shown(page: Path) -> None:
    for block in blocks(page, "sh"):
        for line in block.replace("\n    ", " ").splitlines():
            words = line.partition(" #")[0].replace("[", " ").replace("]", " ").split()
            if words[:1] == ["rowsparse"] and words[1] in options():
                flags = {w.partition("=")[0] for w in words[2:] if re.match(r"--?[a-z]", w)}
                assert flags <= options()[words[1]], line
            elif words[:1] == ["rowsparse"]:
                assert words[1].startswith("--") or words[1] == "COMMAND", line


@each(PROSE)
def test_make_has_the_targets_that_are_shown(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    shown = [line for block in blocks(page, "sh") for line in block.splitlines()]
    for line in [*shown, *inline_code(page)]:
        if found := re.match(r"make ([a-z-]+)", line):
            assert found[1] in targets, line


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name_of(page), marks=[] if page.parent == ROOT else pytest.mark.long)
        for page in PROSE
        if blocks(page, CODE)
    ],
)
def test_code_blocks_run_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    for block in blocks(page, CODE):
        try:
            exec(compile(block, name_of(page), "exec"), namespace)
        except rowsparse.datasets.MissingDataError as missing:
            pytest.skip(str(missing))
        except ModuleNotFoundError as missing:
            if missing.name != "torch":
                raise
            pytest.skip("PyTorch is not installed")
