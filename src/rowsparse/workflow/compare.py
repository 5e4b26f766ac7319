"""Several methods on one table, scored on samples that took no part in the selection."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial

import numpy as np

from rowsparse._arrays import Index
from rowsparse._text import joined
from rowsparse.evaluation import Record, SelectionCurve
from rowsparse.evaluation.curve import Fold, failed_records
from rowsparse.evaluation.metrics import is_better_low
from rowsparse.selectors.base.shared_parameters import task_taken
from rowsparse.workflow.cross_validation import (
    SHUFFLED,
    Validation,
    cross_validate,
    fold_notes,
    imbalance_note,
    judged,
    judges,
    other_folds,
    score_metric,
    select_in_fold,
    table_folds,
)
from rowsparse.workflow.leakage import find_leaks
from rowsparse.workflow.messages import InputError, setting
from rowsparse.workflow.plan import (
    Plan,
    check_count,
    find_method,
    list_methods,
    make_plan,
    plan_notes,
)
from rowsparse.workflow.results import ComparisonResult, Verdict
from rowsparse.workflow.run_log import (
    ProgressCallback,
    StepTimer,
    in_threads,
    recorded,
    silent,
    versions,
)
from rowsparse.workflow.settings import CompareSettings, MethodSettings
from rowsparse.workflow.table import Table

# Quick ones of different kinds.
DEFAULT_METHODS = ("topk", "rfs", "cdlsr", "relieff")


def compare(
    table: Table, settings: CompareSettings, *, progress: ProgressCallback = silent
) -> ComparisonResult:
    """Compare methods over numbers of features.

    A method that fails has its reason in the records, and in ``warnings``.
    """
    timer = StepTimer()
    d = table.X.shape[1]
    names, missing = _method_names(table, settings.methods)
    if settings.loss is not None and "topk" not in names:
        raise InputError(
            f"{setting('loss')} is for topk, which is not among the methods: leave it out."
        )
    losses = {"topk": settings.loss}
    chosen = [
        MethodSettings(method=name, loss=losses.get(name), adjust=settings.adjust) for name in names
    ]
    plans = [make_plan(table, method, settings.seed) for method in chosen]
    for k in settings.k:
        check_count(k, d - len(plans[0].adjusted))
    splits = table_folds(table, settings)
    metric = score_metric(table, splits, settings.metric)
    numbered = list(enumerate(splits))
    records: list[Record] = []
    for at, plan in enumerate(plans):
        progress(f"{plan.name}: {len(splits)} folds", at / len(plans))
        with timer.step(plan.name), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            folds = [
                partial(_records, plan, settings.k, metric, at, *split) for at, split in numbered
            ]
            for found in in_threads(folds, settings.n_jobs or 1):
                records += found
    progress("Comparing", 1.0)
    curve = SelectionCurve(records, table.task, "honest", d, metric)
    with timer.step("all features"):
        without = cross_validate(plans[0], (), splits, metric=metric, n_jobs=settings.n_jobs)
    leaks = find_leaks(plans[0])
    grouped = next((plan for plan in plans if "feature_groups" in plan.params), plans[0])
    imbalance = imbalance_note(table, metric, settings.metric)
    return ComparisonResult(
        data=grouped.summary(
            [*plan_notes(plans), *missing, *fold_notes(table, settings)], leaks.names
        ),
        curve=curve,
        settings=recorded(settings, {"methods": tuple(names), "task": table.task}),
        versions=versions(),
        seconds=timer.seconds,
        warnings=(*leaks.sentences("drop"), *_failures(curve), *([imbalance] if imbalance else [])),
        verdict=_verdict(curve, without, settings.cv),
        names=tuple(table.names),
        baseline_score=float(without.baseline.mean()),
        chance_score=float(without.chance.mean()),
    )


def _records(
    plan: Plan, ks: tuple[int, ...], metric: str, at: int, train: Index, test: Index
) -> list[Record]:
    """What a method comes to in one fold; the reason if it fails."""
    plan = plan.in_fold(train)
    X, y, task = plan.table.X, plan.table.y, plan.table.task
    models = judges(plan.table, metric)
    try:
        chosen = select_in_fold(plan, train, ks)
    except Exception as error:
        expected = isinstance(error, ValueError | TypeError | ImportError)
        why = str(error) if expected and str(error) else f"{type(error).__name__}: {error}"
        return failed_records(plan.name, ks, models, "honest", at, why)
    fold = Fold(X, y, task, train, test, at)
    found = [
        record for k in ks for record in fold.records(plan.name, chosen[k], models, metric=metric)
    ]
    return [_counted(record, plan) for record in found]


def _counted(record: Record, plan: Plan) -> Record:
    """The record with the features that count alone, in its number those of a category once."""
    support = tuple(j for j in record.support if j not in plan.adjusted)
    return replace(record, support=support, n_selected=plan.units_among(support).size)


def _method_names(table: Table, methods: tuple[str, ...] | None) -> tuple[list[str], list[str]]:
    """The methods to compare, and a note on those that are left out of all."""
    if methods is None:
        return [name for name in DEFAULT_METHODS if _takes(name, table)], []
    if methods != ("all",):
        return list(methods), []
    every = [find_method(name) for name in list_methods() if _takes(name, table)]
    there = [info.name for info in every if info.is_installed]
    missing = [info for info in every if not info.is_installed]
    if not missing:
        return there, []
    extras = ", ".join(sorted({str(info.extra) for info in missing}))
    note = (
        f"Left out, as what they need is not installed: {joined(info.name for info in missing)}; "
        f'pip install "rowsparse[{extras}]" adds them.'
    )
    return there, [note]


def _takes(name: str, table: Table) -> bool:
    return task_taken(find_method(name).tasks, table.task) is not None


def _verdict(curve: SelectionCurve, without: Validation, n_folds: int) -> Verdict | None:
    """Whether the best method predicts better than what needs no selection.

    In each fold, the best one is that of the other folds of the same repetition.
    """
    first, metric = curve.estimators[0], curve.metrics[0]
    pairs = [(name, k) for name in curve.selectors for k in curve.ks]
    scores = np.array([curve.values(metric, name, first, k) for name, k in pairs])
    shuffled = np.array([curve.values("chance", name, first, k) for name, k in pairs])
    known = np.isfinite(scores).all(axis=1)
    if not known.any():
        return None
    scores, shuffled = scores[known], shuffled[known]
    signed = -scores if is_better_low(metric) else scores
    others = other_folds(scores.shape[1], n_folds)
    best = [int(np.argmax(signed[:, own].mean(axis=1))) for own in others]
    at = (best, np.arange(len(best)))
    opponents = {**without.opponents, SHUFFLED: shuffled[at]}
    return judged(metric, without.splits, scores[at], opponents)


def _failures(curve: SelectionCurve) -> tuple[str, ...]:
    """One sentence for each method that failed on some fold."""
    found: dict[str, str] = {}
    for record in curve.records:
        if record.error:
            found.setdefault(record.selector, record.error.partition("\n")[0])
    return tuple(f"{name} failed: {error.rstrip('.')}." for name, error in found.items())
