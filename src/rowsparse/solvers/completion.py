"""The last one or two of k features, by looking at all of them."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from rowsparse._arrays import Index
from rowsparse.solvers.certificate import Candidates


class Remainder:
    """What is left of the free candidates and of Y once the chosen features are fitted."""

    def __init__(self, problem: Candidates, chosen: Index, free: Index) -> None:
        self.B, self.total = problem.B[free], problem.total
        self._problem, self._free = problem, free
        self._explained = np.zeros((0, free.size))
        self.diagonal = problem.diagonal[free] + problem.ridge
        if chosen.size:
            rows = problem.rows(chosen)
            A = rows[:, chosen]
            A[np.diag_indices_from(A)] += problem.ridge
            L = np.linalg.cholesky(A)
            self._explained = solve_triangular(L, rows[:, free], lower=True)
            fitted = solve_triangular(L, problem.B[chosen], lower=True)
            self.B = self.B - self._explained.T @ fitted
            self.total -= float(np.vdot(fitted, fitted))
            self.diagonal -= np.einsum("ij,ij->j", self._explained, self._explained)
        self.gains = np.einsum("jc,jc->j", self.B, self.B) / self.diagonal

    def best_pair(self) -> tuple[int, int, float]:
        """The two candidates that together take most off the objective, and how much."""
        G = self._problem.block(self._free) - self._explained.T @ self._explained
        G /= self.diagonal[:, None]
        # Gain of j after i: ||B_j - (G_ij/D_i) B_i||^2 / (D_j - G_ij^2/D_i).
        squares = self.gains * self.diagonal
        pair = self.B @ self.B.T
        pair *= -2.0 * G
        pair += squares
        pair += G * G * squares[:, None]
        left = self.diagonal - G * G * self.diagonal[:, None]
        # A candidate beside itself is no pair.
        np.fill_diagonal(left, np.inf)
        pair /= left
        pair += self.gains[:, None]
        i, j = np.unravel_index(int(np.argmax(pair)), pair.shape)
        return int(i), int(j), float(pair[i, j])
