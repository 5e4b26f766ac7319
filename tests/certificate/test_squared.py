"""Bounds of the squared loss from the data, against enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse.certificate.choices import Choices
from rowsparse.certificate.data import Data
from rowsparse.certificate.squared import SquaredBounds, squared_objective


@pytest.mark.parametrize("n", [6, 30])
@pytest.mark.parametrize("seed", range(3))
def test_every_kind_of_bound_is_below_every_choice(seed, n):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, 7)), rng.standard_normal((n, 2))
    data = Data(X, Y, 3.0, X, Y, np.ones(n), False)
    bounds = SquaredBounds(data, np.arange(7), None)
    choices = Choices(np.array([1]), np.arange(7) != 1, 2)
    values = [
        squared_objective(data, np.array([1, *rest]))
        for rest in combinations([0, 2, 3, 4, 5, 6], 2)
    ]
    W = 0.3 * rng.standard_normal((3, 2))
    assert bounds.bound(np.array([0, 1, 4]), W, choices)[0] <= min(values)
    for bound in (bounds.last(choices), bounds.every(choices)):
        assert bound == pytest.approx(min(values), rel=1e-9)
        assert bound <= min(values)
