"""The candidate features of a proof, and lower bounds that hold in floating point too.

The problem is to choose S, k features, such that

    f(S) = min_W ||Y - XW||_F^2 + ridge ||W||_F^2   with w_j = 0 outside S

is least. For any W (its rows may all be non-zero), with u = X'(Y - XW) and q_j = ||u_j||^2/ridge,

    L(W) = ||Y||^2 - ||XW||^2 - (sum of the k largest q_j) <= f(S)   for every S.

In terms of the dual point a = Y - XW this is 2<a,Y> - ||a||^2 - (sum of the k largest q_j).

A larger ridge gives a tighter bound. Where X'X is positive definite (n > d), part of it can be
moved to the ridge: for a diagonal matrix D <= X'X + ridge I, the problem is the same with
X'X + ridge I - D instead of X'X and D_j instead of the ridge for feature j
(:mod:`rowsparse.solvers.proof.diagonal`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rowsparse._arrays import Array, Index, Mask
from rowsparse.certificate.proof import Kind
from rowsparse.design import Design
from rowsparse.rows import row_norms
from rowsparse.solvers.proof.completion import ResidualProblem
from rowsparse.solvers.proof.problem import Completion, DualBound
from rowsparse.solvers.proof.relaxation import largest
from rowsparse.solvers.proof.squared_relaxation import SquaredRelaxation
from rowsparse.solvers.subset.gram import design_dtype

# Entries of X that are held as float64 at a time.
_BLOCK_ENTRIES = 1 << 24
# The whole Gram matrix is kept for at most this many candidates (240 MB), and at most this many
# per sample: with more of them, products with the columns themselves are cheaper.
_MAX_GRAM, _MAX_GRAM_PER_SAMPLE = 5500, 4
# With two features left to choose and no more candidates than _MAX_PAIRED, all pairs are tried;
# with no more than _FEW_PAIRED, before any relaxation, because that takes less time.
_MAX_PAIRED, _FEW_PAIRED = 1200, 400
_EPS = float(np.finfo(np.float64).eps)


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
        ||x_j||, to which the rounding errors of products are proportional.
    diagonal : array of shape (m,)
        The diagonal of their Gram matrix.
    total : float
        ||Y||^2.
    ridge : float
        Not negative.
    rounding : float
        Bound on the relative error of an inner product of two columns.
    unit : array of shape (m,), optional
        Factors of the columns; coefficients are multiplied by them, too. Default: ones.
    penalty : array of shape (m,), optional
        p_j with sum_j p_j ||w_j||^2 <= ||Y||^2 at the W of any choice. Default: the ridge.
    gram : array of shape (m, m), optional
        X'X of the candidates, if it was computed before.
    columns : array of shape (n, m), optional
        Their columns in float64, if they were computed before.
    """

    def __init__(
        self,
        design: Design,
        features: Index,
        B: Array,
        norms: Array,
        diagonal: Array,
        total: float,
        ridge: float,
        rounding: float,
        unit: Array | None = None,
        penalty: Array | None = None,
        gram: Array | None = None,
        columns: Array | None = None,
    ) -> None:
        self.design, self.features, self.B, self.norms = design, features, B, norms
        self.diagonal, self.total, self.ridge, self.rounding = diagonal, total, ridge, rounding
        self.unit = np.ones(features.size) if unit is None else unit
        self.penalty = np.full(features.size, ridge) if penalty is None else penalty
        n, m = (design if columns is None else columns).shape[0], features.size
        self.n_samples = n
        if gram is None and m <= min(_MAX_GRAM, _MAX_GRAM_PER_SAMPLE * n):
            gram = _gram(design, features) if columns is None else columns.T @ columns
        self._gram, self._columns = gram, columns if gram is None else None
        self._solve_errors: dict[int, float] = {}

    @classmethod
    def of(
        cls, design: Design, Y: Array, ridge: float, features: Index | None = None
    ) -> Candidates:
        """Some features of a design, or all."""
        n, d = design.shape
        features = np.arange(d) if features is None else features
        # The error of a sum of n products, of the means and scales that are sums of n terms too,
        # and of the few operations on each entry.
        rounding = (n + 16) * 2.0 * _EPS + design.bound_rounding
        columns = None
        if n * features.size <= _BLOCK_ENTRIES:
            columns = np.ascontiguousarray(design.double_columns(features))
            B, squares = columns.T @ Y, np.einsum("ij,ij->j", columns, columns)
        else:
            B, squares = _products(design, features, Y)
        total = float(np.vdot(Y, Y))
        norms = np.sqrt(squares)
        return cls(design, features, B, norms, squares, total, ridge, rounding, columns=columns)

    def __len__(self) -> int:
        return int(self.features.size)

    @property
    def nbytes(self) -> int:
        """Memory for what was computed from the columns."""
        kept = self._gram if self._gram is not None else self._columns
        return self.B.nbytes + (0 if kept is None else int(kept.nbytes))

    def __getstate__(self) -> dict[str, Any]:
        """The state without the design, where that is no longer needed."""
        state = vars(self).copy()
        if self._gram is not None or self._columns is not None:
            state["design"] = None
        return state

    @property
    def gram(self) -> Array | None:
        """X'X of all candidates, if it is kept."""
        return self._gram

    def with_diagonal(self, D: Array) -> Candidates:
        """The same problem with X'X + ridge I - D for X'X and D for ridge I, in units of 1/sqrt(D).

        D is positive, X'X + ridge I - D positive semi-definite, and the Gram matrix is known.
        """
        assert self._gram is not None
        unit = 1.0 / np.sqrt(D)
        gram = self._gram.copy()
        gram.flat[:: len(self) + 1] += self.ridge - D
        gram *= unit
        gram *= unit[:, None]
        return Candidates(
            self.design,
            self.features,
            self.B * unit[:, None],
            np.sqrt(self.norms**2 + self.ridge) * unit,
            gram.diagonal().copy(),
            self.total,
            1.0,
            self.rounding,
            unit,
            # The ridge and D both satisfy the condition on p, and so does half the larger one.
            0.5 * np.maximum(self.ridge / D, 1.0),
            gram,
        )

    def cross(self, positions: Index, others: Index) -> Array:
        """Products of some candidates' columns with those of others."""
        if self._gram is not None:
            return self._gram[positions[:, None], others]
        if self._columns is not None:
            return self._columns.take(positions, axis=1).T @ self._columns.take(others, axis=1)
        block = self.design.double_columns(self.features[positions])
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
        fitted = self.design.double_columns(self.features[active]) @ W
        return _cross(self.design, self.features, fitted)

    def restricted(self, keep: Index) -> Candidates:
        """The same problem with these candidates alone."""
        return Candidates(
            self.design,
            self.features[keep],
            self.B[keep],
            self.norms[keep],
            self.diagonal[keep],
            self.total,
            self.ridge,
            self.rounding,
            self.unit[keep],
            self.penalty[keep],
            None if self._gram is None else self._gram[keep[:, None], keep],
            None if self._columns is None else self._columns.take(keep, axis=1),
        )

    def strengths(self) -> Array:
        """||x_j' Y||^2."""
        return np.asarray(np.einsum("jc,jc->j", self.B, self.B))

    def relaxation(self, positions: Index, k: int, n_fixed: int) -> SquaredRelaxation:
        """The relaxation of choosing k of some candidates, the first ``n_fixed`` among them."""
        G, B = self.block(positions), self.B[positions]
        return SquaredRelaxation(G, B, self.total, k, self.ridge, n_fixed)

    def bound(self, active: Index, W: Array, chosen: Index, allowed: Mask, k: int) -> DualBound:
        """L(W) over the choices of k features: ``chosen`` and others of ``allowed``.

        ``W`` has the rows of ``active``. The bound is lowered by the possible rounding error of
        the inner products.
        """
        u = self.B - self.products(active, W)
        size = float(self.norms[active] @ row_norms(W))
        rounding = self.rounding + 2.0 * _EPS * active.size
        # sqrt(q_j ridge) = ||u_j||, plus its possible rounding error.
        q = np.sqrt(np.einsum("jc,jc->j", u, u))
        q += rounding * (np.sqrt(self.total) + size) * self.norms
        q *= q
        q /= self.ridge
        explained = float(np.vdot(W, self.B[active] - u[active]))
        free, count = q[allowed], k - chosen.size
        top = largest(free, count + 1)
        top = np.sort(top)[::-1]
        used = float(q[chosen].sum() + top[:count].sum())
        margin = rounding * (size * (size + np.sqrt(self.total)) + 8.0 * self.total)
        # Screening adds a q to the value, which may be most of what is used.
        margin += (rounding + 2.0 * _EPS * k) * used
        first_out = float(top[count]) if top.size > count else 0.0
        last_in = float(top[count - 1]) if count else np.inf
        value = self.total - explained - used - margin
        # A W that overflows gives no bound.
        return DualBound(value if np.isfinite(value) else -np.inf, q, last_in, first_out)

    def fit(self, positions: Index) -> tuple[Array, float]:
        """The coefficients of a set of candidates, and f(S); inf if they are dependent."""
        A = self.block(positions)
        A[np.diag_indices_from(A)] += self.ridge
        B = self.B[positions]
        try:
            factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return np.zeros_like(B), np.inf
        W = cho_solve(factor, B, check_finite=False)
        return W, self.total - float(np.vdot(B, W))

    def complete(
        self, chosen: Index, free: Index, k: int, threshold: float, *, relaxed: bool
    ) -> Completion | None:
        """The best last feature, or the best last two if there are not too many candidates."""
        count = k - chosen.size
        if count > 2 or (count == 2 and free.size > (_MAX_PAIRED if relaxed else _FEW_PAIRED)):
            return None
        try:
            rest = ResidualProblem(self, chosen, free)
        except np.linalg.LinAlgError:
            return Completion(Kind.LAST, -np.inf, None, np.inf)
        error = self.solve_error(k)
        if count == 1:
            at = int(np.argmax(rest.gains))
            value = rest.total - float(rest.gains[at])
            return Completion(Kind.LAST, value - error, free[[at]], value)
        found = rest.best_pair(rest.total - threshold - 2.0 * error)
        if found is None:
            return Completion(Kind.LAST, threshold, None, np.inf)
        value = rest.total - found[2]
        return Completion(Kind.LAST, value - error, free[list(found[:2])], value)

    def solve_error(self, k: int) -> float:
        """Bound on how far below its computed value f(S) may be, for a choice S of k features.

        A computed value is the least ||Y||^2 - 2 <B, W> + <W, AW> for a B and an A with
        entries that are off by r ||x_j|| ||Y|| and r ||x_i|| ||x_j||. At the true W this is
        f(S) and at most r (z^2 + 2 z ||Y||) more, with z = sum_S ||x_j|| ||w_j||; and
        z^2 <= ||Y||^2 sum_S ||x_j||^2 / p_j, because sum_j p_j ||w_j||^2 <= ||Y||^2.
        """
        known = self._solve_errors.get(k)
        if known is None:
            spread = 1.0 + self.norms**2 / self.penalty
            relative = self.rounding + 8.0 * (k + 2) * _EPS
            known = 4.0 * relative * float(largest(spread, k).sum()) * self.total
            self._solve_errors[k] = known
        return known


