"""The score against the number of features, which several reports show."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rowsparse.report import numbers, words
from rowsparse.report.charts import Level, Mark, Series, line_chart
from rowsparse.report.page import both_widths
from rowsparse.report.svg import Svg

if TYPE_CHECKING:
    from rowsparse.workflow.results import KCurve

__all__ = ["k_curve", "metric_name", "score_limits", "score_ticks"]


def metric_name(metric: str) -> str:
    """What a metric is called."""
    return numbers.METRIC_NAMES.get(metric, metric)


def score_limits(metric: str) -> tuple[float, float]:
    """What no value of the metric can go beyond."""
    return (-math.inf, 1.0) if metric == "r2" else (0.0, 1.0)


def score_ticks(metric: str) -> Callable[[float], str]:
    """How values of the metric are written at an axis."""
    return lambda value: numbers.tick_score(metric, value)


def k_curve(curve: KCurve, taken: str, levels: Sequence[Level] = ()) -> Svg:
    """Mean score with a band of one standard deviation; `taken` is the word at the chosen k."""
    name = metric_name(curve.metric)
    mean, sd = np.asarray(curve.mean), np.nan_to_num(np.asarray(curve.sd, dtype=float))
    return both_widths(
        line_chart,
        [Series("", curve.ks, mean.tolist(), ((mean - sd).tolist(), (mean + sd).tolist()))],
        name="curve-chart",
        title=f"Cross-validated {name} against the number of features",
        desc=words.curve_sentence(curve),
        x_label="number of features k",
        y_label=f"{name}, mean ± sd over the folds",
        x_ticks=curve.ks,
        y_format=score_ticks(curve.metric),
        limits=score_limits(curve.metric),
        marks=[Mark(curve.chosen_k, f"{taken}: {curve.chosen_k:,}")],
        levels=levels,
    )
