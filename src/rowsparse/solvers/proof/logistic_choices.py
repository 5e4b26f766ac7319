"""Logistic regression with a ridge on many choices of columns at once, each bounded from below."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.proof.dual_points import DualPoints

# Newton steps, and halvings of one of them.
_MAX_STEPS, _MAX_HALVINGS = 50, 30
# A choice is fitted when a step promises less than this share of the loss of choosing nothing.
_TOL = 1e-8
# The share of the decrease that the quadratic model promises, by which a step must lower the loss.
_ARMIJO = 1e-4
# What is added to the diagonal of a matrix, as a share of it, so that it can be inverted.
_DAMPING = 1e-13


@dataclass(frozen=True)
class FittedChoices:
    """The objective that each choice attains, and what it is at least."""

    values: Array
    bounds: Array


def fit_choices(
    loss: LogisticLoss, X: Array, norms: Array, ridge: float, choices: Index
) -> FittedChoices:
    """Fit every choice, a row of ``choices``, of the columns of X by Newton's method.

    ``norms`` are those of the columns, weighted as the samples are.
    """
    (N, k), n, c = choices.shape, X.shape[0], loss.Y.shape[1]
    Z = np.ones((N, n, k + 1 if loss.fit_intercept else k))
    Z[:, :, :k] = X[:, choices].transpose(1, 0, 2)
    labels = loss.Y.T
    V = np.zeros((N, c, Z.shape[2]))
    if loss.fit_intercept:
        V[:, :, k] = loss.null_intercept()
    penalty = np.full(Z.shape[2], ridge)
    penalty[k:] = 0.0
    values, P = _newton(Z, V, labels, loss.omega, penalty, _TOL * loss.at_zero)
    points = DualPoints.of(P, labels, loss.omega, loss.fit_intercept, loss.design.bound_rounding)
    u = np.matmul(points.weighted, Z[:, :, :k])
    lengths = np.sqrt(np.einsum("scj,scj->sj", u, u)) + points.error[:, None] * norms[choices]
    q = lengths**2 / (2.0 * ridge)
    rounding = 2.0 * (n + k + 16) * np.finfo(np.float64).eps
    bounds = points.entropy - q.sum(axis=1) * (1.0 + rounding)
    return FittedChoices(values, np.where(np.isfinite(bounds), bounds, -np.inf))


def _newton(
    Z: Array, V: Array, labels: Array, omega: Array, penalty: Array, enough: float
) -> tuple[Array, Array]:
    """The objectives of the choices, and their predictions of shape (N, c, n)."""
    sign = 1.0 - 2.0 * labels
    Zt = Z.transpose(0, 2, 1)
    P = np.matmul(V, Zt)
    values = _objectives(P, V, sign, omega, penalty)
    diagonal = np.arange(V.shape[2])
    for _ in range(_MAX_STEPS):
        # exp(-|p|) gives probabilities and curvature without cancellation.
        small = np.exp(-np.abs(P))
        share = 1.0 / (1.0 + small)
        size = np.where(sign * P > 0, share, small * share)
        h = omega * small * share**2
        slope = np.matmul(omega * sign * size, Z) + penalty * V
        H = np.matmul(Zt[:, None] * h[:, :, None, :], Z[:, None])
        H[..., diagonal, diagonal] += penalty
        H[..., diagonal, diagonal] *= 1.0 + _DAMPING
        H[..., diagonal, diagonal] += np.finfo(np.float64).tiny
        step = np.linalg.solve(H, slope[..., None])[..., 0]
        promised = 0.5 * np.maximum(np.einsum("scj,scj->sc", slope, step), 0.0)
        before = values
        V, P, values = _moved(Z, step, promised, V, P, values, sign, omega, penalty)
        going_on = (promised.sum(axis=1) > enough) & (values < before).any(axis=1)
        if not going_on.any():
            break
    return values.sum(axis=1), P


def _moved(
    Z: Array,
    step: Array,
    promised: Array,
    V: Array,
    P: Array,
    values: Array,
    sign: Array,
    omega: Array,
    penalty: Array,
) -> tuple[Array, Array, Array]:
    """V, P and the objectives after a step, halved for each label until it lowers its loss."""
    direction = np.matmul(step, Z.transpose(0, 2, 1))
    length = np.ones(values.shape)
    slack = 1e-15 * values
    for _ in range(_MAX_HALVINGS):
        V_new = V - length[..., None] * step
        P_new = P - length[..., None] * direction
        moved = _objectives(P_new, V_new, sign, omega, penalty)
        short = ~(moved <= values - 2.0 * _ARMIJO * length * promised + slack)
        if not short.any():
            return V_new, P_new, moved
        length[short] /= 2.0
    # Rounding hides what is left to gain.
    still = short[..., None]
    return np.where(still, V, V_new), np.where(still, P, P_new), np.where(short, values, moved)


def _objectives(P: Array, V: Array, sign: Array, omega: Array, penalty: Array) -> Array:
    losses = np.logaddexp(0.0, sign * P) @ omega
    return np.asarray(losses + 0.5 * (V**2 @ penalty))
