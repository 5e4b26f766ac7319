"""A chart of the page: markup of its own, without a style, and the same at each run."""

from __future__ import annotations

import warnings
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import matplotlib as mpl
import numpy as np
import pytest

from rowsparse.report.charts import NARROW, WIDE, Chart

HOSTILE = (
    "</svg><script>x</script>",
    "$a_1$",
    "half a pair \ud83d",
    "漢字 👩‍🔬",
    "javascript:x",
    "null\x00bell\x07",
)


def draw(axes: Any) -> None:
    axes.plot([0, 1, 2], [0, 4, 2], color="#4477aa", gid="series-3")
    points = axes.scatter(range(len(HOSTILE)), range(len(HOSTILE)), c="#ee6677")
    points.set_urls(HOSTILE)
    axes.imshow(np.eye(2), aspect="auto")
    axes.set(xlabel=HOSTILE[0], ylabel="score", xlim=(-1, 5))
    axes.text(1, 1, HOSTILE[1], rotation=30, size=20, weight="bold")


def drawings(chart: Chart) -> list[Element]:
    markup = chart.__html__()
    with_space = markup.replace("<svg ", '<svg xmlns:xlink="http://www.w3.org/1999/xlink" ')
    return list(ElementTree.fromstring(f"<root>{with_space}</root>"))


def every(roots: list[Element], tag: str) -> list[Element]:
    return [one for root in roots for one in root.iter(tag)]


@pytest.fixture(scope="module")
def roots() -> list[Element]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return drawings(Chart("curve", draw, "What it shows: a & b", 200))


def test_there_is_a_drawing_for_each_width(roots: list[Element]) -> None:
    assert [one.get("viewBox") for one in roots] == [f"0 0 {w} 200" for w in (WIDE, NARROW)]
    assert [one.get("class") for one in roots] == ["chart wide", "chart narrow"]
    assert {one.get("aria-label") for one in roots} == {"What it shows: a & b"}
    (single,) = drawings(Chart("small", draw, "words", 100, (250,)))
    assert single.get("class") == "chart"


def test_there_are_no_styles_links_and_scripts(roots: list[Element]) -> None:
    every_one = [one for root in roots for one in root.iter()]
    assert not [
        one
        for one in every_one
        if one.get("style") or one.get("font-family", "sans-serif") != "sans-serif"
    ]
    assert not {"a", "script", "style", "metadata"} & {one.tag for one in every_one}


def test_ids_are_unique_and_what_is_referred_to_is_there(roots: list[Element]) -> None:
    every_one = [one for root in roots for one in root.iter()]
    ids = [one.get("id", "") for one in every_one if "id" in one.attrib]
    assert len(ids) == len(set(ids))
    clips = {one.get("clip-path", "url(#)")[5:-1] for one in every_one} - {""}
    used = {one.get("{http://www.w3.org/1999/xlink}href", "")[1:] for one in every(roots, "use")}
    assert clips
    assert clips | used == set(ids)


def test_words_under_the_pointer_and_series_are_kept(roots: list[Element]) -> None:
    hints = [one.text for one in every(roots[:1], "title")]
    assert hints == [
        HOSTILE[0],
        "$a_1$",
        "half a pair ?",
        "漢字 👩‍🔬",
        "javascript:x",
        "null?bell?",
    ]
    (line,) = [one for one in roots[0].iter() if one.get("data-series") == "3"]
    assert [one.get("stroke") for one in line.iter("path")] == ["#4477aa"]


def test_text_stays_text(roots: list[Element]) -> None:
    texts = {one.text: one for one in every(roots[:1], "text")}
    assert {HOSTILE[0], HOSTILE[1], "score"} <= set(texts)
    assert texts[HOSTILE[1]].get("font-size") == "20"
    assert texts[HOSTILE[1]].get("font-weight") in ("bold", "700")
    assert "rotate(-30" in texts[HOSTILE[1]].get("transform", "")
    assert "font-size" not in texts["score"].attrib


def test_it_is_the_same_at_each_run_whatever_the_user_has_set() -> None:
    chart = Chart("curve", draw, "words")
    first = chart.__html__()
    with mpl.rc_context({"font.size": 30, "axes.grid": True, "svg.fonttype": "path"}):
        assert chart.__html__() == first


def test_a_file_is_whole_and_white() -> None:
    text = Chart("curve", draw, "What it shows: a & b", 200).file()
    root = ElementTree.fromstring(text.encode())
    space = "{http://www.w3.org/2000/svg}"
    assert (root.tag, root.get("width"), root.get("height")) == (f"{space}svg", "720", "200")
    title, paper = root[0], root[1]
    assert (title.text, paper.get("fill")) == ("What it shows: a & b", "#ffffff")
