"""Missing values: counted and refused, or filled; in folds from their training rows alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array, Index
from rowsparse._text import counted, joined
from rowsparse.workflow.categories import Encoded
from rowsparse.workflow.messages import InputError, holding, quoted, setting, shown

__all__ = ["commonest_category", "fill_missing", "fill_value"]

_WORDS = {"median": "the median", "mean": "the mean", "most_frequent": "the most frequent value"}


def fill_value(known: Array, impute: str) -> float:
    """What replaces the missing values of a column, from those that are there; 0 if none is.

    >>> known = np.array([1.0, 1.0, 4.0, 6.0])
    >>> [fill_value(known, impute) for impute in ("median", "mean", "most_frequent")]
    [2.5, 3.0, 1.0]
    """
    if not known.size:
        return 0.0
    if impute == "most_frequent":
        values, counts = np.unique(known, return_counts=True)
        return float(values[counts.argmax()])
    return float(np.median(known) if impute == "median" else np.mean(known))


def commonest_category(known: Array) -> Array:
    """The row of 0 and 1 that stands for the most frequent value of a category.

    >>> commonest_category(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    array([0., 1.])
    """
    counts = known.sum(axis=0)
    if counts.size == 1:  # the other of two values has no column
        return (2 * counts > len(known)).astype(np.float64)
    return np.asarray(np.arange(counts.size) == counts.argmax(), dtype=np.float64)


def fill_missing(
    X: Any, names: list[str], text: Encoded, impute: str | None
) -> tuple[Any, dict[str, Index], list[str]]:
    """Replace missing values by a statistic of their column; refuse them if ``impute`` is None.

    Returns
    -------
    X : array or sparse matrix
        Without missing values; zeros in columns without any value.
    gaps : dict of str to array of int
        The rows in which a column of numbers or text had none.
    notes : list of str
        Sentences on what was replaced.
    """
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        is_complete = bool(np.isfinite(values.sum(dtype=np.float64)))
    per_column = np.zeros(len(names), dtype=np.intp) if is_complete else _count_missing(X, names)
    missing = {names[j]: int(per_column[j]) for j in np.flatnonzero(per_column).tolist()}
    missing |= {name: rows.size for name, rows in text.missing.items()}
    if not missing:
        return X, {}, []
    if impute is None:
        raise _refusal(missing, len(names) + text.n_columns)
    if sp.issparse(X) and per_column.any():
        raise InputError("Missing values in a sparse matrix cannot be imputed: fill them first.")
    notes = []
    gaps = dict(text.missing)
    empty = per_column == X.shape[0]
    if per_column.any():
        X = np.array(X, order="F")
    for j in np.flatnonzero(per_column).tolist():
        gap = np.isnan(X[:, j])
        gaps[names[j]] = np.flatnonzero(gap)
        X[gap, j] = fill_value(X[~gap, j], impute)
    if empty.any():
        gone = [name for name, yes in zip(names, empty, strict=True) if yes]
        notes.append(f"Columns without any value: {quoted(gone)}.")
    filled = counted(sum(missing.values()) - int(per_column[empty].sum()), "missing value")
    for_text = " (text: its most frequent value)" if text.missing else ""
    notes.append(
        f"{filled} in {counted(len(missing), 'column')} replaced by {_WORDS[impute]} of their "
        f"column{for_text}; in each fold, by that of its training rows."
    )
    return X, gaps, notes


def _count_missing(X: Any, names: list[str]) -> Index:
    """Missing values of each column; infinity is refused."""
    if sp.issparse(X):
        csc = sp.csc_array(X)
        column = np.repeat(np.arange(X.shape[1]), np.diff(csc.indptr))
        infinite = np.unique(column[np.isinf(csc.data)])
        missing = np.bincount(column[np.isnan(csc.data)], minlength=X.shape[1])
    else:
        infinite = np.flatnonzero(np.isinf(X).any(axis=0))
        missing = np.isnan(X).sum(axis=0)
    if infinite.size:
        columns = [names[j] for j in infinite.tolist()]
        raise InputError(f"{holding(columns)} infinity: clip or {setting('drop')}.")
    return np.asarray(missing)


def _refusal(missing: dict[str, int], n_columns: int) -> InputError:
    worst = sorted(missing.items(), key=lambda item: -item[1])[:3]
    most = joined([f"{shown(name)} ({count:,})" for name, count in worst])
    return InputError(
        f"The table has {counted(sum(missing.values()), 'missing value')} in {len(missing):,} of "
        f"{counted(n_columns, 'column')}, most in {most}: fill them with "
        f"{setting('impute', 'median')}, or leave columns out with {setting('drop')}."
    )
