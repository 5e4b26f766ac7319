"""Least squares on k features: greedy growth and descent by exchanges.

The problem is

    minimise ||Y - X W||_F^2 + ridge ||W||_F^2   subject to   W_j = 0 for j outside S

with X and Y centred. A = X'X + ridge I and B = X'Y; of A only the rows of features that were
ever selected are computed.
"""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.design import Design
from rowsparse.solvers.subset.gram import (
    GramProblem,
    reduced_targets,
    univariate_gains,
)
from rowsparse.solvers.subset.residuals import Effort
from rowsparse.solvers.subset.support import SupportState


def grow(state: SupportState, size: int, allowed: Mask, min_gain: float) -> bool:
    """Add the best features up to a size; False if one gains ``min_gain`` or less before that."""
    while len(state.basis) < size:
        p = state.best_addition(allowed, min_gain)
        if p is None:
            return False
        if not state.add(p):  # p is dependent, which rounding in the updates had hidden
            state.drop_dependent(p)
    return True


def descend(
    state: SupportState,
    min_gain: float,
    allowed: Mask,
    *,
    fixed: int = 0,
    effort: Effort = "best",
    deadline: Deadline = NO_DEADLINE,
) -> bool:
    """Apply the best exchange until none gains more than ``min_gain``; False if time is up first.

    ``fixed`` and ``effort`` are those of :meth:`SupportState.best_exchange`.
    """
    objective = state.objective
    while not deadline.expired():
        best = state.best_exchange(min_gain, allowed, fixed=fixed, effort=effort)
        if best is None or not state.exchange(best.out, best.into):
            return True
        before, objective = objective, state.objective
        if not objective < before:  # the gain was rounding error
            return True
    return False


def forward(
    design: Design, Y: Array, k: int, *, ridge: float = 0.0, live: Mask | None = None
) -> Index:
    """Greedy forward selection by the exact gain, in the order of picking.

    Once no feature gains anything, those with the largest ||B_p||^2 / A_pp are appended until
    there are k, columns of zeros last. Ties go to the lowest index.

    Parameters
    ----------
    design : Design
        Centred.
    Y : array of shape (n, c)
        Centred.
    k : int
        Number of features, at most d.
    ridge : float
        Weight of ||W||_F^2.
    live : array of bool of shape (d,), optional
        Columns to take before all others. Default: those that are not zero.

    Examples
    --------
    >>> from rowsparse.design import make_design
    >>> X = np.array([[1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], [0.0, 0.0, -2.0]])
    >>> design, _ = make_design(X, center=True, scale=False)
    >>> forward(design, np.array([[3.0], [0.0], [-3.0]]), 3)
    array([2, 0, 1])
    """
    problem = GramProblem.of(design, reduced_targets(Y), ridge=ridge)
    live = design.column_norms() > 0 if live is None else live
    state = SupportState(problem, capacity=k)
    grow(state, k, live, problem.eps * problem.total)
    return fill(state.basis, univariate_gains(problem.B, problem.diagonal), live, k)


def fill(picked: list[int], strength: Array, live: Mask, k: int) -> Index:
    """The first k of ``picked`` and then the strongest others, those not ``live`` last."""
    order = np.lexsort((-strength, ~live))
    others = order[~np.isin(order, picked)]
    return np.concatenate([np.array(picked, dtype=np.intp), others])[:k]
