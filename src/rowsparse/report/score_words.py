"""How well a selection predicts, in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rowsparse._text import counted, joined
from rowsparse.report.numbers import (
    best_word,
    metric_name,
    number,
    p_value,
    percent,
    score,
    spread,
    tick_score,
)
from rowsparse.report.words import features, isolated, purpose
from rowsparse.targets import NUMERIC_TASKS
from rowsparse.workflow.results import (
    Confusion,
    HoldoutScore,
    KCurve,
    NumberScore,
    SelectionResult,
    SurvivalScore,
    Verdict,
)

__all__ = [
    "confusion_sentence",
    "curve_sentence",
    "errors_sentence",
    "headline",
    "holdout_sentence",
    "score_sentence",
    "survival_sentence",
    "tone",
    "verdict_sentence",
    "verdict_words",
]


# Targets that a sentence names.
_MOST_NAMED = 5
# How a tile looks.
_TONES = {"better": "good", "unclear": "", "worse": "warn"}
# Scores that are 0 for the mean, and what they are a share of.
_EXPLAINED = {"r2": "variation", "d2": "deviance"}


def score_sentence(result: SelectionResult) -> str:
    """How well a simple model does with as many features, selected without the samples it predicts.

    The score is that of the procedure: each fold has features of its own.
    """
    if not math.isfinite(result.score):
        return "How well they predict new samples was not measured."
    which = features(result.k, len(result.features))
    which += " and the covariates" if result.covariates else ""
    kind = "Cox model" if result.data.task == "survival" else "linear model"
    model = f"a simple {kind} of {which}, picked anew in every fold,"
    found = verdict_words(result.verdict)
    start = f"{_capital(found)}: {model}" if found else _capital(model)
    metric = result.metric
    plus_minus = spread(metric, result.score_sd)
    around = f" ({plus_minus} over the folds)" if plus_minus else ""
    if metric == "accuracy":
        text = f"{start} was right on {percent(result.score)} of samples it had not seen{around}"
    elif metric in _EXPLAINED and result.score <= 0:
        text = (
            f"{start} predicts samples it had not seen no better than their mean would "
            f"({metric_name(metric)} {score(metric, result.score)})"
        )
    elif metric in _EXPLAINED:
        sd = f" {plus_minus}" if plus_minus else ""
        text = (
            f"{start} explains {percent(result.score, 0)} of the {_EXPLAINED[metric]} in samples "
            f"it had not seen ({metric_name(metric)} {score(metric, result.score)}{sd})"
        )
    else:
        perfect = 1.0 if best_word(metric) == "highest" else 0.0
        text = (
            f"{start} reached {_article(metric)} {metric_name(metric)} of "
            f"{score(metric, result.score)} ({tick_score(metric, perfect)} is perfect) on samples "
            f"it had not seen{around}"
        )
    return f"{text}{_for_comparison(result)}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _article(metric: str) -> str:
    return "an" if metric in ("auc", "rmse") else "a"


def _guess(metric: str, task: str) -> str:
    """What is guessed without features."""
    if task == "classification" and metric != "auc":
        shares = metric == "log_loss"
        return "guessing " + ("the shares of the classes" if shares else "the commonest class")
    return "guessing the mean" if task in NUMERIC_TASKS else "guessing"


def verdict_words(verdict: Verdict | None) -> str:
    """In a few words whether the score is better than what needs no selection; empty if not known.

    Predictions that are given to the samples at random are guesses too.
    """
    if verdict is None:
        return ""
    other = "the covariates alone" if verdict.opponent == "covariates" else "guessing"
    return {
        "better": f"clearly better than {other}",
        "unclear": f"perhaps no better than {other} (the gain is within the noise of the folds)",
        "worse": f"no better than {other}",
    }[verdict.level]


def verdict_sentence(verdict: Verdict | None, what: str = "That") -> str:
    """The same as a sentence that follows one on a score, with a space before it."""
    return "" if verdict is None else f" {what} is {verdict_words(verdict)}."


def tone(verdict: Verdict | None) -> str:
    """How a tile with a score looks, by the verdict on it."""
    return "" if verdict is None else _TONES[verdict.level]


def headline(result: SelectionResult) -> str:
    """What was found, no more than the verdict says."""
    selected, aim = features(result.k, len(result.features)), purpose(result.data)
    if result.verdict is None:
        return f"{selected} picked to {aim}"
    if result.verdict.level == "better":
        verb, _, rest = aim.partition(" ")
        return f"{selected} that {verb}{'s' if result.k == 1 else ''} {rest}"
    than = " better than the covariates alone" if result.verdict.opponent == "covariates" else ""
    return f"{selected} picked, not shown to {aim}{than}"


def holdout_sentence(holdout: HoldoutScore) -> str:
    """How well the saved model predicts a table that took no part in the selection."""
    reached = score(holdout.metric, holdout.score)
    guess = "guessing the commonest class" if holdout.metric == "accuracy" else "guessing"
    against = ""
    if math.isfinite(holdout.chance) and holdout.metric not in _EXPLAINED:
        against = f"; {guess} gives {score(holdout.metric, holdout.chance)}"
    return (
        f"On the {counted(holdout.n_samples, 'sample')} of {isolated(holdout.source)}, the "
        f"{metric_name(holdout.metric)} of the saved model is {reached}{against}."
    )


def _for_comparison(result: SelectionResult) -> str:
    """What all features, the covariates alone, and none would give."""
    parts, metric = [], result.metric
    if math.isfinite(result.baseline_score):
        every = features(result.data.n_features, result.data.n_columns)
        parts.append(f"with all {every} it is {score(metric, result.baseline_score)}")
    if math.isfinite(result.covariate_score):
        parts.append(f"with the covariates alone {score(metric, result.covariate_score)}")
    if math.isfinite(result.chance_score) and metric not in _EXPLAINED:
        guess = _guess(metric, result.data.task)
        parts.append(f"{guess} gives {score(metric, result.chance_score)}")
    verdict = result.verdict
    if verdict is not None and verdict.opponent == "shuffled" and metric not in _EXPLAINED:
        reached = score(metric, verdict.opponent_score)
        parts.append(f"the same predictions, given to the samples at random, give {reached}")
    return f"; {joined(parts)}" if parts else ""


def errors_sentence(scores: Sequence[NumberScore]) -> str:
    """How far predictions are from the numbers, against guessing their mean."""
    parts = [
        f"{number(one.rmse)}{f' for {isolated(one.name)}' if len(scores) > 1 else ''} "
        f"({number(one.guess_rmse)} with the mean as the prediction)"
        for one in scores[:_MOST_NAMED]
    ]
    return (
        "The root mean squared error (RMSE) of samples that took no part, in the units of the "
        f"target, is {joined(parts)}."
    )


def survival_sentence(score: SurvivalScore, time: str) -> str:
    """When half of either half of the held-out samples have the event, and the test of both."""
    parts = [
        f"of the half with the {risk} risk, {curve.n_events:,} of "
        f"{counted(int(curve.at_risk[0]), 'sample')} have the event, "
        + (
            f"and half are without it until {number(curve.median)}"
            if math.isfinite(curve.median)
            else "and more than half are without it until the end"
        )
        for risk, curve in zip(("higher", "lower"), score.halves, strict=True)
    ]
    p = (
        " The log-rank test of the halves, within the folds and corrected for the samples that "
        f"their models share, has p = {p_value(score.p_value)}."
    )
    if not math.isfinite(score.p_value):
        p = ""
    return f"{_capital('; '.join(parts))} ({isolated(time)}).{p}"


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
