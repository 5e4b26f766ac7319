"""Every page is complete and self-contained, and no data can become markup."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from importlib.resources import files

import pytest

from rowsparse._names import shown
from rowsparse.report import selection_page
from rowsparse.report.page import render

from . import samples
from .made import PAGES, made, parsed
from .reading import Page

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
    for attributes in parsed(name).drawings:
        assert attributes.get("aria-hidden") == "true" or (
            attributes["role"] == "img" and attributes["aria-label"]
        )


@every_page
def test_nothing_is_left_undefined(name: str) -> None:
    words = "".join(parsed(name).text.get("main", ""))
    assert not re.search(r"\b(nan|None|inf)\b", words)
    assert "Undefined" not in words


def test_hostile_names_are_text() -> None:
    page = parsed("hostile")
    words = page.text["main"]
    for name in samples.HOSTILE[:6]:
        assert shown(name) in words
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


def test_pages_are_the_same_every_time() -> None:
    assert PAGES["genes"]() == made("genes")


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
    for series in range(7):
        assert contrast(colours[f"s{series}"], colours["card"]) >= 3, series
    for fill in ("plus", "minus", "right", "wrong"):
        mixed = [
            round(
                0.7 * int(colours[fill][i : i + 2], 16) + 0.3 * int(colours["card"][i : i + 2], 16)
            )
            for i in (1, 3, 5)
        ]
        assert contrast(colours["ink"], "#{:02x}{:02x}{:02x}".format(*mixed)) >= 4.5, fill


def test_the_command_is_shown_whole() -> None:
    command = "rowsparse select table.csv --include " + ",".join(f"gene_{j}" for j in range(60))
    result = dataclasses.replace(samples.genes(), settings={"command": command, "cv": 5})
    page = Page(selection_page(result))
    assert page.text["code"].count(command) == 1
    assert page.text["main"].count(command) == 1


@pytest.mark.parametrize(("module", "name"), [("jinja2", "Jinja2"), ("matplotlib", "matplotlib")])
def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    monkeypatch.setattr(
        "rowsparse.report.page.find_spec", lambda wanted: None if wanted == module else object()
    )
    with pytest.raises(ImportError, match=rf'need {name}: pip install "rowsparse\[report\]"'):
        render("selection.html.j2")
