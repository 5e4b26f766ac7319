"""The league table: every selector and what users pick today, on every data set, honestly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reproduction import league_page
from reproduction.accuracy import judges
from reproduction.declare import Experiment, Paper, Row, Size, Task
from reproduction.league_peers import PEERS, make_peer
from reproduction.league_scores import DEEP, JUDGES, REFERENCE, label
from reproduction.runner import limited
from rowsparse._arrays import Array
from rowsparse.datasets import list_datasets, load
from rowsparse.evaluation import SelectionCurve, evaluate_split, folds
from rowsparse.selectors import get_selector, list_selectors

KS = (5, 10, 20, 40, 80)
FOLDS = 5
# Settings that are not the defaults, which would take several times as long.
SETTINGS: dict[str, dict[str, Any]] = {
    "ipfs": {"max_iter": 50},
    "lpinf": {"init": "continuation", "tol": 1e-3, "max_iter": 100},
    "nmapg": {"tol": 1e-3},
    "rpfs": {"max_iter": 100},
    "concreteautoencoder": {"max_iter": 60, "max_tries": 1},
    "firdl": {"max_iter": 600, "phase_two": 240, "patience": 60},
}
# More than a second or so for a fold of a middling set: one repetition.
SLOW = (
    "cdlsr", "ipfs", "lpinf", "mtfs", "nmapg", "rfs", "rpfs", "slap", "smoothedl20",
    "sklearn-mi", "sklearn-rfe", "abess", "mrmr-selection", *DEEP,
)  # fmt: skip
STANDARD: dict[str, Any] = {
    "samples": 2000,
    "label_samples": 800,
    "labels": 15,
    "label_repeats": 1,
    "trees": 30,
    "forest_repeats": 1,
    "slow_repeats": 1,
    # Networks are trained on sets with no more values than this.
    "deep_values": 400_000,
    "fold_limit": 15.0,
}
# Nothing is left out but what does not end in an hour.
FULL = Size(
    "full",
    repeats=5,
    options={
        "samples": None, "label_samples": None, "labels": None, "label_repeats": 5, "trees": 100,
        "forest_repeats": 5, "slow_repeats": 5, "deep_values": np.inf, "fold_limit": 3600.0,
    },
)  # fmt: skip
EXPERIMENTS = {"classes": "classification", "labels": "multilabel"}


def methods_for(task: str) -> list[str]:
    """The rows of the table: the selectors of the registry, then the peers."""
    peers = [name for name, (_, tasks) in PEERS.items() if task in tasks]
    return [*list_selectors(task), *peers]


def _tasks(experiment: str, size: Size) -> list[Task]:
    task = EXPERIMENTS[experiment]
    options = {**STANDARD, **size.options}
    repeats = size.repeats or 1
    if experiment == "labels":
        options["samples"] = options["label_samples"]
        repeats = min(repeats, options["label_repeats"])
    sets = sorted(list_datasets(task), key=lambda info: info.n_samples * info.n_features)
    kept = options.get("methods") or methods_for(task)
    return [
        Task(experiment, info.name, method, split, _options(method, split, options))
        for split in range(repeats)
        for info in sets
        if size.keeps(info.name)
        for method in methods_for(task)
        if method in kept
        and (split < options["slow_repeats"] or method not in SLOW)
        and (method not in DEEP or info.n_samples * info.n_features <= options["deep_values"])
    ]


def _options(method: str, split: int, options: Mapping[str, Any]) -> dict[str, Any]:
    forest = split < options["forest_repeats"]
    return {
        "ks": list(KS),
        "judges": [name for name in JUDGES if forest or name != "random forest"],
        "params": SETTINGS.get(method, {}),
        **{name: options[name] for name in ("samples", "labels", "trees", "fold_limit")},
    }


def class_tasks(size: Size) -> list[Task]:
    """One class a sample, on all sets of the catalogue."""
    return _tasks("classes", size)


def label_tasks(size: Size) -> list[Task]:
    """Several labels a sample."""
    return _tasks("labels", size)


def sample_of(
    dataset: str, seed: int, samples: int | None, labels: int | None
) -> tuple[Array, Array, str]:
    """A data set, with no more samples and labels than asked for, and what its targets are."""
    data = load(dataset, download=False)
    X, y = data.X, data.y
    if labels is not None and y.ndim == 2 and y.shape[1] > labels:
        y = y[:, np.sort(np.argsort(-y.sum(axis=0), kind="stable")[:labels])]
    if samples is not None and X.shape[0] > samples:
        classes = y if y.ndim == 1 else None
        kept, _ = train_test_split(
            np.arange(X.shape[0]), train_size=samples, random_state=seed, stratify=classes
        )
        X, y = X[kept], y[kept]
    return np.asarray(X, dtype=np.float64), y, data.task


def league_rows(task: Task) -> list[Row]:
    """One method on one data set: all k, folds and judges of one repetition, one row for each k."""
    options = dict(task.options)
    X, y, kind = sample_of(task.dataset, task.split, options["samples"], options["labels"])
    ks = [k for k in options["ks"] if k < X.shape[1]]
    judged = judges(options["judges"], X.shape[0], kind, options["trees"])
    splits = folds(FOLDS, X, y, kind, task.split)
    if task.method == REFERENCE:
        return [_without_selection(task, X, y, judged, splits)]
    selector = (
        make_peer(task.method)
        if task.method in PEERS
        else get_selector(task.method, 1, **options["params"])
    )
    seeds = np.random.SeedSequence(task.split).generate_state(FOLDS)
    records = []
    for at, split in enumerate(splits):
        with limited(options["fold_limit"], processor=True):
            records += evaluate_split(
                selector, X, y, [(at, split)], ks, judged,
                name=task.method, task=kind, seed=int(seeds[at]),
            )  # fmt: skip
    curve = SelectionCurve(records, kind, "honest", X.shape[1])
    about = {"samples": X.shape[0], "spread": spread_of(y) * (FOLDS - 1) / FOLDS}
    return [{**_row(task, curve, k), **about} for k in ks]


def spread_of(y: Array) -> float:
    """||Y - mean||_F^2 of one-hot classes, or of labels: what there is to explain.

    >>> spread_of(np.array([0, 0, 1, 1]))
    2.0
    """
    Y = y if y.ndim == 2 else y[:, None] == np.unique(y)
    return float(np.sum(Y.shape[0] * Y.mean(axis=0) * (1 - Y.mean(axis=0))))


def _row(task: Task, curve: SelectionCurve, k: int) -> Row:
    """Means over the folds, and the score of each fold for tests of two methods."""
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


def _without_selection(
    task: Task, X: Array, y: Array, judged: Mapping[str, Any], splits: list[Any]
) -> Row:
    """All features: the correlations of ten thousand of them would take too long."""
    row: Row = {
        "dataset": task.dataset,
        "method": task.method,
        "split": task.split,
        "k": X.shape[1],
        "selected": X.shape[1],
        "samples": X.shape[0],
    }
    for judge, estimator in judged.items():
        found = cross_validate(
            make_pipeline(StandardScaler(), estimator), X, y,
            cv=splits, scoring=("accuracy", "f1_macro"), error_score="raise",
        )  # fmt: skip
        row[f"accuracy_{JUDGES[judge]}"] = found["test_accuracy"].mean()
        row[f"f1_{JUDGES[judge]}"] = found["test_f1_macro"].mean()
    return row


_SHOWN = "\n".join(
    f"- {label(name)}: " + ", ".join(f"`{key}={value!r}`" for key, value in params.items())
    for name, params in SETTINGS.items()
)
INTRO = f"""
Every selector of this library, and what a user of scikit-learn would pick today, on every data
set of the catalogue, for k of {", ".join(map(str, KS))} features (fewer than the set has). All is
done inside each training fold of {FOLDS}-fold cross-validation: standardising, selecting, fitting.
Three classifiers judge a selection: 1-NN, a linear support vector machine with C = 1 and a random
forest. Nothing is tuned on the test samples. `python -m reproduction league --out docs` runs what
is not done yet and writes this page and its rows, [league.csv](league.csv); `--rebuild` writes it
from those rows alone.

