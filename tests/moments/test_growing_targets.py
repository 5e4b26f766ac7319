"""Targets that come in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.moments.growing_targets import GrowingTargets
from rowsparse.targets import encode_targets


def test_classes_grow_and_stay_sorted() -> None:
    columns = GrowingTargets.of(np.array(["b", "b"]), "auto")
    columns, _ = columns.encoded(np.array(["b", "b"]))
    wider, Y = columns.encoded(np.array(["abc", "b", "d"]))
    assert wider.classes is not None
    assert wider.classes.tolist() == ["abc", "b", "d"]
    np.testing.assert_array_equal(Y, encode_targets(np.array(["abc", "b", "d"]), "auto").Y)
    assert columns.positions(wider).tolist() == [1]


def test_numbers_and_labels_are_taken_as_they_are() -> None:
    numbers = np.array([[1.5, 2.0], [0.5, 1.0]])
    columns = GrowingTargets.of(numbers, "auto")
    assert (columns.task, columns.width, columns.grouped) == ("regression", 2, False)
    np.testing.assert_array_equal(columns.encoded(numbers)[1], numbers)
    assert GrowingTargets.of(np.array([0.5, 1.5]), "auto").single_output
    assert GrowingTargets.of(np.array([[0, 1], [1, 1]]), "auto").task == "multilabel"


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
    columns = GrowingTargets.of(np.array(first), "auto")
    with pytest.raises(ValueError, match=message):
        columns.encoded(np.array(second))


def test_whole_numbers_of_a_first_block_are_classes_if_they_are_few() -> None:
    for y, task in ((np.arange(20), "classification"), (np.arange(21), "regression")):
        assert GrowingTargets.of(y, "auto").task == task
    few, _ = GrowingTargets.of(np.arange(5), "auto").encoded(np.arange(49.0))
    assert few.width == 49
    given, _ = GrowingTargets.of(np.arange(5), "classification").encoded(np.arange(200))
    assert given.width == 200


def test_a_close_guess_is_told_from_all_blocks() -> None:
    columns = GrowingTargets.of(np.arange(5), "auto")
    assert columns.doubt(np.full(5, 9.0)) is None
    for counts in ([1.0, 9.0, 9.0, 9.0, 9.0], [1.0, 1.0, 1.0, 1.0, 9.0]):
        assert "5 different whole numbers, taken as classes" in str(columns.doubt(np.array(counts)))
    assert GrowingTargets.of(np.arange(5), "classification").doubt(np.ones(5)) is None


def test_columns_of_other_tasks_are_not_united() -> None:
    classes, numbers = (GrowingTargets.of(np.array(y), "auto") for y in ([1, 2], [0.5, 1.5]))
    with pytest.raises(ValueError, match="taken for classification in some blocks"):
        classes.united(numbers)
