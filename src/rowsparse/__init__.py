"""Pick exactly k features, for classes, labels, numbers, counts or survival times."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowsparse.moments import Moments as Moments
    from rowsparse.selectors import *  # noqa: F403
    from rowsparse.streams import RowBlocks as RowBlocks

__version__ = "0.2.0"

# Public names that are not selectors, by module.
_HOMES = {"Moments": "moments", "RowBlocks": "streams"}


def __getattr__(name: str) -> Any:
    # scikit-learn takes seconds to import: whoever asks for --help should not wait for it.
    if name == "__all__":
        return __dir__()
    if name in _HOMES:
        return getattr(import_module(f"rowsparse.{_HOMES[name]}"), name)
    if not name.startswith("_"):
        selectors = import_module("rowsparse.selectors")
        if name in selectors.__all__:
            return getattr(selectors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return ["__version__", *_HOMES, *import_module("rowsparse.selectors").__all__]
