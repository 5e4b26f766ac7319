"""The best features for every k, and what each further one is worth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rowsparse._threads import one_blas_thread
from rowsparse.selectors import topk_path
from rowsparse.workflow.cross_validation import (
    cross_validate,
    fold_notes,
    imbalance_note,
    score_metric,
    table_folds,
)
from rowsparse.workflow.leakage import find_leaks
from rowsparse.workflow.plan import Plan, make_plan
from rowsparse.workflow.results import PathResult
from rowsparse.workflow.run_log import (
    ProgressCallback,
    StepTimer,
    collect_warnings,
    recorded,
    silent,
    versions,
)
from rowsparse.workflow.settings import MethodSettings, PathSettings
from rowsparse.workflow.table import Table

__all__ = ["find_path"]

# Parameters of TopK that topk_path has too.
_PATH_PARAMETERS = (
    "loss",
    "alpha",
    "clip",
    "include",
    "exclude",
    "feature_groups",
    "task",
    "random_state",
)


def find_path(
    table: Table, settings: PathSettings | None = None, *, progress: ProgressCallback = silent
) -> PathResult:
    """The support of TopK for every k, with objective and cross-validated score.

    Parameters
    ----------
    table : Table
        See :func:`rowsparse.workflow.table.read_table`.
    settings : PathSettings, optional
        The largest k, columns that must or must not be selected, folds.
    progress : callable
        See :class:`rowsparse.workflow.run_log.ProgressCallback`.

    Returns
    -------
    PathResult
    """
    settings = settings or PathSettings()
    timer = StepTimer()
    plan = make_plan(table, settings.as_kind(MethodSettings), settings.seed)
    splits = table_folds(table, settings)
    metric = score_metric(table, splits, settings.metric)
    ks = plan.counts_up_to(settings.k_max)
    progress(f"The best features for every k up to {ks[-1]}")
    options = {name: plan.params[name] for name in _PATH_PARAMETERS if name in plan.params}
    with timer.step("path"), collect_warnings() as found, one_blas_thread(not table.is_large):
        path = topk_path(table.X, table.y, plan.n_asked(ks[-1]), **options)
    with timer.step("validate"), one_blas_thread(not table.is_large):
        validation = cross_validate(
            plan,
            ks,
            splits,
            metric=metric,
            with_all=False,
            n_jobs=settings.n_jobs,
            progress=progress,
        )
    imbalance = imbalance_note(table, metric, settings.metric)
    leaks = find_leaks(plan)
    # The path begins with the columns that are in every model alone.
    found_ks = path.ks - plan.n_adjusted
    first = int(np.searchsorted(found_ks, 1))
    beside = plan.units_among(plan.adjusted)
    names = list(table.names)
    for name, part in table.groups.items():
        names[int(part.min())] = name
    return PathResult(
        data=replace(
            plan.summary(),
            notes=(*plan.table.notes, *fold_notes(table, settings)),
            leaks=leaks.names,
        ),
        ks=tuple(found_ks[first:].tolist()),
        supports=tuple(
            np.setdiff1d(table.unit_of[support], beside) for support in path.supports[first:]
        ),
        names=tuple(names),
        objectives=tuple(path.objectives[first:].tolist()),
        curve=validation.curve(),
        settings=recorded(settings, {**_effective(plan), "task": table.task}),
        versions=versions(),
        seconds=timer.seconds,
        warnings=(*leaks.sentences(), *found.sentences, *([imbalance] if imbalance else [])),
        verdict=validation.held_out().verdict(),
    )


def _effective(plan: Plan) -> dict[str, Any]:
    """The loss and the ridge that take effect."""
    parameters = plan.parameters()
    return {name: parameters[name] for name in ("loss", "alpha")}
