"""Constraints on parameters, with errors of one sentence."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Allowed",
    "AnyValue",
    "Constraint",
    "Either",
    "Flag",
    "Number",
    "OneOf",
    "Satisfies",
    "Several",
]

# Characters of a wrong value that an error shows.
_SHOWN = 100


@dataclass(frozen=True, kw_only=True)
class Constraint(ABC):
    """What a parameter may be; None too if it is ``optional``."""

    optional: bool = False

    @property
    @abstractmethod
    def wanted(self) -> str:
        """What is accepted, to follow "must be"; without None."""

    @abstractmethod
    def accepts(self, value: Any) -> bool:
        """Whether a value is accepted; None is handled by ``check``."""

    def error(self, value: Any) -> type[ValueError | TypeError]:
        """The error to raise: for a wrong type, or for a wrong value of the right type."""
        return ValueError

    def check(self, name: str, value: Any) -> None:
        """Refuse a value, in one sentence with the name of its parameter."""
        if (value is None and self.optional) or self.accepts(value):
            return
        wanted = self.wanted
        if self.optional:
            wanted += ", or None" if "," in wanted else " or None"
        raise self.error(value)(f"{name} must be {wanted}; got {_shown(value)}.")


# The constraint of each parameter of a class, by name.
Allowed = Mapping[str, Constraint]


@dataclass(frozen=True, kw_only=True)
class Number(Constraint):
    """A finite number within [low, high], without an end that is open; no bool.

    >>> Number(low=0, low_open=True, high=1).check("share", 2)
    Traceback (most recent call last):
    ValueError: share must be a number above 0 and at most 1; got 2.
    """

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    integer: bool = False

    @property
    def wanted(self) -> str:
        text = "an integer" if self.integer else "a number"
        ends = []
        if self.low > -math.inf:
            ends.append(f"{'above' if self.low_open else 'of at least'} {self.low:g}")
        if self.high < math.inf:
            ends.append(f"{'below' if self.high_open else 'at most'} {self.high:g}")
        return f"{text} {' and '.join(ends)}" if ends else text

    def accepts(self, value: Any) -> bool:
        kind: Any = numbers.Integral if self.integer else numbers.Real
        if not isinstance(value, kind) or _is_bool(value) or not _is_finite(value):
            return False
        above = value > self.low if self.low_open else value >= self.low
        below = value < self.high if self.high_open else value <= self.high
        return bool(above and below)

    def error(self, value: Any) -> type[ValueError | TypeError]:
        return ValueError if isinstance(value, numbers.Real) else TypeError


@dataclass(frozen=True)
class OneOf(Constraint):
    """One of some words."""

    options: tuple[str, ...]

    @property
    def wanted(self) -> str:
        listed = ", ".join(map(repr, self.options))
        return f"one of {listed}" if len(self.options) > 1 else listed

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options


@dataclass(frozen=True)
class Flag(Constraint):
    """True or False; no other value that Python treats as one of them."""

    @property
    def wanted(self) -> str:
        return "True or False"

    def accepts(self, value: Any) -> bool:
        return _is_bool(value)

    def error(self, value: Any) -> type[ValueError | TypeError]:
        return TypeError


@dataclass(frozen=True)
class Several(Constraint):
    """A list, tuple or one-dimensional array of at least ``least`` numbers, or of ``length``."""

    each: Number
    least: int = 0
    length: int | None = None

    @property
    def wanted(self) -> str:
        count = "" if self.length is None else f"{self.length} "
        return f"a sequence of {count}numbers, each {self.each.wanted}"

    def accepts(self, value: Any) -> bool:
        if not _is_sequence(value) or not all(self.each.accepts(v) for v in value):
            return False
        return len(value) >= self.least and self.length in (None, len(value))

    def error(self, value: Any) -> type[ValueError | TypeError]:
        return ValueError if _is_sequence(value) else TypeError


@dataclass(frozen=True)
class Either(Constraint):
    """What one of two constraints accepts."""

    first: Constraint
    second: Constraint

    @property
    def wanted(self) -> str:
        return f"{self.first.wanted}, or {self.second.wanted}"

    def accepts(self, value: Any) -> bool:
        return self.first.accepts(value) or self.second.accepts(value)


@dataclass(frozen=True)
class Satisfies(Constraint):
    """What passes a test; ``described`` says which."""

    described: str
    test: Callable[[Any], bool]
    kind: type[ValueError | TypeError] = ValueError

    @property
    def wanted(self) -> str:
        return self.described

    def accepts(self, value: Any) -> bool:
        return self.test(value)

    def error(self, value: Any) -> type[ValueError | TypeError]:
        return self.kind


@dataclass(frozen=True)
class AnyValue(Constraint):
    """Any value: it can only be checked together with the data."""

    @property
    def wanted(self) -> str:
        return "anything"

    def accepts(self, value: Any) -> bool:
        return True


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


def _is_sequence(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _shown(value: Any) -> str:
    """A value on one line, and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
