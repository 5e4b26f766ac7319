"""What pictures ask of a selector."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from rowsparse import TopK
from rowsparse.plotting.features import feature_names, fitted_support


def test_the_support_is_the_mask_of_the_selector() -> None:
    selector = TopK(2, random_state=0).fit(*load_iris(return_X_y=True))
    assert np.array_equal(fitted_support(selector), selector.get_support())


def test_refused() -> None:
    with pytest.raises(NotFittedError):
        fitted_support(TopK())
    with pytest.raises(TypeError, match="must be a selector with get_support; got Ridge"):
        fitted_support(Ridge())


def test_names_are_those_of_the_table_or_those_of_scikit_learn() -> None:
    table, y = load_iris(return_X_y=True, as_frame=True)
    selector = TopK(2, random_state=0).fit(table, y)
    assert feature_names(selector, 4) == list(table.columns)
    selector.fit(table.to_numpy(), y)
    names = np.array(feature_names(selector, 4))
    assert names[selector.get_support()].tolist() == selector.get_feature_names_out().tolist()
