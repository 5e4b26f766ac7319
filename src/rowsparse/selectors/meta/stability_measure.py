"""How alike supports are, and intervals for shares of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from rowsparse._arrays import Array
from rowsparse._validation import check_number

__all__ = ["Stability", "stability", "wilson_interval"]


class Stability(NamedTuple):
    """An estimate of stability: 1 for identical supports, 0 on average for random ones."""

    value: float
    lower: float
    upper: float


def stability(supports: Any, confidence: float = 0.95) -> Stability:
    """How alike the supports are that a selector chose on different samples.

    With p_f the share of the m supports that have feature f, and kbar their mean size,

        1 - mean_f(m / (m - 1) p_f (1 - p_f)) / (kbar / d (1 - kbar / d))

    Parameters
    ----------
    supports : array-like of bool of shape (m, n_features)
        One support a row, at least two; 0 and 1 will do.
    confidence : float, default=0.95
        Probability with which the interval holds the stability of the selector.

    Returns
    -------
    Stability
        ``value`` and the ends of its asymptotic confidence interval, ``lower`` and ``upper``.
        Where all supports are empty, or all of them full, these are 1.

    References
    ----------
    S. Nogueira, K. Sechidis, G. Brown. On the stability of feature selection algorithms.
    Journal of Machine Learning Research 18, 2018.

    Examples
    --------
    >>> stability([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]]).value
    0.333...
    """
    check_number("confidence", confidence, low=0.0, high=1.0, low_open=True)
    Z = _checked_supports(supports)
    m, d = Z.shape
    shares, sizes = Z.mean(axis=0), Z.sum(axis=1) / d
    size = sizes.mean()
    spread = size * (1 - size)
    if spread == 0:
        return Stability(1.0, 1.0, 1.0)
    value = 1 - m / (m - 1) * np.mean(shares * (1 - shares)) / spread
    influence = Z @ shares / d - sizes * size
    influence += value / 2 * (2 * size * sizes - sizes - size + 1)
    influence /= spread
    error = 2 / m * np.sqrt(np.sum((influence - influence.mean()) ** 2))
    margin = ndtri((1 + confidence) / 2) * error
    # No m supports are less alike than by -1 / (m - 1), nor more than by 1.
    lower, upper = np.clip([value - margin, value + margin], -1 / (m - 1), 1.0).tolist()
    return Stability(float(value), lower, upper)


def _checked_supports(supports: Any) -> Array:
    Z = np.asarray(supports)
    if Z.ndim != 2 or Z.shape[0] < 2 or Z.shape[1] < 1:
        raise ValueError(f"supports must be at least two rows of flags; got shape {Z.shape}.")
    if Z.dtype.kind not in "biuf" or not np.isin(Z, (0, 1)).all():
        raise ValueError("supports must hold only True and False, or 1 and 0.")
    return Z.astype(np.float64)


def wilson_interval(counts: Array, m: int, confidence: float = 0.95) -> Array:
    """Wilson's confidence interval for the probability of what happened ``counts`` of m times.

    >>> wilson_interval(np.array([0, 5, 10]), 10).round(3)
    array([[0.   , 0.278],
           [0.237, 0.763],
           [0.722, 1.   ]])
    """
    z2 = ndtri((1 + confidence) / 2) ** 2
    shares = counts / m
    centre = (shares + z2 / (2 * m)) / (1 + z2 / m)
    margin = np.sqrt(z2 * (shares * (1 - shares) / m + z2 / (4 * m * m))) / (1 + z2 / m)
    return np.clip(np.stack([centre - margin, centre + margin], axis=1), 0.0, 1.0)
