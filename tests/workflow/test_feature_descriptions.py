"""Descriptions of the features equal what NumPy computes from the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rowsparse import TopK
from rowsparse.evaluation.supports import strongest_first
from rowsparse.workflow.select import ranked, units_of
from rowsparse.workflow.table import Table

from .planted import SCORE, D, X, make, selected


def test_correlations_and_closest_features(classes: Table) -> None:
    result = selected(classes, 3, stability=0, cv=0)
    chosen = [feature.index for feature in result.features]
    every = np.corrcoef(classes.X.T)
    np.testing.assert_allclose(result.correlation, every[np.ix_(chosen, chosen)], atol=1e-12)
    left = [j for j in range(D) if j not in chosen]
    for feature, others in zip(result.features, result.closest, strict=True):
        best = max(left, key=lambda j: abs(every[feature.index, j]))
        assert others[0].name == f"f{best}"
        assert others[0].correlation == pytest.approx(every[feature.index, best])
        assert len(others) == 3


def test_distributions_per_class(classes: Table) -> None:
    result = selected(classes, 2, stability=0, cv=0)
    for feature, shown in zip(result.features, result.distributions, strict=True):
        assert shown.groups == ("a", "b", "c")
        values = classes.X[classes.y == "b", feature.index]
        np.testing.assert_allclose(
            shown.quantiles[1], np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95))
        )


def test_a_method_without_coefficients(classes: Table) -> None:
    result = selected(classes, 3, method="relieff", stability=3)
    assert result.method == "ReliefF"
    assert result.certificate is None
    assert all(feature.coefficients == () for feature in result.features)
    assert result.features[0].speaks_for
    assert np.isnan(result.objective)


def test_the_one_row_of_two_classes_in_logistic_regression_speaks_for_both(tmp_path: Path) -> None:
    table = make(tmp_path, goal=np.where(SCORE > 0, "yes", "no"))
    selector = TopK(3, loss="logistic", n_restarts=0).fit(table.X, table.y)
    features = ranked(table, selector, strongest_first(selector), units_of(table.X))
    assert {f.name: f.speaks_for for f in features} == {
        "f2": "yes",
        "f5": "yes",
        "f9": "no",
    }
    for feature in features:
        assert feature.coefficients[0] == -feature.coefficients[1]


def test_columns_of_zeros_and_ones_have_shares(tmp_path: Path) -> None:
    goal = np.where(SCORE > 0, "a", "b")
    flag = (X[:, 0] > 0).astype(int)
    result = selected(make(tmp_path, goal=goal, flag=flag), 2, include="flag", stability=0, cv=0)
    shares = {one.feature: one.shares for one in result.distributions}
    assert shares.pop("flag") == (flag[SCORE > 0].mean(), flag[SCORE <= 0].mean())
    assert set(shares.values()) == {()}
