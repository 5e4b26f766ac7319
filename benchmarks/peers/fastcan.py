"""FastCan: forward selection by canonical correlation, greedy or with a beam."""

from __future__ import annotations

import numpy as np
from fastcan import FastCan
from numpy.typing import NDArray


def select(
    X: NDArray[np.float64], Y: NDArray[np.float64], k: int, beam_width: int = 1
) -> NDArray[np.intp]:
    """The k features, from standardised arrays; X by columns, which it need not copy then."""
    width = min(beam_width, X.shape[1])
    model = FastCan(n_features_to_select=k, beam_width=width, verbose=0).fit(X, Y)
    return np.asarray(model.indices_, dtype=np.intp)
