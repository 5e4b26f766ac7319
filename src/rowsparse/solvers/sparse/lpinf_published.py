"""The printed method for the l_{p,inf} penalty: plain FISTA with the printed prox."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array
from rowsparse.rows import prox_lpinf_published
from rowsparse.solvers.proximal import Descent, monotone_apg, settled
from rowsparse.solvers.solution import Solution
from rowsparse.solvers.sparse.lpinf_descents import (
    STILL,
    LpInfDescents,
    Trial,
    gamma_max,
    trial_with_rows,
)

# The iteration need not converge: it ends once F has for so many iterations been so far above its
# least value.
_STUCK_BY, _STUCK_AFTER = 0.01, 100


def prox_printed(A: Array, t: float, p: float) -> Array:
    """The printed prox, with its NaN rows set to zero."""
    W = prox_lpinf_published(A, t, p)
    W[~np.isfinite(W).all(axis=1)] = 0.0
    return W


@dataclass
class PrintedDescents(LpInfDescents):
    """Plain FISTA on all rows with the printed prox."""

    def descend(self, W: Array, gamma: float, p: float, *, grow: bool = True) -> Descent:
        problem = self.problem(np.arange(W.shape[0]), gamma, p, prox_printed)

        def done(V: Array, P: Array, history: list[float]) -> bool:
            return _is_stuck(history) or settled(history, STILL * self.tol)

        run = monotone_apg(
            problem, W, done=done, max_iter=self.max_iter, monitor=self.monitor, monotone=False
        )
        run.converged &= not _is_stuck(run.history)
        return run

    def k_rows(self, start: str, p: float, k: int, guess: float | None) -> Trial:
        if p == 1:
            # No row of the printed method is ever zero: take the penalty of the exact one.
            exact = LpInfDescents(self.loss, self.n_samples, self.tol, self.max_iter, self.monitor)
            gamma = exact.k_rows(start, p, k, guess).gamma
            return Trial(gamma, self.path(start, p)(gamma))
        return trial_with_rows(self.path(start, p), gamma_max(self.loss, p), k)

    def solution(self, trial: Trial, p: float) -> Solution:
        answer = super().solution(trial, p)
        answer.scores = np.abs(trial.run.W).max(axis=1)
        return answer


def _is_stuck(history: list[float]) -> bool:
    """Whether F is no number any more, or has long been above its least value."""
    earlier, latest = history[:-_STUCK_AFTER], history[-_STUCK_AFTER:]
    wanders = bool(earlier) and min(earlier) < min(latest) * (1.0 - _STUCK_BY)
    return wanders or not np.isfinite(history[-1])
