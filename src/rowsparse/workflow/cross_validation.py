"""Scores on held-out samples: selection and scaling happen inside each fold."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rowsparse._arrays import Array, Index
from rowsparse.evaluation import (
    METRICS,
    default_estimators,
    folds,
    prediction_scores,
    select_for_each,
)
from rowsparse.workflow.messages import InputError, setting
from rowsparse.workflow.results import Confusion
from rowsparse.workflow.run_log import ProgressCallback, silent
from rowsparse.workflow.table import Table
from rowsparse.workflow.threads import in_threads

__all__ = ["NOT_VALIDATED", "Validation", "cross_validate", "judges", "table_folds"]

# With more samples a support vector machine takes too long.
_MANY_SAMPLES = 2000
# n^2 d beyond which a model on all features takes too long.
_TOO_LARGE = 1e9


@dataclass(frozen=True)
class Validation:
    """Cross-validated scores.

    Attributes
    ----------
    metric : str
        Name of the score.
    scores : array
        Of each fold, with k features selected in it.
    ks : tuple of int
        Numbers of features that were tried.
    over_k : array of shape (n_splits, n_ks)
        The scores with each of them.
    baseline, chance : float
        Mean score with all features (NaN if not computed), and without any.
    confusion : Confusion or None
        For classes.
    """

    metric: str
    scores: Array
    ks: tuple[int, ...]
    over_k: Array
    baseline: float
    chance: float
    confusion: Confusion | None


# Where there is no cross-validation.
NOT_VALIDATED = Validation("", np.full(1, np.nan), (), np.empty((0, 0)), np.nan, np.nan, None)


def judges(task: str, n: int) -> dict[str, Any]:
    """The models that judge a selection from n samples, the linear one first."""
    if n <= _MANY_SAMPLES or task == "regression":
        return default_estimators(task)
    model = LogisticRegression(max_iter=300)
    if task == "multilabel":
        return {"logistic regression": OneVsRestClassifier(model)}
    return {"logistic regression": model, "1-NN": KNeighborsClassifier(n_neighbors=1)}


def table_folds(table: Table, cv: int, seed: int) -> list[tuple[Index, Index]]:
    """The folds of a table; all workflows use the same for the same seed."""
    n = table.X.shape[0]
    most = n if table.task != "classification" else max(table.target.counts)
    if most < 2:
        raise InputError("No class has two samples: there is nothing to learn from.")
    if not 2 <= cv <= most:
        what = "samples" if table.task != "classification" else "samples of the largest class"
        raise InputError(
            f"{setting('cv')} must be between 2 and {most}, the number of {what}; got {cv}."
        )
    return folds(cv, table.X, table.y, table.task, seed)


def cross_validate(
    table: Table,
    selector: Any,
    k: int,
    splits: list[tuple[Index, Index]],
    *,
    also: Sequence[int] = (),
    n_jobs: int | None = None,
    progress: ProgressCallback = silent,
) -> Validation:
    """Score a selector of k features by a linear model on held-out folds.

    ``also`` are further numbers of features to score.
    """
    n, d = table.X.shape
    ks = tuple(sorted({k, *also}))
    model = next(iter(judges(table.task, n).values()))
    fold = _Fold(table, selector, model, k, ks, with_all=n * n * d <= _TOO_LARGE)
    what = f"Cross-validation, {len(splits)} folds"
    progress(what, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = in_threads(
            [partial(fold.scored, train, test) for train, test in splits],
            n_jobs,
            lambda count: progress(what, count / len(splits)),
        )
    over_k = np.array([scored.scores for scored in found])
    return Validation(
        metric=METRICS[table.task][0],
        scores=over_k[:, ks.index(k)],
        ks=ks,
        over_k=over_k,
        baseline=float(np.mean([scored.baseline for scored in found])),
        chance=float(np.mean([scored.chance for scored in found])),
        confusion=_confusion(table, splits, [scored.predicted for scored in found]),
    )


@dataclass(frozen=True)
class _FoldScores:
    """Scores of a fold for each number of features, and the predictions with k of them."""

    scores: list[float]
    baseline: float
    chance: float
    predicted: Any


@dataclass(frozen=True)
class _Fold:
    """What is done in each fold."""

    table: Table
    selector: Any
    model: Any
    k: int
    ks: tuple[int, ...]
    with_all: bool

    def scored(self, train: Index, test: Index) -> _FoldScores:
        """Select and fit on the training samples, predict the test samples."""
        X, y = self.table.X, self.table.y
        once = self.table.is_large and len(self.ks) > 1
        chosen = select_for_each(self.selector, X[train], y[train], self.ks, along_path=once)
        predicted = {k: self._predicted(chosen[k].support, train, test) for k in self.ks}
        guess = DummyRegressor() if self.table.task == "regression" else DummyClassifier()
        blind = guess.fit(np.zeros((train.size, 1)), y[train]).predict(np.zeros((test.size, 1)))
        baseline = self._score(self._from_all(train, test), test) if self.with_all else np.nan
        return _FoldScores(
            [self._score(predicted[k], test) for k in self.ks],
            baseline,
            self._score(blind, test),
            predicted[self.k],
        )

    def _predicted(self, chosen: Index, train: Index, test: Index) -> Any:
        X, y = self.table.X, self.table.y
        part = X[:, chosen].toarray() if sp.issparse(X) else X[:, chosen]
        fitted = make_pipeline(StandardScaler(), clone(self.model)).fit(part[train], y[train])
        return fitted.predict(part[test])

    def _from_all(self, train: Index, test: Index) -> Any:
        X, y = self.table.X, self.table.y
        regression = self.table.task == "regression"
        model = RidgeCV(np.logspace(-2, 4, 7)) if regression else clone(self.model)
        scaler = StandardScaler(with_mean=not sp.issparse(X))
        return make_pipeline(scaler, model).fit(X[train], y[train]).predict(X[test])

    def _score(self, answer: Any, test: Index) -> float:
        task, truth = self.table.task, self.table.y[test]
        metric = METRICS[task][0]
        if metric == "accuracy":  # without the other metrics, which take longer than a fit
            return float(np.mean(answer == truth))
        return prediction_scores(task, truth, answer)[metric]


def _confusion(
    table: Table, splits: list[tuple[Index, Index]], predicted: list[Any]
) -> Confusion | None:
    if table.task != "classification":
        return None
    classes, code = np.unique(table.y, return_inverse=True)
    counts = np.zeros((classes.size, classes.size), dtype=np.int64)
    accuracies = []
    for (_, test), answer in zip(splits, predicted, strict=True):
        answer_code = np.searchsorted(classes, answer)
        np.add.at(counts, (code[test], answer_code), 1)
        accuracies.append(float(np.mean(answer_code == code[test])))
    mean, sd = float(np.mean(accuracies)), float(np.std(accuracies))
    return Confusion(table.target.classes, counts, mean, sd)
