"""CRFS: correntropy with an l2,1 penalty, by half-quadratic steps (He et al. 2012).

With e_i = ||y_i - x_i W||^2 and kernel width sigma,

    F(W) = -2 sigma^2 sum_i omega_i exp(-e_i / (2 sigma^2)) + 4 gamma sum_j sqrt(||w_j||^2 + eps)

Both terms are concave in the squares, so that their tangents lie above them: each round solves
the ridge problem sum_i p_i e_i + gamma sum_j q_j ||w_j||^2 with the slopes p and q of the last.
"""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Array
from rowsparse.design import Design
from rowsparse.rows import row_norms
from rowsparse.solvers.l21.irls import weighted_ridge
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.solution import Monitor, Solution, silent

# Smooths the norm of a row at zero.
ROW_EPS = 1e-7
# The least weight that a sample can be left with.
_LEAST_WEIGHT = 1e-12
# Mean squared residuals below this share of that of W = 0 are rounding error.
_PERFECT = 1e-28


def crfs(
    design: Design,
    Y: Array,
    *,
    gamma: float,
    weights: Array | None = None,
    sigma: float | None,
    tol: float | None,
    max_iter: int,
    monitor: Monitor = silent,
) -> Solution:
    """Half-quadratic rounds on F; the first is plain ridge regression.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
        The data; there is no intercept.
    gamma : float
        Weight of the penalty.
    weights : array of shape (n,), optional
        The omega_i; a sample of weight 2 is a sample given twice.
    sigma : float or None
        Width of the kernel. None takes 2 sigma^2 = 4 mean(e) anew after each round.
    tol : float or None
        Stop once a round changes W by less than this, relatively. None makes all rounds.
    max_iter : int
        Number of rounds.

    Returns
    -------
    Solution
        ``attributes``: ``sigma_``, the width of the kernel in the last round.
    """
    loss = L21Loss.from_targets(design, Y, weights, fit_intercept=False)
    kernel = _Kernel(loss.omega, sigma, float(loss.omega @ np.sum(Y**2, axis=1)))
    d = design.shape[1]
    p, q = loss.omega, np.ones(d)
    W = np.zeros((d, Y.shape[1]))
    history: list[float] = []
    converged = tol is None
    for _ in range(max_iter):
        before = W
        W = weighted_ridge(loss, gamma, 1.0 / q, 1.0 / p, ridge=0.0)[0]
        energies = np.sum((Y - design.matmul(W)) ** 2, axis=1)
        kernel.fit(energies)
        smooth = np.sqrt(row_norms(W) ** 2 + ROW_EPS)
        history.append(kernel.loss(energies) + 4.0 * gamma * float(smooth.sum()))
        p, q = kernel.slopes(energies), 2.0 / smooth
        if monitor(history[-1]):
            break
        if tol is not None and np.linalg.norm(W - before) <= tol * np.linalg.norm(W):
            converged = True
            break
    return Solution(
        W,
        np.zeros(Y.shape[1]),
        history[-1],
        np.asarray(history),
        len(history),
        converged,
        attributes={"sigma_": float(np.sqrt(kernel.width / 2.0))},
    )


class _Kernel:
    """-2 sigma^2 sum_i omega_i exp(-e_i / (2 sigma^2)), with ``width`` = 2 sigma^2."""

    def __init__(self, omega: Array, sigma: float | None, total: float) -> None:
        self._omega, self._mass = omega, float(omega.sum())
        self._adaptive = sigma is None
        self._least = max(_PERFECT * total / self._mass, float(np.finfo(np.float64).tiny))
        self.width = self._least if sigma is None else max(2.0 * sigma * sigma, self._least)

    def fit(self, energies: Array) -> None:
        """Take the width from the residuals, if it is to be taken from them."""
        if self._adaptive:
            mean = float(self._omega @ energies) / self._mass
            self.width = max(4.0 * mean, self._least)

    def loss(self, energies: Array) -> float:
        return -self.width * float(self._omega @ np.exp(-energies / self.width))

    def slopes(self, energies: Array) -> Array:
        """The weights of the samples in the next round."""
        return self._omega * np.maximum(np.exp(-energies / self.width), _LEAST_WEIGHT)
