"""What columns hold: features, identifiers, dates, text with numbers; and columns by name."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from rowsparse.workflow.columns import (
    Column,
    as_numbers,
    as_text,
    find_identifiers,
    hold_dates,
    is_id_name,
    refuse_mixed,
)
from rowsparse.workflow.loading import Loaded, open_table
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.settings import TableSettings

from .files import N, csv, frame, read, refusal

# ------------------------------------------------------------------------------------ identifiers
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", ["id", "PATIENT_ID", "sampleId", "GeneID", "sampleid", "column 1"])
def test_names_of_identifiers(name: str) -> None:
    assert is_id_name(name)


@pytest.mark.parametrize("name", ["lipid", "Lipid", "width", "column 2"])
def test_names_of_measurements(name: str) -> None:
    assert not is_id_name(name)


def test_numbers_that_identify_the_rows() -> None:
    columns = {
        "counting": np.arange(30.0),
        "id": RNG.permutation(30).astype(float),
        "other_id": np.repeat(np.arange(15.0), 2),
        "shuffled": RNG.permutation(30).astype(float),
        "rising": np.arange(30) + 0.5,
        "account": RNG.integers(10**9, 10**10, 30).astype(float),
        "huge": np.repeat(10.0**19, 30),
        "counts": RNG.integers(10**8, 10**11, 30).astype(float),
        "rises_at_first": np.append(np.arange(29.0), 0.0),
        "Unnamed: 0": np.tile(np.arange(15.0), 2),
        "__index_level_0__": np.tile(np.arange(15.0), 2),
    }
    X = np.column_stack(list(columns.values()))
    found = find_identifiers(X, list(columns))
    assert found.tolist() == [True, True, *[False] * 3, True, True, False, False, True, True]
    assert not find_identifiers(sp.csr_array(X), list(columns)).any()
    assert not find_identifiers(X[:9, [0]], ["counting"]).any()


# ------------------------------------------------------------------------------------------ dates
@pytest.mark.parametrize(
    "date",
    [
        "2024-01-31",
        "2024/1/31",
        "2024-01-31 23:59",
        "2024-01-31T23:59:59.5Z",
        "2024-01-31 00:00:00.000000",
        "2024-01-31 00:00:00+01:00",
        "31.01.2024",
        "01/31/2024",
        "1/31/24",
        "31-Jan-2024",
        "31 January 2024",
        "Jan 31, 2024",
    ],
)
def test_dates(date: str) -> None:
    assert hold_dates([date])


@pytest.mark.parametrize(
    "text", ["2024", "20240131", "2024-13-01", "1.2.3", "1.2.24", "12/5", "January", "10-2", "A1"]
)
def test_other_text(text: str) -> None:
    assert not hold_dates([text])


def test_most_values_decide() -> None:
    assert hold_dates(["2024-01-31", "2024-02-28", "unknown"])
    assert not hold_dates(["2024-01-31", "unknown"])
    assert not hold_dates([])


# ----------------------------------------------------------------------- numbers with a few words
def refuse(values: list[str | None], mostly: float = 0.5) -> None:
    column = np.array(values, dtype=object)
    refuse_mixed("u", column, "place {}".format, mostly=mostly, otherwise="leave it")


def test_the_first_word_is_named_with_its_place() -> None:
    with pytest.raises(InputError) as caught:
        refuse(["1", None, "ND", "2,5", "x", "1e3"])
    assert str(caught.value) == (
        "Column 'u' holds numbers, but 'ND' in place 2 and other text in 1 more row: correct the "
        "file, say with --na-values ND that it is a missing value, or leave it."
    )


@pytest.mark.parametrize("word", ["a,b", "n" * 21])
def test_words_that_no_setting_can_hold_are_not_repeated(word: str) -> None:
    with pytest.raises(InputError, match="say with --na-values that"):
        refuse(["1", "2", word])


def test_the_share_of_numbers_decides() -> None:
    refuse(["1", "x"])
    refuse(["1", "2", "3", "x"], mostly=0.75)
    refuse(["1", "2"])
    refuse([None])


# ------------------------------------------------------------------------------------- categories
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
    assert table.column("sex") == Column("sex", ("f", "m"), "m")
    assert table.reading.impute == "median"
    assert table.X[0, table.names.index("sex=m")] == 1.0


def test_text_that_shows_only_far_down(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7}.5,{i % 3},{'ab'[i % 2]}" for i in range(300))
    path = tmp_path / "a.csv"
    path.write_text(f"u,v,y\n{rows}\n<0.01,2,a\n")
    assert refusal(path, "y") == (
        "Column 'u' holds numbers, but '<0.01' in line 302: correct the file, say with "
        "--na-values '<0.01' that it is a missing value, or leave the column out with --drop."
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


# ------------------------------------------------------------------------ columns of other tables
def test_columns_of_a_text_file_as_numbers_and_as_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,x,t\n007,1.50,a\n008,,b\n")
    table = open_table(path)
    assert (table.source, table.n_rows, list(table.names)) == ("a.csv", 2, ["id", "x", "t"])
    np.testing.assert_array_equal(as_numbers("x", table.values("x")), [1.5, np.nan])
    assert as_text(table.target_values("t")).tolist() == ["a", "b"]
    assert table.as_written(["id", "t"]) == [["007", "008"], ["a", "b"]]
    assert open_table(table) is table


def test_arrays_need_no_target_and_keep_features_and_targets_apart(tmp_path: Path) -> None:
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "a.npz", X=X, feature_names=np.array(["y", "z"]))
    table = open_table(tmp_path / "a.npz")
    np.testing.assert_array_equal(table.values("y"), X[:, 0])
    assert list(table.target_names) == []
    np.savez(tmp_path / "b.npz", X=X, y=[7, 8, 9], feature_names=np.array(["y", "z"]))
    labelled = open_table(tmp_path / "b.npz")
    np.testing.assert_array_equal(labelled.values("y"), X[:, 0])
    np.testing.assert_array_equal(labelled.target_values("y"), [7, 8, 9])
    assert labelled.as_written(["y"]) == [[7, 8, 9]]


def test_sparse_columns() -> None:
    X = sp.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    table = Loaded(matrix=X, features=["a", "b"])
    np.testing.assert_array_equal(table.values("b"), [2.0, 0.0])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([True, False]), [1.0, 0.0]),
        (np.array([1, 2], dtype=np.int8), [1.0, 2.0]),
        (np.array([None, True], dtype=object), [np.nan, 1.0]),
        (np.array([None, None], dtype=object), [np.nan, np.nan]),
        (np.array([Decimal("1.5"), None], dtype=object), [1.5, np.nan]),
    ],
)
def test_numbers(values: np.ndarray, expected: list[float]) -> None:
    np.testing.assert_array_equal(as_numbers("x", values), expected)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array(["1", "b"], dtype=object), "'x' holds text such as '1'; the model needs numbers"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "holds other values"),
        (np.array([date(2020, 1, 1), None], dtype=object), "holds other values"),
        (np.array([1.0, np.inf]), "'x' holds infinity"),
    ],
)
def test_what_is_no_number_is_refused(values: np.ndarray, words: str) -> None:
    with pytest.raises(InputError, match=words):
        as_numbers("x", values)


def test_text() -> None:
    assert as_text(np.array([1, 2])).tolist() == ["1", "2"]
    assert as_text(np.array([1.0, 2.5, np.nan])).tolist() == ["1", "2.5", None]
    assert as_text(np.array(["a", None, np.nan], dtype=object)).tolist() == ["a", None, None]


def test_two_columns_of_one_name_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="several columns of the name 'a'"):
        open_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_categories_of_frames() -> None:
    words = ["u", None, "v"]
    polars = open_table(pl.DataFrame({"a": pl.Series(words, dtype=pl.Categorical)}))
    assert as_text(polars.values("a")).tolist() == words
    pd = pytest.importorskip("pandas")
    pandas = open_table(pd.DataFrame({"a": pd.Categorical(words), "b": pd.array([1, None, 2])}))
    assert as_text(pandas.values("a")).tolist() == words
    np.testing.assert_array_equal(as_numbers("b", pandas.values("b")), [1, np.nan, 2])


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError, match="must be the path of a file or a data frame"):
        open_table(np.zeros((2, 2)))
    assert open_table(pl.DataFrame({"a": [1]})).path is None


def test_a_file_is_read_as_the_settings_say(tmp_path: Path) -> None:
    path = tmp_path / "genes.csv"
    path.write_text("gene,s1,s2\na,1.5,<LOD\nb,2,3\n")
    (tmp_path / "pheno.csv").write_text("id,y\ns2,ill\ns1,well\n")
    reading = TableSettings(
        na_values="<LOD", transpose=True, labels=str(tmp_path / "pheno.csv"), by="id"
    )
    table = open_table(path, reading)
    assert list(table.names) == ["id", "a", "b", "y"]
    np.testing.assert_array_equal(as_numbers("a", table.values("a")), [1.5, np.nan])
    assert as_text(table.target_values("y")).tolist() == ["well", "ill"]
