"""What was asked and what was picked, in plain words: for a person who is no statistician."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np

from rowsparse._arrays import Array
from rowsparse._names import shown
from rowsparse._text import counted, joined
from rowsparse.report.numbers import (
    decimal,
)
from rowsparse.workflow.results import (
    DataSummary,
    RankedFeature,
    SelectionResult,
)
from rowsparse.workflow.univariate import UnivariateTests

__all__ = [
    "EFFECT_WORDS",
    "STABILITY_ZONES",
    "alone_heading",
    "asked_sentence",
    "correlation_sentence",
    "direction_words",
    "effect_words",
    "features",
    "is_correlation",
    "isolated",
    "listing",
    "measured",
    "picked_of",
    "purpose",
    "repeated",
    "stability_sentence",
    "stability_word",
    "tests_sentence",
]

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
