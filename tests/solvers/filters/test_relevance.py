"""One score for each feature from its scores for several labels."""

from __future__ import annotations

import numpy as np

from rowsparse.solvers.filters.relevance import aggregate_labels, varying_labels


def test_ranks_are_counted_from_the_best_and_shared():
    scores = np.array([[5.0, 5.0, 1.0, np.inf, 0.0], [1.0, 2.0, 3.0, 4.0, 0.0]])
    np.testing.assert_allclose(
        aggregate_labels(scores, "mean_rank"), 1.0 / np.array([3.0, 2.5, 3.0, 1.0, 5.0])
    )
    # Another feature at the end changes nobody's rank.
    more = np.column_stack([scores, np.zeros(2)])
    np.testing.assert_array_equal(
        aggregate_labels(more, "mean_rank")[:5], aggregate_labels(scores, "mean_rank")
    )


def test_one_label_is_itself():
    scores = np.array([[3.0, 0.5, np.inf]])
    for rule in ("mean", "max"):
        np.testing.assert_array_equal(aggregate_labels(scores, rule), scores[0])


def test_constant_labels_do_not_vary():
    Y = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(varying_labels(Y), [2])
