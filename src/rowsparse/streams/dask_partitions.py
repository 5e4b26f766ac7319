"""Blocks of dask arrays and dataframes: statistics of partitions, merged where the data are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Mask
from rowsparse.streams.block import Block, in_block
from rowsparse.streams.tables import needed_module

__all__ = [
    "Partition",
    "aggregate_partitions",
    "dask_partitions",
    "is_dask",
    "map_targets",
    "read_partitions",
    "reweighted_partitions",
    "selected_columns",
]


class Partition(NamedTuple):
    """Some rows, not computed: the pieces of X, y and the weights, each split by columns.

    ``n_columns`` is how many columns X has to have, where that is known.
    """

    X: list[Any]
    y: list[Any]
    sample_weight: list[Any] | None
    n_columns: int | None

    def compute(self) -> Block:
        """The rows, in this process."""
        return _block(*needed_module("dask", "dask").compute(*self[:3]))


def is_dask(value: Any) -> bool:
    """Whether a value is a dask collection; dask is not imported for others."""
    if isinstance(value, type) or not hasattr(value, "__dask_graph__"):
        return False
    return bool(needed_module("dask", "dask").is_dask_collection(value))


def dask_partitions(X: Any, y: Any, sample_weight: Any) -> list[Partition]:
    """The rows of dask collections by the partitions of X, with y and weights aligned to them."""
    _check_kind("X", X)
    if y is None:
        raise ValueError("y is None: pass the targets of the dask collection X.")
    given = {"y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    aligned = [_aligned(name, value, X) for name, value in given.items()]
    pieces = [_pieces(value) for value in (X, *aligned)]
    for name, found in zip(given, pieces[1:], strict=True):
        if len(found) != len(pieces[0]):
            raise ValueError(
                f"{name} has {len(found)} partitions but X has {len(pieces[0])}: give both the "
                "same partitions of rows."
            )
    weights = pieces[2] if sample_weight is not None else [None] * len(pieces[0])
    width = None if _is_delayed(X) or np.isnan(X.shape[1]) else int(X.shape[1])
    return [Partition(*parts, width) for parts in zip(pieces[0], pieces[1], weights, strict=True)]


def aggregate_partitions(
    partitions: Sequence[Partition],
    add: Callable[[Any, Block, int], Any],
    merge: Callable[[Any, Any], Any],
) -> Any:
    """The states ``add(None, block, number)`` of all partitions, merged; only that is gathered.

    Neighbours are merged in pairs, then the results, until one is left: which are merged
    depends on nothing but their order.
    """
    delayed = needed_module("dask", "dask").delayed
    # As tasks of their own, which every worker gets once.
    shared_add, shared_merge = (delayed(f, traverse=False) for f in (add, merge))
    one, two = delayed(partition_statistics), delayed(merged_statistics)
    states = [one(shared_add, number, *found) for number, found in enumerate(partitions)]
    while len(states) > 1:
        pairs = [two(shared_merge, a, b) for a, b in list(pairwise(states))[::2]]
        states = pairs + states[len(states) - len(states) % 2 :]
    return states[0].compute()


def map_targets(partitions: Sequence[Partition], function: Callable[[Any], Any]) -> list[Any]:
    """The function of the y of each partition; X is not computed unless y depends on it."""
    dask = needed_module("dask", "dask")
    call = dask.delayed(partition_targets)
    return list(dask.compute(*(call(function, i, found.y) for i, found in enumerate(partitions))))


def reweighted_partitions(
    partitions: Sequence[Partition], weigh: Callable[[Any, Any], Any]
) -> list[Partition]:
    """The same rows with the sample weights ``weigh(y, sample_weight)``, not computed."""
    call = needed_module("dask", "dask").delayed(partition_weights)
    return [
        found._replace(sample_weight=[call(weigh, i, found.y, found.sample_weight)])
        for i, found in enumerate(partitions)
    ]


def read_partitions(partitions: Sequence[Partition]) -> Iterator[Block]:
    """The blocks in order, one in this process at a time."""
    return (partition.compute() for partition in partitions)


def selected_columns(X: Any, support: Mask, names: NDArray[Any] | None) -> Any:
    """Some columns of a dask array or dataframe, as a collection of its kind."""
    _check_kind("X", X)
    if _is_delayed(X):
        raise TypeError("X is delayed: make a dask array or dataframe of it first.")
    if X.shape[1] != support.size:
        raise ValueError(f"X has {X.shape[1]} features, but {support.size} were expected.")
    if _is_array(X):
        return X[:, np.flatnonzero(support)]
    if names is not None and list(X.columns) != list(names):
        raise ValueError("X must have the columns that were fitted, in their order.")
    return X.iloc[:, np.flatnonzero(support).tolist()]


# The names of these four are those of the tasks on the dashboard of dask.
def partition_statistics(
    add: Any, number: int, X: Any, y: Any, sample_weight: Any, n_columns: int | None
) -> Any:
    """The state of one partition."""
    try:
        block = _block(X, y, sample_weight)
        if n_columns is not None and block.X.shape[1] != n_columns:
            raise ValueError(f"X has {block.X.shape[1]} columns, but there must be {n_columns}.")
        return add(None, block, number)
    except (TypeError, ValueError) as error:
        raise in_block(number, error, "Partition") from None


def merged_statistics(merge: Any, first: Any, second: Any) -> Any:
    """The state of the rows of both; neither is changed, because dask may use them again."""
    return merge(first, second)


def partition_targets(function: Any, number: int, y: Any) -> Any:
    """The function of the y of a partition."""
    try:
        return function(_joined(y))
    except (TypeError, ValueError) as error:
        raise in_block(number, error, "Partition") from None


def partition_weights(weigh: Any, number: int, y: Any, sample_weight: Any) -> Any:
    """The sample weights of a partition."""
    try:
        return weigh(_joined(y), None if sample_weight is None else _joined(sample_weight))
    except (TypeError, ValueError) as error:
        raise in_block(number, error, "Partition") from None


def _block(X: list[Any], y: list[Any], sample_weight: list[Any] | None) -> Block:
    return Block(_joined(X), _joined(y), None if sample_weight is None else _joined(sample_weight))


def _joined(pieces: list[Any]) -> Any:
    """Pieces of the same rows, side by side."""
    if len(pieces) == 1:
        return pieces[0]
    if any(sp.issparse(piece) for piece in pieces):
        return sp.hstack(pieces, format="csr")
    return np.hstack(pieces)


def _is_array(value: Any) -> bool:
    return isinstance(value, needed_module("dask.array", "dask").Array)


def _is_delayed(value: Any) -> bool:
    return isinstance(value, needed_module("dask.delayed", "dask").Delayed)


def _check_kind(name: str, value: Any) -> None:
    """Refuse values other than dask arrays, dataframes, columns of these, or delayed ones."""
    if _is_delayed(value):
        return
    if not (is_dask(value) and (_is_array(value) or hasattr(value, "to_dask_array"))):
        raise TypeError(
            f"{name} must be a dask array or dataframe, or delayed; got {type(value).__name__}."
        )
    if name == "X" and value.ndim != 2:
        raise ValueError(f"X must have two dimensions; it has {value.ndim}.")


def _aligned(name: str, value: Any, X: Any) -> Any:
    """A dask collection with the rows of the partitions of X, as far as they are known."""
    known = _is_array(X) and not any(np.isnan(size) for size in X.chunks[0])
    if not is_dask(value):
        if not known:
            raise TypeError(
                f"{name} is no dask collection, and the partitions of X have unknown numbers of "
                f"rows: pass {name} as a dask collection with the partitions of X."
            )
        value = needed_module("dask.array", "dask").from_array(np.asarray(value))
    _check_kind(name, value)
    if not (known and _is_array(value)) or any(np.isnan(size) for size in value.chunks[0]):
        return value
    n = sum(X.chunks[0])
    if value.shape[0] != n:
        raise ValueError(
            f"{name} has {value.shape[0]} samples but X has {n}: they must be of one length."
        )
    return value.rechunk({0: X.chunks[0]})


def _pieces(value: Any) -> list[list[Any]]:
    """The delayed pieces of each partition."""
    if _is_delayed(value):
        return [[value]]
    if not _is_array(value):
        return [[part] for part in value.to_delayed()]
    # Optimized one by one, X and y would each compute what they share.
    parts = value.to_delayed(optimize_graph=False)
    return [list(row) for row in parts.reshape(len(parts), -1)]
