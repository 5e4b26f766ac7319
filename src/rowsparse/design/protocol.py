"""The interface of a design, and the code that all kinds of arrays share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from rowsparse._arrays import Array, Index, Mask

# Up to this size the largest eigenvalue comes from a dense matrix.
_DENSE_EIGEN_SIZE = 300
# Binary exponent up to which X in single precision is multiplied by numbers as they are.
_MAX_EXPONENT = 60


@dataclass(frozen=True)
class ColumnMoments:
    """Weighted moments of the columns of X: ``mean``, ``sd`` (ddof = 0) and largest modulus.

    ``mean + rest`` is the mean to more digits than one float64 holds.
    """

    mean: Array
    rest: Array
    sd: Array
    largest: Array

    @classmethod
    def corrected(
        cls, mean: Array, error: Array, variance: Array, unit: Array, largest: Array
    ) -> ColumnMoments:
        """The moments from a first mean, how far it is off, and the variance around it."""
        sd = np.sqrt(np.maximum(variance - error**2, 0.0))
        rounded = mean + error
        rest = (mean - rounded) + error
        return cls(rounded * unit, rest * unit, sd * unit, largest)

    @property
    def constant(self) -> Mask:
        """Columns whose spread is nothing but rounding error, or too small to divide by."""
        info = np.finfo(np.float64)
        return np.asarray(self.sd <= np.maximum(10.0 * info.eps * self.largest, info.tiny))

    @property
    def unsure(self) -> Mask:
        """Columns for which rounding decides whether they are constant.

        ``largest`` may be up to three times the largest modulus.
        """
        info = np.finfo(np.float64)
        limit = np.maximum(10.0 * info.eps * self.largest, info.tiny)
        return np.asarray((self.sd > 0.3 * limit) & (self.sd <= 1.001 * limit))


def binary_units(magnitude: Array) -> Array:
    """The power of two just below each magnitude, 1 for 0: dividing by it rounds nothing.

    >>> binary_units(np.array([5.0, 0.3, 0.0])).tolist()
    [4.0, 0.25, 1.0]
    """
    exponent = np.frexp(magnitude)[1] - 1
    return np.where(magnitude > 0, np.ldexp(1.0, exponent), 1.0)


def direction_key(column: Array) -> bytes:
    """Equal for columns that differ by nothing but their sign and a power of two.

    >>> direction_key(np.array([0.0, 3.0, 5.0])) == direction_key(np.array([0.0, -6.0, -10.0]))
    True
    """
    mantissa, exponent = np.frexp(column)
    at = int(np.argmax(mantissa != 0))
    # No negative zeros: they would not be equal as bytes.
    digits = mantissa * np.sign(mantissa[at]) + 0.0
    return digits.tobytes() + np.where(digits != 0, exponent - exponent[at], 0).tobytes()


class Design(ABC):
    """A matrix Z with n rows and d columns, used through its products only."""

    # Whether the Gram matrix comes from centred columns, so that no offset cancels in it.
    explicit_gram: ClassVar[bool] = False
    # Whether X, and what the methods named held_* return, is on another device.
    on_device: ClassVar[bool] = False
    # The relative error of its products, beside that of computing them.
    product_rounding: float = 0.0
    # Whether rounding decides which columns are constant, or squares underflow: no bound holds.
    is_unsure: bool = False
    # Whether its columns are those of the data, so that equal ones can be told from others.
    has_stored_columns: bool = True
    _spectral_norm: float | None = None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(n, d)."""

    @abstractmethod
    def matmul(self, W: Array) -> Array:
        """Z W."""

    @abstractmethod
    def rmatmul(self, M: Array) -> Array:
        """Z' M."""

    @abstractmethod
    def columns(self, columns: Index) -> NDArray[Any]:
        """Z[:, columns] as a dense NumPy array, in the precision of the data."""

    @abstractmethod
    def column_norms(self) -> Array:
        """The l2 norms of the columns of Z."""

    @abstractmethod
    def outer(self, weights: Array) -> Array:
        """Z diag(weights) Z', n x n, for non-negative weights of the columns."""

    @abstractmethod
    def gram(self, weights: Array | None = None) -> Array:
        """Z' diag(weights) Z, d x d, for non-negative weights of the rows (default ones)."""

    @abstractmethod
    def weighted(self, weights: Array, *, center: bool) -> tuple[Design, Array]:
        """The design with rows scaled by sqrt(weights), centred with the same weights.

        Returns that design and ``shift``, the weighted column means of this one: it is
        diag(sqrt(weights)) (Z - 1 shift'). Without ``center`` the shift is zero.
        """

    @abstractmethod
    def weighted_squares(self, weights: Array) -> Array:
        """sum_i weights_il Z_ij^2, for every column l of non-negative weights and column j of Z."""

    @property
    def bound_rounding(self) -> float:
        """The relative error of its products for a proof; infinite if nothing can be proven."""
        return np.inf if self.is_unsure else self.product_rounding

    @property
    def n_stored(self) -> int:
        """The number of values that the data take."""
        n, d = self.shape
        return n * d

    def in_double(self) -> Design:
        """The same design with all products in double precision."""
        return self

    def double_columns(self, columns: Index) -> Array:
        """Z[:, columns] in double precision, whatever the precision of the data."""
        return self.columns(columns).astype(np.float64, copy=False)

    def stored_columns(self, columns: Index) -> Array:
        """The columns as the user has them, neither centred nor scaled."""
        return self.double_columns(columns)

    def gram_columns(self, columns: Index) -> Array:
        """Z' Z[:, columns], d x len(columns)."""
        return self.rmatmul(self.columns(columns).astype(np.float64, copy=False))

    def hold(self, array: NDArray[Any]) -> Any:
        """A NumPy array where X is held."""
        return array

    def gram_rows_in_place(self, columns: Index) -> Any:
        """(Z'Z)[columns, :] in the precision of the data, where X is held; callers may keep it."""
        dtype = self.columns(columns[:0]).dtype
        return np.ascontiguousarray(self.gram_columns(columns).astype(dtype, copy=False).T)

    def gram_in_place(self) -> Any:
        """Z'Z where X is held."""
        return self.gram()

    def spectral_norm(self) -> float:
        """The largest singular value of Z, from above to a relative 1e-6."""
        if self._spectral_norm is None:
            self._spectral_norm = np.sqrt(max(self._largest_eigenvalue(), 0.0)) * (1 + 1e-6)
        return self._spectral_norm

    def _largest_eigenvalue(self) -> float:
        n, d = self.shape
        size = min(n, d)
        if size <= _DENSE_EIGEN_SIZE:
            matrix = self.outer(np.ones(d)) if n <= d else self.gram()
            return float(eigh(matrix, eigvals_only=True, subset_by_index=(size - 1, size - 1))[0])

        if not self.column_norms().any():
            return 0.0

        def apply(v: Array) -> Array:
            M = v.reshape(size, 1)
            if n <= d:
                return self.matmul(self.rmatmul(M)).ravel()
            return self.rmatmul(self.matmul(M)).ravel()

        operator = LinearOperator((size, size), matvec=apply, dtype=np.float64)
        # A fixed, generic start: the answer must not depend on a global random state.
        start = np.random.default_rng(0).standard_normal(size)
        return float(eigsh(operator, k=1, v0=start, tol=1e-7, return_eigenvectors=False)[0])


