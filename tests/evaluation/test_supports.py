"""One fit for all k gives what single fits give."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.feature_selection import RFE, SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from rowsparse import CRFS, MTFS, RFS, AllFeatures, LpInf, TopK, TopKCV, topk_path
from rowsparse.evaluation import select_for_each, with_count
from rowsparse.evaluation.supports import path_of, strongest_first


@pytest.fixture(scope="module")
def digits():
    """80 digits, the 24 pixels of the middle rows."""
    X, y = load_digits(return_X_y=True)
    return X[:80, 24:48], y[:80]


def single(selector, X, y, k):
    return np.flatnonzero(with_count(selector, k).fit(X, y).get_support()).tolist()


@pytest.mark.parametrize(
    "selector",
    [
        TopK(1, n_restarts=0, random_state=0),
        RFS(1, gamma=5.0),
        RFS(1),
        LpInf(1, gamma=20.0),
        MTFS(1, gamma=5.0),
        CRFS(1),
        SelectKBest(f_classif),
        RFE(LinearSVC(random_state=0)),
        RFE(LogisticRegression(C=1e-3), step=5),
    ],
    ids=lambda selector: type(selector).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_shared_fits_equal_single_fits(digits, selector):
    X, y = digits
    found = select_for_each(selector, X, y, [7, 3, 12])
    assert list(found) == [3, 7, 12]
    for k, selection in found.items():
        assert selection.support.tolist() == single(selector, X, y, k)


@pytest.mark.filterwarnings("ignore")
def test_filters_and_elimination_share_one_fit(digits):
    X, y = digits
    for selector in (SelectKBest(f_classif), RFE(LinearSVC(random_state=0)), RFS(1, gamma=5.0)):
        assert all(s.shared for s in select_for_each(selector, X, y, [2, 4]).values())
    assert not select_for_each(SelectKBest(f_classif), X, y, [4])[4].shared
    tuned = select_for_each(RFS(1), X, y, [2, 4])
    assert not any(s.shared for s in tuned.values())


def test_many_k_go_along_the_path(digits):
    X, y = digits
    selector = TopK(1, alpha=1.0, random_state=0)
    found = select_for_each(selector, X, y, range(1, 11))
    assert all(s.shared for s in found.values())
    for k in (1, 2, 5):
        assert found[k].support.tolist() == single(selector, X, y, k)


def test_the_path_can_be_asked_for_or_left_out(digits):
    X, y = digits
    selector = TopK(1, random_state=0)
    assert all(s.shared for s in select_for_each(selector, X, y, [2, 3], along_path=True).values())
    many = select_for_each(selector, X, y, range(1, 11), along_path=False)
    assert not any(s.shared for s in many.values())


@pytest.mark.filterwarnings("ignore")
def test_groups_go_along_the_path_too(digits):
    X, y = digits
    selector = TopK(1, feature_groups=np.arange(24) // 4, random_state=0)
    found = select_for_each(selector, X, y, range(1, 11))
    assert [found[k].support.size for k in (1, 2, 6, 10)] == [4, 8, 24, 24]
    assert found[2].support.tolist() == single(selector, X, y, 2)


@pytest.mark.filterwarnings("ignore")
def test_more_features_than_columns_are_all(digits):
    X, y = digits
    found = select_for_each(SelectKBest(f_classif), X, y, [5, 1000])
    assert found[1000].support.tolist() == list(range(24))


def test_everything_is_everything_for_every_k(digits):
    X, y = digits
    found = select_for_each(AllFeatures(), X, y, [2, 4])
    assert all(s.support.tolist() == list(range(X.shape[1])) for s in found.values())


def test_seeds_are_for_selectors_without_one():
    assert with_count(TopK(1), 3, seed=5).random_state == 5
    assert with_count(TopK(1, random_state=1), 3, seed=5).random_state == 1
    assert with_count(RFS(1), 3, seed=5).n_features_to_select == 3


def test_a_selector_without_a_count_is_refused():
    with pytest.raises(TypeError, match="does not say how many features to select"):
        with_count(LogisticRegression(), 3)


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
