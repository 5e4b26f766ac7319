"""Sentences for the user, which name options as they are typed, and errors made of them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

from rowsparse._parameters import Constraint
from rowsparse._text import joined

_LONGEST = 60
# What is called at the command line otherwise than in Python, apart from dashes.
_FLAGS = {"k": "-k", "n_jobs": "--jobs"}


class InputError(ValueError):
    """The input, a file or a setting, cannot be used: a sentence for each problem, and its fix."""

    def __init__(self, *sentences: str) -> None:
        self.sentences = sentences
        head = f"{len(sentences)} problems:"
        super().__init__("\n- ".join([head, *sentences]) if len(sentences) > 1 else sentences[0])


class Problems:
    """What is wrong with the input, gathered so that one run tells of all of it.

    >>> problems = Problems()
    >>> for name in ("a", "b"):
    ...     with problems.gathered():
    ...         raise InputError(f"Column {name} is text.")
    >>> problems.refuse()
    Traceback (most recent call last):
    rowsparse.workflow.messages.InputError: 2 problems:
    - Column a is text.
    - Column b is text.
    """

    def __init__(self) -> None:
        self.sentences: list[str] = []

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep an InputError that is raised inside for later."""
        try:
            yield
        except InputError as error:
            self.sentences += error.sentences

    def refuse(self) -> None:
        """Raise one error with all problems, if there are any."""
        if self.sentences:
            raise InputError(*self.sentences)


def setting(name: str, value: object = None) -> str:
    """A setting as it is typed at the command line, alone or with a value.

    >>> setting("k", 5), setting("drop_missing_target"), setting("na_values", "-")
    ('-k 5', '--drop-missing-target', '--na-values=-')
    """
    flag = _FLAGS.get(name, "--" + name.replace("_", "-"))
    if value is None:
        return flag
    # Only after "=" may a value begin with a dash.
    return f"{flag}{'=' if str(value).startswith('-') else ' '}{shlex.quote(str(value))}"


def check_setting(name: str, value: Any, allowed: Constraint) -> None:
    """Refuse a value that a setting must not have."""
    if value is None and allowed.optional:
        return
    try:
        # A setting of None is one that was not given: nobody would set it to that.
        replace(allowed, optional=False).check(setting(name), value)
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from None


# What each package is needed for, and the extra that has it.
_PACKAGES = {
    "polars": ("Reading tables", "tables"),
    "fastexcel": ("Reading Excel", "excel"),
    "xlsxwriter": ("Writing Excel", "excel"),
    "anndata": ("Reading .h5ad", "bio"),
}


def required(package: str) -> Any:
    """Import a package, or say how to install it."""
    try:
        return import_module(package)
    except ImportError:
        what, extra = _PACKAGES[package]
        raise ImportError(f'{what} needs {package}: pip install "rowsparse[{extra}]".') from None


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


def split_names(text: str | None) -> list[str]:
    """What stands between commas.

    >>> split_names("a, b,"), split_names(None)
    (['a', 'b'], [])
    """
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def one_line(error: Exception) -> str:
    """The first line of what an error says, as a sentence."""
    return str(error).partition("\n")[0].strip().rstrip(".") + "."


def numbered(names: list[str]) -> tuple[list[str], int]:
    """Names made unique as in 'TP53', 'TP53 (2)', and how many were changed.

    >>> numbered(["TP53", "EGFR", "TP53"])
    (['TP53', 'EGFR', 'TP53 (2)'], 1)
    """
    taken, result, changed = set(names), [], 0
    seen: Counter[str] = Counter()
    for name in names:
        seen[name] += 1
        fresh = name
        while seen[name] > 1 and fresh in taken:
            fresh = f"{name} ({seen[name]})"
            seen[name] += fresh in taken
        changed += fresh != name
        taken.add(fresh)
        result.append(fresh)
    return result, changed