Methods have their default settings, except for these, which would take several times as long:

{_SHOWN}

`SelectFromModel` and `RFE` are asked for exactly k features; l1 logistic regression has C = 1 and
one class against the rest, the forest 100 trees, and `RFE` drops a tenth of the features at each
step. abess selects by logistic regression (multinomial for several classes, least squares for
labels) and no more features than there are training samples; fastcan by one column for each class
or label. A ranking serves all k by one fit; the other methods are fitted for each k.

What is less than five repetitions of everything, so that it ends in about two hours on two cores:
forests have {STANDARD["trees"]} trees; sets of more than {STANDARD["samples"]} samples
({STANDARD["label_samples"]} of several labels) are cut to so many, drawn anew for each repetition,
with the classes in proportion; of several labels the {STANDARD["labels"]} most frequent are kept;
networks are trained on sets of up to {STANDARD["deep_values"]} values; a method that takes more
than {STANDARD["fold_limit"]:g} seconds of the processor for a fold, all k and classifiers, is out
of time. Slow methods have {STANDARD["slow_repeats"]} repetition, and the forest judges
{STANDARD["forest_repeats"]}. Each of these is one option of the size of the run
(`reproduction.league.FULL` has none of them).
"""

PAPER = Paper(
    name="league",
    title="The league table",
    citation="Selectors compared under one protocol, on real data.",
    experiments=(
        Experiment("classes", "One class a sample", class_tasks, league_rows),
        Experiment("labels", "Several labels a sample", label_tasks, league_rows),
    ),
    standard=Size(repeats=2),
    quick=Size(
        "quick",
        repeats=1,
        datasets=("lung_discrete", "srbct", "emotions"),
        options={
            "trees": 10,
            "methods": (
                "allfeatures", "fisherscore", "mrmr", "mtfs", "ridgeranking", "topk",
                "sklearn-f", "sklearn-l1", "abess", "fastcan",
            ),
        },
    ),
    intro=INTRO,
    sections=league_page.sections,
    rows_format="csv",
)  # fmt: skip
