"""How well a selection predicts, in plain words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rowsparse._text import counted
from rowsparse.report.names import isolated
from rowsparse.report.numbers import (
    best_word,
    metric_name,
    percent,
    score,
    spread,
    tick_score,
)
from rowsparse.report.words import features

if TYPE_CHECKING:
    from rowsparse.workflow.results import (
        Confusion,
        HoldoutScore,
        KCurve,
        SelectionResult,
        Verdict,
    )


__all__ = [
    "confusion_sentence",
    "curve_sentence",
    "holdout_sentence",
    "score_sentence",
    "verdict_sentence",
    "verdict_words",
]


def score_sentence(result: SelectionResult) -> str:
    """How well a simple model does with these features alone, on samples it had not seen."""
    if not math.isfinite(result.score):
        return "How well they predict new samples was not measured."
    selected = features(result.k, len(result.features))
    which = "that feature" if result.k == 1 else f"these {selected}"
    which += " and the covariates" if result.covariates else " alone"
    metric, found = result.metric, verdict_words(result.verdict)
    start = f"{found[0].upper()}{found[1:]}: with {which}" if found else f"With {which}"
    plus_minus = spread(metric, result.score_sd)
    around = f" ({plus_minus} over the folds)" if plus_minus else ""
    if metric == "accuracy":
        text = (
            f"{start}, a simple linear model was right on {percent(result.score)} of samples "
            f"it had not seen{around}"
        )
    elif metric == "r2" and result.score <= 0:
        text = (
            f"{start}, a simple linear model predicts samples it had not seen no better than "
            f"their mean would (R² {score(metric, result.score)})"
        )
    elif metric == "r2":
        sd = f" {plus_minus}" if plus_minus else ""
        text = (
            f"{start}, a simple linear model explains {percent(result.score, 0)} of the "
            f"variation in samples it had not seen (R² {score(metric, result.score)}{sd})"
        )
    else:
        perfect = 1.0 if best_word(metric) == "highest" else 0.0
        text = (
            f"{start}, a simple linear model reached {_article(metric)} {metric_name(metric)} of "
            f"{score(metric, result.score)} ({tick_score(metric, perfect)} is perfect) on samples "
            f"it had not seen{around}"
        )
    return f"{text}{_for_comparison(result)}.{_balanced(result)}"


def _article(metric: str) -> str:
    return "an" if metric == "auc" else "a"


def _guess(metric: str, task: str) -> str:
    """What is guessed without features."""
    if task == "classification" and metric != "auc":
        shares = metric == "log_loss"
        return "guessing " + ("the shares of the classes" if shares else "the commonest class")
    return "guessing the mean" if task == "regression" else "guessing"


def verdict_words(verdict: Verdict | None) -> str:
    """In a few words whether the score is better than that of guessing; empty if not known."""
    if verdict is None:
        return ""
    return {
        "better": "clearly better than guessing",
        "unclear": "perhaps no better than guessing (the gain is within the noise of the folds)",
        "worse": "no better than guessing",
    }[verdict.level]


def verdict_sentence(verdict: Verdict | None) -> str:
    """The same as a sentence that follows one on a score, with a space before it."""
    if verdict is None:
        return ""
    by = ", by balanced accuracy" if verdict.metric == "balanced_accuracy" else ""
    return f" That is {verdict_words(verdict)}{by}."


def _balanced(result: SelectionResult) -> str:
    """A sentence on balanced accuracy, where the verdict goes by it."""
    if result.verdict is None or result.verdict.metric == result.metric:
        return ""
    assert result.confusion is not None
    counts = np.asarray(result.confusion.counts, dtype=np.float64)
    right = float(np.mean(np.diag(counts) / np.maximum(counts.sum(axis=1), 1.0)))
    return (
        f" Balanced accuracy, the mean share of each class that was right, is {percent(right)}, "
        f"and guessing gives {percent(1 / len(counts))}: the classes differ so much in size that "
        "the verdict goes by it."
    )


def holdout_sentence(holdout: HoldoutScore) -> str:
    """How well the saved model predicts a table that took no part in the selection."""
    reached = score(holdout.metric, holdout.score)
    guess = "guessing the commonest class" if holdout.metric == "accuracy" else "guessing"
    against = ""
    if math.isfinite(holdout.chance) and holdout.metric != "r2":
        against = f"; {guess} gives {score(holdout.metric, holdout.chance)}"
    return (
        f"On the {counted(holdout.n_samples, 'sample')} of {isolated(holdout.source)}, the "
        f"{metric_name(holdout.metric)} of the saved model is {reached}{against}."
    )


def _for_comparison(result: SelectionResult) -> str:
    """What all features, and none, would give."""
    parts = []
    if math.isfinite(result.baseline_score):
        reached = score(result.metric, result.baseline_score)
        every = features(result.data.n_features, result.data.n_columns)
        parts.append(f"with all {every} it is {reached}")
    if math.isfinite(result.chance_score) and result.metric != "r2":
        guess = _guess(result.metric, result.data.task)
        parts.append(f"{guess} gives {score(result.metric, result.chance_score)}")
    return f"; {', and '.join(parts)}" if parts else ""


def curve_sentence(curve: KCurve) -> str:
    """Where the score is best, and from where on it is nearly as good."""
    mean = np.asarray(curve.mean, dtype=np.float64)
    if not np.isfinite(mean).any():
        return "No score could be computed."
    best, enough = curve.ks.index(curve.best_k), curve.ks.index(curve.enough_k)
    some = max(np.diff(curve.ks), default=1) > 1
    text = "Of the numbers tried, the score is" if some else "The score is"
    text += f" {best_word(curve.metric)}"
    text += f" with {counted(curve.best_k, 'feature')} ({score(curve.metric, mean[best])})"
    if curve.enough_k < curve.best_k:
        text += (
            f"; {curve.enough_k:,} already {'comes' if curve.enough_k == 1 else 'come'} within one "
            f"standard error of that ({score(curve.metric, mean[enough])})"
        )
    return text + "."


def confusion_sentence(confusion: Confusion) -> str:
    """How many were right, and the most frequent mistake."""
    counts = np.array(confusion.counts, dtype=np.float64)
    right, total = int(np.trace(counts)), int(counts.sum())
    text = f"{right:,} of {counted(total, 'sample')} were recognised"
    np.fill_diagonal(counts, 0)
    if not counts.any():
        return f"{text}: no mistake at all."
    i, j = np.unravel_index(int(np.argmax(counts)), counts.shape)
    return (
        f"{text}; the most frequent mistake is {isolated(confusion.classes[i])} taken for "
        f"{isolated(confusion.classes[j])} ({counted(int(counts[i, j]), 'time')})."
    )
