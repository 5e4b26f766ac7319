"""TopK as a selector: constraints by name, groups, and what it refuses."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from rowsparse import RFS, RPFS, TopK
from tests.selectors.cases import numbers_of_three


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_columns_and_groups_by_name_and_by_index_agree(wine, loss):
    X, y = wine
    at = dict(zip(X.columns, range(13), strict=True))
    names = {"include": ["ash"], "exclude": ["proline", "hue"]}
    groups = [["ash", "hue"], ["alcohol", "proline", "flavanoids"]]
    for rules in (names, {"include": ["hue"], "exclude": ["proline"], "feature_groups": groups}):
        places = {key: [at[name] for name in some] for key, some in rules.items() if key[0] != "f"}
        if "feature_groups" in rules:
            places["feature_groups"] = [[at[name] for name in group] for group in groups]
        options = {"loss": loss, "n_restarts": 2, "random_state": 0}
        by_name, by_index = (TopK(4, **some, **options).fit(X, y) for some in (rules, places))
        np.testing.assert_array_equal(by_name.support_, by_index.support_)
        assert set(rules["include"]) <= set(by_name.get_feature_names_out())
        assert not set(rules["exclude"]) & set(by_name.get_feature_names_out())
    whole = [set(group) <= set(by_name.get_feature_names_out()) for group in groups]
    assert whole == [True, False]


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


def test_perfect_fit_is_answered_with_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 40)), rng.standard_normal(10)
    with pytest.warns(UserWarning, match="the choice is arbitrary"):
        selector = TopK(12, alpha=0.0, random_state=0).fit(X, y)
    assert selector.support_.sum() == 12


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


# ------------------------------------------------------------------------------ logistic loss
LOGISTIC = {"loss": "logistic", "alpha": 0.05, "random_state": 0}


def test_labels_of_one_hot_classes_are_the_classes(wine):
    X, y = wine
    classes, labels = (
        TopK(3, **LOGISTIC).fit(X, y),
        TopK(3, **LOGISTIC).fit(X, np.eye(3, dtype=int)[y]),
    )
    assert labels.task_ == "multilabel"
    np.testing.assert_array_equal(classes.support_, labels.support_)
    assert classes.objective_ == labels.objective_


def test_a_label_that_all_samples_share_changes_nothing(wine):
    X, y = wine
    Y = np.eye(3, dtype=int)[y]
    some, more = (
        TopK(3, **LOGISTIC).fit(X, Y),
        TopK(3, **LOGISTIC).fit(X, np.column_stack([np.ones(len(Y), int), Y])),
    )
    np.testing.assert_array_equal(some.support_, more.support_)
    assert more.objective_ == pytest.approx(some.objective_, rel=1e-12)
    np.testing.assert_array_equal(more.coef_[0], 0.0)
    assert more.intercept_[0] > 30


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("seed", range(6))
def test_separable_classes_without_a_ridge_stay_within_the_floats(seed):
    X = np.random.default_rng(seed).standard_normal((60, 12))
    selector = TopK(3, loss="logistic", alpha=0.0, random_state=0).fit(X, X[:, 0] > 0)
    assert selector.support_[0]
    assert 0.0 <= selector.objective_ < 1e-9
    assert np.isfinite(selector.coef_).all()


# ----------------------------------------------------------------- a sample far off, robust loss
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("labels", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_robust_fit_with_a_sample_far_off_is_certified(labels):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15, 25))
    y = rng.integers(0, 3, 15) if labels else X[:, :3] @ rng.standard_normal((3, 3))
    X[4] *= 1e8
    selector = TopK(3, loss="l21", gamma=1.0, random_state=0).fit(X, y)
    assert selector.converged_
    assert selector.refit_gap_ <= 1e-8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_robust_fit_sees_past_a_sample_far_off_in_columns_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15, 40))
    Y = X[:, :3] @ rng.standard_normal((3, 3))
    X[0] *= 1e8
    options = {"gamma": 0.1, "standardize": False, "fit_intercept": False}
    selector = TopK(5, loss="l21", random_state=0, **options).fit(X, Y)
    assert set(np.flatnonzero(selector.support_)) >= {0, 1, 2}
    # A splitting ends where nothing but that sample is fitted. How far a fit gets beyond that
    # depends on rounding, and so on the processor.
    assert selector.objective_ < 0.5 * np.linalg.norm(Y, axis=1).sum()
