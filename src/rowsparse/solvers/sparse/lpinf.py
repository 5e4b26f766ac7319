"""Squared loss with the l_{p,inf} penalty (Kong and Ding 2014).

    min_W  F(W) = 1/2 ||Y - XW||_F^2 + gamma * sum_j ( max_k |w_jk| )^p ,    0 <= p <= 1

There is no intercept here: centre X and Y for a free one.
"""

from __future__ import annotations

from typing import Literal

from rowsparse._arrays import Array
from rowsparse.design import Design
from rowsparse.rows import row_norms, top_rows
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.solution import Monitor, Solution, Variant, silent
from rowsparse.solvers.sparse.lpinf_descents import LpInfDescents, Trial
from rowsparse.solvers.sparse.lpinf_published import PrintedDescents

Init = Literal["best", "ridge", "continuation", "zero"]

# Values of two starts closer than this, relatively, are equal.
_TIE = 1e-9


def lpinf(
    design: Design,
    Y: Array,
    k: int,
    *,
    p: float,
    gamma: float | None,
    init: Init,
    variant: Variant,
    n_samples: float,
    tol: float,
    max_iter: int,
    monitor: Monitor = silent,
) -> Solution:
    """Minimise 1/2||Y - XW||_F^2 + gamma * sum_j (max_k |w_jk|)^p.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
        The data, centred already if an intercept is wanted.
    k : int
        Number of rows to leave with ``gamma=None``.
    p : float
        From 0 (the number of rows is penalised) to 1 (convex).
    gamma : float or None
        None looks for the penalty that leaves k rows. For p < 1 the count jumps, so that the
        weakest few of a solution with slightly more rows may have to be cut.
    init : {"best", "ridge", "continuation", "zero"}
        Where the descent for p < 1 begins. "continuation" solves roughly for p = 1, 0.75, 0.5,
        ... down to p; "best" keeps the better of it and of "ridge", by the objective or, with
        ``gamma=None``, by the least-squares residual refitted on the k strongest rows.
    variant : {"corrected", "published"}
        "published" is plain FISTA with the printed prox, which gives NaN for many rows that
        should vanish. The iteration cannot go on from NaN, so such rows become zero; nothing
        else is changed.
    n_samples : float
        The number of samples; where rows carry the square roots of weights, their sum.
    tol : float
        p = 1: relative duality gap. p < 1: relative change of W in a proximal gradient step.
    max_iter : int
        Most iterations of one descent.

    Returns
    -------
    Solution
        ``scores`` are the l2 norms of the rows and, below all of these, how close zero rows are
        to entering; with "published" the max norms that the paper penalises. ``attributes``
        has ``gamma_`` and, for the corrected p = 1, ``gap_`` and ``dual_coef_``.
    """
    kind = PrintedDescents if variant == "published" else LpInfDescents
    descents = kind(SquaredLoss(design, Y), n_samples, tol, max_iter, monitor)
    starts: tuple[str, ...] = ("continuation", "ridge") if init == "best" else (init,)
    if p == 1 and variant == "corrected":
        starts = ("zero",)  # convex: one answer
    trials: list[Trial] = []
    for start in starts:
        if gamma is None:
            trials.append(descents.k_rows(start, p, k, trials[0].gamma if trials else None))
        else:
            trials.append(Trial(gamma, descents.path(start, p)(gamma)))
    best = trials[0]
    for trial in trials[1:]:
        if gamma is None:
            supports = [top_rows(row_norms(t.run.W), k) for t in (best, trial)]
            refits = [descents.loss.refit(S, penalty=0.0, tol=0.0) for S in supports]
            values = [fit.objective for fit in refits]
        else:
            values = [t.run.objective for t in (best, trial)]
        if values[1] < values[0] - _TIE * abs(values[0]):
            best = trial
    return descents.solution(best, p)
