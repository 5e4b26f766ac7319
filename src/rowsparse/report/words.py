"""What was asked, picked and found, in plain words: for a person who is no statistician."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rowsparse._arrays import Array
from rowsparse._names import shown
from rowsparse._text import counted, joined
from rowsparse.report.numbers import (
    best_word,
    decimal,
    finite,
    metric_name,
    number,
    p_value,
    percent,
    percent_down,
    percent_up,
    score,
    seconds,
    spread,
    tick_score,
)
from rowsparse.targets import NUMERIC_TASKS
from rowsparse.workflow.results import (
    Alternatives,
    Certificate,
    Confusion,
    DataSummary,
    HoldoutScore,
    KCurve,
    NumberScore,
    ProgressPoint,
    RankedFeature,
    SelectionResult,
    SurvivalScore,
    Verdict,
)
from rowsparse.workflow.univariate import UnivariateTests

# Where Nogueira, Sechidis and Brown (2018) put the limits of poor and of excellent agreement.
STABILITY_ZONES = (0.4, 0.75)
# Features with a larger false discovery rate are not shown to differ.
SHOWN = 0.05
_RISK = (
    "The risk of a sample is its martingale residual: the event less the hazard that its time adds "
    "up to."
)
# Short names of the effects of single features, for headings.
EFFECT_WORDS = {
    "log2 fold change": "log₂ FC",
    "standardised mean difference": "SMD",
    "correlation": "r",
    "rank correlation": "ρ",
}

_FIRST_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def isolated(name: object, width: int = 40) -> str:
    """A shortened name for use inside a sentence: right-to-left letters turn nothing around it."""
    return f"{_FIRST_ISOLATE}{shown(name, width)}{_END_ISOLATE}"


def listing(names: Iterable[object], limit: int = 4, width: int = 24) -> str:
    """Names as a list in a sentence, at most `limit` of them.

    Examples
    --------
    >>> listing(["a", "b", "c"]).replace("\\u2068", "").replace("\\u2069", "")
    'a, b and c'
    """
    return joined((isolated(name, width) for name in names), limit)


def repeated(names: Iterable[str]) -> set[str]:
    """The names that occur more than once."""
    return {name for name, count in Counter(names).items() if count > 1}


def purpose(data: DataSummary) -> str:
    """What the features are for, after "features to" or "features that"."""
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
    if data.task == "survival":
        return f"time “{listing(data.targets[:1])}” until “{listing(data.targets[1:])}”"
    if len(data.targets) == 1:
        return f"{'count' if data.task == 'counts' else 'number'} “{listing(data.targets)}”"
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
    verb = "was picked" if result.k == 1 else "were picked"
    chosen = "; cross-validation chose how many" if result.k_was_chosen else ""
    picked = f"{result.k:,}{columns} {verb} to {purpose(result.data)}"
    return f"From {measured(result.data)}, {picked}{chosen}."


def measured(data: DataSummary) -> str:
    """What there was to choose from."""
    return (
        f"the {features(data.n_features, data.n_columns)} of {isolated(data.source)}, measured on "
        f"{counted(data.n_samples, 'sample')}"
        + ("" if data.n_events is None else f", {data.n_events:,} of them with the event")
    )


def stability_word(value: float) -> str:
    """A word for a stability."""
    poor, excellent = STABILITY_ZONES
    return "low" if value < poor else "fair" if value < excellent else "high"


def stability_sentence(result: SelectionResult) -> str:
    """How much of the choice would be the same with other samples."""
    stability, forced = result.stability, result.n_forced
    if forced >= result.k:
        return "All features had to be selected, so there is no choice whose stability to measure."
    if result.certificate is not None and result.certificate.status == "only":
        return "All features are selected, so there is no choice whose stability to measure."
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


def tests_sentence(tests: UnivariateTests) -> str:
    """How many features differ by themselves, and what the p-values are of."""
    n = tests.n_targets
    is_one = tests.count() == 1
    what = "goes" if is_one else "go"
    what = f"{what} with the {_number_of(tests)}"
    if not is_correlation(tests):
        what = "differs" if is_one else "differ"
    each = f" for each of the {n} targets (the smallest, times {n})" if n > 1 else ""
    given = f" given {listing(tests.covariates)}" if tests.covariates else ""
    return (
        f"{tests.count():,} of {counted(tests.n_tested, 'feature')} {what} by "
        f"{'itself' if is_one else 'themselves'}{given}, "
        f"with a false discovery rate of 5 % (Benjamini and Hochberg) at most. The p-values are "
        f"those of the {tests.test}{each}{given and f',{given},'} {_tested_on(tests)}, before the "
        "selection: they say what a feature tells alone, not how sure the selection is. A selected "
        "feature may tell little alone and much together with others, and the other way round."
        f"{' ' + _RISK if _number_of(tests) == 'risk' else ''}"
    )


def _tested_on(tests: UnivariateTests) -> str:
    """What is independent in the tests."""
    if tests.unit == "rows":
        return "on the whole table"
    groups = f"the {counted(tests.n_groups, 'group')} of rows that {isolated(tests.groups_column)} "
    if tests.unit == "means":
        return f"on the means of {groups}names, as rows of one group are no independent samples"
    return (
        f"on the whole table, with a variance that is robust against dependence within {groups}"
        "names (the jackknife over groups)"
    )


def _number_of(tests: UnivariateTests) -> str:
    """What the features are correlated with: the target, or of survival times the risk."""
    return "risk" if tests.group_names == ("risk",) else "target"


def is_correlation(tests: UnivariateTests) -> bool:
    """Whether the effects are correlations."""
    return tests.effect_name.endswith("correlation")


def alone_heading(tests: UnivariateTests) -> str:
    """The heading over what a feature tells by itself, or given the covariates."""
    return "Given the covariates" if tests.covariates else "By itself"


def effect_words(feature: RankedFeature, tests: UnivariateTests) -> str:
    """In which class or label a feature by itself is higher or lower, or how it goes with a number.

    Of two classes the one is named in which it is higher. Empty where the false discovery rate is
    above 5 %: nothing is shown there.
    """
    effect, group = feature.effect, feature.effect_in
    if not effect or math.isnan(effect) or feature.fdr is None or feature.fdr > SHOWN:
        return ""
    if is_correlation(tests):
        return f"{'rises' if effect > 0 else 'falls'} with {group}"
    if effect < 0 and tests.n_targets == 1 and len(tests.group_names) == 2:
        return f"higher in {tests.group_names[0]}"
    return f"{'higher' if effect > 0 else 'lower'} in {group}"


def direction_words(tests: UnivariateTests) -> str:
    """Where a feature stands in a volcano plot."""
    if is_correlation(tests):
        return f"to the right if it rises with the {_number_of(tests)}, to the left if it falls"
    if tests.n_targets > 1 or len(tests.group_names) > 2:
        of = "label" if tests.n_targets > 1 else "class"
        return (
            "to the right if it is higher, to the left if it is lower, in the "
            f"{of} that it differs most in"
        )
    second = isolated(tests.group_names[1], 30)
    return f"to the right if it is higher in {second}, to the left if it is lower"


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


# ------------------------------------------------------------------- how well a selection predicts
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


# --------------------------------------------------------------------- how close to the best it is
_LOSSES = {
    "squared": "the squared error of a linear model",
    "l21": "the sum of the norms of the residuals of a linear model",
    "logistic": "the logistic loss of a linear model",
}
# An objective that falls by a smaller share fell by rounding, or by a fit that went on.
_ROUNDING = 1e-6


def certificate_sentence(certificate: Certificate | None, k: int, method: str) -> str:
    """How close to the best possible choice this one is, and whether that is proven.

    Examples
    --------
    >>> from rowsparse.workflow.results import Certificate
    >>> close = Certificate("gap", objective=10.0, lower_bound=9.96, gap=0.004)
    >>> certificate_sentence(close, 20, "TopK").replace("\\u00a0", " ")
    'No other choice of 20 features lowers the loss on these samples by more than 0.4 %; proven.'
    """
    choice = f"choice of {counted(k, 'feature')}"
    if certificate is not None and certificate.status == "only":
        return f"There is no other {choice}: they are all that may be selected."
    if certificate is None:
        return (
            f"Another {choice} may serve better; not proven: {isolated(method)} cannot tell how "
            "close to the best choice it comes."
        )
    if certificate.status == "optimal":
        return f"No other {choice} has a lower loss on these samples; proven."
    if certificate.status == "gap" and _says_something(certificate.gap):
        most = percent_up(certificate.gap)
        return f"No other {choice} lowers the loss on these samples by more than {most}; proven."
    if certificate.status == "gap":
        return (
            f"Another {choice} may have a lower loss; not proven: the search for a proof ended "
            "before it could say by how much at most."
        )
    return f"Another {choice} may have a lower loss; nothing is proven about this one."


def certificate_label(certificate: Certificate | None) -> tuple[str, str]:
    """The same in two or three words, and a few more to stand below them."""
    if certificate is not None and certificate.status == "optimal":
        return "Least possible", "proven: no other choice has a lower one"
    if certificate is not None and certificate.status == "only":
        return "The only one", "all features that may be selected are"
    if certificate is not None and certificate.status == "gap" and _says_something(certificate.gap):
        return f"Within {percent_up(certificate.gap)}", "of the lowest possible loss, proven"
    return "Not proven", "another choice may have a lower loss"


def proven_sentence(result: SelectionResult) -> str:
    """What a proof is about, beside what it is not about; empty where nothing is proven.

    A choice may have the least loss and yet be neither stable nor predict.
    """
    certificate = result.certificate
    if certificate is None or certificate.status not in ("optimal", "gap"):
        return ""
    if certificate.status == "gap" and not _says_something(certificate.gap):
        return ""
    stable = predict = ""
    if result.stability is not None and math.isfinite(result.stability[0]):
        value = result.stability[0]
        stable = f" (stability {decimal(value)}, {stability_word(value)})"
    if math.isfinite(result.score):
        predict = f" ({metric_name(result.metric)} {score(result.metric, result.score)})"
    return (
        "What is proven is about the loss on these samples. Whether other samples would give the "
        f"same features{stable}, and whether these predict them{predict}, is not proven."
    )


def alternatives_sentence(near: Alternatives, n_features: int) -> str:
    """How many choices are nearly as good, which features are in all, and what is proven.

    Examples
    --------
    >>> from rowsparse.workflow.results import Alternatives, ListedFeature
    >>> exact = {"cost_without_exact": True, "cost_with_exact": True}
    >>> must = ListedFeature("age", (0,), "all", 1.0, 0.2, cost_with=0.0, **exact)
    >>> may = ListedFeature("sex", (1,), "some", 0.5, 0.004, cost_with=0.0, **exact)
    >>> near = Alternatives(0.01, True, 0.01, (must, may), ((0, 1), (0,)), (0.0, 0.004))
    >>> text = alternatives_sentence(near, 30).translate({0x2068: "", 0x2069: "", 0xA0: " "})
    >>> text.split(". ")[0]
    'Within 1 % of the best there are exactly 2 choices, from 2 of 30 features'
    >>> text.split(". ", 1)[1]
    'Indispensable: age. No other choice comes that close: proven.'
    """
    asked = _percent(near.tolerance)
    n, of = len(near.choices), len(near.features)
    listed = f"{counted(n, 'choice')}, from {of:,} of {counted(n_features, 'feature')}"
    if near.is_complete:
        exactly = "" if near.n_uncertain else "exactly "
        parts = [f"Within {asked} of the best there {'is' if n == 1 else 'are'} {exactly}{listed}."]
    elif near.proven >= 0:
        known = percent_down(near.proven)
        parts = [
            f"The list is not complete: there may be more within {asked} of the best than these "
            f"{listed}; that there are no others within {known} is proven."
        ]
    else:
        return (
            f"The list is not complete: there may be more within {asked} of the best than these "
            f"{listed}; nothing is proven, not even that the best of them is the best."
        )
    names = [one.name for one in near.indispensable]
    within = "" if near.is_complete else f" within {percent_down(near.proven)}"
    parts.append(f"Indispensable{within}: {listing(names, 12) if names else 'none'}.")
    if near.is_complete:
        parts.append("No other choice comes that close: proven.")
    if near.n_uncertain:
        parts.append(f"About {near.n_uncertain:,} of them rounding decides.")
    if any(one.copies for one in near.features):
        parts.append("Of features that are copies of each other the first stands for all.")
    return " ".join(parts)


def increase_words(share: float, is_exact: bool) -> str:
    """By how much a loss rises, or at least by how much.

    Examples
    --------
    >>> text = [increase_words(0.0123, exact) for exact in (True, False)]
    >>> [one.replace("\\u00a0", " ") for one in text]
    ['1.2 %', '≥ 1.2 %']
    >>> increase_words(math.inf, True), increase_words(-0.5, False)
    ('not possible', 'not known')
    """
    if math.isinf(share):
        return "not possible"
    if is_exact:
        return f"{number(100 * max(share, 0.0), 2)}\u00a0%"
    return f"≥\u00a0{percent_down(share)}" if share >= 0 else "not known"


def _percent(share: float) -> str:
    return f"{number(100 * share)}\u00a0%"


def _says_something(gap: float) -> bool:
    return math.isfinite(gap) and 0 <= gap < 1


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


def minimised(settings: Mapping[str, Any]) -> str:
    """The sentence on what TopK lowers, by the settings that took effect; empty for others.

    >>> minimised({"loss": "logistic", "alpha": 0.125}).replace("\\u00a0", " ")
    'The objective is the logistic loss of a linear model, with a ridge of 0.125 per sample.'
    """
    loss = _LOSSES.get(str(settings.get("loss")))
    if loss is None:
        return ""
    alpha = float(settings.get("alpha") or 0.0)
    ridge = f", with a ridge of {number(alpha)} per sample" if alpha > 0 else ", without a ridge"
    return f"The objective is {loss}{ridge}."
