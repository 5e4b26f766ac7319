"""Lower bounds on the best-k-features problem that hold in floating point too.

The problem is to choose S, k features, such that

    f(S) = min_W ||Y - XW||_F^2 + ridge ||W||_F^2   with w_j = 0 outside S

is least. For any W (its rows may all be non-zero), with u = X'(Y - XW) and q_j = ||u_j||^2/ridge,

    L(W) = ||Y||^2 - ||XW||^2 - (sum of the k largest q_j) <= f(S)   for every S.

In terms of the dual point a = Y - XW this is 2<a,Y> - ||a||^2 - (sum of the k largest q_j).

A larger ridge makes a tighter bound. Where X'X is positive definite (n > d), part of it can be
counted to the ridge: with 0 < shift <= its least eigenvalue, (X'X - shift I, ridge + shift) is
the same problem as (X'X, ridge).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import Design
from rowsparse.rows import row_norms
from rowsparse.solvers.relaxation import largest

# Entries of X that are held as float64 at a time.
_BLOCK_ENTRIES = 1 << 24
# Up to this many features the least eigenvalue of their Gram matrix is looked at, and it is used
# if it adds at least this share to the ridge.
_EIGENVALUES, _WORTHWHILE = 1500, 1e-3
# Up to this many candidates their whole Gram matrix is kept: 240 MB. It pays from so few
# candidates a sample on; with more of them, products with the columns themselves are cheaper.
_WHOLE_GRAM, _WIDE = 5500, 4
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Bound:
    """A lower bound at W, and the scores q of all candidates that go into it.

    ``k_th`` and ``next_one`` are the k-th and the (k+1)-th largest score among the features that
    are still free, k counted without those that are in already.
    """

    value: float
    q: Array
    k_th: float
    next_one: float


class Candidates:
    """The features that may still be chosen, by their products with one another and with Y.

    Parameters
    ----------
    design : Design
        Centred.
    features : array of int
        The candidates, as columns of the design.
    B : array of shape (m, c)
        x_j' Y for the candidates.
    norms : array of shape (m,)
        ||x_j||.
    total : float
        ||Y||^2.
    ridge : float
        Positive, with what was taken from the Gram matrix.
    shift : float
        What was taken from the diagonal of the Gram matrix and is part of the ridge.
    rounding : float
        Bound on the relative error of an inner product of two columns.
    gram : array of shape (m, m), optional
        X'X of the candidates, if it is known.
    columns : array of shape (n, m), optional
        Their columns in float64, if they are at hand.
    """

    def __init__(
        self,
        design: Design,
        features: Index,
        B: Array,
        norms: Array,
        total: float,
        ridge: float,
        rounding: float,
        shift: float = 0.0,
        gram: Array | None = None,
        columns: Array | None = None,
    ) -> None:
        self.design, self.features, self.B, self.norms = design, features, B, norms
        self.total, self.ridge, self.rounding, self.shift = total, ridge, rounding, shift
        self.diagonal = norms**2 - shift
        n, m = (design if columns is None else columns).shape[0], features.size
        if gram is None and m <= min(_WHOLE_GRAM, _WIDE * n):
            gram = _gram(design, features) if columns is None else columns.T @ columns
        elif gram is None and columns is None and n * m <= _BLOCK_ENTRIES:
            columns = np.ascontiguousarray(_columns(design, features))
        self._gram, self._columns = gram, columns if gram is None else None

    @classmethod
    def of(cls, design: Design, Y: Array, ridge: float) -> Candidates:
        """All features of a design."""
        n, d = design.shape
        # The error of a sum of n products, with room for the centring and scaling on the fly.
        rounding = (n + 16) * 2.0 * _EPS
        total = float(np.vdot(Y, Y))
        every = np.arange(d)
        B, norms = _cross(design, every, Y), _norms(design)
        if not d < n or d > _EIGENVALUES:
            return cls(design, every, B, norms, total, ridge, rounding)
        gram = _gram(design, every)
        least = float(np.linalg.eigvalsh(gram)[0]) - rounding * float(np.trace(gram))
        shift = max(least, 0.0)
        if shift > 0 and shift < _WORTHWHILE * ridge:
            shift = 0.0
        gram[np.diag_indices(d)] -= shift
        return cls(design, every, B, norms, total, ridge + shift, rounding, shift, gram)

    def __len__(self) -> int:
        return int(self.features.size)

    @property
    def nbytes(self) -> int:
        """Memory for what was computed from the columns."""
        kept = self._gram if self._gram is not None else self._columns
        return self.B.nbytes + (0 if kept is None else int(kept.nbytes))

    def __getstate__(self) -> dict[str, Any]:
        """All but the design where nothing is asked of it any more."""
        state = vars(self).copy()
        if self._gram is not None or self._columns is not None:
            state["design"] = None
        return state

    def cross(self, positions: Index, others: Index) -> Array:
        """Products of some candidates' columns with those of others."""
        if self._gram is not None:
            return self._gram[positions[:, None], others]
        if self._columns is not None:
            return self._columns.take(positions, axis=1).T @ self._columns.take(others, axis=1)
        block = _columns(self.design, self.features[positions])
        return _cross(self.design, self.features[others], block).T

    def block(self, positions: Index) -> Array:
        """The Gram matrix of some candidates."""
        if self._gram is not None:
            return self._gram[positions[:, None], positions]
        if self._columns is not None:
            columns = self._columns.take(positions, axis=1)
            return columns.T @ columns
        return _gram(self.design, self.features[positions])

    def products(self, active: Index, W: Array) -> Array:
        """The products of all candidates with XW, for a W with the rows of ``active``."""
        if self._gram is not None:
            return self._gram[active].T @ W
        if self._columns is not None:
            fitted = self._columns.take(active, axis=1) @ W
            return (fitted.T @ self._columns).T
        fitted = _columns(self.design, self.features[active]) @ W
        return _cross(self.design, self.features, fitted)

    def restricted(self, keep: Index) -> Candidates:
        """The same problem with these candidates alone."""
        return Candidates(
            self.design,
            self.features[keep],
            self.B[keep],
            self.norms[keep],
            self.total,
            self.ridge,
            self.rounding,
            self.shift,
            None if self._gram is None else self._gram[keep[:, None], keep],
            None if self._columns is None else self._columns.take(keep, axis=1),
        )

    def bound(self, active: Index, W: Array, chosen: Index, allowed: Mask, k: int) -> Bound:
        """L(W) over the choices of k features: ``chosen`` and others of ``allowed``.

        ``W`` has the rows of ``active``. What rounding may have done to the inner products is
        counted against the bound.
        """
        u = self.B - self.products(active, W)
        size = float(self.norms[active] @ row_norms(W))
        rounding = self.rounding + 2.0 * _EPS * active.size
        # sqrt(q_j ridge) = ||u_j||, plus what rounding may have taken from it.
        q = np.sqrt(np.einsum("jc,jc->j", u, u))
        q += rounding * (np.sqrt(self.total) + size) * self.norms
        q *= q
        q /= self.ridge
        explained = float(np.vdot(W, self.B[active] - u[active]))
        margin = rounding * (size * (size + np.sqrt(self.total)) + 8.0 * self.total)
        free, count = q[allowed], k - chosen.size
        top = largest(free, count + 1)
        top = np.sort(top)[::-1]
        used = float(q[chosen].sum() + top[:count].sum())
        next_one = float(top[count]) if top.size > count else 0.0
        k_th = float(top[count - 1]) if count else np.inf
        return Bound(self.total - explained - used - margin, q, k_th, next_one)

    def objective(self, positions: Index) -> float:
        """f(S) for a set of candidates."""
        A = self.block(positions)
        A[np.diag_indices_from(A)] += self.ridge
        B = self.B[positions]
        return self.total - float(np.vdot(B, np.linalg.solve(A, B)))

    @property
    def solve_error(self) -> float:
        """Bound on the error of f(S) for one support, from the conditioning of its system."""
        spread = float(self.norms.max(initial=0.0)) ** 2 / self.ridge
        return 8.0 * self.rounding * (1.0 + spread) * self.total


