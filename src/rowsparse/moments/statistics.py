"""Weighted means and centred products of the columns of X and Y, one block of rows at a time.

Blocks are centred at means of their own and combined by the formula of Chan, Golub and LeVeque,

    S = S_a + S_b + (w_a w_b / (w_a + w_b)) (m_b - m_a)(m_b - m_a)'

and all means are relative to those of the first rows, so that the offsets of columns cost no
digits, however large they are. How large the rounding errors may be is counted along.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.blas import dsyr, dsyrk

from rowsparse._arrays import Array, Index
from rowsparse._threads import blas_threads_for

__all__ = ["Statistics"]

# Sparse blocks with a larger share of entries, or a larger mean in standard deviations, are made
# dense, a chunk at a time: products are then faster, or would lose digits.
_DENSE_SHARE, _LARGEST_OFFSET = 0.1, 1e2
# Columns of X'X that are computed from sparse data at a time.
_PANEL = 1024
# A group of less than this share of its weight before a subtraction is gone.
_GONE = 1e-12
# Number of rows whose mean is the origin.
_ORIGIN_ROWS = 32
# Fields with one entry for each column of X.
_OF_COLUMNS = ("x_origin", "x_shift", "x_square", "x_error", "x_low", "x_high")
# Error of an addition to the sums of products, or a subtraction, as a share of them.
_EPS = float(np.finfo(np.float64).eps)
_UPDATE = 8.0 * _EPS
# Entries of X that are centred and multiplied at a time, and the least number of rows of them:
# with fewer, adding to the products takes longer than computing them.
_CHUNK_ENTRIES, _CHUNK_ROWS = 1 << 20, 512


@dataclass
class Statistics:
    """Statistics of rows (x, y) with weights; those of no rows are zero.

    Attributes
    ----------
    n_rows, weight : int and float
        Number of rows, and the sum of their weights.
    x_origin, y_origin : arrays of shape (d,) and (c,)
        What means are relative to, any numbers near them.
    x_shift, y_shift : arrays of shape (d,) and (c,)
        Weighted means, less the origins.
    x_square : array of shape (d,)
        Weighted sums of squared deviations from the mean.
    x_error, y_error : arrays of shape (d,) and (c,)
        How large rounding errors may be: that of the sum of products of two columns, of X or of Y,
        is at most the root of the product of their two entries.
    xy, yy : arrays of shape (d, c) and (c, c)
        Weighted sums of products of deviations.
    xx : array of shape (d, d) or None
        The same for X; only its upper triangle is used. None where it is not wanted.
    x_low, x_high, y_low, y_high : arrays of shape (d,) and (c,)
        The least and the largest values.
    group_scatter : array of shape (c, d)
        Of the rows with y_g = 1, weighted sums of squared deviations from their own mean; not
        kept (zero) unless ``grouped``.
    grouped : bool
        Whether the columns of Y hold zeros and ones.
    """

    n_rows: int
    weight: float
    x_origin: Array
    y_origin: Array
    x_shift: Array
    y_shift: Array
    x_square: Array
    x_error: Array
    y_error: Array
    xy: Array
    yy: Array
    xx: Array | None
    x_low: Array
    x_high: Array
    y_low: Array
    y_high: Array
    group_scatter: Array
    grouped: bool = field(default=False)

    @classmethod
    def empty(cls, d: int, c: int, *, products: bool, grouped: bool) -> Statistics:
        """The statistics of no rows; ``products`` says whether X'X is wanted."""
        return cls(
            n_rows=0,
            weight=0.0,
            x_origin=np.zeros(d),
            y_origin=np.zeros(c),
            x_shift=np.zeros(d),
            y_shift=np.zeros(c),
            x_square=np.zeros(d),
            x_error=np.zeros(d),
            y_error=np.zeros(c),
            xy=np.zeros((d, c)),
            yy=np.zeros((c, c)),
            xx=np.zeros((d, d), order="F") if products else None,
            x_low=np.full(d, np.inf),
            x_high=np.full(d, -np.inf),
            y_low=np.full(c, np.inf),
            y_high=np.full(c, -np.inf),
            group_scatter=np.zeros((c if grouped else 0, d)),
            grouped=grouped,
        )

    def copy(self) -> Statistics:
        """A copy that can be changed independently."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        copied = {k: v.copy(order="K") for k, v in values.items() if isinstance(v, np.ndarray)}
        return Statistics(**(values | copied))

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(v.nbytes for v in vars(self).values() if isinstance(v, np.ndarray))

    @property
    def x_mean(self) -> Array:
        """Weighted means of X."""
        return self.x_origin + self.x_shift

    @property
    def y_mean(self) -> Array:
        """Weighted means of Y."""
        return self.y_origin + self.y_shift

    @property
    def group_weight(self) -> Array:
        """Of the rows with y_g = 1, the sum of the weights."""
        return self.weight * self.y_mean

    @property
    def group_shift(self) -> Array:
        """Of the rows with y_g = 1, the means of X less its origin, c x d; 0 for no rows."""
        some = self.group_weight > 0
        shift = self.xy.T / np.where(some, self.group_weight, 1.0)[:, None]
        return np.where(some[:, None], self.x_shift + shift, 0.0)

    def full_xx(self) -> Array:
        """X'X of the deviations with both triangles, as a new array."""
        assert self.xx is not None
        upper = np.triu(self.xx)
        return np.asarray(upper + np.triu(upper, 1).T)

    # ------------------------------------------------------------------------ new rows
    def add_rows(self, X: Any, Y: Array, weights: Array | None) -> None:
        """Add rows of a finite dense or sparse X, with weights above 0."""
        if sp.issparse(X):
            by_rows = sp.csr_array(X)
            if not by_rows.has_canonical_format:
                by_rows = by_rows.copy()
                by_rows.sum_duplicates()
            if self._add_sparse(by_rows, Y, weights):
                return
            X = by_rows
        with blas_threads_for(X.shape[0] * X.shape[1]):
            for rows in chunks(*X.shape):
                part = X[rows].toarray() if sp.issparse(X) else X[rows]
                self._add_dense(part, Y[rows], None if weights is None else weights[rows])

    def _add_dense(self, X: NDArray[Any], Y: Array, weights: Array | None) -> None:
        n, d = X.shape
        order = "F" if abs(X.strides[0]) < abs(X.strides[1]) else "C"
        w = np.ones(n) if weights is None else weights
        if self.n_rows == 0:
            self.x_origin = X[:_ORIGIN_ROWS].mean(axis=0, dtype=np.float64)
            if not self.grouped:
                self.y_origin = Y[:_ORIGIN_ROWS].mean(axis=0)
        # One row more: the rank-one term of Chan's formula goes into the same product.
        Z = np.empty((n + 1, d), order=order)  # type: ignore[call-overload]
        Z[n] = 0.0
        np.subtract(X, self.x_origin, out=Z[:n])
        V = Y - self.y_origin
        block = self._block(n, w, V)
        block.x_shift = w @ Z[:n] / block.weight
        Z[:n] -= block.x_shift
        V -= block.y_shift
        block.x_low, block.x_high = X.min(axis=0), X.max(axis=0)
        block.y_low, block.y_high = Y.min(axis=0), Y.max(axis=0)
        for g in range(Y.shape[1] if self.grouped else 0):
            rows = np.flatnonzero(Y[:, g])
            block.group_scatter[g] = scatter(Z[rows], w[rows])
        if weights is not None:
            Z[:n] *= np.sqrt(w)[:, None]
            V *= np.sqrt(w)[:, None]
        block.xy, block.yy = Z[:n].T @ V, V.T @ V
        block.x_square = np.einsum("ij,ij->j", Z, Z)
        block.x_error = sum_error(n) * block.x_square
        block.y_error = sum_error(n) * np.diag(block.yy)
        share, difference = self._combine(block)
        if self.xx is not None:
            Z[n] = np.sqrt(share) * difference
            a, trans = (Z, 1) if order == "F" else (Z.T, 0)
            self.xx = dsyrk(1.0, a, beta=1.0, c=self.xx, trans=trans, overwrite_c=1)

    def _block(self, n: int, w: Array, V: Array) -> Statistics:
        """Statistics with the same origins, the counts of a block and the means of its targets."""
        block = Statistics.empty(
            self.x_origin.size, V.shape[1], products=False, grouped=self.grouped
        )
        block.n_rows, block.weight = n, float(w.sum())
        block.x_origin, block.y_origin = self.x_origin, self.y_origin
        block.y_shift = w @ V / block.weight
        return block

    def _add_sparse(self, X: Any, Y: Array, weights: Array | None) -> bool:
        """Add rows by their stored entries; False, and no change, if a dense block is better."""
        n, d = X.shape
        if X.nnz > _DENSE_SHARE * n * d:
            return False
        w = np.ones(n) if weights is None else weights
        total = float(w.sum())
        X = X.astype(np.float64)
        mean, square = sparse_moments(X, w)
        if np.any(np.abs(mean) > _LARGEST_OFFSET * np.sqrt(square / total)):
            return False
        if self.n_rows == 0 and not self.grouped:
            self.y_origin = Y[:_ORIGIN_ROWS].mean(axis=0)
        V = Y - self.y_origin
        block = self._block(n, w, V)
        block.x_shift, block.x_square = mean - self.x_origin, square
        # The squares of the means are subtracted last.
        block.x_error = sum_error(n) * (square + total * mean**2)
        block.x_low = X.min(axis=0).toarray().ravel()
        block.x_high = X.max(axis=0).toarray().ravel()
        block.y_low, block.y_high = Y.min(axis=0), Y.max(axis=0)
        V -= block.y_shift
        weighted = w[:, None] * V
        block.xy, block.yy = np.asarray(X.T @ weighted), weighted.T @ V
        block.xy -= np.outer(mean, weighted.sum(axis=0))
        block.y_error = sum_error(n) * np.diag(block.yy)
        for g in range(Y.shape[1] if self.grouped else 0):
            rows = np.flatnonzero(Y[:, g])
            if rows.size:
                block.group_scatter[g] = sparse_moments(X[rows], w[rows])[1]
        share, difference = self._combine(block)
        if self.xx is not None:
            self._add_sparse_products(X, w)
            self.xx = dsyr(-total, mean, a=self.xx, overwrite_a=1)
            self.xx = dsyr(share, difference, a=self.xx, overwrite_a=1)
        return True

    def _add_sparse_products(self, X: Any, w: Array) -> None:
        """Add X' diag(w) X to the upper triangle, a panel of its rows at a time."""
        assert self.xx is not None
        d = X.shape[1]
        right = X.tocsc()
        left = (sp.diags_array(w) @ right).T.tocsr()
        for start in range(0, d, _PANEL):
            stop = min(start + _PANEL, d)
            self.xx[start:stop, start:] += (left[start:stop] @ right[:, start:]).toarray()

    # --------------------------------------------------------------- sums and differences
    def merge(self, other: Statistics) -> None:
        """Add the statistics of other rows, with the same columns."""
        if other.weight == 0.0:
            return
        share, difference = self._combine(other)
        if self.xx is not None and other.xx is not None:
            self.xx += other.xx
            self.xx = dsyr(share, difference, a=self.xx, overwrite_a=1)

    def subtract(self, part: Statistics) -> None:
        """Take away the statistics of some of the rows, which leaves at least one.

        The least and the largest values stay those of all rows.
        """
        whole = self.weight
        left = whole - part.weight
        if self.grouped:
            self._subtract_groups(part)
        # With the means of the other rows, Chan's formula is solved for S_a.
        dx, dy = self._differences(part)
        self.x_shift = self.x_shift - dx * (part.weight / left)
        self.y_shift = self.y_shift - dy * (part.weight / left)
        dx, dy = self._differences(part)
        share = left * part.weight / whole
        self._add_errors(part, share, dx, dy)
        self.x_square = np.maximum(self.x_square - part.x_square - share * dx**2, 0.0)
        self.xy = self.xy - part.xy - share * np.outer(dx, dy)
        self.yy = self.yy - part.yy - share * np.outer(dy, dy)
        if self.xx is not None and part.xx is not None:
            self.xx -= part.xx
            self.xx = dsyr(-share, dx, a=self.xx, overwrite_a=1)
        self.n_rows, self.weight = self.n_rows - part.n_rows, left
        if self.grouped:
            self.y_shift[self.y_mean <= _GONE * part.y_mean] = 0.0

    def _subtract_groups(self, part: Statistics) -> None:
        left = self.group_weight - part.group_weight
        some = left > _GONE * self.group_weight
        share = part.group_weight / np.where(some, left, 1.0)
        # Between the means of the part and of the other rows.
        difference = self._group_differences(part) * (1.0 + share)[:, None]
        factor = np.where(some, left * part.group_weight, 0.0)
        factor = factor / np.where(self.group_weight > 0, self.group_weight, 1.0)
        scatter = self.group_scatter - part.group_scatter - factor[:, None] * difference**2
        self.group_scatter = np.where(some[:, None], np.maximum(scatter, 0.0), 0.0)

    def _combine(self, other: Statistics) -> tuple[float, Array]:
        """Merge all but ``xx``; returns the factor and the vector of its rank-one term."""
        total = self.weight + other.weight
        share = self.weight * other.weight / total
        dx, dy = self._differences(other)
        if self.grouped:
            self._combine_groups(other)
        self.x_square += other.x_square + share * dx**2
        self.xy += other.xy + share * np.outer(dx, dy)
        self.yy += other.yy + share * np.outer(dy, dy)
        self._add_errors(other, share, dx, dy)
        self.x_shift = self.x_shift + (other.weight / total) * dx
        self.y_shift = self.y_shift + (other.weight / total) * dy
        self.x_low, self.x_high = joint_range(self.x_low, self.x_high, other.x_low, other.x_high)
        self.y_low, self.y_high = joint_range(self.y_low, self.y_high, other.y_low, other.y_high)
        self.n_rows, self.weight = self.n_rows + other.n_rows, total
        return share, dx

    def _add_errors(self, other: Statistics, share: float, dx: Array, dy: Array) -> None:
        """Count the errors of others, of a sum or difference, and of the means in its last term.

        Means have errors relative to their distances from the origin.
        """
        of_means = 4.0 * share * sum_error(self.n_rows + other.n_rows)
        far_x = self.x_shift**2 + (self.x_shift + dx) ** 2
        far_y = self.y_shift**2 + (self.y_shift + dy) ** 2
        self.x_error = self.x_error + other.x_error + _UPDATE * self.x_square + of_means * far_x
        self.y_error = self.y_error + other.y_error + _UPDATE * np.diag(self.yy) + of_means * far_y

    def _differences(self, other: Statistics) -> tuple[Array, Array]:
        """Differences of the other rows' means from these, to all digits."""
        dx = (other.x_origin - self.x_origin) + other.x_shift - self.x_shift
        dy = (other.y_origin - self.y_origin) + other.y_shift - self.y_shift
        return dx, dy

    def _group_differences(self, other: Statistics) -> Array:
        return (other.x_origin - self.x_origin) + other.group_shift - self.group_shift

    def _combine_groups(self, other: Statistics) -> None:
        a, b = self.group_weight, other.group_weight
        both = (a > 0) & (b > 0)
        share = np.where(both, a * b / np.where(both, a + b, 1.0), 0.0)
        difference = self._group_differences(other)
        self.group_scatter += other.group_scatter + share[:, None] * difference**2

    # ------------------------------------------------------------------------- columns
    def with_targets(self, positions: Index, c: int) -> Statistics:
        """The statistics with c targets; those here are at ``positions``, others were all 0."""
        wider = Statistics.empty(self.x_origin.size, c, products=False, grouped=self.grouped)
        for name in ("n_rows", "weight", "xx", *_OF_COLUMNS):
            setattr(wider, name, getattr(self, name))
        wider.y_origin[positions], wider.y_shift[positions] = self.y_origin, self.y_shift
        wider.xy[:, positions], wider.y_error[positions] = self.xy, self.y_error
        wider.yy[np.ix_(positions, positions)] = self.yy
        if self.grouped:
            wider.group_scatter[positions] = self.group_scatter
        if self.n_rows:
            wider.y_low[:], wider.y_high[:] = 0.0, 0.0
        wider.y_low[positions], wider.y_high[positions] = self.y_low, self.y_high
        return wider

    def with_columns(self, columns: Index) -> Statistics:
        """The statistics of some columns of X only."""
        part = self.copy() if self.xx is None else Statistics(**(vars(self) | {"xx": None})).copy()
        for name in (*_OF_COLUMNS, "xy"):
            setattr(part, name, getattr(self, name)[columns])
        part.group_scatter = self.group_scatter[:, columns]
        if self.xx is not None:
            # Only the upper triangle is there.
            above = np.minimum.outer(columns, columns), np.maximum.outer(columns, columns)
            part.xx = np.asfortranarray(self.xx[above])
        return part


