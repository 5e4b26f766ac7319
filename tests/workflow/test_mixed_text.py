"""Columns of numbers with a few words in them."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.workflow.messages import InputError
from rowsparse.workflow.mixed_text import refuse_mixed


def refuse(values: list[str | None], mostly: float = 0.5) -> None:
    column = np.array(values, dtype=object)
    refuse_mixed("u", column, "place {}".format, mostly=mostly, otherwise="leave it")


def test_the_first_word_is_named_with_its_place() -> None:
    with pytest.raises(InputError) as caught:
        refuse(["1", None, "ND", "2,5", "x", "1e3"])
    assert str(caught.value) == (
        "Column 'u' holds numbers, but 'ND' in place 2 and other text in 1 more row: correct the "
        "file, say with na_values='ND' that it is a missing value, or leave it."
    )


@pytest.mark.parametrize("word", ["a,b", "n" * 21])
def test_words_that_no_setting_can_hold_are_not_repeated(word: str) -> None:
    with pytest.raises(InputError, match="say with na_values that"):
        refuse(["1", "2", word])


def test_the_share_of_numbers_decides() -> None:
    refuse(["1", "x"])
    refuse(["1", "2", "3", "x"], mostly=0.75)
    refuse(["1", "2"])
    refuse([None])
