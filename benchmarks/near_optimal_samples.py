"""What near-optimal choices say about new samples: do their features come back, do they predict?

The samples are cut into two halves, again and again. One half gives the choices within a tolerance
and the selection frequencies; the other one, which shares no sample with it, says which features
are selected there, and how well the choices predict.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.certificate import Array
from benchmarks.data import Data
from benchmarks.near_optimal import BROUGHT, SETS, each
from benchmarks.tables import Table
from rowsparse import NearOptimal, StabilitySelection, TopK

QUICK_SETS = ("srbct", "breast cancer")
PROBLEMS = (("squared", 0.5), ("logistic", 0.125))
K = 5
TOLERANCES = (0.01, 0.02, 0.05)
SPLITS, QUICK_SPLITS = 5, 1
LIMIT, MOST, SUBSAMPLES = 10.0, 1000, 40
# Choices of a list that are judged, spread over it.
JUDGED = 40
# Selection frequencies that are compared with.
OFTEN = (0.5, 0.8)

Features = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass
class Half:
    """What one half of the samples says, and the samples themselves."""

    X: Array
    y: NDArray[np.intp]
    near: NearOptimal
    frequencies: Array

    def in_all(self, tolerance: float) -> Features:
        """Features that are proven to be in all choices within a tolerance."""
        return np.flatnonzero(self.near.cost_without_ > tolerance)

    def most_frequent(self, count: int) -> Features:
        """As many features, those selected most often; ties go to those without which it costs."""
        return np.lexsort((-self.near.cost_without_, -self.frequencies))[:count]

    @cached_property
    def increases(self) -> Array:
        """By how much each listed choice is worse than the best one."""
        return self.near.objectives_ / self.near.objective_ - 1.0

    @cached_property
    def judged(self) -> NDArray[np.intp]:
        """The choices that are judged: the best one, and others spread over the list."""
        count = len(self.increases)
        return np.unique(np.linspace(0, count - 1, min(count, JUDGED)).round().astype(np.intp))


def run(quick: bool) -> list[Table]:
    names = QUICK_SETS if quick else (*SETS, *BROUGHT)
    splits = QUICK_SPLITS if quick else int(os.environ.get("ROWSPARSE_REPEATS", SPLITS))
    back = {problem: _back_table(*problem, splits) for problem in PROBLEMS}
    scores = {problem: _score_table(*problem) for problem in PROBLEMS}
    for data in each(names, *back.values(), *scores.values()):
        for problem in PROBLEMS:
            pairs = list(_halves(data, *problem, splits))
            pairs += [(other, half) for half, other in pairs]
            back[problem].rows.append(_back_row(data, *problem, pairs))
            scores[problem].rows.append(_score_row(data, pairs))
    for table in (*back.values(), *scores.values()):
        table.rows.append(_mean(table))
    return [*back.values(), *scores.values()]


def _halves(data: Data, loss: str, alpha: float, splits: int) -> Iterator[tuple[Half, Half]]:
    cut = StratifiedShuffleSplit(splits, test_size=0.5, random_state=0)
    for parts in cut.split(data.X, data.y):
        first, second = (_half(data.X[rows], data.y[rows], loss, alpha) for rows in parts)
        yield first, second


def _half(X: Array, y: NDArray[np.intp], loss: str, alpha: float) -> Half:
    selector = TopK(K, loss=loss, alpha=alpha, random_state=0)
    near = NearOptimal(selector, tolerance=max(TOLERANCES), max_choices=MOST, time_limit=LIMIT)
    stable = StabilitySelection(selector, n_subsamples=SUBSAMPLES, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Half(X, y, near.fit(X, y), stable.fit(X, y).frequencies_)


# ------------------------------------------------------------------- do features come back?
def _back_table(loss: str, alpha: float, splits: int) -> Table:
    formats = {"data": "", "best choice %": ".0f"}
    for tolerance in TOLERANCES:
        name = _name(tolerance)
        formats |= {f"in all, {name}": ".1f", f"{name} back %": ".0f", f"{name} frequent %": ".0f"}
    for often in OFTEN:
        formats |= {f"freq. {often:g}": ".1f", f"freq. {often:g} back %": ".0f"}
    formats |= {"AUC cost": ".2f", "AUC frequency": ".2f", "excess %": ".1f"}
    formats["proven to %"] = ".1f"
    title = f"Features that the other half selects too, {loss} loss, alpha = {alpha:g}, k = {K}."
    table = Table(title, formats)
    table.notes.append(
        f"{splits} times two halves, each against the other. Best choice: the share of its "
        "features that are in the best choice of the other half. In all: how many features are "
        "in all choices within the tolerance. Back: the share of them that are in the best choice "
        "of the other half. Frequent: that share of as many features, those of the highest "
        f"frequency over {SUBSAMPLES} subsamples of the half. Freq.: how many features have at "
        "least that frequency, and the share that comes back. AUC: how well what leaving a "
        "feature out costs, and its frequency, tell the features of the best choice that come "
        "back. Excess: by how much the best choice of the other half is worse here than the best "
        "one (median). Proven to: the tolerance for which the list is proven to be complete "
        f"(median; {_name(max(TOLERANCES))} is asked for, with at most {MOST:,} choices and "
        f"{LIMIT:g} s). Last row: means over the sets."
    )
    return table


def _back_row(
    data: Data, loss: str, alpha: float, pairs: list[tuple[Half, Half]]
) -> dict[str, Any]:
    row: dict[str, Any] = {"data": data.name}
    best = [(half.near.choices_[0], other) for half, other in pairs]
    row["best choice %"] = _share_back(best)
    for tolerance in TOLERANCES:
        name = _name(tolerance)
        sure = [(half.in_all(tolerance), other) for half, other in pairs]
        frequent = [(half.most_frequent(half.in_all(tolerance).size), o) for half, o in pairs]
        row[f"in all, {name}"] = np.mean([features.size for features, _ in sure])
        row[f"{name} back %"] = _share_back(sure)
        row[f"{name} frequent %"] = _share_back(frequent)
    for often in OFTEN:
        found = [(np.flatnonzero(half.frequencies >= often), other) for half, other in pairs]
        row[f"freq. {often:g}"] = np.mean([features.size for features, _ in found])
        row[f"freq. {often:g} back %"] = _share_back(found)
    came = np.concatenate([other.near.support_[features] for features, other in best])
    cost = np.concatenate([half.near.cost_without_[half.near.choices_[0]] for half, _ in pairs])
    often_ = np.concatenate([half.frequencies[half.near.choices_[0]] for half, _ in pairs])
    row |= {"AUC cost": _auc(cost, came), "AUC frequency": _auc(often_, came)}
    row["excess %"] = 100 * np.median([_excess(loss, alpha, *pair) for pair in pairs])
    proven = [min(max(half.near.tolerance_, 0.0), max(TOLERANCES)) for half, _ in pairs]
    row["proven to %"] = 100 * np.median(proven)
    return row


def _share_back(found: list[tuple[Features, Half]]) -> float | None:
    """The share of features that another half selects too, in percent; None if there are none."""
    came = np.concatenate([other.near.support_[features] for features, other in found])
    return 100 * float(came.mean()) if came.size else None


def _auc(values: Array, came: Mask) -> float | None:
    """The share of pairs of one that came back and one that did not in which it has more."""
    if came.all() or not came.any():
        return None
    difference = values[came][:, None] - values[~came]
    return float(np.mean((difference > 0) + 0.5 * (difference == 0)))


def _excess(loss: str, alpha: float, half: Half, other: Half) -> float:
    """By how much the best choice of the other half is worse than the best one of this half."""
    chosen = other.near.choices_[0]
    there = TopK(K, loss=loss, alpha=alpha, include=chosen, random_state=0).fit(half.X, half.y)
    return float(there.objective_ / half.near.objective_ - 1.0)


# -------------------------------------------------------------------------- do they predict?
def _score_table(loss: str, alpha: float) -> Table:
    formats = {"data": "", "choices": ".0f", "best choice": ".1f"}
    formats |= {f"within {_name(tolerance)}": ".1f" for tolerance in TOLERANCES}
    formats |= {"sd": ".1f", "lowest": ".1f", "highest": ".1f", "most frequent": ".1f"}
    formats |= {"rank correlation": ".2f", "halves agree": ".2f"}
    title = f"Accuracy (%) of choices on the other half, {loss} loss, alpha = {alpha:g}, k = {K}."
    table = Table(title, formats)
    table.notes.append(
        "A linear SVM on the features of a choice, fitted where they were listed. Choices: listed "
        f"within {_name(max(TOLERANCES))}, at most {MOST:,}; up to {JUDGED} of them are judged. "
        "Within: their means. Sd, lowest and highest: the standard deviation over the choices of "
        "a list, its lowest and its highest. Most frequent: the features of the highest selection "
        "frequencies. Rank correlation: of objective and accuracy (below 0 if a lower objective "
        "is more accurate). Halves agree: the rank correlation of the accuracies on two halves "
        "of the new samples: 0 if what distinguishes the choices is chance. All are means over "
        "the splits, of lists with five choices or more for the last two."
    )
    return table


def _score_row(data: Data, pairs: list[tuple[Half, Half]]) -> dict[str, Any]:
    records = [_scored(half, other) for half, other in pairs]
    means = {name: _nanmean([record[name] for record in records]) for name in records[0]}
    return {"data": data.name, **means}


def _scored(half: Half, other: Half) -> dict[str, float]:
    """Accuracies of the choices of one half on the other."""
    scaler = StandardScaler().fit(half.X)
    X, X_new = scaler.transform(half.X), scaler.transform(other.X)

    def right(features: Features) -> Array:
        model = SVC(kernel="linear", C=1.0).fit(X[:, features], half.y)
        return np.asarray(model.predict(X_new[:, features]) == other.y)

    hits = np.array([right(half.near.choices_[i]) for i in half.judged.tolist()])
    accuracy, increases = 100 * hits.mean(axis=1), half.increases[half.judged]
    record = {"choices": float(len(half.increases)), "best choice": float(accuracy[0])}
    for tolerance in TOLERANCES:
        record[f"within {_name(tolerance)}"] = float(accuracy[increases <= tolerance].mean())
    record |= {"sd": float(accuracy.std()), "lowest": float(accuracy.min())}
    record["highest"] = float(accuracy.max())
    record["most frequent"] = 100 * float(right(half.most_frequent(K)).mean())
    several = len(accuracy) >= 5
    record["rank correlation"] = _correlation(increases, accuracy) if several else np.nan
    parts = hits[:, ::2].mean(axis=1), hits[:, 1::2].mean(axis=1)
    record["halves agree"] = _correlation(*parts) if several else np.nan
    return record


def _correlation(a: Array, b: Array) -> float:
    """The rank correlation; NaN if one does not vary."""
    return float(spearmanr(a, b).statistic) if np.ptp(a) > 0 and np.ptp(b) > 0 else np.nan


# ------------------------------------------------------------------------------ the summary
def _mean(table: Table) -> dict[str, Any]:
    names = [name for name, spec in table.formats.items() if spec]
    known = {name: [row[name] for row in table.rows if row.get(name) is not None] for name in names}
    return {"data": "mean", **{name: _nanmean(values) for name, values in known.items()}}


def _nanmean(values: list[float]) -> float | None:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else None


def _name(tolerance: float) -> str:
    return f"{100 * tolerance:g} %"
