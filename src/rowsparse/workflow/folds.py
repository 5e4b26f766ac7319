"""The folds of a table, which all workflows share."""

from __future__ import annotations

import warnings

from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

from rowsparse._arrays import Index
from rowsparse.evaluation import folds
from rowsparse.workflow.messages import InputError, setting, shown
from rowsparse.workflow.settings import EvaluationSettings
from rowsparse.workflow.table import Table

__all__ = ["Splits", "fold_notes", "table_folds"]

Splits = list[tuple[Index, Index]]


def table_folds(table: Table, settings: EvaluationSettings) -> Splits:
    """Training and test rows of each fold; all workflows use the same for the same seed.

    Classes are stratified. With a column of groups, the rows of a group are in one fold. Repeated
    folds follow one another, the first ones being those without repetition.
    """
    _check_count(table, settings.cv)
    seeds = [(settings.seed + at) % 2**32 for at in range(settings.repeats)]
    return [split for seed in seeds for split in _drawn(table, settings.cv, seed)]


def fold_notes(table: Table, settings: EvaluationSettings) -> list[str]:
    """Sentences on folds that are not the usual ones."""
    notes = []
    if table.sample_groups is not None:
        notes.append(
            f"Rows with one value of {shown(str(table.reading.groups_column))} stay together in "
            f"folds and subsamples: {table.n_groups:,} groups."
        )
    if settings.repeats > 1:
        notes.append(
            f"The {settings.cv} folds were drawn {settings.repeats} times: scores are means over "
            f"{settings.cv * settings.repeats}, and each row is predicted {settings.repeats} times."
        )
    return notes


def _check_count(table: Table, cv: int) -> None:
    n = table.X.shape[0]
    most = n if table.task != "classification" else max(table.target.counts)
    if most < 2:
        raise InputError("No class has two samples: there is nothing to learn from.")
    if table.sample_groups is not None and table.n_groups < max(cv, 2):
        column = shown(str(table.reading.groups_column))
        few = f"{setting('groups_column')}: {column} has only {table.n_groups} different values"
        if table.n_groups < 2:
            raise InputError(f"{few}: folds need at least 2 groups.")
        raise InputError(f"{few}: take at most {setting('cv', table.n_groups)}.")
    if not 2 <= cv <= most:
        what = "samples" if table.task != "classification" else "samples of the largest class"
        raise InputError(
            f"{setting('cv')} must be between 2 and {most}, the number of {what}; got {cv}."
        )


def _drawn(table: Table, cv: int, seed: int) -> Splits:
    if table.sample_groups is None:
        return folds(cv, table.X, table.y, table.task, seed)
    kind = StratifiedGroupKFold if table.task == "classification" else GroupKFold
    splitter = kind(cv, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        found = list(splitter.split(table.X, table.y, table.sample_groups))
    if any(test.size == 0 for _, test in found):
        raise InputError(
            f"The groups of {shown(str(table.reading.groups_column))} cannot be spread over {cv} "
            f"folds: take fewer with {setting('cv')}."
        )
    return found
