"""CD-LSR (Xu 2023): least squares on k features by coordinate descent on the selection.

    minimise ||Y - X W||_F^2   subject to   W = S V

with S a d x k matrix of zeros and ones, one 1 a column. A sweep refits V and then moves the
columns of S one after another, each to the best feature while V and the other columns stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.solvers.choices import filled
from rowsparse.solvers.losses.squared import least_squares_fit
from rowsparse.solvers.search.gram import GramProblem, independent, solve_positive, univariate_gains
from rowsparse.solvers.solution import Monitor, Solution, Variant, scores_with_closeness, silent

# The ridge of the authors' code, which is not in their formulae.
_PUBLISHED_RIDGE = 1e-7
# Their stopping rule: the number of consecutive small changes, and the least number of sweeps.
_CALM_SWEEPS, _LEAST_SWEEPS = 3, 5
# A move must gain more than this share of ||Y||^2 to count as one.
_LEAST_GAIN = 1e-12


@dataclass
class _SweptStart:
    """Where one start ended; ``V`` is the one with which the last sweep scored its moves."""

    S: Index
    V: Array
    history: list[float]
    converged: bool
    refitted_V: Array
    refitted_objective: float


def cdlsr(
    design: Design,
    Y: Array,
    k: int,
    *,
    n_restarts: int,
    variant: Variant,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
    monitor: Monitor = silent,
) -> Solution:
    """The best of several random starts of coordinate descent on the selected features.

    Parameters
    ----------
    design : Design
        Centred.
    Y : array of shape (n, c)
        Centred.
    k : int
        Number of features, at most d.
    n_restarts : int
        Random starts after the first.
    variant : {"corrected", "published"}
        "published" follows the authors' code: a ridge of 1e-7 in the refit, a rule on the
        relative change of the objective to stop, coefficients not refitted after the last move,
        and the best start by the objective at those. "corrected" sweeps until no move improves
        the objective, gives columns that add nothing to the others a feature that does, refits
        at the end, and takes the best start by the refitted objective.
    max_iter : int
        Largest number of sweeps of a start.
    tol : float
        Relative change at which "published" stops; "corrected" needs none.
    rng : numpy.random.Generator
        All starts are drawn from it at once, before the first is run.
    monitor : callable
        Called once a start with its objective; no further start follows when it returns True.

    Returns
    -------
    Solution
        ``history`` is that of the best start, one value a sweep. ``attributes``:
        ``published_objective_`` (coefficients of the last sweep), ``refitted_objective_``, both
        of the best start, and ``objectives_``, the refitted ones of all starts.
    """
    problem = GramProblem.from_design(design, Y)
    corrected = variant == "corrected"
    runs: list[_SweptStart] = []
    for start in _draw_starts(problem, k, n_restarts + 1, avoid_zeros=corrected, rng=rng):
        run = _run(problem, Y, start, corrected=corrected, max_iter=max_iter, tol=tol)
        runs.append(run)
        if monitor(_objective(run, corrected)):
            break
    best = min(runs, key=lambda run: _objective(run, corrected))
    W = np.zeros((design.shape[1], Y.shape[1]))
    W[best.S] = best.refitted_V if corrected else best.V
    R = Y - design.matmul(W)
    closeness = np.sqrt(univariate_gains(design.rmatmul(R), problem.diagonal))
    return Solution(
        W=W,
        b=np.zeros(Y.shape[1]),
        objective=_objective(best, corrected),
        history=np.array(best.history),
        n_iter=len(best.history),
        converged=best.converged,
        scores=scores_with_closeness(W, closeness, best.S),
        support=np.sort(best.S),
        attributes={
            "published_objective_": best.history[-1],
            "refitted_objective_": best.refitted_objective,
            "objectives_": np.array([run.refitted_objective for run in runs]),
        },
    )


def _objective(run: _SweptStart, corrected: bool) -> float:
    return run.refitted_objective if corrected else run.history[-1]


def _draw_starts(
    problem: GramProblem, k: int, n_starts: int, *, avoid_zeros: bool, rng: np.random.Generator
) -> list[Index]:
    """``n_starts`` random sets of k features, with columns of zeros only where k asks for them."""
    d = problem.diagonal.size
    if not avoid_zeros:
        return [rng.choice(d, size=k, replace=False) for _ in range(n_starts)]
    live = problem.diagonal > 0
    pool = np.flatnonzero(live)
    drawn = [rng.choice(pool, size=min(k, pool.size), replace=False) for _ in range(n_starts)]
    return [filled(start.tolist(), np.zeros(d), live, k) for start in drawn]


def _run(
    problem: GramProblem, Y: Array, start: Index, *, corrected: bool, max_iter: int, tol: float
) -> _SweptStart:
    """Sweeps from one start until its rule stops them."""
    S = start.copy()
    A_S = problem.gram(S)
    refit = _refit_independent if corrected else _refit_published
    least_gain = _LEAST_GAIN * problem.total if corrected else 0.0
    V = refit(problem, A_S[:, S], S)
    history: list[float] = []
    converged = False
    while not converged and len(history) < max_iter:
        if history:
            V = refit(problem, A_S[:, S], S)
        moved = _sweep(problem, S, A_S, V, least_gain=least_gain, revive=corrected)
        history.append(_objective_at(problem, S, A_S, V))
        converged = not moved if corrected else _is_calm(history, tol)
    refitted_V, refitted_objective = least_squares_fit(problem.design, Y, S)
    return _SweptStart(S, V, history, converged, refitted_V, refitted_objective)


def _refit_published(problem: GramProblem, A_SS: Array, S: Index) -> Array:
    """(A_SS + 1e-7 I)^-1 B_S."""
    ridged = A_SS + _PUBLISHED_RIDGE * np.eye(S.size)
    try:
        return np.asarray(np.linalg.solve(ridged, problem.B[S]), dtype=np.float64)
    except np.linalg.LinAlgError:  # the ridge drowned in the rounding of large columns
        solution = np.linalg.lstsq(ridged, problem.B[S], rcond=None)[0]
        return np.asarray(solution, dtype=np.float64)


def _refit_independent(problem: GramProblem, A_SS: Array, S: Index) -> Array:
    """Least squares on an independent part of S; rows of zeros for the rest."""
    V = np.zeros((S.size, problem.B.shape[1]))
    kept = independent(A_SS, problem.share)
    V[kept] = solve_positive(A_SS[np.ix_(kept, kept)], problem.B[S[kept]])
    return V


def _objective_at(problem: GramProblem, S: Index, A_S: Array, V: Array) -> float:
    """||Y - X_S V||^2 = ||Y||^2 + <A_SS V, V> - 2 <B_S, V>."""
    fitted = float(np.vdot(A_S[:, S] @ V, V))
    return max(problem.total + fitted - 2.0 * float(np.vdot(problem.B[S], V)), 0.0)


def _is_calm(history: list[float], tol: float) -> bool:
    """The authors' rule: little relative change, three times running, after five sweeps."""
    if len(history) < max(_LEAST_SWEEPS, _CALM_SWEEPS + 1):
        return False
    latest = np.array(history[-_CALM_SWEEPS - 1 :])
    return bool(np.all(np.abs(np.diff(latest)) <= tol * latest[:-1]))


