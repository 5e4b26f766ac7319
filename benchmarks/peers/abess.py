"""MultiTaskRegression of abess: best subsets by splicing."""

from __future__ import annotations

import numpy as np
from abess import MultiTaskRegression
from numpy.typing import NDArray


def select(X: NDArray[np.float64], Y: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """The features with coefficients, in its default settings; there may be fewer than k."""
    # Asked for more features than there are, the library does not raise: it ends the process.
    size = min(k, *X.shape)
    model = MultiTaskRegression(support_size=size).fit(X, Y)
    return np.flatnonzero(np.any(model.coef_ != 0, axis=1))
