"""RPFS (Cai, Nie, Huang 2013): the l2,1 loss on k features, started, refitted and improved.

The augmented Lagrangian itself is in :mod:`rowsparse.solvers.sparse.alm`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import Design
from rowsparse.rows import row_norms
from rowsparse.solvers.l21.refit import refit_l21
from rowsparse.solvers.solution import (
    Monitor,
    Solution,
    Variant,
    scores_with_closeness,
    silent,
)
from rowsparse.solvers.sparse.alm import Options, RidgeStep, Run, Scaled, alm
from rowsparse.solvers.subset.exchange import fill, forward, least_squares_fit
from rowsparse.solvers.subset.gram import machine_eps, univariate_gains

Init = Literal["forward", "zero", "random"]

# Scale of the random start: the papers give none. Large starts end far above the loss of W = 0.
_INIT_SCALE = {"corrected": 0.03, "published": 1.0}
# A column is constant if centring leaves no more of it than so many rounding errors.
_CONSTANT = 100.0
# A swap is accepted when it lowers the refitted loss by this share.
_LEAST_GAIN = 1e-6
# A small support may have to be exchanged more than once over.
_LEAST_SWAPS = 20


@dataclass
class Choice:
    """A support with the coefficients, the loss and the dual point of the refit on it."""

    support: Index
    W: Array
    b: Array
    loss: float
    Theta: Array
    gap: float
    converged: bool


def refitter(
    design: Design, Y: Array, weights: Array | None, fit_intercept: bool
) -> Callable[[Index], Choice]:
    """The convex refit as a function of the support, each computed once."""

    @cache
    def solve(key: tuple[int, ...]) -> Choice:
        support = np.array(key, dtype=np.intp)
        fit = refit_l21(design, Y, support, weights=weights, fit_intercept=fit_intercept)
        return Choice(support, fit.W, fit.b, fit.objective, fit.Theta, fit.gap, fit.converged)

    return lambda support: solve(tuple(sorted(support.tolist())))


def rpfs(
    design: Design,
    Y: Array,
    k: int,
    *,
    weights: Array | None = None,
    mu: float = 0.1,
    rho: float = 1.02,
    max_iter: int = 1000,
    init: Init | None = None,
    n_restarts: int,
    init_scale: float | None = None,
    variant: Variant = "corrected",
    fit_intercept: bool = True,
    tol: float = 1e-6,
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
    init : {"forward", "zero", "random"}, optional
        W_0: the least squares coefficients on the support of greedy forward selection, zero, or
        normal random numbers. Default: "forward" if corrected, "random" if published.
    n_restarts : int
        Random starts after the first; the other two are deterministic.
    init_scale : float, optional
        Standard deviation of a random W_0, which the paper does not state. Default: 1 if
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
    problem = Scaled.of(design, Y, weights, fit_intercept, joint=corrected)
    refit = refitter(design, Y, weights, fit_intercept)
    greedy = Greedy.of(design, Y, weights, fit_intercept, k)
    scale = _INIT_SCALE[variant] if init_scale is None else init_scale
    starts = _starts(
        init or ("forward" if corrected else "random"), greedy, n_restarts + 1, scale, rng
    )
    step = RidgeStep(problem.Z)
    options = Options(mu, rho, max_iter, "l2" if corrected else "l1", tol, corrected)
    keep = greedy.live[:, None] if corrected else np.True_
    runs = [alm(problem, step, W_0 * keep, k, options, monitor) for W_0 in starts]
    choices = [refit(fill(run.rows.tolist(), greedy.strength, greedy.live, k)) for run in runs]
    by_forward = refit(greedy.support)
    solution = _published(runs, choices)
    if corrected:
        solution = _corrected(design, greedy.live, runs, choices, by_forward, refit)
    solution.attributes["objectives_"] = np.array([choice.loss for choice in choices])
    solution.attributes["forward_objective_"] = by_forward.loss
    return solution


@dataclass
class Greedy:
    """Forward selection with sample weights, and what the columns of the design amount to."""

    support: Index
    W: Array
    strength: Array
    live: Mask

    @classmethod
    def of(
        cls, design: Design, Y: Array, weights: Array | None, fit_intercept: bool, k: int
    ) -> Greedy:
        omega = np.ones(Y.shape[0]) if weights is None else weights
        Z, _ = design.weighted(omega, center=fit_intercept)
        offset = omega @ Y / omega.sum() if fit_intercept else 0.0
        target = np.sqrt(omega)[:, None] * (Y - offset)
        norms = Z.column_norms()
        # What centring leaves of a constant column is rounding, and would correlate with Y.
        noise = (
            _CONSTANT * machine_eps(design) * design.weighted(omega, center=False)[0].column_norms()
        )
        live = norms > noise
        support = forward(Z, target, k, live=live)
        W = np.zeros((design.shape[1], Y.shape[1]))
        W[support] = least_squares_fit(Z, target, support)[0]
        strength = univariate_gains(Z.rmatmul(target), norms**2)
        return cls(support, W * live[:, None], strength, live)


def _starts(
    init: Init, greedy: Greedy, n_starts: int, scale: float, rng: np.random.Generator
) -> list[Array]:
    if init != "random":
        return [greedy.W if init == "forward" else np.zeros_like(greedy.W)]
    return [scale * rng.standard_normal(greedy.W.shape) for _ in range(n_starts)]


def _published(runs: list[Run], choices: list[Choice]) -> Solution:
    """The best start by the loss at (V, b), as it is."""
    at = int(np.argmin([run.history[-1] for run in runs]))
    run, support = runs[at], choices[at].support
    loss = run.history[-1]
    as_it_is = Choice(support, run.V[support], run.b, loss, run.V[:0], np.nan, run.converged)
    return _solution(run, as_it_is, run.strength)


def _corrected(
    design: Design,
    live: Mask,
    runs: list[Run],
    choices: list[Choice],
    by_forward: Choice,
    refit: Callable[[Index], Choice],
) -> Solution:
    """The best of all supports by refitted loss, after swaps."""
    at = int(np.argmin([choice.loss for choice in choices]))
    best = by_forward if by_forward.loss < choices[at].loss else choices[at]
    best, pull, settled = _swap(design, best, refit, live)
    solution = _solution(runs[at], best, pull if pull.any() else runs[at].strength)
    solution.attributes["refit_gap_"] = best.gap
    # The answer is the refit and its swaps; the ALM may well still wander between supports.
    solution.converged = best.converged and settled
    return solution


def _solution(run: Run, choice: Choice, strength: Array) -> Solution:
    W = np.zeros_like(run.V)
    W[choice.support] = choice.W
    return Solution(
        W=W,
        b=choice.b,
        objective=choice.loss,
        history=np.array(run.history),
        n_iter=len(run.history),
        converged=choice.converged,
        scores=scores_with_closeness(W, strength, choice.support),
        support=choice.support,
        attributes={"alm_objective_": run.history[-1], "alm_converged_": run.converged},
    )


def _pull(design: Design, choice: Choice, live: Mask) -> Array:
    """||x_j' Theta|| / ||x_j||, with Theta the dual point of the refit: zero on the support.

    It is the rate at which the loss falls when feature j, scaled to unit norm, comes in.
    """
    pull = row_norms(design.rmatmul(choice.Theta))
    return np.asarray(np.where(live, pull, 0.0) / np.where(live, design.column_norms(), 1.0))


def _swap(
    design: Design, best: Choice, refit: Callable[[Index], Choice], live: Mask
) -> tuple[Choice, Array, bool]:
    """Up to k swaps or so, weakest row against strongest outsider, while the refitted loss falls.

    Returns the support, the pull of all features on it, and whether the swaps had an end.
    """
    settled = False
    pull = _pull(design, best, live)
    for _ in range(max(_LEAST_SWAPS, best.support.size)):
        outside = pull.copy()
        outside[best.support] = -1.0
        p = int(np.argmax(outside))
        if outside[p] <= 0.0:
            settled = True
            break
        weight = row_norms(best.W) * design.column_norms()[best.support]
        support = best.support.copy()
        support[np.argmin(weight)] = p
        trial = refit(support)
        if not trial.loss < best.loss * (1.0 - _LEAST_GAIN):
            settled = True
            break
        best, pull = trial, _pull(design, trial, live)
    return best, pull, settled
