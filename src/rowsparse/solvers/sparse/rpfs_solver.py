"""RPFS (Cai, Nie, Huang 2013): the l2,1 loss on k features, started, refitted and improved.

The augmented Lagrangian of

    minimise sum_i omega_i ||y_i - x_i W - b||_2   subject to   ||W||_20 <= k

splits E = X W + 1b' - Y and V = W, with multipliers Sigma and Lambda and a penalty mu that grows
by the factor rho. Rows are scaled by sqrt(omega_i) throughout, so that a weight of two is the
same as a sample given twice; ``root`` holds these square roots and multiplies b too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import Design
from rowsparse.rows import row_norms, shrink, top_rows
from rowsparse.solvers.choices import filled
from rowsparse.solvers.l21.robust import descend, entry_rates, live_columns
from rowsparse.solvers.losses.base import Refits, SupportFit
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.search.gram import univariate_gains
from rowsparse.solvers.search.gram_state import forward
from rowsparse.solvers.solution import Monitor, Solution, Variant, scores_with_closeness, silent

# ------------------------------------------------------------------------- the augmented Lagrangian
# Number of iterations without a change of the support before a run may stop.
_STILL = 10


class RidgeStep:
    """The step W = (Z'Z + I)^-1 (Q + Z'T), factored once; mu cancels from it.

    For d > n, with K = ZZ' and N = (I + K)^-1 (ZQ + KT), Woodbury's identity gives
    W = Q + Z'(T - N), and then ZW = N without a product.
    """

    def __init__(self, Z: Design) -> None:
        n, d = Z.shape
        self._Z = Z
        self._wide = d > n
        self._K = Z.outer(np.ones(d)) if self._wide else Z.gram()
        self._factor = cho_factor(self._K + np.eye(self._K.shape[0]))

    def solve(self, Q: Array, ZQ: Array, T: Array) -> tuple[Array, Array]:
        """W - Q and ZW."""
        if self._wide:
            N = np.asarray(cho_solve(self._factor, ZQ + self._K @ T))
            return self._Z.rmatmul(T - N), N
        W = np.asarray(cho_solve(self._factor, Q + self._Z.rmatmul(T)))
        return W - Q, self._Z.matmul(W)


@dataclass
class Scaled:
    """The problem in rows scaled by ``root``; Z is centred if W and b are solved for jointly."""

    Z: Design
    Y: Array
    root: Array
    fit_intercept: bool
    joint: bool

    @classmethod
    def from_loss(cls, loss: L21Loss, *, joint: bool) -> Scaled:
        root, center = np.sqrt(loss.omega), joint and loss.fit_intercept
        plain = not center and bool(np.all(loss.omega == 1.0))
        Z = loss.design if plain else loss.design.weighted(loss.omega, center=center)[0]
        return cls(Z, root[:, None] * loss.Y, root, loss.fit_intercept, joint)

    def mean(self, M: Array) -> Array:
        """The b for which root b' is nearest to M; 0 without an intercept."""
        if not self.fit_intercept:
            return np.zeros(M.shape[1])
        return np.asarray(self.root @ M / (self.root @ self.root))

    def loss(self, fitted: Array) -> float:
        """sum_i omega_i ||y_i - fitted_i||, with ``fitted`` in scaled rows."""
        return float(self.root @ row_norms(self.Y - fitted))


@dataclass
class AlmRun:
    """The end of the ALM: W, (V, b), P (V has its strongest rows) and the history of the loss."""

    W: Array
    V: Array
    b: Array
    P: Array
    rows: Index
    history: list[float]
    converged: bool

    @property
    def norms(self) -> Array:
        """Row norms of P: off the support, of the multipliers of W_j = 0."""
        return np.asarray(row_norms(self.P), dtype=np.float64)


def strongest(P: Array, k: int, norm: Literal["l2", "l1"]) -> Index:
    """The k rows that the projection keeps (l2), or the published ranking (l1); none of zeros."""
    scores = row_norms(P) if norm == "l2" else np.abs(P).sum(axis=1)
    rows = top_rows(scores, k)
    return np.sort(rows[scores[rows] > 0])


@dataclass(frozen=True)
class AlmOptions:
    """Options of the ALM; ``may_stop`` before ``max_iter``, once it has converged."""

    mu: float
    rho: float
    max_iter: int
    norm: Literal["l2", "l1"]
    tol: float
    may_stop: bool


