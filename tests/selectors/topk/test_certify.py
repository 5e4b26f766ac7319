"""TopK with and without certify=True: the best choice of all, its model, and what is proven."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from rowsparse import TopK
from rowsparse.certificate import verify
from rowsparse.selectors.topk import search_report
from rowsparse.solvers.proof import expander
from rowsparse.solvers.search import search


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_time_limit_leaves_a_gap_and_a_valid_bound(loss):
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((60, 400)), rng.integers(0, 3, 60)
    options = {"loss": loss, "time_limit": 0.3, "n_restarts": 0, "random_state": 0}
    selector = TopK(8, alpha=0.1, certify=True, **options).fit(X, y)
    assert selector.status_ == "gap"
    assert 0 <= selector.lower_bound_ < selector.objective_
    assert selector.gap_ == pytest.approx(1 - selector.lower_bound_ / selector.objective_)


def test_no_ridge_and_many_columns_proves_nothing_and_says_so():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((20, 300)), rng.standard_normal(20)
    with pytest.warns(UserWarning, match="proves nothing here without a ridge"):
        selector = TopK(5, alpha=0.0, certify=True, random_state=0).fit(X, y)
    assert (selector.status_, selector.lower_bound_, selector.gap_) == ("gap", 0.0, 1.0)
    assert float(verify(X, y, selector)) == 0.0
    with pytest.warns(UserWarning, match="proves nothing with loss='logistic' and no ridge"):
        selector = TopK(2, loss="logistic", alpha=0.0, certify=True).fit(X[:, :6], y > 0)
    assert (selector.status_, selector.lower_bound_, selector.gap_) == ("gap", 0.0, 1.0)


def test_interrupt_keeps_the_best_answer_if_a_time_limit_was_set(monkeypatch):
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((60, 200)), rng.integers(0, 3, 60)
    original, calls = expander.Expander.expand, []

    def interrupted(self, nodes, known, deadline):
        calls.append(nodes)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return original(self, nodes, known, deadline)

    monkeypatch.setattr(expander.Expander, "expand", interrupted)
    selector = TopK(6, alpha=0.1, certify=True, time_limit=60.0, random_state=0).fit(X, y)
    assert selector.status_ == "gap"
    assert 0 < selector.lower_bound_ < selector.objective_
    calls.clear()
    other = TopK(6, alpha=0.1, certify=True, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        other.fit(X, y)
    assert not hasattr(other, "support_")


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


def test_a_proof_improves_a_poor_answer_and_its_model(monkeypatch):
    X, y = load_iris(return_X_y=True)
    options = {"loss": "logistic", "alpha": 0.125, "certify": True, "random_state": 0}
    best = TopK(2, **options).fit(X, y)

    def poorest(problem, options):
        result = search.search(problem, options)
        worst = np.setdiff1d(np.arange(4), result.support)
        return search.with_support(problem, result, worst)

    monkeypatch.setattr(search_report, "search", poorest)
    improved = TopK(2, **options).fit(X, y)
    assert improved.get_support().tolist() == best.get_support().tolist()
    np.testing.assert_allclose(improved.coef_, best.coef_, rtol=1e-5, atol=1e-7)
    assert improved.objective_ == pytest.approx(best.objective_)
    assert improved.history_[-1] == improved.objective_
    assert improved.status_ == "optimal"


def test_what_cannot_be_proven_is_refused():
    with pytest.raises(ValueError, match="certify is not for loss='l21'"):
        TopK(1, loss="l21", certify=True).fit(np.eye(3), [0, 1, 1])


# ----------------------------------------------------------------------- the history
@pytest.mark.parametrize("options", [{}, {"loss": "logistic"}, {"n_restarts": 0}])
@pytest.mark.parametrize("unit", [1.0, 1e100])
def test_it_ends_with_what_is_reported(options: dict[str, object], unit: float) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    y = y if options.get("loss") else unit * y
    task = "auto" if options.get("loss") else "regression"
    selector = TopK(3, certify=True, task=task, random_state=0, **options)
    selector.fit(X[:200, :10], y[:200])
    history = selector.proof_history_
    assert history["objective"][-1] == selector.objective_
    assert history["lower_bound"][-1] == selector.lower_bound_
    assert history["nodes"][-1] == selector.n_nodes_
    assert (history["lower_bound"] <= history["objective"][-1] * (1 + 1e-9)).all()
