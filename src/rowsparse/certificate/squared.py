"""What the data prove with the squared loss, in plain NumPy and without code of the solvers."""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.certificate.choices import Choices
from rowsparse.certificate.data import Data

_EPS = float(np.finfo(np.float64).eps)
# Entries of the columns of the choices that are tried together.
_BATCH_ENTRIES = 1 << 20
# Singular value of columns of unit norm from which on they count as independent.
_INDEPENDENT = 1e-12


class SquaredBounds:
    """Bounds from the data of a pool of features.

    D is the ridge, or replaces it by a diagonal matrix with Z'Z + ridge I - D positive
    semi-definite.
    """

    def __init__(self, data: Data, pool: Index, diagonal: Array | None) -> None:
        self.ridge, self.Y = data.ridge, data.Y
        self.n_targets = data.Y.shape[1]
        self.Z = np.ascontiguousarray(data.Z[:, pool])
        n, m = self.Z.shape
        self.rounding = 2.0 * (n + 16) * _EPS
        self.B, self.total = self.Z.T @ self.Y, float(np.vdot(self.Y, self.Y))
        self.gram = self.Z.T @ self.Z if m < n or diagonal is not None else None
        self.norms = np.sqrt(np.einsum("ij,ij->j", self.Z, self.Z) + self.ridge)
        self.has_diagonal = diagonal is not None
        self.D = np.full(m, self.ridge)
        if diagonal is not None:
            self.D = self._admissible(np.asarray(diagonal, dtype=np.float64))

    def _admissible(self, D: Array) -> Array:
        """D, if Z'Z + ridge I - D is positive semi-definite by more than rounding errors."""
        m, gram = len(self.norms), self.gram
        assert gram is not None
        if D.shape != (m,) or not np.all(D > 0):
            raise ValueError("the proof does not hold: its diagonal is not positive.")
        P = gram / self.norms / self.norms[:, None]
        slack = m * (self.rounding + 4.0 * (m + 2) * _EPS)
        P.flat[:: m + 1] = 1.0 - D / self.norms**2 - slack
        try:
            np.linalg.cholesky(P)
        except np.linalg.LinAlgError:
            raise ValueError("the proof does not hold: its diagonal is too large.") from None
        return D

    def bound(self, at: Index, W: Array, choices: Choices) -> tuple[float, Array]:
        """||Y||^2 - ||ZW||^2 - (the sum of the largest q), less its possible rounding error."""
        fitted = self.Z[:, at] @ W
        moved = (self.ridge - self.D[at])[:, None] * W
        u = self.B - (self.Z.T @ fitted if self.gram is None else self.gram[:, at] @ W)
        u[at] -= moved
        size = float(self.norms[at] @ np.linalg.norm(W, axis=1))
        rounding = self.rounding + 2.0 * _EPS * at.size
        root = np.sqrt(self.total)
        lengths = np.linalg.norm(u, axis=1) + rounding * (root + size) * self.norms
        q = lengths**2 / self.D
        used = q[choices.chosen].sum()
        used += np.sort(q[choices.allowed])[::-1][: choices.count].sum()
        explained = float(np.vdot(fitted, fitted) + np.vdot(W, moved))
        # The last part is for screening, which adds a q to the value: it may be most of ``used``.
        k = choices.chosen.size + choices.count
        margin = rounding * (size * (size + root) + 8.0 * self.total + used) + 2.0 * _EPS * k * used
        return float(self.total - explained - used - margin), q

    def _products(self, one: Index, other: Index) -> Array:
        if self.gram is not None:
            return self.gram[np.ix_(one, other)]
        return self.Z[:, one].T @ self.Z[:, other]

    def last(self, choices: Choices) -> float:
        """The least objective with one or two more features, of all ways to choose them."""
        C, F = choices.chosen, np.flatnonzero(choices.allowed)
        if choices.count not in (1, 2):
            raise ValueError("the proof does not hold: more than two features are left to choose.")
        try:
            L = np.linalg.cholesky(self._products(C, C) + self.ridge * np.eye(C.size))
        except np.linalg.LinAlgError:
            return 0.0
        E = np.linalg.solve(L, self._products(C, F))
        fitted = np.linalg.solve(L, self.B[C])
        left = self.total - float(np.vdot(fitted, fitted))
        B = self.B[F] - E.T @ fitted
        # The residual Gram matrix of one or two features is at least D.
        s = np.maximum(self.norms[F] ** 2 - np.einsum("ij,ij->j", E, E), self.D[F])
        gains = np.einsum("jc,jc->j", B, B) / s
        if choices.count == 2:
            g = (self._products(F, F) - E.T @ E) / np.sqrt(np.outer(s, s))
            max_correlation = 1.0 - np.maximum(np.min(self.D[F]) / np.maximum.outer(s, s), _EPS)
            g = np.clip(g, -max_correlation, max_correlation)
            f = (B @ B.T) / np.sqrt(np.outer(s, s))
            gains = (gains[:, None] + gains - 2.0 * g * f) / (1.0 - g * g)
            gains = gains[np.triu_indices(F.size, 1)]
        return left - float(gains.max()) - self._solve_error(C.size + choices.count)

    def _solve_error(self, k: int) -> float:
        """Bound on how far below its computed value the objective of a choice of k may be."""
        # Both the ridge and D bound the coefficients of any choice, and so does half the larger.
        penalty = self.D if not self.has_diagonal else np.maximum(self.D, self.ridge) / 2
        spread = np.sort(1.0 + self.norms**2 / penalty)[::-1][:k].sum()
        return 4.0 * (self.rounding + 8.0 * (k + 2) * _EPS) * float(spread) * self.total

    # -------------------------------------------------------------------------- all choices
    def every(self, choices: Choices) -> float:
        """The least objective of all choices, each from its own columns."""
        k = choices.chosen.size + choices.count
        if k == 0:
            return self.total * (1.0 - self.rounding)
        size = max(1, _BATCH_ENTRIES // ((self.Z.shape[0] + k) * max(k, 1)))
        bounds = [self._residuals(batch).min() for batch in choices.batches(size)]
        return float(min(bounds, default=np.inf))

    def _residuals(self, sets: Index) -> Array:
        """Lower bounds on the squared distance of Y from the columns of each set.

        With columns Z of unit norm and least singular value s, and any residuals r, it is
        at least ||r||^2 - ||Z'r||^2 / s^2.
        """
        (N, k), n = sets.shape, self.Z.shape[0]
        Z = np.concatenate(
            [
                self.Z[:, sets].transpose(1, 0, 2),
                np.broadcast_to(np.sqrt(self.ridge) * np.eye(k), (N, k, k)),
            ],
            axis=1,
        )
        Z = Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), np.finfo(float).tiny)
        Y = np.concatenate([self.Y, np.zeros((k, self.Y.shape[1]))])
        Q, R = np.linalg.qr(Z)
        s = np.linalg.svd(R, compute_uv=False)[:, -1]
        sound = s > 2.0 * _INDEPENDENT
        R[~sound] = np.eye(k)
        W = np.linalg.solve(R, Q.transpose(0, 2, 1) @ Y)
        r = Y - Z @ W
        rounding = 2.0 * (n + 2 * k + 16) * _EPS
        squares = np.einsum("sic,sic->s", r, r)
        slope = np.linalg.norm(Z.transpose(0, 2, 1) @ r, axis=(1, 2))
        slope += rounding * np.sqrt(k * squares)
        reach = slope / np.where(sound, s - rounding * k - _INDEPENDENT, 1.0)
        error = rounding * (np.sqrt(self.total) + np.linalg.norm(W, axis=2).sum(axis=1))
        left = np.sqrt(np.maximum(squares * (1.0 - rounding) - reach**2, 0.0)) - error
        return np.where(sound, np.maximum(left, 0.0) ** 2, 0.0)


def squared_objective(data: Data, support: Index) -> float:
    """The objective of some columns."""
    Z, k = data.Z[:, support], support.size
    augmented = np.vstack([Z, np.sqrt(data.ridge) * np.eye(k)])
    target = np.vstack([data.Y, np.zeros((k, data.Y.shape[1]))])
    W = np.linalg.lstsq(augmented, target, rcond=None)[0]
    return float(np.sum((target - augmented @ W) ** 2))
