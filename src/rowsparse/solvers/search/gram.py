"""The squared loss in Gram form: rows of X'X on demand, and X'Y."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.lapack import dpstrf

from rowsparse._arrays import Array, Index, Mask, to_host
from rowsparse.design import Design, design_dtype, machine_eps

# The whole Gram matrix is formed if it takes no more bytes than this ...
_GRAM_BYTES = 1 << 28
# ... once 1 / _ROW_COST of its rows were requested: one by one, rows cost that much more.
_ROW_COST = 24
# It is formed for up to this many features even if n < d.
_SMALL_D = 512
# Otherwise the latest rows are kept, up to this many bytes or this share of the size of X; as many
# as _KEPT_ROWS if they take no more than a larger share.
_KEPT_BYTES, _KEPT_SHARE = 1 << 25, 1 / 64
_KEPT_ROWS, _KEPT_ROWS_SHARE = 64, 1 / 8
# If X has at least _AHEAD_ENTRIES entries, _AHEAD rows are computed together. That pays if at
# least _LEAST_HITS of them are requested later.
_AHEAD_ENTRIES, _AHEAD, _LEAST_HITS = 1 << 22, 16, 4
# A column adds nothing to the selected ones up to s_p / A_pp = eps to this power.
_NOTHING_LEFT = 2 / 3
# Directions of Y below this share of the largest are rounding.
_NO_TARGET = 1e-14
# An exchange must gain more than this share of ||Y||^2 and than this number of rounding errors.
_TOL, _ROUNDING = 1e-12, 16


def safe_ratio(top: Array, bottom: Array, where: Mask) -> Array:
    """top / bottom, and 0 elsewhere than ``where``; infinite beyond the range of floats."""
    with np.errstate(over="ignore"):
        ratio: Array = np.divide(top, bottom, out=np.zeros_like(top), where=where)
    return ratio


def univariate_gains(B: Array, diagonal: Array) -> Array:
    """||B_p||^2 / A_pp, what each feature explains on its own; 0 for columns of zeros."""
    return safe_ratio(np.einsum("jc,jc->j", B, B), diagonal, diagonal > 0)


def reduced_targets(Y: Array) -> Array:
    """Y times an orthogonal matrix, without the columns that this turns into zeros.

    Squared losses are the same for both. Centred one-hot targets of c classes take c - 1 columns.

    >>> Y = np.array([[0.5, -0.5], [-0.5, 0.5]])
    >>> np.abs(reduced_targets(Y)).round(3)
    array([[0.707],
           [0.707]])
    """
    if Y.shape[1] == 1:
        return Y
    values, vectors = np.linalg.eigh(Y.T @ Y)
    kept = values > _NO_TARGET * values[-1]
    kept[-1] = True
    return np.asarray(Y @ vectors[:, kept])


def first_best(scores: Array, eps: float) -> int:
    """The lowest index with the largest score, up to rounding."""
    best = scores.max()
    return int(np.argmax(scores >= best - 64 * eps * abs(best)))


def independent(A_SS: Array, tol: float) -> Index:
    """Indices of a maximal linearly independent set of columns, up to the tolerance ``tol``.

    >>> independent(np.array([[4.0, 4.0, 0.0], [4.0, 4.0, 0.0], [0.0, 0.0, 1.0]]), 1e-10)
    array([0, 2])
    """
    norms = np.sqrt(np.maximum(np.diag(A_SS), 0.0))
    live = np.flatnonzero(norms > 0)
    if live.size == 0:
        return live
    correlation = A_SS[np.ix_(live, live)] / norms[live] / norms[live, None]
    _, pivots, rank, _ = dpstrf(correlation, tol=tol, lower=1)
    return np.asarray(live[np.sort(pivots[:rank]) - 1])


def solve_positive(A_SS: Array, right: Array) -> Array:
    """A_SS^-1 right, for a positive definite A_SS, empty ones included."""
    if A_SS.size == 0:
        return right.copy()
    return np.asarray(cho_solve((cholesky(A_SS, lower=True), True), right))


class GramRows:
    """Rows of X'X on demand: the whole matrix where that pays, else the latest rows are kept.

    ``n_expected`` rows are sure to be requested.
    """

    def __init__(
        self, design: Design, *, max_bytes: int | None = None, n_expected: int = 0
    ) -> None:
        n, d = design.shape
        self._design = design
        self.dtype = design_dtype(design)
        # Where X is held.
        self._all: Any = None
        self._kept: dict[int, Any] = {}
        row = self.dtype.itemsize * max(d, 1)
        size = design.n_stored * self.dtype.itemsize
        some = min(_KEPT_ROWS * row, int(_KEPT_ROWS_SHARE * size))
        kept = max(_KEPT_BYTES, int(_KEPT_SHARE * size), some)
        kept = kept if max_bytes is None else max_bytes
        self._capacity = max(1, kept // row)
        self._n_requested = n_expected if n * d >= _AHEAD_ENTRIES else 0
        limit = _GRAM_BYTES if max_bytes is None else max_bytes
        self._formable = (d <= n or d <= _SMALL_D) and 8 * d * d <= limit
        self._guesses = not self._formable and n * d >= _AHEAD_ENTRIES and d > 2 * _AHEAD
        # Rows that were computed ahead and not requested yet; how many were, and how often.
        self._guessed: set[int] = set()
        self._hits = self._n_ahead = 0
        self._n_expected, self._n_fetched = n_expected, 0
        # Several threads may search at once.
        self._lock = Lock()

    def __call__(self, features: Index) -> Array:
        """(X'X)[features, :], as a new array."""
        self.prepare(features)
        rows = np.empty((features.size, self._design.shape[1]))
        for i, p in enumerate(features.tolist()):
            rows[i] = to_host(self.row(p))
        return rows

    def row(self, p: int) -> Any:
        """(X'X)[p, :] in the precision of the data, where X is held; callers must not change it."""
        if self._all is not None:
            return self._all[p, :]
        row = self._kept.get(p)
        return self._compute(np.array([p]))[0] if row is None else row

    @property
    def n_guesses(self) -> int:
        """Number of features that :meth:`fetch` may ask for; 0 while guesses do not pay."""
        # Of the rows computed last, most are requested later.
        pays = self._hits > _LEAST_HITS * (self._n_ahead - 1)
        too_late = 0 < self._n_expected - self._n_fetched <= _LEAST_HITS
        return 2 * _AHEAD if self._guesses and pays and not too_late else 0

    def fetch(self, p: int, best: Callable[[int], Index]) -> None:
        """Compute row p, together with those of the best features while such guesses pay.

        ``best`` gives as many features as it is asked for, the best first.
        """
        count = self.n_guesses
        self._n_fetched += 1
        if p in self._kept:
            self._hits += p in self._guessed
            self._guessed.discard(p)
        elif count:
            top = best(count).tolist()
            ahead = [q for q in top if q != p and q not in self._kept][: _AHEAD - 1]
            self._guessed.update(ahead)
            self._n_ahead += 1
            self.prepare(np.array([p, *ahead]))

    def prepare(self, features: Index) -> None:
        """Compute the rows that are missing, all at once."""
        missing = [p for p in features.tolist() if p not in self._kept]
        if missing and self._all is None:
            self._compute(np.array(missing[: self._capacity]))

    def _compute(self, features: Index) -> Any:
        """Compute rows and keep them."""
        self._n_requested += features.size
        if self._formable and self._n_requested * _ROW_COST > self._design.shape[1]:
            with self._lock:
                if self._all is None:
                    self._all = self._design.gram_in_place()
            return [self._all[p, :] for p in features.tolist()]
        computed = self._design.gram_rows_in_place(features)
        rows = [computed[i, :] for i in range(features.size)]
        with self._lock:
            self._kept.update(zip(features.tolist(), rows, strict=True))
            while len(self._kept) > self._capacity:
                del self._kept[next(iter(self._kept))]
        return rows


class HeldProblem(NamedTuple):
    """B' (c x d), the diagonal of A, and what is negligible of it, on one device."""

    B: Any
    diagonal: Any
    negligible: Any


@dataclass(frozen=True)
class GramProblem:
    """The squared loss in Gram form, shared by all supports.

    Build it with :meth:`from_design` or :meth:`from_products`.

    Attributes
    ----------
    gram : GramRows
        Rows of X'X, without the ridge.
    B : array of shape (d, c)
        X'Y, held by columns.
    diagonal : array of shape (d,)
        A_pp = ||x_p||^2 + ridge.
    eps : float
        The relative rounding error of the data.
    share, negligible : float, array of shape (d,)
        The s_p / A_pp and the s_p at and below which p adds nothing.
    total : float
        ||Y||_F^2.
    """

    design: Design
    gram: GramRows
    B: Array
    diagonal: Array
    eps: float
    share: float
    negligible: Array
    ridge: float
    total: float

    @classmethod
    def from_design(
        cls, design: Design, Y: Array, *, ridge: float = 0.0, n_expected: int = 0
    ) -> GramProblem:
        """The problem with a centred design and centred targets Y; see :class:`GramRows`."""
        B = np.ascontiguousarray(design.rmatmul(Y).T).T
        gram = GramRows(design, n_expected=n_expected)
        return cls.from_products(design, gram, B, float(np.vdot(Y, Y)), ridge=ridge)

    @classmethod
    def from_products(
        cls, design: Design, gram: GramRows, B: Array, total: float, *, ridge: float = 0.0
    ) -> GramProblem:
        """The problem with known inner products; of the design, only the column norms are used."""
        diagonal = design.column_norms() ** 2 + ridge
        eps = machine_eps(design)
        share = eps**_NOTHING_LEFT
        return cls(design, gram, B, diagonal, eps, share, share * diagonal, ridge, total)

    @property
    def rounding(self) -> float:
        """A rounding error of the objective of selecting nothing."""
        return self.eps * self.total

    @property
    def min_gain(self) -> float:
        """Exchanges that gain no more than this are not made."""
        return max(_TOL, _ROUNDING * self.eps) * self.total

    @cached_property
    def held(self) -> HeldProblem:
        """The arrays of d columns, where X is held."""
        hold = self.design.hold
        return HeldProblem(hold(self.B.T), hold(self.diagonal), hold(self.negligible))

    def with_ridge(self, ridge: float) -> GramProblem:
        """The same problem with another ridge; the rows of the Gram matrix are shared."""
        diagonal = self.design.column_norms() ** 2 + ridge
        return replace(self, ridge=ridge, diagonal=diagonal, negligible=self.share * diagonal)
