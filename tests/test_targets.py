"""What y may be, and what becomes of it."""

import warnings
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
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

CODE = np.array([2, 0, 1, 1, 0, 2, 2])
N = CODE.size
ONE_HOT = np.eye(3)[CODE]
WORDS = np.array(["ant", "bee", "cat"])[CODE]


def encode(y: Any, task: str = "auto") -> Targets:
    return encode_targets(target_array(y, N), task)


def assert_three_classes(targets: Targets, y: Any) -> None:
    assert targets.task == "classification"
    assert targets.unit == 1.0
    assert targets.Y.dtype == np.float64
    np.testing.assert_array_equal(targets.Y, ONE_HOT)
    assert targets.classes is not None
    decoded = targets.classes[targets.Y.argmax(axis=1)]
    assert decoded.tolist() == np.asarray(y).ravel().tolist()


def classes_of_any_kind() -> list[Any]:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    codes = [CODE.astype(dtype) for dtype in (int, np.uint8, float, object, np.float32)]
    words = [WORDS, WORDS.tolist(), tuple(WORDS.tolist()), WORDS.astype(object)]
    series = [pd.Series(WORDS, dtype=dtype) for dtype in (None, object, "string", "category")]
    series += [pd.Categorical(WORDS), pd.Series(pd.Categorical(CODE))]
    series += [pd.Series(CODE, dtype="Int64"), pd.Series(WORDS, index=np.arange(N)[::-1])]
    series += [pl.Series(WORDS.tolist(), dtype=dtype) for dtype in (None, pl.Categorical)]
    series.append(pl.Series(WORDS.tolist(), dtype=pl.Enum(["ant", "bee", "cat"])))
    series.append(pl.Series(CODE.tolist(), dtype=pl.UInt8))
    return [*words, *codes, CODE - 1, CODE.tolist(), *series]


def test_classes_of_any_kind():
    for y in classes_of_any_kind():
        for task in ("auto", "classification"):
            assert_three_classes(encode(y, task), y)
    for y in (CODE > 0, (CODE > 0).tolist(), (CODE > 0).astype(object)):
        targets = encode(y)
        assert targets.classes.tolist() == [False, True]
        np.testing.assert_array_equal(targets.Y, np.eye(2)[(CODE > 0).astype(int)])


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


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_indicators_dense_and_sparse(kind):
    for dtype in (int, float, bool, np.uint8):
        Y = np.column_stack([CODE > 0, CODE == 1, CODE < 2]).astype(dtype)
        targets = encode(kind(Y))
        assert (targets.task, targets.classes, targets.unit) == ("multilabel", None, 1.0)
        np.testing.assert_array_equal(targets.Y, Y.astype(float))
        assert targets.Y.dtype == np.float64


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


def test_integer_matrix_is_numbers_in_doubt():
    targets = encode(np.column_stack([CODE, CODE + 1]))
    assert targets.task == "regression"
    assert targets.doubt == (
        "y holds whole numbers, taken as numbers: pass task='classification' or task='regression' "
        "to say what they are."
    )
    assert encode(np.column_stack([CODE, np.arange(N)])).doubt is None


# ------------------------------------------------------------------------ what "auto" means
def numbers(*counts: int) -> np.ndarray:
    """Whole numbers from 3 on, each seen as often as given."""
    return np.repeat(np.arange(3, 3 + len(counts)), counts)


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
def test_whole_numbers_are_classes_while_plausible(y, task, close):
    taken = "classes" if task == "classification" else "numbers"
    said = f"y holds {np.unique(y).size} different whole numbers, taken as {taken}: pass task="
    for dtype in (np.int64, np.uint8, np.float64, np.float32, object):
        targets = encode_targets(target_array(y.astype(dtype), y.size), "auto")
        assert targets.task == task, dtype
        assert (targets.doubt or "").startswith(said) == close, dtype
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


def test_a_close_call_warns_and_names_task():
    X = np.random.default_rng(0).standard_normal((12, 3))
    y = numbers(1, 2, 9)
    with pytest.warns(UserWarning, match=r"pass task='classification' or task='regression'"):
        assert TopK(1).fit(X, y).task_ == "classification"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TopK(1, task="regression").fit(X, y)


# ----------------------------------------------------------------------------- bad values
def objects(*values: Any) -> np.ndarray:
    held = np.empty(N, dtype=object)
    held[:] = values
    return held


