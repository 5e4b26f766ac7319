"""TopK as a selector: constraints by name, groups, and what it refuses."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from rowsparse import RFS, RPFS, TopK
from tests.selectors.cases import numbers_of_three


def objective(X, y, S, alpha):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    Y = np.eye(y.max() + 1)[y]
    Y = Y - Y.mean(axis=0)
    A = Z[:, S].T @ Z[:, S] + alpha * len(Z) * np.eye(len(S))
    B = Z[:, S].T @ Y
    return np.vdot(Y, Y) - np.vdot(B, np.linalg.solve(A, B))


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_equals_exhaustive_search(wine, k):
    X, y = wine[0].to_numpy(), wine[1].to_numpy()
    selector = TopK(k, random_state=0, loss="squared").fit(X, y)
    values = [objective(X, y, list(S), 0.5) for S in combinations(range(13), k)]
    assert selector.objective_ == pytest.approx(min(values), rel=1e-9)


def test_include_and_exclude_by_name_and_by_index_agree(wine):
    X, y = wine
    by_name = TopK(
        4, include=["ash"], exclude=["proline", "hue"], random_state=0, loss="squared"
    ).fit(X, y)
    at = [X.columns.get_loc(name) for name in ("ash", "proline", "hue")]
    by_index = TopK(4, include=[at[0]], exclude=at[1:], random_state=0, loss="squared").fit(X, y)
    np.testing.assert_array_equal(by_name.support_, by_index.support_)
    names = by_name.get_feature_names_out()
    assert "ash" in names
    assert "proline" not in names
    allowed = [j for j in range(13) if j not in at]
    values = [
        objective(X.to_numpy(), y.to_numpy(), [at[0], *S], 0.5) for S in combinations(allowed, 3)
    ]
    assert by_name.objective_ == pytest.approx(min(values), rel=1e-9)


def test_groups_come_and_go_together_and_are_the_best(wine):
    X, y = wine[0].to_numpy(), wine[1].to_numpy()
    labels = [0, 0, 1, 1, 1, 2, 2, 3, 4, 4, 5, 5, 5]
    selector = TopK(2, feature_groups=labels, random_state=0, loss="squared").fit(X, y)
    values = {
        pair: objective(X, y, [j for j in range(13) if labels[j] in pair], 0.5)
        for pair in combinations(range(6), 2)
    }
    best = min(values, key=values.get)
    np.testing.assert_array_equal(selector.support_, np.isin(labels, best))
    assert selector.objective_ == pytest.approx(values[best], rel=1e-9)


def test_robust_loss_is_not_above_the_published_methods_on_it(wine):
    X, y = wine
    best = TopK(3, loss="l21", random_state=0).fit(X, y)
    published = RPFS(3).fit(X, y)
    assert best.objective_ <= published.objective_ * (1 + 1e-7)
    refit = TopK(
        3, loss="l21", include=RFS(3).fit(X, y).get_support(indices=True).tolist(), random_state=0
    ).fit(X, y)
    assert best.objective_ <= refit.objective_ * (1 + 1e-7)
    assert best.refit_gap_ <= 1e-6


def test_coefficients_are_the_ridge_regression_on_the_support(wine):
    X, y = wine[0].to_numpy(), wine[1].to_numpy()
    selector = TopK(3, random_state=0, loss="squared").fit(X, y)
    fitted = X @ selector.coef_.T + selector.intercept_
    Y = np.eye(3)[y]
    W = selector.coef_.T * X.std(axis=0)[:, None]
    value = np.sum((Y - fitted) ** 2) + 0.5 * len(X) * np.sum(W**2)
    assert selector.objective_ == pytest.approx(value, rel=1e-9)
    assert not selector.coef_[:, ~selector.support_].any()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_answer_does_not_depend_on_n_jobs(n_jobs):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 200)), rng.integers(0, 3, 40)
    selector = TopK(8, n_jobs=n_jobs, random_state=1).fit(X, y)
    reference = TopK(8, random_state=1).fit(X, y)
    np.testing.assert_array_equal(selector.support_, reference.support_)
    assert selector.objective_ == reference.objective_


def test_perfect_fit_is_answered_with_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 40)), rng.standard_normal(10)
    with pytest.warns(UserWarning, match="the choice is arbitrary"):
        selector = TopK(12, alpha=0.0, random_state=0).fit(X, y)
    assert selector.support_.sum() == 12


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"include": ["ash"], "exclude": ["ash"]}, "overlap"),
        ({"include": ["nose"]}, "nose"),
        ({"exclude": [13]}, "13"),
        ({"include": [0, 1, 2, 3]}, "include"),
        ({"exclude": list(range(11))}, "exclude"),
        ({"feature_groups": [0, 1]}, "groups"),
        ({"alpha": -1.0}, "alpha"),
        ({"time_limit": 0}, "time_limit"),
        ({"loss": "l21", "certify": True}, "certify"),
        ({"feature_groups": list(range(13)), "certify": True}, "certify"),
    ],
)
def test_refusals_are_one_sentence_and_leave_nothing_behind(wine, options, words):
    X, y = wine
    selector = TopK(3, **options)
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        selector.fit(X, y)
    assert "\n" not in str(caught.value)
    assert not hasattr(selector, "support_")


def test_names_need_a_data_frame(wine):
    X, y = wine
    with pytest.raises(ValueError, match="ash"):
        TopK(3, include=["ash"]).fit(X.to_numpy(), y)
    assert isinstance(X, pd.DataFrame)


@pytest.mark.parametrize(
    ("groups", "error", "words"),
    [
        (3, TypeError, r"groups must be lists of columns, or one label .*; got 3"),
        (np.array(3), TypeError, "groups must be lists of columns"),
        ("abcd", TypeError, "groups must be lists of columns"),
        ({"a": [0, 1]}, TypeError, "groups must be lists of columns"),
        ([None] * 4, ValueError, "groups has no label for column 0"),
        ([1.0, 2.0, np.nan, 1.0], ValueError, "groups has no label for column 2"),
        (np.array([1, "a", 2, 3], dtype=object), TypeError, "groups must hold labels of one kind"),
    ],
)
def test_groups_that_are_none_are_refused_in_one_sentence(groups, error, words):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=words):
        TopK(1, feature_groups=groups).fit(X, y)


def test_one_column_may_come_as_an_array_without_dimensions():
    X, y = load_iris(return_X_y=True)
    assert TopK(2, include=np.array(1), random_state=0).fit(X, y).support_[1]
    with pytest.raises(TypeError, match=r"include must hold indices or names of columns; got 1\.5"):
        TopK(2, include=np.array(1.5)).fit(X, y)


def test_a_penalty_that_the_loss_lacks_has_no_effect_and_a_warning_says_so():
    X, y = numbers_of_three()
    for loss, other, use in (("l21", "alpha", "gamma"), ("squared", "gamma", "alpha")):
        plain = TopK(2, loss=loss, n_restarts=1, random_state=0).fit(X, y)
        changed = TopK(2, loss=loss, n_restarts=1, random_state=0, **{other: 0.5})
        with pytest.warns(UserWarning, match=f"{other} has no effect with .*: use {use}"):
            changed.fit(X, y)
        np.testing.assert_array_equal(changed.coef_, plain.coef_)


def test_a_share_of_one_is_all_features():
    X, y = numbers_of_three()
    assert TopK(1.0).fit(X, y).support_.all()
