"""The experiment of all papers and of the league table: accuracy over the number of features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import (
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedShuffleSplit,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from benchmarks.peers.selectors import PEERS, make_peer
from reproduction.declare import Contender, Row, RunTask, Size
from reproduction.runner import limited
from rowsparse._arrays import Array
from rowsparse.datasets import load
from rowsparse.evaluation import SelectionCurve
from rowsparse.evaluation.curve import PROTOCOLS, evaluate_split
from rowsparse.selectors import get_selector
from rowsparse.selectors.meta.fold_scores import drawn_folds

# From this number of samples on, libsvm is too slow and liblinear is used instead.
_MANY = 4000
# From data set, method, protocol and repetition to the options of a task; None: it is not run.
Plan = Callable[[str, str, str, int], Mapping[str, Any] | None]


def accuracy_tasks(
    experiment: str,
    size: Size,
    datasets: Iterable[str],
    contenders: Mapping[str, Contender],
    plan: Plan,
    *,
    repeats: int | None = None,
) -> list[RunTask]:
    """One task for each data set, contender, protocol and repetition that the plan has.

    Parameters
    ----------
    experiment : str
        Its name.
    size : Size
        Data sets, methods (option ``methods``) and number of repetitions.
    datasets : iterable of str
        All data sets of the experiment.
    contenders : dict of str to Contender
        All methods of the experiment.
    plan : callable
        From data set, method, protocol and repetition to the options of :func:`judged_curve`,
        or to None if this is not run. ``params`` in them replace those of the contender.
    repeats : int, optional
        Repetitions, if not those of the size.
    """
    return [
        RunTask(
            experiment,
            dataset,
            method,
            repeat,
            {
                "selector": contender.selector,
                "params": dict(contender.params),
                "protocol": protocol,
                **options,
            },
        )
        for repeat in range(size.repeats if repeats is None else repeats)
        for dataset in filter(size.keeps, datasets)
        for method, contender in size.chosen(contenders).items()
        for protocol in PROTOCOLS
        if (options := plan(dataset, method, protocol, repeat)) is not None
    ]


def classifiers(names: list[str], n: int, kind: str, trees: int = 100) -> dict[str, Any]:
    """The classifiers that the papers use, by the names of their tables."""
    machine: Any = LinearSVC(C=1.0, random_state=0) if n > _MANY else SVC(kernel="linear", C=1.0)
    known = {
        "1-NN": KNeighborsClassifier(n_neighbors=1),
        "3-NN": KNeighborsClassifier(n_neighbors=3),
        "linear SVM": OneVsRestClassifier(machine) if kind == "multilabel" else machine,
        # The ridge only makes the solution unique where columns depend on each other.
        "least squares": RidgeClassifier(alpha=1e-6),
        "random forest": RandomForestClassifier(trees, random_state=0),
    }
    return {name: known[name] for name in names}


def judged_curve(task: RunTask, X: Array, y: Array, kind: str) -> SelectionCurve:
    """All k, folds and classifiers of one repetition.

    The options of the task are ``selector`` with its ``params``; ``ks``; ``estimators``;
    ``protocol``; either ``folds``, perhaps with a number of ``shuffles`` that share a selection, or
    ``train_share`` with ``splits``; and, if wanted, the number of
    ``trees`` of a forest and ``fold_limit``, seconds of the processor for one selection.
    """
    options = task.options
    name, params = options["selector"], options["params"]
    selector = make_peer(name) if name in PEERS else get_selector(name, 1, **params)
    judges = classifiers(options["estimators"], len(X), kind, options.get("trees", 100))
    cv, seed = _splitter(options, kind, task.split), task.split
    splits = list(enumerate(drawn_folds(cv, X, y, kind, shuffle=True, random_state=seed)))
    seeds = np.random.SeedSequence(task.split).generate_state(len(splits))
    honest = options["protocol"] == "honest"
    records = []
    for seed, part in zip(seeds, [[s] for s in splits] if honest else [splits], strict=False):
        with limited(options.get("fold_limit"), processor=True):
            records += evaluate_split(
                selector,
                X,
                y,
                part,
                [k for k in options["ks"] if k <= X.shape[1]],
                judges,
                name=task.method,
                task=kind,
                protocol=options["protocol"],
                seed=int(seed),
            )
    return SelectionCurve(records, kind, options["protocol"], X.shape[1])


def _splitter(options: Mapping[str, Any], kind: str, seed: int) -> Any:
    if "shuffles" in options:
        repeated = RepeatedStratifiedKFold if kind == "classification" else RepeatedKFold
        return repeated(n_splits=options["folds"], n_repeats=options["shuffles"], random_state=seed)
    if "folds" in options:
        return options["folds"]
    shuffled = StratifiedShuffleSplit if kind == "classification" else ShuffleSplit
    return shuffled(options["splits"], train_size=options["train_share"], random_state=seed)


def accuracy_rows(task: RunTask) -> list[Row]:
    """One method on one data set: means over the folds, for each k and classifier."""
    data = load(task.dataset, download=False)
    curve = judged_curve(task, np.asarray(data.X), data.y, data.task)
    stability = {k: curve.stability(task.method, k)[0] for k in curve.ks}
    return [
        {
            "dataset": task.dataset,
            "method": task.method,
            "protocol": curve.protocol,
            "split": task.split,
            "k": k,
            "estimator": estimator,
            "stability": stability[k],
            **{
                what: float(np.mean(curve.values(what, task.method, estimator, k)))
                for what in (*curve.metrics, "objective", "redundancy", "seconds")
            },
        }
        for k in curve.ks
        for estimator in curve.estimators
    ]
