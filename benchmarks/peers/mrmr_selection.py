"""mRMR of the package mrmr-selection: F-statistics over correlations, the criterion "fcq".

Version 0.2.8 takes data frames only and computes F one column at a time. It floors each
correlation at 0.001 and, in the second step alone, drops features that correlate with the first
by exactly 1.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from mrmr import mrmr_classif
from numpy.typing import NDArray


def frames(X: NDArray[np.float64], y: NDArray[np.intp]) -> tuple[pd.DataFrame, pd.Series]:
    """The data as it takes them; not to be timed."""
    return pd.DataFrame(X), pd.Series(y)


def select(X: pd.DataFrame, y: pd.Series, k: int) -> NDArray[np.intp]:
    """The k features in the order of selection, on one thread."""
    return np.array(mrmr_classif(X, y, k, n_jobs=1, show_progress=False), dtype=np.intp)
