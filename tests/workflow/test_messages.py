"""Sentences name settings as the interface does that shows them; the workflow knows no flags."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from string import Formatter

import pytest

from rowsparse._parameters import Number
from rowsparse.workflow import messages, settings
from rowsparse.workflow.messages import (
    InputError,
    InputTypeError,
    Message,
    check_setting,
    listed,
    shown,
)

MODULES = sorted(Path(messages.__file__).parent.glob("*.py"))
SETTINGS = {field.name for name in settings.__all__ for field in fields(getattr(settings, name))}
# What makes a message; `kind` is one of the errors.
MAKERS = {"InputError", "InputTypeError", "Message", "kind"}
# Functions and their parameters that sentences name too.
OTHERS = {"write_reduced", "out", "list_selectors"}


def spelled(setting: str, literal: str | None) -> str:
    return f"<{setting} {literal}>"


def test_a_message_names_settings_as_python_does_or_as_told() -> None:
    message = Message('{n:,} gaps in {name}: {impute:"median"} or {drop}.', n=1234, name="{x}")
    assert message == '1,234 gaps in {x}: impute="median" or drop.'
    assert message.settings == ("impute", "drop")
    assert message.spelled(spelled) == '1,234 gaps in {x}: <impute "median"> or <drop None>.'


def test_the_value_of_a_setting_may_be_given() -> None:
    error = InputError("{k:{value}} is more than {n}.", value=13, n=12)
    assert str(error) == "k=13 is more than 12."
    assert error.settings == ("k",)
    assert error.message.spelled(spelled) == "<k 13> is more than 12."
    assert str(InputError("{k:{value!r}} is odd.", value="auto")) == "k='auto' is odd."


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_keep_the_settings(clone: object) -> None:
    message = clone(Message("{name} holds gaps: {impute}.", name="{odd}"))  # type: ignore[operator]
    assert message.spelled(spelled) == "{odd} holds gaps: <impute None>."
    error = clone(InputError("{name}: {drop}.", name="{odd}"))  # type: ignore[operator]
    assert (str(error), error.settings) == ("{odd}: drop.", ("drop",))


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
    assert listed([]) == ""
    assert listed(["a"]) == "'a'"
    assert listed(["a", "b", "c"]) == "'a', 'b' and 'c'"


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


def templates(tree: ast.AST) -> Iterator[tuple[ast.expr, set[str]]]:
    """The templates of messages, and the names of the values that each is given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in MAKERS:
            yield node.args[0], {str(word.arg) for word in node.keywords}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_field_of_a_message_is_a_value_or_a_setting(path: Path) -> None:
    for template, values in templates(ast.parse(path.read_text(encoding="utf-8"))):
        if path.stem == "messages" and isinstance(template, ast.Name | ast.IfExp):
            continue
        text = ast.unparse(template)
        if isinstance(template, ast.JoinedStr):
            # Only the name of a setting may be put into a template: data may hold braces.
            put_in = [part for part in template.values if isinstance(part, ast.FormattedValue)]
            assert [ast.unparse(part.value) for part in put_in] == ["setting"], text
            words = [p.value if isinstance(p, ast.Constant) else "k" for p in template.values]
            text = "".join(map(str, words))
        else:
            assert isinstance(template, ast.Constant), f"{text} is not a template"
            text = template.value
        named = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
        assert named - values <= SETTINGS | OTHERS, text
