"""Checks of the input, with errors of one sentence; and warnings."""

from __future__ import annotations

import numbers
import sys
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace

from rowsparse._arrays import to_host
from rowsparse._parameters import Number, OneOf

# NumPy's codes: booleans, integers and floats; and what cannot become a float.
_NUMERIC_KINDS = "biuf"
_REFUSED_KINDS = {"c": "Complex", "M": "Date", "m": "Duration"}


def one_sentence(name: str, error: Exception) -> Exception:
    """The error with its first line only, naming what it is about."""
    message = str(error).partition("\n")[0].rstrip(" .:")
    return (ValueError if isinstance(error, ValueError) else TypeError)(f"{name}: {message}.")


def check_choice(name: str, value: Any, options: Iterable[str], *, optional: bool = False) -> None:
    """Refuse a value that is not one of the options."""
    OneOf(tuple(options), optional=optional).check(name, value)


def check_number(name: str, value: Any, **limits: Any) -> None:
    """Refuse what is not a finite number within limits, which are those of :class:`Number`."""
    Number(**limits).check(name, value)


def resolve_count(value: Any, d: int) -> int:
    """``n_features_to_select``, checked, as a number of features; it may exceed d.

    >>> resolve_count(3, 10), resolve_count(0.25, 10)
    (3, 2)
    """
    if isinstance(value, numbers.Integral):
        return int(value)
    return max(1, int(float(value) * d))


def column_label(X: Any, j: int) -> str:
    """How messages refer to column j: by its name if X has names."""
    names = getattr(X, "columns", None)
    return f"column {j}" if names is None else f"column {list(names)[j]!r}"


def check_not_masked(name: str, values: Any) -> None:
    """Refuse masked entries, whose values would otherwise be used like all others."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries: impute them or drop their samples first.")


def check_not_lazy(name: str, values: Any) -> None:
    """Refuse a lazy table, which has no values until it is collected."""
    if hasattr(values, "collect") and hasattr(values, "lazy"):
        raise TypeError(f"{name} is a {type(values).__name__}: pass {name}.collect().")


def check_unique_names(X: Any) -> None:
    """Refuse a table in which two columns have the same name."""
    names = list(X.columns)
    seen = set[Any]()
    for name in names:
        if name in seen:
            raise ValueError(f"X has more than one column {name!r}: rename or drop them.")
        seen.add(name)


def check_numeric_columns(X: Any) -> None:
    """Refuse columns that are not numeric, naming the first one, and lazy tables."""
    if sp.issparse(X):
        return
    check_not_masked("X", X)
    check_not_lazy("X", X)
    if hasattr(X, "columns"):
        check_unique_names(X)
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        for j, dtype in enumerate(X.dtypes):
            if getattr(dtype, "kind", "O") not in _NUMERIC_KINDS:
                _check_column(X, X.iloc[:, j], j)
        return
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        for j, name in enumerate(X.columns):
            values = X[name].to_numpy()
            if values.dtype.kind not in _NUMERIC_KINDS:
                _check_column(X, values, j)
        return
    kind = getattr(getattr(X, "dtype", None), "kind", "f")
    if kind not in _NUMERIC_KINDS and X.ndim == 2:
        for j in range(X.shape[1]):
            _check_column(X, X[:, j], j)


def _check_column(X: Any, values: Any, j: int) -> None:
    kind = getattr(values.dtype, "kind", "O")
    if kind in _REFUSED_KINDS:
        raise ValueError(
            f"{_REFUSED_KINDS[kind]} data not supported in X: {column_label(X, j)} must hold real "
            "numbers."
        )
    try:
        np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        first = next(v for v in np.asarray(values, dtype=object) if not _is_number(v))
        where = f"X: {column_label(X, j)} is not numeric, it holds {first!r}"
        # scikit-learn's convention: text is a wrong value, any other object a wrong type.
        if isinstance(first, str):
            raise ValueError(f"{where}: encode it as numbers or drop it.") from None
        raise TypeError(f"{where}; its argument must be a string or a number.") from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def check_finite_columns(X: Any, original: Any) -> None:
    """Refuse NaN and infinity, naming the first column that has one."""
    values = X.data if sp.issparse(X) else X
    # The sum is finite far more often than not, and needs no temporary.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
            return
    if sp.issparse(X):
        X = X.tocsc()
        bad = ~np.isfinite(X.data)
        j = int(np.searchsorted(X.indptr, np.flatnonzero(bad)[0], side="right")) - 1
        what = X.data[bad][0]
    else:
        j = int(np.flatnonzero(~np.isfinite(X).all(axis=0))[0])
        what = X[~np.isfinite(X[:, j]), j][0]
    raise _not_finite(what, column_label(original, j))


def check_finite_device_columns(X: Any) -> None:
    """Refuse NaN and infinity in floats on a device, naming the first column that has one."""
    xp = array_namespace(X)
    # The largest and the least value are NaN or infinite if any value is, and take no memory.
    if np.isfinite(to_host(xp.stack([xp.max(X), xp.min(X)]))).all():
        return
    ends = to_host(xp.stack([xp.max(X, axis=0), xp.min(X, axis=0)]))
    j = int(np.argmin(np.isfinite(ends).all(axis=0)))
    values = to_host(X[:, j])
    raise _not_finite(values[~np.isfinite(values)][0], f"column {j}")


def _not_finite(value: float, where: str) -> ValueError:
    if np.isnan(value):
        return ValueError(
            f"X contains NaN in {where}: impute it, or drop the column or its samples."
        )
    return ValueError(f"X contains infinity (inf) in {where}: clip it, or drop the column.")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside of this package and of scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while _package(frame.f_globals) in ("rowsparse", "sklearn") and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package(module_globals: dict[str, object]) -> str:
    return str(module_globals.get("__name__", "")).partition(".")[0]
