"""What local searches for the l2,1 loss on k features share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from rowsparse._arrays import Array, Mask
from rowsparse.design import Design
from rowsparse.rows import row_norms
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.subset.gram import machine_eps

# The share by which a move must lower the objective.
_LEAST_GAIN = 1e-6
# A column is constant if centring leaves no more of it than so many rounding errors.
_CONSTANT = 100.0


class HasObjective(Protocol):
    """A point of a search."""

    @property
    def objective(self) -> float: ...


P = TypeVar("P", bound=HasObjective)


def descend(
    point: P, moves: Sequence[Callable[[P], list[P]]], *, stop: Callable[[P], bool]
) -> tuple[P, bool]:
    """Go to the best of the neighbours while that lowers the objective.

    Parameters
    ----------
    point : object with an ``objective``
        Where to begin.
    moves : sequence of callables
        Each gives neighbours of a point; a later one is asked only where none of the neighbours
        from the earlier ones is better.
    stop : callable
        Asked at the start and after every move; True ends the search.

    Returns
    -------
    point, whether none of its neighbours is better
    """
    level = 0
    while level < len(moves):
        if level == 0 and stop(point):
            return point, False
        trial = min(moves[level](point), key=lambda trial: trial.objective, default=point)
        if trial.objective < point.objective * (1.0 - _LEAST_GAIN):
            point, level = trial, 0
        else:
            level += 1
    return point, True


def live_columns(loss: L21Loss) -> Mask:
    """The columns that are not constant, or without an intercept not zero.

    What centring leaves of a constant column is rounding error, which could correlate with Y.
    """
    whole, _ = loss.design.weighted(loss.omega, center=False)
    centred, _ = loss.design.weighted(loss.omega, center=loss.fit_intercept)
    noise = _CONSTANT * machine_eps(loss.design) * whole.column_norms()
    return np.asarray(centred.column_norms() > noise)


def entry_rates(design: Design, Theta: Array, live: Mask) -> Array:
    """||x_j' Theta|| / ||x_j||, with Theta the dual point of a fit: zero on its support.

    It is the rate at which the loss falls when feature j, scaled to unit norm, enters.
    """
    scores = np.where(live, row_norms(design.rmatmul(Theta)), 0.0)
    return np.asarray(scores / np.where(live, design.column_norms(), 1.0))
