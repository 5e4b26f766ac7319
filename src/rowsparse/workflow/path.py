"""The best features for every k, and what each further one is worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from rowsparse._validation import check_number
from rowsparse.workflow.counting import path_curve
from rowsparse.workflow.methods import make_plan
from rowsparse.workflow.results import PathResult
from rowsparse.workflow.running import Clock, Progress, silent, told, versions
from rowsparse.workflow.table import Table
from rowsparse.workflow.validation import table_folds

__all__ = ["find_path"]


def find_path(
    table: Table,
    k_max: int = 30,
    *,
    alpha: float | None = None,
    include: str | None = None,
    exclude: str | None = None,
    cv: int = 5,
    seed: int = 0,
    n_jobs: int | None = None,
    settings: dict[str, Any] | None = None,
    progress: Progress = silent,
) -> PathResult:
    """The support of TopK for every k up to ``k_max``, with objective and honest score.

    Parameters
    ----------
    table : Table
        See :func:`rowsparse.workflow.table.read_table`.
    k_max : int, default=30
        The largest number of features; all, if there are fewer.
    alpha, include, exclude, cv, seed, n_jobs, settings, progress
        As in :func:`rowsparse.workflow.select.select`.

    Returns
    -------
    PathResult
    """
    check_number("--k-max", k_max, low=1, integer=True)
    clock = Clock()
    plan = make_plan(table, "topk", alpha=alpha, include=include, exclude=exclude, seed=seed)
    splits = table_folds(table, cv, seed)
    with clock.step("path"), told() as heard:
        curve, path = path_curve(plan, k_max, splits, seed=seed, n_jobs=n_jobs, progress=progress)
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
        settings=dict(settings or {}),
        versions=versions(),
        seconds=clock.seconds,
        warnings=tuple(heard.sentences),
    )
