"""Warnings name the line of the user's code, however deep the call is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from rowsparse import RFS, FStatistic, TopK, topk_path
from rowsparse.selectors.base.messages import warn_user

Y = np.arange(30) % 3
X = np.random.default_rng(0).standard_normal((30, 4)) + np.eye(3, 4)[Y]

CALLS = {
    "a linear model": lambda: TopK(9).fit(X, Y),
    "a score": lambda: FStatistic(9).fit(X, Y),
    "scikit-learn between": lambda: make_pipeline(TopK(9)).fit_transform(X, Y),
    "a function": lambda: topk_path(X, Y, 9),
    "directly": lambda: warn_user("here"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_points_here(name):
    with pytest.warns(UserWarning, match=r"9 is greater|^here$") as caught:
        CALLS[name]()
    assert [w.filename for w in caught] == [__file__]


def test_the_category_is_kept():
    with pytest.warns(ConvergenceWarning, match="RFS did not converge in .* raise max_iter"):
        RFS(2, solver="irls", max_iter=1).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        TopK(9).fit(X, Y)
