"""The order of the examples on the page of the gallery: from a first selection to special data."""

from __future__ import annotations

from pathlib import Path

FIRST = (
    "digits_pixels",
    "biomarkers",
    "multilabel",
    "regression",
    "groups",
    "pipeline",
    "text",
    "imbalance",
    "certificate",
    "proof",
    "near_optimal",
    "stability",
    "comparison",
    "corrected",
    "displays",
    "streaming",
    "dask",
)


class Order:
    """A sort key as sphinx-gallery makes and calls it; examples that are not listed come last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> tuple[int, str]:
        name = Path(filename).stem.removeprefix("plot_")
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)
