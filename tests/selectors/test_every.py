"""What every registered selector owes its user, filters and networks included."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rowsparse import selector_info

from .cases import all_selectors

N, D, K = 60, 14, 3
PLANTED = [1, 5, 8]
SELECTORS = all_selectors(K)
NAMES = list(SELECTORS)
SUPERVISED = [name for name in NAMES if selector_info(name).supervised]
UNSUPERVISED = [name for name in NAMES if not selector_info(name).supervised]
RANDOM = [name for name in NAMES if selector_info(name).random]

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:.*non-zero rows")


def classes(n: int = N, d: int = D, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three classes told apart by columns 1, 5 and 8, clearly."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d))
    X[:, PLANTED] *= 0.4
    X[:, PLANTED] += 3.0 * np.array([[1, 0, -0.2], [0, 1, -1], [-1, -0.5, 1]])[y]
    return X, y


def problem(task: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = classes()
    if task == "multilabel":
        return X, (y[:, None] == np.arange(3)).astype(int) | (y[:, None] == 2)
    if task == "regression":
        return X, X[:, PLANTED] @ [2.0, -1.5, 1.0]
    return X, y


def assert_sound(selector: Any, k: int, d: int) -> None:
    """Exactly k features, a ranking that agrees with the scores, and no NaN."""
    assert selector.support_.shape == selector.scores_.shape == selector.ranking_.shape == (d,)
    assert selector.support_.sum() == k == selector.get_support().sum()
    np.testing.assert_array_equal(selector.ranking_ == 1, selector.support_)
    np.testing.assert_array_equal(
        np.sort(selector.ranking_[~selector.support_]), np.arange(2, d - k + 2)
    )
    assert not np.isnan(selector.scores_).any()


# ---------------------------------------------------------------------------- selections
@pytest.mark.parametrize("task", ["classification", "multilabel", "regression"])
@pytest.mark.parametrize("name", NAMES)
def test_targets_it_takes_and_those_it_refuses(name, task):
    X, y = problem(task)
    info = selector_info(name)
    if task in info.tasks:
        selector = SELECTORS[name]().fit(X, y)
        assert_sound(selector, selector.support_.sum() if name == "AllFeatures" else K, D)
        assert selector.task_ == task
        return
    with pytest.raises(ValueError, match=f"{name} takes targets for .*; y is for {task}."):
        SELECTORS[name]().fit(X, y)


@pytest.mark.parametrize("name", SUPERVISED)
def test_planted_classes_are_found(name):
    if name == "AllFeatures":
        pytest.skip("it selects everything")
    X, y = classes(n=150)
    found = np.flatnonzero(SELECTORS[name](k=4).fit(X, y).support_)
    assert len(set(PLANTED) & set(found)) >= 2


@pytest.mark.parametrize("name", SUPERVISED)
def test_targets_are_required(name):
    X, _ = classes()
    with pytest.raises(ValueError, match="requires y to be passed"):
        SELECTORS[name]().fit(X, None)


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_targets_are_optional(name):
    X, _ = classes()
    selector = SELECTORS[name]().fit(X)
    assert not hasattr(selector, "task_")
    assert not hasattr(selector, "classes_")
    assert selector.support_.any()


@pytest.mark.parametrize("name", NAMES)
def test_constant_columns_come_last(name):
    if name == "AllFeatures":
        pytest.skip("it selects everything")
    X, y = classes()
    X[:, [0, 3, 9]] = [1.0, 0.0, -7.5]
    selector = SELECTORS[name](k=D - 3).fit(X, y)
    assert not selector.support_[[0, 3, 9]].any()
    np.testing.assert_array_equal(selector.scores_[[0, 3, 9]], 0.0)
    with pytest.warns(UserWarning, match=r"constant"):
        assert SELECTORS[name](k=D - 1).fit(X, y).support_.sum() == D - 1


@pytest.mark.parametrize("name", NAMES)
def test_nothing_varies(name):
    if name == "AllFeatures":
        pytest.skip("it selects everything")
    _, y = classes()
    with pytest.raises(ValueError, match="Every column of X is constant"):
        SELECTORS[name]().fit(np.ones((N, D)), y)


@pytest.mark.parametrize("name", NAMES)
def test_sparse_is_dense(name):
    X, y = classes()
    X[np.abs(X) < 0.5] = 0.0
    dense = SELECTORS[name]().fit(X, y)
    for kind in (sp.csr_array, sp.csc_matrix):
        sparse = SELECTORS[name]().fit(kind(X), y)
        np.testing.assert_array_equal(sparse.support_, dense.support_)
        np.testing.assert_allclose(sparse.scores_, dense.scores_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_data_are_not_modified(name):
    X, y = classes()
    before = X.copy()
    SELECTORS[name]().fit(X, y)
    np.testing.assert_array_equal(X, before)
    X.setflags(write=False)
    SELECTORS[name]().fit(X, y)


@pytest.mark.parametrize("name", NAMES)
def test_pipeline_clone_and_pickle(name):
    X, y = classes()
    pipeline = make_pipeline(StandardScaler(), SELECTORS[name](), LogisticRegression()).fit(X, y)
    selector = pipeline[1]
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(pipeline[:-1].transform(X), scaled[:, selector.support_])
    assert clone(selector).get_params() == selector.get_params()
    again = pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(again.transform(X), selector.transform(X))


@pytest.mark.parametrize("name", NAMES)
def test_names_of_classes_do_not_matter(name):
    X, y = classes()
    if "classification" not in selector_info(name).tasks:
        pytest.skip("it takes no classes")
    plain = SELECTORS[name]().fit(X, y)
    named = SELECTORS[name]().fit(X, np.array(["ash", "birch", "cedar"])[y])
    np.testing.assert_array_equal(plain.support_, named.support_)
    assert named.classes_.tolist() == ["ash", "birch", "cedar"]


@pytest.mark.parametrize("name", RANDOM)
def test_the_same_seed_gives_the_same_answer(name):
    X, y = classes(seed=3)
    first, second = (SELECTORS[name](random_state=5).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.scores_, second.scores_)
    np.testing.assert_array_equal(first.support_, second.support_)


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_finds_the_same(name):
    if selector_info(name).kind == "deep":
        pytest.skip("a network is random")
    X, y = classes(n=150)
    double = SELECTORS[name]().fit(X, y)
    single = SELECTORS[name]().fit(X.astype(np.float32), y)
    assert (double.support_ & single.support_).sum() >= double.support_.sum() - 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [0, -1, 1.5, "many", None, True])
def test_a_wrong_number_of_features_is_refused(name, k):
    if name == "AllFeatures":
        pytest.skip("it selects everything")
    X, y = classes()
    with pytest.raises(ValueError, match="n_features_to_select must be an integer of at least 1"):
        SELECTORS[name](k=k).fit(X, y)


@pytest.mark.parametrize("name", NAMES)
def test_a_failed_fit_leaves_the_last_one(name):
    X, y = classes()
    selector = SELECTORS[name]().fit(X, y)
    before = selector.support_.copy()
    bad = X.copy()
    bad[3, 4] = np.nan
    with pytest.raises(ValueError, match="X contains NaN in column 4"):
        selector.fit(bad, y)
    np.testing.assert_array_equal(selector.support_, before)
