"""TopK with certify=True: what it says is proven, recomputed by other means."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine

from rowsparse import TopK
from rowsparse.certificate import verify
from rowsparse.solvers.proof import tree


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("load", [load_wine, load_iris])
def test_proven_choice_is_the_best_of_all(load, alpha):
    X, y = load(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    Y = np.eye(3)[y] - np.eye(3)[y].mean(axis=0)
    selector = TopK(2, alpha=alpha, certify=True, random_state=0, loss="squared").fit(X, y)

    def objective(S):
        A = Z[:, S].T @ Z[:, S] + alpha * len(Z) * np.eye(len(S))
        B = Z[:, S].T @ Y
        return np.vdot(Y, Y) - np.vdot(B, np.linalg.solve(A, B))

    values = {S: objective(list(S)) for S in combinations(range(X.shape[1]), 2)}
    best = min(values, key=values.get)
    assert selector.status_ == "optimal"
    assert tuple(selector.get_support(indices=True)) == best
    assert selector.objective_ == pytest.approx(values[best], rel=1e-9)
    assert selector.lower_bound_ <= values[best]
    assert 0 <= selector.gap_ <= 1e-6


def test_without_a_proof_nothing_is_claimed():
    X, y = load_iris(return_X_y=True)
    selector = TopK(2, random_state=0).fit(X, y)
    assert (selector.status_, selector.lower_bound_, selector.gap_) == ("heuristic", 0.0, 1.0)


def test_no_ridge_and_more_samples_than_columns_is_proven_by_a_bound():
    X, y = load_diabetes(return_X_y=True)
    selector = TopK(3, alpha=0.0, certify=True, task="regression").fit(X, y)
    assert selector.status_ == "optimal"
    values = []
    for S in combinations(range(10), 3):
        A = np.column_stack([X[:, S], np.ones(len(X))])
        values.append(np.linalg.lstsq(A, y, rcond=None)[1][0])
    assert selector.objective_ == pytest.approx(min(values), rel=1e-9)


def test_no_ridge_and_few_columns_is_proven_by_trying_all():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((8, 12)), rng.standard_normal(8)
    selector = TopK(3, alpha=0.0, certify=True, random_state=0).fit(X, y)
    assert selector.status_ == "optimal"
    assert selector.n_nodes_ == 220


def test_no_ridge_and_many_columns_proves_nothing_and_says_so():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((20, 300)), rng.standard_normal(20)
    with pytest.warns(UserWarning, match="proves nothing here without a ridge"):
        selector = TopK(5, alpha=0.0, certify=True, random_state=0).fit(X, y)
    assert (selector.status_, selector.lower_bound_, selector.gap_) == ("gap", 0.0, 1.0)
    assert float(verify(X, y, selector)) == 0.0


def test_time_limit_leaves_a_valid_bound():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((60, 400)), rng.integers(0, 3, 60)
    selector = TopK(8, alpha=0.1, certify=True, time_limit=0.3, random_state=0).fit(X, y)
    assert selector.status_ == "gap"
    assert 0 < selector.lower_bound_ < selector.objective_
    assert selector.gap_ == pytest.approx(1 - selector.lower_bound_ / selector.objective_)


def test_interrupt_keeps_the_best_answer_if_a_time_limit_was_set(monkeypatch):
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((60, 200)), rng.integers(0, 3, 60)
    original, calls = tree.Subtree._expand, []

    def interrupted(self, node, deadline):
        calls.append(node)
        if len(calls) == 5:
            raise KeyboardInterrupt
        original(self, node, deadline)

    monkeypatch.setattr(tree.Subtree, "_expand", interrupted)
    selector = TopK(6, alpha=0.1, certify=True, time_limit=60.0, random_state=0).fit(X, y)
    assert selector.status_ == "gap"
    assert 0 < selector.lower_bound_ < selector.objective_
    calls.clear()
    other = TopK(6, alpha=0.1, certify=True, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        other.fit(X, y)
    assert not hasattr(other, "support_")


def test_callback_hears_of_bound_and_nodes_and_can_stop():
    pytest.importorskip("sklearn.callback")

    class Watcher:
        def __init__(self):
            self.heard = []

        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...
        def on_fit_task_end(self, estimator, context, *, metadata=None):
            self.heard.append(metadata)
            return metadata is not None and metadata.get("nodes", 0) >= 5

    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((60, 200)), rng.integers(0, 3, 60)
    watcher = Watcher()
    selector = TopK(6, alpha=0.1, certify=True, random_state=0)
    selector.set_callbacks(watcher)
    selector.fit(X, y)
    bounds = [m["lower_bound"] for m in watcher.heard if m and "lower_bound" in m]
    assert selector.status_ == "gap"
    assert selector.n_nodes_ == 5
    assert np.all(np.diff(bounds) >= 0)
    assert selector.lower_bound_ == pytest.approx(bounds[-1])


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_restarts_are_left_out_where_the_first_answer_is_easy_to_prove(loss):
    X, y = load_wine(return_X_y=True)
    options = {"alpha": 1.0, "loss": loss, "random_state": 0}
    proven = TopK(3, certify=True, **options).fit(X, y)
    plain = TopK(3, **options).fit(X, y)
    assert proven.status_ == "optimal"
    assert proven.n_starts_ == 1 < plain.n_starts_
    assert proven.objective_ == pytest.approx(plain.objective_, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.filterwarnings("ignore:certify=True proves nothing")
def test_restarts_are_made_where_little_is_proven(loss, alpha):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 60))
    y = (X[:, :8].sum(axis=1) + rng.standard_normal(50) > 0).astype(int)
    options = {"alpha": alpha, "loss": loss, "n_restarts": 5, "random_state": 0}
    proven = TopK(6, certify=True, time_limit=3.0, **options).fit(X, y)
    plain = TopK(6, **options).fit(X, y)
    assert proven.n_starts_ == plain.n_starts_ > 1
    assert proven.objective_ <= plain.objective_ * (1 + 1e-9)


def test_without_restarts_the_search_is_not_repeated(monkeypatch):
    from rowsparse.selectors.topk import topk as module

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 60)), rng.standard_normal(50)
    searched, calls = module.search, []

    def counted(*args, **options):
        calls.append(options["n_restarts"])
        return searched(*args, **options)

    monkeypatch.setattr(module, "search", counted)
    TopK(6, alpha=0.05, certify=True, time_limit=1.0, n_restarts=0).fit(X, y)
    assert calls == [0]
