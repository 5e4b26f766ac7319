"""l2,1 loss and penalty with at most k rows, by a DC penalty (An, Dong and Qin 2021).

    min_{W,b}  F(W,b) = sum_i omega_i ||x_i W + b - y_i|| + gamma ||W||_21    s.t. ||W||_20 <= k

The constraint is replaced by rho * H_k(W), the sum of the norms of all rows but the k largest,
and the loss by its Huber smoothing with parameter mu.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.rows import (
    huber_rows,
    prox_dc,
    prox_dc_published,
    row_norms,
    tail_norm,
    top_rows,
    unit_ball_rows,
)
from rowsparse.solvers.losses.base import Refits, SupportFit
from rowsparse.solvers.losses.l21 import L21Loss, SmoothedL21Loss
from rowsparse.solvers.proximal import Composite, largest_eigenvalue, nonmonotone_apg
from rowsparse.solvers.search.gram_state import forward
from rowsparse.solvers.solution import Monitor, Solution, Variant, scores_with_closeness, silent
from rowsparse.solvers.sparse.rfs_solver import rfs

# ---------------------------------------------------------------------------------- centred columns
# Entries of X that are looked at at a time.
_BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True)
class CentredColumns:
    """X less its weighted column means if there is an intercept, which only shifts b.

    The constant column is then orthogonal to the others; in a block it is the last one, scaled to
    be as steep as they are.
    """

    loss: L21Loss

    @cached_property
    def means(self) -> Array:
        """The means that are subtracted from the columns of X."""
        if not self.loss.fit_intercept:
            return np.zeros(self.loss.design.shape[1])
        return self.loss.design.weighted(self.loss.omega, center=True)[1]

    @cached_property
    def exact_rho(self) -> float:
        """max_j sum_i omega_i |x_ij|: the rho + gamma above which at most k rows are left."""
        return self._over_columns(lambda block: self.loss.omega @ block)

    @cached_property
    def largest(self) -> float:
        """max |x_ij|."""
        return self._over_columns(lambda block: block.max(axis=0, initial=0.0))

    def _over_columns(self, measure: Callable[[Array], Array]) -> float:
        """The largest measure of |x_j| over all columns."""
        n, d = self.loss.design.shape
        step = max(1, _BLOCK_ENTRIES // max(n, 1))
        largest = 0.0
        for start in range(0, d, step):
            columns = np.arange(start, min(start + step, d))
            block = np.abs(self.loss.design.columns(columns) - self.means[columns])
            largest = max(largest, float(measure(block).max(initial=0.0)))
        return largest

    def scores(self, Theta: Array) -> Array:
        """||x_j' Theta|| of all features."""
        G = self.loss.design.rmatmul(Theta)
        if self.loss.fit_intercept:
            G -= np.outer(self.means, Theta.sum(axis=0))
        return np.asarray(row_norms(G))

    def block(self, active: Index) -> tuple[Array, float]:
        """The columns ``active`` (and the constant one), and their squared spectral norm.

        The norm is that of the columns with rows scaled by the square roots of omega.
        """
        A = self.loss.design.columns(active).astype(np.float64) - self.means[active]
        mass = float(self.loss.omega.sum())
        steep = mass
        if active.size:
            root = np.sqrt(self.loss.omega)[:, None] * A
            steep = largest_eigenvalue(root @ root.T if len(A) < active.size else root.T @ root)
        if self.loss.fit_intercept:
            A = np.column_stack([A, np.full(len(A), np.sqrt(steep / mass))])
        return A, steep


# --------------------------------------------------------------------------------------- the method
Init = Literal["best", "rfs", "forward", "zero"]

# mu falls by this factor a stage, down to 2 eps/n with eps relative to the loss.
_SIGMA, _EPS = 0.1, 2e-3
# The first rho lets in the rows above this share of what the best outsider has above gamma; the
# last is this multiple of the bound from which on k rows are left.
_FIRST_RHO, _EXACT = 0.1, 1.01
# tau / L; more makes the steps shorter for nothing.
_MARGIN = 1.05
# Working sets of a stage, and most rows that enter each.
_ROUNDS, _ROOM = 3, 50
# Relative change of W that ends a stage: the refit does the rest.
_STAGE_TOL = 2e-4
# Gaps at which supports are compared and at which RFS serves as start and lower bound.
_COMPARE_TOL, _RFS_TOL = 1e-5, 1e-2
_TINY = float(np.finfo(np.float64).tiny)


