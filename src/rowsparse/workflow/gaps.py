"""Missing values: counted and refused, or filled."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array, Index
from rowsparse.workflow.categories import Encoded
from rowsparse.workflow.errors import InputError, listed, shown

__all__ = ["without_gaps"]


def without_gaps(
    X: Any, names: list[str], text: Encoded, impute: str | None, n: int
) -> tuple[Any, list[str]]:
    """X with medians in the place of missing values, or a sentence that counts them."""
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        whole = bool(np.isfinite(values.sum(dtype=np.float64)))
    per_column = np.zeros(len(names), dtype=np.intp) if whole else _gaps(X, names)
    missing = {names[j]: int(per_column[j]) for j in np.flatnonzero(per_column).tolist()}
    missing |= text.missing
    if not missing:
        return X, []
    total = sum(missing.values())
    if impute is None:
        raise InputError(_refusal(missing, total, len(names) + text.n_columns))
    if sp.issparse(X) and per_column.any():
        raise InputError("Missing values in a sparse matrix cannot be imputed: fill them first.")
    notes = []
    empty = per_column == n
    if per_column.any():
        X = _filled(X, per_column)
    if empty.any():
        gone = [name for name, yes in zip(names, empty, strict=True) if yes]
        notes.append(f"Columns without any value: {listed(gone)}.")
    how = "the median of their column" + (
        " (text: its most frequent value)" if text.missing else ""
    )
    counted = _count(total - int(per_column[empty].sum()), "missing value")
    notes.append(f"{counted} in {_count(len(missing), 'column')} replaced by {how}, over all rows.")
    return X, notes


def _gaps(X: Any, names: list[str]) -> Index:
    """Missing values of each column; infinity is refused."""
    if sp.issparse(X):
        csc = sp.csc_array(X)
        column = np.repeat(np.arange(X.shape[1]), np.diff(csc.indptr))
        infinite = np.isinf(csc.data)
        bad = np.unique(column[infinite])
        gaps = np.bincount(column[np.isnan(csc.data)], minlength=X.shape[1])
    else:
        bad = np.flatnonzero(np.isinf(X).any(axis=0))
        gaps = np.isnan(X).sum(axis=0)
    if bad.size:
        who = listed([names[j] for j in bad.tolist()])
        raise InputError(f"{who} {'holds' if bad.size == 1 else 'hold'} infinity: clip or --drop.")
    return np.asarray(gaps)


def _filled(X: Array, per_column: Index) -> Array:
    """Medians in the place of missing values; zeros in columns without any value."""
    X = np.array(X, order="F")
    for j in np.flatnonzero(per_column).tolist():
        gap = np.isnan(X[:, j])
        X[gap, j] = 0.0 if gap.all() else np.median(X[~gap, j])
    return X


def _refusal(missing: dict[str, int], total: int, n_columns: int) -> str:
    worst = sorted(missing.items(), key=lambda item: -item[1])[:3]
    words = [f"{shown(name)} ({count:,})" for name, count in worst]
    most = words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
    return (
        f"The table has {_count(total, 'missing value')} in {len(missing):,} of "
        f"{_count(n_columns, 'column')}, most in {most}: fill them with --impute median, or leave "
        "columns out with --drop."
    )


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
