"""Protocols of losses, with the members that solvers use, and refits of a loss on supports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.solvers.convex.fit import BlockFit, BlockState


class Loss(Protocol):
    """A convex function f of the predictions P = XW + 1b', an n x c matrix.

    A dual point Theta is minus a gradient of f at some P, or what an algorithm has in its place.
    """

    @property
    def design(self) -> Design:
        """X."""

    @property
    def Y(self) -> Array:
        """The targets, n x c."""

    def value(self, P: Array) -> float:
        """f(P)."""

    def gradient(self, P: Array) -> Array:
        """A (sub)gradient of f at P; X' times it is that in W."""

    def curvature(self, P: Array) -> Array:
        """Weights h, broadcast against P, of the quadratic <gradient, D> + 1/2 sum h D^2.

        It describes f(P + D) - f(P): as an upper bound, or to second order.
        """

    def dual_value(self, Theta: Array) -> float:
        """-f*(-Theta) = min_P f(P) + <Theta, P>, for a Theta at which it is finite."""

    def refit(self, support: Index, *, penalty: float, tol: float) -> SupportFit:
        """The best coefficients on a support, with the penalty that goes with the loss."""


class BlockLoss(Loss, Protocol):
    """A loss with the penalty ||W||_21, as a solver by working sets needs it."""

    @property
    def linear_programme(self) -> bool:
        """Whether blocks are solved as linear programmes."""

    def dual_point(self, Theta: Array, penalty: float) -> tuple[Array, Array, float]:
        """Theta made feasible for f + penalty ||W||_21, its scores before, its value after.

        The scores are the norms ||x_j' Theta||; feasible means that none is above the penalty.
        """

    def null_point(self) -> tuple[Array, Array]:
        """The best b for W = 0, and the dual point Theta that goes with it."""

    def solve_block(
        self, Z: Array, penalty: float, tol: float, state: BlockState | None
    ) -> BlockFit:
        """Minimise f + penalty ||W||_21 on the columns Z to a relative duality gap of tol."""


@dataclass(frozen=True)
class SupportFit:
    """The best coefficients on a support: one row of W for each of its features."""

    support: Index
    W: Array
    b: Array
    objective: float
    Theta: Array
    gap: float
    converged: bool


class Refits:
    """The refits of a loss on supports, each computed once."""

    def __init__(self, loss: Loss, penalty: float, tol: float) -> None:
        self._loss, self._penalty, self._tol = loss, penalty, tol
        self._fits: dict[tuple[int, ...], SupportFit] = {}

    def __len__(self) -> int:
        return len(self._fits)

    @property
    def fits(self) -> list[SupportFit]:
        """All refits so far, in the order in which their supports were first seen."""
        return list(self._fits.values())

    def at(self, support: Index, tol: float | None = None) -> SupportFit:
        """The refit on a support, computed again if ``tol`` is below that of the others."""
        S = np.sort(support)
        key = tuple(S.tolist())
        tol = self._tol if tol is None else tol
        if key not in self._fits or tol < self._tol:
            self._fits[key] = self._loss.refit(S, penalty=self._penalty, tol=tol)
        return self._fits[key]

    def best(self) -> SupportFit:
        """The refit with the least objective."""
        return min(self._fits.values(), key=lambda fit: fit.objective)


_RANK_TOL = 1e-10


@dataclass
class Reduction:
    """Y = offset + Y_r basis', with as few columns in Y_r as its rank allows.

    Both norms are invariant to rotations, so W = W_r basis' solves the problem for Y whenever
    W_r solves it for Y_r. One-hot labels lose one column to the intercept; two classes become
    one target, hence a linear programme.
    """

    offset: Array
    basis: Array
    reduced: Array

    @classmethod
    def from_targets(cls, Y: Array, fit_intercept: bool) -> Reduction:
        offset = Y.mean(axis=0) if fit_intercept else np.zeros(Y.shape[1])
        centred_Y = Y - offset
        if Y.shape[1] == 1:
            return cls(offset, np.eye(1), centred_Y)
        covariance = centred_Y.T @ centred_Y
        values, vectors = np.linalg.eigh(covariance)
        keep = values > _RANK_TOL * max(float(values[-1]), 1e-300)
        if keep.all() or not keep.any():
            return cls(offset, np.eye(Y.shape[1]), centred_Y)
        basis = vectors[:, keep]
        return cls(offset, basis, centred_Y @ basis)

    def expand(self, W: Array, b: Array, Theta: Array) -> tuple[Array, Array, Array]:
        """(W, b, Theta) of the reduced problem for the targets as given."""
        return W @ self.basis.T, b @ self.basis.T + self.offset, Theta @ self.basis.T
