"""Bad input: one sentence that names what is wrong, and nothing half-fitted."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse import StabilitySelection, TopK, selector_info
from rowsparse._validation import check_number, resolve_count

from .selectors.cases import all_selectors

N, D = 24, 5
RNG = np.random.default_rng(0)
Y = np.arange(N) % 3
X = RNG.standard_normal((N, D)) + np.eye(3, D)[Y]

SELECTORS = all_selectors(2)
NAMES = list(SELECTORS)
SUPERVISED = [name for name in NAMES if selector_info(name).supervised]
SELECTIVE = [name for name in NAMES if name != "AllFeatures"]


def takes(name: str, argument: str) -> bool:
    """Whether a selector's fit, or the selector itself, has such an argument."""
    cls = selector_info(name).cls
    return argument in signature(cls.fit).parameters or argument in signature(cls).parameters


WEIGHTED = [name for name in NAMES if takes(name, "sample_weight")]
# One selector of each base class; the base classes read the data.
ONE_OF_EACH = ("TopK", "MTFS", "FisherScore", "FSPCA", "ConcreteAutoencoder")


def checked(names: Iterable[str], cases: Iterable[Any], few: list[Any]) -> list[tuple[str, Any]]:
    """All cases for one selector of each base class, a few for the others."""
    return [(n, c) for n in names for c in (cases if n in ONE_OF_EACH else few)]


def with_entry(value: Any, column: int = 3, dtype: Any = np.float64) -> np.ndarray:
    bad = X.astype(dtype)
    bad[4, column] = value
    return bad


def pandas_frame(values: Any) -> Any:
    return pytest.importorskip("pandas").DataFrame(values, columns=list("abcde"))


def polars_frame(values: Any) -> Any:
    return pytest.importorskip("polars").DataFrame(values, schema=list("abcde"))


def mixed_frame(package: str, value: Any) -> Any:
    values: dict[str, Any] = {name: X[:, j].tolist() for j, name in enumerate("abcde")}
    values["d"] = [value] * N
    return pytest.importorskip(package).DataFrame(values)


