"""AllFeatures: the baseline without any selection."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rowsparse._parameters import Allowed, AnyValue
from rowsparse.selectors.base.selector import ScoredFeatures, ScoreSelector
from rowsparse.selectors.base.source import Samples
from rowsparse.selectors.registry import register
from rowsparse.solvers.filters.class_statistics import group_statistics
from rowsparse.solvers.filters.group_comparisons import varying


@register("allfeatures", kind="baseline", reference="none")
class AllFeatures(ScoreSelector):
    """Every feature is kept, as the line that a selection has to beat.

    Parameters
    ----------
    n_features_to_select : object, default=None
        Ignored, so that :func:`get_selector` can make it like any other selector.
    {task}

    Attributes
    ----------
    support_, ranking_ : arrays of shape (n_features,)
        True and 1 throughout, for constant columns too.
    scores_ : array of shape (n_features,)
        1, or 0 for constant columns.
    {input}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import AllFeatures
    >>> X, y = load_iris(return_X_y=True)
    >>> AllFeatures().fit_transform(X).shape
    (150, 4)
    """

    supervised: ClassVar[bool] = False
    takes_device_arrays: ClassVar[bool] = True
    allowed: ClassVar[Allowed] = {"n_features_to_select": AnyValue()}

    def __init__(self, n_features_to_select: Any = None, *, task: str = "auto") -> None:
        self.n_features_to_select = n_features_to_select
        self.task = task

    def _number_to_select(self, d: int) -> int:
        return d

    def _score(self, source: Samples) -> ScoredFeatures:
        n, d = source.X.shape
        varies = varying(group_statistics(source.X, [np.arange(n)], None))
        # Constant columns are kept on purpose: none is marked as constant, which would warn.
        return ScoredFeatures(np.where(varies, 1.0, 0.0), np.ones(d, bool), support=np.arange(d))
