"""The pages as text: complete, self-contained, and without a way for data to become markup."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

from rowsparse.report import comparison_page, path_page, selection_page
from rowsparse.report.selection import MOST_CLASSES, MOST_DRAWN, MOST_ROWS
from rowsparse.workflow.results import Certificate, Confusion

from . import samples

PAGES: dict[str, Callable[[], str]] = {
    "digits": lambda: selection_page(samples.digits()),
    "genes": lambda: selection_page(samples.genes()),
    "one feature": lambda: selection_page(samples.genes(1)),
    "large": lambda: selection_page(samples.genes(60, 20_000, 9)),
    "numbers": lambda: selection_page(samples.numbers_only()),
    "labels": lambda: selection_page(samples.labels()),
    "hostile": lambda: selection_page(samples.hostile()),
    "comparison": lambda: comparison_page(samples.comparison()),
    "published": lambda: comparison_page(samples.comparison(protocol="published")),
    "hostile comparison": lambda: comparison_page(samples.comparison(samples.HOSTILE[:12])),
    "path": lambda: path_page(samples.path()),
    "hostile path": lambda: path_page(samples.path(names=samples.HOSTILE * 3)),
}


class Page(HTMLParser):
    """What a browser would find in the page."""

    void = frozenset({"meta", "link", "input", "br", "img"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.text: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in {*self.open}:
            self.text[tag] = self.text.get(tag, "") + data

    def every(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


@cache
def made(name: str) -> str:
    return PAGES[name]()


@cache
def parsed(name: str) -> Page:
    return Page(made(name))


every_page = pytest.mark.parametrize("name", PAGES)


@every_page
def test_every_element_is_closed_and_every_id_unique(name: str) -> None:
    page = parsed(name)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [a["href"][1:] for a in page.every("a")]
    assert set(targets) <= set(ids)
    for _, attributes in page.elements:
        assert set(attributes.get("aria-labelledby", "").split()) <= set(ids)
    labelled = {label["for"] for label in page.every("label")}
    assert labelled == {field["id"] for field in page.every("input")}


@every_page
def test_nothing_is_fetched(name: str) -> None:
    text = made(name)
    assert "http://" not in text.lower()
    assert "https://" not in text.lower()
    for tag, attributes in parsed(name).elements:
        for key in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
            if key in attributes:
                assert attributes[key].startswith(("#", "data:image/png;base64,")), tag


@every_page
def test_the_policy_allows_exactly_the_style_and_the_script_of_the_page(name: str) -> None:
    page = parsed(name)
    (policy,) = [m["content"] for m in page.every("meta") if m.get("http-equiv")]
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed["default-src"] == "'none'"
    assert allowed["img-src"] == "data:"
    assert "unsafe" not in policy
    text = made(name)
    for directive, tag in (("style-src", "style"), ("script-src", "script")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert allowed[directive] == f"'sha256-{digest}'"
        assert len(page.every(tag)) == 1


@every_page
def test_there_are_no_handlers_and_no_inline_styles(name: str) -> None:
    for tag, attributes in parsed(name).elements:
        assert "style" not in attributes, tag
        assert not [key for key in attributes if key.startswith("on")], tag
        assert "javascript:" not in "".join(attributes.get(k, "") for k in ("href", "src"))


@every_page
def test_a_page_is_small_and_utf8(name: str) -> None:
    assert len(made(name).encode("utf-8")) < 1_000_000
    assert made(name).startswith("<!DOCTYPE html>")
    assert parsed(name).every("html") == [{"lang": "en"}]


@every_page
def test_every_picture_has_words(name: str) -> None:
    for attributes in parsed(name).every("svg"):
        assert attributes.get("aria-hidden") == "true" or attributes["role"] == "img"


@every_page
def test_nothing_is_left_undefined(name: str) -> None:
    words = "".join(parsed(name).text.get("main", ""))
    assert not re.search(r"\b(nan|None|inf)\b", words)
    assert "Undefined" not in words


def test_hostile_names_are_text() -> None:
    page = parsed("hostile")
    words = page.text["main"]
    for name in samples.HOSTILE[:6]:
        assert name in words or name[:12] in words
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "iframe", "object", "embed"}
    assert page.text["style"] == files("rowsparse.report").joinpath(
        "templates/report.css"
    ).read_text(encoding="utf-8")


def test_long_names_are_shortened_and_duplicates_told_apart() -> None:
    text = made("hostile")
    assert "x" * 1000 not in text
    titles = [a["title"] for _, a in parsed("hostile").elements if "title" in a]
    assert any(title.startswith("x" * 300) for title in titles)
    assert max(map(len, titles)) <= 400
    same = [f for f in samples.hostile().features if f.name == "same name"]
    for feature in same:
        assert f"column {feature.index + 1}" in parsed("hostile").text["main"]


def test_right_to_left_names_are_isolated() -> None:
    assert re.search(r"<bdi[^>]*>שלום עולם</bdi>", made("hostile"))
    assert "\u202e" not in made("hostile")


def test_the_selection_is_told_in_the_order_of_the_questions() -> None:
    ids = [a["id"] for a in parsed("digits").every("section")]
    assert ids == [
        "features", "images", "curve", "correlation", "distributions", "coefficients",
        "stability", "progress", "confusion", "data", "settings",
    ]  # fmt: skip


def test_what_was_not_measured_has_no_section() -> None:
    ids = [a["id"] for a in parsed("numbers").every("section")]
    assert ids == [
        "features", "correlation", "distributions", "coefficients", "stability", "data", "settings",
    ]  # fmt: skip
    words = parsed("numbers").text["main"]
    assert "Picked again" not in words
    assert "its stability is not known" in words


def test_the_summary_the_tiles_and_the_settings_are_on_the_page() -> None:
    words = parsed("digits").text["main"].replace("\u00a0", " ")
    for expected in (
        "No other choice of 10 features can lower the loss by more than 0.39 %; proven.",
        "Within 0.39 %",
        "10 of 64",
        "fair; 1 is best",
        "random_state",
        "scikit-learn",
        samples.SHA,
        "The column “id” was left out",
    ):
        assert expected in words


def test_every_feature_is_in_the_table_with_its_numbers() -> None:
    result = samples.digits()
    cells = [a["data-v"] for a in parsed("digits").every("td") if "data-v" in a]
    for feature in result.features:
        assert str(feature.rank) in cells
        assert str(feature.score) in cells
        assert str(feature.frequency) in cells


def test_warnings_are_shown_before_everything_else() -> None:
    text = made("genes")
    assert text.index("before it had converged") < text.index('id="features"')
    assert 'class="warnings"' not in made("digits")


def test_large_results_are_cut_with_a_word() -> None:
    many = selection_page(samples.genes(MOST_ROWS + 20, 20_000))
    assert f"The first {MOST_ROWS} of {MOST_ROWS + 20}" in many
    assert f"The first {MOST_DRAWN} features are drawn." in many
    assert len(many) < 1_500_000


def test_too_many_classes_are_a_table_of_mistakes() -> None:
    n = MOST_CLASSES + 5
    counts = np.diag(np.full(n, 10))
    counts[3, 8] = 7
    result = samples.genes(5, 100, n)
    names = tuple(f"class {at}" for at in range(n))
    text = selection_page(
        dataclasses.replace(result, confusion=Confusion(names, counts, 0.98, 0.01))
    )
    page = Page(text)
    assert "confusion-chart" not in text
    assert "class 3 taken for" in page.text["main"].replace("\u2068", "").replace("\u2069", "")
    assert "there are too many classes" in text
    assert "5 more." in page.text["main"]


def test_pixels_that_do_not_fit_the_image_are_not_drawn() -> None:
    result = samples.digits()
    assert 'id="images"' in made("digits")
    wrong = dataclasses.replace(result, image_shape=(9, 9))
    assert 'id="images"' not in selection_page(wrong)


def test_an_optimal_choice_is_marked_as_proven() -> None:
    best = dataclasses.replace(samples.genes(), certificate=Certificate("optimal", 1, 1, 0, 3))
    assert "Best possible" in selection_page(best)
    assert "tile good" in selection_page(best)
    assert "tile good" not in selection_page(samples.genes())


def test_the_comparison_has_a_row_for_every_method_and_k() -> None:
    page = parsed("comparison")
    assert (
        len(page.every("tr")) == 1 + 5 * 3 + 2 + 3 + 4 + 3
    )  # with data, settings, versions, times
    words = page.text["main"]
    assert "The protocol is honest" in words
    assert "ValueError: too few rows" in words
    assert "Stability" in words


def test_the_best_of_each_k_is_bold() -> None:
    assert made("comparison").count('class="number best"') == 3


def test_published_scores_are_said_to_be_too_high() -> None:
    words = parsed("published").text["main"]
    assert "these scores are too high" in words
    assert "Stability is 1" not in words


def test_the_path_names_every_feature_that_was_ever_in() -> None:
    result = samples.path()
    ever = {result.names[j] for support in result.supports for j in support}
    words = parsed("path").text["main"]
    assert all(name in words for name in ever)
    rows = [a for a in parsed("path").every("th") if a.get("class") == "feature"]
    assert len(rows) == len(ever)


def test_pages_are_the_same_every_time() -> None:
    assert PAGES["genes"]() == made("genes")


def test_a_missing_jinja2_is_named_with_its_extra() -> None:
    script = """
