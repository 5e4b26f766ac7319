"""What loss="auto" and alpha="auto" stand for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from rowsparse import TopK, TopKCV, topk_path
from rowsparse.selectors.topk.losses import DEFAULT_ALPHAS, effective_alpha, effective_loss


def labelled(n=40, d=6):
    X = np.random.default_rng(0).standard_normal((n, d))
    Y = (X[:, :2] + 0.5 * X[:, 2:4] > 0).astype(int)
    return X, Y


@pytest.mark.parametrize("task", ["classification", "multilabel", "regression"])
def test_only_auto_depends_on_the_targets(task):
    for loss in ("squared", "l21", "logistic"):
        assert effective_loss(loss, task) == loss
    assert effective_loss("auto", task) == ("squared" if task == "regression" else "logistic")


def test_a_number_is_taken_for_every_loss():
    assert effective_alpha(0, "logistic") == 0.0
    assert effective_alpha(np.float32(0.25), "squared") == 0.25


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_default_alpha_is_that_of_the_loss(loss):
    X, y = load_iris(return_X_y=True)
    default = TopK(2, loss=loss, random_state=0).fit(X, y)
    named = TopK(2, loss=loss, alpha=DEFAULT_ALPHAS[loss], random_state=0).fit(X, y)
    assert (default.loss_, default.alpha_) == (loss, DEFAULT_ALPHAS[loss])
    assert default.objective_ == named.objective_
    path = topk_path(X, y, 2, loss=loss, random_state=0)
    assert path.objectives[-1] == pytest.approx(named.objective_, rel=1e-9)
    chooser = TopKCV(k_max=2, loss=loss, cv=3, random_state=0).fit(X, y)
    assert (chooser.loss_, chooser.alpha_) == (loss, DEFAULT_ALPHAS[loss])


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


def test_alpha_is_reported_in_the_units_of_the_user():
    X, _ = labelled()
    y = X[:, 0] - X[:, 1]
    selector = TopK(2, alpha=1e-190, standardize=False, random_state=0).fit(X * 1e-100, y)
    assert selector.alpha_ == pytest.approx(1e-190, rel=1e-12)
