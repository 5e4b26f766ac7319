"""Descents over neighbours, and the columns that count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from rowsparse.solvers.l21.local_search import descend, entry_rates, live_columns
from rowsparse.solvers.losses.l21 import L21Loss

from ..cases import design_of, plain, refit, regression


@dataclass
class Place:
    """A place in a valley of integers."""

    at: int

    @property
    def objective(self):
        return 1.0 + abs(self.at - 3)


def beside(place):
    return [Place(place.at - 1), Place(place.at + 1)]


def never(place):
    return False


def test_descends_to_the_bottom():
    point, settled = descend(Place(-4), [beside], stop=never)
    assert (point.at, settled) == (3, True)


def test_later_moves_are_asked_only_where_earlier_ones_fail():
    asked = []

    def far(place):
        asked.append(place.at)
        return [Place(3)] if place.at > 5 else []

    point, settled = descend(Place(8), [lambda place: [], far], stop=never)
    assert (point.at, settled) == (3, True)
    assert asked == [8, 3]
    asked.clear()
    descend(Place(-1), [beside, far], stop=never)
    assert asked == [3]


def test_stop_is_asked_at_every_point_and_leaves_the_search_unsettled():
    seen = []

    def at_zero(place):
        seen.append(place.at)
        return place.at == 0

    point, settled = descend(Place(-2), [beside], stop=at_zero)
    assert (point.at, settled) == (0, False)
    assert seen == [-2, -1, 0]


def test_a_gain_of_rounding_is_none():
    @dataclass
    class Value:
        objective: float

    start = Value(1.0)
    assert descend(start, [lambda _: [Value(1.0 - 1e-9)]], stop=never)[0] is start


@pytest.mark.parametrize("center", [True, False])
def test_constant_columns_are_not_live(center):
    X, Y = regression(20, 4)
    X = np.column_stack([X, np.full(20, 0.1), np.zeros(20)])
    loss = L21Loss.of(design_of(X, center), Y, None, fit_intercept=True)
    assert live_columns(loss).tolist() == [True] * 4 + [False] * 2
    if not center:
        raw = L21Loss.of(plain(X), Y, None, fit_intercept=False)
        assert live_columns(raw).tolist() == [True] * 5 + [False]


def test_entry_rates_are_the_slopes_of_the_loss():
    X, Y = regression(30, 6, 2, noise=1.0)
    fit = refit(plain(X), Y, [0, 1], tol=1e-10)
    rates = entry_rates(plain(X), fit.Theta, np.array([True] * 5 + [False]))
    np.testing.assert_allclose(rates[:2], 0.0, atol=1e-6)
    assert rates[5] == 0.0
    x = X[:, 2] / np.linalg.norm(X[:, 2])
    direction = x @ fit.Theta
    direction /= np.linalg.norm(direction)
    residual = Y - X[:, :2] @ fit.W - fit.b
    step = 1e-6
    moved = np.linalg.norm(residual - step * np.outer(x, direction), axis=1).sum()
    assert (fit.objective - moved) / step == pytest.approx(rates[2], rel=0.02)
