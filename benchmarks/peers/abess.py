"""Best subsets by splicing, the package abess."""

from __future__ import annotations

from typing import Any

import numpy as np
from abess import (
    CoxPHSurvivalAnalysis,
    LogisticRegression,
    MultinomialRegression,
    MultiTaskRegression,
    PoissonRegression,
)
from numpy.typing import NDArray


def select(
    X: NDArray[np.float64], y: NDArray[Any], k: int, *, ridge: float = 0.0, model: str = ""
) -> NDArray[np.intp]:
    """The features with coefficients, in its default settings; there may be fewer than k, or none.

    Least squares for a matrix of targets, (multinomial) logistic regression for classes; or the
    model "poisson" of a column of counts, or "cox" of columns of events and of times. The ridge is
    the weight of ||W||^2 / 2.
    """
    # Asked for more features than there are, the library does not raise: it ends the process.
    size = min(k, *X.shape)
    if model:
        kind = PoissonRegression if model == "poisson" else CoxPHSurvivalAnalysis
        y = y[:, 0] if model == "poisson" else y[:, ::-1]
    elif y.ndim == 2:
        kind, y = MultiTaskRegression, y.astype(np.float64, copy=False)
    else:
        kind = LogisticRegression if np.unique(y).size == 2 else MultinomialRegression
    coef = np.asarray(kind(support_size=size, alpha=ridge / 2).fit(X, y).coef_)
    return np.flatnonzero(coef.reshape(X.shape[1], -1).any(axis=1))
