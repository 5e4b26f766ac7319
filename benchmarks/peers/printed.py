"""The prox of Kong and Ding (2014) as a program follows the printed page: row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def prox_row_by_row(A: NDArray[Any], t: float, p: float) -> NDArray[Any]:
    """For each row the linear search for k from c down, with 20 Newton steps for each k."""
    W = np.empty_like(A)
    for j, a in enumerate(A):
        W[j] = np.sign(a) * np.minimum(np.abs(a), _level(a, t, p))
    return W


def _level(a: NDArray[Any], t: float, p: float) -> float:
    b = np.sort(np.abs(a))[::-1]
    S = np.cumsum(b)
    s = 0.0
    with np.errstate(all="ignore"):
        for k in range(b.size, 0, -1):
            s = (S[k - 1] - t) / k
            if p < 1:
                for _ in range(20):
                    g = k * s - S[k - 1] + t * p * s ** (p - 1)
                    s = s - g / (k + t * p * (p - 1) * s ** (p - 2))
            if not s > b[k - 1]:
                break
    return float(s)
