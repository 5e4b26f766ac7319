"""Several methods on one table, scored on samples that took no part in the selection."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial

import numpy as np

from rowsparse._arrays import Index
from rowsparse._text import joined
from rowsparse.evaluation import Record, SelectionCurve, judge_selection
from rowsparse.selectors import list_selectors, selector_info
from rowsparse.workflow.cross_validation import (
    Splits,
    judges,
    score_metric,
    select_in_fold,
    table_folds,
)
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
    for k in settings.k:
        check_count(k, d)
    names, missing = _method_names(table, settings.methods)
    if settings.loss is not None and "topk" not in names:
        raise InputError(
            f"{setting('loss')} is for topk, which is not among the methods: leave it out."
        )
    losses = {"topk": settings.loss}
    asked = [MethodSettings(method=name, loss=losses.get(name)) for name in names]
    plans = [make_plan(table, one, settings.seed) for one in asked]
    notes = [*table.notes, *group_notes(plans), *missing]
    metric = score_metric(table, settings.metric)
    splits = table_folds(table, settings.cv, settings.seed)
    numbered = list(enumerate(splits))
    records: list[Record] = []
    for at, plan in enumerate(plans):
        progress(f"{plan.name}: {settings.cv} folds", at / len(plans))
        with timer.step(plan.name), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            folds = [partial(_records, plan, settings.k, at, *split) for at, split in numbered]
            for found in in_threads(folds, settings.n_jobs or 1):
                records += found
    progress("Comparing", 1.0)
    curve = SelectionCurve(records, table.task, "honest", d, metric)
    imbalance = imbalance_warning(table)
    return ComparisonResult(
        data=replace(table.summary(), notes=tuple(notes)),
        curve=curve,
        settings=recorded(settings, {"methods": tuple(names), "task": table.task}),
        versions=versions(),
        seconds=timer.seconds,
        warnings=(*_failures(curve), *([imbalance] if imbalance else [])),
        verdict=_verdict(table, splits, curve),
    )


def _records(plan: Plan, ks: tuple[int, ...], at: int, train: Index, test: Index) -> list[Record]:
    """What a method comes to in one fold; the reason if it fails."""
    X, y, task = plan.table.X, plan.table.y, plan.table.task
    models = judges(task, X.shape[0])
    try:
        chosen = select_in_fold(plan, train, ks)
    except Exception as error:
        expected = isinstance(error, ValueError | TypeError | ImportError)
        why = str(error) if expected and str(error) else f"{type(error).__name__}: {error}"
        return [
            Record(plan.name, model, "honest", k, at, error=why) for k in ks for model in models
        ]
    return [
        record
        for k in ks
        for record in judge_selection(plan.name, chosen[k], X, y, train, test, at, models, task)
    ]


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
    """Whether the highest mean score is better than that of guessing."""
    means = curve.mean(curve.metrics[0])
    if not np.isfinite(means).any():
        return None
    i, j = np.unravel_index(int(np.nanargmax(means)), means.shape)
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
