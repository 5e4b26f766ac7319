"""The columns of a design, centred where there is an intercept, for the smoothed l2,1 loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.rows import row_norms
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.proximal import largest_eigenvalue

# Entries of X that are looked at at a time.
_BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True)
class CentredColumns:
    """X less its weighted column means if there is an intercept, which only shifts b.

    The constant column is then orthogonal to the others; in a block it is the last one, scaled to
    be as steep as they are.
    """

    loss: L21Loss

    @cached_property
    def means(self) -> Array:
        """What is taken off the columns of X."""
        if not self.loss.fit_intercept:
            return np.zeros(self.loss.design.shape[1])
        return self.loss.design.weighted(self.loss.omega, center=True)[1]

    @cached_property
    def exact_rho(self) -> float:
        """max_j sum_i omega_i |x_ij|: the rho + gamma above which at most k rows are left."""
        return self._over_columns(lambda block: self.loss.omega @ block)

    @cached_property
    def largest(self) -> float:
        """max |x_ij|."""
        return self._over_columns(lambda block: block.max(axis=0, initial=0.0))

    def _over_columns(self, measure: Callable[[Array], Array]) -> float:
        """The largest measure of |x_j| over all columns."""
        n, d = self.loss.design.shape
        step = max(1, _BLOCK_ENTRIES // max(n, 1))
        largest = 0.0
        for start in range(0, d, step):
            columns = np.arange(start, min(start + step, d))
            block = np.abs(self.loss.design.columns(columns) - self.means[columns])
            largest = max(largest, float(measure(block).max(initial=0.0)))
        return largest

    def scores(self, Theta: Array) -> Array:
        """||x_j' Theta|| of all features."""
        G = self.loss.design.rmatmul(Theta)
        if self.loss.fit_intercept:
            G -= np.outer(self.means, Theta.sum(axis=0))
        return np.asarray(row_norms(G))

    def block(self, active: Index) -> tuple[Array, float]:
        """The columns ``active`` (and the constant one), and their squared spectral norm.

        The norm is that of the columns with rows scaled by the square roots of omega.
        """
        A = self.loss.design.columns(active).astype(np.float64) - self.means[active]
        mass = float(self.loss.omega.sum())
        steep = mass
        if active.size:
            root = np.sqrt(self.loss.omega)[:, None] * A
            steep = largest_eigenvalue(root @ root.T if len(A) < active.size else root.T @ root)
        if self.loss.fit_intercept:
            A = np.column_stack([A, np.full(len(A), np.sqrt(steep / mass))])
        return A, steep
