"""Several methods on one table, judged on samples that took no part in the selection."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from rowsparse._validation import check_number
from rowsparse.evaluation import SelectionCurve, selection_curve
from rowsparse.selectors import list_selectors, selector_info
from rowsparse.workflow.errors import InputError
from rowsparse.workflow.methods import Plan, make_plan
from rowsparse.workflow.results import ComparisonResult
from rowsparse.workflow.running import Clock, Progress, silent, thread_backend, versions
from rowsparse.workflow.table import Table
from rowsparse.workflow.validation import judges, table_folds

__all__ = ["DEFAULT_METHODS", "compare"]

# Quick ones of different kinds.
DEFAULT_METHODS = ("topk", "rfs", "cdlsr", "relieff")


def compare(
    table: Table,
    ks: list[int],
    methods: list[str] | None = None,
    *,
    cv: int = 5,
    seed: int = 0,
    n_jobs: int | None = None,
    settings: dict[str, Any] | None = None,
    progress: Progress = silent,
) -> ComparisonResult:
    """Compare methods over numbers of features.

    Parameters
    ----------
    table : Table
        See :func:`rowsparse.workflow.table.read_table`.
    ks : list of int
        Numbers of features.
    methods : list of str, optional
        Names of selectors; None takes a few quick ones.
    cv : int, default=5
        Number of folds.
    n_jobs : int, default=1
        Number of threads; with more than one, the seconds of a method include what it waits.
    seed, settings, progress
        As in :func:`rowsparse.workflow.select.select`.

    Returns
    -------
    ComparisonResult
        A method that fails has its reason in the records, and in ``warnings``.
    """
    clock = Clock()
    d = table.X.shape[1]
    for k in ks:
        check_number("-k", k, low=1, integer=True)
        if k > d:
            raise InputError(f"-k {k} is more than the {d:,} columns to select from.")
    plans = _plans(table, methods, seed)
    named = {plan.name: plan.selector(1) for plan in plans}
    notes = dict.fromkeys(note for plan in plans for note in plan.table.notes)
    splits = table_folds(table, cv, seed)
    records = []
    for at, (name, selector) in enumerate(named.items()):
        progress(f"{name}: {cv} folds", at / len(named))
        with clock.step(name), warnings.catch_warnings(), thread_backend(n_jobs or 1):
            warnings.simplefilter("ignore")
            part = selection_curve(
                {name: selector}, table.X, table.y, ks, judges(table.task, table.X.shape[0]),
                cv=splits, task=table.task, on_error="record", random_state=seed,
            )  # fmt: skip
        records += part.records
    progress("Comparing", 1.0)
    curve = SelectionCurve(records, table.task, "honest", d)
    return ComparisonResult(
        data=replace(table.summary(), notes=tuple(notes)),
        curve=curve,
        settings=dict(settings or {}),
        versions=versions(),
        seconds=clock.seconds,
        warnings=_failures(curve),
    )


def _plans(table: Table, methods: list[str] | None, seed: int) -> list[Plan]:
    if methods is None:
        methods = [name for name in DEFAULT_METHODS if table.task in selector_info(name).tasks]
    elif methods == ["all"]:
        methods = list_selectors(task=table.task)
    if not methods:
        raise InputError("--methods must name at least one method: see rowsparse methods.")
    return [make_plan(table, name, seed=seed) for name in methods]


def _failures(curve: SelectionCurve) -> tuple[str, ...]:
    """One sentence for each method that failed on some fold."""
    found: dict[str, str] = {}
    for record in curve.records:
        if record.error:
            found.setdefault(record.selector, record.error.partition("\n")[0])
    return tuple(f"{name} failed: {error.rstrip('.')}." for name, error in found.items())
