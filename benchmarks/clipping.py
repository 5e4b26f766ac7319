"""Accuracy of what TopK selects from standardised columns limited to [-clip, clip]."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy import SIZES, Classes, folds, judged
from benchmarks.certificate import Array
from benchmarks.data import Data, for_each
from benchmarks.tables import Table
from rowsparse import TopK

# Split by name, before anything was measured: every second of each kind of data is kept back.
TEXT = {"choice": ("pcmac",), "kept back": ("basehock", "relathe")}
OTHERS = {
    "choice": ("allaml", "glioma", "lymphoma", "srbct", "jaffe", "warppie10p", "mnist_t10k"),
    "kept back": ("lung", "prostate_ge", "yale", "usps", "arcene"),
}
HALVES = tuple(TEXT)
QUICK_SETS = ("pcmac", "srbct", "prostate_ge")
# Samples of a set that are used at most, drawn by class.
MOST_SAMPLES = 600
SETTINGS: dict[str, dict[str, Any]] = {
    "squared 0.5": {"loss": "squared", "alpha": 0.5},
    "logistic 0.005": {"loss": "logistic", "alpha": 0.005},
    "logistic 0.125": {"loss": "logistic", "alpha": 0.125},
}
CLIPS = (None, 2.0, 3.0, 4.0)
INNER_FOLDS, INNER_SIZE = 3, 10
CHOSEN = "by folds"
LABELS = (*("none" if clip is None else f"{clip:g}" for clip in CLIPS), CHOSEN)
JUDGES = ("SVM", "logistic regression")

Row = dict[str, Any]


def select(X: Array, y: Classes, k: int, clip: float | None, options: dict[str, Any]) -> Any:
    selector = TopK(k, clip=clip, n_restarts=0, random_state=0, **options).fit(X, y)
    return selector.get_support(indices=True)


def best_clip(X: Array, y: Classes, options: dict[str, Any]) -> float | None:
    """The clip with the best accuracy at one k in folds of the training part; none if tied."""
    right = np.zeros(len(CLIPS))
    splitter = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=0)
    for train, test in splitter.split(X, y):
        scaler = StandardScaler().fit(X[train])
        part, rest = scaler.transform(X[train]), scaler.transform(X[test])
        for i, clip in enumerate(CLIPS):
            support = select(part, y[train], INNER_SIZE, clip, options)
            right[i] += judged(part, y[train], rest, y[test], support)
    return CLIPS[int(np.argmax(right))]


def judged_by_both(
    X: Array, y: Classes, X_test: Array, y_test: Classes, S: Any
) -> dict[str, float]:
    """Accuracies (%) on the selected columns, standardised but not clipped."""
    logistic = LogisticRegression(max_iter=1000).fit(X[:, S], y)
    scores = judged(X, y, X_test, y_test, S), logistic.score(X_test[:, S], y_test)
    return dict(zip(JUDGES, (100.0 * float(score) for score in scores), strict=True))


def fold_rows(X: Array, y: Classes, X_test: Array, y_test: Classes) -> Iterator[Row]:
    """A row for each setting, clip and k of one fold."""
    for setting, options in SETTINGS.items():
        found = {}
        for clip, name in zip(CLIPS, LABELS, strict=False):
            for k in SIZES:
                support = select(X, y, k, clip, options)
                found[clip, k] = judged_by_both(X, y, X_test, y_test, support)
                yield {"setting": setting, "clip": name, "k": k} | found[clip, k]
        chosen = best_clip(X, y, options)
        for k in SIZES:
            yield {"setting": setting, "clip": CHOSEN, "k": k} | found[chosen, k]


# ------------------------------------------------------------------------------ the rows
class Rows:
    """The rows of the folds done, in a file if ROWSPARSE_ROWS names one: a run can go on there."""

    def __init__(self) -> None:
        name = os.environ.get("ROWSPARSE_ROWS")
        self._file = Path(name) if name else None
        self._done: dict[tuple[str, int], list[Row]] = {}
        if self._file and self._file.exists():
            for line in self._file.read_text().splitlines():
                stored = json.loads(line)
                self._done[stored["data"], stored["fold"]] = stored["rows"]

    def of(self, data: str, fold: int, computed: Iterable[Row]) -> list[Row]:
        """The rows of a fold, computed if they are not there yet."""
        if (data, fold) not in self._done:
            self._done[data, fold] = rows = list(computed)
            if self._file:
                with self._file.open("a") as file:
                    file.write(json.dumps({"data": data, "fold": fold, "rows": rows}) + "\n")
        return self._done[data, fold]


def _measure(data: Data, table: Table, *, rows: Rows) -> None:
    if len(data.y) > MOST_SAMPLES:
        part, _ = train_test_split(
            np.arange(len(data.y)), train_size=MOST_SAMPLES, stratify=data.y, random_state=0
        )
        data = Data(data.name, data.X[part], data.y[part], data.Y[part])
    found = [
        row
        for fold, parts in enumerate(folds(data, 1))
        for row in rows.of(data.name, fold, fold_rows(*parts))
    ]
    for setting in SETTINGS:
        here = [row for row in found if row["setting"] == setting]
        shown: Row = {"data": data.name, "setting": setting}
        for clip, k, judge in product(LABELS, SIZES, JUDGES):
            scores = [row[judge] for row in here if row["clip"] == clip and row["k"] == k]
            shown[f"{clip}, {k}, {judge}"] = float(np.mean(scores))
        table.rows.append(shown | {clip: _mean(shown, clip, SIZES, JUDGES[0]) for clip in LABELS})


def _mean(row: Row, clip: str, sizes: tuple[int, ...], judge: str) -> float:
    """The mean accuracy of a set over some k."""
    return float(np.mean([row[f"{clip}, {k}, {judge}"] for k in sizes]))


# ---------------------------------------------------------------------------- the tables
def run(quick: bool) -> list[Table]:
    formats = {"data": "", "setting": "", **dict.fromkeys(LABELS, ".1f")}
    sizes = ", ".join(map(str, SIZES))
    table = Table(f"Accuracy (%) of a linear SVM by clip, mean over k = {sizes}, 5 folds.", formats)
    table.notes.append(
        f"TopK without restarts. Features are selected inside the folds; only the search sees "
        f"clipped columns, the judge sees the columns as they are. At most {MOST_SAMPLES} samples "
        f"of a set, drawn by class. {CHOSEN.capitalize()}: the clip with the best accuracy at "
        f"k = {INNER_SIZE} in {INNER_FOLDS} folds of the training part."
    )
    every = [name for half in HALVES for name in (*TEXT[half], *OTHERS[half])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for_each(QUICK_SETS if quick else every, table, partial(_measure, rows=Rows()))
    return [_summary(table, judge) for judge in JUDGES] + [table]


def _summary(table: Table, judge: str) -> Table:
    """Mean differences from no clip, with standard errors over the sets."""
    clips = LABELS[1:]
    formats = {"sets": "", "setting": "", "k": "", "none": ".1f", **dict.fromkeys(clips, "")}
    summary = Table(f"Points of accuracy gained by the clip ({judge}).", formats)
    summary.notes.append(
        "Mean over the sets of accuracy (%) without a clip, then of what the clip adds, with the "
        "standard error of that mean over the sets (all k: of the sets' means over k). "
        + " ".join(
            f"{half.capitalize()}: text {', '.join(TEXT[half])}; others {', '.join(OTHERS[half])}."
            for half in HALVES
        )
    )
    for half in HALVES:
        for kind, names in (("text", TEXT[half]), ("others", OTHERS[half])):
            for setting in SETTINGS:
                for ks in (*((k,) for k in SIZES), SIZES) if judge == JUDGES[0] else (SIZES,):
                    rows = [r for r in table.rows if r["data"] in names and r["setting"] == setting]
                    if rows:
                        summary.rows.append({"sets": f"{half}, {kind}"} | _gains(rows, ks, judge))
    return summary


def _gains(rows: list[Row], sizes: tuple[int, ...], judge: str) -> Row:
    """The gains of one setting on some sets, at some k."""
    values = np.array([[_mean(row, clip, sizes, judge) for clip in LABELS] for row in rows])
    k = "all" if len(sizes) > 1 else str(sizes[0])
    shown: Row = {"setting": rows[0]["setting"], "k": k, "none": float(values[:, 0].mean())}
    for clip, gain in zip(LABELS[1:], (values[:, 1:] - values[:, :1]).T, strict=True):
        error = f" ({gain.std(ddof=1) / np.sqrt(gain.size):.1f})" if gain.size > 1 else ""
        shown[clip] = f"{gain.mean():+.1f}{error}"
    return shown
