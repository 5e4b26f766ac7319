"""How many choices are nearly as good as the best one, and how long NearOptimal takes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from time import process_time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression

from benchmarks.certificate import Array
from benchmarks.data import Data, load
from benchmarks.tables import VERDICT, Table, verdict
from rowsparse import NearOptimal, TopK
from rowsparse.datasets import MissingDataError

SETS: tuple[str, ...] = ("allaml", "leu", "srbct", "glioma", "lung", "prostate_ge")
# Sets that scikit-learn brings.
BROUGHT = {"breast cancer": load_breast_cancer, "digits": load_digits}
QUICK_SETS = ("allaml", "srbct")
SIZES = (5, 10)
TOLERANCES = (0.005, 0.01, 0.02, 0.05)
PROBLEMS = (("squared", 2.0), ("squared", 0.5), ("logistic", 0.125))
LIMIT, QUICK_LIMIT = 20.0, 5.0
MOST = 1000
# Choices and seconds of a prototype in NumPy by set, k, alpha and tolerance, where it came to an
# end; of the squared loss, on one core.
PROTOTYPE = {
    ("allaml", 5, 2.0): {0.005: (3, 0.7), 0.01: (15, 1.0), 0.02: (83, 2.9)},
    ("allaml", 5, 0.5): {0.005: (1, 3.4), 0.02: (1, 6.0), 0.05: (21, 20.0)},
    ("leu", 5, 0.5): {0.01: (1, 5.0), 0.02: (2, 7.0), 0.05: (76, 23.0)},
    ("srbct", 5, 2.0): {0.005: (4, 0.7), 0.01: (15, 1.3), 0.02: (78, 3.8)},
    ("srbct", 10, 2.0): {0.005: (40, 15.0)},
    ("glioma", 5, 2.0): {0.005: (38, 4.0), 0.01: (492, 21.0)},
}
# Columns of a problem small enough to fit every choice.
FEW = 15

_NAMES = {tolerance: f"{100 * tolerance:g} %" for tolerance in TOLERANCES}


def run(quick: bool) -> list[Table]:
    limit = QUICK_LIMIT if quick else LIMIT
    names = QUICK_SETS if quick else (*SETS, *BROUGHT)
    tables = [_table(loss, alpha, limit) for loss, alpha in PROBLEMS]
    for data in each(names, *tables):
        for (loss, alpha), table in zip(PROBLEMS, tables, strict=True):
            table.rows += [_row(data, k, loss, alpha, limit) for k in SIZES]
    return [*tables, _enumerated((3, 5) if quick else (3, 5, 8))]


def each(names: tuple[str, ...], *tables: Table) -> Iterator[Data]:
    """Every set there is, standardised; the tables note those that are not."""
    for name in names:
        if name in BROUGHT:
            X, y = BROUGHT[name](return_X_y=True)
            X = X[:, np.ptp(X, axis=0) > 0]
            yield Data(name, (X - X.mean(axis=0)) / X.std(axis=0), y, np.eye(y.max() + 1)[y])
            continue
        try:
            yield load(name)
        except MissingDataError as missing:
            for table in tables:
                table.notes.append(str(missing))


def _table(loss: str, alpha: float, limit: float) -> Table:
    formats = {"data": "", "n x d x c": "", "k": "d", **dict.fromkeys(_NAMES.values(), "")}
    table = Table(f"Choices within a tolerance, {loss} loss, alpha = {alpha:g}.", formats)
    table.notes.append(
        "Choices; features in some of them and in all of them; processor seconds of search and "
        f"proof. With more than {MOST:,} choices, or where {limit:g} s are not enough, the number "
        "has a > and the tolerance follows for which the choices are proven to be all, if any; "
        "larger tolerances are not tried then."
    )
    if loss == "squared":
        table.formats |= {"prototype": "", VERDICT: ""}
        table.target = "the number of choices of a prototype, in its seconds, where it finished"
    return table


def _row(data: Data, k: int, loss: str, alpha: float, limit: float) -> dict[str, Any]:
    known = PROTOTYPE.get((data.name, k, alpha), {}) if loss == "squared" else {}
    row: dict[str, Any] = {"data": data.name, "n x d x c": data.size, "k": k}
    passed: list[bool] = []
    for tolerance, name in _NAMES.items():
        selector = TopK(k, loss=loss, alpha=alpha, random_state=0)
        near = NearOptimal(selector, tolerance=tolerance, max_choices=MOST, time_limit=limit)
        start = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a time limit that the search uses up
            near.fit(data.X, data.y)
        seconds = process_time() - start
        row |= {name: _cell(near, seconds), f"{name} nodes": near.n_nodes_}
        if tolerance in known:
            count, most = known[tolerance]
            passed.append(near.complete_ and len(near.choices_) == count and seconds <= most)
        if not near.complete_:
            break
    if known:
        timed = [f"{_NAMES[eps]}: {n}, {s:g} s" for eps, (n, s) in known.items()]
        row |= {"prototype": "; ".join(timed), VERDICT: verdict(all(passed))}
    return row


def _cell(near: NearOptimal, seconds: float) -> str:
    """Choices, features in some and in all, and seconds, or how far the proof came."""
    count = len(near.choices_)
    if near.complete_:
        features = f"{np.sum(near.share_ > 0)} / {near.in_all_.sum()}"
        return f"{count:,}; {features}; {seconds:.2g} s"
    known = f" (all to {100 * near.tolerance_:.2g} %)" if near.tolerance_ >= 0 else ""
    return f"> {count:,}{known}; {seconds:.2g} s"


# --------------------------------------------------------------------------- a small problem
def _enumerated(sizes: tuple[int, ...]) -> Table:
    """As in BranchGLM of R: some columns, two classes, all choices within a cutoff."""
    formats = {"columns": "", "k": "d", "tolerance %": "g", "choices": "d", "tried": "d"}
    formats |= {"same": "", "largest difference": ".1e", "s": ".3f", "all fitted s": ".2f"}
    formats[VERDICT] = ""
    table = Table(f"{FEW} columns, logistic loss, alpha = 0.125, against all fits.", formats)
    table.target = "the same choices as by fitting all, in less time"
    table.notes.append(
        "All choices are fitted by LogisticRegression of scikit-learn (newton-cholesky), with its "
        "time. Difference: of the objectives of the listed choices, as a share. Choices that "
        "rounding of these fits could decide do not count."
    )
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, FEW))
    drawn = (noise[:, :4].sum(axis=1) + rng.normal(size=200) > 0).astype(int)
    for name, Z, labels in (("breast cancer", X[:, :FEW], y), ("drawn", noise, drawn)):
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
        for k in sizes:
            start = process_time()
            objectives = {S: _fitted(Z[:, S], labels) for S in combinations(range(FEW), k)}
            all_fitted = process_time() - start
            compare = partial(_compared, Z, labels, k, objectives, all_fitted)
            table.rows += [{"columns": name, **compare(eps)} for eps in (0.01, 0.05)]
    return table


def _fitted(Z: Array, y: Array) -> float:
    """The objective of the columns Z, fitted by another package."""
    ridge = 0.125 * len(Z)
    model = LogisticRegression(C=1 / ridge, solver="newton-cholesky", tol=1e-10).fit(Z, y)
    margins = (2 * y - 1) * model.decision_function(Z)
    return float(np.logaddexp(0, -margins).sum() + ridge / 2 * np.sum(model.coef_**2))


def _compared(
    Z: Array,
    y: Array,
    k: int,
    objectives: dict[tuple[int, ...], float],
    all_fitted: float,
    tolerance: float,
) -> dict[str, Any]:
    selector = TopK(k, loss="logistic", alpha=0.125, random_state=0)
    start = process_time()
    near = NearOptimal(selector, tolerance=tolerance, max_choices=10_000).fit(Z, y)
    seconds = process_time() - start
    listed = {tuple(S.tolist()): f for S, f in zip(near.choices_, near.objectives_, strict=True)}
    limit = (1 + tolerance) * min(objectives.values())
    clear = {S for S, f in objectives.items() if abs(f - limit) > 1e-8 * limit}
    wanted = {S for S in clear if objectives[S] < limit}
    same = near.complete_ and wanted == listed.keys() & clear
    difference = max(abs(f / objectives[S] - 1) for S, f in listed.items())
    return {
        "k": k,
        "tolerance %": 100 * tolerance,
        "choices": len(listed),
        "tried": len(objectives),
        "same": "yes" if same else "no",
        "largest difference": difference,
        "s": seconds,
        "all fitted s": all_fitted,
        VERDICT: verdict(same and difference < 1e-8 and seconds < all_fitted),
    }
