"""Accuracy of a linear SVM on the features that each method selects inside the folds."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.certificate import Array
from benchmarks.data import Data, for_each
from benchmarks.peers.selectors import make_peer
from benchmarks.tables import VERDICT, Table, verdict
from rowsparse import CDLSR, RFS, RPFS, LpInf, NmAPG, TopK
from rowsparse.evaluation import select_for_each

SETS = ("srbct", "glioma", "allaml", "leu", "lung", "prostate_ge", "yale")
QUICK_SETS = ("srbct", "leu")
SIZES = (5, 10, 20, 40)
FOLDS = 5
DEFAULT, OTHER = "TopK 0.5", "TopK 2"
# Left out unless asked for: seconds to minutes a selection.
SLOW = ("LpInf",)
# Other packages by the names of the table: as in the league.
PEERS = {
    "F": "sklearn-f",
    "RFE": "sklearn-rfe",
    "l1 logistic": "sklearn-l1",
    "forest": "sklearn-forest",
    "fastcan": "fastcan",
    "abess": "abess",
}

Classes = NDArray[np.intp]
Supports = dict[int, NDArray[np.intp]]
Select = Callable[[Array, Classes], Supports]


# ---------------------------------------------------------------------------- the methods
def methods(slow: bool) -> dict[str, Select]:
    """Every method as a function from standardised data and classes to supports, one for each k."""
    chosen: dict[str, Any] = {
        DEFAULT: TopK(alpha=0.5, loss="squared"),
        OTHER: TopK(alpha=2.0, loss="squared"),
        "RFS": RFS(),
        "CDLSR": CDLSR(),
        "RPFS": RPFS(),
        "NmAPG": NmAPG(),
        "LpInf": LpInf(),
        **{label: make_peer(name) for label, name in PEERS.items()},
    }
    return {
        name: partial(_supports, selector)
        for name, selector in chosen.items()
        if slow or name not in SLOW
    }


def _supports(selector: Any, X: Array, y: Classes) -> Supports:
    found = select_for_each(selector, X, y, ks=SIZES, seed=0)
    return {k: selection.support for k, selection in found.items()}


# ----------------------------------------------------------------------------- the folds
def folds(
    data: Data, repeats: int, n_folds: int = FOLDS
) -> Iterator[tuple[Array, Classes, Array, Classes]]:
    """Training and test parts, standardised by the training part."""
    for repeat in range(repeats):
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=repeat)
        for train, test in splitter.split(data.X, data.y):
            scaler = StandardScaler().fit(data.X[train])
            X, X_test = scaler.transform(data.X[train]), scaler.transform(data.X[test])
            yield X, data.y[train], X_test, data.y[test]


def accuracies(
    data: Data, chosen: dict[str, Select], repeats: int
) -> tuple[dict[str, Array], dict[str, float]]:
    """For each method the mean accuracy at each k, and the mean seconds of selecting for all k."""
    right = {name: np.zeros(len(SIZES)) for name in chosen}
    seconds = dict.fromkeys(chosen, 0.0)
    n_folds = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LinearSVC in RFE, and fits that are perfect
        for X, y, X_test, y_test in folds(data, repeats):
            n_folds += 1
            for name, select in chosen.items():
                start = perf_counter()
                supports = select(X, y)
                seconds[name] += perf_counter() - start
                right[name] += [judged(X, y, X_test, y_test, supports[k]) for k in SIZES]
    mean = {name: 100 * total / n_folds for name, total in right.items()}
    return mean, {name: total / n_folds for name, total in seconds.items()}


def judged(X: Array, y: Classes, X_test: Array, y_test: Classes, S: NDArray[np.intp]) -> float:
    """The accuracy of the judge on a support."""
    return float(SVC(kernel="linear", C=1.0).fit(X[:, S], y).score(X_test[:, S], y_test))


# ---------------------------------------------------------------------------- the tables
def run(quick: bool, repeats: int | None = None, slow: bool | None = None) -> list[Table]:
    """``repeats`` and ``slow`` come from ROWSPARSE_REPEATS (default 1) and ROWSPARSE_SLOW."""
    if repeats is None:
        repeats = int(os.environ.get("ROWSPARSE_REPEATS", "1"))
    if slow is None:
        slow = os.environ.get("ROWSPARSE_SLOW", "") not in ("", "0")
    repeats = 1 if quick else repeats
    chosen = methods(slow)
    table = Table(f"Accuracy (%) of a linear SVM, {repeats} x {FOLDS} folds.", {})
    table.formats = {"data": "", "k": "d", **dict.fromkeys(chosen, ".1f")}
    table.notes.append(
        "Features are selected and standardised inside the folds; SVC(kernel='linear', C=1). "
        "TopK with the squared loss, alpha 0.5 and 2; the methods of the library in their default "
        "settings."
    )
    if not slow:
        table.notes.append(f"Left out as slow, unless ROWSPARSE_SLOW=1: {', '.join(SLOW)}.")
    seconds: list[dict[str, float]] = []
    measure = partial(_measure, chosen=chosen, repeats=repeats, seconds=seconds)
    for_each(QUICK_SETS if quick else SETS, table, measure)
    return [_summary(table, list(chosen), seconds, quick), table]


def _measure(
    data: Data,
    table: Table,
    *,
    chosen: dict[str, Select],
    repeats: int,
    seconds: list[dict[str, float]],
) -> None:
    mean, taken = accuracies(data, chosen, repeats)
    seconds.append(taken)
    for i, k in enumerate(SIZES):
        table.rows.append({"data": data.name, "k": k} | {name: mean[name][i] for name in chosen})


def _summary(
    table: Table, names: Sequence[str], seconds: list[dict[str, float]], quick: bool
) -> Table:
    """Mean accuracy and mean rank at each k, over the sets."""
    formats = {"method": "", **{f"k = {k}": ".1f" for k in SIZES}}
    formats |= {**{f"rank, {k}": ".2f" for k in SIZES}, "mean rank": ".2f", "s": ".2f", VERDICT: ""}
    summary = Table(f"{table.title[:-1]}: means over the sets, and mean ranks.", formats)
    summary.target = f"the best mean rank for {DEFAULT}, the default, over all sets and k"
    n_sets = len(seconds)
    summary.notes.append(
        f"{n_sets} sets; rank 1 is the best of {len(names)}, ties share their mean rank. The "
        f"verdict compares {DEFAULT} with the methods that are not TopK. "
        f"s: mean seconds of a fold for the selections at all of k = {', '.join(map(str, SIZES))}. "
        "F: the F-score. RFE: LinearSVC, a tenth of the remaining features at a time. l1 logistic: "
        "C = 1, and what larger C add where that leaves fewer than k. Forest: importances of 100 "
        "trees. fastcan, abess (logistic): their defaults."
    )
    if not n_sets:
        return summary
    accuracy = np.array([[row[name] for name in names] for row in table.rows])
    ranks = rankdata(-accuracy.round(9), axis=1)
    means, by_size = (a.reshape(n_sets, len(SIZES), -1).mean(axis=0) for a in (accuracy, ranks))
    for j, name in enumerate(names):
        row: dict[str, Any] = {"method": name, "mean rank": float(by_size[:, j].mean())}
        for i, k in enumerate(SIZES):
            row |= {f"k = {k}": float(means[i, j]), f"rank, {k}": float(by_size[i, j])}
        row["s"] = float(np.mean([taken[name] for taken in seconds]))
        summary.rows.append(row)
    others = [row["mean rank"] for row in summary.rows if row["method"] not in (DEFAULT, OTHER)]
    if not quick:  # fewer sets: nothing to judge
        summary.rows[0][VERDICT] = verdict(summary.rows[0]["mean rank"] <= min(others))
    return summary
