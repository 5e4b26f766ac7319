"""The best last feature, or the best last two, by trying all of them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from rowsparse._arrays import Array, Index

# Candidates whose pairs are scored at a time, few min_gain for the processor's cache.
_CHUNK = 64
_EPS = float(np.finfo(np.float64).eps)


class GramColumns(Protocol):
    """Features by their products with one another and with Y."""

    B: Array
    diagonal: Array
    total: float
    ridge: float

    def block(self, positions: Index) -> Array:
        """The Gram matrix of some of them."""

    def cross(self, positions: Index, others: Index) -> Array:
        """Products of some of them with others."""


class ResidualProblem:
    """What is left of the free candidates and of Y once the chosen features are fitted.

    Raises LinAlgError if the chosen features are numerically dependent.
    """

    def __init__(self, problem: GramColumns, chosen: Index, free: Index) -> None:
        self.B, self.total = problem.B[free], problem.total
        self._problem, self._free = problem, free
        self._explained = np.zeros((0, free.size))
        self.diagonal = problem.diagonal[free] + problem.ridge
        # The residual Gram matrix of two features is at least ridge I, which bounds their
        # correlation; computed values beyond that are rounding errors.
        self._max_correlation = 1.0 - max(problem.ridge / float(self.diagonal.max()), _EPS)
        if chosen.size:
            A = problem.block(chosen)
            A[np.diag_indices_from(A)] += problem.ridge
            L = np.linalg.cholesky(A)
            self._explained = solve_triangular(L, problem.cross(chosen, free), lower=True)
            fitted = solve_triangular(L, problem.B[chosen], lower=True)
            self.B = self.B - self._explained.T @ fitted
            self.total -= float(np.vdot(fitted, fitted))
            self.diagonal -= np.einsum("ij,ij->j", self._explained, self._explained)
            np.maximum(self.diagonal, problem.ridge, out=self.diagonal)
        self.gains = np.einsum("jc,jc->j", self.B, self.B) / self.diagonal

    def best_pair(self, min_gain: float) -> tuple[int, int, float] | None:
        """The two candidates that together take most off the objective, and how much.

        None if that is less than ``min_gain``. With a_i the gain of one candidate, g the
        correlation of the residuals of two, and f the product of their correlations with Y, a
        pair takes off (a_i + a_j - 2 g f) / (1 - g^2). That is at most (a_i + a_j) / (1 - |g|),
        which rules out most pairs.
        """
        scale = 1.0 / np.sqrt(self.diagonal)
        E, B = self._explained * scale, self.B * scale[:, None]
        best: tuple[int, int, float] | None = None
        for start in range(0, scale.size, _CHUNK):
            rows, columns = slice(start, start + _CHUNK), slice(start, None)
            g = self._problem.cross(self._free[rows], self._free[columns])
            g *= scale[columns]
            g *= scale[rows, None]
            g -= E[:, rows].T @ E[:, columns]
            np.clip(g, -self._max_correlation, self._max_correlation, out=g)
            share = np.full_like(self.gains, 2.0)  # every pair gains that much
            if min_gain > 0:
                least = max(min_gain * (1 - 1e-9), 1e-300)
                share = np.minimum(self.gains, 2.0 * least) / least
            reach = np.abs(g)
            reach += share[columns]
            i, j = np.nonzero(reach >= (1.0 - share[rows])[:, None])
            i, j = i[i < j], j[i < j]
            if i.size == 0:
                continue
            g_ij = g[i, j]
            i, j = i + start, j + start
            pair = np.einsum("pc,pc->p", B[i], B[j])
            pair *= -2.0 * g_ij
            pair += self.gains[i] + self.gains[j]
            pair /= 1.0 - g_ij * g_ij
            at = int(np.argmax(pair))
            if pair[at] >= min_gain:
                best = int(i[at]), int(j[at]), float(pair[at])
                min_gain = best[2]
        return best
