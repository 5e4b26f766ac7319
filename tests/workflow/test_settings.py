"""Settings refuse what no table could make right."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from rowsparse.workflow.messages import InputError
from rowsparse.workflow.settings import (
    CompareSettings,
    MethodSettings,
    PathSettings,
    SelectSettings,
    TableSettings,
)


@pytest.mark.parametrize(
    ("kind", "values", "sentence"),
    [
        (
            TableSettings,
            {"impute": "zero"},
            "--impute must be one of 'median', 'mean', 'most_frequent'; got 'zero'.",
        ),
        (TableSettings, {"task": "guess"}, "--task must be one of 'auto', 'classification'"),
        (SelectSettings, {"k": 0}, "-k must be an integer of at least 1, or 'auto'; got 0."),
        (SelectSettings, {"k": 2.5}, "-k must be an integer of at least 1, or 'auto'; got 2.5."),
        (SelectSettings, {"k": "many"}, "-k must be an integer of at least 1, or 'auto'; got"),
        (
            SelectSettings,
            {"k": "auto", "cv": 0},
            "-k auto needs cross-validation: --cv must be at least 2.",
        ),
        (SelectSettings, {"k": "auto", "k_max": 0}, "--k-max must be an integer of at"),
        (SelectSettings, {"k": 2, "stability": 1}, "--stability needs at least 2"),
        (SelectSettings, {"k": 2, "stability": -1}, "--stability must be an integer"),
        (SelectSettings, {"k": 2, "loss": "cubed"}, "--loss must be one of 'auto', 'squared'"),
        (CompareSettings, {"k": (2, 0)}, "-k must be an integer of at least 1; got 0."),
        (
            CompareSettings,
            {"k": (2,), "methods": ()},
            "--methods must name at least one method: see 'rowsparse methods'.",
        ),
        (PathSettings, {"k_max": 0}, "--k-max must be an integer of at least 1; got 0."),
        (PathSettings, {"loss": "l21"}, "--loss must be one of 'auto', 'squared', 'logistic'"),
    ],
)
def test_what_no_table_can_make_right(kind: Any, values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        kind(**values)
    assert str(caught.value).startswith(sentence)


def test_settings_do_not_change_and_become_those_of_another_kind() -> None:
    path = PathSettings(k_max=4, include="x", clip=2.0, seed=3)
    assert path.as_kind(MethodSettings) == MethodSettings(include="x", clip=2.0)
    with pytest.raises(FrozenInstanceError):
        path.cv = 2  # type: ignore[misc]
