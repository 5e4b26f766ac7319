"""Columns of tables that a model is applied to."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from rowsparse.workflow.loading import Loaded
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.new_table import _from_matrix, as_numbers, as_text, open_table


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
    table = _from_matrix(Loaded(matrix=X, names=["a", "b"]), Path("a.h5ad"))
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
