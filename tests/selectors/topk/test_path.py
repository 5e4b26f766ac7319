"""topk_path: the best features of every number up to k_max."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from rowsparse import TopK, TopKCV, topk_path
from tests.selectors.cases import classes_of_two, numbers_of_three


def test_path_finds_planted_features_and_says_when_they_entered():
    path = topk_path(*numbers_of_three(), 5, random_state=0)
    assert path.ks.tolist() == [1, 2, 3, 4, 5]
    assert path.supports[2].tolist() == [2, 7, 11]
    inside = path.membership
    assert inside.shape == (5, 15)
    assert inside.sum(axis=1).tolist() == [1, 2, 3, 4, 5]
    for j in range(15):
        at = path.ks[inside[:, j]]
        assert path.entered[j] == (at.min() if at.size else 0)
    assert np.all(np.diff(path.objectives) <= 0)


def test_path_has_the_objective_of_topk_and_the_ridge_regression_in_data_units():
    X, y = numbers_of_three()
    path = topk_path(X, y, 4, alpha=0.3, random_state=0)
    Z = StandardScaler().fit_transform(X)
    for k, S, objective in zip(path.ks, path.supports, path.objectives, strict=True):
        topk = TopK(int(k), alpha=0.3, random_state=0).fit(X, y)
        assert objective == pytest.approx(topk.objective_)
        np.testing.assert_allclose(path.coef(k), [topk.coef_], atol=1e-10)
        np.testing.assert_allclose(path.intercepts[k - 1], topk.intercept_)
        ridge = Ridge(alpha=0.3 * len(y)).fit(Z[:, S], y)
        ours = X[:, S] @ path.coefs[k - 1].T + path.intercepts[k - 1]
        np.testing.assert_allclose(ours.ravel(), ridge.predict(Z[:, S]))


def test_path_weights_repeat_samples():
    X, y = classes_of_two(n=40)
    weights = np.random.default_rng(1).integers(0, 4, 40)
    rows = np.repeat(np.arange(40), weights)
    weighted = topk_path(X, y, 4, sample_weight=weights, random_state=0)
    repeated = topk_path(X[rows], y[rows], 4, random_state=0)
    np.testing.assert_allclose(weighted.objectives, repeated.objectives)
    np.testing.assert_allclose(weighted.coef(4), repeated.coef(4), atol=1e-10)


def test_path_takes_names_sparse_data_and_extreme_units():
    pd = pytest.importorskip("pandas")
    X, y = numbers_of_three()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(15)])
    path = topk_path(frame, y, 3, include=["c0"], exclude=["c2"], random_state=0)
    assert path.ks.tolist() == [1, 2, 3]
    assert path.supports[0].tolist() == [0]
    assert all(0 in S and 2 not in S for S in path.supports)
    plain = topk_path(X, y, 4, random_state=0)
    sparse = topk_path(sp.csr_matrix(X), y, 4, random_state=0)
    np.testing.assert_allclose(plain.objectives, sparse.objectives)
    small = topk_path(X * 1e-90, y * 1e-80, 4, standardize=False, alpha=0.0, random_state=0)
    large = topk_path(X, y, 4, standardize=False, alpha=0.0, random_state=0)
    np.testing.assert_allclose(small.objectives, large.objectives * 1e-160)
    np.testing.assert_allclose(small.coef(4), large.coef(4) * 1e10, rtol=1e-6, atol=1.0)


def test_path_caps_k_max_with_a_warning():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="k_max=9 .* taken as 4"):
        assert topk_path(X, y, 9).ks.tolist() == [1, 2, 3, 4]
    with pytest.warns(UserWarning, match="taken as 3"):
        assert topk_path(X, y, 4, exclude=[1]).ks.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k_max": 0}, "k_max must be an integer of at least 1"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"n_restarts": -1}, "n_restarts must be"),
        ({"include": [0], "exclude": [0]}, "overlap in column 0"),
        ({"include": [0, 1, 2]}, "include has 3 columns, more than k_max=2"),
        ({"exclude": [0, 1, 2, 3]}, "leaves no columns"),
        ({"exclude": [7]}, "index 7"),
    ],
)
def test_path_refuses_bad_input(options, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        topk_path(X, y, **({"k_max": 2} | options))


def test_path_refuses_a_k_it_does_not_have():
    path = topk_path(*load_iris(return_X_y=True), 2)
    with pytest.raises(ValueError, match="k must be an integer of at least 1 and at most 2"):
        path.coef(3)


def grouped():
    """Numbers that depend on the group of columns 2 and 3, and on column 6."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 7))
    return X, X[:, 2] - X[:, 3] + 0.5 * X[:, 6] + 0.3 * rng.standard_normal(80)


