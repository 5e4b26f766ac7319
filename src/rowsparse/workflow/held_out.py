"""What predictions of held-out samples say: scores, the verdict on them, mistakes and curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
    root_mean_squared_error,
)

from rowsparse._arrays import Array, Index, Mask
from rowsparse.evaluation.metrics import is_better_low, score_by_chance
from rowsparse.evaluation.predictions import Predictions, predict
from rowsparse.evaluation.survival import log_rank
from rowsparse.targets import NUMERIC_TASKS
from rowsparse.workflow.results import ClassScore, Confusion, NumberScore, SurvivalScore, Verdict
from rowsparse.workflow.table import Table

__all__ = [
    "COVARIATES",
    "GUESS",
    "SHUFFLED",
    "HeldOut",
    "Splits",
    "guess",
    "judged",
    "one_repetition",
]

Splits = list[tuple[Index, Index]]

# What a selection has to be better than: no features; its own predictions, given to the samples at
# random; and the columns that are in every model.
GUESS, SHUFFLED, COVARIATES = "guess", "shuffled", "covariates"
# The corrected test of a few folds is liberal: at this level, and not at 0.95, noise was called
# better in at most one of twenty tables of every kind.
_CONFIDENCE = 0.975
# As many points of a curve, and as many samples, as a figure can show.
_CURVE_POINTS, _MOST_POINTS = 200, 2000


def guess(table: Table, train: Index, test: Index) -> Predictions:
    """What is predicted without any feature: the commonest class, or the mean.

    The probabilities of the classes are their shares, and all labels, or risks, have the same
    value.
    """
    blind, y = np.zeros((table.X.shape[0], 1)), table.y[train]
    if table.task == "survival":
        return Predictions(np.zeros(test.size))
    if table.task != "classification":
        model = DummyRegressor() if table.task in NUMERIC_TASKS else DummyClassifier()
        answers = model.fit(blind[train], y).predict(blind[test])
        return Predictions(answers, np.zeros(answers.shape))
    return predict(DummyClassifier().fit(blind[train], y), blind[test], table.task)


def one_repetition(splits: Splits, n: int) -> int:
    """How many of the folds have each of the n samples once; the others repeat them."""
    return int(np.searchsorted(np.cumsum([test.size for _, test in splits]), n)) + 1


def judged(metric: str, splits: Splits, scores: Array, opponents: Mapping[str, Array]) -> Verdict:
    """Judge the scores of the folds against those of opponents in the same folds.

    The margin is that of a two-sided t test of the differences at the level of 5 %, with the
    variance of Nadeau and Bengio (2003), as training samples are shared among the folds. Only what
    is beyond the margin of every opponent is better; the verdict is the one on the strongest.
    """
    m = len(splits)
    share = np.mean([test.size / train.size for train, test in splits])
    sign = -1.0 if is_better_low(metric) else 1.0
    found = []
    for name, others in opponents.items():
        gains = sign * (np.asarray(scores) - others)
        gain = float(gains.mean())
        error = float(np.std(gains, ddof=1) * np.sqrt(1 / m + share))
        margin = float(stdtrit(m - 1, _CONFIDENCE)) * error
        rounding = 1e-12
        better = gain > margin + rounding
        level = "better" if better else "unclear" if gain > rounding else "worse"
        found.append(Verdict(level, metric, gain, margin, name, float(np.mean(others))))
    return min(found, key=lambda one: (("worse", "unclear", "better").index(one.level), one.gain))


@dataclass(frozen=True)
class HeldOut:
    """What was predicted in the folds with the numbers of features that were taken in them.

    ``scores`` has the score of each fold, ``predicted`` the predictions of its test samples, and
    ``opponents`` the scores of what needs no selection.
    """

    table: Table
    splits: Splits
    metric: str
    scores: Array
    predicted: tuple[Predictions, ...]
    opponents: Mapping[str, Array]

    def verdict(self) -> Verdict:
        """Whether they predict better than what needs no selection."""
        table = self.table
        shuffled = [
            score_by_chance(self.metric, table.task, table.y[test], said)
            for (_, test), said in zip(self.splits, self.predicted, strict=True)
        ]
        opponents = {**self.opponents, SHUFFLED: np.array(shuffled)}
        return judged(self.metric, self.splits, self.scores, opponents)

    @property
    def truth(self) -> Array:
        """The targets of the test samples, one fold after the other."""
        return np.concatenate([self.table.y[test] for _, test in self.splits])

    @property
    def answers(self) -> Array:
        """The predictions of them."""
        return np.concatenate([one.answers for one in self.predicted])

    def confusion(self) -> Confusion | None:
        """Which classes were predicted for which; None where there are no classes."""
        if self.table.task != "classification":
            return None
        right = [
            float(np.mean(said.answers == self.table.y[test]))
            for (_, test), said in zip(self.splits, self.predicted, strict=True)
        ]
        counts = confusion_matrix(self.truth, self.answers, labels=np.unique(self.table.y))
        return Confusion(
            self.table.target.classes, counts, float(np.mean(right)), float(np.std(right))
        )

    def class_scores(self) -> tuple[ClassScore, ...]:
        """Sensitivity, specificity and curves of each class or label, all folds pooled."""
        if self.table.task not in ("classification", "multilabel"):
            return ()
        y, answers, names = self.truth, self.answers, self.table.target.classes
        if self.table.task == "multilabel":
            every = np.concatenate([one.values for one in self.predicted])
            columns = zip(y.T == 1, answers.T == 1, every.T, strict=True)
        else:
            classes = np.unique(self.table.y)
            every = np.concatenate([_aligned(one, classes) for one in self.predicted])
            columns = zip(y == classes[:, None], answers == classes[:, None], every.T, strict=True)
        return tuple(_class_score(name, *one) for name, one in zip(names, columns, strict=True))

    def number_scores(self) -> tuple[NumberScore, ...]:
        """The errors of each number or count, all folds pooled; none for other targets."""
        if self.table.task not in NUMERIC_TASKS:
            return ()
        guessed = [guess(self.table, train, test).answers for train, test in self.splits]
        observed, predicted, means = (
            np.asarray(values, dtype=np.float64).reshape(len(values), -1)
            for values in (self.truth, self.answers, np.concatenate(guessed))
        )
        return tuple(
            NumberScore(
                name,
                float(root_mean_squared_error(observed[:, j], predicted[:, j])),
                float(root_mean_squared_error(observed[:, j], means[:, j])),
                *_thinned(_MOST_POINTS, observed[:, j], predicted[:, j]),
            )
            for j, name in enumerate(self.table.target.names)
        )

    def survival(self) -> SurvivalScore | None:
        """The halves of the samples by risk; None where the target is no survival time."""
        if self.table.task != "survival":
            return None
        m = one_repetition(self.splits, len(self.table.y))
        splits = self.splits[:m]
        y = np.concatenate([self.table.y[test] for _, test in splits])
        risks = [np.asarray(one.answers) for one in self.predicted[:m]]
        high = np.concatenate([risk > np.median(risk) for risk in risks])
        if high.all() or not high.any():
            return None
        inflation = 1.0 + m * float(np.mean([test.size / train.size for train, test in splits]))
        strata = np.repeat(np.arange(m), [test.size for _, test in splits])
        return SurvivalScore(y, high, log_rank(y, high, strata, inflation=inflation))


def _aligned(said: Predictions, classes: Array) -> Array:
    """The values with a column for every class; one unknown to the model has the lowest value."""
    assert said.values is not None
    aligned = np.full((len(said.values), classes.size), said.values.min())
    aligned[:, np.searchsorted(classes, said.classes)] = said.values
    return aligned


def _class_score(name: str, is_one: Mask, said_one: Mask, value: Array) -> ClassScore:
    positive, negative = int(is_one.sum()), int((~is_one).sum())
    share = positive / is_one.size
    if not positive or not negative:
        return ClassScore(name, positive, share, np.nan, np.nan, np.nan, np.nan)
    precision, recall, _ = precision_recall_curve(is_one, value, drop_intermediate=True)
    return ClassScore(
        name,
        positive,
        share,
        float(np.mean(said_one[is_one])),
        float(np.mean(~said_one[~is_one])),
        float(roc_auc_score(is_one, value)),
        float(average_precision_score(is_one, value)),
        *_thinned(_CURVE_POINTS, *roc_curve(is_one, value)[:2]),
        *_thinned(_CURVE_POINTS, recall, precision),
    )


def _thinned(most: int, *curve: Array) -> Iterator[tuple[float, ...]]:
    """The points of a curve, or `most` of them."""
    at = np.unique(np.linspace(0, curve[0].size - 1, most).astype(int))
    return (tuple(values[at].tolist()) for values in curve)