def _blocks(design: Design, features: Index) -> Iterator[slice]:
    """Slices of the features whose columns may be held as float64 at one time."""
    step = max(1, _BLOCK_ENTRIES // design.shape[0])
    for start in range(0, features.size, step):
        yield slice(start, start + step)


def _products(design: Design, features: Index, Y: Array) -> tuple[Array, Array]:
    """X_features' Y and the squared norms of the columns, a block of them at a time."""
    B, squares = np.empty((features.size, Y.shape[1])), np.empty(features.size)
    for at in _blocks(design, features):
        columns = design.double_columns(features[at])
        B[at], squares[at] = columns.T @ Y, np.einsum("ij,ij->j", columns, columns)
    return B, squares


def _cross(design: Design, features: Index, M: Array) -> Array:
    """X_features' M, in float64 whatever the precision of the data."""
    parts = [design.double_columns(features[at]).T @ M for at in _blocks(design, features)]
    return np.concatenate(parts) if parts else np.zeros((0, M.shape[1]))


def _gram(design: Design, features: Index) -> Array:
    """X_features' X_features, likewise."""
    n, d = design.shape
    if n * features.size <= _BLOCK_ENTRIES:
        block = design.double_columns(features)
        return block.T @ block
    if features.size == d and design.explicit_gram and design_dtype(design) == np.float64:
        return design.gram()
    parts = [
        _cross(design, features, design.double_columns(features[at]))
        for at in _blocks(design, features)
    ]
    return np.concatenate(parts, axis=1)
