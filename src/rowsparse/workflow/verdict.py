"""Whether a selection predicts better than guessing, on the same folds and beyond their noise."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit
from sklearn.dummy import DummyClassifier, DummyRegressor

from rowsparse._arrays import Array, Index
from rowsparse.evaluation import Predictions, is_better_low, predict, prediction_score
from rowsparse.workflow.messages import shown
from rowsparse.workflow.results import Verdict
from rowsparse.workflow.table import Table

__all__ = ["compare_with_guessing", "guess", "imbalance_warning", "verdict_metric"]

# A class with this many times the samples of another makes accuracy say little.
_EXTREME = 10
# Probability with which a gain by chance alone stays below the margin.
_CONFIDENCE = 0.95


def guess(table: Table, train: Index, test: Index) -> Predictions:
    """What is predicted without any feature: the commonest class, or the mean.

    The probabilities of the classes are their shares, and all labels have the same value.
    """
    blind, y = np.zeros((table.X.shape[0], 1)), table.y[train]
    if table.task != "classification":
        model = DummyRegressor() if table.task == "regression" else DummyClassifier()
        answers = model.fit(blind[train], y).predict(blind[test])
        return Predictions(answers, np.zeros(answers.shape))
    return predict(DummyClassifier().fit(blind[train], y), blind[test], table.task)


def imbalance_warning(table: Table) -> str | None:
    """A sentence on the largest and the smallest class, if their sizes differ extremely."""
    if table.task != "classification":
        return None
    counts, names = table.target.counts, table.target.classes
    large, small = int(np.argmax(counts)), int(np.argmin(counts))
    if counts[large] < _EXTREME * counts[small]:
        return None
    return (
        f"The class {shown(names[large])} has {counts[large]:,} samples and {shown(names[small])} "
        f"has {counts[small]:,}: accuracy says little here, so go by balanced accuracy, which "
        "counts every class alike."
    )


def verdict_metric(table: Table, metric: str) -> str:
    """The metric of the verdict on scores: not accuracy if the imbalance is extreme."""
    misleading = metric == "accuracy" and imbalance_warning(table) is not None
    return "balanced_accuracy" if misleading else metric


def compare_with_guessing(
    table: Table, splits: list[tuple[Index, Index]], metric: str, scores: Array
) -> Verdict:
    """Judge the scores of the folds, in that metric, against guessing in the same folds.

    The margin is that of a one-sided t test of the differences, with the variance of Nadeau and
    Bengio (2003), as training samples are shared among the folds.
    """
    guessed = [
        prediction_score(metric, table.task, table.y[test], guess(table, train, test))
        for train, test in splits
    ]
    gains = np.asarray(scores) - guessed
    gains = -gains if is_better_low(metric) else gains
    m = len(splits)
    share = np.mean([test.size / train.size for train, test in splits])
    error = float(np.std(gains, ddof=1) * np.sqrt(1 / m + share))
    margin = float(stdtrit(m - 1, _CONFIDENCE)) * error
    gain = float(gains.mean())
    rounding = 1e-12
    level = "worse" if not gain > rounding else "better" if gain > margin + rounding else "unclear"
    return Verdict(level, metric, gain, margin)
