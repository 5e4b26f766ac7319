"""The greedy choice of mRMR against scikit-learn and brute force."""

from __future__ import annotations

import tracemalloc
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import f_classif, f_regression
from sklearn.metrics import mutual_info_score

from rowsparse.design import make_design
from rowsparse.solvers.filters import mrmr as module
from rowsparse.solvers.filters.discretize import discretize
from rowsparse.solvers.filters.mrmr import correlations, greedy_mrmr, variance_ratios

Array = np.ndarray
D = 12
STATES = {"bins": 10, "bin_width": 0.5}
mrmr = partial(module.mrmr, discretization="mean_std", **STATES, pool=None, aggregate="mean")


def bits(a: Array, b: Array) -> float:
    return mutual_info_score(a, b) / np.log(2)


def redundancies(codes: Array) -> Array:
    """The information that every two columns share."""
    R = np.empty((D, D))
    for f, s in combinations_with_replacement(range(D), 2):
        R[f, s] = R[s, f] = bits(codes[:, f], codes[:, s])
    return R


def planted(seed: int = 0, n: int = 90, d: int = D) -> tuple[Array, Array]:
    """Three classes in columns 0 to 4; column 5 repeats column 0."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d))
    X[:, :5] += 1.5 * rng.standard_normal((3, 5))[y]
    X[:, 5] = X[:, 0] + 0.01 * rng.standard_normal(n)
    return X, y


def brute_force(V: Array, R: Array, k: int, criterion: str) -> tuple[list[int], list[float]]:
    """Every criterion computed anew for every feature in every step."""
    chosen, scores = [int(np.argmax(V))], [float(V.max())]
    while len(chosen) < k:
        values = {}
        for f in set(range(V.size)) - set(chosen):
            r = np.mean([R[f, s] for s in chosen])
            values[f] = {
                "mid": V[f] - r,
                "miq": V[f] / (r + 0.01),
                "fcd": V[f] - r,
                "fcq": V[f] / np.mean([max(R[f, s], 1e-3) for s in chosen]),
            }[criterion]
        best = max(values, key=lambda f: (values[f], -f))
        chosen.append(best)
        scores.append(values[best])
    return chosen, scores


# -------------------------------------------------------------------- F and correlations
def test_variance_ratios_are_those_of_scikit_learn():
    X, y = planted()
    ratios, order = variance_ratios(X, np.eye(3)[y], "classification")
    np.testing.assert_allclose(ratios[0], f_classif(X, y)[0], rtol=1e-10)
    np.testing.assert_array_equal(order, np.argsort(-ratios[0]))
    Y = np.random.default_rng(0).integers(0, 2, (90, 3)).astype(float)
    labels, _ = variance_ratios(X, Y, "multilabel")
    np.testing.assert_allclose(labels, [f_classif(X, label)[0] for label in Y.T], atol=1e-12)
    numbers, _ = variance_ratios(X, X[:, :2] + 1.0, "regression")
    assert np.isinf(numbers[[0, 1], [0, 1]]).all()
    np.testing.assert_allclose(numbers[0, 1:], f_regression(X[:, 1:], X[:, 0])[0], rtol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_correlations_are_those_of_numpy(kind):
    X, _ = planted()
    X = np.where(np.abs(X) < 0.4, 0.0, X)
    X[:, 7] = 3.0
    found = correlations(make_design(kind(X), center=True, scale=True)[0])
    others = np.arange(D) != 7
    expected = np.abs(np.corrcoef(X[:, others].T))
    np.testing.assert_allclose(found(3)[others], expected[3], atol=1e-12)
    assert found(3)[7] == 0.0
    np.testing.assert_array_equal(found(7), 0.0)
    assert found(3)[3] <= 1.0


# ------------------------------------------------------------------------------- greedy
@pytest.mark.parametrize("discretization", ["mean_std", "mdl", "equal_width"])
def test_information_criteria_choose_as_brute_force(discretization):
    X, y = planted()
    codes = discretize(X, discretization, labels=y, **STATES)
    V = np.array([bits(f, y) for f in codes.T])
    R = redundancies(codes)
    for criterion in ("mid", "miq"):
        found = mrmr(
            X, np.eye(3)[y], "classification", 8, criterion=criterion, discretization=discretization
        )
        chosen, scores = brute_force(np.round(V, 12), np.round(R, 12), 8, criterion)
        np.testing.assert_array_equal(found.order[:8], chosen)
        np.testing.assert_allclose(found.scores, scores, atol=1e-9)
        np.testing.assert_array_equal(found.places[chosen], np.arange(8, 0, -1))


@pytest.mark.parametrize("criterion", ["fcd", "fcq"])
def test_correlation_criteria_choose_as_brute_force(criterion):
    X, y = planted(3)
    for task, Y, V in (
        ("classification", np.eye(3)[y], f_classif(X, y)[0]),
        ("regression", X[:, [0]] + X[:, [1]], f_regression(X, X[:, 0] + X[:, 1])[0]),
    ):
        found = mrmr(X, Y, task, 8, criterion=criterion)
        chosen, scores = brute_force(V, np.abs(np.corrcoef(X.T)), 8, criterion)
        np.testing.assert_array_equal(found.order[:8], chosen)
        np.testing.assert_allclose(found.scores, scores, rtol=1e-8)


def test_perfect_features_come_first_the_least_redundant_one_each_time():
    relevance = np.array([1.0, np.inf, 5.0, np.inf, np.inf])
    R = np.eye(5)
    R[1, 3] = R[3, 1] = 0.9
    order = np.array([1, 3, 4, 2, 0])
    for criterion in ("fcd", "fcq"):
        found = greedy_mrmr(relevance, order, lambda j: R[j], 4, criterion=criterion)
        np.testing.assert_array_equal(found.order, [1, 4, 3, 2])
        assert np.isinf(found.scores[:3]).all()


def test_the_pool_bounds_what_is_chosen_from():
    X, y = planted(4)
    Y = np.eye(3)[y]
    relevance = mrmr(X, Y, "classification", 1, criterion="mid").relevance
    best = np.argsort(-relevance, kind="stable")
    for criterion in ("miq", "fcq"):
        V = relevance if criterion == "miq" else f_classif(X, y)[0]
        top = np.argsort(-V, kind="stable")[:10]
        inside = mrmr(X, Y, "classification", 6, criterion=criterion, pool=10)
        assert set(inside.order[:6]) <= set(top)
        alone = mrmr(X[:, np.sort(top)], Y, "classification", 6, criterion=criterion)
        np.testing.assert_array_equal(inside.order[:6], np.sort(top)[alone.order[:6]])
        everything = mrmr(X, Y, "classification", 6, criterion=criterion, pool=10**6)
        free = mrmr(X, Y, "classification", 6, criterion=criterion)
        np.testing.assert_array_equal(everything.order, free.order)
    # A pool of no more than k: the k most relevant ones, in some order.
    small = mrmr(X, Y, "classification", 6, criterion="mid", pool=2)
    assert set(small.order[:6]) == set(best[:6])
    np.testing.assert_array_equal(small.order[6:], [f for f in best if f not in best[:6]])


# ------------------------------------------------------------------------ several targets
def test_labels_share_their_relevance_or_choose_one_by_one():
    X, y = planted(5)
    Y = np.column_stack([y == 0, y == 1, (y == 2) | (X[:, 9] > 0)]).astype(float)
    codes = discretize(X, "mean_std", labels=None, **STATES)
    V = np.array([[bits(f, label) for f in codes.T] for label in Y.T])
    R = redundancies(codes)
    for rule, relevance in (("mean", V.mean(axis=0)), ("max", V.max(axis=0))):
        found = mrmr(X, Y, "multilabel", 5, criterion="mid", aggregate=rule)
        chosen, _ = brute_force(np.round(relevance, 12), np.round(R, 12), 5, "mid")
        np.testing.assert_array_equal(found.order[:5], chosen)
    found = mrmr(X, Y, "multilabel", 5, criterion="mid", aggregate="mean_rank")
    rank = np.full((3, D), 6.0)
    for label in range(3):
        chosen, _ = brute_force(np.round(V[label], 12), np.round(R, 12), 5, "mid")
        rank[label, chosen] = np.arange(1, 6)
    np.testing.assert_allclose(found.places, 6.0 - rank.mean(axis=0))
    assert found.scores is None
    assert np.all(np.diff(found.places[found.order]) <= 0)


def test_complementary_labels_are_one_binary_target():
    X, y = planted(6)
    y = (y == 1).astype(int)
    Y = np.column_stack([y, 1 - y]).astype(float)
    for criterion in ("mid", "miq", "fcd", "fcq"):
        labels = mrmr(X, Y, "multilabel", 6, criterion=criterion)
        classes = mrmr(X, np.eye(2)[y], "classification", 6, criterion=criterion)
        np.testing.assert_array_equal(labels.order[:6], classes.order[:6])
        np.testing.assert_allclose(labels.scores, classes.scores, rtol=1e-9)


@pytest.mark.parametrize("rule", ["mdl", "weka"])
def test_cuts_are_made_for_each_label_of_its_own(rule):
    X, y = planted(7)
    Y = (y[:, None] == np.arange(3)).astype(float)
    found = mrmr(X, Y, "multilabel", 4, criterion="mid", discretization=rule, aggregate="mean_rank")
    places = np.zeros(D)
    for label in range(3):
        classes = np.eye(2)[Y[:, label].astype(int)]
        own = mrmr(X, classes, "classification", 4, criterion="mid", discretization=rule)
        places += own.places / 3
    np.testing.assert_allclose(found.places, places)


# ------------------------------------------------------------------------------- memory
def test_memory_is_a_byte_an_entry_and_blocks():
    rng = np.random.default_rng(0)
    X = sp.random(300, 15_000, density=0.02, format="csr", random_state=rng)
    Y = np.eye(2)[rng.integers(0, 2, 300)]
    tracemalloc.start()
    mrmr(X, Y, "classification", 3, criterion="mid")
    peak = tracemalloc.get_traced_memory()[1]
    mrmr(X, Y, "classification", 3, criterion="fcq")
    tracemalloc.stop()
    # The codes come as blocks that are put together and turned round.
    assert peak < 4 * 300 * 15_000 + (16 << 20) < 300 * 15_000 * 8
