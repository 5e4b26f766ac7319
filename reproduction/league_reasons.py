"""Where TopK is not first, by how much, and what the rows say of the reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from reproduction.league_scores import JUDGES, OUR_METHOD, Scores, label
from reproduction.pages import markdown_table
from rowsparse.datasets import dataset_info

__all__ = ["Defeat", "defeats", "not_first"]

# A training error lower by more than this share is not rounding.
_LOWER = 0.01
# Share of the targets' spread below which least squares has nothing left to explain.
_SATURATED = 0.05
_LEVEL = 0.05

REASONS = {
    "ridge": (
        "the leader's features have a squared error on the training samples that is lower by more "
        f"than {100 * _LOWER:g} %. TopK's measure has a ridge besides (`alpha=0.5`), which keeps "
        "it from features that need large coefficients; a smaller `alpha` may help"
    ),
    "saturated": (
        "TopK's features explain nearly all of the training targets, so that the squared error no "
        "longer tells good features from lucky ones; fewer features or a larger `alpha` may help"
    ),
    "judge": (
        "TopK leads, or nearly so, with the linear machine but not with the nearest neighbour or "
        "the forest: features that serve a linear fit together need not serve those"
    ),
    "criterion": (
        "the leader's features fit the training samples no better than TopK's (or by less than "
        f"{100 * _LOWER:g} %), and predict better: the squared error of the training samples is "
        "not the classifier's error on new ones"
    ),
}
_SHORT = {
    "ridge": "the ridge",
    "saturated": "nothing left to fit",
    "judge": "the classifier is not linear",
    "criterion": "squared loss",
}


@dataclass(frozen=True)
class Defeat:
    """A data set and k for which another method has a higher mean score.

    Attributes
    ----------
    dataset, leader : str
        Where, and which method is first.
    k, place : int
        Number of features, and TopK's place.
    lead : float
        Difference of the mean scores.
    p : float
        p-value of the differences on the folds that both have; 1 if TopK is ahead on those.
    reason : str
        One of :data:`REASONS`.
    """

    dataset: str
    leader: str
    k: int
    place: int
    lead: float
    p: float
    reason: str


def defeats(scores: Scores) -> list[Defeat]:
    """All data sets and k where TopK has a result and is not first."""
    own = scores.methods.index(OUR_METHOD)
    found = []
    for k in scores.ks:
        values, places = scores.mean(k=k), scores.places(k=k)
        machines = scores.places(judge="linear SVM", k=k)
        for at, dataset in enumerate(scores.datasets):
            if np.isnan(values[at, own]) or places[at, own] == 1:
                continue
            first = int(np.nanargmax(values[at]))
            leader, lead = scores.methods[first], float(values[at, first] - values[at, own])
            ahead, p = scores.lead(dataset, leader, OUR_METHOD, k)
            reason = _reason(scores, dataset, k, leader, float(machines[at, own]))
            place = int(places[at, own])
            found.append(Defeat(dataset, leader, k, place, lead, p if ahead > 0 else 1.0, reason))
    order = {name: at for at, name in enumerate(scores.datasets)}
    return sorted(found, key=lambda defeat: (order[defeat.dataset], defeat.k))


def _reason(scores: Scores, dataset: str, k: int, leader: str, place_of_machine: float) -> str:
    errors = scores.training(dataset, k, "objective")
    own = errors.get(OUR_METHOD, np.nan)
    spread = scores.training(dataset, k, "spread").get(OUR_METHOD, np.nan)
    if own <= _SATURATED * spread:
        return "saturated"
    if errors.get(leader, own) < (1 - _LOWER) * own:
        return "ridge"
    if place_of_machine <= max(2, 0.1 * len(scores.methods)):
        return "judge"
    return "criterion"


def not_first(scores: Scores, word: str) -> str:
    """The section: how often, where, by how much, why, and what would change it."""
    own = scores.methods.index(OUR_METHOD)
    cells = sum(int((~np.isnan(scores.mean(k=k)[:, own])).sum()) for k in scores.ks)
    lost = defeats(scores)
    without = [dataset_info(name).title for at, name in enumerate(scores.datasets)
               if scores.seen[at, own] and np.isnan(scores.mean()[at, own])]  # fmt: skip
    absent = f" It has no result on {', '.join(without)}." if without else ""
    if not lost:
        return f"TopK has the highest mean {word} in all {cells} pairs of a data set and k.{absent}"
    clear = [defeat for defeat in lost if defeat.p < _LEVEL]
    parts = [
        f"TopK is first in {cells - len(lost)} of {cells} pairs of a data set and k. In "
        f"{len(clear)} of the other {len(lost)} the leader is ahead by more than the noise of "
        f"the folds (p < {_LEVEL:g}, Student's test with the variance of Nadeau and Bengio 2003; "
        "the leader is chosen after the fact, so that this counts too many rather than too few)."
        + absent,
        _over_sets(scores),
        _causes(lost, clear),
        _table(scores, lost, word),
    ]
    return "\n\n".join(parts)


def _over_sets(scores: Scores) -> str:
    """Rivals that are ahead over the data sets, for each judge and k."""
    header = ["classifier", *(f"k = {k}" for k in scores.ks)]
    lines = []
    ahead: Counter[str] = Counter()
    for judge in JUDGES:
        cells = []
        for k in scores.ks:
            result = scores.comparison(judge=judge, k=k)
            if result is None or OUR_METHOD not in result.methods:
                cells.append("–")
                continue
            place = result.methods.index(OUR_METHOD) + 1
            rivals = scores.against(OUR_METHOD, judge=judge, k=k)
            better = [
                rival.name for rival in rivals if rival.p < _LEVEL and rival.better > rival.worse
            ]
            ahead.update(better)
            cell = f"{place}" if place == 1 else f"{place}, after {label(result.methods[0])}"
            cells.append(f"{cell}; behind {len(better)}" if better else cell)
        lines.append([judge, *cells])
    told = (
        "None of the others is ahead of TopK over the data sets at the level of 5 %, for any "
        "classifier and k (Wilcoxon, Holm)."
    )
    if ahead:
        shown = ", ".join(f"{label(name)} ({count})" for name, count in ahead.most_common())
        told = (
            "Ahead of TopK over the data sets at the level of 5 % (Wilcoxon, Holm), with the number"
            f" of pairs of a classifier and k: {shown}."
        )
    return (
        "TopK's place by mean rank, who is first there, and how many methods are ahead of it over "
        f"the data sets:\n\n{markdown_table(header, lines)}\n\n{told}"
    )


def _causes(lost: list[Defeat], clear: list[Defeat]) -> str:
    counts = Counter(defeat.reason for defeat in lost)
    sure = Counter(defeat.reason for defeat in clear)
    lines = [
        f"- **{_SHORT[name][0].upper()}{_SHORT[name][1:]}** ({counts[name]}, of which "
        f"{sure[name]} beyond the noise): {text}."
        for name, text in REASONS.items()
        if counts[name]
    ]
    return (
        "What may be behind it. The rows hold the squared error on the training samples and the "
        "places with each classifier, and point to one of these, which is a hint and no proof:\n\n"
        + "\n".join(lines)
    )


def _table(scores: Scores, lost: list[Defeat], word: str) -> str:
    lines = []
    for dataset in dict.fromkeys(defeat.dataset for defeat in lost):
        own = {defeat.k: defeat for defeat in lost if defeat.dataset == dataset}
        cells = []
        for k in scores.ks:
            if k in own:
                mark = "*" if own[k].p < _LEVEL else ""
                lead = f"{100 * own[k].lead:+.1f}{mark}"
                cells.append(f"{own[k].place}; {label(own[k].leader)} {lead}")
            else:
                cells.append("")
        reasons = Counter(_SHORT[defeat.reason] for defeat in own.values())
        lines.append([dataset_info(dataset).title, *cells, ", ".join(reasons)])
    header = ["data", *(f"k = {k}" for k in scores.ks), "may be"]
    return (
        f"TopK's place; the leader and its lead in points of {word}, * beyond the noise of the "
        f"folds:\n\n{markdown_table(header, lines)}"
    )