def _sweep(
    problem: GramProblem, S: Index, A_S: Array, V: Array, *, least_gain: float, revive: bool
) -> bool:
    """Move every column once, in place; whether any moved.

    With V and the other columns fixed, column i at the feature p costs

        2 sum_{j != i} A_{p,S_j} U_ji + A_pp U_ii - 2 <B_p, V_i>,     U = V V'.

    All p cost the same where V_i = 0: with ``revive`` such a column goes where a coefficient of
    its own gains most, and gets that coefficient.
    """
    U = V @ V.T
    BV = V @ problem.B.T
    moved = False
    for i in range(S.size):
        if revive and not V[i].any():
            if not _revive(problem, S, A_S, V, i, least_gain):
                continue
            moved = True
            U = V @ V.T
            continue
        others = U[:, i].copy()
        others[i] = 0.0
        cost = 2.0 * (others @ A_S)
        cost += U[i, i] * problem.diagonal
        cost -= 2.0 * BV[i]
        current = cost[S[i]]
        cost[S] = np.inf
        p = int(np.argmin(cost))
        if cost[p] < current - least_gain:
            _place(problem, S, A_S, i, p)
            moved = True
    return moved


def _revive(
    problem: GramProblem, S: Index, A_S: Array, V: Array, i: int, least_gain: float
) -> bool:
    """Give column i, which has no coefficients, the feature and coefficients that gain most."""
    R = problem.B - A_S.T @ V
    gains = univariate_gains(R, problem.diagonal)
    gains[S] = -1.0
    p = int(np.argmax(gains))
    if gains[p] <= least_gain:
        return False
    _place(problem, S, A_S, i, p)
    V[i] = R[p] / problem.diagonal[p]
    return True


def _place(problem: GramProblem, S: Index, A_S: Array, i: int, p: int) -> None:
    S[i] = p
    A_S[i] = problem.gram(np.array([p]))[0]
