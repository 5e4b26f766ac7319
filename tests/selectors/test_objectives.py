"""What linear selectors report is the objective of their coefficients, in the units of the data."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from rowsparse import RFS, LpInf, get_selector, rfs_path
from tests.selectors.cases import residuals, scaled_rows, three_classes

X, Y = three_classes()
ONE_HOT = np.eye(3)[Y]
WEIGHTS = np.linspace(0.5, 2.0, 60)


def squares(selector: Any) -> float:
    return float(np.sum(residuals(selector, X, Y) ** 2))


def least_squares(selector: Any) -> float:
    kept = X[:, selector.support_]
    return float(np.sum((ONE_HOT - LinearRegression().fit(kept, ONE_HOT).predict(kept)) ** 2))


def distances(selector: Any) -> float:
    return float(np.linalg.norm(residuals(selector, X, Y), axis=1).sum())


def norms(selector: Any) -> np.ndarray:
    return np.linalg.norm(scaled_rows(selector, X), axis=1)


def distances_and_norms(selector: Any) -> float:
    return distances(selector) + selector.gamma_ * float(norms(selector).sum())


def squares_and_norms(selector: Any) -> float:
    return 0.5 * squares(selector) + selector.gamma_ * float(norms(selector).sum())


def squares_and_count(selector: Any) -> float:
    return squares(selector) + 2 * selector.gamma * np.count_nonzero(norms(selector))


def squares_and_largest(selector: Any) -> float:
    largest = np.abs(scaled_rows(selector, X)).max(axis=1)
    np.testing.assert_array_equal(largest > 0, selector.support_)
    penalty = selector.gamma_ * np.sum(largest[selector.support_] ** selector.p)
    return 0.5 * squares(selector) + float(penalty)


def correntropy(selector: Any) -> float:
    width = 2 * selector.sigma_**2
    errors = np.sum(residuals(selector, X, Y) ** 2, axis=1)
    penalty = np.sqrt(norms(selector) ** 2 + 1e-7).sum()
    return float(-width * np.exp(-errors / width).sum() + 4 * selector.gamma * penalty)


def coded_squares(selector: Any, weights: Any = 1.0) -> float:
    """Each class counts by its size."""
    coded = ONE_HOT / np.sqrt((np.ones(60) * weights) @ ONE_HOT)
    errors = coded - X @ selector.coef_.T - selector.intercept_
    return float(np.sum(np.sum(errors**2, axis=1) * weights))


STARTS = {"n_restarts": 3, "random_state": 0}
OBJECTIVES: list[tuple[str, dict[str, Any], Callable[[Any], float]]] = [
    ("cdlsr", STARTS, squares),
    ("cdlsr", STARTS, least_squares),
    ("cdlsr", {"variant": "published", **STARTS}, squares),
    ("crfs", {"gamma": 0.3}, correntropy),
    ("crfs", {"gamma": 0.3, "sigma": 0.7, "fit_intercept": True}, correntropy),
    ("ipfs", {"rho": 1.2, **STARTS}, squares),
    ("ipfs", {"rho": 1.2, **STARTS}, least_squares),
    *(("lpinf", {"p": p}, squares_and_largest) for p in (0.0, 0.5, 1.0)),
    ("mtfs", {"gamma": 6.0}, squares_and_norms),
    ("nmapg", {"gamma": 0.5}, lambda s: distances(s) + 0.5 * norms(s).sum()),
    ("projectedgradient", {}, coded_squares),
    ("projectedgradient", {"init": "random", **STARTS}, squares),
    ("rfs", {}, distances_and_norms),
    ("rfs", {"gamma": 3.0}, distances_and_norms),
    ("rfs", {"gamma": 3.0, "solver": "irls"}, distances_and_norms),
    ("rpfs", {"rho": 1.2, "random_state": 0}, distances),
    ("rpfs", {"rho": 1.2, "random_state": 0, "variant": "published"}, distances),
    ("smoothedl20", {}, squares),
    ("smoothedl20", {"gamma": 0.01}, squares_and_count),
]


@pytest.mark.filterwarnings("ignore:.*non-zero rows")
@pytest.mark.parametrize(("name", "options", "objective"), OBJECTIVES)
def test_the_objective_is_that_of_the_coefficients(name, options, objective):
    selector = get_selector(name, 2, **options).fit(X, Y)
    assert selector.objective_ == pytest.approx(objective(selector))
    if hasattr(selector, "order_"):
        assert selector.order_[:2].tolist() == np.argsort(-selector.scores_)[:2].tolist()
    if hasattr(selector, "refitted_objective_") and objective in (squares, least_squares):
        assert selector.refitted_objective_ == pytest.approx(least_squares(selector))
        assert selector.refitted_objective_ <= squares(selector) * (1 + 1e-12)
    if "n_restarts" in options and options.get("variant") != "published":
        assert selector.objectives_.shape == (4,)
        assert selector.objective_ == pytest.approx(selector.objectives_.min())


def test_coded_classes_have_weights():
    selector = get_selector("projectedgradient", 2).fit(X, Y, WEIGHTS)
    assert selector.objective_ == pytest.approx(coded_squares(selector, WEIGHTS))


def test_the_path_is_rfs_at_every_penalty():
    path = rfs_path(X, Y, n_gammas=3, eps=0.1)
    assert path.gammas[-1] == pytest.approx(0.1 * path.gammas[0])
    assert path.n_features[0] == 0
    for i, gamma in enumerate(path.gammas[1:], start=1):
        one = RFS(2, gamma=gamma).fit(X, Y)
        assert path.objectives[i] == pytest.approx(one.objective_, rel=1e-5)
        np.testing.assert_allclose(path.coefs[i], one.coef_, atol=1e-3)
        assert path.gaps[i] <= 1e-6


def test_given_penalties_are_sorted_and_checked():
    assert rfs_path(X, Y, gammas=[1.0, 5.0]).gammas.tolist() == [5.0, 1.0]
    for bad in ([], [0.0], [1.0, np.nan], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="gammas must be positive, finite numbers"):
            rfs_path(X, Y, gammas=bad)


def test_steps_that_end_early_are_not_said_to_be_too_few():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="it ended short of tol, before max_iter=2000"):
        LpInf(4).fit(np.c_[X, X], y)