# -------------------------------------------------------------- sums over the rows of a block
def sum_error(n: int) -> float:
    """Bound on the error of a sum of n products, relative to the lengths of its factors.

    It is that of their means, too, and of the few operations on each of them.
    """
    return 2.0 * (n + 16) * _EPS


def chunks(n: int, d: int) -> Iterator[slice]:
    """Slices of the rows that are centred and multiplied at a time."""
    step = max(_CHUNK_ROWS, _CHUNK_ENTRIES // max(d, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def scatter(Z: Array, w: Array) -> Array:
    """Weighted sums of squared deviations of the columns from their means; changes Z."""
    if w.size == 0:
        return np.zeros(Z.shape[1])
    Z -= w @ Z / w.sum()
    error = w @ Z
    np.square(Z, out=Z)
    return np.maximum(w @ Z - error**2 / w.sum(), 0.0)


def sparse_moments(X: Any, w: Array) -> tuple[Array, Array]:
    """Means, and sums of squared deviations from them, of sparse columns."""
    n, d = X.shape
    total = float(w.sum())

    def sums(data: Array) -> Array:
        return np.asarray(sp.csr_array((data, X.indices, X.indptr), shape=(n, d)).T @ w)

    full = np.bincount(X.indices, minlength=d) == n
    absent = np.where(full, 0.0, np.maximum(total - sums(np.ones(X.nnz)), 0.0))
    mean = sums(X.data) / total
    deviation = X.data - mean[X.indices]
    error = (sums(deviation) - absent * mean) / total
    np.square(deviation, out=deviation)
    square = sums(deviation) + absent * mean**2 - total * error**2
    return mean + error, np.maximum(square, 0.0)


def joint_range(
    low: Array, high: Array, other_low: Array, other_high: Array
) -> tuple[Array, Array]:
    """The least and the largest values of both."""
    return np.minimum(low, other_low), np.maximum(high, other_high)