import sys
sys.modules["jinja2"] = None
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "jinja2" else find(name, *rest)
from rowsparse.report.page import render
try:
    render("selection.html.j2")
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "rowsparse[report]" in done.stdout


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def themes() -> list[dict[str, str]]:
    style = files("rowsparse.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    blocks = re.findall(r"color-scheme: (?:light|dark);(.*?)\}", style, flags=re.S)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in blocks]


def test_both_ways_to_the_dark_theme_have_the_same_colours() -> None:
    light, by_system, by_button = themes()
    assert by_system == by_button
    assert set(light) == set(by_system)


@pytest.mark.parametrize("at", [0, 1])
def test_text_is_readable_in_both_themes(at: int) -> None:
    colours = themes()[at]
    for ink in ("ink", "quiet", "accent", "good"):
        for paper in ("page", "card"):
            assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
    assert contrast(colours["warn"], colours["warn-soft"]) >= 4.5
    assert contrast(colours["ink"], colours["warn-soft"]) >= 4.5
    for series in range(8):
        assert contrast(colours[f"s{series}"], colours["card"]) >= 3, series
    for fill in ("plus", "minus", "right", "wrong"):
        mixed = [
            round(
                0.7 * int(colours[fill][i : i + 2], 16) + 0.3 * int(colours["card"][i : i + 2], 16)
            )
            for i in (1, 3, 5)
        ]
        assert contrast(colours["ink"], "#{:02x}{:02x}{:02x}".format(*mixed)) >= 4.5, fill
