"""Moments: what they accept, targets in blocks, and samples dealt out to parts."""

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rowsparse import Moments, TopK
from rowsparse.moments.moments import GrowingTargets
from rowsparse.moments.parts import MomentsInParts, counted_labels, merged


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
    assert repr(moments) == "Moments(10 samples, 2 features, classification)"


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


def test_only_some_columns() -> None:
    X = np.random.default_rng(0).standard_normal((20, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    part = Moments().update(frame, np.arange(20) % 2).only(np.array([1, 3]))
    assert part.feature_names is not None
    assert part.feature_names.tolist() == ["b", "d"]
    np.testing.assert_allclose(part.statistics.x_mean, X[:, [1, 3]].mean(axis=0))


# -------------------------------------------------------------------------------- targets in blocks
@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1, 2], [1.5, 2.5], "pass task='regression'"),
        ([1, 2], ["a", "b"], "of one kind"),
        ([1, 2], list(range(60)), "or task='classification' if all of them are classes"),
        ([[0.5, 1.5], [2.5, 1.0]], [[0.5], [1.5]], "y has 1 columns"),
        ([[0, 1], [1, 0]], [[0, 2], [1, 0]], "only 0 and 1"),
    ],
)
def test_a_block_of_another_kind_is_refused(first: object, second: object, message: str) -> None:
    columns = GrowingTargets.from_first_block(np.array(first), "auto")
    with pytest.raises(ValueError, match=message):
        columns.encoded(np.array(second))


def test_whole_numbers_of_a_first_block_are_classes_if_they_are_few() -> None:
    for y, task in ((np.arange(20), "classification"), (np.arange(21), "regression")):
        assert GrowingTargets.from_first_block(y, "auto").task == task
    numbers = GrowingTargets.from_first_block(np.arange(5), "auto")
    few, _ = numbers.encoded(np.arange(49.0))
    assert few.width == 49
    given, _ = GrowingTargets.from_first_block(np.arange(5), "classification").encoded(
        np.arange(200)
    )
    assert given.width == 200


def test_a_close_guess_is_told_from_all_blocks() -> None:
    columns = GrowingTargets.from_first_block(np.arange(5), "auto")
    assert columns.doubt(np.full(5, 9.0)) is None
    for counts in ([1.0, 9.0, 9.0, 9.0, 9.0], [1.0, 1.0, 1.0, 1.0, 9.0]):
        assert "5 different whole numbers, taken as classes" in str(columns.doubt(np.array(counts)))
    assert GrowingTargets.from_first_block(np.arange(5), "classification").doubt(np.ones(5)) is None


# ----------------------------------------------------------------------- samples dealt out to parts
rng = np.random.default_rng(0)
X = rng.standard_normal((50, 3))


@pytest.mark.parametrize("step", [50, 7])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_samples_of_each_class_are_dealt_in_turn(step: int, sparse: bool) -> None:
    y = np.sort(rng.integers(0, 3, 50))
    part = np.empty(50, dtype=int)
    for c in range(3):
        part[y == c] = np.arange(np.count_nonzero(y == c)) % 4
    dealt = MomentsInParts(4, "auto", products=True)
    for start in range(0, 50, step):
        rows = slice(start, start + step)
        dealt.update(sp.csr_array(X[rows]) if sparse else X[rows], y[rows])
    for p in range(4):
        expected = Moments().update(X[part == p], y[part == p]).statistics
        found = dealt.parts[p].with_classes_of(merged(dealt.parts)).statistics
        assert found.n_rows == expected.n_rows
        np.testing.assert_allclose(found.full_xx(), expected.full_xx(), atol=1e-12)
    whole = Moments().update(X, y).statistics
    np.testing.assert_allclose(merged(dealt.parts).statistics.full_xx(), whole.full_xx())


def test_no_part_has_seen_a_block_that_is_refused() -> None:
    dealt = MomentsInParts(2, "auto", products=True)
    dealt.update(X, rng.integers(0, 2, 50))
    with pytest.raises(ValueError, match="of one kind"):
        dealt.update(X, np.array(["a"] * 50))
    assert merged(dealt.parts).n_samples == 50


def test_merging_leaves_the_parts_as_they_are() -> None:
    parts = [Moments().update(X[:20], X[:20, 0]), Moments().update(X[20:], X[20:, 0])]
    assert merged(parts).n_samples == 50
    assert [part.n_samples for part in parts] == [20, 30]
    with pytest.raises(ValueError, match="at least one"):
        merged([])
    with pytest.raises(TypeError, match="got ndarray"):
        merged([parts[0], X])  # type: ignore[list-item]


@pytest.mark.parametrize("classes", [False, True])
def test_blocks_apart_are_dealt_as_in_turn_if_they_know_what_was_before(classes: bool) -> None:
    y = np.sort(rng.integers(0, 3, 50)) if classes else X[:, 0]
    expected = MomentsInParts(4, "auto", products=True)
    expected.update(X, y)
    before = counted_labels(y[:23], "auto")
    assert before == ({0: (y[:23] == 0).sum(), 1: (y[:23] == 1).sum()} if classes else {None: 23})
    pair = [
        MomentsInParts(4, "auto", products=True),
        MomentsInParts(4, "auto", products=True, before=before),
    ]
    pair[0].update(X[:23], y[:23])
    pair[1].update(X[23:], y[23:])
    both = pair[0].merged(pair[1])
    for found, whole in zip(both.parts, expected.parts, strict=True):
        assert found.n_samples == whole.n_samples
        np.testing.assert_allclose(found.statistics.full_xx(), whole.statistics.full_xx())
    assert sum(part.n_samples for part in pair[0].parts) == 23
    assert sys.getsizeof(both) > 4 * both.parts[0].statistics.nbytes > 4 * 8 * 9
    assert counted_labels(y[:0], "auto") == {}
