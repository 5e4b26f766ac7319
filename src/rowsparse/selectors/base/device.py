"""X of other libraries: tensors in host memory, and arrays on a device, which stay there."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from sklearn.utils.validation import validate_data

from rowsparse._arrays import Index, on_device, to_device, to_host, wide_dtype
from rowsparse._validation import check_finite_device_columns, one_sentence


def is_foreign(X: Any) -> bool:
    """Whether X is an array that scikit-learn takes only with its global switch."""
    return on_device(X) or is_torch_array(X)


def refuse_device_arrays(selector: Any, X: Any) -> None:
    """Refuse an X that the selector would have to copy to the host."""
    if on_device(X) and not selector.takes_device_arrays:
        raise TypeError(
            f"{type(selector).__name__} works in host memory, but X is a {type(X).__name__} on "
            "another device: pass it as a NumPy array."
        )


def checked_device_array(selector: Any, X: Any, *, reset: bool) -> Any:
    """X on its device, checked as scikit-learn checks a NumPy array; ``reset`` is that of a fit."""
    if reset:
        refuse_device_arrays(selector, X)
    if X.ndim != 2:
        raise ValueError(
            f"X: Expected 2D array, got {X.ndim}D array instead: pass a row for each sample."
        )
    xp = array_namespace(X)
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError("Complex data not supported in X: it must hold real numbers.")
    n, least = X.shape[0], 2 if reset else 1
    if n < least:
        raise ValueError(
            f"X: Found array with {n} sample(s) (shape={tuple(X.shape)}) while a minimum of "
            f"{least} is required."
        )
    if X.shape[1] == 0:
        raise ValueError(
            f"X: Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
            "required."
        )
    try:
        validate_data(selector, X, skip_check_array=True, reset=reset)
    except ValueError as error:
        raise one_sentence("X", error) from None
    if xp.isdtype(X.dtype, "real floating"):
        check_finite_device_columns(X)
    return X


def as_floats(X: Any) -> Any:
    """X on its device without gradients, in single or double precision."""
    xp = array_namespace(X)
    X = X.detach() if is_torch_array(X) else X
    if X.dtype in (xp.float32, xp.float64):
        return X
    narrow = xp.isdtype(X.dtype, "real floating")
    return xp.astype(X, xp.float32 if narrow else getattr(xp, wide_dtype(X).name))


def take_columns(selector: Any, X: Any, columns: Index) -> Any:
    """Some columns of X, checked, in its library and on its device."""
    if on_device(X):
        X = checked_device_array(selector, X, reset=False)
    else:  # a tensor: NumPy checks it in place
        validate_data(selector, to_host(X), dtype=None, reset=False)
    return array_namespace(X).take(X, to_device(columns.astype(np.int64), X), axis=1)


def put_columns(X: Any, columns: Index, d: int) -> Any:
    """The columns of X in their places among d, all others zero, in its library and device."""
    if X.ndim != 2 or X.shape[1] != columns.size:
        raise ValueError("X has a different shape than during fitting.")
    xp = array_namespace(X)
    full = xp.zeros((X.shape[0], d), dtype=X.dtype, device=getattr(X, "device", None))
    for j, column in enumerate(columns.tolist()):
        full[:, column] = X[:, j]
    return full
