"""Sentences for the user, which name the settings that they are about, and errors made of them."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Sequence
from typing import Any, Self

from rowsparse._parameters import Constraint
from rowsparse._text import joined

__all__ = [
    "InputError",
    "InputTypeError",
    "Message",
    "check_setting",
    "holding",
    "one_line",
    "quoted",
    "setting",
    "shown",
]

_LONGEST = 60
# A setting within a sentence stands between null characters, which no name can contribute.
_SETTING = re.compile("\0(\\w+)(?:=([^\0]*))?\0")


def setting(name: str, value: object = None) -> str:
    """A setting, alone or with a value, marked so that :class:`Message` finds it."""
    return f"\0{name}\0" if value is None else f"\0{name}={value!r}\0"


class Message(str):
    """A sentence with settings as Python writes them; other interfaces may write them otherwise.

    >>> message = Message(f"Fill the gaps with {setting('impute', 'median')}.")
    >>> print(message)
    Fill the gaps with impute='median'.
    >>> message.spelled(lambda name, value: f"/{name}:{value}")
    'Fill the gaps with /impute:median.'
    """

    marked: str

    def __new__(cls, marked: str) -> Self:
        message = super().__new__(cls, marked.replace("\0", ""))
        message.marked = marked
        return message

    def __getnewargs__(self) -> tuple[str]:
        return (self.marked,)

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings, in the order of the sentence."""
        return tuple(found[1] for found in _SETTING.finditer(self.marked))

    def spelled(self, spell: Callable[[str, Any], str]) -> str:
        """The sentence with settings as a function of name and value, or None, writes them."""
        return _SETTING.sub(lambda it: spell(it[1], it[2] and literal_eval(it[2])), self.marked)


class _Explained(Exception):
    """An error with one sentence that says what is wrong and what to do."""

    def __init__(self, marked: str) -> None:
        self.message = marked if isinstance(marked, Message) else Message(marked)
        super().__init__(self.message)

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings concerned."""
        return self.message.settings


class InputError(_Explained, ValueError):
    """The input, a file or a setting, cannot be used."""


class InputTypeError(_Explained, TypeError):
    """A setting is of a wrong type."""


def check_setting(name: str, value: Any, allowed: Constraint) -> None:
    """Refuse a value that a setting must not have."""
    try:
        allowed.check(name, value)
    except (TypeError, ValueError) as error:
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        # A setting of None is one that was not given: nobody would set it to that.
        words = re.sub(r",? or None", "", str(error).removeprefix(name))
        raise kind(setting(name) + words) from None


# -------------------------------------------------------------------------- parts of sentences
def shown(name: str) -> str:
    """A name that may be anything, in quotation marks, on one line and not too long.

    >>> print(shown("gene"), shown("two\\nlines"))
    'gene' 'two\\nlines'
    """
    text = repr(name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quoted(names: Sequence[str], most: int = 5) -> str:
    """A few names, and how many more there are.

    >>> quoted(["a", "b"]), quoted(list("abcdefg"))
    ("'a' and 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    return joined(map(shown, names), most)


def holding(names: Sequence[str], link: str = "") -> str:
    """A few names and the verb that follows them.

    >>> holding(["a"]), holding(["a", "b"], ", which")
    ("'a' holds", "'a' and 'b', which hold")
    """
    return f"{quoted(names)}{link} {'holds' if len(names) == 1 else 'hold'}"


def one_line(error: Exception) -> str:
    """The first line of what an error says, as a sentence."""
    return str(error).partition("\n")[0].strip().rstrip(".") + "."
