"""IPFS: a 0/1 vector of features between a box and a sphere (after Zhang et al. 2021).

    minimise ||Y - X diag(v) W||_F^2   subject to   v in {0,1}^d,  1'v = k

{0,1}^d is the box [0,1]^d cut with the sphere ||v - 1/2||^2 = d/4. An augmented Lagrangian holds v
to a copy in each, z1 and z2, and to its sum, with one weight mu that grows by the factor rho.

The step in W has a ridge, without which the loss could not tell one feature from another: where
W is its minimum for v, the derivative of the loss in v_j is -2 ridge ||w_j||^2 / v_j.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import DenseDesign, Design
from rowsparse.rows import top_rows
from rowsparse.solvers.losses.squared import least_squares_fit
from rowsparse.solvers.search.gram import reduced_targets
from rowsparse.solvers.solution import Monitor, Solution, scores_with_closeness, silent

# mu grows up to this many times its first value.
_MOST_GROWTH = 1e11
# Noise of the starts after the first.
_NOISE = 0.01
_CG_TOL = 1e-6
# Data of up to this many entries are held centred and scaled: they are used hundreds of times.
_HELD_ENTRIES = 1 << 23
# Samples times targets up to which the step in v is a linear system of that size.
_DIRECT_SIZE = 400


@dataclass
class _AlternationEnd:
    """Where one start ended."""

    v: Array
    history: list[float]
    violation: float
    converged: bool
    stopped: bool
    support: Index
    coefficients: Array
    objective: float


def ipfs(
    design: Design,
    Y: Array,
    k: int,
    *,
    mu: float,
    rho: float,
    ridge: float,
    n_restarts: int,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    monitor: Monitor = silent,
) -> Solution:
    """The best of several starts of the augmented Lagrangian, refitted on its k features.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
        The data, centred already if an intercept is wanted.
    k : int
        Number of features.
    mu : float
        First weight of the constraints, as a share of ||Y||_F^2.
    rho : float
        Factor by which it grows.
    ridge : float
        Weight of ||W||_F^2 in the step for W, as a share of the mean squared norm of the columns.
    n_restarts : int
        Starts after the first, which is v = k/d: that with a little noise.
    tol : float
        Largest violation of a constraint at which a run ends.
    max_iter : int
        Limit on the iterations of one start.
    rng : numpy.random.Generator
        Draws the noise.
    monitor : callable
        Called once an iteration with the loss; no further one follows when it returns True.

    Returns
    -------
    Solution
        ``history`` is the loss at (v, W) of the best start. ``attributes``: ``violation_``, the
        largest violation at its end, and ``objectives_``, the refitted loss of all starts.
    """
    solver = _AugmentedLagrangian(design, Y, k, mu, rho, ridge, tol, max_iter, monitor)
    even = np.where(solver.live, solver.k / max(int(solver.live.sum()), 1), 0.0)
    runs: list[_AlternationEnd] = []
    for i in range(n_restarts + 1):
        noise = _NOISE * rng.standard_normal(even.size) if i else 0.0
        run = solver.run(np.where(solver.live, even + noise, 0.0))
        runs.append(run)
        if run.stopped:
            break
    best = min(runs, key=lambda run: run.objective)
    W = np.zeros((design.shape[1], Y.shape[1]))
    W[best.support] = best.coefficients
    return Solution(
        W,
        np.zeros(Y.shape[1]),
        best.objective,
        np.asarray(best.history),
        len(best.history),
        best.converged,
        scores_with_closeness(W, np.maximum(best.v, 0.0), best.support),
        support=np.sort(best.support),
        attributes={
            "violation_": best.violation,
            "objectives_": np.array([run.objective for run in runs]),
        },
    )


class _AugmentedLagrangian:
    """The iteration for one data set; columns of zeros take no part in it."""

    def __init__(
        self,
        design: Design,
        Y: Array,
        k: int,
        mu: float,
        rho: float,
        ridge: float,
        tol: float,
        max_iter: int,
        monitor: Monitor,
    ) -> None:
        self.design, self.Y = design, Y
        squares = design.column_norms() ** 2
        self.live: Mask = squares > 0
        self.k = min(k, int(self.live.sum()))
        total = float(np.vdot(Y, Y)) or 1.0
        self.mu, self.most, self.rho = mu * total, _MOST_GROWTH * mu * total, rho
        self.tol, self.max_iter, self.monitor = tol, max_iter, monitor
        ridge *= float(squares[self.live].mean())
        # A rotation of the targets changes nothing here, and rids classes of one of them.
        n, d = design.shape
        kind = _ByFeatures if d <= n else _BySamples
        self.model = kind(design, reduced_targets(Y), squares, ridge)

    def run(self, v: Array) -> _AlternationEnd:
        """Iterate from v until the constraints hold."""
        live, size = self.live, int(self.live.sum())
        z1, z2, y1, y2, y3 = v, v, np.zeros_like(v), np.zeros_like(v), 0.0
        mu, history = self.mu, list[float]()
        violation, stopped = np.inf, False
        while len(history) < self.max_iter and violation >= self.tol and not stopped:
            W, loss = self.model.coefficients(v)
            history.append(loss)
            right = mu * (z1 + z2) - y1 - y2 + (mu * self.k - y3)
            v = self.model.selection(W, np.where(live, right, 0.0), mu, live, v)
            z1 = np.clip(v + y1 / mu, 0.0, 1.0)
            u = np.where(live, v + y2 / mu - 0.5, 0.0)
            reach = 0.5 * np.sqrt(size) / (float(np.linalg.norm(u)) or 1.0)
            z2 = np.where(live, 0.5 + reach * u, 0.0)
            excess = float(v.sum()) - self.k
            y1, y2, y3 = y1 + mu * (v - z1), y2 + mu * (v - z2), y3 + mu * excess
            violation = max(float(np.abs(v - z1).max()), float(np.abs(v - z2).max()), abs(excess))
            mu = min(self.rho * mu, self.most)
            stopped = self.monitor(loss)
        support = top_rows(np.where(live, v, -np.inf), self.k)
        fitted, objective = least_squares_fit(self.design, self.Y, support)
        done = violation < self.tol
        return _AlternationEnd(v, history, violation, done, stopped, support, fitted, objective)


class _Model(ABC):
    """The two least-squares steps: in W for a given v, and in v for a given W."""

    def __init__(self, design: Design, Y: Array, squares: Array, ridge: float) -> None:
        self.design, self.Y, self.squares, self.ridge = design, Y, squares, ridge
        self.B = design.rmatmul(Y)
        self.total = float(np.vdot(Y, Y))

    @abstractmethod
    def coefficients(self, v: Array) -> tuple[Array, float]:
        """argmin_W ||Y - X diag(v) W||^2 + ridge ||W||^2, and the loss there."""

    @abstractmethod
    def curvature(self, W: Array) -> LinearOperator | Array:
        """v -> (X'X . WW') v, with "." elementwise."""

    def selection(self, W: Array, right: Array, mu: float, live: Mask, start: Array) -> Array:
        """Solve [2 X'X . WW' + 2 mu I + mu 11'] v = 2 diag(BW') + right on the live features.

        By conjugate gradients, preconditioned with the diagonal, from the last v.
        """
        apply = self.curvature(W)
        diagonal = 2.0 * self.squares * np.sum(W * W, axis=1) + 3.0 * mu

        def product(p: Array) -> Array:
            p = p.ravel()
            return np.where(live, 2.0 * (apply @ p) + 2.0 * mu * p + mu * p.sum(), 0.0)

        shape = (right.size, right.size)
        return np.asarray(
            cg(
                LinearOperator(shape, matvec=product, dtype=np.float64),
                right + 2.0 * np.sum(self.B * W, axis=1),
                x0=start,
                rtol=_CG_TOL,
                M=LinearOperator(shape, matvec=lambda p: p.ravel() / diagonal, dtype=np.float64),
            )[0]
        )


class _ByFeatures(_Model):
    """d <= n: everything through X'X."""

    def __init__(self, design: Design, Y: Array, squares: Array, ridge: float) -> None:
        super().__init__(design, Y, squares, ridge)
        self.gram = design.gram()

    def coefficients(self, v: Array) -> tuple[Array, float]:
        K = v[:, None] * self.gram * v
        K[np.diag_indices_from(K)] += self.ridge
        right = v[:, None] * self.B
        W = cho_solve(cho_factor(K, overwrite_a=True), right)
        # <W, KW> = <W, right> gives the loss without another product.
        loss = self.total - float(np.vdot(right, W)) - self.ridge * float(np.vdot(W, W))
        return W, max(loss, 0.0)

    def curvature(self, W: Array) -> Array:
        return self.gram * (W @ W.T)


