"""Bad input: one sentence that names what is wrong, and nothing half-fitted."""

import copy
import re
import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from rowsparse import RFS, FStatistic, TopK, topk_path
from rowsparse._validation import warn_user
from rowsparse.selectors.base.source import validated_data
from rowsparse.selectors.registry import selector_info

from .selectors.cases import all_selectors, one_of_each

N, D = 24, 5
RNG = np.random.default_rng(0)
Y = np.arange(N) % 3
X = RNG.standard_normal((N, D)) + np.eye(3, D)[Y]

SELECTORS = all_selectors(2)
# What the base classes refuse.
ONE_OF_EACH = one_of_each(2)


def takes(name: str, argument: str) -> bool:
    """Whether a selector's fit, or the selector itself, has such an argument."""
    cls = selector_info(name).cls
    return argument in signature(cls.fit).parameters or argument in signature(cls).parameters


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
    message = "nothing is refused"
    try:
        selector.fit(X, y, **options)
    except (ValueError, TypeError) as error:
        message = str(error)
    assert re.search(words, message), selector
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


@pytest.mark.parametrize("case", BAD_X)
def test_bad_data(case):
    words, make = BAD_X[case]
    for name in ONE_OF_EACH:
        assert_refused(SELECTORS[name](), words, make())


BAD_Y: dict[str, tuple[str, Any]] = {
    "nan": (r"^y contains NaN", np.where(Y == 0, np.nan, Y)),
    "one class": (r"^y has only one class, 0:", np.zeros(N, dtype=int)),
    "short": (r"^y has 23 samples but X has 24", Y[:-1]),
    "None": (r"requires y to be passed, but the target y is None", None),
}


@pytest.mark.parametrize("case", BAD_Y)
def test_bad_targets(case):
    words, y = BAD_Y[case]
    for name in ONE_OF_EACH:
        if case != "None" or selector_info(name).supervised:
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
    "masked": (r"^sample_weight has masked entries", np.ma.array(np.ones(N), mask=Y == 1)),
    "one class left": (r"^y has only one class, 1:", (Y == 1) * 1.0),
}


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_sample_weights(case):
    words, weights = BAD_WEIGHTS[case]
    for name in ONE_OF_EACH:
        if takes(name, "sample_weight"):
            assert_refused(SELECTORS[name](), words, sample_weight=weights)


def test_bad_numbers_of_features():
    for name in ONE_OF_EACH:
        for k in (0, -1, 2.5, "3", True, None, np.nan, 1.5, 0.0, -0.5, [2], np.inf):
            assert_refused(SELECTORS[name](k=k), "^n_features_to_select must be an integer of at l")


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_refuses_bad_input(name):
    make = SELECTORS[name]
    keeps_all = name == "AllFeatures"
    for case in ("nan", "text pandas", *["constant"] * (not keeps_all)):
        words, make_X = BAD_X[case]
        assert_refused(make(), words, make_X())
    for case in ("nan", "short", "None"):
        if case != "None" or selector_info(name).supervised:
            assert_refused(make(), BAD_Y[case][0], y=BAD_Y[case][1])
    if takes(name, "sample_weight"):
        for case in ("negative", "short"):
            assert_refused(make(), BAD_WEIGHTS[case][0], sample_weight=BAD_WEIGHTS[case][1])
    if not keeps_all:
        assert_refused(make(k=0), "^n_features_to_select must be")
    if takes(name, "class_weight") and "regression" in selector_info(name).tasks:
        weighted = make(class_weight="balanced")
        assert_refused(weighted, "^class_weight is for classification", y=X[:, 0])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_fitted_selector_stays_exactly_as_it_was(name):
    frame = pandas_frame(X)
    selector = SELECTORS[name]().fit(frame, Y)
    state = copy.deepcopy(vars(selector))
    failures = [
        (with_entry(np.nan)[:, :4], Y, None),
        (X[:, :4], np.zeros(N), None),
        (X[:, :3], Y[:-1], None),
    ]
    if takes(name, "sample_weight"):
        failures.append((pandas_frame(X)[["a", "b"]], Y, -np.ones(N)))
    failures.append((np.ones((N, 7)), Y, None))
    for X_bad, y, weights in failures:
        with pytest.raises(ValueError, match=r"."):
            selector.fit(X_bad, y, **({} if weights is None else {"sample_weight": weights}))
    with pytest.raises(ValueError, match=r"^n_features_to_select"):
        selector.set_params(n_features_to_select=0).fit(X[:, :3], Y)
    selector.set_params(n_features_to_select=2)
    assert list(vars(selector)) == list(state)
    for attribute, value in state.items():
        np.testing.assert_equal(vars(selector)[attribute], value)
    assert selector.get_feature_names_out().tolist() == frame.columns[selector.support_].tolist()


def test_data_are_validated_without_a_copy():
    for data in (X, X.astype(np.float32), sp.csc_array(X)):
        assert validated_data(TopK(2), data) is data
    assert validated_data(TopK(2), sp.coo_array(X)).format == "csr"


# ------------------------------------------------- warnings name the line of the user's code
CALLS = {
    "a linear model": lambda: TopK(9).fit(X, Y),
    "a score": lambda: FStatistic(9).fit(X, Y),
    "scikit-learn between": lambda: make_pipeline(TopK(9)).fit_transform(X, Y),
    "a function": lambda: topk_path(X, Y, 9),
    "directly": lambda: warn_user("here"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_points_here(name):
    with pytest.warns(UserWarning, match=r"9 is greater|^here$") as caught:
        CALLS[name]()
    assert [w.filename for w in caught] == [__file__]


def test_the_category_is_kept():
    with pytest.warns(ConvergenceWarning, match="RFS did not converge in .* raise max_iter"):
        RFS(2, solver="irls", max_iter=1).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        TopK(9).fit(X, Y)
