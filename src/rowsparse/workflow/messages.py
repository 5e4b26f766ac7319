"""Sentences for the user, which name the settings that they are about, and errors made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from string import Formatter
from typing import Any, Self

from rowsparse._parameters import Constraint

__all__ = [
    "InputError",
    "InputTypeError",
    "Message",
    "Spelling",
    "check_setting",
    "counted",
    "holding",
    "listed",
    "one_line",
    "shown",
]

_LONGEST = 60

# How an interface writes a setting: its name, and its value as a Python literal or None.
Spelling = Callable[[str, str | None], str]


def in_python(setting: str, literal: str | None) -> str:
    """The setting as in a call: ``k`` or ``k=3``."""
    return setting if literal is None else f"{setting}={literal}"


class Message(str):
    """A sentence that may name settings.

    As a string it names them as Python does; :meth:`spelled` names them as another interface does.

    Parameters
    ----------
    template : str
        A format string. ``{name}`` stands for the value of that name, if there is one, otherwise
        for the setting of that name; ``{name:literal}`` for a setting with a value.
    **values : object
        What takes the place of the other fields.

    >>> message = Message('Fill the {n} gaps with {impute:"median"}.', n=3)
    >>> print(message)
    Fill the 3 gaps with impute="median".
    >>> message.spelled(lambda setting, literal: f"/{setting}")
    'Fill the 3 gaps with /impute.'
    """

    template: str
    values: dict[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        message = super().__new__(cls, _filled(template, values, in_python))
        message.template, message.values = template, values
        return message

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        return (self.template,), self.values

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings, in the order of the sentence."""
        fields = [field for _, field, _ in _parts(self.template) if field is not None]
        return tuple(dict.fromkeys(field for field in fields if field not in self.values))

    def spelled(self, spell: Spelling) -> str:
        """The sentence with settings written as an interface writes them."""
        return _filled(self.template, self.values, spell)


def _parts(template: str) -> Iterator[tuple[str, str | None, str]]:
    """Text, and the field that follows it with its format."""
    for text, field, spec, _ in Formatter().parse(template):
        yield text, field, spec or ""


def _filled(template: str, values: dict[str, object], spell: Spelling) -> str:
    words = []
    for text, field, spec in _parts(template):
        words.append(text)
        if field in values:
            words.append(format(values[field], spec))
        elif field is not None:
            words.append(spell(field, spec.format_map(values) or None))
    return "".join(words)


class _Explained(Exception):
    """An error whose message is a :class:`Message`."""

    def __init__(self, template: str, /, **values: object) -> None:
        is_message = isinstance(template, Message)
        super().__init__(template if is_message else Message(template, **values))

    @property
    def message(self) -> Message:
        """One sentence that says what is wrong and what to do."""
        message: Message = self.args[0]
        return message

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings concerned."""
        return self.message.settings


class InputError(_Explained, ValueError):
    """The input, a file or a setting, cannot be used."""


class InputTypeError(_Explained, TypeError):
    """A setting is of a wrong type."""


def check_setting(setting: str, value: Any, allowed: Constraint) -> None:
    """Refuse a value that a setting must not have."""
    try:
        allowed.check(setting, value)
    except (TypeError, ValueError) as error:
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        problem = str(error).removeprefix(setting)
        raise kind(f"{{{setting}}}{{problem}}", problem=problem) from None


# -------------------------------------------------------------------------- parts of sentences
def shown(name: str) -> str:
    """A name that may be anything, in quotation marks, on one line and not too long.

    >>> print(shown("gene"), shown("two\\nlines"))
    'gene' 'two\\nlines'
    """
    text = repr(name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def joined(words: Sequence[str]) -> str:
    """Words with commas and an "and" between."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def listed(names: Sequence[str], most: int = 5) -> str:
    """A few names, and how many more there are.

    >>> listed(["a", "b"]), listed(list("abcdefg"))
    ("'a' and 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    words = [shown(name) for name in names[:most]]
    if len(names) > most:
        words.append(f"{len(names) - most:,} more")
    return joined(words)


def holding(names: Sequence[str], link: str = "") -> str:
    """A few names and the verb that follows them.

    >>> holding(["a"]), holding(["a", "b"], ", which")
    ("'a' holds", "'a' and 'b', which hold")
    """
    return f"{listed(names)}{link} {'holds' if len(names) == 1 else 'hold'}"


def counted(n: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def one_line(error: Exception) -> str:
    """The first line of what an error says, as a sentence."""
    return str(error).partition("\n")[0].strip().rstrip(".") + "."
