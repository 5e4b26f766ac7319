"""HiGHS: outer approximation of the best-k-features problem, as it takes no quadratic objective
with integer variables.

With K(s) = I + X diag(s) X' / ridge the problem is to minimise f(s) = <y, K(s)^-1 y> over binary s
with sum k. f is convex, with the gradient -(x_j' a)^2 / ridge at a = K(s)^-1 y: every s gives a
linear lower bound of f. First come bounds at solutions of the linear relaxation, then at those of
the integer programme of all bounds so far, whose own lower bound is one of f.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# What the programme has found: features, objective, lower bound.
Report = Callable[[NDArray[np.intp], float, float], None]
# Share of the time for bounds from the linear relaxation.
_RELAXED = 0.25


def value_and_gradient(X: Array, y: Array, s: Array, ridge: float) -> tuple[float, Array]:
    """f(s) and its gradient."""
    S = np.flatnonzero(s > 0)
    Z = X[:, S] * np.sqrt(s[S])
    inner = Z.T @ Z + ridge * np.eye(S.size)
    a = y - Z @ np.linalg.solve(inner, Z.T @ y)
    return float(y @ a), -((X.T @ a) ** 2) / ridge


def prove(
    X: Array,
    y: Array,
    k: int,
    *,
    ridge: float,
    gap_tol: float,
    time_limit: float,
    report: Report,
) -> tuple[NDArray[np.intp], float, bool]:
    """The features, the lower bound, and whether it is done."""
    start, d = perf_counter(), X.shape[1]
    model = _model(d, k)
    support, best, bound = np.empty(0, dtype=np.intp), np.inf, 0.0
    s = np.full(d, k / d)
    relaxed = True
    while True:
        value, gradient = value_and_gradient(X, y, s, ridge)
        if not relaxed and value < best:
            support, best = np.flatnonzero(s), value
        if np.isfinite(best):
            report(support, best, bound)
            if best - bound <= gap_tol * best:
                return support, bound, True
        elapsed = perf_counter() - start
        if elapsed > time_limit:
            return support, bound, False
        _add_bound(model, value, gradient, s)
        if relaxed and (elapsed > _RELAXED * time_limit or value - bound <= gap_tol * value):
            relaxed = False
            kinds = np.full(d, highspy.HighsVarType.kInteger)
            model.changeColsIntegrality(d, np.arange(d, dtype=np.int32), kinds)
        model.run()
        info = model.getInfo()
        found = info.objective_function_value if relaxed else info.mip_dual_bound
        bound = max(bound, float(found))
        s = np.clip(np.array(model.getSolution().col_value[:d]), 0.0, 1.0)
        s = s if relaxed else np.round(s)


def _model(d: int, k: int) -> Any:
    """Minimise t, the last variable, over 0 <= s <= 1 with sum k."""
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    for _ in range(d):
        model.addVar(0.0, 1.0)
    model.addVar(0.0, highspy.kHighsInf)
    model.changeColCost(d, 1.0)
    model.addRow(k, k, d, np.arange(d, dtype=np.int32), np.ones(d))
    return model


def _add_bound(model: Any, value: float, gradient: Array, s: Array) -> None:
    """t - <gradient, s'> >= value - <gradient, s>."""
    columns = np.arange(s.size + 1, dtype=np.int32)
    low = value - float(gradient @ s)
    model.addRow(low, highspy.kHighsInf, columns.size, columns, np.append(-gradient, 1.0))