def _columns(design: Design, features: Index) -> Array:
    return design.columns(features).astype(np.float64, copy=False)


def _blocks(design: Design, features: Index) -> Iterator[slice]:
    """Slices of the features whose columns may be held as float64 at one time."""
    step = max(1, _BLOCK_ENTRIES // design.shape[0])
    for start in range(0, features.size, step):
        yield slice(start, start + step)


def _cross(design: Design, features: Index, M: Array) -> Array:
    """X_features' M, in float64 whatever the precision of the data."""
    if features.size == design.shape[1] and _is_double(design):
        return design.rmatmul(M)
    parts = [_columns(design, features[at]).T @ M for at in _blocks(design, features)]
    return np.concatenate(parts) if parts else np.zeros((0, M.shape[1]))


def _gram(design: Design, features: Index) -> Array:
    """X_features' X_features, likewise."""
    n, d = design.shape
    if n > d and features.size == d and _is_double(design):
        return design.gram()
    if n * features.size <= _BLOCK_ENTRIES:
        block = _columns(design, features)
        return block.T @ block
    parts = [
        _cross(design, features, _columns(design, features[at])) for at in _blocks(design, features)
    ]
    return np.concatenate(parts, axis=1)


def _norms(design: Design) -> Array:
    if _is_double(design):
        return design.column_norms()
    every = np.arange(design.shape[1])
    parts = [np.linalg.norm(_columns(design, every[at]), axis=0) for at in _blocks(design, every)]
    return np.concatenate(parts)


def _is_double(design: Design) -> bool:
    return design.columns(np.empty(0, dtype=np.intp)).dtype == np.float64
