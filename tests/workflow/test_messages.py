"""Sentences name options as they are typed, and names of columns on one line."""

from __future__ import annotations

import ast
import shlex
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowsparse._parameters import Number
from rowsparse.workflow import messages, settings
from rowsparse.workflow.messages import InputError, check_setting, numbered, quoted, setting, shown

from ..cli.commands import options_of

MODULES = sorted(Path(messages.__file__).parent.glob("*.py"))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_a_setting_with_its_value_can_be_typed_as_it_is(value: str) -> None:
    words = shlex.split(setting("drop", value))
    assert words == ([f"--drop={value}"] if value.startswith("-") else ["--drop", value])


def test_a_wrong_value_and_a_wrong_type_name_their_setting() -> None:
    for value in (0, "{five}"):
        with pytest.raises(InputError, match="--k-max must be an integer of at least 1; got"):
            check_setting("k_max", value, Number(low=1, integer=True, optional=True))
    check_setting("k_max", None, Number(low=1, integer=True, optional=True))


def test_names_in_sentences_are_short_and_on_one_line() -> None:
    assert len(shown("n" * 10_000)) < 80
    assert shown("a\nb\x1b[31m") == "'a\\nb\\x1b[31m'"
    assert "\u202e" not in shown("a\u202eb")
    assert quoted([]) == ""
    assert quoted(["a"]) == "'a'"
    assert quoted(["a", "b", "c"]) == "'a', 'b' and 'c'"


@given(st.lists(st.sampled_from(["a", "b", "a (2)", "a (3)", "b (2)"])))
def test_numbered_names_are_different_and_the_first_of_each_stays(names: list[str]) -> None:
    found, changed = numbered(names)
    assert len(set(found)) == len(found)
    assert [new for new, old in zip(found, names, strict=True) if new == old] == list(
        dict.fromkeys(names)
    )
    assert changed == len(names) - len(set(names))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_option_in_a_sentence_is_one_of_a_command(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    named = [node.args[0] for node in calls if ast.unparse(node.func) == "setting"]
    names = {node.value for node in named if isinstance(node, ast.Constant)}
    assert {setting(str(name)) for name in names} <= options_of()
    kinds = [kind for kind in vars(settings).values() if isinstance(kind, type)]
    kinds = [kind for kind in kinds if issubclass(kind, settings.Settings) and is_dataclass(kind)]
    every = {field.name for kind in kinds for field in fields(kind)}
    assert {setting(name) for name in every - {"keep_all"}} <= options_of()
