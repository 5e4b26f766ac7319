"""Check a certificate without trusting the program that made it."""

from __future__ import annotations

from typing import Any

import numpy as np

from rowsparse._arrays import Array
from rowsparse.targets import encode_targets, target_array


def verify(X: Any, y: Any, selector: Any, sample_weight: Any = None) -> float:
    """Recompute the root bound of a fitted :class:`rowsparse.TopK` from its dual point.

    With Z the standardised data, Y the centred targets, a = ``selector.dual_coef_`` and
    q_j = ||z_j' a||^2 / ridge, every choice of k features has an objective of at least

        2 <a, Y> - ||a||^2 - (the sum of the k largest q_j).

    This is plain NumPy on the data as given, and shares no code with the search: it makes X dense,
    so it is meant for data of a moderate size. Branch and bound may have proven more than this
    root bound: then ``selector.lower_bound_`` is larger.

    Parameters
    ----------
    X, y, sample_weight
        What the selector was fitted on.
    selector : TopK
        Fitted with ``certify=True``, a ridge (``alpha > 0``) and without groups.

    Returns
    -------
    float
        The bound. It is at most ``selector.lower_bound_``, up to rounding.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import TopK
    >>> from rowsparse.certificate import verify
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = TopK(2, certify=True, random_state=0).fit(X, y)
    >>> bool(verify(X, y, selector) <= selector.objective_)
    True
    """
    if getattr(selector, "dual_coef_", None) is None:
        raise ValueError(
            "selector has no dual point to verify: fit TopK with certify=True and alpha > 0."
        )
    Z, Y, weights = _problem(X, y, selector, sample_weight)
    a = selector.dual_coef_
    q = np.sum((Z.T @ a) ** 2, axis=0 if a.ndim == 1 else 1) / (selector.alpha * weights.sum())
    must, free = selector.included_, ~(selector.included_ | selector.excluded_)
    k = int(selector.support_.sum()) - int(must.sum())
    largest = np.sort(q[free])[::-1][:k]
    return float(2 * np.vdot(a, Y) - np.vdot(a, a) - q[must].sum() - largest.sum())


def _problem(X: Any, y: Any, selector: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
    """Z, Y and the weights: centred, scaled, rows times the square roots of their weights."""
    Z = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    weights = np.ones(len(Z)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    Z, y, weights = Z[weights > 0], target_array(y, len(Z))[weights > 0], weights[weights > 0]
    Y = encode_targets(y, selector.task_).Y
    if selector.class_weight is not None:
        counts = weights @ Y
        per_class = counts.sum() / (counts.size * counts)
        if isinstance(selector.class_weight, dict):
            per_class = np.array([selector.class_weight.get(c, 1.0) for c in selector.classes_])
        weights = weights * (Y @ per_class)
    share = weights / weights.sum()
    if selector.standardize or selector.fit_intercept:
        Z = Z - share @ Z
    if selector.standardize:
        spread = np.sqrt(share @ Z**2)
        Z = Z / np.where(spread > 1e-12 * np.abs(Z).max(axis=0, initial=0), spread, np.inf)
    if selector.fit_intercept:
        Y = Y - share @ Y
    root = np.sqrt(weights)[:, None]
    return root * Z, root * Y, weights
