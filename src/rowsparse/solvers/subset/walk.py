"""A walk over supports: the best exchange at every step, whether it gains or not.

A feature that left must not come back for some steps, and one that came in must stay for some,
so that the walk leaves the surroundings of a local optimum (tabu search, Glover 1989).
"""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Mask
from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.solvers.subset.support import SupportState

# A walk ends after this many steps that led to nothing better: more of them without a ridge, where
# supports that differ in one feature differ more, and there are more local optima.
_PATIENCE, _PATIENCE_WITHOUT_RIDGE = 30, 120


def walk(
    state: SupportState,
    allowed: Mask,
    *,
    fixed: int = 0,
    rng: np.random.Generator,
    deadline: Deadline = NO_DEADLINE,
) -> list[int]:
    """The best basis on a walk from a state, which is changed.

    ``allowed`` and ``fixed`` are those of :meth:`SupportState.best_exchange`. How long a feature
    is kept out or in is drawn from ``rng``.
    """
    size = len(state.basis) - fixed
    best, basis = state.objective, list(state.basis)
    out_until: dict[int, int] = {}
    in_until: dict[int, int] = {}
    step = last_better = 0
    patience = _PATIENCE if state.problem.ridge > 0 else _PATIENCE_WITHOUT_RIDGE
    while step - last_better < patience and not deadline.expired():
        step += 1
        may_enter = allowed.copy()
        may_enter[[p for p, until in out_until.items() if until >= step]] = False
        held = {p for p, until in in_until.items() if until >= step}
        change = state.best_exchange(-np.inf, may_enter, fixed=fixed, held=held, effort="glance")
        if change is None or not state.exchange(change.out, change.into):
            break
        out_until[change.out] = step + int(rng.integers(size // 2, size + 1))
        in_until[change.into] = step + int(rng.integers(1, max(2, size // 3) + 1))
        if state.objective < best - state.problem.eps * state.problem.total:
            best, basis, last_better = state.objective, list(state.basis), step
    return basis
