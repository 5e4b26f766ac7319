"""A figure is a file by itself: numbers and colours, no percentages and no variables."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from rowsparse.report import comparison_figures, path_figures, selection_figures
from rowsparse.report.figures import WIDTH, standalone
from rowsparse.report.lines import Series, line_chart

from . import samples

SPACE = "{http://www.w3.org/2000/svg}"
FIGURES = {
    **{
        f"select {k}": v for k, v in selection_figures(samples.with_tests(samples.digits())).items()
    },
    **{
        f"compare {k}": v
        for k, v in comparison_figures(samples.comparison(samples.HOSTILE[:12])).items()
    },
    **{f"path {k}": v for k, v in path_figures(samples.path()).items()},
}


def elements(markup: str, class_: str) -> list[Element]:
    root = ElementTree.fromstring(markup)
    return [one for one in root.iter() if class_ in (one.get("class") or "").split()]


def test_every_line_chart_is_a_figure() -> None:
    assert set(FIGURES) == {
        "select curve",
        "select volcano",
        "select roc",
        "select search",
        "compare scores",
        "compare times",
        "path scores",
        "path objective",
    }


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_whole_and_plain(name: str) -> None:
    markup = FIGURES[name]
    root = ElementTree.fromstring(markup)
    assert root.tag == f"{SPACE}svg"
    assert float(root.get("width", "0")) == WIDTH
    assert "%" not in "".join(value for one in root.iter() for value in one.attrib.values())
    assert "var(" not in markup
    assert list(root.iter(f"{SPACE}svg")) == [root]
    assert root.find(f"{SPACE}title") is not None
    assert not list(root.iter(f"{SPACE}script"))


def test_stretched_lines_meet_their_dots() -> None:
    chart = line_chart(
        [Series("", [1, 2, 4], [0.0, 5.0, 2.0])], label="x", x_label="k", y_label="score"
    )
    markup = standalone(chart, [("a name", "s0", "")])
    points = elements(markup, "line")[-1].get("points", "").split()
    dots = [(float(d.get("cx", "0")), float(d.get("cy", "0"))) for d in elements(markup, "dot")]
    for point, dot in zip(points, dots, strict=True):
        assert tuple(map(float, point.split(","))) == pytest.approx(dot, abs=0.1)
    assert "a name" in [one.text for one in elements(markup, "name")]