def refused() -> list[tuple[str, list[Any]]]:
    """The beginnings of sentences, and what they refuse for every task."""
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    words: list[Any] = [None, *WORDS[1:].tolist()]
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]")[CODE]
    day = date(2020, 1, 1)
    return [
        (
            "y contains (missing values|NaN or infinity)",
            [
                *(np.array([lack, *words[1:]], dtype=object) for lack in (None, np.nan, pd.NA)),
                *(pd.Series(words, dtype=dtype) for dtype in (None, "string", "category")),
                pd.Series([None, *CODE[1:]], dtype="Int64"),
                pl.Series(words),
                pl.Series([None, *CODE[1:].tolist()]),
                *(np.where(CODE == 0, lack, CODE) for lack in (np.nan, np.inf)),
                np.where(ONE_HOT == 1, np.nan, 0.5),
            ],
        ),
        (
            "y must have one dimension, or two",
            [np.zeros((N, 0)), np.zeros((N, 1, 1)), 3.0],
        ),
        ("y has 6 samples but X has 7", [CODE[:-1]]),
        ("Complex data not supported: y must hold labels or real numbers", [CODE + 1j]),
        ("y: ", [[[1], [1, 2]] * 3 + [[1]]]),
        ("y has masked entries: impute them or drop", [np.ma.array(CODE, mask=CODE == 1)]),
        ("y holds bytes: decode them first", [np.full(N, b"a"), objects(*[b"a", b"b"] * 3, b"a")]),
        (
            "y holds dates or times: convert them",
            [
                *(days, days - days[0], pd.Series(days), pd.DataFrame({"a": days, "b": days})),
                pd.Series(pd.DatetimeIndex(days).tz_localize("UTC")),
                pd.Series(pd.PeriodIndex(days, freq="D")),
                [day] * N,
                [datetime(2020, 1, 1 + code) for code in CODE.tolist()],
            ],
        ),
    ]


def test_targets_that_are_refused_for_every_task():
    for words, values in refused():
        for y in values:
            for task in TASKS:
                with pytest.raises(ValueError, match=rf"^{words}.*\.$"):
                    encode(y, task)
    plan = pytest.importorskip("polars").DataFrame({"y": CODE}).lazy()
    with pytest.raises(TypeError, match=r"^y is a LazyFrame: pass y\.collect\(\)\."):
        encode(plan)
    assert_three_classes(encode(np.ma.array(CODE)), CODE)


@pytest.mark.parametrize(
    ("y", "task", "words"),
    [
        *((y, "auto", "y has only one class, .*: at least two") for y in ([0] * N, ["a"] * N)),
        *(
            (y, task, "Unknown label type: y must hold class la")
            for y in (objects(1, "a", 2, "b", 1, 1, "a"), objects({}, "a", 2, 3, 4, 5, 6))
            for task in ("auto", "classification")
        ),
        (np.column_stack([WORDS, WORDS]), "auto", "y has 2 columns of text: fit one column"),
        (ONE_HOT, "classification", "y should be a 1d array"),
        (CODE, "multilabel", "y must hold only 0 and 1 for task='multilabel'"),
        (WORDS, "regression", "Unknown label type: y must hold numbers"),
        (WORDS, "multilabel", "Unknown label type: y must hold numbers"),
        (CODE, "ranking", "task must be one of 'auto', "),
        (CODE, None, "task must be one of 'auto', "),
    ],
)
def test_a_task_that_cannot_be(y, task, words):
    with pytest.raises(ValueError, match=rf"^{words}.*\.$"):
        encode(y, task)


# ------------------------------------------------------------------------------- weights
@pytest.mark.parametrize("sample", [None, np.linspace(0.5, 2, N)])
def test_class_weights(sample):
    targets, own = encode(WORDS), np.ones(N) if sample is None else sample
    for class_weight, each in (
        ({"bee": 3.0}, [1, 3, 1]),
        ({"ant": 2, "bee": 3, "cat": 0.5}, [2, 3, 0.5]),
    ):
        expected = np.array(each)[CODE] * own
        np.testing.assert_allclose(combine_weights(targets, sample, class_weight), expected)
    balanced = combine_weights(targets, sample, "balanced")
    np.testing.assert_allclose(np.bincount(CODE, balanced), own.sum() / 3)
    assert combine_weights(targets, sample, None) is sample
    assert combine_weights(targets, np.ones(N), None) is None


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
