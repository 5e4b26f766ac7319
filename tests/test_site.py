"""What the extensions of the site make, without Sphinx."""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from docs.extensions.drawing import arrows, below, layout
from docs.extensions.gallery_order import FIRST, Order
from docs.extensions.rooms import imports_between_rooms

ROOT = Path(__file__).parents[1]


def test_the_arrows_imply_every_import_and_none_is_redundant() -> None:
    drawn = set(arrows())

    def reached(room: str, without: tuple[str, str] | None = None) -> set[str]:
        direct = {a for a, b in drawn if b == room and (a, b) != without}
        return direct.union(*(reached(other, without) for other in direct))

    for room, imported in imports_between_rooms().items():
        assert imported <= reached(room) == below(room)
    for imported, importing in drawn:
        assert imported not in reached(importing, (imported, importing))


def test_arrows_go_down_and_boxes_do_not_overlap() -> None:
    drawing = layout()
    for chain in drawing.chains:
        assert [place.layer for place in chain] == list(
            range(chain[0].layer, chain[0].layer + len(chain))
        )
    for layer in drawing.layers:
        edges = sorted((p.x - p.width / 2, p.x + p.width / 2) for p in layer)
        assert edges[0][0] >= -1e-9
        assert edges[-1][1] <= drawing.width + 1e-9
        assert all(first[1] < second[0] for first, second in pairwise(edges))


def test_getting_started_lists_the_extras() -> None:
    page = (ROOT / "docs" / "getting_started.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    developers = {"bench", "dist", "docs", "field", "lint", "test"}
    assert set(re.findall(r"\w+", " ".join(rows))) == extras - developers


def test_the_gallery_is_ordered_by_examples_that_are_there() -> None:
    names = {path.stem for path in (ROOT / "examples").glob("plot_*.py")}
    assert {f"plot_{name}" for name in FIRST} <= names
    ordered = sorted((f"{name}.py" for name in names), key=Order("examples"))
    assert ordered[: len(FIRST)] == [f"plot_{name}.py" for name in FIRST]


def test_what_code_of_the_guide_prints_is_shown_as_at_the_prompt() -> None:
    pytest.importorskip("docutils", reason="comes with the extra docs")
    from docs.extensions.outputs import output_of

    names: dict[str, object] = {}
    assert output_of("x = 1", names, "page") == ""
    assert output_of("x + 1\nprint('two')\nNone", names, "page") == "2\ntwo\n"
    with pytest.raises(ZeroDivisionError):
        output_of("x / 0", names, "page")
