"""Evaluation of selectors: selection inside the folds, metrics, and tests over data sets."""

from rowsparse.evaluation.comparison import Comparison, compare_over_datasets
from rowsparse.evaluation.curve import (
    PROTOCOLS,
    default_estimators,
    evaluate_split,
    folds,
    judge_selection,
    selection_curve,
)
from rowsparse.evaluation.metrics import (
    METRICS,
    NEEDS_VALUES,
    is_better_low,
    prediction_score,
    prediction_scores,
    redundancy,
    refitted_objective,
    residue,
)
from rowsparse.evaluation.predictions import Predictions, predict
from rowsparse.evaluation.records import Record, SelectionCurve
from rowsparse.evaluation.supports import Selection, select_for_each, with_count
from rowsparse.selectors import stability

__all__ = [
    "METRICS",
    "NEEDS_VALUES",
    "PROTOCOLS",
    "Comparison",
    "Predictions",
    "Record",
    "Selection",
    "SelectionCurve",
    "compare_over_datasets",
    "default_estimators",
    "evaluate_split",
    "folds",
    "is_better_low",
    "judge_selection",
    "predict",
    "prediction_score",
    "prediction_scores",
    "redundancy",
    "refitted_objective",
    "residue",
    "select_for_each",
    "selection_curve",
    "stability",
    "with_count",
]
