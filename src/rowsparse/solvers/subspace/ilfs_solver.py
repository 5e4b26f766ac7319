"""Infinite latent feature selection (Roffo et al. 2017), without its graph.

The published method sums all paths of a graph with weights g_f g_h, where g_f is the probability
that feature f is relevant. That matrix has rank one, so that the sums are proportional to g: the
ranking is that of g, and no d x d matrix is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array
from rowsparse.design import Design
from rowsparse.solvers.solution import Monitor, silent

# Entries of X that are held at a time.
_BLOCK_ENTRIES = 1 << 20
# Weights of the first and of the last token at the start.
_STRONG, _WEAK = 5000.0, 1.0
_BISECTIONS = 60
# Ratios of a column that differ by less than this are equal.
_EQUAL = 1e-12


@dataclass
class Relevance:
    """The probability that each feature is relevant (Roffo et al.).

    ``slope`` is the derivative of the log-likelihood, which orders features whose probability
    is at the same end of [0, 1]; ``history`` is the log-likelihood, round by round.
    """

    probability: Array
    slope: Array
    history: list[float]
    converged: bool = True


def nearness(Z: Array, Y: Array) -> Array:
    """r = (x - mean of its class)^2 / sum over classes of (x - mean of the class)^2.

    In [0, 1], and small where a sample is near the mean of its own class; 1/c for 0/0.
    """
    means = (Y.T @ Z) / Y.sum(axis=0)[:, None]
    centre = means.mean(axis=0)
    # sum_j (x - mu_j)^2, computed around the mean of the mu_j to avoid cancellation.
    apart = Y.shape[1] * (Z - centre) ** 2 + ((means - centre) ** 2).sum(axis=0)
    own = (Z - means[Y.argmax(axis=1)]) ** 2
    return np.minimum(np.where(apart > 0, own / np.where(apart > 0, apart, 1.0), 1 / Y.shape[1]), 1)


def token_counts(r: Array, T: int) -> Array:
    """Counts of each of T tokens in every column of r (T x d).

    Token t is the interval between two of T edges from the least to the largest value, and the
    last one is the largest value itself. Where all values are one, the edges go from 0 to 1.
    """
    low, high = r.min(axis=0), r.max(axis=0)
    flat = high - low <= _EQUAL
    low, high = np.where(flat, 0.0, low), np.where(flat, 1.0, high)
    token = np.floor((r - low) / (high - low) * (T - 1)).astype(np.intp)
    token = np.clip(np.where(r >= high, T - 1, token), 0, T - 1)
    return np.stack([(token == t).sum(axis=0) for t in range(T)]).astype(np.float64)


def ilfs(
    design: Design,
    Y: Array,
    *,
    n_tokens: int,
    update_tokens: bool,
    max_iter: int,
    tol: float,
    monitor: Monitor = silent,
) -> Relevance:
    """Estimate how likely each feature is relevant to the classes.

    Parameters
    ----------
    design : Design
        Centred; scales do not matter.
    Y : array of shape (n, c)
        One-hot classes.
    n_tokens : int
        Number of tokens T >= 2.
    update_tokens : bool
        Whether the two distributions of tokens are learnt as well.
    max_iter, tol : int, float
        Limit on the rounds of that, and the gain of the log-likelihood, as a share of its
        modulus, at which it stops.
    monitor : Monitor
        Told of the log-likelihood after each round.

    Returns
    -------
    Relevance
        0 for constant columns.
    """
    n, d = design.shape
    live = np.flatnonzero(design.column_norms())
    counts = np.zeros((n_tokens, live.size))
    step = max(1, _BLOCK_ENTRIES // n)
    for start in range(0, live.size, step):
        block = slice(start, start + step)
        Z = design.columns(live[block]).astype(np.float64, copy=False)
        counts[:, block] = token_counts(nearness(Z, Y), n_tokens)
    first = np.linspace(_STRONG, _WEAK, n_tokens)
    first /= first.sum()
    if update_tokens:
        found = _learnt(counts, first, first[::-1], max_iter, tol, monitor)
    else:
        g = most_likely(counts, first, first[::-1])
        likelihood = _log_likelihood(counts, first, first[::-1], g)
        found = Relevance(g, _slope(counts, first, first[::-1], g), [likelihood])
    whole = np.zeros(d), np.full(d, -np.inf)
    whole[0][live], whole[1][live] = found.probability, found.slope
    return Relevance(*whole, found.history, found.converged)


def most_likely(counts: Array, first: Array, second: Array) -> Array:
    """argmax over g in [0, 1] of sum_t N_t log(first_t g + second_t (1 - g)), by bisection.

    The log-likelihood is concave in g, so expectation-maximisation converges to the same value
    from any start.
    """
    low, high = np.zeros(counts.shape[1]), np.ones(counts.shape[1])
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        rises = _slope(counts, first, second, middle) > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.asarray(np.round((low + high) / 2.0, 14))


def _slope(counts: Array, first: Array, second: Array, g: Array) -> Array:
    difference = (first - second)[:, None]
    return np.asarray((counts * difference / _mixture(first, second, g)).sum(axis=0))


def _mixture(first: Array, second: Array, g: Array) -> Array:
    """p(t|f), T x d, never quite 0."""
    return np.maximum(first[:, None] * g + second[:, None] * (1.0 - g), np.finfo(np.float64).tiny)


def _log_likelihood(counts: Array, first: Array, second: Array, g: Array) -> float:
    return float(np.sum(counts * np.log(_mixture(first, second, g))))


def _learnt(
    counts: Array, first: Array, second: Array, max_iter: int, tol: float, monitor: Monitor
) -> Relevance:
    """Expectation-maximisation of g and of the two distributions of tokens."""
    T = counts.shape[0]
    n = counts.sum(axis=0)
    g = np.clip(counts[: max(1, round(0.2 * T))].sum(axis=0) / n, 0.01, 0.99)
    tiny = np.finfo(np.float64).tiny
    history: list[float] = []
    converged = False
    for _ in range(max_iter):
        history.append(_log_likelihood(counts, first, second, g))
        if len(history) > 1:
            converged = history[-1] - history[-2] <= tol * abs(history[-1])
        if converged or monitor(history[-1]):
            break
        posterior = counts * (first[:, None] * g / _mixture(first, second, g))
        g = np.clip(posterior.sum(axis=0) / n, 0.0, 1.0)
        first, second = posterior.sum(axis=1), (counts - posterior).sum(axis=1)
        first, second = first / max(first.sum(), tiny), second / max(second.sum(), tiny)
    return Relevance(g, _slope(counts, first, second, g), history, converged)
