"""Choices of units, against all of them tried."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.solvers.choices import Choices


@st.composite
def drawn(draw):
    """Choices of columns or of groups of some of them, and non-negative scores of the columns."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    d = draw(st.integers(2, 8))
    owner = rng.integers(0, 4, d)
    groups = [np.flatnonzero(owner == g) for g in (0, 1, 2)]  # columns of 3 are in no group
    groups = [group for group in groups if group.size] if draw(st.booleans()) else None
    units = np.arange(d) if groups is None else np.arange(len(groups))
    if groups == []:
        groups, units = None, np.arange(d)
    roles = rng.choice(3, units.size, p=[0.6, 0.2, 0.2])
    roles[rng.integers(units.size)] = 0
    columns = units if groups is None else np.array([group[0] for group in groups])
    k = int(rng.integers(np.sum(roles == 1), np.sum(roles < 2) + 1))
    include, exclude = columns[roles == 1], columns[roles == 2]
    choices = Choices.from_columns(d, k, include=include, exclude=exclude, groups=groups)
    return choices, np.abs(rng.standard_normal(d)).round(1)


def sets_of(choices):
    """All choices."""
    free = set(range(choices.n_units)) - {*choices.fixed.tolist(), *choices.barred.tolist()}
    return [[*choices.fixed.tolist(), *more] for more in combinations(sorted(free), choices.n_free)]


@settings(max_examples=200, deadline=None)
@given(drawn())
def test_the_largest_sum_of_scores_is_that_of_all_sets(problem):
    choices, q = problem
    scores = choices.sums(q)
    allowed = choices.allowed(np.ones(q.size, dtype=bool))
    found = choices.largest(scores, choices.fixed, allowed)
    values = [scores[units].sum() for units in sets_of(choices)]
    assert found.total == pytest.approx(max(values))
    others = np.sort(scores[allowed])[::-1]
    assert found.last_in == (others[choices.n_free - 1] if choices.n_free else np.inf)
    assert found.first_out == (others[choices.n_free] if others.size > choices.n_free else 0.0)


@settings(max_examples=200, deadline=None)
@given(drawn())
def test_units_are_sets_of_columns(problem):
    choices, q = problem
    scores = choices.sums(q)
    for units in sets_of(choices):
        columns, bounds = choices.columns(units), choices.bounds(units)
        assert scores[units].sum() == pytest.approx(q[columns].sum())
        assert np.unique(columns).size == columns.size == bounds[-1]
        for unit, begin, end in zip(units, bounds[:-1], bounds[1:], strict=True):
            np.testing.assert_array_equal(choices.owner[columns[begin:end]], unit)
    assert choices.with_k(2).k == 2
    assert choices.columns([]).size == 0


@settings(max_examples=200, deadline=None)
@given(drawn(), st.integers(0, 255))
def test_units_with_a_live_column_may_enter_and_others_fill_up_last(problem, bits):
    choices, q = problem
    live = (bits >> np.arange(q.size)) % 2 == 1
    allowed = choices.allowed(live)
    for unit in range(choices.n_units):
        is_open = unit not in choices.fixed and unit not in choices.barred
        assert allowed[unit] == (is_open and live[choices.columns([unit])].any())
    strength = choices.sums(q)
    found = choices.filled(choices.fixed.tolist(), strength, allowed)
    assert len(set(found.tolist())) == found.size == choices.k
    assert set(choices.fixed.tolist()) <= set(found.tolist())
    assert not set(choices.barred.tolist()) & set(found.tolist())
    added = [unit for unit in found.tolist() if unit not in choices.fixed]
    left = set(range(choices.n_units)) - {*found.tolist(), *choices.barred.tolist()}
    for unit in added:
        rank = (allowed[unit], strength[unit])
        assert all(rank >= (allowed[other], strength[other]) for other in left)


def test_groups_of_one_are_columns_and_the_others_are_barred():
    choices = Choices.from_columns(5, 2, include=[4], exclude=[1], groups=[[4], [1], [2]])
    assert choices.groups is None
    assert choices.fixed.tolist() == [4]
    assert choices.barred.tolist() == [0, 1, 3]