def assert_refused(
    selector: Any, words: str, X: Any = X, y: Any = Y, sample_weight: Any = None
) -> None:
    """One sentence with the words in it; an unfitted selector stays so."""
    before = dict(vars(selector))
    options = {} if sample_weight is None else {"sample_weight": sample_weight}
    with pytest.raises((ValueError, TypeError), match=words) as e:
        selector.fit(X, y, **options)
    message = str(e.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert vars(selector) == before


# Words of the message, and X.
BAD_X: dict[str, tuple[str, Callable[[], Any]]] = {
    "nan": (r"^X contains NaN in column 3", lambda: with_entry(np.nan)),
    "nan float32": (r"^X contains NaN in column 3", lambda: with_entry(np.nan, 3, np.float32)),
    "inf": (r"^X contains infinity \(inf\) in column 0", lambda: with_entry(np.inf, 0)),
    "-inf": (r"^X contains infinity \(inf\) in column 3", lambda: with_entry(-np.inf)),
    "None": (r"^X contains NaN in column 3", lambda: with_entry(None, 3, object)),
    "nan csr": (r"^X contains NaN in column 3", lambda: sp.csr_array(with_entry(np.nan))),
    "inf csc": (r"^X contains inf.* in column 3", lambda: sp.csc_matrix(with_entry(np.inf))),
    "nan pandas": (r"^X contains NaN in column 'd'", lambda: pandas_frame(with_entry(np.nan))),
    "inf pandas": (r"^X contains inf.* in column 'd'", lambda: pandas_frame(with_entry(np.inf))),
    "nan polars": (r"^X contains NaN in column 'd'", lambda: polars_frame(with_entry(np.nan))),
    "null polars": (r"^X contains NaN in column 'a'", lambda: mixed_null("polars")),
    "null pandas": (r"^X contains NaN in column 'a'", lambda: mixed_null("pandas")),
    "constant": (r"^Every column of X is constant", lambda: np.full((N, D), 0.1)),
    "constant sparse": (r"^Every column of X is constant", lambda: sp.csr_array((N, D))),
    "text": (r"^X: column 3 is not numeric, it holds 'red'", lambda: with_entry("red", 3, object)),
    "all text": (r"^X: column 0 is not numeric, it holds 'x'", lambda: np.full((N, D), "x")),
    "text pandas": (r"^X: column 'd' is not numeric.*'red'", lambda: mixed_frame("pandas", "red")),
    "text polars": (r"^X: column 'd' is not numeric.*'red'", lambda: mixed_frame("polars", "red")),
    "object": (r"^X: column 3 is not numeric", lambda: with_entry({}, 3, object)),
    "dates": (r"X: column 0 must hold real", lambda: np.full((N, D), np.datetime64("2020-01-01"))),
    "dates pandas": (r"X: column 'd' must hold real", lambda: dates("pandas")),
    "dates polars": (r"X: column 'd' must hold real", lambda: dates("polars")),
    "masked": (r"^X has masked entries: impute", lambda: np.ma.array(X, mask=X > 1.0)),
    "twice a name": (
        r"^X has more than one column 'a'",
        lambda: pandas_frame(X).rename(columns={"b": "a"}),
    ),
    "lazy": (r"^X is a LazyFrame: pass X.collect", lambda: polars_frame(X).lazy()),
    "complex": (r"^Complex data not supported in X: column 0", lambda: X + 1j),
    "complex pandas": (r"^Complex data not .* X: column 'a'", lambda: pandas_frame(X + 1j)),
    "complex sparse": (r"^X: Complex data not supported", lambda: sp.csr_array(X + 1j)),
    "lists of text": (r"^X: could not convert string", lambda: [["red", 1.0]] * N),
    "ragged": (r"^X: ", lambda: [[1.0, 2.0], [3.0]] * (N // 2)),
    "scalar": (r"^X: Expected 2D array, got scalar", lambda: 3.0),
    "None at all": (r"^X: ", lambda: None),
    "1-D": (r"^X: Expected 2D array, got 1D", lambda: X[:, 0]),
    "3-D": (r"^X: Found array with dim 3", lambda: X[:, :, None]),
    "no rows": (r"^X: Found array with 0 sample", lambda: X[:0]),
    "no columns": (r"^X: Found array with 0 feature", lambda: X[:, :0]),
    "one row": (r"^X: Found array with 1 sample", lambda: X[:1]),
}


def mixed_null(package: str) -> Any:
    values = {"a": [None, *X[1:, 0].tolist()], "b": X[:, 1].tolist()}
    return pytest.importorskip(package).DataFrame(values)


def dates(package: str) -> Any:
    from datetime import datetime

    return mixed_frame(package, datetime(2020, 1, 1))


@pytest.mark.parametrize(
    ("name", "case"), checked(NAMES, BAD_X, ["nan", "constant", "text pandas"])
)
def test_bad_data(name, case):
    if name == "AllFeatures" and "constant" in case:
        pytest.skip("it keeps constant columns too")
    words, make = BAD_X[case]
    assert_refused(SELECTORS[name](), words, make())


BAD_Y: dict[str, tuple[str, Any]] = {
    "nan": (r"^y contains NaN", np.where(Y == 0, np.nan, Y)),
    "inf": (r"^y contains NaN or infinity", np.where(Y == 0, np.inf, Y)),
    "None inside": (r"^y contains missing", np.array([None, *"ab" * 11, "a"], dtype=object)),
    "one class": (r"^y has only one class, 0:", np.zeros(N, dtype=int)),
    "one class of text": (r"^y has only one class, 'a':", ["a"] * N),
    "short": (r"^y has 23 samples but X has 24", Y[:-1]),
    "long": (r"^y has 48 samples but X has 24", np.tile(Y, 2)),
    "None": (r"requires y to be passed, but the target y is None", None),
    "3-D": (r"^y must have one dimension, or two", Y[:, None, None]),
    "scalar": (r"^y must have one dimension, or two", 1),
    "no columns": (r"^y must have one dimension, or two", np.zeros((N, 0))),
    "complex": (r"y must hold labels or real numbers", Y + 1j),
    "mixed": (r"^Unknown label type: y must hold", np.array(["a", 1] * 12, dtype=object)),
    "ragged": (r"^y: ", [[1], [1, 2]] * 12),
}


@pytest.mark.parametrize(("name", "case"), checked(NAMES, BAD_Y, ["nan", "short", "None"]))
def test_bad_targets(name, case):
    if case == "None" and name not in SUPERVISED:
        pytest.skip("it needs no targets")
    words, y = BAD_Y[case]
    assert_refused(SELECTORS[name](), words, y=y)


BAD_WEIGHTS: dict[str, tuple[str, Any]] = {
    "negative": (r"^sample_weight must not be negative", np.linspace(-0.1, 1, N)),
    "all zero": (r"^sample_weight is zero for every sample", np.zeros(N)),
    "short": (r"^sample_weight has 23 entries but X has 24", np.ones(N - 1)),
    "2-D": (r"^sample_weight must have one dimension", np.ones((N, 2))),
    "nan": (r"^sample_weight contains NaN", np.where(Y == 0, np.nan, 1.0)),
    "inf": (r"^sample_weight contains NaN or infinity", np.where(Y == 0, np.inf, 1.0)),
    "text": (r"^sample_weight must hold numbers", ["a"] * N),
    "objects": (r"^sample_weight: ", np.array([{}] * N, dtype=object)),
    "complex": (r"^sample_weight must hold numbers", np.ones(N) * 1j),
    "too large": (r"^sample_weight sums to inf", np.full(N, 1e308)),
    "too small": (r"^sample_weight sums to 2.4e-309", np.full(N, 1e-310)),
    "one class left": (r"^y has only one class, 1:", (Y == 1) * 1.0),
}


@pytest.mark.parametrize(("name", "case"), checked(WEIGHTED, BAD_WEIGHTS, ["negative", "short"]))
def test_bad_sample_weights(name, case):
    words, weights = BAD_WEIGHTS[case]
    assert_refused(SELECTORS[name](), words, sample_weight=weights)


BAD_COUNTS = [0, -1, 2.5, "3", True, None, np.nan, 1.5, 0.0, -0.5, [2], np.inf]


@pytest.mark.parametrize(("name", "k"), checked(SELECTIVE, BAD_COUNTS, [0, 2.5]))
def test_bad_number_of_features(name, k):
    assert_refused(SELECTORS[name](k=k), r"^n_features_to_select must be an integer of at least 1")


BAD_PARAMETERS = [
    ("variant", "best"),
    ("variant", None),
    ("solver", "newton"),
    ("solver", 1),
    ("init", "warm"),
    ("task", "ranking"),
    ("task", None),
    ("class_weight", "weighted"),
    ("class_weight", 3),
    ("class_weight", {7: 1.0}),
    *(
        (name, v)
        for name in ("gamma", "penalty", "mu")
        for v in (0, -1.0, np.nan, np.inf, "a", True)
    ),
    *(("tol", v) for v in (0, -1e-3, np.nan, np.inf, "a", None, 10**400)),
    *(("max_iter", v) for v in (0, -1, 1.5, "a", True)),
    *(("n_restarts", v) for v in (-1, 2.5, "two")),
    *(("p", v) for v in (-0.5, 1.5, "a")),
    *(("alpha", v) for v in (-0.5, np.nan, "a", None)),
    *(("time_limit", v) for v in (0, -1.0, "a")),
    *(("n_restarts", v) for v in (-1, 2.5)),
    ("loss", "absolute"),
    ("n_jobs", 0),
]


# What some selectors take although most do not.
FINE = [("CRFS", "tol", None)]


def accepted(name: str, parameter: str, value: Any) -> bool:
    if (name, parameter) == ("TopK", "gamma") and isinstance(value, int) and value == 0:
        return False  # its default: no such term
    if (name, parameter, value) in FINE:
        return False
    return parameter in signature(selector_info(name).cls).parameters


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [(n, p, v) for n in NAMES for p, v in BAD_PARAMETERS if accepted(n, p, v)],
)
def test_bad_parameters(name, parameter, value):
    assert_refused(SELECTORS[name](**{parameter: value}), rf"^{parameter}\b")


@pytest.mark.parametrize("name", [name for name in NAMES if takes(name, "class_weight")])
def test_class_weights_need_classes(name):
    if "regression" not in selector_info(name).tasks:
        pytest.skip("it takes no numbers at all")
    selector = SELECTORS[name](class_weight="balanced")
    assert_refused(selector, r"^class_weight is for classification", y=X[:, 0])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_a_fitted_selector_stays_exactly_as_it_was(name):
    frame = pandas_frame(X)
    selector = SELECTORS[name]().fit(frame, Y)
    state = copy.deepcopy(vars(selector))
    failures = [
        (with_entry(np.nan)[:, :4], Y, None),
        (X[:, :4], np.zeros(N), None),
        (X[:, :3], Y[:-1], None),
    ]
    if name in WEIGHTED:
        failures.append((pandas_frame(X)[["a", "b"]], Y, -np.ones(N)))
    if name in SELECTIVE:
        failures.append((np.ones((N, 7)), Y, None))
    for X_bad, y, weights in failures:
        with pytest.raises(ValueError, match=r"."):
            selector.fit(X_bad, y, **({} if weights is None else {"sample_weight": weights}))
    if name not in SELECTIVE:
        return
    with pytest.raises(ValueError, match=r"^n_features_to_select"):
        selector.set_params(n_features_to_select=0).fit(X[:, :3], Y)
    selector.set_params(n_features_to_select=2)
    assert list(vars(selector)) == list(state)
    for attribute, value in state.items():
        np.testing.assert_equal(vars(selector)[attribute], value)
    assert selector.get_feature_names_out().tolist() == frame.columns[selector.support_].tolist()


def test_numbers_may_be_of_any_real_kind():
    for value in (1, 2.5, np.float32(0.5), np.int8(3), Fraction(1, 3)):
        check_number("tol", value, low=0.0, low_open=True)
    check_number("tol", None, optional=True)
    with pytest.raises(ValueError, match=r"^tol must be a number .* and at most 2; got 3\.$"):
        check_number("tol", 3, low=1, high=2)


@pytest.mark.parametrize(
    ("value", "d", "count"),
    [(3, 10, 3), (30, 10, 30), (0.5, 10, 5), (0.01, 10, 1), (0.99, 10, 9), (np.int64(4), 9, 4)],
)
def test_counts_and_fractions(value, d, count):
    assert resolve_count(value, d) == count


def test_masked_entries_are_refused_before_rows_are_taken():
    with pytest.raises(ValueError, match=r"^X has masked entries: impute"):
        StabilitySelection(TopK(2), n_subsamples=3).fit(np.ma.array(X, mask=X > 1.0), Y)
