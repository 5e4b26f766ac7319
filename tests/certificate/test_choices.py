"""Sets of choices: none is lost or counted twice when they are divided."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.certificate.choices import Choices


def listed(choices):
    return {tuple(sorted(row)) for batch in choices.batches(3) for row in batch.tolist()}


def test_parts_of_a_set_are_the_whole():
    whole = Choices(np.array([2]), np.array([True, True, False, True, True]), 2)
    j, none = np.array([3]), np.zeros(0, dtype=int)
    without, with_it = whole.without(j, none), whole.without(none, j)
    assert listed(whole) == listed(without) | listed(with_it)
    assert not listed(without) & listed(with_it)
    assert len(listed(whole)) == 6
    assert with_it.count == 1
    assert not whole.is_empty
    assert whole.without(np.array([0, 1, 3]), none).is_empty


def test_a_feature_that_is_not_allowed_cannot_be_taken():
    whole = Choices(np.array([2]), np.array([True, False, False]), 1)
    with pytest.raises(ValueError, match="not allowed"):
        whole.without(np.array([1]), np.zeros(0, dtype=int))
