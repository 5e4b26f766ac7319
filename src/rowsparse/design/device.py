"""Dense X on another device, such as a GPU: any array of the array API standard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index, to_device, to_host, wide_dtype
from rowsparse.design.protocol import ColumnMoments, ImplicitDesign, binary_units

# Entries of X that are centred or converted at a time.
_BLOCK_ENTRIES = 1 << 24
# Magnitudes whose squares, and those of their deviations, neither overflow nor underflow.
_SAFE_MAGNITUDES = {"float32": (1e-12, 1e12), "float64": (1e-120, 1e140)}
# Number of rows whose mean approximates that of all rows.
_TYPICAL_ROWS = 32


class DeviceDesign(ImplicitDesign):
    """A dense X on a device. It never leaves it: products come back, and columns asked for."""

    explicit_gram = True
    on_device: ClassVar[bool] = True

    def __init__(self, X: Any, **parts: Any) -> None:
        super().__init__(X, **parts)
        self._xp = array_namespace(X)
        self._held: dict[str, Any] = {}

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self._X.shape
        return int(n), int(d)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype("float32" if self._X.dtype == self._xp.float32 else "float64")

    @property
    def _wide(self) -> Any:
        """The type of sums over many rows."""
        return getattr(self._xp, wide_dtype(self._X).name)

    def hold(self, array: NDArray[Any], dtype: Any = None) -> Any:
        return to_device(array if dtype is None else array.astype(dtype, copy=False), self._X)

    def _part(self, name: str, dtype: Any = np.float64) -> Any:
        """The attribute ``name``, an array, on the device; sent there once."""
        key = f"{name} {np.dtype(dtype).name}"
        if key not in self._held:
            self._held[key] = self.hold(getattr(self, name), dtype)
        return self._held[key]

    def _view(self, **changes: Any) -> Self:
        return super()._view(**changes, _held={})

    # ------------------------------------------------------------------------- products
    def _dot(self, W: Array) -> Array:
        return np.asarray(to_host(self._X @ self.hold(W, self.dtype)), dtype=np.float64)

    def _tdot(self, M: Any) -> Any:
        """X' M by rows, c x d, on the device, for M on the device."""
        if M.shape[1] == 1:
            # A vector: libraries read X at full speed only in products that they know as such.
            return self._xp.reshape(M[:, 0] @ self._X, (1, -1))
        return M.T @ self._X

    def rmatmul(self, M: Array) -> Array:
        scaled = M if self.row_scale is None else M * self.row_scale[:, None]
        product = self._ztdot(self.hold(scaled, self.dtype), self.hold(scaled.sum(axis=0)))
        return np.asarray(to_host(product), dtype=np.float64).T

    def _ztdot(self, M: Any, sums: Any) -> Any:
        """(X - 1 m')' M by rows, scaled, c x d; ``sums`` has the column sums of M."""
        product = self._xp.astype(self._tdot(M), self._wide)
        if self.mean is not None:
            product -= sums[:, None] * self._part("mean")
        product *= self._part("inv_scale")
        return product

    def gram_rows_in_place(self, columns: Index) -> Any:
        Z = self._standardised(self._taken(columns), columns)
        M = Z if self.row_scale is None else Z * self._part("row_scale", self.dtype)[:, None]
        rows = self._ztdot(M, self._xp.sum(M, axis=0, dtype=self._wide))
        return self._xp.astype(rows, self._X.dtype)

    def gram_columns(self, columns: Index) -> Array:
        return np.asarray(to_host(self.gram_rows_in_place(columns)), dtype=np.float64).T

    def gram_in_place(self, weights: Array | None = None) -> Any:
        xp, d = self._xp, self.shape[1]
        total = self.hold(np.zeros((d, d)))
        for rows, Z in self._transformed_rows():
            if weights is not None:
                # Weights may span many decades, more than single precision can sum up.
                Z = xp.astype(Z, self._wide) * self.hold(np.sqrt(weights[rows]))[:, None]
            total += xp.astype(Z.T @ Z, self._wide)
        return total

    def gram(self, weights: Array | None = None) -> Array:
        return np.asarray(to_host(self.gram_in_place(weights)), dtype=np.float64)

    def outer(self, weights: Array) -> Array:
        n = self.shape[0]
        kept = np.flatnonzero(weights)
        total = self.hold(np.zeros((n, n)))
        step = max(1, _BLOCK_ENTRIES // max(n, 1))
        for start in range(0, kept.size, step):
            columns = kept[start : start + step]
            Z = self._standardised(self._taken(columns), columns)
            Z *= self.hold(np.sqrt(weights[columns]), self.dtype)
            total += self._xp.astype(Z @ Z.T, self._wide)
        return np.asarray(to_host(total), dtype=np.float64)

    # -------------------------------------------------------------------- rows and columns
    def _taken(self, columns: Index) -> Any:
        """X[:, columns] on the device, as a new array."""
        return self._xp.take(self._X, to_device(columns, self._X), axis=1)

    def _standardised(self, block: Any, columns: Index) -> Any:
        """Columns of Z from those of X, which are overwritten."""
        if self.mean is not None:
            block -= self.hold(self.mean[columns], self.dtype)
        block *= self.hold(self.inv_scale[columns], self.dtype)
        if self.row_scale is not None:
            block *= self._part("row_scale", self.dtype)[:, None]
        return block

    def _take(self, columns: Index) -> NDArray[Any]:
        return np.array(to_host(self._taken(columns)))

    def _row_blocks(self) -> Iterator[tuple[slice, Any]]:
        n, d = self.shape
        step = max(1, _BLOCK_ENTRIES // max(d, 1))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self._X[rows, :]

    def _transformed_rows(self) -> Iterator[tuple[slice, Any]]:
        """Blocks of rows of Z on the device, in the design's dtype."""
        for rows, block in self._row_blocks():
            Z = block * 1.0 if self.mean is None else block - self._part("mean", self.dtype)
            if self._rest is not None and self.dtype == np.float64:
                Z -= self._part("_rest")
            Z *= self._part("inv_scale", self.dtype)
            if self.row_scale is not None:
                Z *= self.hold(self.row_scale[rows], self.dtype)[:, None]
            yield rows, Z

    def _doubled(self) -> Any:
        return self._xp.astype(self._X, self._wide)

    # ----------------------------------------------------------------------------- moments
    def moments(self, weights: Array | None = None) -> ColumnMoments:
        n, d = self.shape
        xp = self._xp
        w = np.ones(n) if weights is None else weights
        high, low = xp.max(self._X, axis=0), xp.min(self._X, axis=0)
        largest = np.asarray(to_host(xp.maximum(high, -low)), dtype=np.float64)
        least, most = _SAFE_MAGNITUDES[wide_dtype(self._X).name]
        extreme = np.any((largest > most) | ((largest < least) & (largest > 0)))
        # Divided by their magnitude first, no square overflows or underflows.
        unit = binary_units(largest) if extreme else np.ones(d)
        origin = self._typical_row(unit)
        error, square = self._sums(w, origin, unit)
        if np.any(error**2 > square - error**2):
            origin = origin + error
            error, square = self._sums(w, origin, unit)
        return ColumnMoments.corrected(origin, error, square, unit, largest)

    def _typical_row(self, unit: Array) -> Array:
        """The mean of a few rows, with which sums of squares lose no digits to the means."""
        few = self._X[:: max(1, -(-self.shape[0] // _TYPICAL_ROWS)), :]
        scaled = self._xp.astype(few, self._wide) / self.hold(unit)
        return np.asarray(to_host(self._xp.mean(scaled, axis=0)), dtype=np.float64)

    def _sums(self, w: Array, origin: Array, unit: Array) -> tuple[Array, Array]:
        """Weighted means and mean squares of X / unit - 1 origin'."""
        xp = self._xp
        total, square = (self.hold(np.zeros(self.shape[1])) for _ in range(2))
        at, scale = self.hold(origin), self.hold(unit)
        scaled, weighted = bool(np.any(unit != 1.0)), bool(np.any(w != 1.0))
        for rows, block in self._row_blocks():
            block = (block / scale if scaled else block) - at  # in the widest type
            part = block * self.hold(w[rows])[:, None] if weighted else block
            total += xp.sum(part, axis=0)
            square += xp.sum(part * block, axis=0)
        sums = to_host(xp.stack([total, square])).astype(np.float64)
        return sums[0] / w.sum(), sums[1] / w.sum()

    def _sum_of_squares(self) -> Array:
        total = self.hold(np.zeros(self.shape[1]))
        for _, Z in self._transformed_rows():
            total += self._xp.sum(Z * Z, axis=0, dtype=self._wide)
        return np.asarray(to_host(total), dtype=np.float64)

    def weighted_squares(self, weights: Array) -> Array:
        """One pass over X for all columns of weights."""
        total = self.hold(np.zeros((weights.shape[1], self.shape[1])))
        for rows, Z in self._transformed_rows():
            total += self.hold(weights[rows].T) @ self._xp.astype(Z * Z, self._wide)
        return np.asarray(to_host(total), dtype=np.float64)

    def safe_copy(
        self, mean: Array | None, rest: Array | None, inv_scale: Array, unit: Array
    ) -> DeviceDesign:
        """Z itself in the dtype of X, every step of it in the widest type."""
        xp = self._xp
        offset = None if mean is None else self.hold(mean / unit)
        further = None if rest is None else self.hold(rest / unit)
        units, scale = self.hold(unit), self.hold(inv_scale * unit)
        Z = xp.empty_like(self._X)
        for rows, block in self._row_blocks():
            part = xp.astype(block, self._wide) / units
            part = part if offset is None else part - offset
            part = part if further is None else part - further
            Z[rows, :] = xp.astype(part * scale, self._X.dtype)
        source = DeviceDesign(self._X, mean=mean, inv_scale=inv_scale, rest=rest)
        return DeviceDesign(Z, mean=None, inv_scale=np.ones(self.shape[1]), source=source)
