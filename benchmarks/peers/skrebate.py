"""ReliefF of skrebate.

Version 0.8.4 runs with NumPy 2 and scikit-learn 1.9 as it is. It gives all classes of misses the
same weight, whatever their size, and lets a sample be its own hit in a class of at most
``n_neighbors`` samples; with two classes, or several of one size, it computes what ReliefF does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from skrebate import ReliefF


def weights(X: NDArray[np.float64], y: NDArray[np.intp], n_neighbors: int) -> NDArray[np.float64]:
    """The weight of every feature, on one thread."""
    model = ReliefF(n_features_to_select=1, n_neighbors=n_neighbors, n_jobs=1).fit(X, y)
    return np.asarray(model.feature_importances_, dtype=np.float64)
