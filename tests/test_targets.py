"""What y may be, and what becomes of it."""

from __future__ import annotations

import warnings
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.exceptions import DataConversionWarning

from rowsparse import TopK
from rowsparse.targets import (
    TASKS,
    Targets,
    check_sample_weight,
    combine_weights,
    declared_task,
    encode_targets,
    target_array,
)
from rowsparse.workflow.target_columns import read_targets

CODE = np.array([2, 0, 1, 1, 0, 2, 2])
N = CODE.size
ONE_HOT = np.eye(3)[CODE]
WORDS = np.array(["ant", "bee", "cat"])[CODE]


def encode(y: Any, task: str = "auto") -> Targets:
    return encode_targets(target_array(y, N), task)


def pandas_cases() -> dict[str, Any]:
    pd = pytest.importorskip("pandas")
    return {
        "series": pd.Series(WORDS),
        "object": pd.Series(WORDS, dtype=object),
        "string": pd.Series(WORDS, dtype="string"),
        "categorical": pd.Categorical(WORDS),
        "categorical series": pd.Series(pd.Categorical(WORDS)),
        "integer categories": pd.Series(pd.Categorical(CODE)),
        "Int64": pd.Series(CODE, dtype="Int64"),
        "shuffled index": pd.Series(WORDS, index=np.arange(N)[::-1]),
    }


def polars_cases() -> dict[str, Any]:
    pl = pytest.importorskip("polars")
    return {
        "series": pl.Series(WORDS.tolist()),
        "categorical": pl.Series(WORDS.tolist(), dtype=pl.Categorical),
        "enum": pl.Series(WORDS.tolist(), dtype=pl.Enum(["ant", "bee", "cat"])),
        "integers": pl.Series(CODE.tolist(), dtype=pl.UInt8),
    }


def assert_three_classes(targets: Targets, y: Any) -> None:
    assert targets.task == "classification"
    assert targets.unit == 1.0
    assert targets.Y.dtype == np.float64
    np.testing.assert_array_equal(targets.Y, ONE_HOT)
    assert targets.classes is not None
    decoded = targets.classes[targets.Y.argmax(axis=1)]
    assert decoded.tolist() == np.asarray(y).ravel().tolist()


@pytest.mark.parametrize("task", ["auto", "classification"])
@pytest.mark.parametrize(
    "y",
    [
        WORDS,
        WORDS.tolist(),
        tuple(WORDS.tolist()),
        WORDS.astype(object),
        CODE,
        CODE.astype(np.uint8),
        CODE - 1,
        CODE.tolist(),
        CODE.astype(float),
        CODE.astype(object),
        CODE.astype(np.float32),
    ],
)
def test_classes_of_any_kind(y, task):
    assert_three_classes(encode(y, task), y)


@pytest.mark.parametrize("name", list(range(8)))
def test_classes_from_pandas(name):
    y = list(pandas_cases().values())[name]
    assert_three_classes(encode(y), y)


@pytest.mark.parametrize("name", list(range(4)))
def test_classes_from_polars(name):
    y = list(polars_cases().values())[name]
    assert_three_classes(encode(y), y)


@pytest.mark.parametrize("y", [CODE > 0, (CODE > 0).tolist(), (CODE > 0).astype(object)])
def test_booleans_are_two_classes(y):
    targets = encode(y)
    assert targets.classes.tolist() == [False, True]
    np.testing.assert_array_equal(targets.Y, np.eye(2)[(CODE > 0).astype(int)])


@pytest.mark.parametrize("task", ["auto", "classification"])
@pytest.mark.parametrize(
    "y", [[1, "a", 2, "b", 1, 1, "a"], ["a", 1, 2, "b", 1, 1, "a"], [{}, "a", 2, 3, 4, 5, 6]]
)
def test_objects_without_an_order_are_refused(y, task):
    held = np.empty(N, dtype=object)
    held[:] = y
    with pytest.raises(ValueError, match=r"^Unknown label type: y must hold class labels") as e:
        encode(held, task)
    assert "\n" not in str(e.value)


def test_numbers_held_as_objects():
    half = np.array([0.5, 1, 2, 3, 4.25, 5, 6], dtype=object)
    assert encode(half).task == "regression"
    np.testing.assert_array_equal(encode(half).Y[:, 0], half.astype(float))
    decimals = np.array([Decimal(int(v)) for v in CODE], dtype=object)
    np.testing.assert_array_equal(encode(decimals, "regression").Y[:, 0], CODE)


def test_columns_are_flattened_with_a_warning():
    for y in (CODE[:, None], WORDS[:, None], sp.csr_array((CODE > 0)[:, None].astype(int))):
        with pytest.warns(DataConversionWarning, match="column-vector y"):
            assert encode(y).task == "classification"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encode(np.linspace(0, 1.5, N)[:, None]).Y.shape == (N, 1)


