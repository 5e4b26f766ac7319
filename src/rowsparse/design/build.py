"""From the user's X to a design: centring, scaling, and the way back for coefficients.

Then designs with the values of each column limited to an interval, and designs from products alone:
a few rows that have the same products as all samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, is_numpy_array
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpstrf

from rowsparse._arrays import Array, Index, on_device, to_device
from rowsparse.design.dense import DenseDesign
from rowsparse.design.device import DeviceDesign
from rowsparse.design.protocol import ColumnMoments, Design, ImplicitDesign, binary_units
from rowsparse.design.sparse import SparseDesign, canonical_as_held

# |mean| / sd above which implicit centring would lose too many digits; the limit is lower for a
# sparse X, whose Gram matrix is centred implicitly too.
_MAX_OFFSET = {"float32": 1e2, "float64": 1e6}
_MAX_SPARSE_OFFSET = 1e2
# Largest exponent (base 10) of a column's magnitude at which products are still safe.
_MAX_DECADES = {"float32": 15, "float64": 140}
# Errors of limits that are too large, and spreads and shares of weights that are too small, for
# anything to be proven of them.
_MAX_CLIP_ROUNDING, _LEAST_SPREAD, _LEAST_SHARE = 1e-4, 1e-120, 1e-100
# Directions of Y below this share of the largest are rounding.
_NO_TARGET = 1e-14
_EPS = float(np.finfo(np.float64).eps)
# Magnitudes whose squares, times a sample size, still fit into the type.
_SAFE_MAGNITUDE = {"float32": (1e-12, 1e12), "float64": (1e-50, 1e50)}


def power_of_two_unit(magnitude: float, dtype: str = "float64") -> float:
    """1, or for an extreme magnitude the power of two that brings it near 1.

    >>> power_of_two_unit(3.0), power_of_two_unit(2.0**400)
    (1.0, 2.5822498780869086e+120)
    """
    low, high = _SAFE_MAGNITUDE[dtype]
    if magnitude == 0.0 or low <= magnitude <= high:
        return 1.0
    # Neither the power nor its reciprocal may overflow.
    return float(2.0 ** np.clip(np.round(np.log2(magnitude)), -1000, 1000))


@dataclass(frozen=True)
class ColumnScaling:
    """Conversion of the coefficients of a design to those of the user's data.

    With ``limits``, (2, d), they are for X limited to these values, column by column.
    """

    mean: Array
    inv_scale: Array
    x_unit: float
    limits: Array | None = None

    def coefficients(self, W: Array, b: Array) -> tuple[Array, Array]:
        """(W, b) of the design as ``coef`` (c x d) and ``intercept`` (c,) for X itself."""
        coef = (W * self.inv_scale[:, None]).T
        return coef, b - coef @ self.mean


def make_design(
    X: Any, *, center: bool, scale: bool, weights: Array | None = None, clip: float | None = None
) -> tuple[Design, ColumnScaling]:
    """A design over X, centred and scaled to unit standard deviation (ddof = 0) as asked.

    With ``clip``, values further than that many standard deviations from the mean of their column
    are moved to that distance, before all columns are centred and scaled anew.

    Columns that are constant become zero as soon as they are centred. Without scaling, values
    of an extreme magnitude are divided by one common power of two (``x_unit``), so that
    no square overflows.

    Examples
    --------
    >>> import numpy as np
    >>> design, units = make_design(np.array([[1.0, 5.0], [3.0, 5.0]]), center=True, scale=True)
    >>> design.matmul(np.eye(2))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    d = X.shape[1]
    kind = _kind(X)
    stored = canonical_as_held(X) if sp.issparse(X) else X
    raw = kind(stored, mean=None, inv_scale=np.ones(d))
    moments = raw.moments(weights)
    limits, offset = None, np.zeros(d)
    rounding, is_unsure = 0.0, center and bool(np.any(moments.unsure))
    if clip is not None:
        limits = clip_limits(moments, clip)
        raw, offset = clipped_design(stored, limits, kind)
        before, moments = moments, raw.moments(weights)
        rounding = _clip_rounding(before, moments, clip, raw)
    counts = ~moments.constant if center else np.ones(d, dtype=bool)
    largest = float(moments.largest[counts].max(initial=0.0))
    unit = 1.0 if scale else power_of_two_unit(largest, raw.dtype.name)
    inv_scale = np.full(d, 1.0 / unit)
    if scale:
        inv_scale = 1.0 / np.where(moments.constant, 1.0, moments.sd)
    if center:
        inv_scale[moments.constant] = 0.0
    mean, rest = (moments.mean, moments.rest) if center else (None, None)
    scaling = ColumnScaling(moments.mean + offset if center else offset, inv_scale, unit, limits)
    spread = moments.sd if center else np.hypot(moments.sd, moments.mean)
    is_unsure |= _may_underflow(spread * inv_scale, moments.largest * inv_scale, weights)
    most = _MAX_SPARSE_OFFSET if sp.issparse(X) else _MAX_OFFSET[raw.dtype.name]
    if _implicit_is_unsafe(raw.dtype, moments, inv_scale, most if center else np.inf):
        design = raw.safe_copy(mean, rest, inv_scale, binary_units(moments.largest))
        design.has_stored_columns = raw.has_stored_columns
    else:
        design = raw.standardized(mean, rest, inv_scale)
        if weights is None:
            # The norms of the columns follow from the moments, without another pass over the data.
            design.set_column_norms(np.sqrt(X.shape[0]) * spread * inv_scale)
    design.product_rounding = rounding
    design.is_unsure = is_unsure or rounding > _MAX_CLIP_ROUNDING
    return design, scaling


