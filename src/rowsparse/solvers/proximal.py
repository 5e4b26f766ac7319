"""Accelerated proximal gradient loops for any smooth loss and row penalty, and two losses.

Both loops minimise F(W) = f(W) + penalty(W), where f depends on W through a linear product P.
The product of a combination is the combination of the products, so that one product and one
gradient an iteration are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import eigh, lstsq

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.rows import huber_rows, row_norms, unit_ball_rows
from rowsparse.solvers.ridge import ridge_coefficients
from rowsparse.solvers.solution import Monitor

# Iterations between two calls of a stopping rule that costs as much as an iteration.
CHECK_EVERY = 5
# Share of F that a rise may have and be rounding: W still improves when F, flat there, cannot tell.
_ROUNDING = 1e-14
# Longest adaptive step, as the share of the safe curvature that it may fall to.
_LEAST_CURVATURE = 1e-3
# Gram matrices of up to this many rows cost little even where n is small.
_GRAM_ROWS = 500
# Entries of X that are looked at at a time.
_BLOCK_ENTRIES = 1 << 20
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
    """Where a loop ended: the best W seen, F there and F after every iteration."""

    W: Array
    objective: float
    history: list[float] = field(default_factory=list)
    converged: bool = False
    stopped: bool = False

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
    """Accelerated proximal gradient that never lets F rise, but for rounding.

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
    run.W, run.objective = W, value
    return run


