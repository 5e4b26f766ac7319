"""Scores of selectors over the number of features: selection inside the folds, or before them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import check_cv
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.parallel import Parallel, delayed

from rowsparse._arrays import Index
from rowsparse._validation import check_choice, check_number
from rowsparse.evaluation.metrics import (
    NEEDS_VALUES,
    prediction_score,
    prediction_scores,
    redundancy,
    refitted_objective,
)
from rowsparse.evaluation.predictions import predict
from rowsparse.evaluation.records import Record, SelectionCurve
from rowsparse.evaluation.supports import Selection, select_for_each
from rowsparse.selectors import get_selector, selector_info
from rowsparse.selectors.base.parameters import with_task
from rowsparse.targets import declared_task, encode_targets, target_array

__all__ = [
    "PROTOCOLS",
    "default_estimators",
    "evaluate_split",
    "folds",
    "judge_selection",
    "selection_curve",
]

# honest: select inside each training fold. published: select once, on all samples.
PROTOCOLS = ("honest", "published")


def selection_curve(
    selectors: Any,
    X: Any,
    y: Any,
    ks: Iterable[int],
    estimators: Mapping[str, Any] | None = None,
    *,
    cv: Any = 5,
    protocol: str = "honest",
    task: str = "auto",
    on_error: str = "raise",
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> SelectionCurve:
    """Compare selectors over the number of features, by cross-validation.

    Under the honest protocol everything that looks at the data, standardising and selecting
    included, happens inside each training fold. Under the published one it happens once, on all
    samples, before the folds are made, as many papers did it: the test samples have then
    been seen, and accuracies come out too high.

    Parameters
    ----------
    selectors : list of str, or dict of str to selector
        Names of the registry, or selectors by the name to show. Each is given every k.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Data.
    y : array-like
        Targets.
    ks : iterable of int
        Numbers of features.
    estimators : dict of str to estimator, optional
        Fitted on the selected features and scored; by default a linear support vector machine and
        the nearest neighbour for classes, a linear support vector machine for each label, and
        linear regression for numbers.
    cv : int, splitter or iterable, default=5
        As in scikit-learn. An integer means stratified folds, shuffled by ``random_state``.
    protocol : {"honest", "published"}, default="honest"
        Where the selection happens.
    task : {"auto", "classification", "multilabel", "regression"}, default="auto"
        What y holds.
    on_error : {"raise", "record"}, default="raise"
        Whether a selector that fails stops everything, or is noted in its records.
    n_jobs : int, optional
        Number of processes; the answer is the same for any.
    random_state : int or None, default=0
        Shuffles the folds, and seeds the selectors without a ``random_state`` of their own.

    Returns
    -------
    SelectionCurve

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse.evaluation import selection_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = selection_curve(["topk", "rfs"], X, y, ks=[1, 2])
    >>> curve.mean("accuracy").shape
    (2, 2)
    """
    check_choice("protocol", protocol, PROTOCOLS)
    check_choice("on_error", on_error, ("raise", "record"))
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    task = declared_task(y, task)
    y = target_array(y, X.shape[0])
    task = encode_targets(y, task).task
    counts = _checked_counts(ks)
    named = _named(selectors)
    judges = dict(default_estimators(task) if estimators is None else estimators)
    splits = folds(cv, X, y, task, random_state)
    seeds = np.random.SeedSequence(random_state).generate_state(len(splits))
    if protocol == "published":
        work = [(name, list(enumerate(splits)), int(seeds[0])) for name in named]
    else:
        work = [
            (name, [(at, split)], int(seeds[at]))
            for name in named
            for at, split in enumerate(splits)
        ]
    runs = Parallel(n_jobs=n_jobs)(
        delayed(evaluate_split)(
            named[name],
            X,
            y,
            part,
            counts,
            judges,
            name=name,
            task=task,
            protocol=protocol,
            on_error=on_error,
            seed=seed,
        )
        for name, part, seed in work
    )
    return SelectionCurve([r for run in runs for r in run], task, protocol, X.shape[1])


def evaluate_split(
    selector: Any,
    X: Any,
    y: Any,
    splits: list[tuple[int, tuple[Index, Index]]],
    ks: list[int],
    estimators: Mapping[str, Any],
    *,
    name: str,
    task: str,
    protocol: str = "honest",
    on_error: str = "raise",
    seed: int | None = None,
) -> list[Record]:
    """The records of one selector on numbered splits, which share a selection if published."""
    records: list[Record] = []
    found: dict[int, Selection] = {}
    selector = with_task(selector, task)
    scaler = StandardScaler(with_mean=not sp.issparse(X))
    for split, (train, test) in splits:
        seen = np.arange(X.shape[0]) if protocol == "published" else train
        try:
            if not found or protocol == "honest":
                scaler.fit(X[seen])
                Z = scaler.transform(X[seen])
                found = select_for_each(selector, Z, y[seen], ks, seed=seed)
        except Exception as error:
            if on_error == "raise":
                raise
            why = f"{type(error).__name__}: {error}"
            records += [
                Record(name, judge, protocol, k, split, error=why)
                for k in ks
                for judge in estimators
            ]
            continue
        for k in ks:
            records += judge_selection(
                name, found[k], X, y, train, test, split, estimators, task, protocol
            )
    return records


def judge_selection(
    name: str,
    selection: Selection,
    X: Any,
    y: Any,
    train: Index,
    test: Index,
    split: int,
    estimators: Mapping[str, Any],
    task: str,
    protocol: str = "honest",
    metric: str | None = None,
) -> list[Record]:
    """The records of one selection on one split, one for every estimator.

    ``metric`` is a score that needs more than predictions (``NEEDS_VALUES``), if it is wanted.
    """
    S = selection.support
    part = np.asarray(X[:, S].toarray() if sp.issparse(X) else X[:, S], dtype=np.float64)
    if protocol == "published":
        # The published protocol scales with the test samples included.
        part = StandardScaler().fit_transform(part)
    objective = refitted_objective(part[train], y[train], np.arange(S.size), task=task)
    repeats = redundancy(part[train], np.arange(S.size))
    records = []
    for judge, estimator in estimators.items():
        fresh = clone(estimator)
        model = fresh if protocol == "published" else make_pipeline(StandardScaler(), fresh)
        model.fit(part[train], y[train])
        scores = prediction_scores(task, y[test], model.predict(part[test]))
        if metric in NEEDS_VALUES:
            said = predict(model, part[test], task)
            scores[metric] = prediction_score(metric, task, y[test], said)
        records.append(
            Record(
                name,
                judge,
                protocol,
                selection.k,
                split,
                n_selected=int(S.size),
                support=tuple(S.tolist()),
                scores=scores,
                objective=objective,
                redundancy=repeats,
                seconds=selection.seconds,
                shared=selection.shared,
            )
        )
    return records


def default_estimators(task: str) -> dict[str, Any]:
    """The estimators that score a selection by default."""
    machine = SVC(kernel="linear", C=1.0)
    if task == "regression":
        return {"linear regression": LinearRegression()}
    if task == "multilabel":
        return {"linear SVM": OneVsRestClassifier(machine)}
    return {"linear SVM": machine, "1-NN": KNeighborsClassifier(n_neighbors=1)}


def _named(selectors: Any) -> dict[str, Any]:
    if isinstance(selectors, str):
        selectors = [selectors]
    if not isinstance(selectors, Mapping):
        selectors = {selector_info(name).cls.__name__: get_selector(name, 1) for name in selectors}
    if not selectors:
        raise ValueError("selectors must name at least one selector.")
    for name, selector in selectors.items():
        if not (hasattr(selector, "fit") and hasattr(selector, "get_support")):
            raise TypeError(f"selectors: {name!r} must be a selector; got {selector!r}.")
    return dict(selectors)


def _checked_counts(ks: Iterable[int]) -> list[int]:
    counts = list(ks) if isinstance(ks, Iterable) else [ks]
    if not counts:
        raise ValueError("ks must hold at least one number of features.")
    for k in counts:
        check_number("every one of ks", k, low=1, integer=True)
    return sorted({int(k) for k in counts})


def folds(
    cv: Any, X: Any, y: Any, task: str, random_state: int | None
) -> list[tuple[Index, Index]]:
    """Training and test rows: stratified for classes, and shuffled if ``cv`` is a number."""
    splitter = check_cv(cv, y, classifier=task == "classification")
    if isinstance(cv, int | np.integer):
        splitter = type(splitter)(int(cv), shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        # Gene expression data often have classes with fewer samples than folds.
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(X, y))
