"""Accelerated proximal gradient loops for any smooth loss and row penalty.

Both loops minimise F(W) = f(W) + penalty(W), where f depends on W through a linear product P.
The product of a combination is the combination of the products, so that one product and one
gradient an iteration are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh

from rowsparse._arrays import Array
from rowsparse.solvers.solution import Monitor

# Iterations between two calls of a stopping rule that costs as much as an iteration.
CHECK_EVERY = 5
# Share of F that a rise may have and be rounding: W still improves when F, flat there, cannot tell.
_ROUNDING = 1e-14
# Longest adaptive step, as the share of the safe curvature that it may fall to.
_LEAST_CURVATURE = 1e-3
# Weight of the past in the running mean of F.
_ETA = 0.9
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Composite:
    """F(W) = f(W) + penalty(W), in the pieces that a proximal loop needs.

    Attributes
    ----------
    product : W -> P
        A linear map; P is handed back to ``value`` and ``gradient``.
    value, gradient : (W, P) -> f(W), grad f(W)
    penalty : W -> float
    prox : (U, step) -> argmin_W 1/2||W - U||_F^2 + step * penalty(W)
    lipschitz : float
        A Lipschitz constant of the gradient.
    """

    product: Callable[[Array], Array]
    value: Callable[[Array, Array], float]
    gradient: Callable[[Array, Array], Array]
    penalty: Callable[[Array], float]
    prox: Callable[[Array, float], Array]
    lipschitz: float

    def objective(self, W: Array, P: Array) -> float:
        """F(W), with P the product of W."""
        return self.value(W, P) + self.penalty(W)

    def step(self, W: Array, P: Array, curvature: float) -> Array:
        """The proximal gradient step of length 1/curvature from W."""
        return self.prox(W - self.gradient(W, P) / curvature, 1.0 / curvature)

    def residual(self, W: Array, P: Array) -> float:
        """max|W - prox(W - grad/L)|, relative to max|W|; 0 at a stationary point."""
        moved = float(np.abs(self.step(W, P, self.lipschitz) - W).max(initial=0.0))
        return moved / max(float(np.abs(W).max(initial=0.0)), _TINY)


@dataclass
class Descent:
    """Where a loop ended: the best W seen, F there, F after every iteration, and the last W."""

    W: Array
    objective: float
    history: list[float] = field(default_factory=list)
    converged: bool = False
    stopped: bool = False
    last: Array | None = None

    @property
    def n_iter(self) -> int:
        return len(self.history)


# Asked every CHECK_EVERY iterations, with W, its product and the history so far.
Rule = Callable[[Array, Array, list[float]], bool]


def settled(history: list[float], tol: float) -> bool:
    """Whether F has changed by no more than a share ``tol`` since the last check."""
    past = history[-1 - CHECK_EVERY] if len(history) > CHECK_EVERY else history[0]
    return abs(past - history[-1]) <= tol * abs(history[-1])


def monotone_apg(
    problem: Composite,
    W: Array,
    *,
    done: Rule,
    max_iter: int,
    monitor: Monitor,
    monotone: bool = True,
) -> Descent:
    """Accelerated proximal gradient that never lets F rise, up to rounding.

    A candidate from the extrapolated point that does not lower F is dropped: the step is taken
    again from W itself, where 1/L guarantees a decrease, and the momentum is forgotten. With
    ``monotone=False`` every candidate is taken: plain FISTA.
    """
    L = problem.lipschitz
    P = problem.product(W)
    value = problem.objective(W, P)
    run = Descent(W, value)
    noise = _ROUNDING * abs(value)
    U, PU, t, extrapolated = W, P, 1.0, False
    while run.n_iter < max_iter and not run.converged and not run.stopped:
        Z = problem.step(U, PU, L)
        PZ = problem.product(Z)
        candidate = problem.objective(Z, PZ)
        if monotone and extrapolated and not candidate <= value + noise:
            t = 1.0
            Z = problem.step(W, P, L)
            PZ = problem.product(Z)
            candidate = problem.objective(Z, PZ)
        if monotone and not candidate <= value + noise:
            Z, PZ, candidate = W, P, value  # W is as good as this step can make it
        t_next = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        momentum = (t - 1.0) / t_next
        U, PU, t = Z + momentum * (Z - W), PZ + momentum * (PZ - P), t_next
        extrapolated = momentum > 0.0
        W, P, value = Z, PZ, candidate
        run.history.append(value)
        run.stopped = monitor(value)
        if run.n_iter % CHECK_EVERY == 0:
            run.converged = done(W, P, run.history)
    run.W, run.objective, run.last = W, value, W
    return run


def nonmonotone_apg(
    problem: Composite,
    W: Array,
    *,
    margin: float,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    adaptive: bool = False,
) -> Descent:
    """Nonmonotone accelerated proximal gradient (Li and Lin 2015; An et al. 2021).

    The curvature is tau = margin * L and the extrapolated step is taken when F falls by
    delta/2 ||Z - U||^2, delta = 0.1 (tau - L), below a running mean of past values; otherwise
    the better of it and a plain step. Ends when ||W - W_prev||_F <= tol max(1, ||W||_F), and
    returns the best W seen.

    With ``adaptive`` the extrapolated step takes the Barzilai-Borwein curvature of the last two
    points, never above tau; the test for the decrease and the plain step are the safeguard.
    """
    tau = margin * problem.lipschitz
    delta = 0.1 * (tau - problem.lipschitz)
    P = problem.product(W)
    F = problem.objective(W, P)
    run = Descent(W, F)
    Z, PZ, last, P_last = W, P, W, P
    U_last, gradient_last = W, np.zeros_like(W)
    t0, t1, q, mean = 0.0, 1.0, 1.0, F
    while run.n_iter < max_iter and not run.converged and not run.stopped:
        a, c = t0 / t1, (t0 - 1.0) / t1
        U = W + a * (Z - W) + c * (W - last)
        PU = P + a * (PZ - P) + c * (P - P_last)
        gradient = problem.gradient(U, PU)
        curvature = tau
        if adaptive and run.n_iter > 0:
            curvature = _spectral(U - U_last, gradient - gradient_last, tau)
        U_last, gradient_last = U, gradient
        Z = problem.prox(U - gradient / curvature, 1.0 / curvature)
        PZ = problem.product(Z)
        new, P_new, F = Z, PZ, problem.objective(Z, PZ)
        if not mean - 0.5 * delta * float(np.sum((Z - U) ** 2)) >= F:
            V = problem.step(W, P, tau)
            PV = problem.product(V)
            FV = problem.objective(V, PV)
            if not F <= FV:
                new, P_new, F = V, PV, FV
        last, P_last, W, P = W, P, new, P_new
        t0, t1 = t1, (1.0 + np.sqrt(4.0 * t1 * t1 + 1.0)) / 2.0
        q_next = _ETA * q + 1.0
        mean, q = (_ETA * q * mean + F) / q_next, q_next
        if run.objective >= F:
            run.W, run.objective = W, F
        run.history.append(F)
        run.stopped = monitor(F)
        moved = float(np.linalg.norm(W - last))
        run.converged = moved <= tol * max(1.0, float(np.linalg.norm(W)))
    run.last = W
    return run


def _spectral(moved: Array, turned: Array, most: float) -> float:
    """The Barzilai-Borwein curvature <y,y>/<s,y>, between a thousandth of ``most`` and ``most``."""
    along = float(np.vdot(moved, turned))
    if along <= 0.0:
        return most
    return float(np.clip(np.vdot(turned, turned) / along, _LEAST_CURVATURE * most, most))


def largest_eigenvalue(A: Array) -> float:
    """The largest eigenvalue of a positive semidefinite matrix, not below the smallest float."""
    last = A.shape[0] - 1
    if last < 0:
        return 1.0
    return max(float(eigh(A, eigvals_only=True, subset_by_index=(last, last))[0]), _TINY)
