"""The order of the examples: first what to select, then how sure that is, then large data."""

from __future__ import annotations

from pathlib import Path

ORDER = (
    "plot_digits_pixels",
    "plot_biomarkers",
    "plot_multilabel",
    "plot_regression",
    "plot_groups",
    "plot_pipeline",
    "plot_text",
    "plot_imbalance",
    "plot_certificate",
    "plot_proof",
    "plot_stability",
    "plot_comparison",
    "plot_corrected",
    "plot_streaming",
    "plot_dask",
)


def place(filename: str) -> int:
    """Its place among the examples."""
    return ORDER.index(Path(filename).stem)
