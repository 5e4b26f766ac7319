"""Gradient steps that keep k rows: SFS (Luo et al. 2010) and projected gradient (Pang et al. 2019).

    minimise ||Y - XW||_F^2   subject to   ||W||_20 <= k

Both repeat W <- keep(W - step X'(XW - Y)), where ``keep`` leaves the k rows of largest norm. With
step 1/L, L = ||X||_2^2, that is the exact minimum of a quadratic above the loss, which therefore
never rises. SFS starts at the l2,1 solution with k rows, Pang et al. at the least squares fit on
the k features with the largest ratio of scatters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.rows import project_l20, row_norms, top_rows
from rowsparse.solvers.proximal import Descent
from rowsparse.solvers.solution import Monitor, Solution, scores_with_closeness, silent
from rowsparse.solvers.sparse.mtfs import mtfs
from rowsparse.solvers.subset.exchange import least_squares_fit
from rowsparse.solvers.subset.gram import GramProblem, univariate_gains

Init = Literal["pang", "random"]

# Gap to which the l2,1 problem is solved that SFS starts from.
_START_TOL = 1e-6
# Losses this many times that of the start, and of W = 0, will not come down again.
_DIVERGED = 1e3
# A loss below this share of ||Y||^2 is rounding error.
_PERFECT = 1e-20


@dataclass
class _Loss:
    """||Y - XW||_F^2 and half its gradient, X'(XW - Y).

    What belongs to the rows in use is kept for as long as these stay the same; that is most of
    the time.
    """

    design: Design
    Y: Array
    problem: GramProblem = field(init=False)
    _support: Index | None = field(init=False, default=None)
    _columns: Array = field(init=False)
    _gram: Array | None = field(init=False)

    def __post_init__(self) -> None:
        self.problem = GramProblem.of(self.design, self.Y)

    def at(self, W: Array) -> tuple[float, Array]:
        """The loss and half its gradient."""
        S = np.flatnonzero(W.any(axis=1))
        if self._support is None or not np.array_equal(S, self._support):
            self._support = S
            self._columns = self.design.columns(S).astype(np.float64, copy=False)
            self._gram = self.problem.gram(S) if S.size <= self.design.shape[0] else None
        R = self.Y - self._columns @ W[S]
        if self._gram is None:
            return float(np.vdot(R, R)), -self.design.rmatmul(R)
        return float(np.vdot(R, R)), self._gram.T @ W[S] - self.problem.B


@dataclass
class Thresholded(Descent):
    """Where the steps ended, and whether they had to be given up."""

    diverged: bool = False


def thresholded_descent(
    loss: _Loss,
    W: Array,
    keep: Callable[[Array], Array],
    *,
    step: float,
    tol: float,
    max_iter: int,
    charge: float = 0.0,
    reference: float = 0.0,
    monitor: Monitor = silent,
) -> Thresholded:
    """Repeat W <- keep(W - step X'(XW - Y)); the best W seen is returned, the first included.

    Ends when ||Y - XW||_F^2 + ``charge`` ||W||_20 changes by no more than ``tol`` times itself
    or ``reference``, whichever is larger, or when it has grown beyond hope.
    """
    smallest = _PERFECT * loss.problem.total

    def evaluate(W: Array) -> tuple[float, Array]:
        value, gradient = loss.at(W)
        return value + charge * int(np.count_nonzero(W.any(axis=1))), gradient

    value, gradient = evaluate(W)
    run = Thresholded(W, value)
    hopeless = _DIVERGED * max(value, loss.problem.total)
    while run.n_iter < max_iter and not (run.converged or run.stopped or run.diverged):
        W = keep(W - step * gradient)
        before = value
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = evaluate(W)
        run.diverged = not value <= hopeless
        if run.diverged:
            break
        run.history.append(value)
        if value <= run.objective:
            run.W, run.objective = W, value
        run.converged = abs(before - value) <= tol * max(value, reference, smallest)
        run.stopped = monitor(value)
    if not run.history:
        run.history.append(run.objective)
    return run


def smoothed_l20(
    design: Design,
    Y: Array,
    k: int,
    *,
    gamma: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    monitor: Monitor = silent,
) -> Solution:
    """SFS: thresholded steps of length 1/L from the l2,1 solution with k rows.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
        The data, centred already if an intercept is wanted.
    k : int
        Number of rows of the start and, with ``gamma=None``, of the answer.
    gamma : float, optional
        Minimise ||Y - XW||_F^2 + 2 gamma ||W||_20 instead: a step keeps the rows with
        ||v_j||^2 > 2 gamma / L.
    tol : float
        Change of the objective, as a share of its value at the start, that ends the steps.
    max_iter : int
        Limit on the steps.

    Returns
    -------
    Solution
        ``attributes``: ``refitted_objective_``, with the coefficients refitted on the support.
    """
    loss = _Loss(design, Y)
    L = max(design.spectral_norm() ** 2, np.finfo(np.float64).tiny)
    start = project_l20(mtfs(design, Y, None, k=k, tol=_START_TOL).W, k)

    def keep(V: Array) -> Array:
        if gamma is None:
            return project_l20(V, k)
        return np.where((row_norms(V) > np.sqrt(2.0 * gamma / L))[:, None], V, 0.0)

    charge = 0.0 if gamma is None else 2.0 * gamma
    first = loss.at(start)[0] + charge * int(np.count_nonzero(start.any(axis=1)))
    run = thresholded_descent(
        loss,
        start,
        keep,
        step=1.0 / L,
        tol=tol,
        max_iter=max_iter,
        charge=charge,
        reference=first,
        monitor=monitor,
    )
    return _solution(loss, run, k if gamma is None else None, charge)


def projected_gradient(
    design: Design,
    Y: Array,
    k: int,
    *,
    init: Init = "pang",
    step: float | None = None,
    n_restarts: int,
    tol: float = 1e-4,
    max_iter: int = 1000,
    rng: np.random.Generator,
    monitor: Monitor = silent,
) -> Solution:
    """Projected gradient descent onto the matrices with k non-zero rows.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
        The data, centred already if an intercept is wanted.
    k : int
        Number of rows.
    init : {"pang", "random"}
        Least squares on the k features with the largest ||x_j'Y||^2 / ||x_j||^2, or
        ``n_restarts + 1`` times uniform random numbers, the k rows of largest norm kept.
    step : float, optional
        Length of a step along X'(XW - Y); None is 1/||X||_2^2.
    tol : float
        Relative change of the objective that ends the steps.
    max_iter : int
        Limit on the steps from one start.
    monitor : callable
        Called once a step; no further step nor start follows when it returns True.

    Returns
    -------
    Solution
        Of the start with the lowest objective. ``attributes``: ``step_``, ``diverged_``,
        ``objectives_`` of all starts and ``refitted_objective_`` of the best.
    """
    loss = _Loss(design, Y)
    if step is None:
        step = 1.0 / max(design.spectral_norm() ** 2, np.finfo(np.float64).tiny)
    runs: list[Thresholded] = []
    for _ in range(n_restarts + 1 if init == "random" else 1):
        if init == "random":
            start = project_l20(rng.uniform(size=(design.shape[1], Y.shape[1])), k)
        else:
            start = scatter_ratio_start(design, Y, k)
        runs.append(
            thresholded_descent(
                loss,
                start,
                lambda V: project_l20(V, k),
                step=step,
                tol=tol,
                max_iter=max_iter,
                monitor=monitor,
            )
        )
        if runs[-1].stopped:
            break
    best = min(runs, key=lambda run: run.objective)
    solution = _solution(loss, best, k)
    solution.attributes |= {
        "step_": step,
        "diverged_": best.diverged,
        "objectives_": np.array([run.objective for run in runs]),
    }
    return solution


def scatter_ratio_start(design: Design, Y: Array, k: int) -> Array:
    """Least squares on the k features with the largest ||x_j'Y||^2 / ||x_j||^2.

    For targets with Y'Y = I before centring, one column a class, that is the ratio of the
    scatter between the classes to the total scatter, and ranks as the F-statistic does.
    """
    ratio = univariate_gains(design.rmatmul(Y), design.column_norms() ** 2)
    support = top_rows(ratio, k)
    W = np.zeros((design.shape[1], Y.shape[1]))
    W[support] = least_squares_fit(design, Y, support)[0]
    return W


def _solution(loss: _Loss, run: Thresholded, k: int | None, charge: float = 0.0) -> Solution:
    """The best W with its objective, and the rows outside ranked by how close they came."""
    gradient = loss.at(run.W)[1]
    active = np.flatnonzero(run.W.any(axis=1))
    refitted = least_squares_fit(loss.design, loss.Y, active)[1] + charge * active.size
    scores = scores_with_closeness(run.W, row_norms(gradient))
    return Solution(
        run.W,
        np.zeros(run.W.shape[1]),
        run.objective,
        np.asarray(run.history),
        run.n_iter,
        run.converged,
        scores,
        support=None if k is None else top_rows(scores, k),
        attributes={"refitted_objective_": refitted},
    )
