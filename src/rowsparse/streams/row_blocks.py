"""RowBlocks: a source of samples in blocks of rows, read as often as needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._validation import check_number
from rowsparse.streams.block import Block, in_block
from rowsparse.streams.dask_partitions import (
    Partition,
    aggregate_partitions,
    dask_partitions,
    map_targets,
    read_partitions,
    reweighted_partitions,
)
from rowsparse.streams.tables import arrow_source, hdf5_source, table_source

__all__ = ["Progress", "RowBlocks"]

# Rows of a block where the source does not say.
_ROWS = 1 << 14

# Called after each block with the number of blocks so far.
Progress = Callable[[int], None]

State = TypeVar("State")


class RowBlocks:
    """Samples in blocks of rows, for data that do not fit into memory.

    The ``fit`` of every selector with ``fit_moments`` takes it in the place of X; y comes with
    it. Only one block is in memory at a time.

    Parameters
    ----------
    read : callable
        Returns an iterable of blocks (X, y) or (X, y, sample_weight), the same at every call.
        X may be anything that ``fit`` takes, dense, sparse or a dataframe.
    feature_names : list of str, optional
        The names of the columns, where the blocks are not dataframes.
    n_blocks : int, optional
        The number of blocks, if it is known: for progress bars.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import RowBlocks, TopK
    >>> X, y = load_iris(return_X_y=True)
    >>> blocks = RowBlocks(lambda: ((X[i::10], y[i::10]) for i in range(10)))
    >>> selector = TopK(2, random_state=0).fit(blocks)
    >>> selector.get_support(indices=True), selector.n_passes_
    (array([1, 3]), 1)
    """

    def __init__(
        self,
        read: Callable[[], Iterable[Sequence[Any]]],
        *,
        feature_names: Sequence[str] | None = None,
        n_blocks: int | None = None,
    ) -> None:
        if not callable(read):
            raise TypeError(
                f"read must be a function that returns the blocks; got {type(read).__name__}."
            )
        self._read = read
        self.feature_names: NDArray[Any] | None = None
        if feature_names is not None:
            self.feature_names = np.array(list(feature_names), dtype=object)
        self.n_blocks = n_blocks
        self._sizes: list[int] | None = None
        self._partitions: list[Partition] | None = None
        # One number, which views of the same blocks share.
        self._counter = [0]

    @property
    def n_passes(self) -> int:
        """Number of passes over the source so far."""
        return self._counter[0]

    def __repr__(self) -> str:
        return f"RowBlocks(n_blocks={self.n_blocks}, n_passes={self.n_passes})"

    @classmethod
    def from_arrays(cls, X: Any, y: Any, sample_weight: Any = None, *, rows: int = _ROWS) -> Self:
        """Slices of arrays: ``np.memmap``, datasets of h5py or zarr, sparse matrices.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Anything that can be sliced by rows.
        y, sample_weight : arrays of n_samples
            The targets, and the weights if there are any.
        rows : int, default=16384
            Rows of a block.

        Returns
        -------
        RowBlocks
        """
        check_number("rows", rows, low=1, integer=True)
        n = X.shape[0]
        X = sp.csr_array(X) if sp.issparse(X) else X
        if len(y) != n:
            raise ValueError(f"y has {len(y)} samples but X has {n}: they must be of one length.")

        def read() -> Iterator[Block]:
            for start in range(0, n, rows):
                at = slice(start, min(start + rows, n))
                for array in (X, y, sample_weight):
                    _check_file(array)
                yield Block(X[at], y[at], None if sample_weight is None else sample_weight[at])

        return cls(read, n_blocks=-(-n // rows))

    @classmethod
    def from_table(
        cls,
        path: str | Path,
        target: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        sample_weight: str | None = None,
        rows: int = _ROWS,
    ) -> Self:
        """A Parquet or Arrow (Feather) file, or a folder of them; needs the extra "stream".

        Parameters
        ----------
        path : str or Path
            The file, or a folder, whose files are read in the order of their names.
        target : str or list of str
            The column of y, or the columns.
        columns : list of str, optional
            The columns of X; None takes all others.
        sample_weight : str, optional
            The column of the sample weights.
        rows : int, default=16384
            Rows of a block, at most.

        Returns
        -------
        RowBlocks
        """
        check_number("rows", rows, low=1, integer=True)
        read, names, n_blocks = table_source(Path(path), target, columns, sample_weight, rows)
        return cls(read, feature_names=names, n_blocks=n_blocks)

    @classmethod
    def from_arrow(
        cls,
        read: Callable[[], Any],
        target: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        sample_weight: str | None = None,
        rows: int = _ROWS,
    ) -> Self:
        """Blocks of the Arrow record batches of any engine; needs the extra "stream".

        Parameters
        ----------
        read : callable
            Opens the data, anew at every call: returns a ``pyarrow.RecordBatchReader`` or any
            object with ``__arrow_c_stream__``, such as a relation of DuckDB, a data frame of
            Polars, a table of Ibis or what a cursor of ADBC fetches. It is called once for the
            names of the columns, and then for every pass.
        target : str or list of str
            The column of y, or the columns.
        columns : list of str, optional
            The columns of X; None takes all others.
        sample_weight : str, optional
            The column of the sample weights.
        rows : int, default=16384
            Rows of a block, at most.

        Returns
        -------
        RowBlocks

        Examples
        --------
        >>> import pyarrow as pa
        >>> from rowsparse import RowBlocks, TopK
        >>> table = pa.table({"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 1.0], "y": [0.5, 1.5, 2.5]})
        >>> blocks = RowBlocks.from_arrow(table.to_reader, "y")
        >>> TopK(1).fit(blocks).get_feature_names_out()
        array(['a'], dtype=object)
        """
        check_number("rows", rows, low=1, integer=True)
        if not callable(read):
            raise TypeError(
                f"read must be a function that opens the data; got {type(read).__name__}."
            )
        blocks, names, n_blocks = arrow_source(read, target, columns, sample_weight, rows)
        return cls(blocks, feature_names=names, n_blocks=n_blocks)

    @classmethod
    def from_hdf5(cls, path: str | Path, target: str, *, X: str = "X", rows: int = _ROWS) -> Self:
        """An HDF5 file, such as one of AnnData (.h5ad); needs the extra "stream".

        Parameters
        ----------
        path : str or Path
            The file.
        target : str
            The dataset of y, or for AnnData the column of ``obs``.
        X : str, default="X"
            The dataset of X; or the group with the data, indices and indptr of a CSR matrix.
        rows : int, default=16384
            Rows of a block.

        Returns
        -------
        RowBlocks
        """
        check_number("rows", rows, low=1, integer=True)
        read, names, n_blocks = hdf5_source(Path(path), target, X, rows)
        return cls(read, feature_names=names, n_blocks=n_blocks)

    @classmethod
    def from_dask(cls, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Dask collections: every partition of rows is a block; needs the extra "dask".

        Statistics of the blocks are computed and merged by dask, on the scheduler that is active;
        nothing else is gathered. ``fit`` does this with dask collections on its own.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features), or delayed
            Chunks along both axes and unknown numbers of rows are fine. Something delayed is
            one block.
        y, sample_weight : dask arrays, dataframes or series, or delayed
            The targets, and the weights if there are any, with the partitions of X. Those of
            arrays of known lengths are brought to those of X; other arrays are cut to them.

        Returns
        -------
        RowBlocks
        """
        partitions = dask_partitions(X, y, sample_weight)
        blocks = cls(lambda: read_partitions(partitions), n_blocks=len(partitions))
        blocks._partitions = partitions
        return blocks

    def reweighted(self, weigh: Callable[[Any, Any], Any]) -> RowBlocks:
        """The same blocks with the sample weights ``weigh(y, sample_weight)``.

        Passes over them count as passes over these.
        """

        def read() -> Iterator[Block]:
            for values in self._read():
                block = Block(*values)
                yield block._replace(sample_weight=weigh(block.y, block.sample_weight))

        twin = RowBlocks(read, n_blocks=self.n_blocks)
        twin.feature_names, twin._sizes = self.feature_names, self._sizes
        twin._counter = self._counter
        if self._partitions is not None:
            twin._partitions = reweighted_partitions(self._partitions, weigh)
        return twin

    def aggregate(
        self,
        add: Callable[[State | None, Block, int], State],
        merge: Callable[[State, State], State],
        progress: Progress | None = None,
    ) -> State:
        """One pass that adds up something: the state after all blocks.

        Parameters
        ----------
        add : callable
            Takes a state (None for that of no blocks, which it may change), a block and its
            number, and returns the state with that block.
        merge : callable
            Takes the states of some blocks and of those after them, without changing them, and
            returns that of both: blocks of dask are added up where they are.
        progress : callable, optional
            Called after each block, if they come in turn.
        """
        if self._partitions is not None:
            self._counter[0] += 1
            return aggregate_partitions(self._partitions, add, merge)
        state: State | None = None
        for number, block in self.blocks():
            try:
                state = add(state, block, number)
            except (TypeError, ValueError) as error:
                raise in_block(number, error) from None
            if progress is not None:
                progress(number + 1)
        assert state is not None
        return state

    def map_targets(self, function: Callable[[Any], State]) -> list[State] | None:
        """The function of the y of every block of dask; None where blocks come in turn."""
        return None if self._partitions is None else map_targets(self._partitions, function)

    def blocks(self) -> Iterator[tuple[int, Block]]:
        """One pass: the blocks with their numbers; refuses a source that has changed."""
        self._counter[0] += 1
        known = self._sizes
        sizes: list[int] = []
        source = iter(self._read())
        while True:
            try:
                block = Block(*next(source))
                size = int(block.X.shape[0]) if hasattr(block.X, "shape") else len(block.X)
            except StopIteration:
                break
            except (OSError, TypeError, ValueError) as error:
                raise in_block(len(sizes), error) from error
            at = len(sizes)
            if known is not None and (at >= len(known) or known[at] != size):
                raise ValueError(f"Block {at} {_CHANGED}")
            sizes.append(size)
            yield at, block
        if not sizes:
            raise ValueError("The source has no blocks: at least one is needed.")
        if known is not None and len(sizes) < len(known):
            raise ValueError(f"Block {len(sizes)} {_CHANGED}")
        self._sizes, self.n_blocks = sizes, len(sizes)


_CHANGED = "is not as it was in the pass before: the data must not change while they are read."


def _check_file(array: Any) -> None:
    """Refuse a memory-mapped file that has become shorter: reading on would end the process."""
    if isinstance(array, np.memmap) and array.filename is not None:
        needed = int(array.offset) + array.nbytes
        if os.path.getsize(array.filename) < needed:
            raise ValueError(f"{array.filename} has become shorter than the {needed} bytes mapped.")