@pytest.mark.parametrize("dtype", [int, float, bool, np.uint8])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_indicators_dense_and_sparse(kind, dtype):
    Y = np.column_stack([CODE > 0, CODE == 1, CODE < 2]).astype(dtype)
    targets = encode(kind(Y))
    assert (targets.task, targets.classes, targets.unit) == ("multilabel", None, 1.0)
    np.testing.assert_array_equal(targets.Y, Y.astype(float))
    assert targets.Y.dtype == np.float64


def test_indicator_data_frames():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    Y = np.column_stack([CODE > 0, CODE == 1]).astype(int)
    for frame in (pd.DataFrame(Y), pl.DataFrame(Y)):
        np.testing.assert_array_equal(encode(frame).Y, Y)


@pytest.mark.parametrize("columns", [None, 1, 3])
def test_numbers(columns):
    y = np.random.default_rng(0).standard_normal(N if columns is None else (N, columns))
    targets = encode(y)
    assert (targets.task, targets.classes, targets.unit) == ("regression", None, 1.0)
    np.testing.assert_array_equal(targets.Y, y.reshape(N, -1))
    targets.Y[:] = 9.0
    assert not np.any(y == 9.0)


@pytest.mark.parametrize("factor", [1e150, 1e-150, 1e307, 1e-310])
def test_numbers_of_extreme_magnitude_get_a_unit(factor):
    y = np.linspace(-1.5, 1.0, N) * factor
    targets = encode(y)
    assert np.frexp(targets.unit)[0] == 0.5
    assert 1e-20 < np.abs(targets.Y).max() < 1e20
    np.testing.assert_array_equal(targets.Y[:, 0] * targets.unit, y)


# --------------------------------------------------------------------------- task forced
def test_task_forces_the_meaning():
    assert_three_classes(encode(CODE * 0.5, "classification"), CODE * 0.5)
    np.testing.assert_array_equal(encode(CODE, "regression").Y, CODE[:, None])
    np.testing.assert_array_equal(encode(CODE > 0, "regression").Y, (CODE > 0)[:, None])
    assert encode(CODE > 0, "multilabel").Y.shape == (N, 1)
    assert encode(ONE_HOT, "regression").task == "regression"
    assert encode(np.column_stack([CODE, CODE]), "regression").Y.shape == (N, 2)


def test_task_that_cannot_be():
    refusals = [
        (ONE_HOT, "classification", r"^y should be a 1d array"),
        (CODE, "multilabel", r"^y must hold only 0 and 1 for task='multilabel'\.$"),
        (WORDS, "regression", r"^Unknown label type: y must hold numbers"),
        (WORDS, "multilabel", r"^Unknown label type: y must hold numbers"),
        (CODE, "ranking", r"^task must be one of 'auto', "),
        (CODE, None, r"^task must be one of 'auto', "),
    ]
    for y, task, sentence in refusals:
        with pytest.raises(ValueError, match=sentence) as e:
            encode(y, task)
        assert "\n" not in str(e.value)


def test_integer_matrix_is_numbers_in_doubt():
    targets = encode(np.column_stack([CODE, CODE + 1]))
    assert targets.task == "regression"
    assert targets.doubt == (
        "y holds whole numbers, taken as numbers: pass task='classification' or task='regression' "
        "to say what they are."
    )
    assert encode(np.column_stack([CODE, np.arange(N)])).doubt is None
    with pytest.raises(ValueError, match=r"^y has 2 columns of text: fit one column of classes"):
        encode(np.column_stack([WORDS, WORDS]))


# ------------------------------------------------------------------------ what "auto" means
def numbers(*counts: int) -> np.ndarray:
    """Whole numbers from 3 on, each seen as often as given."""
    return np.repeat(np.arange(3, 3 + len(counts)), counts)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float64, np.float32, object])
@pytest.mark.parametrize(
    ("y", "task", "close"),
    [
        (numbers(1, 1), "classification", False),
        (numbers(*[2] * 20), "classification", False),
        (numbers(1, 2, 9), "classification", True),
        (numbers(1, 1, 2, 9), "regression", True),
        (numbers(1, 1, 1, 2), "regression", False),
        (numbers(*[10] * 40), "classification", True),
        (numbers(*[10] * 39, 3), "regression", True),
        (numbers(*[10] * 39, 1), "regression", False),
        (numbers(*[9] * 51), "regression", False),
        (np.arange(7), "regression", False),
    ],
)
def test_whole_numbers_are_classes_while_plausible(y, task, close, dtype):
    targets = encode_targets(target_array(y.astype(dtype), y.size), "auto")
    assert targets.task == task
    taken = "classes" if task == "classification" else "numbers"
    said = f"y holds {np.unique(y).size} different whole numbers, taken as {taken}: pass task="
    assert (targets.doubt or "").startswith(said) == close
    assert encode_targets(y, task).doubt is None


