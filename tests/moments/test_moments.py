"""Moments: what they accept, and that nothing of a refused block counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rowsparse import Moments, TopK


@pytest.fixture
def moments() -> Moments:
    X = np.arange(12.0).reshape(6, 2) ** 2
    return Moments().update(X, [0, 1, 0, 1, 0, 1])


def test_nothing_is_known_of_no_samples() -> None:
    empty = Moments("regression")
    assert (empty.n_samples, empty.n_features, empty.weight, empty.task) == (
        0,
        0,
        0.0,
        "regression",
    )
    with pytest.raises(ValueError, match="of no samples"):
        _ = empty.statistics
    with pytest.raises(ValueError, match="n_samples = 0"):
        TopK(1).fit_moments(empty)


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        (np.ones((2, 3)), [0, 1], None, "X has 3 columns, but that of earlier blocks had 2"),
        (np.array([[1.0, np.nan]]), [0], None, "NaN in column 1"),
        (np.array([[1.0, 1e200]]), [0], None, "column 1 too large"),
        (np.ones((2, 2)), [0, 1, 1], None, "y has 3 samples"),
        (np.ones((2, 2)), [0, 1], [1, -1], "negative"),
        (np.ones((2, 2)), ["a", "b"], None, "of one kind"),
        (np.ones((2, 2)), [0.5, 1.5], None, "task='regression'"),
    ],
)
def test_a_refused_block_changes_nothing(
    moments: Moments, X: Any, y: Any, weight: Any, message: str
) -> None:
    before = moments.copy().statistics
    with pytest.raises(ValueError, match=message):
        moments.update(X, y, weight)
    for name, value in vars(before).items():
        np.testing.assert_array_equal(value, getattr(moments.statistics, name))


def test_an_empty_block_adds_nothing_but_must_have_the_same_columns(moments: Moments) -> None:
    moments.update(np.empty((0, 2)), [])
    assert moments.n_samples == 6
    with pytest.raises(ValueError, match="3 columns"):
        moments.update(np.empty((0, 3)), [])


def test_names_of_columns_are_kept_and_compared() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 1.0]})
    named = Moments().update(frame, [0, 1])
    assert named.feature_names is not None
    assert named.feature_names.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="'b' in column 0, where earlier blocks had 'a'"):
        named.update(frame[["b", "a"]], [0, 1])
    assert TopK(1).fit_moments(named).feature_names_in_.tolist() == ["a", "b"]


def test_samples_of_weight_zero_are_not_there(moments: Moments) -> None:
    X, y = np.random.default_rng(0).standard_normal((5, 2)), [0, 1, 1, 0, 7]
    moments.update(X, y, [1, 1, 1, 1, 0])
    assert moments.n_samples == 10
    assert moments.classes is not None
    assert moments.classes.tolist() == [0, 1]


def test_merging_and_subtracting_classes_that_only_one_part_has(moments: Moments) -> None:
    rng = np.random.default_rng(0)
    other = Moments().update(sp.csr_array(rng.standard_normal((4, 2))), [2, 0, 2, 0])
    both = moments.copy().merge(other)
    assert both.classes is not None
    assert both.classes.tolist() == [0, 1, 2]
    back = both.copy().subtract(other)
    np.testing.assert_allclose(back.statistics.x_square, moments.statistics.x_square)
    with pytest.raises(ValueError, match="not all of them among"):
        moments.copy().subtract(both)
    assert Moments().merge(other).n_samples == 4
    assert both.copy().merge(Moments()).n_samples == both.copy().subtract(Moments()).n_samples


def test_moments_that_differ_in_kind_are_not_merged(moments: Moments) -> None:
    with pytest.raises(ValueError, match="products=True and products=False"):
        moments.merge(Moments(products=False).update([[1.0, 2.0]], [0]))
    with pytest.raises(ValueError, match="3 columns"):
        moments.merge(Moments().update([[1.0, 2.0, 3.0]], [0]))


def test_the_repr_says_how_much_there_is(moments: Moments) -> None:
    assert repr(moments) == "Moments(6 samples, 2 features, classification)"


def test_only_some_columns() -> None:
    X = np.random.default_rng(0).standard_normal((20, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    part = Moments().update(frame, np.arange(20) % 2).only(np.array([1, 3]))
    assert part.feature_names is not None
    assert part.feature_names.tolist() == ["b", "d"]
    np.testing.assert_allclose(part.statistics.x_mean, X[:, [1, 3]].mean(axis=0))
