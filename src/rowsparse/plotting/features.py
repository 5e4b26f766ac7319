"""What pictures ask of a fitted selector: its choice, and the names of the features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rowsparse._arrays import Mask

__all__ = ["feature_names", "fitted_support"]


def fitted_support(estimator: Any) -> Mask:
    """The mask of the selected features; NotFittedError before fit."""
    if not hasattr(estimator, "get_support"):
        raise TypeError(f"estimator must be a selector with get_support; got {estimator!r}.")
    check_is_fitted(estimator)
    return np.asarray(estimator.get_support(), dtype=bool)


def feature_names(estimator: Any, n_features: int) -> list[str]:
    """Names of all columns: those that ``fit`` has seen, or x0, x1, ... as in scikit-learn.

    >>> from rowsparse import TopK
    >>> feature_names(TopK(), 3)
    ['x0', 'x1', 'x2']
    """
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(n_features)] if names is None else [str(name) for name in names]
