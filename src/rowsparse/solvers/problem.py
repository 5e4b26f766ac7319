"""The problem of the best k units, the options of a run on it, and the records of its results.

    minimise over choices S    min_{W, b}  factor (f(ZW + 1b') + (ridge / 2) ||W||_F^2)

with the rows of W outside S zero, f the loss and ``factor`` that of the loss. Three records hold
results, from the smallest to the largest: a :class:`Selection` (a search makes thousands), a
:class:`Fit` of coefficients on columns, and the :class:`Outcome` of a search. :class:`Proven` is
the result of a proof.
"""

from __future__ import annotations

from dataclasses import dataclass

from rowsparse._arrays import Array, Index
from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.certificate.proof import Step
from rowsparse.solvers.choices import Choices
from rowsparse.solvers.losses.base import Loss
from rowsparse.solvers.solution import Monitor, silent

# By how much objectives may be off that were computed with care, as a share of them.
ROUNDING = 1e-11


@dataclass(frozen=True)
class Problem:
    """A loss, the weight of the ridge, and the choices."""

    loss: Loss
    ridge: float
    choices: Choices


@dataclass(frozen=True)
class Listing:
    """Which choices a proof lists: those with objectives close to the least one.

    Attributes
    ----------
    tolerance : float
        By how much they may exceed it, as a share of it.
    max_choices : int
        The most choices to list; of more, the best ones.
    """

    tolerance: float
    max_choices: int

    def limit(self, least: float) -> float:
        """The objective below which choices are listed, a little more than is asked for.

        So the rounding of the least objective leaves none of them out.
        """
        return (1.0 + ROUNDING) * (1.0 + self.tolerance) * least


@dataclass(frozen=True)
class Options:
    """The options of a run, from the selector down to the nodes of a proof.

    Attributes
    ----------
    n_restarts : int
        Starts after the first, at least.
    seed : int
        Seed of everything random.
    n_jobs : int or None
        Threads of a search and processes of a proof, as in joblib; they do not change the answer.
    deadline : Deadline
        When search and proof end with the best answer so far.
    monitor : Monitor
        Called with the best objective, in a proof with ``lower_bound`` and ``nodes`` as well;
        True ends the run.
    gap_tol : float
        Relative gap at which a proof is complete.
    keep_on_interrupt : bool
        Whether Ctrl-C ends a proof with what it has instead of raising KeyboardInterrupt.
    listing : Listing or None
        Which choices a proof lists; None for the best one alone.
    """

    n_restarts: int = 0
    seed: int = 0
    n_jobs: int | None = None
    deadline: Deadline = NO_DEADLINE
    monitor: Monitor = silent
    gap_tol: float = 1e-6
    keep_on_interrupt: bool = False
    listing: Listing | None = None


@dataclass(frozen=True)
class Selection:
    """Some units, without the fixed ones, and the least objective on all of them."""

    objective: float
    units: tuple[int, ...]

    def sorted(self) -> Selection:
        """The same with the units sorted."""
        return Selection(self.objective, tuple(sorted(self.units)))


@dataclass(frozen=True)
class Fit:
    """The best coefficients on some columns.

    Attributes
    ----------
    support : array of int
        The columns, sorted.
    W, b : arrays of shape (len(support), c) and (c,)
        Coefficients and intercepts; centred data have intercepts of zero.
    objective : float
        The objective.
    P : array of shape (n, c) or None
        The predictions, where the loss has a curvature that depends on them.
    """

    support: Index
    W: Array
    b: Array
    objective: float
    P: Array | None = None


@dataclass(frozen=True)
class Outcome:
    """The best support that a search found, and how it was found.

    Attributes
    ----------
    fit : Fit
        The coefficients, computed from the columns themselves.
    costs : array of shape (len(support),)
        How much the objective rises without each column of the support.
    gains : array of shape (d,)
        How much it falls with each of the other columns as well; 0 on the support.
    n_starts : int
        Number of starts.
    history : array
        The best objective after the first start, and after each round of others.
    stopped_early : bool
        Whether the deadline or the monitor ended the search.
    """

    fit: Fit
    costs: Array
    gains: Array
    n_starts: int
    history: Array
    stopped_early: bool

    @property
    def support(self) -> Index:
        """The columns, sorted."""
        return self.fit.support

    @property
    def objective(self) -> float:
        """The least objective on them."""
        return self.fit.objective


@dataclass(frozen=True)
class Listed:
    """A choice that a proof lists.

    Attributes
    ----------
    units : tuple of int
        What is chosen, sorted; of copies the first ones.
    objective, least : float
        Its objective, and what that is at least, whatever rounding did to it.
    """

    units: tuple[int, ...]
    objective: float
    least: float


@dataclass(frozen=True)
class Proven:
    """The result of a proof.

    Attributes
    ----------
    support, objective : array of int and float
        The best columns found, sorted, and their objective.
    lower_bound, root_bound : float
        No choice has an objective below the first; the second is the bound before any branching.
    nodes : int
        Number of subproblems bounded, or of choices tried.
    steps : list of Step
        The whole proof, or that of the root bound if it takes too much memory.
    diagonal : array or None
        For each column that may be chosen, what replaces the ridge, as a share of the diagonal
        entry of X'X + ridge I; None for the ridge itself.
    listed : tuple of Listed
        With a :class:`Listing`, the choices listed, those with the least objectives first.
    others : float
        With a :class:`Listing`, no other choice has an objective below this.
    copies : array of int or None
        With a :class:`Listing`, the ``copies`` of :class:`~rowsparse.solvers.choices.Choices`.
    """

    support: Index
    objective: float
    lower_bound: float
    root_bound: float
    nodes: int
    steps: list[Step]
    diagonal: Array | None
    listed: tuple[Listed, ...] = ()
    others: float = 0.0
    copies: Index | None = None

    def is_optimal(self, gap_tol: float) -> bool:
        """Whether the bound is within this share of the objective."""
        return self.objective - self.lower_bound <= gap_tol * self.objective
