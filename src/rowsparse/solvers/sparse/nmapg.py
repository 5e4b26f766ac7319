"""l2,1 loss and penalty with at most k rows, by a DC penalty (An, Dong and Qin 2021).

    min_{W,b}  F(W,b) = sum_i omega_i ||x_i W + b - y_i|| + gamma ||W||_21    s.t. ||W||_20 <= k

The constraint is replaced by rho * H_k(W), the sum of the norms of all rows but the k largest,
and the loss by its Huber smoothing with parameter mu.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
from rowsparse.solvers.l21.refit import refit_l21
from rowsparse.solvers.l21.working_set import BlockFit
from rowsparse.solvers.proximal import Composite, SmoothedLoss, nonmonotone_apg
from rowsparse.solvers.solution import Monitor, Solution, Variant, scores_with_closeness, silent
from rowsparse.solvers.sparse.rfs import rfs
from rowsparse.solvers.subset.exchange import forward

Init = Literal["best", "rfs", "forward", "zero"]

# mu falls by this factor a stage, down to 2 eps/n: eps relative to the loss, or as printed.
_SIGMA, _EPS, _PRINTED_EPS = 0.1, 2e-3, 0.1
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
    loss: SmoothedLoss, A: Array, steep: float, *, k: int, gamma: float, rho: float, mu: float
) -> Composite:
    """F_mu with the penalty gamma ||W||_21 + rho H_k(W) in the prox: only the loss is smoothed."""
    size = A.shape[1] - int(loss.fit_intercept)

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
        value=lambda V, P: loss.value(P, mu),
        gradient=lambda V, P: A.T @ loss.slope(P, mu),
        penalty=penalty,
        prox=prox,
        lipschitz=steep / mu,
    )


def nmapg(
    design: Design,
    Y: Array,
    k: int,
    *,
    weights: Array | None = None,
    gamma: float = 0.1,
    rho: float | None = None,
    mu: float | None = None,
    init: Init = "best",
    variant: Variant = "corrected",
    fit_intercept: bool = True,
    tol: float = 1e-7,
    max_iter: int = 200,
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
    omega = np.ones(Y.shape[0]) if weights is None else weights
    loss = SmoothedLoss(design, Y, omega, fit_intercept)
    if variant == "published":
        return _printed(loss, k, gamma, rho, mu, tol, max_iter, monitor)
    if k >= design.shape[1]:
        return _all_rows(loss, gamma, tol, monitor)
    return _Homotopy(loss, k, gamma, rho, mu, tol, max_iter, monitor).solve(init)


def _rfs(loss: SmoothedLoss, gamma: float, tol: float, monitor: Monitor = silent) -> Solution:
    return rfs(
        loss.design,
        loss.Y,
        gamma,
        weights=loss.omega,
        fit_intercept=loss.fit_intercept,
        tol=tol,
        monitor=monitor,
    )


def _all_rows(loss: SmoothedLoss, gamma: float, tol: float, monitor: Monitor) -> Solution:
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

    loss: SmoothedLoss
    k: int
    gamma: float
    rho: float | None
    mu: float | None
    tol: float
    max_iter: int
    monitor: Monitor
    history: list[float] = field(default_factory=list)
    fits: dict[tuple[int, ...], BlockFit] = field(default_factory=dict)
    bound: float | None = None

    def solve(self, init: str) -> Solution:
        """The best support of the starts and of every stage from each of them."""
        for start in ("rfs", "forward") if init == "best" else (init,):
            W, b = self._start(start)
            stages = self._stages(W, b)
            for mu, rho in stages:
                W, b, scores, stopped = self._stage(W, b, mu, rho)
                support = np.sort(top_rows(scores_with_closeness(W, scores), self.k))
                fit = self._refit(support)
                feasible = np.count_nonzero(W.any(axis=1)) <= self.k
                if stopped or (feasible and self._stays(support, fit, rho)):
                    break
        return self._answer(*stages[-1])

    def _refit(self, support: Index, tol: float = _COMPARE_TOL) -> BlockFit:
        """The fit on a support, remembered."""
        key = tuple(np.sort(support).tolist())
        if key not in self.fits or tol < _COMPARE_TOL:
            self.fits[key] = refit_l21(
                self.loss.design,
                self.loss.Y,
                np.array(key, dtype=np.intp),
                weights=self.loss.omega,
                gamma=self.gamma,
                fit_intercept=self.loss.fit_intercept,
                tol=tol,
            )
        return self.fits[key]

    def _best(self) -> tuple[Index, BlockFit]:
        key = min(self.fits, key=lambda key: self.fits[key].objective)
        return np.array(key, dtype=np.intp), self.fits[key]

    def _start(self, init: str) -> tuple[Array, Array]:
        """W and b of the first stage; b belongs to centred columns."""
        W = np.zeros((self.loss.design.shape[1], self.loss.Y.shape[1]))
        if init == "zero":
            mean = self.loss.omega @ self.loss.Y / self.loss.omega.sum()
            return W, mean if self.loss.fit_intercept else 0.0 * mean
        support = np.sort(self._rfs_rows() if init == "rfs" else self._forward_rows())
        fit = self._refit(support)
        W[support] = fit.W
        return W, fit.b + self.loss.means @ W

    def _rfs_rows(self) -> Index:
        answer = _rfs(self.loss, self.gamma, max(self.tol, _RFS_TOL))
        self.bound = answer.objective - float(answer.attributes["gap_"])
        return top_rows(answer.scores, self.k)

    def _forward_rows(self) -> Index:
        """Forward selection, filled up by correlation where it ends early."""
        loss = self.loss
        view = loss.design.weighted(loss.omega, center=loss.fit_intercept)[0]
        Y = loss.Y
        if loss.fit_intercept:
            Y = Y - loss.omega @ Y / loss.omega.sum()
        Y = np.sqrt(loss.omega)[:, None] * Y
        picks = forward(view, Y, self.k)
        rest = row_norms(view.rmatmul(Y))
        rest[picks] = np.inf
        return top_rows(rest, self.k)

    def _stages(self, W: Array, b: Array) -> list[tuple[float, float]]:
        """Pairs of mu and rho: mu falls from the mean residual to mu_*, rho rises to exactness."""
        loss = self.loss
        P = loss.design.matmul(W) + (b - loss.means @ W)
        mean = float(loss.omega @ row_norms(P - loss.Y)) / float(loss.omega.sum())
        mu, last = max(mean, _TINY), max(2.0 * _EPS * mean, _TINY)
        mus = [mu]
        while mus[-1] > last:
            mus.append(max(_SIGMA * mus[-1], last))
        if self.mu is not None:
            mus = [self.mu]
        if self.rho is not None:
            return [(mu, self.rho) for mu in mus]
        exact = _EXACT * max(loss.exact_rho - self.gamma, _TINY)
        outside = loss.scores(-loss.slope(P, mus[-1]))[~W.any(axis=1)]
        first = _FIRST_RHO * (float(outside.max(initial=0.0)) - self.gamma)
        first = float(np.clip(first, 1e-6 * exact, exact)) if len(mus) > 1 else exact
        rhos = np.geomspace(first, exact, len(mus))
        return [(m, float(r)) for m, r in zip(mus, rhos, strict=True)]

    def _stage(self, W: Array, b: Array, mu: float, rho: float) -> tuple[Array, Array, Array, bool]:
        """Minimise on a working set that grows by the rows whose score exceeds gamma + rho."""
        loss = self.loss
        entering = np.zeros(0, dtype=np.intp)
        for _ in range(_ROUNDS):
            active = np.union1d(np.flatnonzero(W.any(axis=1)), entering)
            A, steep = loss.block(active)
            problem = penalised(loss, A, steep, k=self.k, gamma=self.gamma, rho=rho, mu=mu)
            V = W[active]
            if loss.fit_intercept:
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
            b = run.W[-1] * A[0, -1] if loss.fit_intercept else b
            scores = loss.scores(-loss.slope(A @ run.W, mu))
            outside = np.flatnonzero(~W.any(axis=1) & (scores > self.gamma + rho))
            entering = outside[top_rows(scores[outside], min(_ROOM, outside.size))]
            if entering.size == 0 or run.stopped:
                break
        return W, b, scores, run.stopped

    def _stays(self, support: Index, fit: BlockFit, rho: float) -> bool:
        """Whether no row can join the fit at rho, nor then at any larger one.

        The fit is then what the schedule would end at: stationary for rho, not smoothed.
        """
        scores = self.loss.scores(fit.Theta)
        scores[support] = 0.0
        return float(scores.max(initial=0.0)) <= self.gamma + rho

    def _answer(self, mu: float, rho: float) -> Solution:
        support, _ = self._best()
        fit = self._refit(support, self.tol)
        W = np.zeros((self.loss.design.shape[1], self.loss.Y.shape[1]))
        W[support] = fit.W
        attributes: dict[str, Any] = {"refit_gap_": fit.gap, "rho_": rho, "mu_": mu}
        if self.bound is not None:
            attributes["lower_bound_"] = self.bound
        return Solution(
            W,
            fit.b,
            fit.objective,
            np.asarray(self.history),
            len(self.history),
            fit.converged and self._stays(support, fit, rho),
            scores_with_closeness(W, self.loss.scores(fit.Theta)),
            support,
            attributes,
        )


def _printed(
    loss: SmoothedLoss,
    k: int,
    gamma: float,
    rho: float | None,
    mu: float | None,
    tol: float,
    max_iter: int,
    monitor: Monitor,
) -> Solution:
    """Algorithm 2 as printed; the constant feature is the last row of W."""
    design, omega = loss.design, loss.omega
    d, mass = design.shape[1], float(omega.sum())
    constant = int(loss.fit_intercept)
    frobenius = float(np.sum(design.column_norms() ** 2)) * float(omega.max()) + constant * mass
    if rho is None:
        rho = 0.01 * max(mass * max(loss.largest, float(constant)) - gamma, 0.0)
    mus = [1.0 if mu is None else mu]
    while mu is None and _SIGMA * mus[-1] >= 2.0 * _PRINTED_EPS / (mass + gamma * d):
        mus.append(_SIGMA * mus[-1])
    W = np.zeros((d + constant, loss.Y.shape[1]))
    history: list[float] = []
    for mu in mus:
        run = nonmonotone_apg(
            _printed_problem(loss, k, gamma, rho, mu, (frobenius + (d + constant) * gamma) / mu),
            W,
            margin=2.0,
            tol=tol,
            max_iter=max_iter,
            monitor=monitor,
        )
        W = run.W
        history += run.history
        if run.stopped:
            break
    b = W[d] if constant else np.zeros(W.shape[1])
    objective = float(omega @ row_norms(design.matmul(W[:d]) + b - loss.Y))
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


def _printed_problem(
    loss: SmoothedLoss, k: int, gamma: float, rho: float, mu: float, lipschitz: float
) -> Composite:
    """F_mu with both norms smoothed and the printed prox of rho H_k."""
    design, d = loss.design, loss.design.shape[1]

    def gradient(W: Array, P: Array) -> Array:
        slope = loss.slope(P, mu)
        G = gamma * unit_ball_rows(W / mu)
        G[:d] += design.rmatmul(slope)
        G[d:] += slope.sum(axis=0)
        return G

    return Composite(
        product=lambda W: design.matmul(W[:d]) + W[d:].sum(axis=0),
        value=lambda W, P: loss.value(P, mu) + gamma * float(huber_rows(row_norms(W), mu).sum()),
        gradient=gradient,
        penalty=lambda W: rho * tail_norm(W, k),
        prox=lambda U, step: prox_dc_published(U, k, rho * step),
        lipschitz=lipschitz,
    )
