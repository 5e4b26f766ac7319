"""RFS, Fisher score and ReliefF of scikit-feature, in the fork `skfeature-chappers`.

GPL: called here, never copied. Version 1.2.1 runs with NumPy 2 as it is. Its ``rfs``
takes class numbers, trains on a matrix of +1 and -1, and gives the weights with ``mode="raw"``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from skfeature.function.similarity_based.fisher_score import fisher_score
from skfeature.function.similarity_based.reliefF import reliefF
from skfeature.function.sparse_learning_based.RFS import rfs
from skfeature.utility.sparse_learning import construct_label_matrix_pan


def targets(y: NDArray[np.intp]) -> NDArray[np.float64]:
    """The matrix that it trains on."""
    return np.asarray(construct_label_matrix_pan(y), dtype=np.float64)


def fit_rfs(X: NDArray[np.float64], y: NDArray[np.intp], gamma: float) -> NDArray[Any]:
    """W (d x c) after its own stopping rule: the objective changes by less than 1e-3."""
    return np.asarray(rfs(X, y, mode="raw", gamma=gamma))


def fisher_order(X: NDArray[np.float64], y: NDArray[np.intp]) -> NDArray[Any]:
    """The features by falling Fisher scores, which rank as F does."""
    return np.asarray(fisher_score(X, y, mode="index"))


def relieff_order(X: NDArray[np.float64], y: NDArray[np.intp], n_neighbors: int) -> NDArray[Any]:
    """The features by falling weights; it divides by class weights where ReliefF multiplies."""
    return np.asarray(reliefF(X, y, mode="index", k=n_neighbors))
