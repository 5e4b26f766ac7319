"""Algorithm 2 of An, Dong and Qin (2021) as printed."""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Array
from rowsparse.rows import huber_rows, prox_dc_published, row_norms, tail_norm, unit_ball_rows
from rowsparse.solvers.losses.l21 import L21Loss, SmoothedL21Loss
from rowsparse.solvers.proximal import Composite, nonmonotone_apg
from rowsparse.solvers.solution import Monitor, Solution
from rowsparse.solvers.sparse.centred_columns import CentredColumns

# mu falls by this factor a stage, down to 2 eps/n.
_SIGMA, _EPS = 0.1, 0.1


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
    while mu is None and _SIGMA * mus[-1] >= 2.0 * _EPS / (mass + gamma * d):
        mus.append(_SIGMA * mus[-1])
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
