"""Scores on samples that took no part: selection and scaling happen inside each fold."""

from __future__ import annotations

import warnings
from collections.abc import Callable
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
from rowsparse.evaluation import METRICS, default_estimators, folds, prediction_scores
from rowsparse.workflow.errors import InputError
from rowsparse.workflow.results import Confusion
from rowsparse.workflow.running import Progress, in_threads, silent
from rowsparse.workflow.table import Table

__all__ = ["Validation", "cross_validate", "judges", "table_folds"]

# From so many samples on a support vector machine takes too long.
_MANY_SAMPLES = 2000
# n^2 d beyond which a model on all features takes too long.
_TOO_LARGE = 1e9


@dataclass(frozen=True)
class Validation:
    """Honest scores.

    Attributes
    ----------
    metric : str
        Name of the score.
    scores : array
        Of each fold, with the features selected in it.
    baseline, chance : float
        Mean score with all features (NaN if not computed), and without any.
    confusion : Confusion or None
        For classes.
    """

    metric: str
    scores: Array
    baseline: float
    chance: float
    confusion: Confusion | None


def judges(task: str, n: int) -> dict[str, Any]:
    """The models that judge a selection from n samples, the linear one first."""
    if n <= _MANY_SAMPLES or task == "regression":
        return default_estimators(task)
    model = LogisticRegression(max_iter=300)
    if task == "multilabel":
        return {"logistic regression": OneVsRestClassifier(model)}
    return {"logistic regression": model, "1-NN": KNeighborsClassifier(n_neighbors=1)}


def table_folds(table: Table, cv: int, seed: int) -> list[tuple[Index, Index]]:
    """The folds of every command, the same for the same seed."""
    n = table.X.shape[0]
    most = n if table.task != "classification" else max(table.target.counts)
    if most < 2:
        raise InputError("No class has two samples: there is nothing to learn from.")
    if not 2 <= cv <= most:
        what = "samples" if table.task != "classification" else "samples of the largest class"
        raise InputError(f"--cv must be between 2 and {most}, the number of {what}; got {cv}.")
    return folds(cv, table.X, table.y, table.task, seed)


def cross_validate(
    table: Table,
    make_selector: Callable[[], Any],
    splits: list[tuple[Index, Index]],
    *,
    n_jobs: int | None = None,
    progress: Progress = silent,
) -> Validation:
    """Score a selector by a linear model, on folds that neither has seen."""
    n, d = table.X.shape
    model = next(iter(judges(table.task, n).values()))
    with_all = n * n * d <= _TOO_LARGE
    work = [partial(_fold, table, make_selector, model, train, test, with_all)
            for train, test in splits]  # fmt: skip
    what = f"Cross-validation, {len(splits)} folds"
    progress(what, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = in_threads(work, n_jobs, lambda count: progress(what, count / len(splits)))
    metric = METRICS[table.task][0]
    scores = np.array([fold.score for fold in found])
    return Validation(
        metric=metric,
        scores=scores,
        baseline=float(np.mean([fold.baseline for fold in found])),
        chance=float(np.mean([fold.chance for fold in found])),
        confusion=_confusion(table, splits, [fold.predicted for fold in found]),
    )


@dataclass(frozen=True)
class _Fold:
    score: float
    baseline: float
    chance: float
    predicted: Any


def _fold(
    table: Table,
    make_selector: Callable[[], Any],
    model: Any,
    train: Index,
    test: Index,
    all_: bool,
) -> _Fold:
    X, y = table.X, table.y
    chosen = np.flatnonzero(make_selector().fit(X[train], y[train]).get_support())
    part = X[:, chosen].toarray() if sp.issparse(X) else X[:, chosen]
    fitted = make_pipeline(StandardScaler(), clone(model)).fit(part[train], y[train])
    predicted = fitted.predict(part[test])
    metric = METRICS[table.task][0]

    def score(answer: Any) -> float:
        if metric == "accuracy":  # without the other metrics, which take longer than a fit
            return float(np.mean(answer == y[test]))
        return prediction_scores(table.task, y[test], answer)[metric]

    guess = DummyRegressor() if table.task == "regression" else DummyClassifier()
    chance = guess.fit(np.zeros((train.size, 1)), y[train]).predict(np.zeros((test.size, 1)))
    baseline = np.nan
    if all_:
        everything = RidgeCV(np.logspace(-2, 4, 7)) if table.task == "regression" else clone(model)
        scaler = StandardScaler(with_mean=not sp.issparse(X))
        baseline = score(make_pipeline(scaler, everything).fit(X[train], y[train]).predict(X[test]))
    return _Fold(score(predicted), baseline, score(chance), predicted)


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
