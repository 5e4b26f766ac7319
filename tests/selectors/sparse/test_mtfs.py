"""MTFS is scikit-learn's multi-task lasso, with a certificate."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import MultiTaskLasso

from rowsparse import MTFS
from tests.selectors.cases import scaled_rows, three_classes

X, Y = three_classes()
Z = (X - X.mean(axis=0)) / X.std(axis=0)


def test_it_is_the_multi_task_lasso():
    selector = MTFS(2, gamma=6.0).fit(X, Y)
    lasso = MultiTaskLasso(alpha=6.0 / len(X), tol=1e-10, max_iter=10_000).fit(Z, np.eye(3)[Y])
    np.testing.assert_allclose(scaled_rows(selector, X), lasso.coef_.T, atol=1e-4)
    assert selector.gap_ <= 1e-6


def test_the_squared_penalty_has_the_same_path():
    plain, squared = (MTFS(3, penalty=penalty).fit(X, Y) for penalty in ("l21", "l21_squared"))
    np.testing.assert_array_equal(plain.support_, squared.support_)
    total = np.linalg.norm(scaled_rows(squared, X), axis=1).sum()
    assert squared.gamma_ * total == pytest.approx(plain.gamma_, rel=1e-3)
    assert plain.n_active_ == 3


def test_fewer_rows_than_asked_for_are_filled_up_with_a_warning():
    gamma = 0.95 * np.linalg.norm(Z.T @ (np.eye(3)[Y] - 1 / 3), axis=1).max()
    with pytest.warns(UserWarning, match=r"MTFS has 1 non-zero rows .* other 2 of the 3 features"):
        selector = MTFS(3, gamma=gamma).fit(X, Y)
    assert selector.n_active_ == 1
    assert selector.support_.sum() == 3
