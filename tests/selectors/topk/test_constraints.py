"""Columns that must or must not be selected, and groups of columns."""

import numpy as np
import pytest

from rowsparse.selectors.topk.topk_problem import Constraints, resolve_columns, resolve_groups

NAMES = np.array(["a", "b", "c", "d", "e"])


def asked(include=None, exclude=None, groups=None) -> Constraints:
    return Constraints.resolved(include, exclude, groups, 5, NAMES)


@pytest.mark.parametrize("value", [["b", 3], ("d", 1), np.array([3, 1, 1]), {1, 3}, range(1, 4, 2)])
def test_columns_by_name_and_index_are_sorted_and_unique(value):
    assert resolve_columns("include", value, 5, NAMES) == [1, 3]


@pytest.mark.parametrize(("value", "found"), [(None, []), ("c", [2]), (4, [4]), (np.array(0), [0])])
def test_a_single_column_needs_no_list(value, found):
    assert resolve_columns("include", value, 5, NAMES) == found


@pytest.mark.parametrize(
    ("value", "names", "error", "words"),
    [
        (["a"], None, ValueError, "has the name 'a', but X came without column names"),
        (["z"], NAMES, ValueError, "has 'z', which is not a column of X"),
        ([5], NAMES, ValueError, "index 5, but X has the columns 0 to 4"),
        ([-1], NAMES, ValueError, "index -1"),
        ([True], NAMES, TypeError, "indices or names of columns; got True"),
        ([1.0], NAMES, TypeError, "indices or names of columns; got 1.0"),
    ],
)
def test_what_is_no_column_is_refused(value, names, error, words):
    with pytest.raises(error, match=words):
        resolve_columns("include", value, 5, names)


def test_a_column_fixes_or_bars_its_group():
    found = asked(include=["d"], exclude=["b"], groups=[["a", "b"], ["c", "d"]])
    assert [group.tolist() for group in found.groups] == [[0, 1], [2, 3], [4]]
    assert (found.noun, found.units.n_units, found.n_left) == ("groups", 3, 2)
    assert found.units.fixed.tolist() == [1]
    assert found.units.barred.tolist() == [0]
    choices = found.choices(2)
    assert (choices.fixed.tolist(), choices.barred.tolist()) == ([1], [0])


def test_labels_and_lists_give_the_same_groups():
    by_label = resolve_groups(["x", "y", "x", "y", "z"], 5, None)
    by_list = resolve_groups([["b", "d"], ["c", "a"]], 5, NAMES)
    assert [g.tolist() for g in by_label] == [g.tolist() for g in by_list] == [[0, 2], [1, 3], [4]]


@pytest.mark.parametrize(
    ("options", "k", "words"),
    [
        ({"include": [0], "exclude": [0]}, 2, "overlap in column 0"),
        ({"include": [0, 1, 2]}, 2, "include has 3 columns, more than n_features_to_select=2"),
        ({"exclude": [0, 1, 2, 3]}, 2, "exclude leaves 1 columns, fewer than"),
        ({"include": [0], "exclude": [1], "groups": [[0, 1]]}, 2, r"the group of columns \[0, 1\]"),
        ({"include": [0, 2], "groups": [[0, 1]]}, 1, "include has 2 groups, more than"),
    ],
)
def test_constraints_that_no_choice_meets_are_refused(options, k, words):
    with pytest.raises(ValueError, match=words):
        asked(**options).check(k)
