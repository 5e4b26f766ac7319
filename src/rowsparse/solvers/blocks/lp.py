"""The joint l2,1 problem with one target: a linear programme (HiGHS through scipy)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from rowsparse._arrays import Array
from rowsparse.rows import row_norms
from rowsparse.solvers.blocks.admm import centred, feasible_dual
from rowsparse.solvers.blocks.fit import BlockFit


def lp_l21(
    Z: Array, Y: Array, gamma: float, *, omega: Array, fit_intercept: bool, tol: float
) -> BlockFit:
    """Minimise sum_i omega_i |y_i - z_i w - b| + gamma ||w||_1 exactly, for Y of one column.

    The variables are w = w+ - w-, the residual e+ - e- and b; the multipliers of the equations
    are the dual point. ``gamma = 0`` is least absolute deviations.
    """
    n, m = Z.shape
    cost = np.concatenate([np.full(2 * m, gamma), omega, omega, [0.0]])
    intercept = np.ones((n, 1)) if fit_intercept else np.zeros((n, 1))
    identity = sp.eye_array(n)
    equations = sp.hstack(
        [sp.csc_array(np.hstack([Z, -Z])), identity, -identity, sp.csc_array(intercept)],
        format="csc",
    )
    bounds = [(0.0, None)] * (2 * m + 2 * n) + [(None, None)]
    # The solver's tolerances are absolute: give it numbers near 1.
    unit = float(np.abs(Y).max()) or 1.0
    result = linprog(cost, A_eq=equations, b_eq=Y[:, 0] / unit, bounds=bounds, method="highs")
    if result.x is None:
        zero = np.zeros((m, 1))
        objective = float(omega @ np.abs(Y[:, 0]))
        return BlockFit(zero, np.zeros(1), objective, np.zeros_like(Y), objective, 0, False)
    W = ((result.x[:m] - result.x[m : 2 * m]) * unit)[:, None]
    b = np.array([result.x[-1] * unit])
    Theta = centred(result.eqlin.marginals[:, None], fit_intercept)
    objective = float(omega @ row_norms(Y - Z @ W - b) + gamma * np.abs(W).sum())
    if gamma > 0:
        Theta = feasible_dual(Theta, row_norms(Z.T @ Theta), omega, gamma)
    gap = objective - float(np.vdot(Y, Theta))
    # Below this an objective is rounding error: the fit is perfect.
    rounding = 1e-12 * float(omega @ np.abs(Y[:, 0]))
    return BlockFit(W, b, objective, Theta, gap, int(result.nit), gap <= tol * objective + rounding)
