"""Each kind of constraint: what it accepts, what it refuses and what it says."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse._parameters import Anything, Either, Flag, Number, OneOf, Several, Such


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (Number(low=0, low_open=True, high=1, high_open=True), [0.5], [0, 1, 0.0, 1.0, True]),
        (Number(integer=True), [-3, np.uint8(4)], [1.0, "1", None, 10**400]),
        (OneOf(("a", "b"), optional=True), ["a", None], ["c", "ab", 1, ("a",)]),
        (Flag(), [True, np.False_], [1, 0.0, "True"]),
        (Either(Flag(), OneOf(("auto",))), [True, "auto"], [1, "automatic"]),
        (Such("even", lambda value: value % 2 == 0), [2, 0], [3]),
        (Several(Number(), length=2), [(1, 2)], [(1,), (1, 2, 3)]),
        (Several(Number(low=1), least=1), [[1, 2.5], np.ones(3)], [[], 1, "11", [0], np.eye(2)]),
    ],
)
def test_a_constraint_accepts_and_refuses(constraint, good, bad):
    for value in good:
        constraint.check("x", value)
    for value in bad:
        with pytest.raises((TypeError, ValueError), match=r"^x must be "):
            constraint.check("x", value)


def test_a_long_value_is_cut_short():
    with pytest.raises(TypeError, match=r"^x must be True or False; got \[0, 1, .*\.\.\.\.$") as e:
        Flag().check("x", list(range(10**4)))
    assert len(str(e.value)) < 200


@pytest.mark.parametrize(
    ("constraint", "value", "words"),
    [
        (Number(low=0), -1, "x must be a number of at least 0; got -1."),
        (Number(integer=True, high=3, optional=True), 4, "an integer at most 3 or None; got 4."),
        (OneOf(("a", "b"), optional=True), "c", "one of 'a', 'b', or None; got 'c'."),
        (Either(Flag(), OneOf(("auto",))), 2, "True or False, or 'auto'; got 2."),
    ],
)
def test_an_error_says_what_is_wanted(constraint, value, words):
    with pytest.raises(ValueError, match="x must be") as caught:
        constraint.check("x", value)
    assert str(caught.value).endswith(words)


def test_anything_is_left_to_whoever_has_the_data():
    for value in (None, "a", [object()]):
        Anything().check("x", value)