def _clip_rounding(
    before: ColumnMoments, clipped: ColumnMoments, clip: float, design: ImplicitDesign
) -> float:
    """Bound on the relative error of products of columns whose limits are rounded.

    The limits are off by the rounding of their sum and by that of the standard deviation.
    """
    n, varies = design.shape[0], ~before.constant
    eps = float(np.finfo(np.float64 if design.has_stored_columns else design.dtype).eps)
    reach = clip * before.sd
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        error = 4.0 * eps * (np.abs(before.mean) + reach) + (n + 16) * _EPS * reach
        return float((2.0 * error / clipped.sd)[varies].max(initial=0.0))


def _may_underflow(spread: Array, largest: Array, weights: Array | None) -> bool:
    """Whether the squares of columns that vary, or their weights, may leave the range of floats."""
    tiny = (largest > 0) & (spread < _LEAST_SPREAD)
    extreme = weights is not None and weights.min() < _LEAST_SHARE * weights.sum()
    return bool(np.any(tiny)) or extreme


def _kind(X: Any) -> type[ImplicitDesign]:
    """The design for this kind of array."""
    if sp.issparse(X):
        return SparseDesign
    return DeviceDesign if on_device(X) else DenseDesign


def _implicit_is_unsafe(
    dtype: np.dtype[Any], moments: ColumnMoments, inv_scale: Array, max_offset: float
) -> bool:
    """Whether centring or scaling on the fly would lose the digits that matter.

    It would if the means are much larger than the deviations, or if values are near the limits of
    the dtype; then a standardised copy is made instead.
    """
    used = inv_scale > 0
    if np.any(np.abs(moments.mean[used]) / max_offset > moments.sd[used]):
        return True
    largest = moments.largest[used & (moments.largest > 0)]
    decades = np.abs(np.log10(largest)) if largest.size else np.zeros(1)
    return bool(decades.max() > _MAX_DECADES[dtype.name])


# ----------------------------------------------------------------------------------- limited values
class ClippedDesign(DenseDesign):
    """A NumPy X whose values are limited on the fly, a tile at a time: X is not copied.

    Parameters
    ----------
    X : array of shape (n, d)
    limits : array of shape (2, d)
        The least and the largest value of each column.
    **parts
        As in :class:`ImplicitDesign`.
    """

    def __init__(self, X: NDArray[Any], *, limits: Array, **parts: Any) -> None:
        super().__init__(X, **parts)
        self._exact_limits = limits
        # In the precision of X, for products.
        self._limits = limits.astype(X.dtype)

    def _take(self, columns: Index) -> NDArray[Any]:
        return np.asarray(np.clip(super()._take(columns), *self._limits[:, columns]))

    def _take_double(self, columns: Index) -> Array:
        block = super()._take(columns).astype(np.float64, copy=False)
        return np.clip(block, *self._exact_limits[:, columns], out=block)

    def in_double(self) -> ImplicitDesign:
        return self._view(_X=self._doubled(), _limits=self._exact_limits)

    def moments(self, weights: Array | None = None) -> ColumnMoments:
        # Clipping by limits in double precision makes blocks of double precision.
        exact = self._view(_limits=self._exact_limits)
        return super(ClippedDesign, exact).moments(weights)

    def stored_columns(self, columns: Index) -> Array:
        return super()._take(columns).astype(np.float64, copy=False)

    def _row_blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        for rows, block in super()._row_blocks():
            yield rows, np.clip(block, *self._limits)

    def _tiles(self) -> Iterator[tuple[slice, slice, NDArray[Any]]]:
        for rows, columns, tile in super()._tiles():
            yield rows, columns, np.clip(tile, *self._limits[:, columns])

    def _dot(self, W: Array) -> Array:
        W = W.astype(self.dtype, copy=False)
        product = np.zeros((self.shape[0], W.shape[1]))
        for rows, columns, tile in self._tiles():
            product[rows] += tile @ W[columns]
        return product

    def _tdot(self, M: Array) -> Array:
        M = M.astype(self.dtype, copy=False)
        product = np.zeros((self.shape[1], M.shape[1]))
        for rows, columns, tile in self._tiles():
            product[columns] += tile.T @ M[rows]
        return product

    def _left_dot(self, M: NDArray[Any]) -> NDArray[Any]:
        product = np.zeros((M.shape[0], self.shape[1]), dtype=self.dtype)
        for rows, columns, tile in self._tiles():
            product[:, columns] += M[:, rows] @ tile
        return product


