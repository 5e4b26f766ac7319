"""Correlations of chosen columns with all others, and the closest columns that were left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array, Index
from rowsparse.design import Units, make_design

__all__ = ["closest_left_out", "correlations_with"]


def correlations_with(X: Any, columns: Index, units: Units | None = None) -> Array:
    """Correlations of some columns with all, of shape (n_chosen, n_features).

    Constant columns count as uncorrelated.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Data.
    columns : array of int
        The chosen columns.
    units : Units, optional
        Means and inverse standard deviations of all columns, where they are known already.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [3.0, 6.0, 3.0]])
    >>> correlations_with(X, np.array([0])).round(2)
    array([[1.  , 1.  , 0.87]])
    """
    if units is None:
        units = make_design(X, center=True, scale=True)[1]
    part = X[:, columns]
    part = np.asarray(part.toarray() if sp.issparse(part) else part, dtype=np.float64)
    Z = (part - units.mean[columns]) * units.inv_scale[columns]
    # Z is centred, so that X need not be.
    products = np.asarray((X.T @ Z).T if sp.issparse(X) else Z.T @ X)
    return np.clip(products * units.inv_scale / Z.shape[0], -1.0, 1.0)


def closest_left_out(correlations: Array, taken: Index, n_closest: int) -> Index:
    """For each row of correlations the columns with the largest ones, but for those taken.

    >>> closest_left_out(np.array([[1.0, 0.2, -0.9, 0.5]]), np.array([0]), 2)
    array([[2, 3]])
    """
    left = np.setdiff1d(np.arange(correlations.shape[1]), taken)
    order = np.argsort(-np.abs(correlations[:, left]), axis=1, kind="stable")
    return np.asarray(left[order[:, :n_closest]])