def penalised(
    smoothed: SmoothedL21Loss, A: Array, steep: float, *, k: int, gamma: float, rho: float
) -> Composite:
    """F_mu with the penalty gamma ||W||_21 + rho H_k(W) in the prox: only the loss is smoothed."""
    size = A.shape[1] - int(smoothed.loss.fit_intercept)

    def penalty(V: Array) -> float:
        norms = row_norms(V[:size])
        tail = np.partition(norms, size - k)[: size - k] if 0 < k < size else norms[k:]
        return gamma * float(norms.sum()) + rho * float(tail.sum())

    def prox(U: Array, step: float) -> Array:
        V = U.copy()
        V[:size] = prox_dc(U[:size], k, gamma * step, (gamma + rho) * step)
        return V

    return Composite(
        product=lambda V: A @ V,
        value=lambda V, P: smoothed.value(P),
        gradient=lambda V, P: A.T @ smoothed.gradient(P),
        penalty=penalty,
        prox=prox,
        lipschitz=steep / smoothed.mu,
    )


def nmapg(
    design: Design,
    Y: Array,
    k: int,
    *,
    weights: Array | None = None,
    gamma: float,
    rho: float | None,
    mu: float | None,
    init: Init,
    variant: Variant,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
    monitor: Monitor = silent,
) -> Solution:
    """Minimise sum_i omega_i ||x_i W + b - y_i|| + gamma ||W||_21 with at most k rows.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
    k : int
        Most rows of W that are not zero.
    weights : array of shape (n,), optional
        The omega_i; ones by default.
    gamma : float
        Weight of ||W||_21.
    rho : float or None
        Weight of H_k(W). None begins low, so that rows can be exchanged, and ends just above
        max_j sum_i omega_i |x_ij| - gamma, where at most k rows are left.
    mu : float or None
        One stage with this smoothing instead of the schedule.
    init : {"best", "rfs", "forward", "zero"}
        The start: the k strongest rows of RFS, forward selection for the squared loss, W = 0,
        or both of the first two, and the better answer.
    variant : {"corrected", "published"}
        "published" is the printed Algorithm 2 from W = 0: printed prox, gamma smoothed,
        L = (||X||_F^2 + d gamma)/mu, rho = 0.01 (n max|x_ij| - gamma), no final refit. An
        intercept is then a constant feature, penalised like the others but never selected.
    fit_intercept : bool
    tol : float
        Relative duality gap of the final refit; with "published" the relative change of W that
        ends a stage.
    max_iter : int
        Iterations of each stage (on each working set).
    monitor : callable
        Called with the smoothed objective after each iteration.

    Returns
    -------
    Solution
        Refitted on the best support seen, so never worse than the start. ``converged`` means
        that the refit is certified and that no other row could enter at the final rho:
        a stationary point of the penalised problem. ``history`` has the smoothed objectives.
        ``attributes``: ``gap_`` (of the refit), ``rho_``, ``mu_`` and, where RFS was solved,
        ``lower_bound_`` for every choice of k rows.
    """
    loss = L21Loss.from_targets(design, Y, weights, fit_intercept)
    if variant == "published":
        return nmapg_published(
            loss, k, gamma=gamma, rho=rho, mu=mu, tol=tol, max_iter=max_iter, monitor=monitor
        )
    if k >= design.shape[1]:
        return _all_rows(loss, gamma, tol, monitor)
    return _Homotopy(loss, k, gamma, rho, mu, tol, max_iter, monitor).solve(init)


def _rfs(loss: L21Loss, gamma: float, tol: float, monitor: Monitor = silent) -> Solution:
    return rfs(
        loss.design,
        loss.Y,
        gamma=gamma,
        k=1,
        weights=loss.omega,
        fit_intercept=loss.fit_intercept,
        solver="auto",
        tol=tol,
        max_iter=None,
        monitor=monitor,
    )


def _all_rows(loss: L21Loss, gamma: float, tol: float, monitor: Monitor) -> Solution:
    """k >= d is RFS."""
    answer = _rfs(loss, gamma, tol, monitor)
    bound = answer.objective - float(answer.attributes["gap_"])
    answer.support = np.arange(loss.design.shape[1])
    gap = answer.attributes["gap_"]
    answer.attributes = {"refit_gap_": gap, "rho_": 0.0, "mu_": 0.0, "lower_bound_": bound}
    return answer


