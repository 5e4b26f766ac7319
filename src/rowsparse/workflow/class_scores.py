"""How well each class or label is told from the rest, from predictions of held-out samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from rowsparse._arrays import Array, Mask
from rowsparse.evaluation import Predictions
from rowsparse.workflow.cross_validation import Validation
from rowsparse.workflow.folds import Splits
from rowsparse.workflow.table import Table

__all__ = ["ClassScore", "class_scores"]

# As many points of a curve as a figure can show.
_MOST_POINTS = 200


@dataclass(frozen=True)
class ClassScore:
    """How well a class, or a label, is told from the rest, cross-validated.

    Attributes
    ----------
    name : str
    n_samples : int
        How many samples are of it.
    sensitivity : float
        Share of its samples that were predicted as such.
    specificity : float
        Share of the other samples that were not.
    auc : float
        Area under the ROC curve.
    false_positive_rate, true_positive_rate : tuple of float
        Points of the ROC curve.
    """

    name: str
    n_samples: int
    sensitivity: float
    specificity: float
    auc: float
    false_positive_rate: tuple[float, ...]
    true_positive_rate: tuple[float, ...]


def class_scores(
    table: Table, splits: Splits, validation: Validation, k: int
) -> tuple[ClassScore, ...]:
    """Sensitivity, specificity and ROC curve of each class or label; none for numbers.

    Parameters
    ----------
    table : Table
    splits : list of (train, test)
        The folds.
    validation : Validation
        What was predicted in them.
    k : int
        Number of features.

    Returns
    -------
    tuple of ClassScore
        The predictions of all folds are pooled.
    """
    if table.task == "regression":
        return ()
    y = np.concatenate([table.y[test] for _, test in splits])
    said = [predicted[k] for predicted in validation.predicted]
    answers = np.concatenate([one.answers for one in said])
    classes = np.unique(table.y) if table.task == "classification" else None
    values = np.concatenate([_aligned(one, classes) for one in said])
    return tuple(
        _scored(name, *columns)
        for name, columns in zip(
            table.target.classes, _columns(y, answers, values, classes), strict=True
        )
    )


def _aligned(said: Predictions, classes: Array | None) -> Array:
    """The values with a column for every class; one unknown to the model has the lowest value."""
    assert said.values is not None
    if classes is None:
        return said.values
    aligned = np.full((len(said.values), classes.size), said.values.min())
    aligned[:, np.searchsorted(classes, said.classes)] = said.values
    return aligned


def _columns(
    y: Array, answers: Array, values: Array, classes: Array | None
) -> Iterator[tuple[Mask, Mask, Array]]:
    """For each class or label: which samples are of it, which are said to be, and how surely."""
    for at, value in enumerate(values.T):
        if classes is None:
            yield y[:, at] == 1, answers[:, at] == 1, value
        else:
            yield y == classes[at], answers == classes[at], value


def _scored(name: str, is_one: Mask, said_one: Mask, value: Array) -> ClassScore:
    positive, negative = int(is_one.sum()), int((~is_one).sum())
    if not positive or not negative:
        return ClassScore(name, positive, np.nan, np.nan, np.nan, (), ())
    wrong, right, _ = roc_curve(is_one, value)
    at = np.unique(np.linspace(0, wrong.size - 1, _MOST_POINTS).astype(int))
    return ClassScore(
        name,
        positive,
        sensitivity=float(np.mean(said_one[is_one])),
        specificity=float(np.mean(~said_one[~is_one])),
        auc=float(roc_auc_score(is_one, value)),
        false_positive_rate=tuple(wrong[at].tolist()),
        true_positive_rate=tuple(right[at].tolist()),
    )
