"""What TopK with the logistic loss says is proven."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from rowsparse import TopK


def topk(k, **options):
    given = {"loss": "logistic", "alpha": 0.125, "certify": True, "random_state": 0}
    return TopK(k, **given | options)


def test_proven_choice_is_the_best_of_all():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:100, :7], y[:100]
    selector = topk(3).fit(X, y)
    values = {
        S: topk(3, certify=False, n_restarts=0).fit(X[:, S], y).objective_
        for S in combinations(range(7), 3)
    }
    best = min(values, key=values.get)
    assert selector.status_ == "optimal"
    assert tuple(selector.get_support(indices=True)) == best
    assert selector.objective_ == pytest.approx(values[best], rel=1e-9)
    assert selector.root_bound_ <= selector.lower_bound_ <= values[best]
    assert 0 <= selector.gap_ <= 1e-6
    assert selector.n_nodes_ >= 1
    assert selector.proof_.statement.loss == "logistic"


def test_a_proof_improves_a_poor_answer_and_its_model(monkeypatch):
    from rowsparse.solvers.subset import logistic

    X, y = load_iris(return_X_y=True)
    best = topk(2).fit(X, y)
    poor = logistic.search_logistic

    def poorest(loss, k, **options):
        result = poor(loss, k, **options)
        worst = np.setdiff1d(np.arange(4), result.support)
        return logistic.with_logistic_support(result, loss, worst, ridge=options["ridge"])

    monkeypatch.setattr("rowsparse.selectors.topk.logistic.search_logistic", poorest)
    improved = topk(2).fit(X, y)
    assert improved.get_support().tolist() == best.get_support().tolist()
    np.testing.assert_allclose(improved.coef_, best.coef_, rtol=1e-5, atol=1e-7)
    assert improved.objective_ == pytest.approx(best.objective_)
    assert improved.history_[-1] == improved.objective_
    assert improved.status_ == "optimal"


def test_without_a_ridge_nothing_is_proven_and_that_is_said():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 6)), rng.integers(0, 2, 40)
    with pytest.warns(UserWarning, match="proves nothing with loss='logistic' and no ridge"):
        selector = topk(2, alpha=0.0).fit(X, y)
    assert (selector.status_, selector.lower_bound_, selector.gap_) == ("gap", 0.0, 1.0)


def test_a_time_limit_leaves_a_gap():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 300)), rng.integers(0, 3, 60)
    selector = topk(6, alpha=0.01, time_limit=1e-4, n_restarts=0).fit(X, y)
    assert selector.status_ == "gap"
    assert 0 <= selector.lower_bound_ < selector.objective_


@pytest.mark.parametrize("options", [{"loss": "l21", "alpha": 0.0}, {"feature_groups": [0, 0, 1]}])
def test_what_cannot_be_proven_is_refused(options):
    given = {"loss": "squared"} | options
    with pytest.raises(ValueError, match="certify is for loss='squared' and loss='logistic'"):
        topk(1, **given).fit(np.eye(3), [0, 1, 1])
