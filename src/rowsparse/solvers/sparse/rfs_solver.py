"""RFS, the joint l2,1 problem of Nie et al. (2010), solved to a certified duality gap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rowsparse._arrays import Array
from rowsparse.design import Design, WithColumn
from rowsparse.solvers.l21.irls import IrlsResult, irls
from rowsparse.solvers.l21.penalty_search import search_penalty
from rowsparse.solvers.l21.working_set import WorkingSetSolver, as_solution
from rowsparse.solvers.losses.base import Reduction
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.solution import Monitor, Solution, silent

# Gap at which the rows of a solution are counted in the search for k of them.
_COUNT_TOL = 1e-4
# The search for k rows goes down to this share of gamma_max.
_LEAST_GAMMA = 1e-3
_FIRST_STEP = 1e-3
_OUTER_ITER = 100
_IRLS_ITER = 1000


def rfs(
    design: Design,
    Y: Array,
    *,
    gamma: float | None,
    k: int,
    weights: Array | None = None,
    fit_intercept: bool,
    solver: str,
    tol: float,
    max_iter: int | None,
    monitor: Monitor = silent,
) -> Solution:
    """Solve the joint l2,1 problem; with ``gamma=None`` at the penalty that leaves k rows.

    ``solver`` is "admm", "irls", "lp" (one target, or two classes with an intercept) or "auto",
    which takes the linear programme where there is one and ADMM otherwise. ``max_iter`` counts
    rounds of the working set (None: 100), for IRLS its iterations (None: 1000).
    """
    loss, reduction = _reduced(L21Loss.from_targets(design, Y, weights, fit_intercept), solver)
    worker = WorkingSetSolver(loss, max_iter=max_iter or _OUTER_ITER, monitor=monitor)
    if gamma is None:
        gamma = penalty_for(worker, k, tol)
    if solver != "irls":
        return _solve_at(worker, gamma, tol, reduction)
    limit = max_iter or _IRLS_ITER
    result = irls(loss, gamma, tol=tol, max_iter=limit, published=False, monitor=monitor)
    return _irls_solution(result, gamma, *reduction.expand(result.W, result.b, result.Theta))


def rfs_path_fits(
    design: Design,
    Y: Array,
    *,
    gammas: Array | None,
    n_gammas: int,
    eps: float,
    weights: Array | None = None,
    fit_intercept: bool,
    tol: float,
) -> list[Solution]:
    """The solutions at falling penalties; None for ``n_gammas`` from gamma_max to eps times it."""
    loss, reduction = _reduced(L21Loss.from_targets(design, Y, weights, fit_intercept), "auto")
    worker = WorkingSetSolver(loss, max_iter=_OUTER_ITER)
    if gammas is None:
        gammas = worker.penalty_max * np.geomspace(1.0, eps, n_gammas)
    return [_solve_at(worker, float(gamma), tol, reduction) for gamma in gammas]


def _reduced(loss: L21Loss, solver: str) -> tuple[L21Loss, Reduction]:
    """The loss in as few targets as possible, by linear programming where it can be."""
    reduced = loss.reduced()
    programme = _takes_linear_programme(solver, reduced.Y.shape[1])
    return replace(reduced, linear_programme=programme), loss.reduction


def _solve_at(worker: WorkingSetSolver, gamma: float, tol: float, reduction: Reduction) -> Solution:
    fit = worker.solve(gamma, tol)
    d = worker.loss.design.shape[1]
    solution = as_solution(fit, *reduction.expand(fit.coefficients(d), fit.b, fit.Theta))
    solution.attributes["gamma_"] = fit.penalty
    return solution


def penalty_for(worker: WorkingSetSolver, k: int, tol: float) -> float:
    """The penalty at which exactly k rows are active, as nearly as there is one.

    Rows are counted in rough solutions. Where many of them enter at once, the exact solution may
    have none yet: then the penalty is lowered, in growing steps, until at least k are in.
    """
    count_tol = max(tol, _COUNT_TOL)
    gamma, _ = search_penalty(
        lambda g: worker.solve(g, count_tol), worker.penalty_max, k, lower=_LEAST_GAMMA
    )
    step = _FIRST_STEP
    while worker.solve(gamma, tol).n_rows < k and gamma > _LEAST_GAMMA * worker.penalty_max:
        gamma, step = gamma * (1.0 - step), min(2.0 * step, 0.5)
    return gamma


def _takes_linear_programme(solver: str, n_targets: int) -> bool:
    if solver == "lp" and n_targets > 1:
        raise ValueError(
            "solver='lp' needs a single target, or two classes with an intercept; this y has "
            f"{n_targets} independent targets: use solver='auto'."
        )
    return solver == "lp" or (solver in ("auto", "irls") and n_targets == 1)


def rfs_published(
    design: Design,
    Y: Array,
    *,
    gamma: float,
    weights: Array | None = None,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
    monitor: Monitor = silent,
) -> Solution:
    """The printed iteration, in its n x n or d x d form: no rows vanish, they are ranked.

    An intercept is what the paper suggests: a constant feature, penalised like all others.
    """
    # Its weights grow without bound where samples are fitted: too much for single precision.
    design = design.in_double()
    d = design.shape[1]
    if fit_intercept:
        design = WithColumn(design, np.ones(design.shape[0]))
    loss = L21Loss.from_targets(design, Y, weights, fit_intercept=False)
    result = irls(loss, gamma, tol=tol, max_iter=max_iter, published=True, monitor=monitor)
    b = result.W[d] if fit_intercept else np.zeros(Y.shape[1])
    return _irls_solution(result, gamma, result.W[:d], b, result.Theta)


def _irls_solution(result: IrlsResult, gamma: float, W: Array, b: Array, Theta: Array) -> Solution:
    return Solution(
        W,
        b,
        result.objective,
        np.asarray(result.history),
        len(result.history),
        result.converged,
        attributes={"gap_": result.gap, "dual_coef_": Theta, "gamma_": gamma},
    )
