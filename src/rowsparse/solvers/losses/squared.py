"""The squared loss, and least squares on a support."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import lstsq, qr

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.rows import row_norms
from rowsparse.solvers.convex.fit import BlockFit, BlockState
from rowsparse.solvers.convex.lasso import admm_lasso, best_multiple
from rowsparse.solvers.losses.base import SupportFit
from rowsparse.solvers.proximal import Composite, largest_eigenvalue

# Gram matrices of up to this many rows cost little even where n is small.
_GRAM_ROWS = 500
# Condition number (of columns of unit norm) from which a refit takes columns for dependent.
_REFIT_CONDITION = 1e10
# Below this norm, squares of the entries of a column may underflow.
_SMALL_NORM = 1e-140
# Matrices with more rows than this are compressed first, in blocks of this number of entries.
_TALL, _QR_ENTRIES = 1 << 15, 1 << 15


@dataclass(frozen=True)
class SquaredLoss:
    """1/2 ||Y - P||_F^2.

    Weights of the samples, and an intercept, are in the design and in Y: rows scaled by the square
    roots of the weights, columns centred.
    """

    design: Design
    Y: Array
    # The means that were subtracted from the targets of the user.
    mean: Array | None = None
    linear_programme: ClassVar[bool] = False

    @cached_property
    def correlations(self) -> Array:
        """X'Y."""
        return self.design.rmatmul(self.Y)

    @cached_property
    def at_zero(self) -> float:
        """The loss of W = 0."""
        return 0.5 * float(np.sum(self.Y**2))

    def expand(self, W: Array, b: Array) -> tuple[Array, Array]:
        """(W, b) for the targets of the user."""
        return W, b if self.mean is None else b + self.mean

    @property
    def gram_rows(self) -> int:
        """Most rows for which a Gram matrix makes iterations cheaper than products with X."""
        return max(2 * self.design.shape[0], _GRAM_ROWS)

    def residual(self, W: Array) -> Array:
        """Y - XW, by the non-zero rows if they are few."""
        active = np.flatnonzero(W.any(axis=1))
        if 2 * active.size > W.shape[0]:
            return self.Y - self.design.matmul(W)
        return np.asarray(self.Y - self.design.columns(active) @ W[active])

    def value(self, P: Array) -> float:
        R = self.Y - P
        return 0.5 * float(np.vdot(R, R))

    def gradient(self, P: Array) -> Array:
        return P - self.Y

    def curvature(self, P: Array) -> Array:
        return np.ones((P.shape[0], 1))

    def dual_value(self, Theta: Array) -> float:
        return float(np.vdot(self.Y, Theta)) - 0.5 * float(np.vdot(Theta, Theta))

    def dual_point(self, Theta: Array, penalty: float) -> tuple[Array, Array, float]:
        """The feasible multiple of Theta with the largest dual value."""
        scores = row_norms(self.design.rmatmul(Theta))
        square, cross = float(np.vdot(Theta, Theta)), float(np.vdot(self.Y, Theta))
        largest = float(scores.max(initial=0.0))
        multiple, value = best_multiple(square, cross, largest, penalty)
        return multiple * Theta, scores, value

    def null_point(self) -> tuple[Array, Array]:
        return np.zeros(self.Y.shape[1]), self.Y

    def solve_block(
        self, Z: Array, penalty: float, tol: float, state: BlockState | None
    ) -> BlockFit:
        return admm_lasso(Z, self.Y, penalty, tol=tol, state=state)

    def refit(self, support: Index, *, penalty: float, tol: float) -> SupportFit:
        """Ridge regression with penalty/2 ||W||_F^2 on a support, in closed form to any tol."""
        W, twice = least_squares_fit(self.design, self.Y, support, ridge=penalty)
        Theta = self.Y - self.design.double_columns(support) @ W
        return SupportFit(support, W, np.zeros(W.shape[1]), 0.5 * twice, Theta, 0.0, True)

    def composite(
        self,
        active: Index,
        penalty: Callable[[Array], float],
        prox: Callable[[Array, float], Array],
    ) -> Composite:
        """The loss with a penalty, on the rows ``active``; the others are zero."""
        n, d = self.design.shape
        B = self.correlations[active]

        if active.size > self.gram_rows:

            def product(W: Array) -> Array:
                full = np.zeros((d, W.shape[1]))
                full[active] = W
                return self.design.matmul(full)

            return Composite(
                product=product,
                value=lambda W, P: 0.5 * float(np.sum((self.Y - P) ** 2)),
                gradient=lambda W, P: self.design.rmatmul(P)[active] - B,
                penalty=penalty,
                prox=prox,
                lipschitz=self.design.spectral_norm() ** 2,
            )
        X = self.design.columns(active).astype(np.float64, copy=False)
        gram = X.T @ X
        return Composite(
            product=lambda W: gram @ W,
            value=lambda W, P: 0.5 * float(np.vdot(W, P)) - float(np.vdot(W, B)) + self.at_zero,
            gradient=lambda W, P: P - B,
            penalty=penalty,
            prox=prox,
            lipschitz=largest_eigenvalue(gram if active.size <= n else X @ X.T),
        )


