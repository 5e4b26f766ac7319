"""The order of the steps of a proof."""

from __future__ import annotations

import numpy as np

from rowsparse.certificate.steps import Dual, Kind, Step, in_order, root_alone

DUAL = Dual(np.array([0]), np.ones((1, 1)))


def test_steps_come_in_the_order_of_the_stack():
    steps = {
        0: [Step(Kind.SCREEN, DUAL), Step(Kind.SPLIT, feature=7, children=(1, 2))],
        1: [Step(Kind.SPLIT, feature=8, children=(3, 4))],
        3: [Step(Kind.LAST)],
        2: [Step(Kind.BOUND, DUAL)],
    }
    ordered = in_order(steps, {4: None})
    kinds = [Kind.SCREEN, Kind.SPLIT, Kind.SPLIT, Kind.LAST, Kind.OPEN, Kind.BOUND]
    assert [step.kind for step in ordered] == kinds
    assert [step.feature for step in ordered[1:3]] == [7, 8]


def test_a_node_that_was_not_expanded_has_the_bound_of_its_parent():
    steps = {0: [Step(Kind.SPLIT, feature=3, children=(1, 2))]}
    ordered = in_order(steps, {1: DUAL, 2: None})
    assert [step.kind for step in ordered] == [Kind.SPLIT, Kind.BOUND, Kind.OPEN]
    assert ordered[1].dual is DUAL


def test_negative_keys_are_renamed_and_others_stay():
    step = Step(Kind.SPLIT, children=(-1, -2, 5))
    assert step.with_keys(10).children == (11, 12, 5)


def test_before_any_branching_there_is_one_bound_or_none():
    assert [step.kind for step in root_alone({})] == [Kind.OPEN]
    split = {0: [Step(Kind.SCREEN, DUAL), Step(Kind.SPLIT, feature=3, children=(1, 2))]}
    (bound,) = root_alone(split)
    assert (bound.kind, bound.dual) == (Kind.BOUND, DUAL)
    last = {0: [Step(Kind.SCREEN, DUAL), Step(Kind.LAST)]}
    assert root_alone(last) == last[0]
