"""The score against the number of features, which several reports show."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rowsparse.report.lines import Series, line_chart
from rowsparse.report.numbers import metric_name, tick_score
from rowsparse.report.score_words import curve_sentence
from rowsparse.report.svg import Svg

if TYPE_CHECKING:
    from rowsparse.workflow.results import KCurve

__all__ = ["k_curve", "mean_and_band", "score_axis"]


def score_axis(metric: str) -> dict[str, Any]:
    """How scores are written at an axis, and what no score can go beyond."""
    limits = (
        -math.inf if metric == "r2" else 0.0,
        math.inf if metric in ("log_loss", "mae") else 1.0,
    )
    return {"y_format": partial(tick_score, metric), "limits": limits}


def mean_and_band(mean: Any, sd: Any) -> tuple[list[float], tuple[list[float], list[float]]]:
    """Means, and the band of one standard deviation around them."""
    middle, half = (
        np.asarray(mean, dtype=np.float64),
        np.nan_to_num(np.asarray(sd, dtype=np.float64)),
    )
    return middle.tolist(), ((middle - half).tolist(), (middle + half).tolist())


def k_curve(curve: KCurve, taken: str, level: tuple[float, str] | None = None) -> Svg:
    """Mean score with a band of one standard deviation; `taken` is the word at the chosen k."""
    name = metric_name(curve.metric)
    return line_chart(
        [Series("", curve.ks, *mean_and_band(curve.mean, curve.sd))],
        label=f"Cross-validated {name} against the number of features. {curve_sentence(curve)}",
        x_label="number of features k",
        y_label=f"{name}, mean ± sd over the folds",
        x_ticks=curve.ks,
        mark=(curve.chosen_k, f"{taken}: {curve.chosen_k:,}"),
        levels=[] if level is None else [level],
        **score_axis(curve.metric),
    )