def alm(
    problem: Scaled, step: RidgeStep, W: Array, k: int, options: AlmOptions, monitor: Monitor
) -> AlmRun:
    """The iteration from V = W and E = 0.

    The multipliers are kept divided by mu (L = Lambda/mu, S = Sigma/mu), so nothing overflows,
    and ZP, ZV and ZL are updated along with P, V and L: an iteration takes one product with Z'
    and k columns of Z (and for d <= n one product with Z). It has converged when W = V and
    E = XW + 1b' - Y hold to a relative ``tol`` on a support that has stood still.
    """
    Y, root = problem.Y, problem.root[:, None]
    mu, rho, tol = options.mu, options.rho, options.tol
    V, L, S, E = W, np.zeros_like(W), np.zeros_like(Y), np.zeros_like(Y)
    ZV = ZW = problem.Z.matmul(W)
    ZL = np.zeros_like(Y)
    rows, Z_rows, still = np.empty(0, dtype=np.intp), np.empty((Y.shape[0], 0)), 0
    history: list[float] = []
    converged = False
    while len(history) < options.max_iter and not (converged and options.may_stop):
        T = Y + E - S
        b = problem.mean(T if problem.joint else T - ZW)
        change, ZW = step.solve(V - L, ZV - ZL, T if problem.joint else T - root * b)
        P, ZP = V + change, ZL + ZW
        W = P - L
        kept = strongest(P, k, options.norm)
        still = still + 1 if np.array_equal(kept, rows) else 0
        if still == 0:
            rows, Z_rows = kept, problem.Z.columns(kept)
        V = np.zeros_like(P)
        V[rows] = P[rows]
        ZV = Z_rows @ V[rows]
        misfit = ZW + root * b - Y
        G = misfit + S
        E = np.asarray(shrink(G, problem.root / mu), dtype=np.float64)
        converged = still >= _STILL and _small(W - V, tol, W) and _small(misfit - E, tol, Y)
        L, ZL, S, mu = (P - V) / rho, (ZP - ZV) / rho, (G - E) / rho, mu * rho
        history.append(problem.loss(ZV + root * b))
        if monitor(history[-1]):
            break
    return AlmRun(W, V, b, P, rows, history, converged)


def _small(difference: Array, tol: float, whole: Array) -> bool:
    return bool(np.linalg.norm(difference) <= tol * np.linalg.norm(whole))


# --------------------------------------------------------------------------------------- the method
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
    loss = L21Loss.from_targets(design, Y, weights, fit_intercept)
    refits = Refits(loss, 0.0, _REFIT_TOL)
    forward_start = ForwardStart.from_loss(loss, k)
    live = forward_start.live
    scale = _INIT_SCALE[variant] if init_scale is None else init_scale
    starts = _starts(
        init or ("forward" if corrected else "random"), forward_start.W, n_restarts + 1, scale, rng
    )
    problem = Scaled.from_loss(loss, joint=corrected)
    step = RidgeStep(problem.Z)
    options = AlmOptions(mu, rho, max_iter, "l2" if corrected else "l1", tol, corrected)
    keep = live[:, None] if corrected else np.True_
    runs = [alm(problem, step, W_0 * keep, k, options, monitor) for W_0 in starts]
    fits = [
        refits.at(filled(run.rows.tolist(), forward_start.gains_alone, live, k)) for run in runs
    ]
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
    """Forward selection with sample weights, and the gain of each feature on its own."""

    support: Index
    W: Array
    gains_alone: Array
    live: Mask

    @classmethod
    def from_loss(cls, loss: L21Loss, k: int) -> ForwardStart:
        squared, live = loss.least_squares(loss.omega), live_columns(loss)
        support = forward(squared.design, squared.Y, k, live=live)
        W = np.zeros_like(squared.correlations)
        W[support] = squared.refit(support, penalty=0.0, tol=0.0).W
        gains = univariate_gains(squared.correlations, squared.design.column_norms() ** 2)
        return cls(support, W * live[:, None], gains, live)


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
    return _solution(run, as_it_is, run.norms)


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
    solution = _solution(runs[at], best, rates if rates.any() else runs[at].norms)
    solution.attributes["refit_gap_"] = best.gap
    # The answer is the refit and its swaps; the ALM need not have settled on a support.
    solution.converged = best.converged and settled
    return solution


def _solution(run: AlmRun, fit: SupportFit, closeness: Array) -> Solution:
    W = np.zeros_like(run.V)
    W[fit.support] = fit.W
    return Solution(
        W=W,
        b=fit.b,
        objective=fit.objective,
        history=np.array(run.history),
        n_iter=len(run.history),
        converged=fit.converged,
        scores=scores_with_closeness(W, closeness, fit.support),
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
