"""ILFS as a selector: planted features, invariances, and the sum over paths that it replaces."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from rowsparse import ILFS
from tests.solvers.subspace.cases import count_tokens, expectation_maximisation, planted


def test_the_sum_over_all_paths_is_proportional_to_the_scores():
    X, y = planted(4, 60, 30)
    g = ILFS(5).fit(X, y).scores_
    A = np.outer(g, g)
    paths = np.linalg.inv(np.eye(30) - 0.9 / np.linalg.eigvalsh(A)[-1] * A) - np.eye(30)
    published = paths.sum(axis=1)
    np.testing.assert_allclose(published, 0.9 * g * g.sum() / (0.1 * (g @ g)), rtol=1e-9)


def test_the_likelihood_never_falls():
    X, y = planted(5)
    for T in (3, 6):
        selector = ILFS(5, tokens="plsa", n_tokens=T).fit(X, y)
        assert selector.n_iter_ > 5
        history = selector.history_
        assert np.all(np.diff(history) >= -1e-10 * np.abs(history[1:]))


@pytest.mark.parametrize("tokens", ["fixed", "plsa"])
@pytest.mark.parametrize("seed", range(3))
def test_planted_features_are_among_the_first(tokens, seed):
    X, y = planted(seed)
    top = np.argsort(-ILFS(5, tokens=tokens).fit(X, y).scores_, kind="stable")
    assert np.sum(top[:5] < 5) >= 2
    assert np.sum(top[:20] < 5) >= 4


@pytest.mark.parametrize("tokens", ["fixed", "plsa"])
def test_scales_offsets_twins_and_constants_do_not_matter(tokens):
    X, y = planted(7, 60, 12)
    plain = ILFS(4, tokens=tokens).fit(X, y)
    moved = ILFS(4, tokens=tokens).fit(X * np.geomspace(1e-3, 1e3, 12) + 5.0, y)
    np.testing.assert_allclose(moved.scores_, plain.scores_, rtol=1e-6)
    constant = ILFS(4, tokens=tokens).fit(np.insert(X, 2, 1.0, axis=1), y)
    np.testing.assert_allclose(np.delete(constant.scores_, 2), plain.scores_, rtol=1e-9)
    twin = ILFS(4, tokens=tokens).fit(np.column_stack([X, X[:, 0]]), y)
    assert twin.scores_[0] == pytest.approx(twin.scores_[-1], rel=1e-12)
    order = np.random.default_rng(0).permutation(12)
    permuted = ILFS(4, tokens=tokens).fit(X[:, order], y)
    np.testing.assert_allclose(permuted.scores_, plain.scores_[order], rtol=1e-9)


def test_a_column_that_is_the_class_comes_first():
    X, y = planted(8)
    X[:, 60] = np.array([3.0, 0.1, -0.7])[y]
    selector = ILFS(1).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [60]
    assert selector.scores_[60] == pytest.approx(1.0)


# Checked by expectation-maximisation from the counts, in loops.
@pytest.mark.parametrize(("load", "chosen"), [(load_iris, [2, 3]), (load_wine, [5, 10, 11, 12])])
def test_reference_choices(load, chosen):
    X, y = load(return_X_y=True)
    selector = ILFS(len(chosen)).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(indices=True), chosen)
    assert np.all(np.diff(selector.scores_[selector.order_]) <= 0.0)
    assert (selector.n_iter_, selector.converged_) == (1, True)
    g = expectation_maximisation(count_tokens(X, y, 6), 0.5)
    np.testing.assert_allclose(selector.scores_, g, atol=1e-6)
    assert set(np.argsort(g)[-len(chosen) :]) == set(chosen)


def test_rounds_and_tolerance():
    X, y = planted(0)
    with pytest.warns(ConvergenceWarning, match="ILFS did not converge in 3 iterations"):
        ILFS(5, tokens="plsa", max_iter=3).fit(X, y)
    loose, tight = (ILFS(5, tokens="plsa", tol=tol).fit(X, y) for tol in (1e-4, 1e-7))
    assert loose.n_iter_ < tight.n_iter_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": "learnt"}, "tokens must be one of 'fixed', 'plsa'"),
        ({"n_tokens": 1}, "n_tokens must be an integer of at least 2"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"tol": 0.0}, "tol must be a number above 0"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    X, y = planted(0)
    with pytest.raises(ValueError, match=message):
        ILFS(3, **options).fit(X, y)
