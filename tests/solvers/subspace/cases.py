"""Data and literal formulae for the tests of the subspace methods and of their selectors."""

from itertools import combinations

import numpy as np

from rowsparse.design import Design, make_design

Array = np.ndarray


def design_of(X: Array, scale: bool = False) -> Design:
    return make_design(X, center=True, scale=scale)[0]


def planted(seed: int, n: int = 90, d: int = 200) -> tuple[Array, Array]:
    """Three classes whose means differ in the first five columns only."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    means = rng.standard_normal((3, 5))
    means -= means.mean(axis=0)
    X = rng.standard_normal((n, d))
    X[:, :5] += (1.2 * means / np.sqrt((means**2).mean(axis=0)))[y]
    return X, y


def correlated_classes(seed: int, n: int = 36, d: int = 10) -> tuple[Array, Array]:
    """Three classes whose means differ in all columns, and the indicators of the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)))
    X += 0.8 * rng.standard_normal((3, d))[y]
    X *= rng.uniform(0.5, 2.0, d)
    return X - X.mean(axis=0), np.eye(3)[y]


def mixed_columns(seed: int, n: int = 40, d: int = 12, rank: int | None = None) -> Array:
    """Centred mixtures of `rank` (by default d) independent normal columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank or d)) @ rng.standard_normal((rank or d, d))
    return X - X.mean(axis=0)


def three_groups(seed: int, n: int = 100, d: int = 30) -> Array:
    """Standardised columns: three groups of five correlated ones, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    groups = np.split(rng.permutation(d)[:15], 3)
    for strength, columns in zip((1.5, 1.2, 0.9), groups, strict=True):
        X[:, columns] += strength * rng.standard_normal((n, 1))
    return standardised(X)


def standardised(X: Array) -> Array:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def distances(points: Array) -> Array:
    """Squared distances between all points."""
    return ((points[:, None] - points) ** 2).sum(axis=2)


def best_variance(X: Array, k: int, m: int) -> float:
    """The largest variance of m components of k columns of X, by enumeration."""
    C = X.T @ X / len(X)
    subsets = np.array(list(combinations(range(X.shape[1]), k)))
    values = np.linalg.eigvalsh(C[subsets[:, :, None], subsets[:, None, :]])
    return float(values[:, -m:].sum(axis=1).max())


def thresholded(X: Array, t: float, soft: bool = False) -> Array:
    """The covariance of centred columns without its entries of modulus t or less."""
    C = X.T @ X / len(X)
    if soft:
        C = C - np.eye(len(C)) * np.trace(C) / len(C)
        return np.sign(C) * np.maximum(np.abs(C) - t, 0)
    return np.where(np.abs(C) > t, C, 0.0)


def class_ratios(X: Array, y: Array) -> Array:
    """The ratios r_if of ILFS, one sample at a time."""
    classes = np.unique(y)
    means = np.array([X[y == c].mean(axis=0) for c in classes])
    r = np.empty(X.shape)
    for i in range(len(X)):
        squares = (X[i] - means) ** 2
        r[i] = squares[np.searchsorted(classes, y[i])] / squares.sum(axis=0)
    return r


def count_tokens(X: Array, y: Array, T: int) -> Array:
    """MATLAB's histc of each column's ratios: left-closed intervals, and the last edge alone."""
    r = class_ratios(X, y)
    counts = np.zeros((T, X.shape[1]))
    for f in range(X.shape[1]):
        edges = np.linspace(r[:, f].min(), r[:, f].max(), T)
        token = np.minimum(np.searchsorted(edges, r[:, f], side="right"), T)
        counts[:, f] = np.bincount(token - 1, minlength=T)
    return counts


def first_tokens(T: int) -> Array:
    """The fixed distribution of the tokens of factor 1."""
    return np.linspace(5000, 1, T) / np.linspace(5000, 1, T).sum()


def expectation_maximisation(counts: Array, prior: float, rounds: int = 3000) -> Array:
    """Probability of factor 1 of each column, where the distributions of the tokens are fixed."""
    first = first_tokens(len(counts))[:, None]
    second = first[::-1]
    g = np.full(counts.shape[1], prior)
    for _ in range(rounds):
        posterior = first * g / (first * g + second * (1 - g))
        g = (counts * posterior).sum(axis=0) / counts.sum(axis=0)
    return g
