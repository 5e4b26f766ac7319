"""The tables of the guide follow from the rows of the league."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.league_guide import BEGIN, END, PAGE, main, tables, updated
from reproduction.league_scores import JUDGES
from reproduction.store import read_rows

DOCS = Path(__file__).parents[2] / "docs"


def rows_of(scores, datasets, metric="accuracy", seconds=None):
    """A row for each method and set, alike for all judges."""
    return [
        {
            "dataset": dataset,
            "method": method,
            "split": 0,
            "k": 5,
            **{f"{metric}_{code}": score for code in JUDGES.values()},
            "seconds": (seconds or {}).get(method, 1.0),
            "shared": 1,
        }
        for dataset in datasets
        for method, score in scores.items()
    ]


@pytest.fixture
def rows():
    sets = ("glioma", "lung", "pcmac", "basehock")
    scores = {"topk": 0.9, "mrmr": 0.8, "ttest": 0.7, "relieff": 0.6}
    classes = rows_of(scores, sets, seconds={"mrmr": 0.1, "ttest": 0.2, "relieff": 0.05})
    late = {"dataset": "pcmac", "method": "rfs", "split": 0, "error": "TimeoutError: late"}
    classes += rows_of({"rfs": 0.95}, ("glioma", "lung", "basehock"))
    return {
        "classes": [*classes, late],
        "labels": rows_of({"topk": 0.5, "relieff": 0.6}, ("yeast", "scene"), "f1"),
    }


def test_a_method_is_ranked_on_the_kinds_of_data_that_it_has(rows):
    text = tables(rows)
    assert "| gene expression | 2 | 5 | RFS 1.0, TopK 2.0, MRMR 3.0, TTest 4.0 |" in text
    assert "| text | 2 | 4 | TopK 1.0, MRMR 2.0, TTest 3.0, ReliefF 4.0 |" in text
    assert "| several labels, any | 2 | 2 | ReliefF 1.0, TopK 2.0 |" in text
    assert "| 5 | TopK 1.0, MRMR 2.0, TTest 3.0, ReliefF 4.0 |" in text


def test_methods_that_are_beaten_in_time_and_score_are_left_out(rows):
    _, _, times = tables(rows).partition("### By time")
    assert [line.split(" | ")[0] for line in times.splitlines() if line.startswith("| ")][1:] == [
        "| ReliefF",
        "| MRMR",
        "| TopK",
    ]


def test_only_what_stands_between_the_marks_is_replaced(rows, tmp_path):
    page = tmp_path / PAGE
    page.parent.mkdir()
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    (tmp_path / "league.csv").write_bytes((DOCS / "league.csv").read_bytes())
    main(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n\n### By kind of data")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    with pytest.raises(ValueError, match="no marks"):
        updated("nothing here", rows)


def test_the_guide_says_how_many_sets_there_are():
    rows = read_rows(DOCS / "league.csv")
    classes, labels = (
        len({row["dataset"] for row in rows[part]}) for part in ("classes", "labels")
    )
    assert f"on {classes} sets of classes" in (DOCS / PAGE).read_text(encoding="utf-8")
    text = " ".join((DOCS / "guide" / "comparing.md").read_text(encoding="utf-8").split())
    assert f"has {classes} sets of classes and {labels} of labels" in text


def test_the_page_has_the_tables_of_the_rows():
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    assert page == updated(page, read_rows(DOCS / "league.csv")), (
        "run python -m reproduction.league_guide docs"
    )
