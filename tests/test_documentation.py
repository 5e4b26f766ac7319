"""What README, guide and pages say is so: links, names, parameters, options and code blocks."""

import ast
import builtins
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
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


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    pattern = rf"^```{language}\n(.*?)^```"
    return re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def inline_code(page: Path) -> list[str]:
    return re.findall(r"`([^`\n]+)`", without_blocks(page.read_text(encoding="utf-8")))


def codes(page: Path, pattern: str) -> list[str]:
    """Inline code of this form."""
    return [code for code in inline_code(page) if re.fullmatch(pattern, code)]


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


# ------------------------------------------------------------------ what is wrong with a page
def links(page: Path) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)\s]+)\)", without_blocks(page.read_text("utf-8"))):
        if not target.startswith(("http:", "https:", "mailto:")):
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not (file.exists() or in_gallery(file)) or (anchor and anchor not in anchors(file)):
                yield target


def figures(page: Path) -> Iterator[str]:
    """Figures that are neither there nor drawn by the example that they lead to."""
    for block in re.findall(r"^```\{figure\} .*?^```", page.read_text("utf-8"), re.M | re.S):
        (image,), (target,) = (re.findall(p, block) for p in (r"\} (\S+)", r":target: (\S+)\.html"))
        drawn = re.fullmatch(r"(.*gallery/)images/sphx_glr_(plot_\w+)_\d+\.png", image)
        example = page.parent.joinpath(target).with_suffix(".rst").resolve()
        here = (page.parent / image).exists()
        if not ((drawn and target == drawn[1] + drawn[2] and in_gallery(example)) or here):
            yield image


def named_files(page: Path) -> list[str]:
    places = [*PLACES, page.parent]
    found = [c for c in codes(page, r"[\w./-]+(\.(py|md|toml|txt)|/)") if not re.match(WRITTEN, c)]
    return [code for code in found if not any((place / code).exists() for place in places)]


def named_modules(page: Path) -> Iterator[str]:
    for code in codes(page, r"rowsparse(\.\w+)+"):
        module, _, name = code.rpartition(".")
        if not hasattr(importlib.import_module(module), name) and find_spec(code) is None:
            yield code


def named_classes(page: Path) -> set[str]:
    return {*codes(page, r"[A-Z][a-z]+[A-Z]\w*")} - {*public()} - defined_classes() - ELSEWHERE


def named_attributes(page: Path) -> list[str]:
    found = codes(page, r"[a-z]\w*_")
    return [code for code in found if not re.search(rf"\b{code}(?!\w)", documented_words())]


def named_parameters(page: Path) -> Iterator[str]:
    for code in codes(page, r"[a-z]\w+=.*"):
        if code.partition("=")[0] not in parameters():
            yield code
    for code in codes(page, r"[A-Za-z_]\w*\(.*"):
        with suppress(SyntaxError):
            call = ast.parse(code, mode="eval").body
            if isinstance(call, ast.Call) and ast.unparse(call.func) in public():
                known = inspect.signature(public()[ast.unparse(call.func)]).parameters
                if not {keyword.arg for keyword in call.keywords} <= {None, *known}:
                    yield code


def options_of_commands(page: Path) -> Iterator[str]:
    for block in blocks(page, "sh"):
        for line in block.replace("\n    ", " ").splitlines():
            words = line.partition(" #")[0].replace("[", " ").replace("]", " ").split()
            if words[:1] == ["rowsparse"] and not re.match("--|COMMAND", words[1]):
                flags = {w.partition("=")[0] for w in words[2:] if re.match(r"--?[a-z]", w)}
                if words[1] not in options() or not flags <= options()[words[1]]:
                    yield line


def targets_of_make(page: Path) -> Iterator[str]:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    shown = [line for block in blocks(page, "sh") for line in block.splitlines()]
    for line in [*shown, *inline_code(page)]:
        if (found := re.match(r"make ([a-z-]+)", line)) and found[1] not in targets:
            yield line


# What each rule finds in a page of mistakes, where it finds nothing in the pages there are.
MISTAKES = """
[link](nowhere.md) [here](#nothing) `src/no.py` `rowsparse.nothing` `NoClassAtAll`
`nothing_` `nothing=1` `TopK(nothing=1)` `make nothing`

```{figure} no.png
:target: no.html
```

```sh
rowsparse nothing
rowsparse select --nothing
```
"""
RULES: list[tuple[Callable[[Path], Iterable[str]], list[Path], list[str]]] = [
    (links, PAGES, ["nowhere.md", "#nothing"]),
    (figures, PAGES, ["no.png"]),
    (named_files, PROSE, ["src/no.py"]),
    (named_modules, PROSE, ["rowsparse.nothing"]),
    (named_classes, PROSE, ["NoClassAtAll"]),
    (named_attributes, PROSE, ["nothing_"]),
    (named_parameters, PROSE, ["nothing=1", "TopK(nothing=1)"]),
    (options_of_commands, PROSE, ["rowsparse nothing", "rowsparse select --nothing"]),
    (targets_of_make, PROSE, ["make nothing"]),
]


@pytest.mark.parametrize(("wrong", "pages", "mistakes"), RULES)
def test_what_pages_name_is_there(
    wrong: Callable[[Path], Iterable[str]], pages: list[Path], mistakes: list[str], tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(MISTAKES, "utf-8")
    assert list(wrong(page)) == mistakes
    assert [(name_of(page), mistake) for page in pages for mistake in wrong(page)] == []


def test_pages_of_the_guide_start_with_lines_that_run_and_their_figure() -> None:
    start = re.compile(r"# [^\n]+\n\n```python\n.*?^```\n\n```\{figure\} ", re.M | re.S)
    guide = [page for page in PAGES if page.parent.name == "guide" and page.name != "index.md"]
    assert guide
    assert [page for page in guide if not start.match(page.read_text("utf-8"))] == []


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
