"""Scores on held-out samples: selection and scaling happen inside each fold."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rowsparse._arrays import Array, Index
from rowsparse.evaluation import (
    METRICS,
    Predictions,
    Selection,
    default_estimators,
    predict,
    prediction_score,
    select_for_each,
)
from rowsparse.workflow.folds import Splits
from rowsparse.workflow.messages import InputError, setting, shown
from rowsparse.workflow.plan import Plan
from rowsparse.workflow.results import Confusion, Verdict
from rowsparse.workflow.run_log import ProgressCallback, silent
from rowsparse.workflow.table import Table
from rowsparse.workflow.threads import in_threads
from rowsparse.workflow.verdict import compare_with_guessing, guess, verdict_metric

__all__ = [
    "MANY_SAMPLES",
    "Validation",
    "check_folds",
    "confusion",
    "cross_validate",
    "judges",
    "reference_scores",
    "score_metric",
    "select_in_fold",
]


# With more samples a support vector machine takes too long.
MANY_SAMPLES = 2000
# n^2 d beyond which a model on all features takes too long.
_TOO_LARGE = 1e9


@dataclass(frozen=True)
class Validation:
    """Cross-validated scores.

    Attributes
    ----------
    metric : str
        Name of the score.
    ks : tuple of int
        Numbers of features.
    scores : array of shape (n_splits, n_ks)
        Of each fold, with the features selected in it.
    baseline : float
        Mean score with all features, NaN if not computed.
    adjusted : float
        Mean score with the columns alone that are in every model; NaN if there are none.
    chance : array of shape (n_splits,)
        Score of each fold without any feature.
    predicted : tuple of dict of int to Predictions
        For each fold the predictions of its test samples, by the number of features.
    """

    metric: str
    ks: tuple[int, ...]
    scores: Array
    baseline: float
    adjusted: float
    chance: Array
    predicted: tuple[dict[int, Predictions], ...]

    def of(self, k: int) -> Array:
        """The scores of the folds with k features."""
        return np.asarray(self.scores[:, self.ks.index(k)])

    def verdict(self, table: Table, splits: Splits, k: int) -> Verdict:
        """Whether k features predict better than guessing."""
        metric = verdict_metric(table, self.metric)
        scores = [
            prediction_score(metric, table.task, table.y[test], predicted[k])
            for (_, test), predicted in zip(splits, self.predicted, strict=True)
        ]
        return compare_with_guessing(table, splits, metric, np.array(scores))


def judges(task: str, n: int, metric: str | None = None) -> dict[str, Any]:
    """The models that judge a selection from n samples, the linear one first.

    Only those that have probabilities, if the metric is one of these.
    """
    if metric == "log_loss":
        return {"logistic regression": LogisticRegression(max_iter=300)}
    if n <= MANY_SAMPLES or task == "regression":
        return default_estimators(task)
    model = LogisticRegression(max_iter=300)
    if task == "multilabel":
        return {"logistic regression": OneVsRestClassifier(model)}
    return {"logistic regression": model, "1-NN": KNeighborsClassifier(n_neighbors=1)}


def score_metric(table: Table, wanted: str | None) -> str:
    """The metric of the scores; refused if the targets have no such metric."""
    known = METRICS[table.task]
    metric = known[0] if wanted is None else wanted
    if metric not in known:
        raise InputError(
            f"{setting('metric')} for {table.task} is one of {', '.join(known)}; got "
            f"{shown(metric)}."
        )
    return metric


def check_folds(table: Table, splits: Splits, metric: str) -> None:
    """Refuse a metric that some fold has too few classes for."""
    if metric != "auc":
        return
    for _, test in splits:
        truth = table.y[test]
        if not (truth != truth[0]).any():
            raise InputError(
                f"{setting('metric')} auc needs two classes among the test samples of every fold, "
                f"and one of the {len(splits)} folds has one only: take fewer folds "
                f"({setting('cv')}), or another metric."
            )


def select_in_fold(plan: Plan, train: Index, ks: Sequence[int]) -> dict[int, Selection]:
    """What a method selects from the training samples of a fold, for each number of features.

    ``plan`` is that of the fold, see :meth:`Plan.in_fold`. All workflows select in folds by this
    function, so that the same k has the same score in each.
    """
    X, y = plan.table.X[train], plan.table.y[train]
    columns = np.arange(X.shape[1])
    if plan.adjusted and not plan.accepts("include"):
        columns = np.setdiff1d(columns, plan.adjusted)
        X = X[:, columns]
    asked = {k: plan.n_asked(k) for k in ks}
    found = select_for_each(plan.quick(1), X, y, asked.values(), along_path=False)
    return {
        k: replace(
            found[count],
            k=k,
            support=np.union1d(columns[found[count].support], plan.adjusted).astype(np.intp),
        )
        for k, count in asked.items()
    }


def cross_validate(
    plan: Plan,
    ks: Iterable[int],
    splits: Splits,
    *,
    metric: str | None = None,
    with_all: bool = True,
    n_jobs: int | None = None,
    progress: ProgressCallback = silent,
) -> Validation:
    """Score a method by a linear model on held-out folds, for several numbers of features.

    ``metric`` is what the scores are, see :func:`score_metric`.
    ``with_all`` asks for the score with all features too, unless that takes too long.
    """
    n, d = plan.table.X.shape
    counts = tuple(sorted(set(ks)))
    named = score_metric(plan.table, metric)
    model = next(iter(judges(plan.table.task, n, named).values()))
    fold = _Fold(plan, model, counts, named, with_all=with_all and n * n * d <= _TOO_LARGE)
    what = f"Cross-validation, {len(splits)} folds"
    progress(what, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = in_threads(
            [partial(_scored, fold, train, test) for train, test in splits],
            n_jobs,
            lambda count: progress(what, count / len(splits)),
        )
    return Validation(
        metric=named,
        ks=counts,
        scores=np.array([scored.scores for scored in found]),
        baseline=float(np.mean([scored.baseline for scored in found])),
        adjusted=float(np.mean([scored.adjusted for scored in found])),
        chance=np.array([scored.chance for scored in found]),
        predicted=tuple(scored.predicted for scored in found),
    )


def reference_scores(
    plan: Plan, splits: Splits, metric: str, n_jobs: int | None = None
) -> tuple[float, float]:
    """Mean scores over the folds with all features, NaN if that takes too long, and without any."""
    n, d = plan.table.X.shape
    model = next(iter(judges(plan.table.task, n, metric).values()))
    fold = _Fold(plan, model, (), metric, with_all=n * n * d <= _TOO_LARGE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = in_threads([partial(_referred, fold, *split) for split in splits], n_jobs)
    baseline, chance = np.mean(found, axis=0).tolist()
    return baseline, chance


@dataclass(frozen=True)
class _FoldScores:
    """Scores and predictions of a fold for each number of features."""

    scores: list[float]
    baseline: float
    adjusted: float
    chance: float
    predicted: dict[int, Predictions]


def _referred(fold: _Fold, train: Index, test: Index) -> tuple[float, float]:
    return replace(fold, plan=fold.plan.in_fold(train)).references(train, test)


def _scored(fold: _Fold, train: Index, test: Index) -> _FoldScores:
    return replace(fold, plan=fold.plan.in_fold(train)).scored(train, test)


@dataclass(frozen=True)
class _Fold:
    """What is done in each fold."""

    plan: Plan
    model: Any
    ks: tuple[int, ...]
    metric: str
    with_all: bool

    @property
    def table(self) -> Table:
        """The data."""
        return self.plan.table

    def scored(self, train: Index, test: Index) -> _FoldScores:
        """Select and fit on the training samples, predict the test samples."""
        chosen = select_in_fold(self.plan, train, self.ks)
        predicted = {k: self._predicted(chosen[k].support, train, test) for k in self.ks}
        scores = [self._score(predicted[k], test) for k in self.ks]
        adjusted = np.nan
        if self.plan.adjusted:
            alone = self._predicted(np.array(self.plan.adjusted), train, test)
            adjusted = self._score(alone, test)
        baseline, chance = self.references(train, test)
        return _FoldScores(scores, baseline, adjusted, chance, predicted)

    def references(self, train: Index, test: Index) -> tuple[float, float]:
        """The scores with all features and without any."""
        baseline = self._score(self._from_all(train, test), test) if self.with_all else np.nan
        return baseline, self._score(guess(self.table, train, test), test)

    def _predicted(self, chosen: Index, train: Index, test: Index) -> Predictions:
        X, y = self.table.X, self.table.y
        part = X[:, chosen].toarray() if sp.issparse(X) else X[:, chosen]
        fitted = make_pipeline(StandardScaler(), clone(self.model)).fit(part[train], y[train])
        return predict(fitted, part[test], self.table.task)

    def _from_all(self, train: Index, test: Index) -> Predictions:
        X, y = self.table.X, self.table.y
        regression = self.table.task == "regression"
        model = RidgeCV(np.logspace(-2, 4, 7)) if regression else clone(self.model)
        scaler = StandardScaler(with_mean=not sp.issparse(X))
        fitted = make_pipeline(scaler, model).fit(X[train], y[train])
        return predict(fitted, X[test], self.table.task)

    def _score(self, said: Predictions, test: Index) -> float:
        return prediction_score(self.metric, self.table.task, self.table.y[test], said)


def confusion(table: Table, splits: Splits, validation: Validation, k: int) -> Confusion | None:
    """Which classes were predicted for which, with k features; None where there are no classes."""
    if table.task != "classification":
        return None
    classes, code = np.unique(table.y, return_inverse=True)
    counts = np.zeros((classes.size, classes.size), dtype=np.int64)
    accuracies = []
    for (_, test), predicted in zip(splits, validation.predicted, strict=True):
        answer_code = np.searchsorted(classes, predicted[k].answers)
        np.add.at(counts, (code[test], answer_code), 1)
        accuracies.append(float(np.mean(answer_code == code[test])))
    mean, sd = float(np.mean(accuracies)), float(np.std(accuracies))
    return Confusion(table.target.classes, counts, mean, sd)
