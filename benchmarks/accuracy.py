"""Folds, and the accuracy of a linear SVM on what was selected inside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.certificate import Array
from benchmarks.data import Data

SIZES = (5, 10, 20, 40)
FOLDS = 5
Classes = NDArray[np.intp]
Supports = dict[int, NDArray[np.intp]]
Select = Callable[[Array, Classes], Supports]


def folds(
    data: Data, repeats: int, n_folds: int = FOLDS
) -> Iterator[tuple[Array, Classes, Array, Classes]]:
    """Training and test parts, standardised by the training part."""
    for repeat in range(repeats):
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=repeat)
        for train, test in splitter.split(data.X, data.y):
            scaler = StandardScaler().fit(data.X[train])
            X, X_test = scaler.transform(data.X[train]), scaler.transform(data.X[test])
            yield X, data.y[train], X_test, data.y[test]


def judged(X: Array, y: Classes, X_test: Array, y_test: Classes, S: NDArray[np.intp]) -> float:
    """The accuracy of the judge on a support."""
    return float(SVC(kernel="linear", C=1.0).fit(X[:, S], y).score(X_test[:, S], y_test))
