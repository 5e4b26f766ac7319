"""The experiment that all five papers share: accuracy over the number of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from reproduction.declare import Row, Task
from rowsparse.datasets import load
from rowsparse.evaluation import SelectionCurve, selection_curve
from rowsparse.selectors import get_selector, selector_info

__all__ = ["accuracy_rows", "judges"]

# The number of samples from which on libsvm is too slow and liblinear takes its place.
_MANY = 4000


def judges(names: list[str], n: int, task: str, trees: int = 100) -> dict[str, Any]:
    """The classifiers that the papers use, by the names of their tables."""
    machine: Any = SVC(kernel="linear", C=1.0)
    if n > _MANY:
        machine = LinearSVC(C=1.0, random_state=0)
    known = {
        "1-NN": KNeighborsClassifier(n_neighbors=1),
        "3-NN": KNeighborsClassifier(n_neighbors=3),
        "linear SVM": machine,
        # The ridge only keeps the solution apart where columns depend on each other.
        "least squares": RidgeClassifier(alpha=1e-6),
        "random forest": RandomForestClassifier(trees, random_state=0),
    }
    wrapped = {"linear SVM"} if task == "multilabel" else set()
    return {
        name: OneVsRestClassifier(known[name]) if name in wrapped else known[name] for name in names
    }


def accuracy_rows(task: Task) -> list[Row]:
    """One method on one data set, over all k and folds of one repetition.

    The options are ``ks``; ``estimators``; ``protocol``; ``params`` of the selector; and
    either ``folds`` or ``train_share`` with ``splits``.
    """
    data = load(task.dataset, download=False)
    options = dict(task.options)
    ks = [k for k in options["ks"] if k <= data.X.shape[1]]
    selector = get_selector(_base(task.method), 1, **options.get("params", {}))
    curve = selection_curve(
        {task.method: selector},
        data.X,
        data.y,
        ks,
        judges(options["estimators"], data.X.shape[0], data.task),
        cv=_folds(options, data.task, task.split),
        protocol=options["protocol"],
        random_state=task.split,
    )
    return _rows(curve, task)


def _base(method: str) -> str:
    """The selector behind the name of a method: ``rfs (gamma 1)`` is an ``rfs``."""
    return selector_info(method.partition(" ")[0]).name


def _folds(options: dict[str, Any], task: str, seed: int) -> Any:
    classes = task == "classification"
    if "train_share" in options:
        kind = StratifiedShuffleSplit if classes and options.get("stratify", True) else ShuffleSplit
        return kind(options["splits"], train_size=options["train_share"], random_state=seed)
    kind = StratifiedKFold if classes else KFold
    return kind(options["folds"], shuffle=True, random_state=seed)


def _rows(curve: SelectionCurve, task: Task) -> list[Row]:
    """Means over the folds of one repetition: the spread of interest is between repetitions."""
    rows = []
    for k in curve.ks:
        steady = curve.stability(task.method, k)
        for estimator in curve.estimators:
            scores = {
                metric: float(np.mean(curve.values(metric, task.method, estimator, k)))
                for metric in curve.metrics
            }
            rows.append(
                {
                    "dataset": task.dataset,
                    "method": task.method,
                    "protocol": curve.protocol,
                    "split": task.split,
                    "k": k,
                    "estimator": estimator,
                    **scores,
                    "stability": steady[0],
                    **{
                        what: float(np.mean(curve.values(what, task.method, estimator, k)))
                        for what in ("objective", "redundancy", "seconds")
                    },
                }
            )
    return rows
