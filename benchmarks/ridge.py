"""Which ridge for numbers: planted features, copies of columns, test samples, and proofs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from numpy.random import Generator
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.certificate import Array
from benchmarks.data import load
from benchmarks.tables import Table
from rowsparse import TopK
from rowsparse.datasets import MissingDataError

ALPHAS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
SHOWN = tuple(f"{alpha:g}" for alpha in ALPHAS)
# Planted features, and the draws of a design.
N_TRUE, DRAWS = 8, 12
SHAPES = ((100, 300), (400, 100))
RATIOS = (0.5, 2.0, 8.0)
SIZES = (3, 5, 8)
# Seconds for a proof.
LIMIT = 5.0
# Sets of classes, one column of which becomes the number to predict.
COLUMN_SETS = ("lung_discrete", "srbct", "usps")

Row = dict[str, Any]


def select(X: Array, y: Array, k: int, alpha: float, **options: Any) -> TopK:
    fixed: dict[str, Any] = {"loss": "squared", "task": "regression", "random_state": 0}
    return TopK(k, alpha=alpha, **fixed, **options).fit(X, y)


# ------------------------------------------------------------------------- planted features
def autoregressive(rng: Generator, n: int, d: int) -> Array:
    """Columns correlated by 0.7^|i-j|."""
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(1 - 0.7**2) * X[:, j]
    return X


def in_blocks(rng: Generator, n: int, d: int) -> Array:
    """Blocks of five columns, correlated by 0.8."""
    shared = np.repeat(rng.standard_normal((n, d // 5)), 5, axis=1)
    return np.asarray(np.sqrt(0.8) * shared + np.sqrt(0.2) * rng.standard_normal((n, d)))


def equicorrelated(rng: Generator, n: int, d: int) -> Array:
    """All columns correlated by 0.5."""
    shared = rng.standard_normal((n, 1))
    return np.asarray(np.sqrt(0.5) * (shared + rng.standard_normal((n, d))))


DESIGNS: dict[str, Callable[[Generator, int, int], Array]] = {
    "AR(.7)": autoregressive,
    "blocks": in_blocks,
    "equicorrelated": equicorrelated,
}


def planted_table(draws: int) -> Table:
    formats = {"design": "", "size": "", "SNR": "g"}
    formats |= dict.fromkeys(SHOWN, ".0f") | {f"R2, {alpha}": ".3f" for alpha in SHOWN}
    table = Table(f"Planted features recovered (%), {N_TRUE} of d, {draws} draws.", formats)
    table.notes.append(
        "Columns named after alpha. R2: of least squares on the selected features, 2,000 other "
        "samples. Coefficients of either sign and magnitude 1. SNR: variance of the signal over "
        "that of the noise."
    )
    for name, design in DESIGNS.items():
        for n, d in SHAPES:
            for ratio in RATIOS:
                found = np.mean([_planted(design, n, d, ratio, i) for i in range(draws)], axis=0)
                row: Row = {"design": name, "size": f"{n} x {d}", "SNR": ratio}
                row |= dict(zip(SHOWN, (100.0 * found[0]).tolist(), strict=True))
                row |= {f"R2, {a}": r for a, r in zip(SHOWN, found[1].tolist(), strict=True)}
                table.rows.append(row)
    return table


def _planted(design: Callable[..., Array], n: int, d: int, ratio: float, draw: int) -> Array:
    rng = np.random.default_rng([draw, n])
    X = design(rng, n + 2000, d)
    true = rng.choice(d, N_TRUE, replace=False)
    signal = X[:, true] @ rng.choice([-1.0, 1.0], N_TRUE)
    y = signal + rng.standard_normal(len(X)) * signal.std() / np.sqrt(ratio)
    shares, r2 = [], []
    for alpha in ALPHAS:
        S = select(X[:n], y[:n], N_TRUE, alpha).get_support(indices=True)
        shares.append(np.isin(S, true).mean())
        r2.append(_r2(X[:n], y[:n], X[n:], y[n:], S))
    return np.array([shares, r2])


def _r2(X: Array, y: Array, X_test: Array, y_test: Array, S: Any) -> float:
    return float(LinearRegression().fit(X[:, S], y).score(X_test[:, S], y_test))


# ----------------------------------------------------------------------------- real sets
def real_sets() -> dict[str, tuple[Array, Array]]:
    """Targets of numbers; in sets of classes, one of the columns."""
    X, y = load_diabetes(return_X_y=True)
    squares = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    found = {"diabetes": (X, y), "diabetes, squares and products": (squares, y)}
    for name, loader in (("breast cancer", load_breast_cancer), ("wine", load_wine)):
        found[f"{name}, a column"] = _column_of(loader(return_X_y=True)[0])
    for name in COLUMN_SETS:
        try:
            X = load(name).X
        except MissingDataError:
            continue
        found[f"{name}, a column"] = _column_of(X[:500, X[:500].std(axis=0) > 0])
    return found


def _column_of(X: Array) -> tuple[Array, Array]:
    """The first of the columns with the most different values, and the others."""
    values = np.array([np.unique(column).size for column in X.T])
    j = int(np.argmax(values))
    return np.delete(X, j, axis=1), X[:, j]


def real_table(sets: dict[str, tuple[Array, Array]], repeats: int) -> Table:
    formats = {"data": "", "k": "d"} | {f"R2, {alpha}": ".3f" for alpha in SHOWN}
    formats |= {f"s, {alpha}": ".2f" for alpha in SHOWN} | {f"gap, {a}": "" for a in SHOWN}
    table = Table(f"Test R2 ({repeats} x 5 folds), and proofs from all samples.", formats)
    table.notes.append(
        "Columns named after alpha. R2: of least squares on the features selected from the "
        f"training samples. s: processor time of search and proof, limit {LIMIT:g} s; gap: what "
        "the proof leaves open then, 0 if nothing."
    )
    for name, (X, y) in sets.items():
        for k in (k for k in SIZES if k < X.shape[1]):
            row: Row = {"data": name, "k": k}
            for alpha, label in zip(ALPHAS, SHOWN, strict=True):
                row[f"R2, {label}"] = _cross_validated(X, y, k, alpha, repeats)
                start = process_time()
                proven = select(X, y, k, alpha, certify=True, time_limit=LIMIT)
                row[f"s, {label}"] = process_time() - start
                done = proven.status_ == "optimal"
                row[f"gap, {label}"] = "0" if done else f"{100 * proven.gap_:.2g} %"
            table.rows.append(row)
    return table


def _cross_validated(X: Array, y: Array, k: int, alpha: float, repeats: int) -> float:
    scores = []
    for repeat in range(repeats):
        for train, test in KFold(5, shuffle=True, random_state=repeat).split(X):
            S = select(X[train], y[train], k, alpha).get_support(indices=True)
            scores.append(_r2(X[train], y[train], X[test], y[test], S))
    return float(np.mean(scores))


# -------------------------------------------------------------------------------- copies
def doubled_table(sets: dict[str, tuple[Array, Array]]) -> Table:
    formats = {"data": "", "loss": "", "k": "d"} | dict.fromkeys(SHOWN, "d")
    table = Table("Different columns among k selected where every column is there twice.", formats)
    table.notes.append("Columns named after alpha.")
    X, y = load_breast_cancer(return_X_y=True)
    classes = partial(TopK, random_state=0, task="classification")
    for k in (5, 10):
        for name, (A, b) in sets.items():
            row: Row = {"data": name, "loss": "squared", "k": k}
            different = [_different(select(np.c_[A, A], b, k, a), A.shape[1]) for a in ALPHAS]
            if k <= A.shape[1]:
                table.rows.append(row | dict(zip(SHOWN, different, strict=True)))
        for loss in ("squared", "logistic"):
            row = {"data": "breast cancer, classes", "loss": loss, "k": k}
            for alpha, label in zip(ALPHAS, SHOWN, strict=True):
                found = classes(k, alpha=alpha, loss=loss).fit(np.c_[X, X], y)
                row[label] = _different(found, X.shape[1])
            table.rows.append(row)
    return table


def _different(selector: TopK, d: int) -> int:
    return int(np.unique(selector.get_support(indices=True) % d).size)


def run(quick: bool) -> list[Table]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sets = real_sets()
        if quick:
            sets = dict(list(sets.items())[:1])
        planted = planted_table(2 if quick else DRAWS)
        real = real_table(sets, 1 if quick else 2)
        return [_summary(planted), planted, real, doubled_table(sets)]


def _summary(planted: Table) -> Table:
    """Means of the planted designs by the ratio of signal to noise."""
    formats = {"SNR": "g"} | dict.fromkeys(SHOWN, ".1f") | {f"R2, {a}": ".3f" for a in SHOWN}
    table = Table("Planted features recovered (%), means over designs and sizes.", formats)
    for ratio in RATIOS:
        rows = [row for row in planted.rows if row["SNR"] == ratio]
        shown = {c: float(np.mean([row[c] for row in rows])) for c in formats if c != "SNR"}
        table.rows.append({"SNR": ratio, **shown})
    return table
