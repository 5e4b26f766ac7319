"""Selectors compared with selection inside the folds, and methods over many data sets."""

from rowsparse.evaluation.curve import Record, SelectionCurve, selection_curve
from rowsparse.evaluation.dataset_comparison import Comparison, compare_over_datasets

__all__ = [
    "Comparison",
    "Record",
    "SelectionCurve",
    "compare_over_datasets",
    "selection_curve",
]