@dataclass
class _Homotopy:
    """The corrected method: stages of falling mu and rising rho, each on a working set."""

    loss: L21Loss
    k: int
    gamma: float
    rho: float | None
    mu: float | None
    tol: float
    max_iter: int
    monitor: Monitor
    history: list[float] = field(default_factory=list)
    bound: float | None = None

    def __post_init__(self) -> None:
        self.columns = CentredColumns(self.loss)
        self.refits = Refits(self.loss, self.gamma, _COMPARE_TOL)

    def solve(self, init: str) -> Solution:
        """The best support of the starts and of every stage from each of them."""
        for start in ("rfs", "forward") if init == "best" else (init,):
            W, b = self._start(start)
            stages = self._stages(W, b)
            for mu, rho in stages:
                W, b, scores, stopped = self._stage(W, b, mu, rho)
                support = top_rows(scores_with_closeness(W, scores), self.k)
                fit = self.refits.at(support)
                feasible = np.count_nonzero(W.any(axis=1)) <= self.k
                if stopped or (feasible and self._stays(fit, rho)):
                    break
        return self._answer(*stages[-1])

    def _start(self, init: str) -> tuple[Array, Array]:
        """W and b of the first stage; b belongs to centred columns."""
        W = np.zeros((self.loss.design.shape[1], self.loss.Y.shape[1]))
        if init == "zero":
            mean = self.loss.omega @ self.loss.Y / self.loss.omega.sum()
            return W, mean if self.loss.fit_intercept else 0.0 * mean
        support = self._rfs_rows() if init == "rfs" else self._forward_rows()
        fit = self.refits.at(support)
        W[fit.support] = fit.W
        return W, fit.b + self.columns.means @ W

    def _rfs_rows(self) -> Index:
        answer = _rfs(self.loss, self.gamma, max(self.tol, _RFS_TOL))
        self.bound = answer.objective - float(answer.attributes["gap_"])
        return top_rows(answer.scores, self.k)

    def _forward_rows(self) -> Index:
        """Forward selection, filled up by correlation where it ends early."""
        squared = self.loss.least_squares(self.loss.omega)
        picks = forward(squared.design, squared.Y, self.k)
        rest = row_norms(squared.correlations)
        rest[picks] = np.inf
        return top_rows(rest, self.k)

    def _stages(self, W: Array, b: Array) -> list[tuple[float, float]]:
        """Pairs of mu and rho: mu falls from the mean residual to mu_*, rho rises to exactness."""
        loss = self.loss
        P = loss.design.matmul(W) + (b - self.columns.means @ W)
        mean = loss.value(P) / float(loss.omega.sum())
        mu, last = max(mean, _TINY), max(2.0 * _EPS * mean, _TINY)
        mus = [mu]
        while mus[-1] > last:
            mus.append(max(_SIGMA * mus[-1], last))
        if self.mu is not None:
            mus = [self.mu]
        if self.rho is not None:
            return [(mu, self.rho) for mu in mus]
        exact = _EXACT * max(self.columns.exact_rho - self.gamma, _TINY)
        outside = self.columns.scores(-loss.smoothed(mus[-1]).gradient(P))[~W.any(axis=1)]
        first = _FIRST_RHO * (float(outside.max(initial=0.0)) - self.gamma)
        first = float(np.clip(first, 1e-6 * exact, exact)) if len(mus) > 1 else exact
        rhos = np.geomspace(first, exact, len(mus))
        return [(m, float(r)) for m, r in zip(mus, rhos, strict=True)]

    def _stage(self, W: Array, b: Array, mu: float, rho: float) -> tuple[Array, Array, Array, bool]:
        """Minimise on a working set that grows by the rows whose score exceeds gamma + rho."""
        smoothed, fit_intercept = self.loss.smoothed(mu), self.loss.fit_intercept
        entering = np.zeros(0, dtype=np.intp)
        for _ in range(_ROUNDS):
            active = np.union1d(np.flatnonzero(W.any(axis=1)), entering)
            A, steep = self.columns.block(active)
            problem = penalised(smoothed, A, steep, k=self.k, gamma=self.gamma, rho=rho)
            V = W[active]
            if fit_intercept:
                V = np.vstack([V, b / A[0, -1]])
            run = nonmonotone_apg(
                problem,
                V,
                margin=_MARGIN,
                tol=max(self.tol, _STAGE_TOL),
                max_iter=self.max_iter,
                monitor=self.monitor,
                adaptive=True,
            )
            self.history += run.history
            W = np.zeros_like(W)
            W[active] = run.W[: active.size]
            b = run.W[-1] * A[0, -1] if fit_intercept else b
            scores = self.columns.scores(-smoothed.gradient(A @ run.W))
            outside = np.flatnonzero(~W.any(axis=1) & (scores > self.gamma + rho))
            entering = outside[top_rows(scores[outside], min(_ROOM, outside.size))]
            if entering.size == 0 or run.stopped:
                break
        return W, b, scores, run.stopped

    def _stays(self, fit: SupportFit, rho: float) -> bool:
        """Whether no row can join the fit at rho, nor then at any larger one.

        The fit is then what the schedule would end at: stationary for rho, not smoothed.
        """
        scores = self.columns.scores(fit.Theta)
        scores[fit.support] = 0.0
        return float(scores.max(initial=0.0)) <= self.gamma + rho

    def _answer(self, mu: float, rho: float) -> Solution:
        fit = self.refits.at(self.refits.best().support, self.tol)
        W = np.zeros((self.loss.design.shape[1], self.loss.Y.shape[1]))
        W[fit.support] = fit.W
        attributes: dict[str, Any] = {"refit_gap_": fit.gap, "rho_": rho, "mu_": mu}
        if self.bound is not None:
            attributes["lower_bound_"] = self.bound
        return Solution(
            W,
            fit.b,
            fit.objective,
            np.asarray(self.history),
            len(self.history),
            fit.converged and self._stays(fit, rho),
            scores_with_closeness(W, self.columns.scores(fit.Theta)),
            fit.support,
            attributes,
        )


