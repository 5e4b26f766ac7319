"""El0ps: branch and bound for min ||y - Xb||^2 / 2 + l0 ||b||_0 + l2 ||b||^2 (GPL: called only).

Version 0.0.4 imports an MPI library, which the extra brings (mpich); one process needs none of it,
and its tree search is told so.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from el0ps.datafit import Leastsquares
from el0ps.penalty import L2norm
from el0ps.solver import BnbSolver, bnb
from numpy.typing import NDArray

bnb.pb.Solver = partial(bnb.pb.Solver, comm=None)


def prove(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    l0: float,
    l2: float,
    gap_tol: float,
    time_limit: float,
) -> tuple[NDArray[Any], bool]:
    """Coefficients, and whether it calls them optimal."""
    solver = BnbSolver(relative_gap=gap_tol, time_limit=time_limit)
    found = solver.solve(Leastsquares(y), L2norm(l2), X, l0)
    return np.asarray(found.x), str(found.status) == "optimal"
