"""The relaxation of the logistic loss.

    phi(s) = min_{W,b} loss(XW + 1b') + (ridge / 2) * sum_j ||w_j||^2 / s_j

with q_j = ||u_j||^2 / (2 ridge) and u = -X'g, g the gradient of the loss. With W = T V and
T = diag(sqrt s), it is the logistic regression of the columns XT with the ridge itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.proof.relaxation import Relaxation, RelaxedPoint

# Tolerance of the fits, relative to the loss of choosing nothing. The last Newton step squares it.
_FIT_TOL = 1e-5
# Share of the ridge added to it, so that rounding cannot make a matrix singular.
_DAMPING = 1e-10


@dataclass
class LogisticPoint(RelaxedPoint):
    """phi of the logistic loss at one s.

    Attributes
    ----------
    u, b : arrays of shape (m, c) and (c,)
        Minus the gradient of the loss in W, and the intercepts.
    P : array of shape (n, c)
        The predictions XW + 1b'.
    """

    u: Array
    b: Array
    P: Array


class LogisticRelaxation(Relaxation[LogisticPoint]):
    """The relaxation on m features given by their columns.

    Parameters
    ----------
    loss : LogisticLoss
        Of the labels; its design is not used.
    X : array of shape (n, m)
        The columns.
    ridge : float
        Positive.
    k, n_fixed : int
        As in :class:`rowsparse.solvers.proof.relaxation.Relaxation`.
    """

    def __init__(self, loss: LogisticLoss, X: Array, ridge: float, k: int, n_fixed: int) -> None:
        super().__init__(loss.at_zero, k, n_fixed)
        self.loss, self.X, self.ridge = loss, X, ridge

    def evaluate(self, s: Array, near: LogisticPoint | None = None) -> LogisticPoint:
        """Evaluate phi at s by Newton's method, from the W of ``near`` scaled to s."""
        active = np.flatnonzero(s)
        root = np.sqrt(s[active])[:, None]
        start = None if near is None else (root * near.u[active] / self.ridge, near.b)
        Z = self.X[:, active] * root.T
        fit = self.loss.fit(Z, ridge=self.ridge, tol=_FIT_TOL, start=start)
        u = -(self.X.T @ self.loss.gradient(fit.P))
        q = np.einsum("jc,jc->j", u, u) / (2.0 * self.ridge)
        return LogisticPoint(s, active, root * fit.W, fit.objective, q, u, fit.b, fit.P)

    def bound(self, point: LogisticPoint) -> float:
        """The entropy of the probabilities less the sum of the k largest q."""
        entropy = self.loss.dual_value(-self.loss.gradient(point.P))
        return entropy - self._largest_sum(point.q)

    def hessian(self, point: LogisticPoint, free: Index) -> Array:
        """sum_c (X'(D_c^-1 + X diag(s) X'/ridge)^-1 X) o (u_c u_c') / ridge^2; o is entrywise.

        D_c holds the curvature of label c, with the intercept projected out.
        """
        A, h = point.active, self.loss.curvature(point.P)
        used = np.union1d(A, free)
        X = self.X[:, used]
        G = np.matmul(h.T[:, None, :] * X.T, X)
        if self.loss.fit_intercept:
            means = h.T @ X
            totals = np.maximum(h.sum(axis=0), np.finfo(np.float64).tiny)
            G -= means[:, :, None] * (means / totals[:, None])[:, None, :]
        at, of = np.searchsorted(used, A), np.searchsorted(used, free)
        root = np.sqrt(point.s[A])
        K = G[:, at[:, None], at] * root * root[:, None]
        K[:, np.arange(A.size), np.arange(A.size)] += self.ridge * (1.0 + _DAMPING)
        C = G[:, at[:, None], of] * root[:, None]
        M = G[:, of[:, None], of]
        try:
            M -= np.matmul(C.transpose(0, 2, 1), np.linalg.solve(K, C))
        except np.linalg.LinAlgError:
            return np.full((free.size, free.size), np.nan)
        u = point.u[free].T / self.ridge
        M *= u[:, :, None]
        M *= u[:, None, :]
        return np.asarray(M.sum(axis=0))

    def _curvature(self, point: LogisticPoint) -> float:
        # No curvature exceeds a quarter of the weight of its sample.
        squares = 0.25 * (self.loss.omega @ self.X**2)
        return 2.0 / self.ridge * float((point.q * squares).max(initial=0.0))
