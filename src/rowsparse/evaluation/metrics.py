"""What models say of samples and how good it is; unexplained targets, and redundancy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import (
    accuracy_score,
    d2_tweedie_score,
    f1_score,
    mean_absolute_error,
    r2_score,
    recall_score,
    roc_auc_score,
    root_mean_squared_error,
)

from rowsparse._arrays import Array, Index, dense_columns
from rowsparse._validation import check_choice
from rowsparse.evaluation.survival import has_pairs
from rowsparse.selectors.topk.risk_scores import concordance
from rowsparse.targets import NUMERIC_TASKS, encode_targets, target_array


@dataclass(frozen=True)
class Predictions:
    """Predictions of a model.

    ``answers`` are classes, 0/1 labels or numbers. ``values`` are probabilities or decision values
    of each class, with the columns in the order of ``classes``, or of each label; None for numbers,
    and of models that have neither.
    """

    answers: Any
    values: Array | None = None
    classes: Any = None
    are_probabilities: bool = False

    def of(self, rows: Index) -> Predictions:
        """The predictions of some samples."""
        values = None if self.values is None else self.values[rows]
        return replace(self, answers=np.asarray(self.answers)[rows], values=values)


def predict(model: Any, X: Any, task: str) -> Predictions:
    """The predictions of a fitted model of scikit-learn, with probabilities if it has them.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> predict(SVC(kernel="linear").fit(X, y), X, "classification").values.shape
    (150, 3)
    """
    answers = model.predict(X)
    has_values = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    if task in NUMERIC_TASKS or not has_values:
        return Predictions(answers)
    classes = model.classes_ if task == "classification" else None
    has_probabilities = hasattr(model, "predict_proba")
    values = model.predict_proba(X) if has_probabilities else model.decision_function(X)
    if isinstance(values, list):
        # Neighbours and trees have one array for each label, with a column for each value seen.
        parts = zip(values, model.classes_, strict=True)
        values = np.column_stack([part @ (seen == 1) for part, seen in parts])
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 1:
        # Of two classes, a positive decision value speaks for the second.
        values = np.column_stack([-values, values])
    return Predictions(answers, values, classes, has_probabilities)


# The metrics of each kind of target, the usual one first.
METRICS = {
    "classification": ("accuracy", "balanced_accuracy", "macro_f1", "auc", "log_loss"),
    "multilabel": ("macro_f1", "accuracy", "auc"),
    "regression": ("r2", "rmse", "mae"),
    "counts": ("d2", "rmse", "mae"),
    "survival": ("concordance",),
}
# Rates below this count as it: a deviance has the logarithm of rates.
_LEAST_RATE = float(np.finfo(np.float64).tiny)
# Pairs of a target and a prediction that are looked at, and the least number of rotations.
_PAIRS, _LEAST_TURNS = 5000, 5
# These need what a model says for each class, not only its answer.
NEEDS_VALUES = ("auc", "log_loss")


def is_better_low(metric: str) -> bool:
    """Whether a lower score is a better one."""
    return metric in ("log_loss", "mae", "rmse")


def prediction_scores(
    task: str, y_true: Any, predictions: Predictions, metric: str | None = None
) -> dict[str, float]:
    """All metrics of a task that need nothing but the answers, and one of the others if wanted.

    For labels, ``accuracy`` is the share of samples whose labels are all right, and ``macro_f1``
    the mean over the labels of F1, 0 for a label that is never predicted.

    >>> said = Predictions([0, 0, 1, 1])
    >>> scores = prediction_scores("classification", [0, 0, 0, 1], said)
    >>> scores["accuracy"], round(scores["balanced_accuracy"], 3)
    (0.75, 0.833)
    """
    check_choice("task", task, METRICS)
    return {
        name: prediction_score(name, task, y_true, predictions)
        for name in METRICS[task]
        if name == metric or name not in NEEDS_VALUES
    }


def prediction_score(metric: str, task: str, y_true: Any, predictions: Predictions) -> float:
    """One of the metrics that :data:`METRICS` lists for a task.

    ``auc`` is the area under the ROC curve: of several classes, each against the rest, the mean
    over those in `y_true`; of labels, the mean over those that are 0 and 1 in `y_true`. It is NaN
    if there is none. ``log_loss`` is the mean of -log of the probability of the true class, and NaN
    if the model has no probabilities. ``d2`` is the share of the Poisson deviance that the
    predictions explain, as R^2 has it of the squared residuals. ``concordance`` is Harrell's C: the
    share of the pairs of samples in which the one with the earlier event has the higher risk; NaN
    without such a pair.
    """
    answers = predictions.answers
    if metric == "accuracy":
        return float(accuracy_score(y_true, answers))
    if metric == "balanced_accuracy":
        present = np.unique(y_true)
        recall = recall_score(y_true, answers, labels=present, average="macro", zero_division=0.0)
        return float(recall)
    if metric == "macro_f1":
        return float(f1_score(y_true, answers, average="macro", zero_division=0.0))
    if metric == "r2":
        return float(r2_score(y_true, answers))
    if metric == "concordance":
        return concordance(y_true, answers) if has_pairs(y_true) else np.nan
    if metric == "d2":
        return _explained_deviance(np.asarray(y_true, dtype=np.float64), answers)
    if metric == "rmse":
        return float(root_mean_squared_error(y_true, answers))
    if metric == "mae":
        return float(mean_absolute_error(y_true, answers))
    check_choice("metric", metric, METRICS[task])
    return _auc(y_true, predictions) if metric == "auc" else _log_loss(y_true, predictions)


def score_by_chance(metric: str, task: str, y_true: Any, predictions: Predictions) -> float:
    """The score that predictions are expected to have if they are given to the samples at random.

    The mean over all rotations of the predictions, or over some where there are many samples. All
    metrics are means over pairs of a target and a prediction, or follow from such means that do not
    depend on the order, so that one score of all pairs is that of their mean.

    >>> score_by_chance("accuracy", "classification", [0, 0, 1, 1], Predictions([0, 0, 0, 1]))
    0.5
    """
    y_true = np.asarray(y_true)
    if metric == "concordance":
        return 0.5
    n = len(y_true)
    n_turns = min(n, max(_LEAST_TURNS, _PAIRS // n))
    turns = ((np.arange(n_turns) + 0.5) * n / n_turns).astype(np.intp)
    rows = (np.arange(n) + turns[:, None]) % n
    at = np.broadcast_to(np.arange(n), rows.shape)
    return prediction_score(metric, task, y_true[at.ravel()], predictions.of(rows.ravel()))


def _explained_deviance(y_true: Array, rates: Any) -> float:
    """D^2; of counts that are all the same 0, as R^2 is in scikit-learn, and 1 if it is perfect."""
    rates = np.maximum(rates, _LEAST_RATE)
    if len(y_true) < 2:
        return np.nan
    if np.ptp(y_true) == 0:
        return float(np.allclose(y_true, rates))
    return float(d2_tweedie_score(y_true, rates, power=1))


def _auc(y_true: Any, predictions: Predictions) -> float:
    truth, values, classes = np.asarray(y_true), predictions.values, predictions.classes
    assert values is not None
    if classes is None:
        pairs = list(zip(truth.T, values.T, strict=True))
    elif len(classes) == 2:
        pairs = [(truth == classes[1], values[:, 1])]
    else:
        # A class that the model has not seen has the same value in every sample.
        columns = dict(zip(classes.tolist(), values.T, strict=True))
        none = np.zeros(len(truth))
        pairs = [(truth == name, columns.get(name, none)) for name in np.unique(truth).tolist()]
    areas = [roc_auc_score(is_one, value) for is_one, value in pairs if 0 < is_one.mean() < 1]
    return float(np.mean(areas)) if areas else np.nan


def _log_loss(y_true: Any, predictions: Predictions) -> float:
    if not predictions.are_probabilities:
        return np.nan
    values = predictions.values
    assert values is not None
    at = {name: column for column, name in enumerate(predictions.classes.tolist())}
    # A class that the model has not seen has probability 0.
    likely = [
        row[at[name]] if name in at else 0.0
        for name, row in zip(np.asarray(y_true).tolist(), values.tolist(), strict=True)
    ]
    return float(-np.log(np.maximum(likely, np.finfo(np.float64).eps)).mean())


def refitted_objective(X: Any, y: Any, support: Any, *, task: str = "auto") -> float:
    """||Y - XW - 1b'||_F^2 by least squares on the selected, standardised columns.

    Classes count one-hot. It is the least value of the objective that CD-LSR, IPFS and TopK
    (without a ridge) minimise.
    """
    return residue(X, y, support, task=task, fit_intercept=True) ** 2


def residue(
    X: Any, y: Any, support: Any, *, task: str = "auto", fit_intercept: bool = False
) -> float:
    """||Y - XB||_F by least squares on the selected, standardised columns.

    Without an intercept, as Kong & Ding (2014) print it, it cannot fall below the part of Y that
    centred columns do not reach, sqrt(n) ||mean(Y)||, whatever the features.
    """
    Z = _standardized_selection(X, support)
    Y = encode_targets(target_array(y, Z.shape[0]), task)
    target = Y.Y * Y.unit
    if fit_intercept:
        target = target - target.mean(axis=0)
    coefficients = np.linalg.lstsq(Z, target, rcond=None)[0]
    return float(np.linalg.norm(target - Z @ coefficients))


def redundancy(X: Any, support: Any, *, kind: str = "absolute") -> float:
    """How much the selected features repeat one another; 0 for a single one.

    "absolute" is the mean of |corr(f_i, f_j)| over all pairs, between 0 and 1. "published" is the
    redundancy rate as papers print it (An et al. 2021, after Zhao et al. 2010), the sum of
    corr(f_i, f_j) over the pairs i > j divided by k (k - 1): half of a mean in which negative
    correlations cancel positive ones. Constant columns count as uncorrelated.

    >>> X = np.array([[1.0, 1.0, -1.0], [2.0, 2.0, -2.0], [0.0, 0.0, 0.0]])
    >>> rate = redundancy(X, [0, 1, 2], kind="published")
    >>> round(redundancy(X, [0, 1, 2]), 3), round(rate, 3)
    (1.0, -0.167)
    """
    check_choice("kind", kind, ("absolute", "published"))
    Z = _standardized_selection(X, support)
    n, k = Z.shape
    if k < 2:
        return 0.0
    correlation = Z.T @ Z / n
    above = correlation[np.triu_indices(k, 1)]
    if kind == "published":
        return float(above.sum() / (k * (k - 1)))
    return float(np.abs(above).mean())


def _standardized_selection(X: Any, support: Any) -> Array:
    """The selected columns, dense, with mean 0 and standard deviation 1 (0 for constant ones)."""
    Z = dense_columns(X if sp.issparse(X) else np.asarray(X), np.asarray(support))
    Z = Z - Z.mean(axis=0)
    spread = Z.std(axis=0)
    return Z / np.where(spread > 0, spread, np.inf)
