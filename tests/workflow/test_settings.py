"""Settings refuse what no table could make right."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from rowsparse.workflow.messages import InputError, InputTypeError
from rowsparse.workflow.settings import (
    CompareSettings,
    PathSettings,
    SelectSettings,
    TableSettings,
)


@pytest.mark.parametrize(
    ("kind", "values", "sentence", "names"),
    [
        (
            TableSettings,
            {"impute": "zero"},
            "impute must be one of 'median', 'mean', 'most_frequent'; got 'zero'.",
            "impute",
        ),
        (TableSettings, {"task": "guess"}, "task must be one of 'auto', 'classification'", "task"),
        (SelectSettings, {"k": 0}, "k must be an integer of at least 1; got 0.", "k"),
        (SelectSettings, {"k": 2.5}, "k must be an integer of at least 1; got 2.5.", "k"),
        (
            SelectSettings,
            {"k": "auto", "cv": 0},
            "k='auto' needs cross-validation: cv must be at least 2.",
            "k cv",
        ),
        (SelectSettings, {"k": "auto", "k_max": 0}, "k_max must be an integer of at", "k_max"),
        (SelectSettings, {"k": 2, "stability": 1}, "stability needs at least 2", "stability"),
        (SelectSettings, {"k": 2, "stability": -1}, "stability must be an integer", "stability"),
        (CompareSettings, {"k": (2, 0)}, "k must be an integer of at least 1; got 0.", "k"),
        (
            CompareSettings,
            {"k": (2,), "methods": ()},
            "methods must name at least one method: see list_selectors.",
            "methods list_selectors",
        ),
        (PathSettings, {"k_max": 0}, "k_max must be an integer of at least 1; got 0.", "k_max"),
    ],
)
def test_what_no_table_can_make_right(
    kind: Any, values: dict[str, Any], sentence: str, names: str
) -> None:
    with pytest.raises(InputError) as caught:
        kind(**values)
    assert str(caught.value).startswith(sentence)
    assert caught.value.settings == tuple(names.split())


def test_a_word_for_a_number_is_a_wrong_type() -> None:
    with pytest.raises(InputTypeError, match="k must be an integer of at least 1; got 'many'"):
        SelectSettings(k="many")  # type: ignore[arg-type]


def test_settings_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        SelectSettings(k=3).cv = 2  # type: ignore[misc]
