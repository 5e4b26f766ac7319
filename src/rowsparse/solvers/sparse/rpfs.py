"""RPFS (Cai, Nie, Huang 2013): the l2,1 loss on k features, started, refitted and improved.

The augmented Lagrangian itself is in :mod:`rowsparse.solvers.sparse.alm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Literal

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import Design
from rowsparse.rows import row_norms
from rowsparse.solvers.l21.local_search import descend, entry_rates, live_columns
from rowsparse.solvers.losses.base import Refits, SupportFit
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.solution import (
    Monitor,
    Solution,
    Variant,
    scores_with_closeness,
    silent,
)
from rowsparse.solvers.sparse.alm import AlmOptions, AlmRun, RidgeStep, Scaled, alm
from rowsparse.solvers.subset.exchange import fill, forward
from rowsparse.solvers.subset.gram import univariate_gains

Init = Literal["forward", "zero", "random"]

# Scale of the random start: the papers give none. Large starts end far above the loss of W = 0.
_INIT_SCALE = {"corrected": 0.03, "published": 1.0}
# Relative duality gap of the refits.
_REFIT_TOL = 1e-8
# Least limit on the swaps: a small support may have to be exchanged more than once over.
_LEAST_SWAPS = 20


def rpfs(
    design: Design,
    Y: Array,
    k: int,
    *,
    weights: Array | None = None,
    mu: float,
    rho: float,
    max_iter: int,
    init: Init | None,
    n_restarts: int,
    init_scale: float | None,
    variant: Variant,
    fit_intercept: bool,
    tol: float,
    rng: np.random.Generator,
    monitor: Monitor = silent,
) -> Solution:
    """k features for the l2,1 loss by the ALM of Cai et al., then a convex refit.

    Parameters
    ----------
    design : Design
    Y : array of shape (n, c)
    k : int
        Number of features, at most d.
    weights : array of shape (n,), optional
        The weights omega of the samples.
    mu, rho : float
        First penalty of the augmented Lagrangian, and the factor by which it grows.
    max_iter : int
        Largest number of iterations of a start.
    init : {"forward", "zero", "random"} or None
        W_0: the least squares coefficients on the support of greedy forward selection, zero, or
        normal random numbers. None: "forward" if corrected, "random" if published.
    n_restarts : int
        Random starts after the first; the other two are deterministic.
    init_scale : float or None
        Standard deviation of a random W_0, which the paper does not state. None: 1 if
        published, 0.03 if corrected, because from 1 the iteration freezes at losses far above
        that of W = 0, and of the scales tried 0.03 alone comes near the printed losses.
    variant : {"corrected", "published"}
        "published" takes the printed steps: rows ranked by l1 norm, b and then W, all
        ``max_iter`` iterations, the loss at (V, b). "corrected" projects (l2 norm), solves for W
        and b jointly, stops when the split holds, refits on the support by convex optimisation,
        and returns the best support by refitted loss, that of forward selection included, after
        swaps of the weakest feature against the strongest outsider while they lower the loss.
    fit_intercept : bool
        Whether b is free, or zero.
    tol : float
        Relative size of W - V and of E - (XW + 1b' - Y) that counts as converged. With more
        samples than the paper's few dozen, 1000 iterations rarely get there.
    rng : numpy.random.Generator
        All random starts are drawn from it before the first is run.
    monitor : callable
        Called once an iteration with the loss at (V, b).

    Returns
    -------
    Solution
        ``history`` is the loss at (V, b) in the start that led to the answer. ``attributes``:
        ``alm_objective_`` (its last value), ``objectives_`` (refitted, one a start) and
        ``forward_objective_`` (refitted on the support of forward selection).
    """
    corrected = variant == "corrected"
    loss = L21Loss.of(design, Y, weights, fit_intercept)
    refits = Refits(loss, 0.0, _REFIT_TOL)
    forward_start = ForwardStart.of(loss, k)
    live = forward_start.live
    scale = _INIT_SCALE[variant] if init_scale is None else init_scale
    starts = _starts(
        init or ("forward" if corrected else "random"), forward_start.W, n_restarts + 1, scale, rng
    )
    problem = Scaled.of(design, Y, weights, fit_intercept, joint=corrected)
    step = RidgeStep(problem.Z)
    options = AlmOptions(mu, rho, max_iter, "l2" if corrected else "l1", tol, corrected)
    keep = live[:, None] if corrected else np.True_
    runs = [alm(problem, step, W_0 * keep, k, options, monitor) for W_0 in starts]
    fits = [refits.at(fill(run.rows.tolist(), forward_start.strength, live, k)) for run in runs]
    by_forward = refits.at(forward_start.support)
    if corrected:
        solution = _corrected(loss, live, runs, fits, by_forward, refits)
    else:
        solution = _published(runs, fits)
    solution.attributes["objectives_"] = np.array([fit.objective for fit in fits])
    solution.attributes["forward_objective_"] = by_forward.objective
    return solution


@dataclass
class ForwardStart:
    """Forward selection with sample weights, and the strength of each feature on its own."""

    support: Index
    W: Array
    strength: Array
    live: Mask

    @classmethod
    def of(cls, loss: L21Loss, k: int) -> ForwardStart:
        squared, live = loss.least_squares(loss.omega), live_columns(loss)
        support = forward(squared.design, squared.Y, k, live=live)
        W = np.zeros_like(squared.correlations)
        W[support] = squared.refit(support, penalty=0.0, tol=0.0).W
        strength = univariate_gains(squared.correlations, squared.design.column_norms() ** 2)
        return cls(support, W * live[:, None], strength, live)


def _starts(
    init: Init, by_forward: Array, n_starts: int, scale: float, rng: np.random.Generator
) -> list[Array]:
    if init != "random":
        return [by_forward if init == "forward" else np.zeros_like(by_forward)]
    return [scale * rng.standard_normal(by_forward.shape) for _ in range(n_starts)]


def _published(runs: list[AlmRun], fits: list[SupportFit]) -> Solution:
    """The best start by the loss at (V, b), as it is."""
    at = int(np.argmin([run.history[-1] for run in runs]))
    run, support = runs[at], fits[at].support
    loss = run.history[-1]
    as_it_is = SupportFit(support, run.V[support], run.b, loss, run.V[:0], np.nan, run.converged)
    return _solution(run, as_it_is, run.strength)


def _corrected(
    loss: L21Loss,
    live: Mask,
    runs: list[AlmRun],
    fits: list[SupportFit],
    by_forward: SupportFit,
    refits: Refits,
) -> Solution:
    """The best of all supports by refitted loss, after swaps."""
    at = int(np.argmin([fit.objective for fit in fits]))
    best = by_forward if by_forward.objective < fits[at].objective else fits[at]
    best, settled = _swap(loss.design, best, refits, live)
    rates = entry_rates(loss.design, best.Theta, live)
    solution = _solution(runs[at], best, rates if rates.any() else runs[at].strength)
    solution.attributes["refit_gap_"] = best.gap
    # The answer is the refit and its swaps; the ALM need not have settled on a support.
    solution.converged = best.converged and settled
    return solution


def _solution(run: AlmRun, fit: SupportFit, strength: Array) -> Solution:
    W = np.zeros_like(run.V)
    W[fit.support] = fit.W
    return Solution(
        W=W,
        b=fit.b,
        objective=fit.objective,
        history=np.array(run.history),
        n_iter=len(run.history),
        converged=fit.converged,
        scores=scores_with_closeness(W, strength, fit.support),
        support=fit.support,
        attributes={"alm_objective_": run.history[-1], "alm_converged_": run.converged},
    )


def _swap(design: Design, best: SupportFit, refits: Refits, live: Mask) -> tuple[SupportFit, bool]:
    """Swap the weakest row for the strongest outsider while the refitted loss falls.

    Returns the support and whether it was the loss, not the limit of about k swaps, that ended it.
    """
    norms = design.column_norms()

    def swapped(fit: SupportFit) -> list[SupportFit]:
        rates = entry_rates(design, fit.Theta, live)
        rates[fit.support] = -1.0
        entering = int(np.argmax(rates))
        if rates[entering] <= 0.0:
            return []
        support = fit.support.copy()
        support[np.argmin(row_norms(fit.W) * norms[fit.support])] = entering
        return [refits.at(support)]

    swaps, limit = count(), max(_LEAST_SWAPS, best.support.size)
    return descend(best, [swapped], stop=lambda _: next(swaps) >= limit)
