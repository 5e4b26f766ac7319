"""Problems of every loss of TopK, their least objectives by a peer, and what each loss owes."""

import warnings
from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import xlogy
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from rowsparse import TopK, topk_path
from rowsparse.certificate import verify

ALPHA = 0.3
GROUPS = [[0, 3], [1], [2, 4, 6], [5], [7]]


def standardised(X, w, settings):
    X = X.toarray() if sp.issparse(X) else X
    if settings.get("standardize", True) or settings.get("fit_intercept", True):
        X = X - np.average(X, axis=0, weights=w)
    if not settings.get("standardize", True):
        return X
    Z = X / np.sqrt(np.average(X**2, axis=0, weights=w))
    clip = settings.get("clip")
    return Z if clip is None else standardised(np.clip(Z, -clip, clip), w, {})


# ---------------------------------------------------------------------- numbers and classes
def mixed(rng, n, d):
    return rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))


def numbers(seed, n=40, d=8, c=1):
    rng = np.random.default_rng(seed)
    X = mixed(rng, n, d)
    Y = X[:, :3] @ rng.standard_normal((3, c)) + rng.standard_normal((n, c))
    return X, Y if c > 1 else Y[:, 0], rng.uniform(0.5, 2.0, n)


def least_squares(X, y, w, S, **settings):
    """The least objective on some columns, by scikit-learn."""
    Z, ridge = standardised(X, w, settings)[:, list(S)], ALPHA * w.sum()
    fit = Ridge(ridge, fit_intercept=settings.get("fit_intercept", True)).fit(Z, y, w)
    return w @ (y - fit.predict(Z)) ** 2 + ridge * np.sum(fit.coef_**2)


def classes(seed, n=40, d=8, c=3):
    rng = np.random.default_rng(seed)
    X = mixed(rng, n, d)
    values = X[:, :3] @ rng.standard_normal((3, c)) + rng.standard_normal((n, c))
    return X, values.argmax(axis=1), rng.uniform(0.5, 2.0, n)


def two_classes(seed, n=40, d=8):
    return classes(seed, n, d, c=2)


def least_logistic(X, y, w, S, **settings):
    """The least objective on some columns, class by class, by scikit-learn."""
    Z, ridge, total = standardised(X, w, settings)[:, list(S)], ALPHA * w.sum(), 0.0
    for label in np.unique(y)[1 if y.max() == 1 else 0 :]:
        fit = LogisticRegression(
            C=1 / ridge,
            tol=1e-12,
            solver="newton-cholesky",
            fit_intercept=settings.get("fit_intercept", True),
        ).fit(Z, y == label, w)
        P = fit.decision_function(Z)
        total += w @ np.logaddexp(0, np.where(y == label, -P, P))
        total += ridge / 2 * np.sum(fit.coef_**2)
    return total


# --------------------------------------------------------------------------------- counts
def counts(seed, n=40, d=8, c=1, size=1.0):
    rng = np.random.default_rng(seed)
    X = mixed(rng, n, d)
    Y = rng.poisson(size * np.exp(0.5 * X[:, :3] @ rng.standard_normal((3, c))))
    return X, Y if c > 1 else Y[:, 0], rng.uniform(0.5, 2.0, n)