def test_the_rule_asks_nothing_where_only_one_task_is_possible():
    y = np.arange(30)
    found = encode_targets(y, "auto", ("classification", "multilabel"))
    assert (found.task, found.doubt) == ("classification", None)
    assert encode_targets(numbers(3, 3, 3), "auto", ("regression",)).task == "regression"


def test_categories_of_whole_numbers_are_classes():
    pd = pytest.importorskip("pandas")
    y = pd.Series(np.arange(30) % 29).astype("category")
    assert declared_task(y, "auto") == "classification"
    assert declared_task(y.to_frame(), "auto") == "classification"
    assert declared_task(y, "regression") == "regression"
    assert declared_task(y.astype(int), "auto") == "auto"
    X = np.random.default_rng(0).standard_normal((30, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert TopK(2).fit(X, y).task_ == "classification"
        assert TopK(2).fit(X, y.astype(int)).task_ == "regression"


def test_diabetes_is_a_regression_in_python_as_on_the_command_line():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector = TopK(3, random_state=0).fit(X, y)
    assert selector.task_ == "regression" == read_targets({"target": y.to_numpy()}).task
    assert selector.get_feature_names_out().tolist() == ["bmi", "bp", "s5"]


def test_a_close_call_warns_and_names_task():
    X = np.random.default_rng(0).standard_normal((12, 3))
    y = numbers(1, 2, 9)
    with pytest.warns(UserWarning, match=r"pass task='classification' or task='regression'"):
        assert TopK(1).fit(X, y).task_ == "classification"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TopK(1, task="regression").fit(X, y)


# ----------------------------------------------------------------------------- bad values
def missing_labels() -> list[Any]:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    words: list[Any] = [None, *WORDS[1:].tolist()]
    return [
        np.array(words, dtype=object),
        np.array([np.nan, *WORDS[1:]], dtype=object),
        pd.Series(words),
        pd.Series(words, dtype="string"),
        pd.Series([pd.NA, *WORDS[1:]], dtype=object),
        pd.Series([None, *CODE[1:]], dtype="Int64"),
        pd.Series(pd.Categorical(words)),
        pl.Series(words),
        pl.Series([None, *CODE[1:].tolist()]),
        np.where(CODE == 0, np.nan, CODE),
        np.where(CODE == 0, np.inf, CODE),
        np.where(ONE_HOT == 1, np.nan, 0.5),
    ]


@pytest.mark.parametrize("task", TASKS)
def test_missing_values_are_refused(task):
    for y in missing_labels():
        with pytest.raises(ValueError, match=r"^y contains (missing values|NaN or infinity).*\.$"):
            encode(y, task)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (np.zeros((N, 0)), r"^y must have one dimension, or two .*\(7, 0\)\.$"),
        (np.zeros((N, 1, 1)), r"^y must have one dimension, or two .*\(7, 1, 1\)\.$"),
        (3.0, r"^y must have one dimension, or two .*\(\)\.$"),
        (CODE[:-1], r"^y has 6 samples but X has 7"),
        (CODE + 1j, r"^Complex data not supported: y must"),
        ([[1], [1, 2]] * 3 + [[1]], r"^y: "),
    ],
)
def test_shapes_and_types_that_are_refused(y, sentence, task):
    with pytest.raises(ValueError, match=sentence) as e:
        encode(y, task)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("y", [np.zeros(N, int), ["a"] * N, np.ones(N, bool)])
def test_one_class_is_refused(y):
    with pytest.raises(ValueError, match=r"^y has only one class, .*: at least two are needed"):
        encode(y)


# ------------------------------------------------------------------------------- weights
def test_no_weights_are_none():
    targets = encode(WORDS)
    assert combine_weights(targets, None, None) is None
    assert combine_weights(targets, np.ones(N), None) is None
    weights = np.linspace(1, 2, N)
    np.testing.assert_array_equal(combine_weights(targets, weights, None), weights)


def test_class_weights_from_a_dict():
    targets = encode(WORDS)
    expected = np.array([1.0, 3.0, 1.0])[CODE]
    np.testing.assert_array_equal(combine_weights(targets, None, {"bee": 3.0}), expected)
    full = {"ant": 2.0, "bee": 3.0, "cat": 0.5}
    weights = np.linspace(1, 2, N)
    expected = np.array([2.0, 3.0, 0.5])[CODE] * weights
    np.testing.assert_allclose(combine_weights(targets, weights, full), expected)


def test_balanced_classes_weigh_the_same():
    targets = encode(WORDS)
    weights = combine_weights(targets, None, "balanced")
    np.testing.assert_allclose(np.bincount(CODE, weights), N / 3)
    sample = np.linspace(0.5, 2, N)
    weights = combine_weights(targets, sample, "balanced")
    np.testing.assert_allclose(np.bincount(CODE, weights), sample.sum() / 3)


