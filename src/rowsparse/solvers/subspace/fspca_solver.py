"""FSPCA: principal components of few features (Tian et al. 2020).

    max tr(W' C W)   over W'W = I_m with at most k non-zero rows,   C = Z'Z/n

From the rows that carry most of the rank-m part of C (the authors' "Go"), each round takes the
k rows that the subspace AW explains best and fits W to them ("IPU"), A = C + shift I.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from rowsparse._arrays import Array, Index
from rowsparse.design import Design, machine_eps
from rowsparse.rows import top_rows
from rowsparse.solvers.solution import Monitor, Solution, silent
from rowsparse.solvers.subspace.subspace import (
    by_variance,
    improved_rows,
    leading_spectrum,
    matrix_from_rows,
    mean_variance,
    same_set,
    subspace_solution,
    with_fixed_signs,
)


def fspca(
    design: Design,
    k: int,
    m: int,
    *,
    ridge: float,
    max_iter: int,
    monitor: Monitor = silent,
) -> Solution:
    """Choose k features whose m leading principal components have the most variance.

    Parameters
    ----------
    design : Design
        Centred.
    k, m : int
        Number of features and of components, m <= k <= d.
    ridge : float
        Share of the mean variance that is added to the diagonal of C in the inner step.
    max_iter : int
        Limit on the rounds.
    monitor : Monitor
        Told of the variance after each round.

    Returns
    -------
    Solution
        W has orthonormal columns; the objective is the variance tr(W'CW). With m = k, or where C
        has no more than m dimensions, it is the global maximum: the k largest variances.
    """
    n, d = design.shape
    variances = design.column_norms() ** 2 / n
    values, vectors = leading_spectrum(design, m + 1)
    shift = ridge * mean_variance(design)
    leading = vectors[:, :m] ** 2 @ (values[:m] / n + shift)
    if m == k or values.size <= m:
        order = by_variance(variances, leading, machine_eps(design))
        W, objective = _principal_components(design, order[:k], m)
        closeness = np.empty(d)
        closeness[order] = np.arange(d, 0, -1)
        return subspace_solution(W, order[:k], [objective], closeness, 1, True)
    rows = top_rows(np.where(variances > 0, leading, -1.0), k)
    W, objective = _principal_components(design, rows, m)
    history = [objective]
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        _, p, new = improved_rows(design, W, k, middle=lambda ZW: ZW / n, shift=shift, rows=rows)
        converged = same_set(rows, new)
        if not converged:
            new_W, objective = _principal_components(design, new, m)
            # At a tie, rounding errors could make the rounds cycle.
            converged = objective <= history[-1] * (1 + 1e-14)
        if not converged:
            rows, W = new, new_W
            history.append(objective)
        if converged or monitor(objective):
            break
    return subspace_solution(W, rows, history, np.maximum(p, 0.0), n_iter, converged)


def _principal_components(design: Design, rows: Index, m: int) -> tuple[Array, float]:
    """The m leading principal components of these features alone, and their variance."""
    n, d = design.shape
    block = design.columns(rows).astype(np.float64, copy=False)
    top = (rows.size - m, rows.size - 1)
    values, vectors = eigh(block.T @ block / n, subset_by_index=top)
    return matrix_from_rows(rows, with_fixed_signs(vectors[:, ::-1]), d), float(values.sum())
