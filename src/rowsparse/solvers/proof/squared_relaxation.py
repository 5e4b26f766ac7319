"""The relaxation of the squared loss, from the products of the features.

    phi(s) = min_W ||Y - XW||^2 + ridge * sum_j ||w_j||^2 / s_j

with q_j = ||u_j||^2 / ridge and u = X'(Y - XW).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from rowsparse._arrays import Array, Index
from rowsparse.solvers.proof.relaxation import Relaxation, RelaxedPoint

# Share of the mean curvature added to a matrix that rounding makes singular.
_DAMPING = 1e-10


@dataclass
class SquaredPoint(RelaxedPoint):
    """phi of the squared loss at one s.

    Attributes
    ----------
    root, factor : arrays
        sqrt(s), and the Cholesky factor of T G T + ridge I, of the active entries.
    u : array of shape (m, c)
        X'(Y - XW).
    """

    root: Array
    factor: Array
    u: Array


class SquaredRelaxation(Relaxation[SquaredPoint]):
    """The relaxation on m features given by their Gram matrix.

    Parameters
    ----------
    G : array of shape (m, m)
        X'X.
    B : array of shape (m, c)
        X'Y.
    total : float
        ||Y||^2.
    k : int
        Number of features to choose.
    ridge : float
        Positive.
    n_fixed : int
        Number of features chosen already, which come first; their s is 1.
    """

    def __init__(
        self, G: Array, B: Array, total: float, k: int, ridge: float, n_fixed: int = 0
    ) -> None:
        super().__init__(total, k, n_fixed)
        self.G, self.B, self.ridge = G, B, ridge

    def evaluate(self, s: Array, near: SquaredPoint | None = None) -> SquaredPoint:
        """Evaluate phi at s, by W = T V with (T G T + ridge I) V = T B and T = diag(sqrt s)."""
        return self._evaluate(s, 0.0)

    def _evaluate(self, s: Array, damping: float) -> SquaredPoint:
        """The matrix is damped where rounding makes it singular: any W gives a bound."""
        active = np.flatnonzero(s)
        root = np.sqrt(s[active])
        whole = active.size == s.size
        # One axis at a time is the fastest.
        G_A = self.G if whole else self.G.take(active, axis=0)
        K = (G_A if whole else G_A.take(active, axis=1)) * root
        K *= root[:, None]
        K.flat[:: active.size + 1] += self.ridge + damping
        least = _DAMPING * float(K.trace()) / active.size
        # The transpose of a symmetric matrix is in the column order that LAPACK needs.
        factor, failed = dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
        if failed and np.isfinite(damping):
            return self._evaluate(s, max(100.0 * damping, least, np.finfo(np.float64).tiny))
        right = root[:, None] * self.B[active]
        V, _ = dpotrs(factor, right, lower=1)
        W = root[:, None] * V
        u = self.B - G_A.T @ W
        q = np.einsum("jc,jc->j", u, u)
        q /= self.ridge
        phi = self.total - float(np.vdot(right, V))
        return SquaredPoint(s, active, W, phi, q, root, factor, u)

    def bound(self, point: SquaredPoint) -> float:
        """The lower bound from a point: total - <W, GW> - the sum of the k largest q."""
        explained = float(np.vdot(point.W, self.B[point.active] - point.u[point.active]))
        return self.total - explained - self._largest_sum(point.q)

    def hessian(self, point: SquaredPoint, free: Index) -> Array:
        """2/ridge^2 (X'K^{-1}X) o (u u'), with K = I + X diag(s) X'/ridge; o is entrywise."""
        G_F = self.G.take(free, axis=0)
        cross = G_F.take(point.active, axis=1) * point.root
        Z, _ = dtrtrs(point.factor, cross.T, lower=1, overwrite_b=1)
        H = G_F.take(free, axis=1)
        H -= Z.T @ Z
        u = point.u[free] * (np.sqrt(2.0) / self.ridge)
        H *= u @ u.T
        return H

    def _curvature(self, point: SquaredPoint) -> float:
        return 2.0 / self.ridge * float((point.q * np.diag(self.G)).max(initial=0.0))