def least_squares_fit(
    design: Design, Y: Array, support: Index, *, ridge: float = 0.0
) -> tuple[Array, float]:
    """Coefficients on a support (k x c) and ||Y - X W||^2 + ridge ||W||^2, at their least.

    Computed from the columns and not from their Gram matrix, so near-dependence costs no
    digits, and rounded up; of dependent columns the solution of least norm (per unit of column)
    is taken. Where the products of the design have errors, W may be zero instead.
    """
    X_S, rounding = design.double_columns(support), design.product_rounding
    if ridge > 0 and support.size > 2 * Y.shape[0]:
        # W = Q U lies in the span of the samples: X_S' = QR leaves fewer unknowns.
        Q, R = qr(X_S.T, mode="economic", check_finite=False)
        W = Q @ _ridge_fit(R.T, Y, ridge)[0]
        # From the columns: of columns of very different scales, Q and R are not accurate.
        n, k = X_S.shape
        size = float(np.linalg.norm(X_S, axis=0) @ row_norms(W))
        left = np.hypot(np.linalg.norm(Y - X_S @ W), np.sqrt(ridge) * np.linalg.norm(W))
        rounding_error = (n + k + 16) * float(np.finfo(np.float64).eps)
        objective = float(left + rounding_error * (np.linalg.norm(Y) + size)) ** 2
    else:
        W, objective = _ridge_fit(X_S, Y, ridge)
    if 0.0 < rounding < np.inf:
        # Each product of two columns is off by at most this share of their norms.
        total = float(np.linalg.norm(Y))
        reach = total + float(np.linalg.norm(X_S, axis=0) @ row_norms(W))
        of_nothing = total**2 * (1.0 + rounding)
        objective += rounding * reach**2
        if of_nothing < objective:
            return np.zeros_like(W), of_nothing
    return W, objective


def _ridge_fit(X: Array, Y: Array, ridge: float) -> tuple[Array, float]:
    n = len(X)
    if n > _TALL:
        X, Y = _compressed(X, Y)
    k = X.shape[1] if ridge > 0 else 0
    X = np.vstack([X, np.sqrt(ridge) * np.eye(k, X.shape[1])])
    target = np.vstack([Y, np.zeros((k, Y.shape[1]))])
    norms = np.linalg.norm(X, axis=0)
    small = np.flatnonzero(norms < _SMALL_NORM)
    if small.size:
        # Squares of their entries may underflow.
        largest = np.maximum(np.abs(X[:, small]).max(axis=0), np.finfo(np.float64).tiny)
        norms[small] = largest * np.linalg.norm(X[:, small] / largest, axis=0)
    norms[norms == 0] = 1.0
    V = lstsq(X / norms, target, cond=1 / _REFIT_CONDITION, lapack_driver="gelsy")[0]
    rounding = (n + k + 16) * float(np.finfo(np.float64).eps)
    error = rounding * (np.linalg.norm(target) + np.linalg.norm(V, axis=1).sum())
    with np.errstate(over="ignore"):
        V /= norms[:, None]
    # A column whose coefficients are beyond the floats takes no part.
    V[~np.isfinite(V).all(axis=1)] = 0.0
    left = float(np.linalg.norm(target - X @ V))
    # Its rounding error is added, so that it is not below the least possible.
    return V, (left + float(error)) ** 2 if left > 0 else 0.0


def _compressed(X: Array, Y: Array) -> tuple[Array, Array]:
    """R_X and R_Y of [X Y] = Q [R_X R_Y], by blocks of rows that stay in the cache."""
    k, width = X.shape[1], X.shape[1] + Y.shape[1]
    R = np.empty((0, width))
    step = max(_QR_ENTRIES // width, 2 * width)
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        block = np.empty((len(R) + len(X[rows]), width), order="F")
        block[: len(R)], block[len(R) :, :k], block[len(R) :, k:] = R, X[rows], Y[rows]
        (R,) = qr(block, mode="r", overwrite_a=True, check_finite=False)
        R = R[:width]
    return R[:, :k], R[:, k:]


def least_squares_objective(design: Design, Y: Array, S: Index, *, ridge: float = 0.0) -> float:
    """The least ||Y - X W||^2 + ridge ||W||^2 on a support S."""
    return least_squares_fit(design, Y, S, ridge=ridge)[1]
