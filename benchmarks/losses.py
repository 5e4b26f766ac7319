"""Which loss, which ridge and which form for several classes: nested folds on many sets.

Every outer fold of a set leaves a training part. Settings are compared by inner folds of the
training parts of the sets ``CHOICE``; they are then judged on the outer test parts, of those sets
and of the sets ``CHECK``, which the choice has not seen. What was measured is kept, one line a fold
and setting, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from benchmarks.accuracy import Classes, folds, judged
from benchmarks.certificate import Array
from benchmarks.data import Data, for_each
from benchmarks.softmax import SoftmaxLoss
from benchmarks.tables import VERDICT, Table, verdict
from rowsparse import TopK
from rowsparse.design import make_design
from rowsparse.solvers.choices import Choices
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.problem import Problem
from rowsparse.solvers.search.newton_state import NewtonColumns

# The sets by which a setting is chosen, and those kept back to check the choice.
CHOICE: tuple[str, ...] = ("prostate_ge", "srbct", "glioma", "lung", "lymphoma", "yale")
CHOICE += ("pcmac", "basehock")
CHECK: tuple[str, ...] = ("leu", "relathe", "lung_discrete", "jaffe", "arcene", "usps")
CHECK += ("warppie10p",)
QUICK_CHOICE, QUICK_CHECK = ("srbct", "yale"), ("lung_discrete", "jaffe")
# Larger sets are represented by so many of their samples, drawn by classes.
MOST_SAMPLES = 300
SIZES = (5, 10, 20, 40)
# Inner folds, and the outer folds whose training parts have them.
INNER_FOLDS, NESTED = 3, 2
ALPHAS, SOFTMAX_ALPHAS = (0.001, 0.005, 0.02, 0.125, 0.5), (0.02, 0.125)
SQUARED, RESTS, SOFTMAX = "squared", "logistic", "softmax"
JUDGES = ("linear SVM", "logistic regression")
CACHE = Path(__file__).parent / "results" / "losses.jsonl"
# A setting that only sets of several classes have.
_SEVERAL = (SOFTMAX, SOFTMAX_ALPHAS[0])

Settings = tuple[str, float]
Part = tuple[Array, Classes, Array, Classes]
Key = tuple[str, int, int, str, float]


# ------------------------------------------------------------------------- the selections
def settings(n_classes: int) -> list[Settings]:
    """Two classes have one form: softmax is the binary loss with half of the ridge."""
    found = [(SQUARED, 0.5), *((RESTS, alpha) for alpha in ALPHAS)]
    return found + [(SOFTMAX, alpha) for alpha in SOFTMAX_ALPHAS if n_classes > 2]


def selected(X: Array, y: Classes, setting: Settings) -> Iterator[NDArray[np.intp]]:
    """The features for every k, by growth and exchanges without restarts.

    With a logistic loss the search for a k goes on from the features of the k before.
    """
    form, alpha = setting
    if form == SQUARED:
        for k in SIZES:
            selector = TopK(k, alpha=alpha, loss="squared", n_restarts=0).fit(X, y)
            yield np.asarray(selector.get_support(indices=True))
        return
    Y = (y[:, None] == np.unique(y)).astype(np.float64)
    kind = SoftmaxLoss if form == SOFTMAX else LogisticLoss
    design, _ = make_design(X, center=False, scale=False)
    labels = Y[:, 1:] if Y.shape[1] == 2 else Y
    loss = kind(design, labels, np.ones(len(y)), True)
    choices = Choices.from_columns(X.shape[1], max(SIZES))
    states = NewtonColumns(Problem(loss, alpha * len(y), choices))
    state = states.start((), max(SIZES), widen=True)
    for k in SIZES:
        while state.size < k and state.grow(states.allowed):
            pass
        state.descend(states.allowed)
        if state.widen():
            state.descend(states.allowed)
        yield state.features


def scores(part: Part, setting: Settings, n_judges: int) -> list[list[float]]:
    """The accuracies of the judges, or of the first of them, one list for each k."""
    X, y, X_test, y_test = part
    found = []
    for S in selected(X, y, setting):
        found.append([judged(X, y, X_test, y_test, S)])
        if n_judges > 1:
            model = LogisticRegression(max_iter=1000).fit(X[:, S], y)
            found[-1].append(float(model.score(X_test[:, S], y_test)))
    return found


# ------------------------------------------------------------------------------ the folds
@dataclass(frozen=True)
class Store:
    """What was measured, in a file with one line for each fold and setting."""

    path: Path
    known: dict[Key, Array]

    @classmethod
    def read(cls, path: Path) -> Store:
        known = {}
        if path.exists():
            for line in path.read_text().splitlines():
                name, outer, inner, form, alpha, values = json.loads(line)
                known[name, outer, inner, form, alpha] = np.array(values)
        return cls(path, known)

    def add(self, key: Key, values: list[list[float]]) -> None:
        self.known[key] = np.array(values)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps([*key, values]) + "\n")

    def mean(self, name: str, setting: Settings, *, inner: bool) -> Array:
        """Mean accuracy in percent over the inner folds, or the outer ones, by k and judge."""
        rows = [
            values
            for (data, _, fold, *rest), values in self.known.items()
            if data == name and (fold >= 0) == inner and tuple(rest) == setting
        ]
        return np.asarray(100.0 * np.mean(rows, axis=0))


def _parts(data: Data, nested: bool) -> Iterator[tuple[int, int, Part]]:
    """Outer folds (inner fold -1) and, if asked, the inner folds of their training parts."""
    for outer, part in enumerate(folds(data, 1)):
        yield outer, -1, part
        if nested and outer < NESTED:
            training = Data(data.name, part[0], part[1], data.Y[:0])
            for inner, inner_part in enumerate(folds(training, 1, INNER_FOLDS)):
                yield outer, inner, inner_part


def _measure(data: Data, table: Table, *, store: Store, nested: bool) -> None:
    if len(data.y) > MOST_SAMPLES:
        X, _, y, _ = train_test_split(
            data.X, data.y, train_size=MOST_SAMPLES, stratify=data.y, random_state=0
        )
        data = Data(data.name, X, y, data.Y)
    asked = settings(data.Y.shape[1])
    for outer, inner, part in _parts(data, nested):
        for setting in asked:
            key = (data.name, outer, inner, *setting)
            if key not in store.known:
                store.add(key, scores(part, setting, 1 if inner >= 0 else len(JUDGES)))
    for i, k in enumerate(SIZES):
        row = {_title(s): store.mean(data.name, s, inner=False)[i, 0] for s in asked}
        table.rows.append({"data": data.name, "k": k, **row})


# ----------------------------------------------------------------------------- the tables
def _title(setting: Settings) -> str:
    return f"{setting[0]} {setting[1]:g}"


def run(quick: bool) -> list[Table]:
    """The folder of the results is that of ROWSPARSE_LOSSES, default benchmarks/results."""
    store = Store.read(Path(os.environ.get("ROWSPARSE_LOSSES", CACHE)))
    tables, names = [], ((QUICK_CHOICE, QUICK_CHECK) if quick else (CHOICE, CHECK))
    shown = {_title(s): ".1f" for s in settings(3)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for role, sets, nested in (
            ("by which settings were chosen", names[0], True),
            ("kept back for the check", names[1], False),
        ):
            table = Table(f"Sets {role}: accuracy (%) of a {JUDGES[0]}, 5 folds.", {})
            table.formats = {"data": "", "k": "d", **shown}
            for_each(sets, table, partial(_measure, store=store, nested=nested))
            tables.append(table)
    present = [[str(row["data"]) for row in table.rows[:: len(SIZES)]] for table in tables]
    tables[0].notes.append(
        "Features are selected and standardised inside the folds. Number after the loss: alpha. "
        "logistic: two classes, or the sum of each against the rest; softmax: several classes "
        f"only. Inner folds: {INNER_FOLDS}, of the first {NESTED} training parts. Sets of more "
        f"than {MOST_SAMPLES} samples are represented by as many. All searches without restarts."
    )
    choice, best = _choice(store, present[0])
    return [choice, _gains(store, present, best), *tables]


def _choice(store: Store, names: list[str]) -> tuple[Table, float]:
    """The inner accuracies of the settings, and the ridge of the best logistic one."""
    formats = {"setting": "", "sets": "", "number": "d"}
    formats |= {f"k = {k}": ".1f" for k in SIZES} | {"mean": ".2f", "se": ".2f"}
    table = Table(
        f"Inner folds of the training parts, {JUDGES[0]}: mean accuracy (%) of the sets.", formats
    )
    table.notes.append(
        "se: standard error, over the sets, of the mean difference to the squared loss."
    )
    several = [n for n in names if (n, 0, 0, *_SEVERAL) in store.known]
    means = {}
    for label, sets in (("all", names), ("several classes", several)):
        for setting in settings(2 if sets is names else 3):
            inner = np.array([store.mean(n, setting, inner=True)[:, 0] for n in sets])
            base = np.array([store.mean(n, (SQUARED, 0.5), inner=True)[:, 0] for n in sets])
            means[label, setting] = float(inner.mean())
            row: dict[str, Any] = {"setting": _title(setting), "sets": label, "number": len(sets)}
            row |= {f"k = {k}": a for k, a in zip(SIZES, inner.mean(axis=0), strict=True)}
            row |= {"mean": float(inner.mean()), "se": _error((inner - base).mean(axis=1))}
            table.rows.append(row)
    return table, max(ALPHAS, key=lambda alpha: means["all", (RESTS, alpha)])


def _gains(store: Store, present: list[list[str]], best: float) -> Table:
    """Outer accuracy of each logistic setting less that of the squared loss, by kind of set."""
    formats = {"sets": "", "number": "d", "judge": "", "setting": ""}
    formats |= {f"k = {k}": "+.1f" for k in SIZES} | {"mean": "+.2f", "se": ".2f", VERDICT: ""}
    table = Table("Outer folds: accuracy less that of the squared loss, points.", formats)
    table.target = (
        f"the ridge chosen above, {best:g}, is ahead on the sets kept back by two standard errors"
    )
    for role, names in zip(("choice", "kept back"), present, strict=True):
        several = [n for n in names if (n, 0, -1, *_SEVERAL) in store.known]
        kinds = {"all": names, "several classes": several}
        kinds["two classes"] = [n for n in names if n not in several]
        for kind, sets in kinds.items():
            for j, judge in enumerate(JUDGES):
                for setting in settings(3 if kind == "several classes" else 2)[1:]:
                    if not sets:
                        continue
                    gain = _differences(store, sets, setting)[:, :, j]
                    mean, error = float(gain.mean()), _error(gain.mean(axis=1))
                    row: dict[str, Any] = {"sets": f"{role}, {kind}", "number": len(sets)}
                    row |= {"judge": judge, "setting": _title(setting), "mean": mean, "se": error}
                    row |= {f"k = {k}": g for k, g in zip(SIZES, gain.mean(axis=0), strict=True)}
                    if (role, kind) == ("kept back", "all") and setting == (RESTS, best):
                        row[VERDICT] = verdict(mean >= 2.0 * error)
                    table.rows.append(row)
    return table


def _differences(store: Store, names: list[str], setting: Settings) -> Array:
    return np.array(
        [
            store.mean(n, setting, inner=False) - store.mean(n, (SQUARED, 0.5), inner=False)
            for n in names
        ]
    )


def _error(values: Array) -> float:
    """The standard error of a mean."""
    return float(np.std(values, ddof=1) / np.sqrt(values.size)) if values.size > 1 else np.nan
