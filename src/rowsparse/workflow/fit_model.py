"""The model that is saved with a selection: a linear one, fitted to the selected features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rowsparse._arrays import Array, Index
from rowsparse.workflow.cross_validation import judges
from rowsparse.workflow.model import LinearModel, SavedFeature, SavedModel
from rowsparse.workflow.table import Table

__all__ = ["fit_model", "linear_model", "selector_model"]


def fit_model(
    table: Table, selector: Any, order: Index, method: str, metric: str | None = None
) -> SavedModel:
    """Fit the linear model of the cross-validation to all samples of a table.

    Parameters
    ----------
    table : Table
    selector : object
        Fitted to the table.
    order : array of int
        The selected features, strongest first.
    method : str
        Name of the selector.
    metric : str, optional
        The score of the cross-validation, which decides on its model.
    """
    X = _dense(table.X, order)
    name, judge = next(iter(judges(table, metric).items()))
    scaler, judge = StandardScaler().fit(X), clone(judge)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge.fit(scaler.transform(X), table.y)
    origins = {int(j): table.origin(int(j)) for j in order}
    features = tuple(
        SavedFeature(
            name=table.names[j],
            column=origin,
            value=table.names[j].removeprefix(f"{origin}=") if j in table.made_from else None,
            mean=float(mean),
            scale=float(scale),
        )
        for (j, origin), mean, scale in zip(
            origins.items(), scaler.mean_, scaler.scale_, strict=True
        )
    )
    return SavedModel(
        method=method,
        task=table.task,
        targets=table.target.names,
        classes=_classes(table, judge) if table.task == "classification" else (),
        guess=_guess(table),
        identifiers=table.identifiers,
        columns=tuple(map(table.column, dict.fromkeys(origins.values()))),
        features=features,
        judge=linear_model(name, judge),
        selector=selector_model(method, selector, order, table.task),
        event=str(table.target.values[0]) if table.task == "survival" else None,
        na_values=table.reading.na_values,
    )


def _classes(table: Table, judge: Any) -> tuple[Any, ...]:
    """The classes as they are in the file."""
    return table.target.values or tuple(judge.classes_.tolist())


def _dense(X: Any, columns: Index) -> Array:
    part = X[:, columns]
    return np.asarray(part.toarray() if sp.issparse(part) else part, dtype=np.float64)


def _guess(table: Table) -> tuple[float, ...]:
    if table.task == "classification":
        return (float(np.argmax(table.target.counts)),)
    if table.task == "survival":
        return (0.0,)
    means = np.atleast_1d(table.y.mean(axis=0))
    return tuple((means > 0.5).astype(float) if table.task == "multilabel" else means.tolist())


def linear_model(name: str, judge: Any) -> LinearModel:
    """What a fitted linear classifier or regressor of scikit-learn computes."""
    if isinstance(judge, OneVsRestClassifier):
        width = judge.n_features_in_
        rows = [_label_row(one, width) for one in judge.estimators_]
        coef, intercept = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        return LinearModel(name, "labels", coef, intercept)
    coef, intercept = np.atleast_2d(judge.coef_), np.atleast_1d(judge.intercept_)
    if not hasattr(judge, "classes_"):
        rule = "rates" if isinstance(judge, PoissonRegressor) else "values"
    elif len(judge.classes_) == 2:
        rule = "sign"
    else:
        rule = "pairs" if isinstance(judge, SVC) else "largest"
    return LinearModel(name, rule, np.asarray(coef), np.asarray(intercept))


def _label_row(one: Any, width: int) -> tuple[Array, float]:
    """Coefficients and intercept for one label."""
    if hasattr(one, "coef_"):
        return np.ravel(one.coef_), float(one.intercept_[0])
    # A label that is the same in all samples is always predicted so.
    return np.zeros(width), 1.0 if one.predict(np.zeros((1, width)))[0] else -1.0


def selector_model(method: str, selector: Any, order: Index, task: str) -> LinearModel | None:
    """The own coefficients of a selector, and how they predict; None if it has none."""
    coef, intercept = getattr(selector, "coef_", None), getattr(selector, "intercept_", None)
    if coef is None or intercept is None or np.ndim(coef) > 2:
        return None
    if hasattr(selector, "clip_limits_"):
        return None  # its coefficients are of columns within limits
    rows = np.atleast_2d(coef)
    offsets = np.atleast_1d(intercept)
    if rows.shape[1] <= order.max() or offsets.shape != (len(rows),):
        return None
    rule = "rates" if getattr(selector, "loss_", None) == "poisson" else "values"
    if task == "classification" and len(rows) == 1:
        rule = "sign"
    elif getattr(selector, "loss_", None) == "logistic":
        rule = "labels" if task == "multilabel" else "largest"
    return LinearModel(method, rule, np.asarray(rows[:, order]), np.asarray(offsets))
