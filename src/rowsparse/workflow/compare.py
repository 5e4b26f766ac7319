"""Several methods on one table, scored on samples that took no part in the selection."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial

import numpy as np

from rowsparse._arrays import Index
from rowsparse._text import joined
from rowsparse.evaluation import Record, SelectionCurve, is_better_low, judge_selection
from rowsparse.selectors import list_selectors, selector_info
from rowsparse.workflow.cross_validation import (
    check_folds,
    judges,
    reference_scores,
    score_metric,
    select_in_fold,
)
from rowsparse.workflow.folds import Splits, fold_notes, table_folds
from rowsparse.workflow.leakage import find_leaks
from rowsparse.workflow.messages import InputError, setting
from rowsparse.workflow.plan import Plan, check_count, group_notes, make_plan
from rowsparse.workflow.results import ComparisonResult, Verdict
from rowsparse.workflow.run_log import ProgressCallback, StepTimer, recorded, silent, versions
from rowsparse.workflow.settings import CompareSettings, MethodSettings
from rowsparse.workflow.table import Table
from rowsparse.workflow.threads import in_threads
from rowsparse.workflow.verdict import (
    compare_with_guessing,
    imbalance_warning,
    verdict_metric,
)

__all__ = ["DEFAULT_METHODS", "compare"]

# Quick ones of different kinds.
DEFAULT_METHODS = ("topk", "rfs", "cdlsr", "relieff")


def compare(
    table: Table, settings: CompareSettings, *, progress: ProgressCallback = silent
) -> ComparisonResult:
    """Compare methods over numbers of features.

    Parameters
    ----------
    table : Table
        See :func:`rowsparse.workflow.table.read_table`.
    settings : CompareSettings
        Methods, numbers of features, folds.
    progress : callable
        See :class:`rowsparse.workflow.run_log.ProgressCallback`.

    Returns
    -------
    ComparisonResult
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
    notes = [*_adjusted_notes(table, plans), *group_notes(plans), *missing]
    metric = score_metric(table, settings.metric)
    splits = table_folds(table, settings)
    check_folds(table, splits, metric)
    notes += fold_notes(table, settings)
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
        baseline, chance = reference_scores(plans[0], splits, metric, settings.n_jobs)
    leaks = find_leaks(plans[0])
    imbalance = imbalance_warning(table)
    return ComparisonResult(
        data=replace(table.summary(), notes=tuple(notes), leaks=leaks.names),
        curve=curve,
        settings=recorded(settings, {"methods": tuple(names), "task": table.task}),
        versions=versions(),
        seconds=timer.seconds,
        warnings=(*leaks.sentences("drop"), *_failures(curve), *([imbalance] if imbalance else [])),
        verdict=_verdict(table, splits, curve),
        names=tuple(table.names),
        baseline_score=baseline,
        chance_score=chance,
    )


def _records(
    plan: Plan, ks: tuple[int, ...], metric: str, at: int, train: Index, test: Index
) -> list[Record]:
    """What a method comes to in one fold; the reason if it fails."""
    plan = plan.in_fold(train)
    X, y, task = plan.table.X, plan.table.y, plan.table.task
    models = judges(task, X.shape[0], metric)
    try:
        chosen = select_in_fold(plan, train, ks)
    except Exception as error:
        expected = isinstance(error, ValueError | TypeError | ImportError)
        why = str(error) if expected and str(error) else f"{type(error).__name__}: {error}"
        return [
            Record(plan.name, model, "honest", k, at, error=why) for k in ks for model in models
        ]
    found = [
        record
        for k in ks
        for record in judge_selection(
            plan.name, chosen[k], X, y, train, test, at, models, task, metric=metric
        )
    ]
    return [_counted(record, plan) for record in found] if plan.adjusted else found


def _counted(record: Record, plan: Plan) -> Record:
    """The record with the features that count alone."""
    support = tuple(j for j in record.support if j not in plan.adjusted)
    return replace(record, support=support, n_selected=len(support))


def _adjusted_notes(table: Table, plans: list[Plan]) -> list[str]:
    """The notes of the table, and on what is in every model."""
    notes = list(table.notes)
    if not plans[0].adjusted:
        return notes
    notes += [note for note in plans[0].table.notes if note.startswith("Adjusted for")]
    apart = [plan.name for plan in plans if not plan.accepts("include")]
    if apart:
        notes.append(
            f"{joined(apart, 3)} selected among the other columns only; the models that score "
            "have both."
        )
    return notes


def _method_names(table: Table, methods: tuple[str, ...] | None) -> tuple[list[str], list[str]]:
    """The methods to compare, and a note on those that are left out of all."""
    if methods is None:
        return [name for name in DEFAULT_METHODS if table.task in selector_info(name).tasks], []
    if methods != ("all",):
        return list(methods), []
    every = [selector_info(name) for name in list_selectors(task=table.task)]
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


def _verdict(table: Table, splits: Splits, curve: SelectionCurve) -> Verdict | None:
    """Whether the best mean score is better than that of guessing."""
    means = curve.mean(curve.metrics[0])
    if not np.isfinite(means).any():
        return None
    best = np.nanargmin if is_better_low(curve.metrics[0]) else np.nanargmax
    i, j = np.unravel_index(int(best(means)), means.shape)
    metric = verdict_metric(table, curve.metrics[0])
    scores = curve.values(metric, curve.selectors[i], curve.estimators[0], curve.ks[j])
    return compare_with_guessing(table, splits, metric, scores)


def _failures(curve: SelectionCurve) -> tuple[str, ...]:
    """One sentence for each method that failed on some fold."""
    found: dict[str, str] = {}
    for record in curve.records:
        if record.error:
            found.setdefault(record.selector, record.error.partition("\n")[0])
    return tuple(f"{name} failed: {error.rstrip('.')}." for name, error in found.items())
