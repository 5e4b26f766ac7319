"""How many restarts of the logistic search pay: objective, accuracy and seconds against them."""

from __future__ import annotations

import warnings
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy import folds, judged
from benchmarks.data import Data, for_each
from benchmarks.tables import Table
from rowsparse import TopK

# Every second set, by name, is kept back to check what the others suggest.
SHARED: tuple[str, ...] = ("allaml", "arcene", "basehock", "glioma", "jaffe", "leu", "lung")
SHARED += ("lung_discrete", "lymphoma", "pcmac", "prostate_ge", "srbct", "usps", "yale")
QUICK = ("leu", "srbct")
LOADERS = {
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
    "iris": load_iris,
    "wine": load_wine,
}
SIZES = (5, 10, 20)
RESTARTS = (0, 1, 2, 5, 20)
N_FOLDS = 3
# Larger sets are represented by a number of their samples, drawn by classes.
MOST_SAMPLES = 300
SQUARED = "squared 20"
LABELS = tuple(f"logistic {n}" for n in RESTARTS)
# Samples of the table of many samples, and those of its test part.
LARGE, TEST = (1_000, 10_000, 100_000, 300_000), 20_000

Row = dict[str, Any]


def selectors(k: int) -> dict[str, TopK]:
    """The logistic loss with each number of restarts, and the squared loss with its own."""
    found = {
        label: TopK(k, loss="logistic", n_restarts=n, random_state=0)
        for label, n in zip(LABELS, RESTARTS, strict=True)
    }
    return found | {SQUARED: TopK(k, loss="squared", n_restarts=20, random_state=0)}


def fold_rows(X: Any, y: Any, X_test: Any, y_test: Any) -> list[Row]:
    """A row for each selector and k of one fold."""
    rows = []
    for k in (k for k in SIZES if k < X.shape[1]):
        for label, selector in selectors(k).items():
            start = process_time()
            selector.fit(X, y)
            seconds = process_time() - start
            S = selector.get_support(indices=True)
            logistic = LogisticRegression(max_iter=1000).fit(X[:, S], y)
            scores = judged(X, y, X_test, y_test, S), logistic.score(X_test[:, S], y_test)
            rows.append(
                {"label": label, "k": k, "objective": selector.objective_, "seconds": seconds}
                | {"accuracy": 100.0 * float(np.mean(scores))}
            )
    return rows


def _measure(data: Data, table: Table) -> None:
    if len(data.y) > MOST_SAMPLES:
        X, _, y, _ = train_test_split(
            data.X, data.y, train_size=MOST_SAMPLES, stratify=data.y, random_state=0
        )
        data = Data(data.name, X, y, data.Y)
    rows = [row for part in folds(data, 1, N_FOLDS) for row in fold_rows(*part)]
    for k in sorted({row["k"] for row in rows}):
        shown: Row = {"data": data.name, "k": k}
        for label in (*LABELS, SQUARED):
            here = [row for row in rows if row["label"] == label and row["k"] == k]
            for value in ("objective", "accuracy", "seconds"):
                shown[f"{label} {value}"] = float(np.mean([row[value] for row in here]))
        best = min(shown[f"{label} objective"] for label in LABELS)
        for label in LABELS:
            shown[f"{label} excess"] = 100.0 * (shown[f"{label} objective"] / best - 1.0)
        table.rows.append(shown)


def run(quick: bool) -> list[Table]:
    formats = {"data": "", "k": "d", **{f"{label} accuracy": ".1f" for label in (*LABELS, SQUARED)}}
    table = Table(f"Accuracy (%) against restarts, {N_FOLDS} folds.", formats)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for_each(QUICK if quick else SHARED, table, _measure)
        for name, load in list(LOADERS.items())[: 1 if quick else None]:
            _measure(standardised(name, *load(return_X_y=True)), table)
        large = large_table(LARGE[:2] if quick else LARGE)
    return [_summary(table), table, large]


def standardised(name: str, X: Any, y: Any) -> Data:
    return Data(name, StandardScaler().fit_transform(X), y, np.eye(int(y.max()) + 1)[y])