class _BySamples(_Model):
    """d > n: X diag(v)^2 X' is the smaller matrix, and X'X is never formed."""

    def __init__(self, design: Design, Y: Array, squares: Array, ridge: float) -> None:
        n, d = design.shape
        self.held: Array | None = None
        if n * d <= _HELD_ENTRIES:
            self.held = design.columns(np.arange(d)).astype(np.float64, copy=False)
            design = DenseDesign(self.held, mean=None, inv_scale=np.ones(d))
        super().__init__(design, Y, squares, ridge)

    def coefficients(self, v: Array) -> tuple[Array, float]:
        K = self.design.outer(v * v)
        K[np.diag_indices_from(K)] += self.ridge
        multipliers = cho_solve(cho_factor(K, overwrite_a=True), self.Y)
        # The residual is Y - (K - ridge I) multipliers.
        loss = self.ridge**2 * float(np.vdot(multipliers, multipliers))
        return v[:, None] * self.design.rmatmul(multipliers), loss

    def curvature(self, W: Array) -> LinearOperator:
        def product(p: Array) -> Array:
            fitted = self.design.matmul(p.reshape(-1, 1) * W)
            return np.sum(self.design.rmatmul(fitted) * W, axis=1)

        d = W.shape[0]
        return LinearOperator((d, d), matvec=product, dtype=np.float64)

    def selection(self, W: Array, right: Array, mu: float, live: Mask, start: Array) -> Array:
        """The same, solved exactly where there are few samples times targets.

        X'X . WW' = M'M with one block X diag(w_c) of M a target, so that Woodbury's identity
        leaves a system of that size.
        """
        if self.held is None or self.Y.size > _DIRECT_SIZE:
            return super().selection(W, right, mu, live, start)
        M = (W.T[:, None, :] * self.held).reshape(-1, W.shape[0])
        share = 1.0 / (2.0 + int(live.sum()))

        def base_inverse(r: Array) -> Array:
            """(2 mu I + mu 11')^-1 r on the live features."""
            return np.where(live, r - share * r.sum(), 0.0) / (2.0 * mu)

        sums = M.sum(axis=1)
        inner = (M @ M.T - share * np.outer(sums, sums)) / (2.0 * mu)
        inner[np.diag_indices_from(inner)] += 0.5
        r = right + 2.0 * np.sum(self.B * W, axis=1)
        solved = cho_solve(cho_factor(inner, overwrite_a=True), M @ base_inverse(r))
        return base_inverse(r - solved @ M)