def nonmonotone_apg(
    problem: Composite,
    W: Array,
    *,
    margin: float,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    eta: float = 0.9,
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
        q_next = eta * q + 1.0
        mean, q = (eta * q * mean + F) / q_next, q_next
        if run.objective >= F:
            run.W, run.objective = W, F
        run.history.append(F)
        run.stopped = monitor(F)
        moved = float(np.linalg.norm(W - last))
        run.converged = moved <= tol * max(1.0, float(np.linalg.norm(W)))
    return run


def _spectral(moved: Array, turned: Array, most: float) -> float:
    """The Barzilai-Borwein curvature <y,y>/<s,y>, between a thousandth of ``most`` and ``most``."""
    along = float(np.vdot(moved, turned))
    if along <= 0.0:
        return most
    return float(np.clip(np.vdot(turned, turned) / along, _LEAST_CURVATURE * most, most))


@dataclass(frozen=True)
class SquaredLoss:
    """1/2||Y - XW||_F^2, on all rows of W or on some.

    ``n_samples`` is the sum of the sample weights, whose square roots the rows carry; None for n.
    """

    design: Design
    Y: Array
    n_samples: float | None = None

    @cached_property
    def correlations(self) -> Array:
        """X'Y."""
        return self.design.rmatmul(self.Y)

    @cached_property
    def at_zero(self) -> float:
        """The loss of W = 0."""
        return 0.5 * float(np.sum(self.Y**2))

    @property
    def gram_rows(self) -> int:
        """Most rows for which a Gram matrix makes iterations cheaper than products with X."""
        return max(2 * self.design.shape[0], _GRAM_ROWS)

    def residual(self, W: Array) -> Array:
        """Y - XW, by the non-zero rows if they are few."""
        active = np.flatnonzero(W.any(axis=1))
        if 2 * active.size > W.shape[0]:
            return self.Y - self.design.matmul(W)
        return np.asarray(self.Y - self.design.columns(active) @ W[active])

    def ridge(self) -> Array:
        """Ridge regression, with parameter 1 for columns of norm sqrt(n)."""
        n = self.design.shape[0] if self.n_samples is None else self.n_samples
        weight = max(float(np.mean(self.design.column_norms() ** 2)) / n, _TINY)
        return ridge_coefficients(self.design, self.Y, weight)

    def refitted(self, support: Index) -> float:
        """||Y - X_S B||_F at the least-squares B."""
        X = self.design.columns(support).astype(np.float64, copy=False)
        B = lstsq(X, self.Y, lapack_driver="gelsy")[0]
        return float(np.linalg.norm(self.Y - X @ B))

    def composite(
        self,
        active: Index,
        penalty: Callable[[Array], float],
        prox: Callable[[Array, float], Array],
    ) -> Composite:
        """The loss with a penalty, on the rows ``active``; the others are zero."""
        n, d = self.design.shape
        B = self.correlations[active]

        if active.size > self.gram_rows:

            def product(W: Array) -> Array:
                full = np.zeros((d, W.shape[1]))
                full[active] = W
                return self.design.matmul(full)

            return Composite(
                product=product,
                value=lambda W, P: 0.5 * float(np.sum((self.Y - P) ** 2)),
                gradient=lambda W, P: self.design.rmatmul(P)[active] - B,
                penalty=penalty,
                prox=prox,
                lipschitz=self.design.spectral_norm() ** 2,
            )
        X = self.design.columns(active).astype(np.float64, copy=False)
        gram = X.T @ X
        return Composite(
            product=lambda W: gram @ W,
            value=lambda W, P: 0.5 * float(np.vdot(W, P)) - float(np.vdot(W, B)) + self.at_zero,
            gradient=lambda W, P: P - B,
            penalty=penalty,
            prox=prox,
            lipschitz=largest_eigenvalue(gram if active.size <= n else X @ X.T),
        )


@dataclass(frozen=True)
class SmoothedLoss:
    """sum_i omega_i h_mu(||x_i W + b - y_i||), b being a last row of W where there is one.

    With an intercept X is centred by its weighted means, which only shifts b: the constant
    column is then orthogonal to the others, and scaled to be as steep as they are.
    """

    design: Design
    Y: Array
    omega: Array
    fit_intercept: bool

    @cached_property
    def means(self) -> Array:
        """What is taken off the columns of X."""
        if not self.fit_intercept:
            return np.zeros(self.design.shape[1])
        return self.design.weighted(self.omega, center=True)[1]

    @cached_property
    def exact_rho(self) -> float:
        """max_j sum_i omega_i |x_ij|: the rho + gamma above which at most k rows are left."""
        return self._over_columns(lambda block: self.omega @ block)

    @cached_property
    def largest(self) -> float:
        """max |x_ij|."""
        return self._over_columns(lambda block: block.max(axis=0, initial=0.0))

    def _over_columns(self, measure: Callable[[Array], Array]) -> float:
        """The largest measure of |x_j| over all columns."""
        n, d = self.design.shape
        step = max(1, _BLOCK_ENTRIES // max(n, 1))
        largest = 0.0
        for start in range(0, d, step):
            columns = np.arange(start, min(start + step, d))
            block = np.abs(self.design.columns(columns) - self.means[columns])
            largest = max(largest, float(measure(block).max(initial=0.0)))
        return largest

    def slope(self, P: Array, mu: float) -> Array:
        """Gradient in the predictions P; minus it is the dual point Theta."""
        return self.omega[:, None] * unit_ball_rows((P - self.Y) / mu)

    def value(self, P: Array, mu: float) -> float:
        return float(self.omega @ huber_rows(row_norms(P - self.Y), mu))

    def scores(self, Theta: Array) -> Array:
        """||x_j' Theta|| of all features."""
        G = self.design.rmatmul(Theta)
        if self.fit_intercept:
            G -= np.outer(self.means, Theta.sum(axis=0))
        return np.asarray(row_norms(G))

    def block(self, active: Index) -> tuple[Array, float]:
        """The columns ``active`` (and the constant one), and their squared spectral norm."""
        A = self.design.columns(active).astype(np.float64) - self.means[active]
        mass = float(self.omega.sum())
        steep = mass
        if active.size:
            root = np.sqrt(self.omega)[:, None] * A
            steep = max(
                largest_eigenvalue(root @ root.T if len(A) < active.size else root.T @ root), _TINY
            )
        if self.fit_intercept:
            A = np.column_stack([A, np.full(len(A), np.sqrt(steep / mass))])
        return A, steep


def largest_eigenvalue(A: Array) -> float:
    """The largest eigenvalue of a positive semidefinite matrix, not below the smallest float."""
    last = A.shape[0] - 1
    if last < 0:
        return 1.0
    return max(float(eigh(A, eigvals_only=True, subset_by_index=(last, last))[0]), _TINY)
