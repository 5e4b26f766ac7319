"""ILFS: probabilities that neither units nor the order of features change."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris

from rowsparse import ILFS
from tests.selectors.cases import three_classes

X, Y = three_classes()


def test_scores_are_probabilities_and_the_petals_have_the_largest():
    selector = ILFS(2).fit(*load_iris(return_X_y=True))
    assert np.all((selector.scores_ >= 0.0) & (selector.scores_ <= 1.0))
    assert selector.get_support(indices=True).tolist() == [2, 3]
    assert np.all(np.diff(selector.scores_[selector.order_]) <= 0.0)
    assert (selector.n_iter_, selector.converged_) == (1, True)


def test_units_and_order_of_the_features_do_not_matter():
    order = np.random.default_rng(0).permutation(8)
    plain, other = ILFS(2).fit(X, Y), ILFS(2).fit((X * 100 - 7)[:, order], Y)
    np.testing.assert_allclose(other.scores_, plain.scores_[order], atol=1e-6)


def test_learning_the_tokens_raises_the_likelihood():
    selector = ILFS(2, tokens="plsa", max_iter=200).fit(X, Y)
    assert selector.n_iter_ == selector.history_.size > 1
    assert np.all(np.diff(selector.history_) >= -1e-9 * np.abs(selector.history_[1:]))
