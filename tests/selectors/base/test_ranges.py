"""Data and parameters at the ends of the range of floats: the same answer, or one sentence."""

import warnings
from typing import Any

import numpy as np
import pytest

from rowsparse import RPFS, TopK, rfs_path, topk_path
from rowsparse.selectors.base.linear_problem import Dimension
from tests.selectors.cases import all_selectors

SELECTORS = all_selectors(3, linear=True)
NAMES = sorted(SELECTORS)
# Parameters with a value of their own, which means something else at every scale.
PENALTIES = ("gamma", "ridge", "alpha")
SEARCHING = ("MTFS", "SmoothedL20")

SCALES = [1e155, 1e-155, 1e-160, 1e300, 1e-300, 1e60, 1e-60]
IN_SINGLE_PRECISION = [1e30, 1e-30]


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8))
    return X, X[:, :3] @ rng.standard_normal((3, 2)) + 0.3 * rng.standard_normal((40, 2))


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
@pytest.mark.parametrize("name", NAMES)
def test_the_unit_of_x_changes_nothing_or_is_refused(name, standardize):
    X, y = data()
    plain = SELECTORS[name](standardize=standardize).fit(X, y)
    given = any(getattr(plain, penalty, None) is not None for penalty in PENALTIES)
    for scale in (*SCALES, *IN_SINGLE_PRECISION):
        held = (X * scale).astype("f4" if scale in IN_SINGLE_PRECISION else "f8")
        found = outcome(name, held, y, standardize=standardize)
        if given and not standardize:
            continue
        if found is None:
            assert name in ("NmAPG", "ProjectedGradient", "MTFS")  # a result of theirs overflows
            assert not standardize
            continue
        assert found.support_.tolist() == plain.support_.tolist(), scale
        assert found.objective_ == pytest.approx(plain.objective_, rel=1e-3), scale
        largest = np.abs(plain.coef_).max()
        np.testing.assert_allclose(found.coef_ * scale, plain.coef_, atol=1e-2 * largest)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_unit_of_y_changes_nothing_or_is_refused(name, standardize):
    X, y = data()
    plain = SELECTORS[name](standardize=standardize).fit(X, y)
    squared = plain._settings().objective_power == 2
    for scale in (1e160, 1e-160, 1e300, 1e-300, 1e-310):
        found = outcome(name, X, y * scale, standardize=standardize)
        assert (found is None) == (squared or scale == 1e-310), scale
        if found is not None:
            assert found.support_.tolist() == plain.support_.tolist(), scale
            assert found.objective_ / scale == pytest.approx(plain.objective_, rel=1e-3), scale


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        # Their search for a penalty over sixty decades takes seconds.
        pytest.param(name, shape, marks=[pytest.mark.long] * (name in SEARCHING and shape[0] > 20))
        for name in NAMES
        for shape in [(40, 8), (15, 30)]
    ],
)
def test_columns_of_very_different_magnitudes_are_handled_or_refused(name, shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    y = (X[:, 0] > 0).astype(int)
    X = X * 10.0 ** rng.integers(-30, 31, size=shape[1])
    options = {"max_iter": 20} if "max_iter" in SELECTORS[name]().get_params() else {}
    for intercept in (False, True):
        outcome(name, X, y, standardize=False, fit_intercept=intercept, **options)
        assert outcome(name, X, y, fit_intercept=intercept, **options) is not None


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


def test_a_parameter_too_large_is_refused_with_what_to_do():
    assert Dimension(x=2).to_design("alpha", 1.0, 2.0**700, 1.0) > 0
    with pytest.raises(ValueError, match=r"^alpha=1 dwarfs X .*: rescale X or set standardize"):
        Dimension(x=2).to_design("alpha", 1.0, 2.0**-700, 1.0)
    with pytest.raises(ValueError, match=r"^lam=2 dwarfs y .*: rescale y\.$"):
        Dimension(y=2).to_design("lam", 2.0, 2.0**-300, 2.0**-600)
    with pytest.raises(ValueError, match=r"^alpha=1e\+305 is too large to compute with"):
        Dimension(x=2).to_design("alpha", 1e305, 1.0, 1.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_start_may_end_on_a_column_that_is_constant():
    # The one column that varies is orthogonal to y, so the random row of a constant one is largest.
    X = np.zeros((8, 6))
    X[:, 0] = np.repeat([1.0, -1.0, 2.0, -2.0], 2)
    selector = RPFS(1, variant="published", random_state=0, max_iter=50).fit(X, [0, 1] * 4)
    assert not selector.coef_.any()
    assert selector.objective_ == pytest.approx(8 * np.sqrt(0.5))  # that of no feature
