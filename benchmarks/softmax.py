"""Softmax regression with a ridge in the search for the logistic loss, to compare the two forms."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, softmax

from benchmarks.certificate import Array
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.losses.newton import NewtonFit

# Most Newton steps, conjugate gradients for each, and halvings of a step.
_MAX_STEPS, _MAX_PRODUCTS, _MAX_HALVINGS = 100, 40, 40
# Residual, as a share of the gradient, at which the conjugate gradients end.
_FORCING = 1e-2
# A fit is given up if it stays above a limit even with so many times the decrease expected.
_HOPE = 2.0
_DAMPING = 1e-12


class SoftmaxLoss(LogisticLoss):
    """sum_i omega_i (log sum_c exp(p_ic) - y_i p_i), with an intercept.

    ``curvature`` is the diagonal of the Hessian matrix over the classes: scores leave out what two
    classes share. Fits are those of the whole matrix.
    """

    def null_intercept(self) -> Array:
        shares = np.log(self.omega @ self.Y)
        return np.asarray(shares - shares.mean())

    def value(self, P: Array) -> float:
        return float(self.omega @ (logsumexp(P, axis=1) - np.einsum("ic,ic->i", self.Y, P)))

    def derivatives(self, P: Array) -> tuple[Array, Array]:
        Q = softmax(P, axis=1)
        return self.omega[:, None] * (Q - self.Y), self.omega[:, None] * Q * (1.0 - Q)

    def fit(
        self,
        Z: Array,
        *,
        ridge: float,
        tol: float,
        start: tuple[Array, Array] | None = None,
        limit: float = np.inf,
    ) -> NewtonFit:
        """Newton's method, its steps by conjugate gradients with the classes' own blocks."""
        k = Z.shape[1]
        Z = np.column_stack([Z, np.ones(Z.shape[0])])
        weights = np.append(np.full(k, ridge), 0.0)[:, None]
        W, b = (np.zeros((k, self.Y.shape[1])), self.null_intercept()) if start is None else start
        V = np.vstack([W, b])
        P, value = Z @ V, np.inf
        value = self.value(P) + 0.5 * float(np.sum(weights * V**2))
        if start is not None and not np.isfinite(value):
            return self.fit(Z[:, :k], ridge=ridge, tol=tol, limit=limit)
        decrement, converged = 0.0, False
        for _ in range(_MAX_STEPS):
            converged = self.is_perfect(value)
            if converged:
                break
            slope = Z.T @ self.gradient(P) + weights * V
            step = self._step(Z, P, slope, weights)
            decrement = max(float(np.vdot(slope, step)), 0.0) / 2.0
            if value - _HOPE * decrement >= limit:
                break
            V, P, value, moved = self._searched(Z, V, P, value, step, decrement, weights)
            converged = decrement <= tol * self.at_zero
            if converged or not moved:
                break
        return NewtonFit(V[:k], V[k], P, value, decrement, converged)

    def _step(self, Z: Array, P: Array, slope: Array, weights: Array) -> Array:
        """The Newton step, by preconditioned conjugate gradients."""
        Q = softmax(P, axis=1)
        curvature = self.omega[:, None] * Q * (1.0 - Q)
        blocks = np.array([(Z.T * h) @ Z for h in curvature.T])
        diagonal = np.einsum("cjj->cj", blocks)
        diagonal += weights[:, 0]
        diagonal += _DAMPING * diagonal.max(axis=1, keepdims=True) + np.finfo(np.float64).tiny
        inverse = np.linalg.inv(blocks)

        def conditioned(R: Array) -> Array:
            return np.asarray(np.matmul(inverse, R.T[..., None])[..., 0].T)

        step, residual = np.zeros_like(slope), slope
        better = conditioned(residual)
        direction, size = better, float(np.vdot(residual, better))
        enough = _FORCING**2 * size
        for _ in range(_MAX_PRODUCTS):
            if not size > enough:
                break
            U = Q * (Z @ direction)
            U = self.omega[:, None] * (U - Q * U.sum(axis=1, keepdims=True))
            product = Z.T @ U + weights * direction
            length = size / float(np.vdot(direction, product))
            step, residual = step + length * direction, residual - length * product
            better = conditioned(residual)
            last, size = size, float(np.vdot(residual, better))
            direction = better + (size / last) * direction
        return step

    def _searched(
        self,
        Z: Array,
        V: Array,
        P: Array,
        value: float,
        step: Array,
        decrement: float,
        weights: Array,
    ) -> tuple[Array, Array, float, bool]:
        """V, P and the objective after the step, halved until it gains, and whether it was made."""
        length, along = 1.0, Z @ step
        for _ in range(_MAX_HALVINGS):
            V_new, P_new = V - length * step, P - length * along
            reached = self.value(P_new) + 0.5 * float(np.sum(weights * V_new**2))
            if reached <= value - 2e-4 * length * decrement + 1e-15 * abs(value):
                return V_new, P_new, min(reached, value), True
            length /= 2.0
        return V, P, value, False
