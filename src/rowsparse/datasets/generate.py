"""Generated data with planted features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._validation import check_choice, check_number
from rowsparse.selectors.base.shared_parameters import generator
from rowsparse.targets import TASKS

# Size of an outlier, in standard deviations of the target.
_GROSS = 10.0


def make_row_sparse(
    n_samples: int = 200,
    n_features: int = 100,
    n_informative: int = 10,
    n_targets: int = 3,
    *,
    task: str = "classification",
    signal: float = 3.0,
    correlation: float = 0.0,
    outliers: float = 0.0,
    imbalance: float | Sequence[float] = 1.0,
    return_coef: bool = False,
    random_state: Any = None,
) -> tuple[Array, Array, Mask] | tuple[Array, Array, Mask, Array]:
    """Make data in which a few features at random places are the ones to select.

    Columns are Gaussian with unit variance (within each class, if there are classes) and
    correlation ``correlation ** abs(i - j)`` between columns i and j, so that the neighbours of
    a planted feature look like it. Given the planted features the others say nothing more about
    y, whatever the correlation: the coefficients W of the model are non-zero in their rows
    alone. These rows have random directions and equal norms.

    - classification: x is Gaussian within each class, with class means ΣW for the covariance Σ,
      so that the log-odds of the classes are linear in x with the coefficients W.
    - regression: Y = XW + noise.
    - multilabel: a label is 1 where its column of XW + noise is above a threshold.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of X.
    n_informative : int
        Number of planted features.
    n_targets : int
        Number of classes, labels or numbers to predict.
    task : {"classification", "multilabel", "regression"}, default="classification"
        What y is.
    signal : float, default=3.0
        Strength. For classes, the Mahalanobis distance of two class means (root mean square
        over all pairs): two classes of equal size are told apart with an error of
        Φ(-signal / 2) at best. For labels and numbers, the standard deviation of each column of
        XW divided by that of the noise.
    correlation : float, default=0.0
        Correlation of neighbouring columns, between -1 and 1.
    outliers : float, default=0.0
        Share of the samples whose y is wrong: another class at random, every label flipped, or
        every number ten standard deviations off to a random side. All else is as it is without
        outliers and with the same ``random_state``.
    imbalance : float or sequence of float, default=1.0
        For classes, the size of the first class divided by that of the last, with sizes in
        between in geometric progression; or the share of each class. For labels, the negative
        samples of each label divided by the positive ones; or the share of positive samples of
        each label. Shares are met as exactly as whole samples allow, before outliers. It has no
        meaning for regression.
    return_coef : bool, default=False
        Whether to return W as well.
    random_state : int, RandomState instance or None, default=None
        The same integer gives the same data.

    Returns
    -------
    X : array of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        Class numbers; label indicators; numbers, of one dimension if ``n_targets=1``.
    support : array of bool of shape (n_features,)
        Which features were planted.
    coef : array of shape (n_targets, n_features)
        The coefficients W', only with ``return_coef=True``.

    Examples
    --------
    >>> from rowsparse import TopK
    >>> from rowsparse.datasets import make_row_sparse
    >>> X, y, planted = make_row_sparse(300, 50, 4, signal=5.0, correlation=0.5, random_state=0)
    >>> bool((TopK(4, random_state=0).fit(X, y).support_ == planted).all())
    True
    """
    _check(n_samples, n_features, n_informative, n_targets, task, signal, correlation, outliers)
    shares = _shares(imbalance, n_targets, task)
    # A random stream for each purpose, so that outliers change nothing else.
    streams = generator(random_state).spawn(4)
    planted = np.sort(streams[0].choice(n_features, n_informative, replace=False))
    rows = _rows(streams[0], n_informative, n_targets, centred=task == "classification")
    cov = correlation ** np.abs(planted[:, None] - planted) if correlation else None
    X = _correlated(streams[1].standard_normal((n_features, n_samples)), correlation)
    if task == "classification":
        rows *= signal / _separation(rows, cov)
        y: Array = _class_numbers(streams[2], n_samples, shares)
        X += _class_means(rows, planted, n_features, correlation)[:, y]
    else:
        y = _linear_targets(streams[2], X[planted], rows, cov, signal)
        if task == "multilabel":
            y = _above_threshold(y, shares)
    _spoil(streams[3], y, task, n_targets, round(outliers * n_samples))
    support = np.zeros(n_features, dtype=bool)
    support[planted] = True
    found = np.ascontiguousarray(X.T), y[:, 0] if task == "regression" and n_targets == 1 else y
    if not return_coef:
        return *found, support
    coef = np.zeros((n_targets, n_features))
    coef[:, planted] = rows.T
    return *found, support, coef


# ------------------------------------------------------------------------------- the input
def _check(
    n_samples: Any,
    n_features: Any,
    n_informative: Any,
    n_targets: Any,
    task: Any,
    signal: Any,
    correlation: Any,
    outliers: Any,
) -> None:
    check_choice("task", task, TASKS[1:])
    check_number("n_targets", n_targets, low=1 if task == "regression" else 2, integer=True)
    fewest = n_targets if task == "classification" else 2
    check_number("n_samples", n_samples, low=fewest, integer=True)
    check_number("n_features", n_features, low=1, integer=True)
    check_number("n_informative", n_informative, low=1, high=n_features, integer=True)
    check_number("signal", signal, low=0, low_open=True)
    check_number("correlation", correlation)
    if not -1 < correlation < 1:
        raise ValueError(
            f"correlation must be between -1 and 1, both excluded; got {correlation!r}."
        )
    check_number("outliers", outliers, low=0, high=1)


def _shares(imbalance: Any, n_targets: int, task: str) -> Array:
    """The share of each class, or of positive samples of each label."""
    if np.ndim(imbalance) == 0:
        check_number("imbalance", imbalance, low=1)
    if task == "regression" and not (np.ndim(imbalance) == 0 and imbalance == 1):
        raise ValueError("imbalance must be 1 for task='regression': numbers have no classes.")
    if np.ndim(imbalance):
        return _given_shares(imbalance, n_targets, task)
    if task == "multilabel":
        return np.full(n_targets, 1 / (1 + imbalance))
    sizes = float(imbalance) ** -np.linspace(0, 1, n_targets)
    return sizes / sizes.sum()


def _given_shares(imbalance: Any, n_targets: int, task: str) -> Array:
    try:
        shares = np.asarray(imbalance, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.empty(0)
    if shares.shape != (n_targets,) or not np.all((shares > 0) & (shares < 1)):
        raise ValueError(
            f"imbalance must be a number of at least 1, or {n_targets} shares between 0 and 1; "
            f"got {imbalance!r}."
        )
    if task == "classification" and not np.isclose(shares.sum(), 1):
        raise ValueError(f"imbalance must hold shares that sum to 1; got {imbalance!r}.")
    return shares


# ------------------------------------------------------------------------------- the model
def _rows(rng: np.random.Generator, k: int, c: int, *, centred: bool) -> Array:
    """Rows of W: random directions of unit norm, for classes such that they sum to zero."""
    rows = rng.standard_normal((k, c))
    if centred:
        rows -= rows.mean(axis=1, keepdims=True)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _correlated(noise: Array, correlation: float) -> Array:
    """Rows of unit variance with correlation ``correlation ** abs(i - j)``, in place."""
    if correlation:
        fresh = np.sqrt(1 - correlation**2)
        for j in range(1, noise.shape[0]):
            noise[j] = correlation * noise[j - 1] + fresh * noise[j]
    return noise


def _separation(rows: Array, cov: Array | None) -> float:
    """Root mean square Mahalanobis distance of two classes."""
    products = rows.T @ (rows if cov is None else cov @ rows)
    c = rows.shape[1]
    # The sum over pairs of ||m_a - m_b||^2 is c sum ||m_a||^2 - ||sum m_a||^2.
    total = c * np.trace(products) - products.sum()
    return float(np.sqrt(total / (c * (c - 1) / 2)))


def _class_means(rows: Array, planted: Index, d: int, correlation: float) -> Array:
    """Σ W, of shape (d, c)."""
    means = np.zeros((d, rows.shape[1]))
    means[planted] = rows
    if correlation:
        # Σ is a sum over lags: the contributions of the columns to the left and to the right.
        left, right = means.copy(), means.copy()
        for j in range(1, d):
            left[j] += correlation * left[j - 1]
            right[d - 1 - j] += correlation * right[d - j]
        means = left + right - means
    return means


def _class_numbers(rng: np.random.Generator, n: int, shares: Array) -> Array:
    """Class numbers in random order, each class at least once."""
    sizes = np.maximum(np.floor(shares * n), 1).astype(np.intp)
    while sizes.sum() < n:
        sizes[np.argmax(shares * n - sizes)] += 1
    while sizes.sum() > n:
        sizes[np.argmax(np.where(sizes > 1, sizes - shares * n, -np.inf))] -= 1
    return rng.permutation(np.repeat(np.arange(shares.size), sizes))


def _linear_targets(
    rng: np.random.Generator, Z: Array, rows: Array, cov: Array | None, signal: float
) -> Array:
    """XW + noise, of shape (n, c), from the planted features Z (k x n)."""
    variance = np.einsum("jc,jc->c", rows, rows if cov is None else cov @ rows)
    noise = rng.standard_normal((Z.shape[1], rows.shape[1]))
    return Z.T @ rows + noise * (np.sqrt(variance) / signal)


def _above_threshold(values: Array, shares: Array) -> Array:
    """1 for the largest values of each column, as many as its share says, at least one."""
    n = values.shape[0]
    positive = np.clip(np.round(shares * n).astype(np.intp), 1, n - 1)
    rank = np.argsort(np.argsort(-values, axis=0), axis=0)
    return (rank < positive).astype(np.uint8)


def _spoil(rng: np.random.Generator, y: Array, task: str, n_targets: int, count: int) -> None:
    """Make ``count`` samples of y wrong, in place."""
    wrong = rng.permutation(y.shape[0])[:count]
    if task == "classification":
        y[wrong] = (y[wrong] + rng.integers(1, n_targets, count)) % n_targets
    elif task == "multilabel":
        y[wrong] = 1 - y[wrong]
    else:
        sides = rng.choice((-1.0, 1.0), (count, n_targets))
        y[wrong] += _GROSS * y.std(axis=0) * sides
