"""Pick exactly k features, for classes, labels or numbers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowsparse.selectors import (
        CDLSR,
        RFS,
        RPFS,
        LpInf,
        NmAPG,
        StabilitySelection,
        TopK,
        TopKCV,
        rfs_path,
        stability,
        topk_path,
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "CDLSR",
    "RFS",
    "RPFS",
    "LpInf",
    "NmAPG",
    "StabilitySelection",
    "TopK",
    "TopKCV",
    "__version__",
    "rfs_path",
    "stability",
    "topk_path",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes seconds to import: whoever asks for --help should not wait for it.
    if name in __all__:
        return getattr(import_module("rowsparse.selectors"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
