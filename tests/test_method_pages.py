"""Every method has a page in docs/methods: its parts, its facts, its examples with their output."""

import doctest
import re
from inspect import getdoc, signature
from pathlib import Path
from typing import Any

import pytest

import rowsparse
from rowsparse import list_selectors
from rowsparse.selectors.registry import SelectorInfo, selector_info

FOLDER = Path(__file__).parents[1] / "docs" / "methods"
REGISTERED = {selector_info(name).cls.__name__: selector_info(name) for name in list_selectors()}
CLASSES: dict[str, Any] = {
    **{name: info.cls for name, info in REGISTERED.items()},
    "TopKCV": rowsparse.TopKCV,
    "StabilitySelection": rowsparse.StabilitySelection,
    "NearOptimal": rowsparse.NearOptimal,
}
# These share a page, on which each has a section.
BASELINES = {"FisherScore", "RidgeRanking", "AllFeatures"}
PARTS = [
    "The problem",
    "The algorithm",
    "Corrections",
    "When to use it",
    "Parameters",
    "Reference",
]
TARGETS = {
    "classification": "classes",
    "multilabel": "labels",
    "regression": "numbers",
    "counts": "counts",
    "survival": "survival times",
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def page_of(name: str) -> Path:
    return FOLDER / f"{'baselines' if name in BASELINES else name.lower()}.md"


def part(name: str, title: str) -> str:
    """A section of a page, or the one section that a baseline has."""
    text = page_of(name).read_text("utf-8") if name != "index" else index()
    title = name if name in BASELINES else title
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def index() -> str:
    return (FOLDER / "index.md").read_text("utf-8")


def headings(text: str, level: int) -> list[str]:
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(rf"^{'#' * level} (.+)$", prose, re.MULTILINE)


def facts(info: SelectorInfo) -> str:
    """What the registry and the class say of a method."""
    *others, last = [TARGETS[task] for task in info.tasks]
    targets = f"for {', '.join(others)} and {last}" if others else f"for {last}"
    parts = [f'`get_selector("{info.name}")`', f"kind `{info.kind}`"]
    parts.append(targets if info.supervised else f"{targets}, or without targets")
    if hasattr(info.cls, "fit_moments"):
        parts.append("also from `Moments`")
    if info.extra is not None:
        parts.append(f"needs the extra `{info.extra}`")
    return " · ".join(parts)


def test_a_page_has_all_parts_in_order_and_begins_with_what_the_registry_says() -> None:
    for name in BASELINES:
        assert part(name, name).split("\n")[1] == facts(REGISTERED[name]), name
    for name in CLASSES.keys() - BASELINES:
        text = page_of(name).read_text("utf-8")
        assert headings(text, 1) == [name]
        assert headings(text, 2) == PARTS, name
        assert name not in REGISTERED or text.split("\n")[2] == facts(REGISTERED[name]), name


def test_every_parameter_is_on_the_page_or_among_the_shared_ones() -> None:
    for name, cls in CLASSES.items():
        described = part(name, "Parameters") + part("index", "Shared parameters")
        assert [p for p in signature(cls).parameters if f"`{p}`" not in described] == [], name


def test_what_the_docstring_cites_is_on_the_page() -> None:
    for name, cls in CLASSES.items():
        cited = re.search(
            r"^References\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", getdoc(cls) or "", re.M | re.S
        )
        entries = [] if cited is None else re.split(r"\n\n", cited[1].strip())
        on_page = plain(part(name, "Reference"))
        assert [entry for entry in entries if plain(entry) not in on_page] == [], name


def plain(text: str) -> str:
    """Letters and digits alone."""
    return "".join(
        letter for letter in text.lower().replace("ℓ", "l").replace("∞", "inf") if letter.isalnum()
    )


def test_there_is_no_page_without_a_method() -> None:
    pages = {page_of(name).name for name in CLASSES}
    assert {page.name for page in FOLDER.glob("*.md")} == pages | {"index.md"}


def test_the_index_has_every_page_once_in_a_table_and_once_in_the_toctree() -> None:
    toctree = re.search(r"^```\{toctree\}\n(.*?)^```", index(), re.MULTILINE | re.DOTALL)
    assert toctree is not None
    entries = re.findall(r"^([a-z0-9]+)$", toctree[1], re.MULTILINE)
    assert sorted(entries) == sorted({page_of(name).stem for name in CLASSES})
    rows = re.findall(r"^\| \[`(\w+)`\]\((\w+)\.md(?:#\w+)?\) \|", index(), re.MULTILINE)
    assert sorted(rows) == sorted((name, page_of(name).stem) for name in CLASSES)


def test_figures_quoted_beside_a_link_are_on_the_page_that_it_leads_to() -> None:
    for name in CLASSES:
        text = re.sub(r"^```.*?^```", "", page_of(name).read_text("utf-8"), flags=re.M | re.S)
        for paragraph in re.split(r"\n\n|\n- ", text):
            links = re.findall(r"\]\((\.\./(?:reproduction/\w+|benchmarks)\.md)(#\w+)?", paragraph)
            linked = "\n".join(text_of(page, anchor) for page, anchor in links)
            prose = re.sub(r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)", "", paragraph)
            figures = re.findall(r"(?<![\d.])\d+\.\d+(?![\d.])", prose) if links else []
            assert [figure for figure in figures if figure not in linked] == [], name


def text_of(page: str, anchor: str) -> str:
    """A page with its tables: those of a paper, or of the benchmark that the anchor names."""
    if page.startswith("../reproduction/"):
        tables = sorted((FOLDER / page).parent.glob(f"{Path(page).stem}-*.csv"))
    else:
        tables = sorted(
            (FOLDER.parent / "benchmarks").glob(f"{anchor[1:]}-*.csv") if anchor else []
        )
    return "\n".join(path.read_text("utf-8") for path in [FOLDER / page, *tables])


@pytest.mark.long
@pytest.mark.parametrize("name", CLASSES)
def test_the_examples_print_what_the_page_shows(name: str) -> None:
    if name in REGISTERED and not REGISTERED[name].is_installed:
        pytest.skip(f"the extra {REGISTERED[name].extra} is not installed")
    assert_printed(page_of(name))


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/getting_started.md"])
def test_the_examples_that_one_begins_with_print_what_they_show(page: str) -> None:
    assert_printed(FOLDER.parents[1] / page)


def assert_printed(page: Path) -> None:
    """The examples of a page, run one after another, print what it shows."""
    text = page.read_text("utf-8")
    examples = re.findall(r"^```pycon\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert examples
    parser, failures = doctest.DocTestParser(), list[str]()
    session = parser.get_doctest("\n".join(examples), {}, page.stem, page.name, 0)
    doctest.DocTestRunner(optionflags=FLAGS).run(session, out=failures.append)
    assert not failures, "".join(failures)
