"""What a result says, in plain words: for a person who is no statistician."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rowsparse._arrays import Array
from rowsparse._text import counted
from rowsparse.report.names import isolated, listing
from rowsparse.report.numbers import (
    decimal,
    finite,
    metric_name,
    number,
    percent,
    percent_up,
    score,
    seconds,
    spread,
    tick_score,
)

if TYPE_CHECKING:
    from rowsparse.workflow.results import (
        Certificate,
        Confusion,
        DataSummary,
        HoldoutScore,
        KCurve,
        ProgressPoint,
        SelectionResult,
        Verdict,
    )

__all__ = [
    "STABILITY_ZONES",
    "asked_sentence",
    "best_so_far",
    "certificate_label",
    "certificate_sentence",
    "confusion_sentence",
    "correlation_sentence",
    "curve_sentence",
    "features",
    "has_course",
    "holdout_sentence",
    "measured",
    "picked_of",
    "progress_sentence",
    "purpose",
    "score_sentence",
    "stability_sentence",
    "stability_word",
    "summary",
    "verdict_sentence",
    "verdict_words",
]

# Where Nogueira, Sechidis and Brown (2018) put the limits of poor and of excellent agreement.
STABILITY_ZONES = (0.4, 0.75)
# An objective that falls by a smaller share fell by rounding only.
_ROUNDING = 1e-9


def summary(result: SelectionResult) -> tuple[str, str, str]:
    """What was asked, how well it works and how sure it is: three sentences."""
    return (
        asked_sentence(result),
        score_sentence(result),
        certificate_sentence(result.certificate, result.k, result.method),
    )


def purpose(data: DataSummary) -> str:
    """What the features are for, after "features that"."""
    if data.task == "classification":
        return f"tell the {_targets(data)} apart"
    return f"predict the {_targets(data)}"


def _targets(data: DataSummary) -> str:
    if data.task == "classification":
        what = counted(len(data.classes), "class", "classes") if data.classes else "classes"
        return f"{what} of “{listing(data.targets, 2)}”"
    if data.task == "multilabel":
        named = data.classes or data.targets
        return f"{counted(len(named), 'label')} {listing(named)}"
    if len(data.targets) == 1:
        return f"number “{listing(data.targets)}”"
    return f"{counted(len(data.targets), 'number')} {listing(data.targets)}"


def features(count: int, n_columns: int | None) -> str:
    """A number of features and, if they are encoded as more columns, of these.

    Examples
    --------
    >>> features(6, 6), features(6, 9)
    ('6 features', '6 features (9 columns)')
    """
    return counted(count, "feature") + _in_columns(count, n_columns)


def _in_columns(count: int, n_columns: int | None) -> str:
    return "" if n_columns in (None, count) else f" ({n_columns:,} columns)"


def picked_of(result: SelectionResult) -> tuple[str, str]:
    """How many of how many, and of what: features, and columns if these are more.

    The first part is short enough for a tile.
    """
    data = result.data
    columns, all_columns = len(result.features), data.n_columns or data.n_features
    same = (columns, all_columns) == (result.k, data.n_features)
    of_columns = "" if same else f" ({columns:,} of {all_columns:,} columns)"
    return f"{result.k:,} of {data.n_features:,}", f"features{of_columns}"


def asked_sentence(result: SelectionResult) -> str:
    """What was picked from what, and what for."""
    columns = _in_columns(result.k, len(result.features))
    verb = "was picked that can" if result.k == 1 else "were picked that together"
    chosen = "; cross-validation chose how many" if result.k_was_chosen else ""
    picked = f"{result.k:,}{columns} {verb} {purpose(result.data)}"
    return f"From {measured(result.data)}, {picked}{chosen}."


def measured(data: DataSummary) -> str:
    """What there was to choose from."""
    return (
        f"the {features(data.n_features, data.n_columns)} of {isolated(data.source)}, measured on "
        f"{counted(data.n_samples, 'sample')}"
    )


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
        text = (
            f"{start}, a simple linear model reached a {metric_name(metric)} of "
            f"{score(metric, result.score)} ({tick_score(metric, 1.0)} is perfect) on samples it "
            f"had not seen{around}"
        )
    return f"{text}{_for_comparison(result)}.{_balanced(result)}"


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
        of_classes = result.data.task == "classification"
        guess = "guessing the commonest class" if of_classes else "guessing"
        parts.append(f"{guess} gives {score(result.metric, result.chance_score)}")
    return f"; {', and '.join(parts)}" if parts else ""


def certificate_sentence(certificate: Certificate | None, k: int, method: str) -> str:
    """How close to the best possible choice this one is, and whether that is proven.

    Examples
    --------
    >>> from rowsparse.workflow.results import Certificate
    >>> close = Certificate("gap", objective=10.0, lower_bound=9.96, gap=0.004)
    >>> certificate_sentence(close, 20, "TopK").replace("\\u00a0", " ")
    'No other choice of 20 features can lower the loss by more than 0.4 %; proven.'
    """
    choice = f"choice of {counted(k, 'feature')}"
    if certificate is None:
        return (
            f"Another {choice} may serve better; not proven: {isolated(method)} cannot tell how "
            "close to the best choice it comes."
        )
    if certificate.status == "optimal":
        return f"No other {choice} has a lower loss: this one is the best possible; proven."
    if certificate.status == "gap" and _says_something(certificate.gap):
        most = percent_up(certificate.gap)
        return f"No other {choice} can lower the loss by more than {most}; proven."
    if certificate.status == "gap":
        return (
            f"Another {choice} may have a lower loss; not proven: the search for a proof ended "
            "before it could say by how much at most."
        )
    return f"Another {choice} may have a lower loss; nothing is proven about this one."


def certificate_label(certificate: Certificate | None) -> tuple[str, str]:
    """The same in two or three words, and a few more to stand below them."""
    if certificate is not None and certificate.status == "optimal":
        return "Best possible", "proven: no other choice has a lower loss"
    if certificate is not None and certificate.status == "gap" and _says_something(certificate.gap):
        return f"Within {percent_up(certificate.gap)}", "of the lowest possible loss, proven"
    return "Not proven", "another choice may have a lower loss"


def _says_something(gap: float) -> bool:
    return math.isfinite(gap) and 0 <= gap < 1


def stability_word(value: float) -> str:
    """A word for a stability."""
    poor, excellent = STABILITY_ZONES
    return "low" if value < poor else "fair" if value < excellent else "high"


def stability_sentence(result: SelectionResult) -> str:
    """How much of the choice would be the same with other samples."""
    stability, forced = result.stability, result.n_forced
    if forced >= result.k:
        return "All features had to be selected, so there is no choice whose stability to measure."
    if stability is None or not math.isfinite(stability[0]):
        return "The choice was not repeated on resamples, so its stability is not known."
    value, low, high = stability
    known = math.isfinite(low + high)
    interval = f" (95 % interval {decimal(low)} to {decimal(high)})" if known else ""
    meaning = {
        "low": "with other samples, many other features would be picked: read the list as one of "
        "several that serve as well, not as the features that matter",
        "fair": "with other samples, most of the strongest features would come again, and some of "
        "the others would be replaced",
        "high": "with other samples, nearly the same features would be picked",
    }[stability_word(value)]
    which = f"Stability{' of the others' if forced else ''} is {decimal(value)}{interval}"
    if forced:
        had = f"{counted(forced, 'feature')} had to be selected. "
        which = had + which
    return f"{which}, which is {stability_word(value)}: {meaning}."


def curve_sentence(curve: KCurve) -> str:
    """Where the score is best, and from where on it is nearly as good."""
    mean = np.asarray(curve.mean, dtype=np.float64)
    if not np.isfinite(mean).any():
        return "No score could be computed."
    best, enough = curve.ks.index(curve.best_k), curve.ks.index(curve.enough_k)
    some = max(np.diff(curve.ks), default=1) > 1
    text = "Of the numbers tried, the score is highest" if some else "The score is highest"
    text += f" with {counted(curve.best_k, 'feature')} ({score(curve.metric, mean[best])})"
    if curve.enough_k < curve.best_k:
        text += (
            f"; {curve.enough_k:,} already {'comes' if curve.enough_k == 1 else 'come'} within one "
            f"standard error of that ({score(curve.metric, mean[enough])})"
        )
    return text + "."


def correlation_sentence(correlation: Array) -> str:
    """Which two selected features are most alike, by their ranks."""
    r = np.array(correlation, dtype=np.float64)
    if len(r) < 2:
        return "There is one feature only, so nothing to compare."
    below = np.tril(np.abs(np.nan_to_num(r)), -1)
    i, j = np.unravel_index(int(np.argmax(below)), below.shape)
    strength = float(below[i, j])
    if strength >= 0.9:
        meaning = "they tell almost the same"
    elif strength >= 0.6:
        meaning = "they share much of what they tell"
    else:
        meaning = "no two of them tell the same"
    return (
        f"The two most alike are numbers {j + 1} and {i + 1} (r = {decimal(r[i, j])}): {meaning}."
    )


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


def best_so_far(progress: Sequence[ProgressPoint]) -> list[ProgressPoint]:
    """The lowest objective and the highest bound up to each point; rounding is no change."""
    points: list[ProgressPoint] = []
    for point in progress:
        objective, bound = point.objective, point.lower_bound
        if points:
            last = points[-1]
            if not objective < last.objective - _ROUNDING * abs(last.objective):
                objective = last.objective
            known = [b for b in (last.lower_bound, bound) if b is not None]
            bound = max(known, default=None)
        points.append(replace(point, objective=objective, lower_bound=bound))
    return points


def has_course(progress: Sequence[ProgressPoint]) -> bool:
    """Whether objective or bound changed, so that there is something to draw."""
    points = best_so_far(progress)
    return len({(point.objective, point.lower_bound) for point in points}) > 1


def progress_sentence(progress: Sequence[ProgressPoint]) -> str:
    """When the choice was found, and how far the proof came."""
    points = best_so_far(progress)
    last = points[-1].objective
    if not has_course(progress):
        tried = "nothing tried after it was better" if len(points) > 1 else "no other was tried"
        return f"The search kept its first choice, with an objective of {number(last)}: {tried}."
    found = next(point for point in points if point.objective == last)
    text = f"The final choice was found after {seconds(found.seconds)}"
    bounds = finite(point.lower_bound for point in points if point.lower_bound is not None)
    if not bounds:
        return f"{text}, with an objective of {number(last)}."
    gap = (last - bounds[-1]) / abs(last) if last else 0.0
    rest = "closed" if gap <= 1e-6 else f"narrowed to {percent_up(gap)}"
    return (
        f"{text}; after {seconds(points[-1].seconds)} the gap between it and what is possible "
        f"at best was {rest}."
    )
