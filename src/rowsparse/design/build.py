"""From the user's X to a design: centring, scaling, and the way back for coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array, on_device
from rowsparse.design.clipped import clip_limits, clipped_design
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
# What limits may be off by, and spreads of columns and shares of weights that are too small, for
# anything to be proven of them.
_MAX_CLIP_ROUNDING, _LEAST_SPREAD, _LEAST_SHARE = 1e-4, 1e-120, 1e-100
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
class Units:
    """How the coefficients of a design become those of the user's data.

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
) -> tuple[Design, Units]:
    """A design over X, centred and scaled to unit standard deviation (ddof = 0) as asked.

    With ``clip``, values further than that many standard deviations from the mean of their column
    are moved to that distance, before all columns are centred and scaled anew.

    Columns that are constant become zero as soon as they are centred. Without scaling, values
    of an extreme magnitude are divided by one common power of two (``Units.x_unit``), so that
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
    units = Units(moments.mean + offset if center else offset, inv_scale, unit, limits)
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
    return design, units


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
