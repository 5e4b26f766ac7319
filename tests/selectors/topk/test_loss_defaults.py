"""What loss="auto" and alpha="auto" stand for."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from rowsparse import Moments, TopK, TopKCV, topk_path
from rowsparse.selectors.topk import loss_defaults
from rowsparse.selectors.topk.loss_defaults import DEFAULTS, MANY_SAMPLES, effective_loss


def labelled(n=40, d=6):
    X = np.random.default_rng(0).standard_normal((n, d))
    Y = (X[:, :2] + 0.5 * X[:, 2:4] > 0).astype(int)
    return X, Y


@pytest.mark.parametrize("task", ["classification", "multilabel", "regression"])
def test_only_auto_depends_on_the_targets(task):
    for loss in ("squared", "l21", "logistic"):
        assert effective_loss(loss, task, 10**7) == loss
    few = "squared" if task == "regression" else "logistic"
    assert effective_loss("auto", task, MANY_SAMPLES) == few
    for many in (MANY_SAMPLES + 1, np.inf):
        assert effective_loss("auto", task, many) == "squared"


def test_the_default_of_numbers_is_a_smaller_ridge_from_samples_and_from_moments():
    X, _ = labelled()
    y = X[:, 0] + X[:, 1]
    for selector in (TopK(2).fit(X, y), TopK(2).fit_moments(Moments().update(X, y))):
        assert (selector.loss_, selector.alpha_) == ("squared", 0.1)
    assert TopKCV(k_max=2, cv=3).fit(X, y).alpha_ == 0.1


def test_moments_and_blocks_have_the_squared_loss_and_many_samples_too(monkeypatch):
    X, Y = labelled()
    y = Y[:, 0]
    squared = TopK(2, loss="squared", random_state=0).fit(X, y)
    monkeypatch.setattr(loss_defaults, "MANY_SAMPLES", len(y) - 1)
    found = [TopK(2, random_state=0).fit(X, y), TopK(2, random_state=0).partial_fit(X, y)]
    for selector in found:
        assert (selector.loss_, selector.alpha_) == ("squared", 0.5)
        np.testing.assert_array_equal(selector.get_support(), squared.get_support())


def test_the_restarts_depend_on_the_loss():
    X, Y = labelled(n=60, d=30)
    for loss in ("logistic", "squared"):
        auto = TopK(4, loss=loss, random_state=0).fit(X, Y)
        named = TopK(4, loss=loss, n_restarts=DEFAULTS[loss].n_restarts, random_state=0).fit(X, Y)
        assert auto.n_starts_ == named.n_starts_
    with pytest.raises(ValueError, match="n_restarts must be an integer of at least 0, or 'auto'"):
        TopK(4, n_restarts="many").fit(X, Y)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_default_alpha_is_that_of_the_loss(loss):
    X, y = load_iris(return_X_y=True)
    default = TopK(2, loss=loss, random_state=0).fit(X, y)
    named = TopK(2, loss=loss, alpha=DEFAULTS[loss].alpha, random_state=0).fit(X, y)
    assert (default.loss_, default.alpha_) == (loss, DEFAULTS[loss].alpha)
    assert default.objective_ == named.objective_
    path = topk_path(X, y, 2, loss=loss, random_state=0)
    assert path.objectives[-1] == pytest.approx(named.objective_, rel=1e-9)
    chooser = TopKCV(k_max=2, loss=loss, cv=3, random_state=0).fit(X, y)
    assert (chooser.loss_, chooser.alpha_) == (loss, DEFAULTS[loss].alpha)


def test_auto_equals_the_loss_that_it_stands_for():
    X, Y = labelled()
    for y, loss in ((Y[:, 0], "logistic"), (Y, "logistic"), (X[:, 0] + X[:, 1], "squared")):
        auto = TopK(2, loss="auto", random_state=0).fit(X, y)
        named = TopK(2, loss=loss, random_state=0).fit(X, y)
        assert auto.loss_ == loss
        np.testing.assert_array_equal(auto.get_support(), named.get_support())
        assert auto.objective_ == named.objective_
        paths = [topk_path(X, y, 3, loss=one, random_state=0) for one in ("auto", loss)]
        np.testing.assert_array_equal(paths[0].objectives, paths[1].objectives)
        choosers = [
            TopKCV(k_max=3, loss=one, cv=3, random_state=0).fit(X, y) for one in ("auto", loss)
        ]
        assert choosers[0].loss_ == loss
        np.testing.assert_array_equal(choosers[0].get_support(), choosers[1].get_support())
