"""One fit for all k gives what single fits give."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.feature_selection import RFE, SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from rowsparse import CRFS, MTFS, RFS, AllFeatures, LpInf, TopK, TopKCV, topk_path
from rowsparse.evaluation.supports import path_of, select_for_each, selecting_k, strongest_first


@pytest.fixture(scope="module")
def digits():
    """80 digits, the 24 pixels of the middle rows."""
    X, y = load_digits(return_X_y=True)
    return X[:80, 24:48], y[:80]


def single(selector, X, y, k):
    return np.flatnonzero(selecting_k(selector, k).fit(X, y).get_support()).tolist()


@pytest.mark.parametrize(
    ("selector", "shared"),
    [
        (TopK(1, n_restarts=0, random_state=0), False),
        (RFS(1, gamma=5.0), True),
        (RFS(1), False),
        (LpInf(1, gamma=20.0), True),
        (MTFS(1, gamma=5.0), True),
        (CRFS(1), True),
        (SelectKBest(f_classif), True),
        (RFE(LinearSVC(random_state=0)), True),
        (RFE(LogisticRegression(C=1e-3), step=5), False),
        (AllFeatures(), False),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_shared_fits_equal_single_fits(digits, selector, shared):
    X, y = digits
    found = select_for_each(selector, X, y, [7, 3, 12, 1000])
    assert list(found) == [3, 7, 12, 1000]
    for k, selection in found.items():
        assert selection.shared == shared
        expected = range(24) if k == 1000 else single(selector, X, y, k)
        assert selection.support.tolist() == list(expected)
    assert not select_for_each(SelectKBest(f_classif), X, y, [4])[4].shared


def test_many_k_go_along_the_path(digits):
    X, y = digits
    selector = TopK(1, alpha=1.0, random_state=0)
    found = select_for_each(selector, X, y, range(1, 11))
    assert all(s.shared for s in found.values())
    for k in (1, 2, 5):
        assert found[k].support.tolist() == single(selector, X, y, k)
    for ks, along_path in (([2, 3], True), (range(1, 11), False)):
        asked = select_for_each(selector, X, y, ks, along_path=along_path)
        assert {s.shared for s in asked.values()} == {along_path}


def test_seeds_are_for_selectors_without_one():
    assert selecting_k(TopK(1), 3, seed=5).random_state == 5
    assert selecting_k(TopK(1, random_state=1), 3, seed=5).random_state == 1
    assert selecting_k(RFS(1), 3, seed=5).n_features_to_select == 3


def test_a_selector_without_a_count_is_refused():
    with pytest.raises(TypeError, match="does not say how many features to select"):
        selecting_k(LogisticRegression(), 3)


@pytest.mark.parametrize("selector", [TopK(5, random_state=0), RFS(5, gamma=5.0), SelectKBest(k=5)])
@pytest.mark.filterwarnings("ignore")
def test_the_strongest_feature_comes_first(digits, selector):
    selector.fit(*digits)
    order = strongest_first(selector)
    assert sorted(order) == np.flatnonzero(selector.get_support()).tolist()
    assert (np.diff(selector.scores_[order]) <= 0).all()


def test_the_path_has_the_parameters_of_the_selector(digits):
    X, y = digits
    options = {"alpha": 3.0, "include": [2], "random_state": 0}
    expected = topk_path(X, y, 4, **options)
    for found in (
        path_of(TopK(9, **options), X, y, 4),
        path_of(TopKCV(k_max=7, **options), X, y, 4),
        path_of(TopKCV(**options | {"alpha": 1.0}), X, y, 4, alpha=3.0),
    ):
        assert np.array_equal(found.objectives, expected.objectives)
        assert np.array_equal(found.membership, expected.membership)
