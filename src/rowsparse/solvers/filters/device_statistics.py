"""Means, scatters and products of columns that are on a device: only the sums leave it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from rowsparse._arrays import Array, Index, to_device, to_host, wide_dtype
from rowsparse.design.protocol import binary_units

__all__ = ["device_columns", "device_moments", "device_products", "rescaled_device_columns"]

# Entries of X that are converted to the widest type at a time.
_BLOCK_ENTRIES = 1 << 24


def _wide_rows(X: Any, rows: Index) -> Iterator[tuple[slice, Any]]:
    """Rows of X by index, some at a time, in the widest type, as new arrays."""
    xp = array_namespace(X)
    wide, step = getattr(xp, wide_dtype(X).name), max(1, _BLOCK_ENTRIES // max(X.shape[1], 1))
    for start in range(0, rows.size, step):
        chunk = slice(start, min(start + step, rows.size))
        taken = xp.take(X, to_device(rows[chunk], X), axis=0)
        yield chunk, xp.astype(taken, wide, copy=False)


def device_moments(X: Any, group: Index, weights: Array | None) -> tuple[Array, Array]:
    """Means and scatters of all columns over some rows."""
    xp = array_namespace(X)
    shift: Any = None
    first: Any = 0.0
    second: Any = 0.0
    for chunk, rows in _wide_rows(X, group):
        if shift is None:
            shift = xp.mean(rows, axis=0)
        rows -= shift
        part = rows if weights is None else rows * to_device(weights[chunk], X)[:, None]
        first += xp.sum(part, axis=0)
        second += xp.sum(part * rows, axis=0)
    mean, first, second = to_host(xp.stack([shift, first, second])).astype(np.float64)
    error = first / (float(group.size) if weights is None else float(weights.sum()))
    return mean + error, np.maximum(second - error * first, 0.0)


def device_products(X: Any, unit: Array, mean: Array, V: Array) -> Array:
    """V' (X / unit - mean), t x d."""
    units, means = to_device(unit, X), to_device(mean, X)
    product: Any = 0.0
    for chunk, rows in _wide_rows(X, np.arange(X.shape[0])):
        rows /= units
        rows -= means
        product += to_device(V[chunk], X).T @ rows
    return np.asarray(to_host(product), dtype=np.float64)


def device_columns(X: Any, columns: Index) -> Array:
    """Some columns of X as a NumPy array."""
    taken = array_namespace(X).take(X, to_device(columns, X), axis=1)
    return np.asarray(to_host(taken))


def rescaled_device_columns(X: Any, columns: Index) -> tuple[Any, Array]:
    """Some columns on the device, each divided by a power of two; None if they are all zero."""
    xp = array_namespace(X)
    block = xp.take(X, to_device(columns, X), axis=1)
    largest = np.asarray(to_host(xp.max(xp.abs(block), axis=0)), dtype=np.float64)
    unit = binary_units(largest)
    if not largest.any():
        return None, unit
    return xp.astype(block, getattr(xp, wide_dtype(X).name)) / to_device(unit, X), unit