def least_poisson(X, y, w, S, **settings):
    """The least objective on some columns, by scikit-learn."""
    Z, total = standardised(X, w, settings)[:, list(S)], 0.0
    for t in np.atleast_2d(y.T).astype(float):
        fit = PoissonRegressor(
            alpha=ALPHA,
            fit_intercept=settings.get("fit_intercept", True),
            tol=1e-10,
            max_iter=10_000,
            solver="newton-cholesky",
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            means = fit.fit(Z, t, sample_weight=w).predict(Z)
        total += w @ (means - t + xlogy(t, t) - xlogy(t, means))
        total += ALPHA * w.sum() / 2 * (fit.coef_ @ fit.coef_)
    return float(total)


# -------------------------------------------------------------------------------- survival
def survival(seed, n=40, d=8, c=1):
    """Times with ties, three quarters of them of events, as scikit-survival has them."""
    rng = np.random.default_rng(seed)
    X = mixed(rng, n, d)
    times = np.ceil(6.0 * rng.exponential(np.exp(-0.7 * X[:, :3] @ rng.standard_normal(3))))
    y = np.array(
        list(zip(rng.random(n) < 0.75, times, strict=True)), [("died", bool), ("months", float)]
    )
    y["died"][0] = True
    return X, y, rng.uniform(0.5, 2.0, n)


def cox_objective(V, Z, y, w):
    """Half the deviance and half the ridge, with the gradient and the Hessian, by definition."""
    events, times = y["died"].astype(float), y["months"]
    at = np.unique(times[y["died"]])
    R, D = times >= at[:, None], (times == at[:, None]) @ (w * events)
    p, ridge = Z @ V, ALPHA * w.sum()
    sizes = R * w * np.exp(p - p.max())
    totals = sizes.sum(axis=1)
    shares = sizes / totals[:, None]
    value = D @ np.log(totals / D) - (w * events) @ (p - p.max()) + ridge / 2 * (V @ V)
    gradient = Z.T @ (D @ shares - w * events) + ridge * V
    means = shares @ Z
    H = (Z.T * (D @ shares)) @ Z - (means.T * D) @ means + ridge * np.eye(V.size)
    return value, gradient, H


def least_cox(X, y, w, S, **settings):
    """The least objective on some columns, by SciPy."""
    Z = standardised(X, w, settings)[:, list(S)]
    return minimize(
        lambda V: cox_objective(V, Z, y, w)[:2],
        np.zeros(len(S)),
        jac=True,
        hess=lambda V: cox_objective(V, Z, y, w)[2],
        method="trust-exact",
        options={"gtol": 1e-9},
    ).fun


# ----------------------------------------------------------------------------- every loss
class Case(NamedTuple):
    """A loss, its data of a seed, its least objective on columns, and the checkers that know it."""

    loss: str
    data: Callable[..., Any]
    least: Callable[..., float]
    checkers: tuple[bool, ...] = (False, True)
    rel: float = 1e-8

    def topk(self, k, **settings):
        given = {"loss": self.loss, "alpha": ALPHA, "random_state": 0, "n_restarts": 2}
        return TopK(k, **given | settings)

    def bounds(self, X, y, w, selector):
        """What the checkers prove, floating and exact."""
        return [verify(X, y, selector.proof_, w, exact=exact) for exact in self.checkers]


LOSSES = {
    "squared": Case("squared", numbers, least_squares),
    "logistic": Case("logistic", two_classes, least_logistic),
    "logistic, three classes": Case("logistic", classes, least_logistic),
    "poisson": Case("poisson", counts, least_poisson),
    "cox": Case("cox", survival, least_cox),
}


def check_the_proven_choice_is_the_best_of_all(case, settings, **data):
    X, y, w = case.data(1, **data)
    settings = dict(settings)
    if settings.pop("sparse", False):
        X = sp.csr_array(np.where(X > 0.5, X, 0.0))
    within = {*settings.get("include", [])}, {*settings.get("exclude", [])}
    values = {
        S: case.least(X, y, w, S, **settings)
        for S in combinations(range(8), 3)
        if within[0] <= {*S} and not within[1] & {*S}
    }
    best = min(values, key=values.__getitem__)
    plain = case.topk(3, **settings).fit(X, y, w)
    assert (plain.status_, plain.lower_bound_, plain.gap_) == ("heuristic", 0.0, 1.0)
    proven = case.topk(3, certify=True, **settings).fit(X, y, w)
    for selector in (plain, proven):
        assert tuple(selector.get_support(indices=True)) == best
        assert selector.objective_ == pytest.approx(values[best], rel=case.rel)
        assert selector.history_[-1] == selector.objective_
    # A selected column is worth what the others lose without it.
    without = [case.least(X, y, w, [i for i in best if i != j], **settings) for j in best]
    worth = np.array(without) - values[best]
    np.testing.assert_allclose(plain.scores_[list(best)], worth, rtol=1e-4, atol=1e-6)
    assert proven.status_ == "optimal"
    assert proven.root_bound_ <= proven.lower_bound_
    assert 0 <= proven.gap_ <= 1e-6
    for checked in case.bounds(X, y, w, proven):
        assert proven.lower_bound_ * (1 - 1e-9) <= checked.bound <= values[best] * (1 + 1e-9)
        assert checked.objective == pytest.approx(values[best], rel=case.rel)


def check_groups_are_chosen_and_proven(case):
    X, y, w = case.data(3)
    selector = case.topk(2, certify=True, feature_groups=GROUPS).fit(X, y, w)
    pairs = combinations(range(5), 2)
    best = min(case.least(X, y, w, [*GROUPS[a], *GROUPS[b]]) for a, b in pairs)
    assert selector.status_ == "optimal"
    assert selector.objective_ == pytest.approx(best, rel=case.rel)
    for checked in case.bounds(X, y, w, selector):
        assert selector.lower_bound_ * (1 - 1e-9) <= checked.bound <= best * (1 + 1e-9)


def check_a_path_has_the_best_choice_of_every_size(case, **options):
    X, y, w = case.data(4)
    options |= {"loss": case.loss, "alpha": ALPHA, "n_restarts": 5, "random_state": 0}
    path = topk_path(X, y, 4, sample_weight=w, **options)
    for k, support, objective in zip(path.ks, path.supports, path.objectives, strict=True):
        values = [case.least(X, y, w, S) for S in combinations(range(8), int(k))]
        assert objective == pytest.approx(min(values), rel=case.rel)
        assert case.least(X, y, w, support) == pytest.approx(objective, rel=case.rel)


def check_bounds_are_below_every_choice(case, seed):
    rng = np.random.default_rng(seed)
    X, y, w = case.data(seed, n=int(rng.integers(8, 25)), d=6)
    k = int(rng.integers(1, 5))
    selector = case.topk(k, certify=True, n_restarts=0, gap_tol=1e-9).fit(X, y, w)
    best = min(case.least(X, y, w, S) for S in combinations(range(6), k))
    assert selector.lower_bound_ <= best * (1 + 1e-9)
    assert verify(X, y, selector.proof_, w).bound <= best * (1 + 1e-9)
    assert selector.gap_ <= 1e-6
