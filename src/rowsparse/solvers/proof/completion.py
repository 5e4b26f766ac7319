"""The last one or two of k features, by looking at all of them."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from rowsparse._arrays import Index
from rowsparse.solvers.proof.candidates import Candidates

# Candidates whose pairs are scored at a time, so that they stay in the cache.
_CHUNK = 64
_EPS = float(np.finfo(np.float64).eps)


class Remainder:
    """What is left of the free candidates and of Y once the chosen features are fitted.

    Raises LinAlgError where rounding ruins that fit.
    """

    def __init__(self, problem: Candidates, chosen: Index, free: Index) -> None:
        self.B, self.total = problem.B[free], problem.total
        self._problem, self._free = problem, free
        self._explained = np.zeros((0, free.size))
        self.diagonal = problem.diagonal[free] + problem.ridge
        # What is left of two features is a matrix of at least ridge I: then rounding cannot make
        # them more alike than that.
        self._alike = 1.0 - max(problem.ridge / float(self.diagonal.max()), _EPS)
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

    def best_pair(self, enough: float) -> tuple[int, int, float] | None:
        """The two candidates that together take most off the objective, and how much.

        None if that is less than ``enough``. In units of what is left of each, with g their
        product and f that of what they explain, a pair takes off
        (a_i + a_j - 2 g f) / (1 - g^2), which is at most (a_i + a_j) / (1 - |g|): few pairs are
        looked at more closely than that.
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
            np.clip(g, -self._alike, self._alike, out=g)
            share = np.full_like(self.gains, 2.0)  # no pair is too little
            if enough > 0:
                least = max(enough * (1 - 1e-9), 1e-300)
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
            if pair[at] >= enough:
                best = int(i[at]), int(j[at]), float(pair[at])
                enough = best[2]
        return best