@pytest.mark.parametrize("class_weight", ["balanced", None, {"ant": 2.5}])
def test_sample_weights_equal_repeated_rows(class_weight):
    counts = np.array([1, 3, 2, 1, 4, 1, 2])
    weighted = combine_weights(encode(WORDS), counts * 1.0, class_weight)
    repeated = encode_targets(np.repeat(WORDS, counts), "auto")
    plain = combine_weights(repeated, None, class_weight)
    plain = np.ones(counts.sum()) if plain is None else plain
    np.testing.assert_allclose(np.repeat(weighted / counts, counts), plain)


@pytest.mark.parametrize(
    "class_weight",
    [{"wasp": 1.0}, *({"ant": v} for v in (-1, np.nan, 0, "x", None))],
)
def test_bad_class_weights(class_weight):
    with pytest.raises((ValueError, TypeError), match=r"^class_weight.*\.$") as e:
        combine_weights(encode(WORDS), None, class_weight)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("y", [np.linspace(0, 1.5, N), ONE_HOT])
def test_class_weights_need_classes(y):
    for class_weight in ("balanced", {0: 1.0}):
        with pytest.raises(ValueError, match=r"^class_weight is for classification and y is"):
            combine_weights(encode(y), None, class_weight)


def test_sample_weights_of_many_kinds():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    weights = list(range(N))
    for held in (
        weights,
        tuple(weights),
        np.array(weights),
        pd.Series(weights),
        pl.Series(weights),
    ):
        checked = check_sample_weight(held, N)
        assert checked.dtype == np.float64
        np.testing.assert_array_equal(checked, weights)
    np.testing.assert_array_equal(check_sample_weight(2, N), np.full(N, 2.0))
    assert check_sample_weight(None, N) is None


def test_sample_weights_are_not_the_callers_array():
    weights = np.ones(N)
    check_sample_weight(weights, N)[:] = 5.0
    assert weights.sum() == N


def times() -> dict[str, Any]:
    pd = pytest.importorskip("pandas")
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]")[CODE]
    return {
        "numpy": days,
        "durations": days - days[0],
        "pandas": pd.Series(days),
        "with a zone": pd.Series(pd.DatetimeIndex(days).tz_localize("UTC")),
        "periods": pd.Series(pd.PeriodIndex(days, freq="D")),
        "datetime": [datetime(2020, 1, 1 + code) for code in CODE.tolist()],
        "date": [date(2020, 1, 1 + code) for code in CODE.tolist()],
        "table": pd.DataFrame({"a": days, "b": days}),
    }


@pytest.mark.parametrize(
    "kind",
    ["numpy", "durations", "pandas", "with a zone", "periods", "datetime", "date", "table"],
)
def test_dates_and_times_are_no_classes(kind):
    with pytest.raises(ValueError, match=r"^y holds dates or times: convert them .*\.$"):
        target_array(times()[kind], N)


def test_masked_targets_are_refused_and_an_empty_mask_is_not():
    with pytest.raises(ValueError, match=r"^y has masked entries: impute them or drop"):
        target_array(np.ma.array(CODE, mask=CODE == 1), N)
    np.testing.assert_array_equal(target_array(np.ma.array(CODE), N), CODE)


def test_a_plan_of_a_table_is_no_y():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"^y is a LazyFrame: pass y\.collect\(\)\."):
        target_array(polars.DataFrame({"y": CODE}).lazy(), N)


def test_a_weight_that_leaves_nothing_of_the_others_is_refused():
    weights = np.ones(N)
    weights[3] = 1e90
    with pytest.raises(ValueError, match=r"^sample_weight of sample 3, 1e\+90, leaves nothing"):
        check_sample_weight(weights, N)
    weights[3] = 1e14
    np.testing.assert_array_equal(check_sample_weight(weights, N), weights)
    # Two of them do not leave one sample alone, and zeros are samples that are not there.
    check_sample_weight([1e90, 1e90, *np.ones(N - 2)], N)
    check_sample_weight([1e90, *np.zeros(N - 1)], N)


def test_masked_weights_are_refused():
    with pytest.raises(ValueError, match=r"^sample_weight has masked entries"):
        check_sample_weight(np.ma.array(np.ones(N), mask=CODE == 1), N)


def test_columns_of_text_and_bytes_are_named_as_such():
    with pytest.raises(ValueError, match="y has 2 columns of text: fit one column"):
        encode_targets(np.array([["a", "b"], ["b", "c"], ["a", "c"]]), "auto")
    for y in (np.array([b"a", b"b"]), np.array([b"a", b"b"], dtype=object)):
        with pytest.raises(ValueError, match="y holds bytes: decode them first"):
            target_array(y, 2)
