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
    assert table.reading.impute == "median"
    assert table.X[0, table.names.index("sex=m")] == 1.0


def test_text_that_shows_only_far_down(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7}.5,{i % 3},{'ab'[i % 2]}" for i in range(300))
    path = tmp_path / "a.csv"
    path.write_text(f"u,v,y\n{rows}\n<0.01,2,a\n")
    assert refusal(path, "y") == (
        "Column 'u' holds numbers, but '<0.01' in line 302: correct the file, say with "
        "na_values='<0.01' that it is a missing value, or leave the column out with drop."
    )
    assert read(path, "y", drop="u").names == ["v"]
    assert "1 missing value in 1 of 2 columns" in refusal(path, "y", na_values="ND, <0.01")


def test_numbers_with_a_word_are_no_identifier(tmp_path: Path) -> None:
    level = [*[f"{i}.25" for i in range(N - 1)], "<LOD"]
    path = csv(tmp_path / "a.csv", frame(level=level))
    assert "Column 'level' holds numbers, but '<LOD' in line 91:" in refusal(path)
    half = ["<LOD" if i % 3 == 0 else f"{i}.25" for i in range(N)]
    path = csv(tmp_path / "a.csv", frame(level=half))
    assert "'<LOD' in line 2 and other text in 29 more rows:" in refusal(path)
    table = read(path, "outcome", na_values="<LOD", impute="median")
    assert table.names[-1] == "level"
    assert table.X[0, -1] == np.median([i + 0.25 for i in range(N) if i % 3])


def test_numbers_below_the_limit_of_detection_are_no_categories(tmp_path: Path) -> None:
    level = ["<LOD" if i % 3 else f"{i}.25" for i in range(N)]
    assert "'<LOD' in line 3 and other text in 59 more rows:" in refusal(
        csv(tmp_path / "a.csv", frame(level=level))
    )
    grade = [["1", "2", "3", "unknown"][i % 4] for i in range(N)]
    table = read(csv(tmp_path / "b.csv", frame(grade=grade)), "outcome")
    assert table.groups["grade"].size == 4


def test_identifiers_may_be_numbers_with_a_few_letters(tmp_path: Path) -> None:
    ids = [*map(str, range(1000, 999 + N)), "1003B"]
    path = csv(tmp_path / "a.csv", frame(patient_id=ids))
    assert read(path, "outcome").identifiers == ("patient_id",)


def test_dates_are_no_categories(tmp_path: Path) -> None:
    few = ["2024-01-31", "2024-02-29", "2024-03-31"] * (N // 3)
    path = csv(
        tmp_path / "a.csv", frame(few=few, each=[f"{1 + i % 28}/1/{1900 + i}" for i in range(N)])
    )
    table = read(path, "outcome")
    assert table.names == [f"f{j}" for j in range(10)]
    assert table.identifiers == ()
    assert table.notes == (
        "Left out: 'few' and 'each', which hold dates; to use such a column, write it as a number, "
        "as in days since a fixed date.",
    )
    assert "The target 'few' holds dates" in refusal(path, "few")
    assert read(path, "few", task="classification").target.counts == (30, 30, 30)