# --------------------------------------------------------------------------- Algorithm 2 as printed
# mu falls by this factor a stage, down to 2 eps/n.
_PRINTED_SIGMA, _PRINTED_EPS = 0.1, 0.1


def nmapg_published(
    loss: L21Loss,
    k: int,
    *,
    gamma: float,
    rho: float | None,
    mu: float | None,
    tol: float,
    max_iter: int,
    monitor: Monitor,
) -> Solution:
    """The stages from W = 0, each from the last W of the one before, as printed.

    A constant feature for the intercept is the last row of W.
    """
    design, omega = loss.design, loss.omega
    d, mass = design.shape[1], float(omega.sum())
    constant = int(loss.fit_intercept)
    frobenius = float(np.sum(design.column_norms() ** 2)) * float(omega.max()) + constant * mass
    if rho is None:
        rho = 0.01 * max(mass * max(CentredColumns(loss).largest, float(constant)) - gamma, 0.0)
    mus = [1.0 if mu is None else mu]
    while mu is None and _PRINTED_SIGMA * mus[-1] >= 2.0 * _PRINTED_EPS / (mass + gamma * d):
        mus.append(_PRINTED_SIGMA * mus[-1])
    W = np.zeros((d + constant, loss.Y.shape[1]))
    history: list[float] = []
    for mu in mus:
        run = nonmonotone_apg(
            printed_problem(
                loss.smoothed(mu),
                k,
                gamma=gamma,
                rho=rho,
                lipschitz=(frobenius + (d + constant) * gamma) / mu,
            ),
            W,
            margin=2.0,
            tol=tol,
            max_iter=max_iter,
            monitor=monitor,
        )
        assert run.last is not None
        W = run.last
        history += run.history
        if run.stopped:
            break
    b = W[d] if constant else np.zeros(W.shape[1])
    objective = loss.value(design.matmul(W[:d]) + b)
    objective += gamma * float(row_norms(W).sum()) + rho * tail_norm(W, k)
    return Solution(
        W[:d],
        b,
        objective,
        np.asarray(history),
        len(history),
        run.converged,
        attributes={"rho_": rho, "mu_": mu},
    )


def printed_problem(
    smoothed: SmoothedL21Loss, k: int, *, gamma: float, rho: float, lipschitz: float
) -> Composite:
    """F_mu with both norms smoothed and the printed prox of rho H_k."""
    design, mu = smoothed.loss.design, smoothed.mu
    d = design.shape[1]

    def value(W: Array, P: Array) -> float:
        return smoothed.value(P) + gamma * float(huber_rows(row_norms(W), mu).sum())

    def gradient(W: Array, P: Array) -> Array:
        slope = smoothed.gradient(P)
        G = gamma * unit_ball_rows(W / mu)
        G[:d] += design.rmatmul(slope)
        G[d:] += slope.sum(axis=0)
        return G

    return Composite(
        product=lambda W: design.matmul(W[:d]) + W[d:].sum(axis=0),
        value=value,
        gradient=gradient,
        penalty=lambda W: rho * tail_norm(W, k),
        prox=lambda U, step: prox_dc_published(U, k, rho * step),
        lipschitz=lipschitz,
    )
