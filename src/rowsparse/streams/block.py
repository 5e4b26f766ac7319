"""One block of samples, and errors that name the block."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Block", "in_block"]


class Block(NamedTuple):
    """Some samples: X, y and the sample weights, or None."""

    X: Any
    y: Any
    sample_weight: Any = None


def in_block(number: int, error: Exception, kind: str = "Block") -> Exception:
    """The error, with the number of the block in its sentence."""
    known = TypeError if isinstance(error, TypeError) else ValueError
    return known(f"{kind} {number}: {str(error).partition(chr(10))[0]}")
