"""The types of arrays that functions speak of, and arrays that live on another device."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_cupy_array,
    is_dask_array,
    is_jax_array,
    is_numpy_array,
    is_torch_array,
)
from numpy.typing import NDArray

# Floating point; the precision is that of the data.
Array: TypeAlias = NDArray[Any]
Index: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]

# Arrays up to this size are sent to a device through pinned memory.
_PINNED_BYTES = 1 << 23


def dense_columns(X: Any, columns: Any) -> Array:
    """Some columns of a matrix, dense or sparse, as a dense array of double precision."""
    part = X[:, columns]
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)


def on_device(array: Any) -> bool:
    """Whether to work on an array by its own namespace: NumPy cannot read it in place.

    That is a torch tensor on a GPU, a CuPy array, or another array of the standard; not a torch
    tensor in host memory.

    >>> on_device(np.ones(3)), on_device([1.0])
    (False, False)
    """
    if is_torch_array(array):
        return bool(array.device.type != "cpu")
    if is_numpy_array(array) or is_jax_array(array) or is_dask_array(array):
        return False
    return is_cupy_array(array) or hasattr(array, "__array_namespace__")


def to_host(array: Any) -> Any:
    """An array of the standard as a NumPy array; anything else as it is."""
    if is_torch_array(array):
        array = array.detach()
        if array.dtype == array_namespace(array).bfloat16:  # NumPy has no such type
            array = array.float()
        return array.cpu().resolve_conj().resolve_neg().numpy()
    if is_cupy_array(array):
        return array.get()
    if not on_device(array):
        return array
    host = np.from_dlpack(array)
    return host if host.flags.writeable else host.copy()  # read-only before NumPy 2


def to_device(array: NDArray[Any], like: Any) -> Any:
    """A NumPy array in the namespace and on the device of another one.

    Without double precision there (Apple's GPUs), it comes in single precision.
    """
    if array.dtype == np.float64:
        array = array.astype(wide_dtype(like), copy=False)
    # Neither read-only arrays nor negative strides are known to all libraries.
    array = np.require(array, requirements=["C", "W"])
    xp = array_namespace(like)
    if is_torch_array(like) and like.device.type == "cuda" and array.nbytes <= _PINNED_BYTES:
        # From pinned memory the program need not wait until the device has it.
        return xp.asarray(array).pin_memory().to(like.device, non_blocking=True)
    return xp.asarray(array, device=device(like))


def wide_dtype(like: Any) -> np.dtype[Any]:
    """The widest floating-point type on the device of an array."""
    single = getattr(device(like), "type", None) == "mps"
    return np.dtype(np.float32 if single else np.float64)


def largest_places(values: Any, count: int) -> Any:
    """The indices of the largest entries of a vector on a device, in no order.

    >>> largest_places(np.array([1.0, 5.0, 3.0]), 2).tolist()
    [1, 2]
    """
    xp = array_namespace(values)
    count = min(count, values.shape[0])
    if hasattr(xp, "topk") and is_torch_array(values):
        return xp.topk(values, count, sorted=False)[1]
    if hasattr(xp, "argpartition"):
        return xp.argpartition(-values, count - 1)[:count]
    return xp.argsort(values, descending=True)[:count]


def ranks(values: Array) -> Array:
    """The ranks of values from 1 on, along the first axis; equal ones have the mean of theirs.

    What ``scipy.stats.rankdata`` gives, without the import of all statistics of SciPy.

    >>> ranks(np.array([3.0, 1.0, 3.0]))
    array([2.5, 1. , 2.5])
    """
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    places = np.arange(len(values)).reshape(-1, *(1,) * (values.ndim - 1))
    ends = np.ones((len(values) + 1, *values.shape[1:]), dtype=bool)
    ends[1:-1] = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(ends[:-1], places, 0), axis=0)
    last = np.minimum.accumulate(np.where(ends[1:], places, len(values))[::-1], axis=0)[::-1]
    found = np.empty(values.shape)
    np.put_along_axis(found, order, 1 + (first + last) / 2, axis=0)
    return found
