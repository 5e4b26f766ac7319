"""Warnings that point to the user's own code."""

from __future__ import annotations

import sys
import warnings

_INTERNAL = ("rowsparse", "sklearn")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside of this package and of scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while _package(frame.f_globals) in _INTERNAL and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package(module_globals: dict[str, object]) -> str:
    return str(module_globals.get("__name__", "")).partition(".")[0]
