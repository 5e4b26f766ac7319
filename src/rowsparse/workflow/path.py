"""The best features for every k, and what each further one is worth."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from rowsparse.workflow.cross_validation import table_folds
from rowsparse.workflow.feature_count import path_curve
from rowsparse.workflow.plan import make_plan
from rowsparse.workflow.results import PathResult
from rowsparse.workflow.run_log import (
    ProgressCallback,
    StepTimer,
    collect_warnings,
    silent,
    versions,
)
from rowsparse.workflow.settings import MethodSettings, PathSettings
from rowsparse.workflow.table import Table

__all__ = ["find_path"]


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
    method = MethodSettings(
        alpha=settings.alpha, include=settings.include, exclude=settings.exclude
    )
    plan = make_plan(table, method, settings.seed)
    splits = table_folds(table, settings.cv, settings.seed)
    with timer.step("path"), collect_warnings() as found:
        curve, path = path_curve(plan, settings.k_max, splits, settings, progress)
    names = list(table.names)
    for name, part in table.groups.items():
        names[int(part.min())] = name
    return PathResult(
        data=plan.table.summary(),
        ks=tuple(path.ks.tolist()),
        supports=tuple(np.unique(table.unit_of[support]) for support in path.supports),
        names=tuple(names),
        objectives=tuple(path.objectives.tolist()),
        curve=curve,
        settings=asdict(settings),
        versions=versions(),
        seconds=timer.seconds,
        warnings=tuple(found.sentences),
    )
