"""How good a choice of k features is: a proof of optimality, or a bound on what it misses."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from itertools import combinations, islice

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.solvers.branch import BranchAndBound, Progress, Proof
from rowsparse.solvers.certificate import Candidates

# Without a ridge, up to this many choices are simply all tried.
EXHAUSTIVE = 200_000
_BATCH = 4096
# Relative eigenvalue of the columns of a choice from which on they count as dependent.
_DEPENDENT = 1e-12


def silent_progress(progress: Progress) -> bool:
    """Watch nothing and never stop."""
    return False


def certify(
    design: Design,
    Y: Array,
    k: int,
    support: Index,
    objective: float,
    *,
    ridge: float,
    include: Index,
    exclude: Index,
    gap_tol: float = 1e-6,
    time_limit: float | None = None,
    keep_on_interrupt: bool = False,
    improve: Callable[[Index], tuple[Index, float]] | None = None,
    monitor: Callable[[Progress], bool] = silent_progress,
    n_jobs: int | None = None,
) -> Proof | None:
    """Prove that a support is the best one, find a better one, or bound what is missing.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
        Centred.
    k : int
        Number of features.
    support, objective : array of int and float
        A choice, and its objective.
    ridge : float
        Weight of ||W||_F^2. Without one there is a bound only if n > d and no columns depend on
        each other; else all choices are tried, if they are few.
    include, exclude : arrays of int
        Features that must and that must not be chosen.
    gap_tol, time_limit, keep_on_interrupt, improve, monitor, n_jobs
        As in :class:`rowsparse.solvers.branch.BranchAndBound`.

    Returns
    -------
    Proof or None
        None where there is neither a bound nor a short enough list of choices.
    """
    problem = Candidates.of(design, Y, ridge)
    if problem.ridge > 0:
        if exclude.size:
            problem = problem.restricted(np.setdiff1d(np.arange(design.shape[1]), exclude))
        search = BranchAndBound(
            problem,
            k,
            support,
            objective,
            include=include,
            gap_tol=gap_tol,
            time_limit=time_limit,
            keep_on_interrupt=keep_on_interrupt,
            improve=improve,
            monitor=monitor,
            n_jobs=n_jobs,
        )
        return search.run()
    free = np.setdiff1d(np.arange(design.shape[1]), np.union1d(include, exclude))
    if math.comb(free.size, k - include.size) > EXHAUSTIVE:
        return None
    return _exhaustive(design, Y, k, support, objective, include, free)


def _exhaustive(
    design: Design,
    Y: Array,
    k: int,
    support: Index,
    objective: float,
    include: Index,
    free: Index,
) -> Proof:
    """Least squares on every choice."""
    start = time.perf_counter()
    G, B, total = design.gram(), design.rmatmul(Y), float(np.vdot(Y, Y))
    best, value, tried = np.sort(support), objective, 0
    for batch in _batches(free, k - include.size):
        choices = np.hstack([np.tile(include, (len(batch), 1)), batch]).astype(np.intp)
        values = total - _explained(G, B, choices)
        at = int(np.argmin(values))
        tried += len(batch)
        if values[at] < value - 1e-12 * total:
            best, value = np.sort(choices[at]), max(float(values[at]), 0.0)
    rounding = np.finfo(np.float64).eps * (design.shape[0] + k) / _DEPENDENT**0.5
    bound = max(value - rounding * total, 0.0)
    none = np.zeros(0, dtype=np.intp)
    seconds = time.perf_counter() - start
    return Proof(best, value, bound, True, tried, bound, none, B[:0], seconds)


def _batches(features: Index, size: int) -> Iterator[Index]:
    choices = combinations(features.tolist(), size)
    while batch := list(islice(choices, _BATCH)):
        yield np.array(batch, dtype=np.intp).reshape(len(batch), size)


def _explained(G: Array, B: Array, choices: Index) -> Array:
    """<B_S, G_SS^+ B_S> for every choice S, by the eigenvectors of G_SS."""
    G_S = G[choices[:, :, None], choices[:, None, :]]
    values, vectors = np.linalg.eigh(G_S)
    part = np.einsum("ski,skc->sic", vectors, B[choices])
    squares = np.einsum("sic,sic->si", part, part)
    used = values > _DEPENDENT * np.maximum(values[:, -1:], 1e-300)
    return np.divide(squares, values, out=np.zeros_like(squares), where=used).sum(axis=1)
