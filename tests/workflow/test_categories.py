"""Columns of text as columns of 0 and 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rowsparse.workflow.categories import Category

from .files import N, csv, frame, read, refusal


def test_categories_are_encoded_and_grouped(tmp_path: Path) -> None:
    colour = [["red", "green", "blue"][i % 3] for i in range(N)]
    sex = ["mf"[(i // 2) % 2] for i in range(N)]
    prose = [f"remark number {i % 70}" for i in range(N)]
    path = csv(tmp_path / "a.csv", frame(colour=colour, sex=sex, prose=prose))
    table = read(path, "outcome")
    assert table.names[10:] == ["colour=blue", "colour=green", "colour=red", "sex=m"]
    assert table.groups["colour"].tolist() == [10, 11, 12]
    assert "sex" not in table.groups
    np.testing.assert_array_equal(table.X[:, 12], [c == "red" for c in colour])
    assert table.origin(13) == "sex"
    assert table.origin(2) == "f2"
    assert table.columns_of("include", "colour,f2") == [2, 10, 11, 12]
    assert table.columns_of("include", "colour=red") == [12]
    assert "'prose', which holds text with many different values" in table.notes[0]
    assert "'colour' and 'sex' of categories: encoded as 4 columns" in table.notes[1]
    smaller = table.without([2, 10], "gone")
    assert smaller.groups["colour"].tolist() == [9, 10]
    assert smaller.origin(11) == "sex"


def test_the_values_of_a_category_and_the_commonest_are_known(tmp_path: Path) -> None:
    sex = [None, "m", "m", *["mf"[i % 2] for i in range(N - 4)], "f"]
    path = csv(tmp_path / "a.csv", frame(sex=sex))
    table = read(path, "outcome", impute="median")
    assert table.categories == {"sex": Category(("f", "m"), "m")}
    assert table.impute == "median"
    assert table.X[0, table.names.index("sex=m")] == 1.0


def test_text_that_shows_only_far_down(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7}.5,{i % 3},{'ab'[i % 2]}" for i in range(300))
    path = tmp_path / "a.csv"
    path.write_text(f"u,v,y\n{rows}\n<0.01,2,a\n")
    sentence = refusal(path, "y")
    assert sentence == (
        "Column 'u' holds numbers, but text such as '<0.01' in 1 row: correct the file, or leave "
        "the column out with drop."
    )
    assert read(path, "y", drop="u").names == ["v"]
