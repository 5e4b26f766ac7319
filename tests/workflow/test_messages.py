"""Sentences name settings as the interface does that shows them; the workflow knows no flags."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from rowsparse._parameters import Number
from rowsparse.workflow import messages, settings
from rowsparse.workflow.messages import (
    InputError,
    InputTypeError,
    Message,
    check_setting,
    quoted,
    setting,
    shown,
)

MODULES = sorted(Path(messages.__file__).parent.glob("*.py"))
SETTINGS = {field.name for name in settings.__all__ for field in fields(getattr(settings, name))}
# Functions and their parameters that sentences name too.
OTHERS = {"force", "list_selectors", "out", "stream"}


def spelled(name: str, value: object) -> str:
    return f"<{name} {value!r}>"


def test_a_message_names_settings_as_python_does_or_as_told() -> None:
    message = Message(f"Gaps in {{x}}: {setting('impute', 'median')} or {setting('drop')}.")
    assert message == "Gaps in {x}: impute='median' or drop."
    assert message.settings == ("impute", "drop")
    assert message.spelled(spelled) == "Gaps in {x}: <impute 'median'> or <drop None>."


@pytest.mark.parametrize("value", [13, (5, 5), "auto", 0])
def test_values_of_settings_come_back(value: object) -> None:
    error = InputError(f"{setting('k', value)} is odd.")
    assert str(error) == f"k={value!r} is odd."
    assert error.settings == ("k",)
    found: list[object] = []
    error.message.spelled(lambda name, it: found.append(it) or name)
    assert found == [value]


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_keep_the_settings(clone: object) -> None:
    message = clone(Message(f"Fill with {setting('impute')}."))  # type: ignore[operator]
    assert message.spelled(spelled) == "Fill with <impute None>."
    error = clone(InputError(f"Leave out with {setting('drop')}."))  # type: ignore[operator]
    assert (str(error), error.settings) == ("Leave out with drop.", ("drop",))


def test_a_wrong_value_and_a_wrong_type_name_their_setting() -> None:
    with pytest.raises(InputError, match="k_max must be an integer of at least 1; got 0") as error:
        check_setting("k_max", 0, Number(low=1, integer=True))
    assert error.value.settings == ("k_max",)
    with pytest.raises(InputTypeError, match="k_max must be an integer") as wrong:
        check_setting("k_max", "{five}", Number(low=1, integer=True))
    assert wrong.value.settings == ("k_max",)
    assert isinstance(wrong.value, TypeError)


def test_names_in_sentences_are_short_and_on_one_line() -> None:
    assert len(shown("n" * 10_000)) < 80
    assert shown("a\nb\x1b[31m") == "'a\\nb\\x1b[31m'"
    assert "\u202e" not in shown("a\u202eb")
    assert quoted([]) == ""
    assert quoted(["a"]) == "'a'"
    assert quoted(["a", "b", "c"]) == "'a', 'b' and 'c'"


# -------------------------------------------------------------------- the words of the workflow
def strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def flags(source: str) -> list[str]:
    """Whatever looks like an option of a command, in the strings of a module."""
    words = "\n".join(strings(ast.parse(source)))
    return re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", words)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_string_of_the_workflow_names_a_flag(path: Path) -> None:
    assert flags(path.read_text(encoding="utf-8")) == []


def test_flags_are_found() -> None:
    source = '''f"take --k-max {k}", "(-k 3)", "a non-word", "x - y", "utf-8-sig"'''
    assert sorted(flags(source)) == ["--k-max", "-k"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_name_in_a_sentence_is_that_of_a_setting(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    named = [node.args[0] for node in calls if ast.unparse(node.func) == "setting"]
    names = {node.value for node in named if isinstance(node, ast.Constant)}
    assert names <= SETTINGS | OTHERS