def test_path_over_groups_of_columns():
    pd = pytest.importorskip("pandas")
    X, y = grouped()
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    groups = [["a", "b"], ["c", "d"], ["e", "f"]]
    path = topk_path(frame, y, 3, feature_groups=groups, random_state=0)
    assert path.ks.tolist() == [1, 2, 3]
    assert path.supports[0].tolist() == [2, 3]
    assert path.supports[1].tolist() == [2, 3, 6]
    assert path.coefs[1].shape == (1, 3)
    one = TopK(2, feature_groups=groups, random_state=0).fit(frame, y)
    assert path.objectives[1] == pytest.approx(one.objective_)
    with pytest.warns(UserWarning, match="number of groups to select from: it is taken as 4"):
        assert topk_path(frame, y, 9, feature_groups=groups).ks[-1] == 4
    with pytest.raises(ValueError, match="include has 2 groups, more than k_max=1"):
        topk_path(frame, y, 1, feature_groups=groups, include=["a", "g"])
    with pytest.raises(ValueError, match=r"overlap in the group of columns \[0, 1\]"):
        topk_path(frame, y, 2, feature_groups=groups, include=["a"], exclude=["b"])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_logistic_path_is_the_logistic_topk_of_every_size(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    path = topk_path(X, y, 3, loss="logistic", alpha=0.05, random_state=0)
    for k, objective in zip(path.ks.tolist(), path.objectives, strict=True):
        topk = TopK(k, loss="logistic", alpha=0.05, random_state=0).fit(X, y)
        assert objective == pytest.approx(topk.objective_)
        np.testing.assert_allclose(path.coef(k), topk.coef_, atol=1e-6)
        np.testing.assert_allclose(path.intercepts[k - 1], topk.intercept_, atol=1e-6)


def test_paths_are_for_two_losses_only():
    with pytest.raises(ValueError, match="loss must be"):
        topk_path(*load_iris(return_X_y=True), 2, loss="l21")


def test_a_logistic_path_over_groups_is_that_of_topk():
    X, y = load_iris(return_X_y=True)
    options = {"loss": "logistic", "feature_groups": [0, 1, 0, 2], "random_state": 0}
    path = topk_path(X, y, 2, **options)
    for k, support, objective in zip(path.ks, path.supports, path.objectives, strict=True):
        topk = TopK(int(k), **options).fit(X, y)
        np.testing.assert_array_equal(support, topk.get_support(indices=True))
        assert objective == pytest.approx(topk.objective_, rel=1e-7)


@pytest.mark.parametrize(
    ("loss", "n_restarts", "seed"), [("squared", 5, 0), ("squared", 5, 9), ("logistic", 0, 9)]
)
def test_no_k_is_worse_than_topk_alone(loss, n_restarts, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 150)), rng.integers(0, 3, 30)
    options = {"loss": loss, "alpha": 0.01, "n_restarts": n_restarts, "random_state": 0}
    path = topk_path(X, y, 7, **options)
    alone = np.array([TopK(k, **options).fit(X, y).objective_ for k in range(1, 8)])
    assert np.all(path.objectives <= alone * (1 + 1e-9))
    assert np.all(np.diff(path.objectives) <= 0)


def test_a_path_knows_the_names_of_the_columns_and_is_shown_in_one_line():
    pd = pytest.importorskip("pandas")
    X, y = numbers_of_three()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(15)])
    path = topk_path(frame, y, 3, random_state=0)
    assert path.feature_names(3) == ["c2", "c7", "c11"]
    assert topk_path(X, y, 3, random_state=0).feature_names(3) == ["x2", "x7", "x11"]
    chosen = TopKCV(k_max=3, rule="ebic", random_state=0).fit(frame, y)
    assert chosen.path_.feature_names(3) == ["c2", "c7", "c11"]
    assert "\n" not in repr(path)
    assert repr(path).startswith("TopKPath(1 to 3 of 15 features, objective ")
