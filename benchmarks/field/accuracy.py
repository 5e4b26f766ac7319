"""Honest accuracy against seconds, from the rows of the league table."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

# Packages of the field, and the filters of this library that they have counterparts of.
PEERS = {
    "abess": "abess",
    "fastcan": "fastcan",
    "mrmr-selection": "mrmr-selection, picks",
    "sklearn-f": "scikit-learn, F",
    "sklearn-mi": "scikit-learn, mutual information",
    "sklearn-rfe": "scikit-learn, RFE",
    "sklearn-l1": "scikit-learn, l1 logistic",
    "sklearn-forest": "scikit-learn, forest",
}
OURS = {
    "topk-one-start": "TopK, one start",
    "topk-squared": "TopK, squared loss",
    "mrmr": "MRMR",
    "relieff": "ReliefF",
    "rfs": "RFS",
    "mtfs": "MTFS",
}
# Of the same run as the others, so that seconds compare.
REFERENCE = "topk-one-start"
SIZE = "20"
_JUDGES = ("accuracy_nn", "accuracy_svm")


class Compared(NamedTuple):
    """A method against TopK on the sets that both finished."""

    name: str
    peer: bool
    sets: int
    points: float
    higher: int
    times: float


def read_league(path: Path) -> dict[str, dict[str, tuple[float, float]]]:
    """By method and data set: accuracy of 1-NN and SVM, and seconds, means over repetitions."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            judged = row["experiment"] == "classes" and row["k"] == SIZE and not row.get("error")
            if judged and row["seconds"] and row["method"] in PEERS | OURS:
                accuracy = fmean(float(row[judge]) for judge in _JUDGES)
                found[row["method"], row["dataset"]].append((accuracy, float(row["seconds"])))
    league: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for (method, name), values in found.items():
        league[method][name] = (fmean(a for a, _ in values), fmean(s for _, s in values))
    return dict(league)


def compare(path: Path) -> list[Compared]:
    """Every method against TopK, the most accurate first."""
    league = read_league(path)
    ours, compared = league[REFERENCE], []
    for method, name in (OURS | PEERS).items():
        common = sorted(ours.keys() & league.get(method, {}).keys())
        if not common:
            continue
        theirs = league[method]
        points = [100 * (theirs[s][0] - ours[s][0]) for s in common]
        times = median(theirs[s][1] / ours[s][1] for s in common)
        higher = sum(p > 0 for p in points)
        compared.append(Compared(name, method in PEERS, len(common), fmean(points), higher, times))
    return sorted(compared, key=lambda one: -one.points)
