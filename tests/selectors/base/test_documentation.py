"""Placeholders in docstrings become the entries that selectors share."""

from __future__ import annotations

import re

import pytest

from rowsparse import list_selectors, selector_info
from rowsparse.selectors.base.documentation import filled_docstring


def test_a_placeholder_is_replaced_at_its_indentation():
    @filled_docstring
    class Method:
        """A method.

        {task}
        """

        tasks = ("classification", "multilabel")
        supervised = False

    assert (
        '        task : {"auto", "classification", "multilabel"}, default="auto"\n'
        in Method.__doc__
    )
    assert '\n            What y holds, if it is given; "auto" follows' in Method.__doc__


def test_an_unknown_placeholder_is_an_error():
    class Method:
        """A method.

        {nothing}
        """

    with pytest.raises(KeyError, match="nothing"):
        filled_docstring(Method)


@pytest.mark.parametrize("name", list_selectors())
def test_no_selector_keeps_a_placeholder(name):
    assert not re.search(r"^ *\{\w+\}$", selector_info(name).cls.__doc__, re.MULTILINE)