def _summary(table: Table) -> Table:
    """Means over the sets of each half: what restarts gain, and what they cost."""
    formats = {"sets": "", "number": "d", "search": "", "excess (%)": ".3f", "accuracy": ".2f"}
    formats |= {"against 0": "+.2f", "se": ".2f", "seconds": ".3f", "time of squared": ".2f"}
    summary = Table("Restarts of the logistic search, means over sets and k.", formats)
    summary.notes.append(
        "Excess: of the objective over the least of the row. Accuracy: mean of a linear SVM and of "
        "logistic regression, on test samples. Against 0: accuracy less that without restarts, "
        "with the standard error over the sets. Seconds: processor time of a fit. Time of squared: "
        "median ratio to the squared loss with 20 restarts. Number after the loss: restarts."
    )
    names = sorted({str(row["data"]) for row in table.rows})
    for half, chosen in (("choice", names[::2]), ("kept back", names[1::2])):
        for label in (*LABELS, SQUARED):
            of = partial(_by_set, table.rows, chosen, label)
            gains = of("accuracy") - _by_set(table.rows, chosen, LABELS[0], "accuracy")
            ratios = [
                row[f"{label} seconds"] / row[f"{SQUARED} seconds"]
                for row in table.rows
                if row["data"] in chosen
            ]
            shown: Row = {"sets": half, "number": len(chosen), "search": label}
            shown["excess (%)"] = None if label == SQUARED else float(of("excess").mean())
            shown |= {"accuracy": float(of("accuracy").mean()), "against 0": float(gains.mean())}
            shown["se"] = float(np.std(gains, ddof=1) / np.sqrt(max(1, gains.size)))
            shown |= {"seconds": float(of("seconds").mean())}
            summary.rows.append(shown | {"time of squared": float(np.median(ratios))})
    return summary


def _by_set(rows: list[Row], names: list[str], label: str, value: str) -> Any:
    """The mean over k, for each set."""
    return np.array(
        [np.mean([r[f"{label} {value}"] for r in rows if r["data"] == name]) for name in names]
    )


# ---------------------------------------------------------------------- many samples
def large_table(sizes: tuple[int, ...]) -> Table:
    """Accuracy and seconds of both losses as the number of samples grows."""
    formats = {"classes": "d", "samples": "d", "logistic": ".2f", "squared": ".2f"}
    formats |= {"logistic s": ".2f", "squared s": ".2f", "same features": "d"}
    table = Table("Accuracy (%) of 10 of 50 correlated columns as the samples grow.", formats)
    table.notes.append(
        "Classes drawn from a multinomial logistic model on 15 columns of 50, correlated by "
        "0.5^|i-j|, a third of them skewed (lognormal); logistic regression judges, on "
        f"{TEST:,} other samples; no restarts; s: processor time."
    )
    for n_classes in (2, 5):
        for n in sizes:
            table.rows.append({"classes": n_classes, "samples": n} | _large(n, n_classes))
    return table


def _large(n: int, n_classes: int) -> Row:
    rng = np.random.default_rng(0)
    d, n_true = 50, 15
    root = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d))))
    X = rng.standard_normal((n + TEST, d)) @ root.T
    X[:, ::3] = np.exp(X[:, ::3])
    W = np.zeros((d, n_classes))
    W[rng.choice(d, n_true, replace=False)] = rng.standard_normal((n_true, n_classes))
    # A draw of the classes: the largest of the values plus noise of Gumbel's distribution.
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (Z @ W + rng.gumbel(size=(n + TEST, n_classes))).argmax(axis=1)
    found: Row = {}
    supports = []
    for loss in ("logistic", "squared"):
        start = process_time()
        selector = TopK(10, loss=loss, n_restarts=0, random_state=0)
        S = selector.fit(X[:n], y[:n]).get_support(indices=True)
        found[f"{loss} s"] = process_time() - start
        judge = LogisticRegression(max_iter=1000).fit(Z[:n][:50_000, S], y[:n][:50_000])
        found[loss] = 100.0 * judge.score(Z[n:, S], y[n:])
        supports.append(set(S.tolist()))
    return found | {"same features": len(supports[0] & supports[1])}
