"""What branch and bound needs to know of a loss: bounds, fits and relaxations of its candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

from rowsparse._arrays import Array, Index, Mask
from rowsparse.certificate.proof import Kind
from rowsparse.solvers.proof.relaxation import Relaxation


@dataclass(frozen=True)
class DualBound:
    """A lower bound, and what screening needs of it.

    Attributes
    ----------
    value : float
        The bound.
    q : array of shape (m,)
        The scores q_j of all candidates.
    last_in, first_out : float
        With r features left to choose, the r-th and the (r+1)-th largest score of the allowed ones.
    """

    value: float
    q: Array
    last_in: float
    first_out: float


@dataclass(frozen=True)
class Completion:
    """The best way to choose the last features of a node, found by trying all.

    Attributes
    ----------
    kind : Kind
        The step of a proof that tries them.
    bound : float
        No way leads to an objective below this.
    added, value : array of int or None, and float
        The candidates to add, and the objective with them; None if no way was worth computing.
    """

    kind: Kind
    bound: float
    added: Index | None
    value: float


class CandidateProblem(Protocol):
    """The features that may still be chosen, by positions from 0 on, and what choices are worth."""

    @property
    def features(self) -> Index:
        """The candidates, as columns of the design."""

    @property
    def unit(self) -> Array:
        """Factors by which the coefficients of each candidate are those of its column."""

    @property
    def total(self) -> float:
        """The objective of choosing nothing."""

    @property
    def nbytes(self) -> int:
        """Memory for what was computed from the columns."""

    def __len__(self) -> int: ...

    def restricted(self, keep: Index) -> Self:
        """The same problem with these candidates alone."""

    def strengths(self) -> Array:
        """How much each candidate promises on its own."""

    def relaxation(self, positions: Index, k: int, n_fixed: int) -> Relaxation[Any]:
        """The relaxation of choosing k of some candidates, the first ``n_fixed`` among them."""

    def bound(self, active: Index, W: Array, chosen: Index, allowed: Mask, k: int) -> DualBound:
        """The bound of a W with the rows of ``active``, lowered by its possible rounding error.

        It is over the choices of k features: ``chosen`` and others of ``allowed``.
        """

    def fit(self, positions: Index) -> tuple[Array, float]:
        """The coefficients of a set of candidates, and their objective."""

    def complete(
        self, chosen: Index, free: Index, k: int, threshold: float, *, relaxed: bool
    ) -> Completion | None:
        """Try all ways to complete ``chosen`` by candidates of ``free``; None if they are many.

        Ways whose objective is not below the threshold may be skipped. ``relaxed`` says that the
        relaxation did not suffice, so that more of them are worth trying.
        """
