"""Data and parameters at the ends of the range of floats: the same answer, or one sentence."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

from rowsparse import LpInf, NmAPG, TopK, rfs_path, topk_path
from rowsparse.selectors.base.ranges import Dimension
from tests.selectors.cases import all_selectors

SELECTORS = all_selectors(3, linear=True)
NAMES = sorted(SELECTORS)
# Parameters with a value of their own, which means something else at every scale.
PENALTIES = ("gamma", "ridge", "alpha")
SEARCHING = ("MTFS", "SmoothedL20")

SCALES = [1e155, 1e-155, 1e-160, 1e300, 1e-300, 1e60, 1e-60]


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8))
    return X, X[:, :3] @ rng.standard_normal((3, 2)) + 0.3 * rng.standard_normal((40, 2))


@cache
def ordinary(name: str, standardize: bool) -> Any:
    """The selector fitted to the data as they are."""
    return SELECTORS[name](standardize=standardize).fit(*data())


def outcome(name: str, X: Any, y: Any, **options: Any) -> Any:
    """The fitted selector, or the sentence that refused the data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            selector = SELECTORS[name](**options).fit(X, y)
        except ValueError as error:
            sentence = str(error)
            assert sentence.endswith(".")
            assert "\n" not in sentence
            assert any(word in sentence for word in ("X", "y", *PENALTIES))
            return None
    assert np.isfinite(selector.coef_).all()
    assert np.isfinite(selector.objective_)
    assert np.isfinite(selector.scores_).all()
    assert selector.support_.sum() == 3
    return selector


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_the_unit_of_x_changes_nothing_or_is_refused(name, scale, standardize):
    X, y = data()
    found = outcome(name, X * scale, y, standardize=standardize)
    plain = ordinary(name, standardize)
    given = any(getattr(plain, penalty, None) is not None for penalty in PENALTIES)
    if given and not standardize:
        return
    if found is None:
        assert name in ("NmAPG", "ProjectedGradient", "MTFS")  # a result of theirs overflows
        assert not standardize
        return
    assert found.support_.tolist() == plain.support_.tolist()
    assert found.objective_ == pytest.approx(plain.objective_, rel=1e-3)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("scale", [1e160, 1e-160, 1e300, 1e-300, 1e-310])
@pytest.mark.parametrize("name", NAMES)
def test_the_unit_of_y_changes_nothing_or_is_refused(name, scale, standardize):
    X, y = data()
    found = outcome(name, X, y * scale, standardize=standardize)
    plain = ordinary(name, standardize)
    squared = plain._objective_power() == 2
    assert (found is None) == (squared or scale == 1e-310)
    if found is not None:
        assert found.support_.tolist() == plain.support_.tolist()
        assert found.objective_ / scale == pytest.approx(plain.objective_, rel=1e-3)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        # Their search for a penalty over sixty decades takes seconds.
        pytest.param(name, shape, marks=[pytest.mark.long] * (name in SEARCHING and shape[0] > 20))
        for name in NAMES
        for shape in [(40, 8), (15, 30)]
    ],
)
def test_columns_of_very_different_magnitudes_are_handled_or_refused(name, shape, intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    y = (X[:, 0] > 0).astype(int)
    options: dict[str, Any] = {"standardize": False, "fit_intercept": intercept}
    if "max_iter" in SELECTORS[name]().get_params():
        options["max_iter"] = 20
    X = X * 10.0 ** rng.integers(-30, 31, size=shape[1])
    outcome(name, X, y, **options)
    del options["standardize"]
    assert outcome(name, X, y, **options) is not None


@pytest.mark.parametrize("alpha", [0.5, 1e308])
@pytest.mark.parametrize("scale", [*SCALES, 1.0])
def test_the_ridge_of_topk_is_that_of_the_users_data_or_refused(scale, alpha):
    X, y = data()
    found = outcome("TopK", X * scale, y, standardize=False, alpha=alpha)
    ridge = alpha / scale / scale  # on X itself
    if not ridge < 1e302:
        assert found is None
        return
    plain = TopK(3, alpha=ridge, standardize=False, random_state=0).fit(X, y)
    assert found.support_.tolist() == plain.support_.tolist()
    assert found.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    np.testing.assert_allclose(found.coef_ * scale, plain.coef_, rtol=1e-8)


def test_coefficients_beyond_the_range_of_floats_are_refused():
    X, y = data()
    with pytest.raises(ValueError, match=r"coefficients are beyond .*: multiply X or y"):
        TopK(2, loss="l21").fit(X * 1e-300, y * 1e300)
    with pytest.raises(ValueError, match=r"coefficients are beyond .*: multiply X or y"):
        TopK(2, loss="l21").fit(X * 1e300, y * 1e-300)


def test_units_that_cancel_leave_the_coefficients_as_they_are():
    X, y = data()
    plain = TopK(2, loss="l21", random_state=0).fit(X, y)
    for scale in (1e-300, 1e300):
        same = TopK(2, loss="l21", random_state=0).fit(X * scale, y * scale)
        np.testing.assert_allclose(same.coef_, plain.coef_, rtol=1e-6)


def test_a_denormal_x_is_called_small_and_not_constant():
    X, y = data()
    with pytest.raises(ValueError, match="X is too small to compute with"):
        TopK(2).fit(X * 1e-310, y)


@pytest.mark.parametrize("scale", [1e-70, 1e70])
def test_paths_are_those_of_ordinary_data(scale):
    X, y = data()
    plain, same = (topk_path(A, y, k_max=3, random_state=0) for A in (X, X * scale))
    np.testing.assert_allclose(same.objectives, plain.objectives)
    raw = {"standardize": False, "n_gammas": 3}
    plain, same = (rfs_path(A, y, **raw) for A in (X, X * scale))
    np.testing.assert_allclose(same.gammas / scale, plain.gammas, rtol=1e-6)
    np.testing.assert_allclose(same.objectives, plain.objectives, rtol=1e-5)
    given = rfs_path(X * scale, y, gammas=plain.gammas * scale, standardize=False)
    np.testing.assert_allclose(given.objectives, plain.objectives, rtol=1e-5)


def test_reported_parameters_are_in_the_units_of_the_data():
    X, y = data()
    plain, same = (NmAPG(3, gamma=g).fit(X, y * u) for g, u in ((0.1, 1.0), (0.1, 2.0**200)))
    assert same.mu_ / 2.0**200 == pytest.approx(plain.mu_, rel=1e-3)
    plain, same = (LpInf(3, p=1.0).fit(X, y * unit) for unit in (1.0, 2.0**200))
    np.testing.assert_allclose(same.dual_coef_ / 2.0**200, plain.dual_coef_, atol=1e-4)


def test_a_parameter_too_large_is_refused_with_what_to_do():
    assert Dimension(x=2).to_design("alpha", 1.0, 2.0**700, 1.0) > 0
    with pytest.raises(ValueError, match=r"^alpha=1 dwarfs X .*: rescale X or set standardize"):
        Dimension(x=2).to_design("alpha", 1.0, 2.0**-700, 1.0)
    with pytest.raises(ValueError, match=r"^lam=2 dwarfs y .*: rescale y\.$"):
        Dimension(y=2).to_design("lam", 2.0, 2.0**-300, 2.0**-600)
    with pytest.raises(ValueError, match=r"^alpha=1e\+305 is too large to compute with"):
        Dimension(x=2).to_design("alpha", 1e305, 1.0, 1.0)
