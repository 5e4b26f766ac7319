"""The path of TopK on a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rowsparse import topk_path
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.select import find_path
from rowsparse.workflow.settings import PathSettings
from rowsparse.workflow.table import Table

from .planted import SCORE, D, make


def test_path_is_that_of_topk(numbers: Table) -> None:
    result = find_path(numbers, PathSettings(k_max=5, seed=1))
    expected = topk_path(numbers.X, numbers.y, 5, random_state=1)
    assert result.ks == (1, 2, 3, 4, 5)
    for found, support in zip(result.supports, expected.supports, strict=True):
        np.testing.assert_array_equal(found, support)
    assert result.objectives == tuple(expected.objectives.tolist())
    assert result.curve.metric == "r2"
    assert len(result.curve.mean) == 5
    assert find_path(numbers, PathSettings(cv=2, k_max=100)).ks[-1] == D
    with pytest.raises(ValueError, match="--k-max must be an integer"):
        find_path(numbers, PathSettings(k_max=0))
    with pytest.raises(InputError, match="--include has 2 columns, more than --k-max 1"):
        find_path(numbers, PathSettings(k_max=1, include="f1,f2"))


def test_a_path_of_clipped_columns(numbers: Table) -> None:
    result = find_path(numbers, PathSettings(k_max=3, clip=1.0, cv=2))
    expected = topk_path(numbers.X, numbers.y, 3, clip=1.0, random_state=0)
    assert result.objectives == tuple(expected.objectives.tolist())
    assert result.settings["clip"] == 1.0
    with pytest.raises(InputError, match="clip must be a number above 0"):
        PathSettings(clip=-1.0)


def test_a_category_is_one_step_of_a_path(tmp_path: Path) -> None:
    colour = np.array(["red", "green", "blue"])[np.digitize(SCORE, [-1, 1])]
    table = make(tmp_path, goal=SCORE, colour=colour)
    path = find_path(table, PathSettings(cv=2, k_max=3))
    named = [[path.names[j] for j in support] for support in path.supports]
    assert [len(names) for names in named] == [1, 2, 3]
    assert named[0] == ["colour"]
    assert not any("colour=" in name for names in named for name in names)
    assert any("together or not at all" in note for note in path.data.notes)
    assert find_path(table, PathSettings(cv=2, k_max=100)).ks[-1] == D + 1
    barred = find_path(table, PathSettings(cv=2, k_max=100, exclude="colour"))
    assert barred.ks[-1] == D
    assert all("colour" not in [barred.names[j] for j in support] for support in barred.supports)
    forced = find_path(table, PathSettings(cv=2, k_max=2, include="colour"))
    assert forced.ks == (1, 2)
    with pytest.raises(InputError, match="--include has 2 columns, more than --k-max 1"):
        find_path(table, PathSettings(k_max=1, include="colour,f1"))