def design_dtype(design: Design) -> np.dtype[Any]:
    """The floating-point type of the data."""
    return np.dtype(design.columns(np.empty(0, dtype=np.intp)).dtype)


def machine_eps(design: Design) -> float:
    """The relative rounding error of the design's products."""
    return float(np.finfo(design_dtype(design)).eps)


class ImplicitDesign(Design):
    """Z = diag(r) (X - 1 m') diag(1/s), without forming it.

    Parameters
    ----------
    X : array of shape (n, d)
        The data as stored; never copied and never changed.
    mean : array of shape (d,) or None
        The offsets m; None for no centring.
    inv_scale : array of shape (d,)
        The reciprocals of the scales s; 0 turns a column into zeros.
    row_scale : array of shape (n,) or None
        The row scales r; None for ones.
    rest : array of shape (d,) or None
        The rounding errors of the offsets; used by :meth:`double_columns`.
    source : ImplicitDesign or None
        The design that X was computed from, if X is not what the user has.
    """

    def __init__(
        self,
        X: Any,
        *,
        mean: Array | None,
        inv_scale: Array,
        row_scale: Array | None = None,
        rest: Array | None = None,
        source: ImplicitDesign | None = None,
    ) -> None:
        self._X = X
        self.mean = mean
        self.inv_scale = inv_scale
        self.row_scale = row_scale
        self._rest = rest
        self._source = source
        self._column_norms: Array | None = None

    # ------------------------------------------------------- methods of an array type
    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The floating-point type in which X is held."""

    @abstractmethod
    def _dot(self, W: Array) -> Array:
        """X W."""

    @abstractmethod
    def _tdot(self, M: Array) -> Array:
        """X' M."""

    @abstractmethod
    def _take(self, columns: Index) -> NDArray[Any]:
        """X[:, columns] as a new dense NumPy array of the design's dtype."""

    @abstractmethod
    def moments(self, weights: Array | None = None) -> ColumnMoments:
        """Weighted moments of the columns of X."""

    @abstractmethod
    def safe_copy(
        self, mean: Array | None, rest: Array | None, inv_scale: Array, unit: Array
    ) -> ImplicitDesign:
        """This X centred and scaled, as a copy whose products neither overflow nor cancel.

        ``unit`` holds the columns' magnitudes as powers of two.
        """

    @abstractmethod
    def _doubled(self) -> Any:
        """X in double precision."""

    @abstractmethod
    def _sum_of_squares(self) -> Array:
        """Squared column norms of Z."""

    # ------------------------------------------------------------- shared methods
    def matmul(self, W: Array) -> Array:
        V = W * self.inv_scale[:, None]
        product = self._dot(V)
        if self.mean is not None:
            product -= self.mean @ V
        if self.row_scale is not None:
            product *= self.row_scale[:, None]
        return product

    def rmatmul(self, M: Array) -> Array:
        if self.row_scale is not None:
            M = M * self.row_scale[:, None]
        # Beyond the range of single precision, in another unit.
        excess = 0
        if self.dtype != np.float64:
            excess = max(int(np.frexp(np.abs(M).max(initial=0.0))[1]) - _MAX_EXPONENT, 0)
            M = np.ldexp(M, -excess) if excess else M
        product = self._tdot(M)
        if self.mean is not None:
            product -= np.outer(self.mean, M.sum(axis=0))
        product *= self.inv_scale[:, None]
        return np.ldexp(product, excess) if excess else product

    def columns(self, columns: Index) -> NDArray[Any]:
        block = self._take(columns)
        if self.mean is not None:
            block -= self.mean[columns].astype(block.dtype)
        block *= self.inv_scale[columns].astype(block.dtype)
        if self.row_scale is not None:
            block *= self.row_scale[:, None].astype(block.dtype)
        return block

    def _take_double(self, columns: Index) -> Array:
        """X[:, columns] as a new array in double precision."""
        if self._source is not None and self.dtype != np.float64:
            return self._source.double_columns(columns)
        return self._take(columns).astype(np.float64, copy=False)

    def double_columns(self, columns: Index) -> Array:
        block = self._take_double(columns)
        if self.mean is not None:
            block -= self.mean[columns]
            if self._rest is not None:
                block -= self._rest[columns]
        block *= self.inv_scale[columns]
        if self.row_scale is not None:
            block *= self.row_scale[:, None]
        return block

    def stored_columns(self, columns: Index) -> Array:
        if self._source is not None:
            return self._source.stored_columns(columns)
        return self._take(columns).astype(np.float64, copy=False)

    def set_column_norms(self, norms: Array) -> None:
        """Use norms that the caller has computed already."""
        self._column_norms = norms

    def column_norms(self) -> Array:
        if self._column_norms is None:
            self._column_norms = np.sqrt(self._sum_of_squares())
        return self._column_norms

    def weighted_squares(self, weights: Array) -> Array:
        w = weights if self.row_scale is None else weights * self.row_scale[:, None] ** 2
        views = (self.weighted(column, center=False)[0] for column in w.T)
        return np.array([view.column_norms() ** 2 for view in views])

    def weighted(self, weights: Array, *, center: bool) -> tuple[Design, Array]:
        mean, rest, shift = self.mean, self._rest, np.zeros(self.shape[1])
        if center:
            moments = self.moments(weights)
            mean, rest = moments.mean, moments.rest
            shift = (mean - (0.0 if self.mean is None else self.mean)) * self.inv_scale
        return self._view(mean=mean, _rest=rest, row_scale=np.sqrt(weights)), shift

    def in_double(self) -> ImplicitDesign:
        return self if self.dtype == np.float64 else self._view(_X=self._doubled())

    def standardized(self, mean: Array | None, rest: Array | None, inv_scale: Array) -> Self:
        """The same X with other offsets and scales of the columns."""
        return self._view(mean=mean, _rest=rest, inv_scale=inv_scale)

    def _view(self, **changes: Any) -> Self:
        """A copy of this design with some attributes replaced."""
        view = copy(self)
        vars(view).update(changes, _column_norms=None, _spectral_norm=None)
        return view


