"""The benchmark sets of the papers by name, and data with planted features.

Downloading needs pooch: ``pip install "rowsparse[data]"``. A folder of your own does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowsparse.datasets.catalog import DatasetInfo, dataset_info, list_datasets
    from rowsparse.datasets.fetch import CorruptDataError, Dataset, MissingDataError, load
    from rowsparse.datasets.generate import make_row_sparse

__all__ = [
    "CorruptDataError",
    "Dataset",
    "DatasetInfo",
    "MissingDataError",
    "dataset_info",
    "list_datasets",
    "load",
    "make_row_sparse",
]

_HOME = {
    "CorruptDataError": "fetch",
    "Dataset": "fetch",
    "DatasetInfo": "catalog",
    "MissingDataError": "fetch",
    "dataset_info": "catalog",
    "list_datasets": "catalog",
    "load": "fetch",
    "make_row_sparse": "generate",
}


def __getattr__(name: str) -> Any:
    # The generators need scikit-learn, which takes seconds to import; the catalogue does not.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