def clip_limits(moments: ColumnMoments, clip: float) -> Array:
    """Mean -/+ clip standard deviations, (2, d); infinite for constant columns.

    Limits beyond the range of floats are infinite: no value is beyond them either.
    """
    with np.errstate(over="ignore"):
        reach = np.where(moments.constant, np.inf, clip * moments.sd)
        return np.stack([moments.mean - reach, moments.mean + reach])


def clipped_design(
    X: Any, limits: Array, kind: type[ImplicitDesign]
) -> tuple[ImplicitDesign, Array]:
    """A design, neither centred nor scaled, over X (of a ``kind``) within the limits.

    Returns that design and the offsets of its columns: X within the limits is what it holds plus
    the offsets. A sparse X stays sparse, because all values that it does not store become one
    number, which is the offset of the column. Other arrays than NumPy's are copied, where they
    are.
    """
    d = X.shape[1]
    parts: dict[str, Any] = {"mean": None, "inv_scale": np.ones(d)}
    if sp.issparse(X):
        X = sp.csc_array(X)
        stored = np.diff(X.indptr)
        offset = np.where(stored == X.shape[0], 0.0, np.clip(0.0, *limits))
        low, high, shift = (np.repeat(part, stored) for part in (*limits, offset))
        # In double precision: the limits would be rounded otherwise.
        clipped = sp.csc_array((np.clip(X.data, low, high) - shift, X.indices, X.indptr), X.shape)
        return kind(clipped, source=kind(X, **parts), **parts), offset
    if is_numpy_array(X):
        return ClippedDesign(X, limits=limits, **parts), np.zeros(d)
    xp = array_namespace(X)
    low, high = (xp.astype(to_device(part, X), X.dtype) for part in limits)
    design = kind(xp.clip(X, low, high), **parts)
    design.has_stored_columns = False
    return design, np.zeros(d)


# ------------------------------------------------------------------------------ from products alone
def compressed_design(
    gram: Array, cross: Array, targets: Array, rounding: float = 0.0
) -> tuple[DenseDesign, Array]:
    """A design Z and targets Y of at most d + c rows with Z'Z, Z'Y and Y'Y as given.

    Squared losses depend on nothing else, so that their solvers find in these rows what they
    would find in all samples. Y comes first: with Y'Y = V diag(l) V' and P = diag(l)^-1/2 V' Y'Z,

        Y = [ diag(l)^1/2 V' ]          Z = [ P ]          R'R = Z'Z - P'P
            [ 0              ]              [ R ]

    where R is a Cholesky factor with pivots, without the rows that are rounding.

    Parameters
    ----------
    gram : array of shape (d, d), in Fortran order
        Z'Z; only its upper triangle is used, and it is overwritten.
    cross : array of shape (d, c)
        Z'Y.
    targets : array of shape (c, c)
        Y'Y.
    rounding : float
        Bound on the error of these, relative to the lengths of the columns. The
        ``product_rounding`` of the design is that of its own products.

    Examples
    --------
    >>> X, Y = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), np.array([[1.0], [0.0], [2.0]])
    >>> design, small = compressed_design(np.asfortranarray(X.T @ X), X.T @ Y, Y.T @ Y)
    >>> np.allclose(design.gram(), X.T @ X), np.allclose(design.rmatmul(small), X.T @ Y)
    (True, True)
    """
    d, c = cross.shape
    norms = np.sqrt(np.maximum(np.diag(gram), 0.0))
    inverse = np.divide(1.0, norms, out=np.zeros(d), where=norms > 0)
    values, vectors = np.linalg.eigh(targets)
    kept = values > _NO_TARGET * max(float(values[-1]), np.finfo(np.float64).tiny)
    roots = np.sqrt(values[kept])
    # Of columns scaled to unit length, so that small ones are not taken for rounding.
    P = np.asfortranarray(((vectors[:, kept] / roots).T @ cross.T) * inverse)
    gram *= inverse[:, None]
    gram *= inverse
    if P.size:
        gram = dsyrk(-1.0, P, beta=1.0, c=gram, trans=1, overwrite_c=1)
    factor, pivots, rank, _ = dpstrf(gram, lower=0, overwrite_a=1)
    Z = np.zeros((roots.size + rank, d))
    Z[: roots.size] = P
    order = pivots - 1
    for i in range(rank):
        Z[roots.size + i, order[i:]] = factor[i, i:]
    Z *= norms
    Y = np.zeros((Z.shape[0], targets.shape[0]))
    Y[: roots.size] = roots[:, None] * vectors[:, kept].T
    design = DenseDesign(Z, mean=None, inv_scale=np.ones(d))
    # Dividing by the roots makes the errors of P larger in small directions of Y.
    spread = float(roots.max() / roots.min()) if roots.size else 1.0
    design.has_stored_columns = False
    design.product_rounding = (1.0 + spread) * (rounding + 4.0 * (d + c + 16) * _EPS)
    return design, Y