class WithColumn(Design):
    """A design with one more column on its right, such as a constant one."""

    def __init__(self, base: Design, column: Array) -> None:
        self._base = base
        self._column = column

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self._base.shape
        return n, d + 1

    def matmul(self, W: Array) -> Array:
        return self._base.matmul(W[:-1]) + np.outer(self._column, W[-1])

    def rmatmul(self, M: Array) -> Array:
        return np.vstack([self._base.rmatmul(M), self._column @ M])

    def columns(self, columns: Index) -> NDArray[Any]:
        d = self._base.shape[1]
        own = columns == d
        block = np.empty((self.shape[0], columns.size))
        block[:, ~own] = self._base.columns(columns[~own])
        block[:, own] = self._column[:, None]
        return block

    def column_norms(self) -> Array:
        return np.append(self._base.column_norms(), np.sqrt(self._column @ self._column))

    def weighted_squares(self, weights: Array) -> Array:
        own = weights.T @ self._column**2
        return np.column_stack([self._base.weighted_squares(weights), own])

    def outer(self, weights: Array) -> Array:
        rank_one = weights[-1] * np.outer(self._column, self._column)
        return self._base.outer(weights[:-1]) + rank_one

    def gram(self, weights: Array | None = None) -> Array:
        weighted = self._column if weights is None else weights * self._column
        cross = self._base.rmatmul(weighted[:, None])
        return np.block([[self._base.gram(weights), cross], [cross.T, weighted @ self._column]])

    def weighted(self, weights: Array, *, center: bool) -> tuple[Design, Array]:
        view, shift = self._base.weighted(weights, center=center)
        own_shift = weights @ self._column / weights.sum() if center else 0.0
        column = np.sqrt(weights) * (self._column - own_shift)
        return WithColumn(view, column), np.append(shift, own_shift)
