"""Models that users compare selections with: their rankings are those of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import MultiTaskLasso, lars_path
from sklearn.preprocessing import scale

from rowsparse.workflow.compare import compare
from rowsparse.workflow.plan import find_method, list_methods
from rowsparse.workflow.settings import CompareSettings
from rowsparse.workflow.table import Table

from .planted import SCORE, X, selected


def ranked(name: str, y: Any, task: str, **params: Any) -> list[int]:
    selector = find_method(name).cls(3, task=task, **params).fit(X, y)
    assert np.flatnonzero(selector.get_support()).tolist() == sorted(selector.order_[:3].tolist())
    assert sorted(selector.order_.tolist()) == list(range(X.shape[1]))
    return selector.order_.tolist()


def test_the_lasso_orders_features_as_its_path_does() -> None:
    order = lars_path(scale(X), scale(SCORE), method="lasso")[1]
    assert ranked("lasso", SCORE, "regression")[:8] == list(order[:8])
    y = SCORE > 0
    order = lars_path(scale(X), scale(y.astype(float)), method="lasso")[1]
    assert ranked("Lasso", y, "classification")[:8] == list(order[:8])


def test_several_targets_share_the_features_of_the_lasso() -> None:
    Y = np.column_stack([SCORE, X[:, 2] - X[:, 0], X[:, 0] + 0.1 * SCORE])
    order = ranked("lasso", Y, "regression")
    for k in (1, 2, 3):
        alphas = np.geomspace(2, 0.05, 200)
        sets = [
            np.flatnonzero(np.any(MultiTaskLasso(alpha).fit(scale(X), scale(Y)).coef_, axis=0))
            for alpha in alphas
        ]
        assert sorted(order[:k]) in [one.tolist() for one in sets]


def test_the_forest_has_the_importances_of_scikit_learn() -> None:
    y = np.where(SCORE > 0, "a", "b")
    forest = RandomForestClassifier(300, random_state=4, class_weight="balanced").fit(X, y)
    order = ranked("random_forest", y, "classification", class_weight="balanced", random_state=4)
    assert order == np.argsort(-forest.feature_importances_, kind="stable").tolist()


def test_a_correlated_group_enters_the_elastic_net_together() -> None:
    rng = np.random.default_rng(0)
    f = rng.standard_normal(80)
    Z = np.column_stack([f, f + 0.05 * rng.standard_normal(80), rng.standard_normal((80, 5))])
    y = Z[:, 0] + 0.6 * Z[:, 4] + 0.3 * rng.standard_normal(80)
    net, lasso = (find_method(name).cls(2, task="regression") for name in ("elasticnet", "lasso"))
    assert net.fit(Z, y).order_[:2].tolist() == [0, 1]
    assert lasso.fit(Z, y).order_[:2].tolist() == [0, 4]


def test_they_are_methods_of_the_commands(labels: Table, classes: Table) -> None:
    names = ("lasso", "elasticnet", "randomforest")
    assert {*names, "topk"} <= {*list_methods("multilabel")}
    settings = CompareSettings(k=(1, 2), methods=("topk", *names), cv=2)
    curve = compare(labels, settings).curve
    assert not any(record.error for record in curve.records)
    assert curve.selectors == ["TopK", "Lasso", "ElasticNet", "RandomForest"]
    result = selected(classes, 3, method="lasso", cv=2, stability=2)
    assert result.method == "Lasso"
    assert {one.name for one in result.features} == {"f2", "f5", "f9"}
    with pytest.raises(ValueError, match="did you mean 'lasso'"):
        find_method("laso")
