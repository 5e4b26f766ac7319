"""Several methods on one table, scored on samples that took no part in the selection."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace

from rowsparse.evaluation import SelectionCurve, selection_curve
from rowsparse.selectors import list_selectors, selector_info
from rowsparse.workflow.cross_validation import judges, table_folds
from rowsparse.workflow.plan import check_count, make_plan
from rowsparse.workflow.results import ComparisonResult
from rowsparse.workflow.run_log import ProgressCallback, StepTimer, silent, versions
from rowsparse.workflow.settings import CompareSettings, MethodSettings
from rowsparse.workflow.table import Table
from rowsparse.workflow.threads import thread_backend

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
    names = _method_names(table, settings.methods)
    plans = [make_plan(table, MethodSettings(method=name), settings.seed) for name in names]
    notes = dict.fromkeys(note for plan in plans for note in plan.table.notes)
    splits = table_folds(table, settings.cv, settings.seed)
    selectors = {plan.name: plan.selector(1) for plan in plans}
    records = []
    for at, (name, selector) in enumerate(selectors.items()):
        progress(f"{name}: {settings.cv} folds", at / len(selectors))
        with timer.step(name), warnings.catch_warnings(), thread_backend(settings.n_jobs or 1):
            warnings.simplefilter("ignore")
            records += selection_curve(
                {name: selector},
                table.X,
                table.y,
                list(settings.k),
                judges(table.task, table.X.shape[0]),
                cv=splits,
                task=table.task,
                on_error="record",
                random_state=settings.seed,
            ).records
    progress("Comparing", 1.0)
    curve = SelectionCurve(records, table.task, "honest", d)
    return ComparisonResult(
        data=replace(table.summary(), notes=tuple(notes)),
        curve=curve,
        settings=asdict(settings),
        versions=versions(),
        seconds=timer.seconds,
        warnings=_failures(curve),
    )


def _method_names(table: Table, methods: tuple[str, ...] | None) -> list[str]:
    if methods is None:
        return [name for name in DEFAULT_METHODS if table.task in selector_info(name).tasks]
    return list_selectors(task=table.task) if methods == ("all",) else list(methods)


def _failures(curve: SelectionCurve) -> tuple[str, ...]:
    """One sentence for each method that failed on some fold."""
    found: dict[str, str] = {}
    for record in curve.records:
        if record.error:
            found.setdefault(record.selector, record.error.partition("\n")[0])
    return tuple(f"{name} failed: {error.rstrip('.')}." for name, error in found.items())
