"""RFS of scikit-feature, in the fork `skfeature-chappers` (GPL: called here, never copied).

Version 1.2.1 runs with NumPy 2 as it is, no shim is needed. Its only entry is ``rfs``, which takes
class numbers, trains on a matrix of +1 and -1, and gives the weights with ``mode="raw"``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from skfeature.function.sparse_learning_based.RFS import rfs
from skfeature.utility.sparse_learning import construct_label_matrix_pan


def targets(y: NDArray[np.intp]) -> NDArray[np.float64]:
    """The matrix that it trains on."""
    return np.asarray(construct_label_matrix_pan(y), dtype=np.float64)


def fit_rfs(X: NDArray[np.float64], y: NDArray[np.intp], gamma: float) -> NDArray[Any]:
    """W (d x c) after its own stopping rule: the objective changes by less than 1e-3."""
    return np.asarray(rfs(X, y, mode="raw", gamma=gamma))
