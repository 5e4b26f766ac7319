"""A proof by trying every choice of k features, for problems with few choices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, islice

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._deadline import Deadline
from rowsparse.certificate.proof import Kind
from rowsparse.solvers.problem import Listing
from rowsparse.solvers.proof.candidates import Completion, Ways, listed

# The most choices that are tried, and the most multiplications for all of them.
_MAX_CHOICES, _MAX_WORK = 200_000, 2e11
# Entries of the columns of a batch of choices.
_BATCH_ENTRIES = 1 << 20
# Singular value, of columns of unit norm, at and below which they may depend on each other.
_DEPENDENT = 1e-12
_EPS = float(np.finfo(np.float64).eps)


def few_choices(n: int, free: int, count: int, k: int) -> bool:
    """Whether all ways to choose ``count`` of ``free`` features, k in all, can be tried."""
    choices = math.comb(free, count)
    return choices <= _MAX_CHOICES and choices * (n + k) * k**2 <= _MAX_WORK


def enumerate_choices(
    X: Array,
    Y: Array,
    ridge: float,
    chosen: Index,
    free: Index,
    count: int,
    *,
    rounding: float,
    deadline: Deadline,
    listing: Listing | None = None,
    copies: Index | None = None,
) -> Completion:
    """Ridge regression on ``chosen`` and every ``count`` of the ``free`` columns of X.

    What it adds is the whole choice; where the time was not enough, the bound is 0.

    ``rounding`` is the relative error of the columns. With a ``listing`` the choices close to the
    best one are listed, of those that differ by ``copies`` one.

    Each is bounded from below by its own residuals. With Z the columns and below them
    sqrt(ridge) I, all of unit norm, and r the residuals of any V, the least squared distance of
    the targets from the columns is at least (sqrt(||r||^2 - ||Z'r||^2 / s^2) - e)^2, where s is
    the least singular value of Z and e the rounding error of r. Where the columns may depend on
    each other, there is no such bound but 0.
    """
    k = chosen.size + count
    if k == 0:
        total = float(np.vdot(Y, Y))
        return Completion(Kind.ALL, total * (1.0 - 2.0 * (len(Y) + 16) * _EPS), None, np.inf, 1)
    best: Index | None = None
    least, bound, tried = np.inf, np.inf, 0
    # Not a single batch where the time is over.
    close = [Ways(np.empty((0, k), dtype=np.intp), np.empty(0), np.empty(0))]
    for batch in _batches(free, count, max(1, _BATCH_ENTRIES // ((X.shape[0] + k) * max(k, 1)))):
        if deadline.expired():
            bound = 0.0
            break
        choices = np.hstack([np.tile(chosen, (len(batch), 1)), batch]).astype(np.intp)
        values, bounds = _fits(X, Y, ridge, choices, rounding)
        at = int(np.argmin(values))
        if values[at] < least:
            best, least = np.sort(choices[at]), float(values[at])
        if listing is not None:
            near = bounds < listing.limit(least)
            close.append(Ways(np.sort(choices[near]), values[near], bounds[near]))
            bounds = bounds[~near]
        bound = min(bound, float(bounds.min(initial=np.inf)))
        tried += len(batch)
    if listing is None:
        return Completion(Kind.ALL, bound, best, least, tried)
    threshold = listing.limit(least)
    ways = Ways(*map(np.concatenate, zip(*close, strict=True)))
    most = listing.max_choices
    return listed(Kind.ALL, ways, copies, threshold, most, skipped=bound, tried=tried)


def _batches(features: Index, size: int, length: int) -> Iterator[Index]:
    choices = combinations(features.tolist(), size)
    while batch := list(islice(choices, length)):
        yield np.array(batch, dtype=np.intp).reshape(len(batch), size)


def _fits(X: Array, Y: Array, ridge: float, choices: Index, rounding: float) -> tuple[Array, Array]:
    """The objective of each choice, and what it is at least."""
    N, k = choices.shape
    n = X.shape[0]
    Z = np.zeros((N, n + (k if ridge > 0 else 0), k))
    Z[:, :n] = X[:, choices].transpose(1, 0, 2)
    if ridge > 0:
        Z[:, n + np.arange(k), np.arange(k)] = np.sqrt(ridge)
    target = np.zeros((Z.shape[1], Y.shape[1]))
    target[:n] = Y
    norms = np.sqrt(np.einsum("sik,sik->sk", Z, Z))
    Z /= np.where(norms > 0, norms, 1.0)[:, None, :]
    # A matrix with fewer rows than columns has dependent ones.
    U, s, V = np.linalg.svd(Z, full_matrices=False)
    smallest = s[:, -1] if Z.shape[1] >= k else np.zeros(N)
    usable = s > _DEPENDENT
    part = U.transpose(0, 2, 1) @ target
    scaled = np.divide(part, s[:, :, None], out=np.zeros_like(part), where=usable[:, :, None])
    W = V.transpose(0, 2, 1) @ scaled
    residuals = target - Z @ W
    values = np.einsum("sic,sic->s", residuals, residuals)
    slopes = Z.transpose(0, 2, 1) @ residuals
    rounding += 2.0 * (len(target) + k + 16) * _EPS
    return values, _bounds(values, slopes, W, smallest, target, rounding)


def _bounds(
    values: Array, slopes: Array, W: Array, smallest: Array, target: Array, rounding: float
) -> Array:
    k = W.shape[1]
    size = np.sqrt(np.einsum("skc,skc->sk", W, W)).sum(axis=1)
    total = np.linalg.norm(target)
    # The rounding of r itself, and of the columns that stand for the exact ones.
    error = rounding * (total + size)
    slope = np.sqrt(np.einsum("skc,skc->s", slopes, slopes)) + rounding * np.sqrt(k * values)
    s = smallest - rounding * k - _DEPENDENT
    reach = np.divide(slope, s, out=np.full_like(slope, np.inf), where=s > 0)
    left = np.maximum(values * (1.0 - rounding) - reach**2, 0.0)
    return np.asarray(np.maximum(np.sqrt(left) - error, 0.0) ** 2)
