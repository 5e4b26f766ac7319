"""SCIP through PySCIPOpt: the perspective form of the best-k-features problem as a cone programme.

minimise  t + ridge sum_j u_j   with   ||y - Xb||^2 <= t,  b_j^2 <= u_j z_j,  sum_j z_j <= k,
z_j in {0, 1}
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyscipopt import Model, quicksum


def build(X: NDArray[np.float64], y: NDArray[np.float64], k: int, ridge: float) -> Any:
    """The model with its variables z; with more samples than features, of the triangle of QR."""
    rest = 0.0
    if X.shape[0] > X.shape[1]:
        Q, X = np.linalg.qr(X)
        rest = float(y @ y - (y @ Q) @ (y @ Q))
        y = y @ Q
    model = Model()
    model.hideOutput()
    d = X.shape[1]
    b = [model.addVar(lb=None) for _ in range(d)]
    u = [model.addVar(lb=0) for _ in range(d)]
    z = [model.addVar(vtype="B") for _ in range(d)]
    t = model.addVar(lb=0)
    residual = [model.addVar(lb=None) for _ in y]
    for row, target, r in zip(X, y, residual, strict=True):
        model.addCons(quicksum(v * b[j] for j, v in enumerate(row) if v) + r == target)
    model.addCons(quicksum(r * r for r in residual) <= t)
    for j in range(d):
        model.addCons(b[j] * b[j] <= u[j] * z[j])
    model.addCons(quicksum(z) <= k)
    model.setObjective(t + ridge * quicksum(u) + rest)
    return model, z


def prove(built: Any, gap_tol: float, time_limit: float) -> tuple[NDArray[np.intp], float, bool]:
    """The features, the lower bound, and whether it is done."""
    model, z = built
    model.setParam("limits/gap", gap_tol)
    model.setParam("limits/time", time_limit)
    model.setParam("timing/clocktype", 1)  # processor seconds
    model.optimize()
    if not model.getNSols():
        return np.empty(0, dtype=np.intp), float(model.getDualbound()), False
    chosen = np.flatnonzero([model.getVal(variable) > 0.5 for variable in z])
    return chosen, float(model.getDualbound()), model.getStatus() in ("optimal", "gaplimit")
