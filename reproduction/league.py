"""The league table: every selector and what users pick today, on every data set, honestly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import losses
from benchmarks.peers.selectors import PEERS
from reproduction.accuracy import accuracy_tasks, classifiers, judged_curve
from reproduction.declare import Contender, Experiment, Paper, Row, RunTask, Size
from reproduction.league_page import gains, page_context, titles, untouched_context
from reproduction.league_scores import (
    BRIEF,
    DECLARED,
    DEEP,
    JUDGES,
    REFERENCE,
    SLOW,
    VARIANTS,
    Scores,
    label,
)
from rowsparse._arrays import Array
from rowsparse.datasets import list_datasets, load
from rowsparse.evaluation import SelectionCurve
from rowsparse.selectors import list_selectors
from rowsparse.selectors.meta.fold_scores import drawn_folds

KS = (5, 10, 20, 40, 80)
FOLDS = 5
SETTINGS: dict[str, dict[str, Any]] = DECLARED.table("settings")
# The sets by which TopK's setting was chosen, and those kept back to check it.
USES = (losses.CHOICE, losses.CHECK)
STANDARD, FULL = DECLARED.size("standard"), DECLARED.size("full")


# The kind of targets of each experiment.
KINDS = {"classes": "classification", "labels": "multilabel"}


def contenders_for(kind: str) -> dict[str, Contender]:
    """The rows of the table: the selectors of the registry, variants of TopK, then the peers."""
    peers = [name for name, (_, kinds) in PEERS.items() if kind in kinds]
    plain = {
        name: Contender(name, label(name), SETTINGS.get(name, {}))
        for name in [*list_selectors(kind), *peers]
    }
    return {**plain, **VARIANTS}


def _tasks(experiment: str, size: Size) -> list[RunTask]:
    kind = KINDS[experiment]
    choices = {**STANDARD.options, **size.options}
    repeats = size.repeats
    if kind == "multilabel":
        choices["samples"] = choices["label_samples"]
        repeats = min(repeats, choices["label_repeats"])
    values = {info.name: info.n_samples * info.n_features for info in list_datasets(kind)}
    fixed = {name: choices[name] for name in ("samples", "labels", "trees")}

    def plan(dataset: str, method: str, protocol: str, repeat: int) -> dict[str, Any] | None:
        slow = method in SLOW and repeat >= choices["slow_repeats"]
        large = method in DEEP and values[dataset] > choices["deep_values"]
        if protocol != "honest" or slow or large:
            return None
        forest = repeat < choices["forest_repeats"]
        judges = [name for name in JUDGES if forest or name != "random forest"]
        limit = choices["brief_limit" if method in BRIEF else "fold_limit"]
        return {
            "ks": list(KS),
            "estimators": judges,
            "folds": FOLDS,
            "fold_limit": limit,
            **fixed,
        }

    by_size = sorted(values, key=values.__getitem__)
    return accuracy_tasks(experiment, size, by_size, contenders_for(kind), plan, repeats=repeats)


def class_tasks(size: Size) -> list[RunTask]:
    """One class a sample, on all sets of the catalogue."""
    return _tasks("classes", size)


def label_tasks(size: Size) -> list[RunTask]:
    """Several labels a sample."""
    return _tasks("labels", size)


def sample_of(
    dataset: str, seed: int, samples: float = np.inf, labels: float = np.inf
) -> tuple[Array, Array, str]:
    """A data set, with no more samples and labels than asked for, and what its targets are."""
    data = load(dataset, download=False)
    X, y = data.X, data.y
    if y.ndim == 2 and y.shape[1] > labels:
        y = y[:, np.sort(np.argsort(-y.sum(axis=0), kind="stable")[: int(labels)])]
    if X.shape[0] > samples:
        classes = y if y.ndim == 1 else None
        kept, _ = train_test_split(
            np.arange(X.shape[0]), train_size=int(samples), random_state=seed, stratify=classes
        )
        X, y = X[kept], y[kept]
    return np.asarray(X, dtype=np.float64), y, data.task


def league_rows(task: RunTask) -> list[Row]:
    """One method on one data set: all k, folds and judges of one repetition, one row for each k."""
    options = task.options
    X, y, kind = sample_of(task.dataset, task.split, options["samples"], options["labels"])
    if task.method == REFERENCE:
        return [_without_selection(task, X, y, kind)]
    ks = [k for k in options["ks"] if k < X.shape[1]]
    curve = judged_curve(replace(task, options={**options, "ks": ks}), X, y, kind)
    about = {"samples": X.shape[0], "spread": spread_of(y) * (FOLDS - 1) / FOLDS}
    return [{**_row(task, curve, k), **about} for k in ks]


def spread_of(y: Array) -> float:
    """||Y - mean||_F^2 of one-hot classes, or of labels: what there is to explain.

    >>> spread_of(np.array([0, 0, 1, 1]))
    2.0
    """
    Y = y if y.ndim == 2 else y[:, None] == np.unique(y)
    return float(np.sum(Y.shape[0] * Y.mean(axis=0) * (1 - Y.mean(axis=0))))


def _row(task: RunTask, curve: SelectionCurve, k: int) -> Row:
    """Means over the folds, and the score of each fold."""
    name, first = task.method, curve.estimators[0]
    scores: Row = {}
    for metric, short in (("accuracy", "accuracy"), ("macro_f1", "f1")):
        for judge in curve.estimators:
            scores[f"{short}_{JUDGES[judge]}"] = curve.values(metric, name, judge, k).mean()
    main = curve.metrics[0]
    by_fold = np.mean([curve.values(main, name, judge, k) for judge in curve.estimators], axis=0)
    return {
        "dataset": task.dataset,
        "method": name,
        "split": task.split,
        "k": k,
        "selected": curve.values("n_selected", name, first, k).mean(),
        **scores,
        "folds": " ".join(f"{value:.4f}" for value in by_fold),
        "stability": curve.stability(name, k)[0],
        **{
            what: curve.values(what, name, first, k).mean()
            for what in ("objective", "redundancy", "seconds")
        },
        "shared": int(curve.values("shared", name, first, k).any()),
    }


def _without_selection(task: RunTask, X: Array, y: Array, kind: str) -> Row:
    """All features, without the correlations of ten thousand of them, which would take too long."""
    options = task.options
    row: Row = {
        "dataset": task.dataset,
        "method": task.method,
        "split": task.split,
        "k": X.shape[1],
        "selected": X.shape[1],
        "samples": X.shape[0],
    }
    judges = classifiers(options["estimators"], X.shape[0], kind, options["trees"])
    for judge, estimator in judges.items():
        found = cross_validate(
            make_pipeline(StandardScaler(), estimator),
            X,
            y,
            cv=drawn_folds(FOLDS, X, y, kind, shuffle=True, random_state=task.split),
            scoring=("accuracy", "f1_macro"),
            error_score="raise",
        )
        row[f"accuracy_{JUDGES[judge]}"] = found["test_accuracy"].mean()
        row[f"f1_{JUDGES[judge]}"] = found["test_f1_macro"].mean()
    return row


def page(rows: Mapping[str, list[Row]]) -> dict[str, Any]:
    """The settings, and what the rows say."""
    settings = {label(name): params for name, params in SETTINGS.items()}
    scores = Scores.of(rows.get("classes", []), "accuracy")
    return {
        "ks": KS,
        "folds": FOLDS,
        "settings": settings,
        "standard": {"repeats": STANDARD.repeats, **STANDARD.options},
        "brief": [label(name) for name in BRIEF],
        "uses": [titles(part) for part in USES],
        "gains": gains(scores, *USES),
        "untouched": untouched_context(scores, {*USES[0], *USES[1]}),
        "parts": page_context(
            rows,
            {name: contenders_for(kind) for name, kind in KINDS.items()},
            USES,
        ),
    }


PAPER = Paper(
    name="league",
    experiments=(
        Experiment("classes", class_tasks, league_rows),
        Experiment("labels", label_tasks, league_rows),
    ),
    standard=STANDARD,
    quick=DECLARED.size("quick"),
    page=page,
    rows_format="csv",
)
