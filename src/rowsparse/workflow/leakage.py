"""Columns that know the target: copies of it, columns that predict it alone, the order of rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index, dense_columns, ranks
from rowsparse.targets import NUMERIC_TASKS
from rowsparse.workflow.messages import quoted, setting, shown
from rowsparse.workflow.plan import Plan
from rowsparse.workflow.table import Table, column_blocks

# A column knows the target if it alone predicts it with this accuracy, or correlation.
_PERFECT = 0.999
# A column follows the order of the rows if it or its ranks have this correlation with it.
_IN_ORDER = 0.98
# Correlation in some rows from which on all rows are looked at.
_WORTH_A_LOOK = 0.97
# Number of rows by which columns are picked for a closer look, and the least number of rows of a
# table that is looked at.
_SAMPLE, _LEAST_ROWS = 200, 20
# So few rows for each different value, and a column is not of categories.
_ROWS_PER_VALUE = 5
# How many such columns chance alone may give, and the logarithm of the chance of a single one.
_BY_CHANCE, _LOG_CHANCE = 0.01, -20.0


@dataclass(frozen=True)
class Leaks:
    """Columns of the file that may hold what is to be predicted.

    ``predicting`` predict the target alone; ``grouping`` are those of them that have several rows
    for each of many values, as the column with the patient has; ``in_order`` follow the order of
    the rows, as the target does.
    """

    predicting: tuple[str, ...] = ()
    in_order: tuple[str, ...] = ()
    grouping: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.predicting, *self.in_order)

    def sentences(self, remedy: str = "exclude") -> list[str]:
        """What to tell the user; ``remedy`` is the setting that leaves columns out."""
        found = [
            f"Each of the many values of {shown(name)} comes with one value of the target: if it "
            "names what several rows belong to, as a patient, take "
            f"{setting('groups_column', name)}, which keeps these rows together in folds; as a "
            "feature it is of no use for others."
            for name in self.grouping
        ]
        copies = [name for name in self.predicting if name not in self.grouping]
        one = len(copies) == 1
        if copies:
            found.append(
                f"{quoted(copies)} alone {'predicts' if one else 'predict, each,'} the "
                f"target almost perfectly: if {'it is a copy of it, or is' if one else 'they are'} "
                f"known only afterwards, leave {'it' if one else 'them'} out with "
                f"{setting(remedy, ','.join(copies[:5]))}."
            )
        if self.in_order:
            one = len(self.in_order) == 1
            found.append(
                f"{quoted(self.in_order)} {'follows' if one else 'follow'} the order of the rows, "
                f"and so does the target: if {'it only says' if one else 'they only say'} when or "
                f"where a row was added, leave {'it' if one else 'them'} out with "
                f"{setting(remedy, ','.join(self.in_order[:5]))}."
            )
        return found


def find_leaks(plan: Plan) -> Leaks:
    """Look for columns that know the target among those that a plan may select."""
    table = plan.table
    n = table.X.shape[0]
    out = {*plan.adjusted, *plan.params.get("exclude", ())}
    columns = np.setdiff1d(np.arange(len(table.names)), sorted(out))
    if n < _LEAST_ROWS or not columns.size:
        return Leaks()
    rows = np.random.default_rng(0).permutation(n)[:_SAMPLE]
    goals, X = _goals(table), table.X
    predicting: set[str] = set()
    for target, is_number in goals:
        code = np.unique(target, return_inverse=True)[1]
        found = (
            _in_line(X, columns, target, rows, _PERFECT)
            if is_number
            else _classes(X, columns, code, rows)
        )
        predicting |= {*_categories(plan, code), *(table.origin(j) for j in found)}
    in_order: set[str] = set()
    if _is_sorted(goals):
        in_order = {
            table.origin(j)
            for j in _in_line(X, columns, np.arange(n), rows, _IN_ORDER)
            if np.unique(_column(X, j)).size > 0.9 * n
        } - predicting
    origins = dict.fromkeys(table.origin(int(j)) for j in columns)
    return Leaks(
        tuple(name for name in origins if name in predicting),
        tuple(name for name in origins if name in in_order),
        tuple(name for name in origins if name in predicting and _is_grouping(table, name)),
    )


def _goals(table: Table) -> list[tuple[Array, bool]]:
    """The targets one by one, and whether each is of numbers; of survival the times and events."""
    if table.task == "survival":
        return [(table.y["time"], True), (table.y["event"], False)]
    columns = table.y if table.y.ndim == 2 else table.y[:, None]
    return [(column, table.task in NUMERIC_TASKS) for column in columns.T]


def _is_grouping(table: Table, name: str) -> bool:
    """Whether a column has several rows for each of many values, more than there are classes."""
    if name in table.made_from.values():
        n_values = len(table.columns[name].values or ())
    else:
        values = _column(table.X, table.names.index(name))
        n_values = np.unique(values).size if (values == np.floor(values)).all() else values.size
    least = _ROWS_PER_VALUE * max(len(table.target.classes), 1)
    return least <= n_values <= table.X.shape[0] / 2


def _column(X: Any, j: int) -> Array:
    return dense_columns(X, [j])[:, 0]


# ------------------------------------------------------------------------------------- classes
def _classes(X: Any, columns: Index, code: Index, rows: Index) -> list[int]:
    """Columns along which the classes come one after the other."""
    counts = np.bincount(code)
    if counts.size > code.size / _ROWS_PER_VALUE or counts.size < 2:
        return []
    # The share of the orders of n rows in which the classes come one after the other.
    chance = lgamma(counts.size + 1) + sum(lgamma(m + 1) for m in counts) - lgamma(code.size + 1)
    if log(columns.size) + chance > log(_BY_CHANCE):
        return []
    sample, found = code[rows], []
    for part, block in column_blocks(X[rows], columns):
        order = np.argsort(block, axis=0, kind="stable")
        values = np.take_along_axis(block, order, axis=0)
        changes, ties = np.diff(sample[order], axis=0) != 0, np.diff(values, axis=0) == 0
        mixed = (changes & ties).sum(axis=0)
        in_runs = changes.sum(axis=0) <= counts.size + 1
        few = 2 * ties.sum(axis=0) > rows.size
        found += part[(mixed <= 1) & (in_runs | few)].tolist()
    return [j for j in found if _tells_classes(_column(X, j), code)]


def _tells_classes(column: Array, code: Index) -> bool:
    """Whether a column tells the classes of all rows, to within the accuracy that counts."""
    values, group = np.unique(column, return_inverse=True)
    n, n_classes = code.size, int(code.max()) + 1
    if 2 * values.size <= n:
        counts = np.zeros((values.size, n_classes), dtype=np.intp)
        np.add.at(counts, (group, code), 1)
        n_right = int(counts.max(axis=1).sum())
        if values.size * _ROWS_PER_VALUE <= n:
            return n_right >= _PERFECT * n
        # The chance that the rows of each value would be of one class.
        shares = counts.sum(axis=0) / n
        chance = np.log((shares ** counts.sum(axis=1)[:, None]).sum(axis=1)).sum()
        if n_right == n and chance < _LOG_CHANCE:
            return True
    order = np.argsort(group, kind="stable")
    changes, ties = np.diff(code[order]) != 0, np.diff(group[order]) == 0
    slack = int((1 - _PERFECT) * n)
    return bool((changes & ties).sum() <= slack and changes.sum() <= n_classes - 1 + 2 * slack)


def _categories(plan: Plan, code: Index) -> set[str]:
    """Columns of text with each value in samples of one class only."""
    table = plan.table
    found = set()
    for name, part in table.groups.items():
        if not set(part.tolist()) & {*plan.adjusted, *plan.params.get("exclude", ())}:
            value = np.argmax(table.X[:, part], axis=1).astype(np.float64)
            if _tells_classes(value, code):
                found.add(name)
    return found


# ------------------------------------------------------------------------------------- numbers
def _in_line(X: Any, columns: Index, target: Array, rows: Index, least: float) -> list[int]:
    """Columns whose values or ranks have at least such a correlation with the target.

    Only those are looked at that some rows suggest.
    """
    likely = [
        part[_likeness(block, target[rows]) >= _WORTH_A_LOOK]
        for part, block in column_blocks(X[rows], columns)
    ]
    close = np.concatenate(likely).tolist()
    return [j for j in close if _likeness(dense_columns(X, [j]), target)[0] >= least]


def _likeness(block: Array, target: Array) -> Array:
    """The larger of the absolute correlations with a target of the values and of the ranks."""
    by_rank = _correlations(ranks(block), ranks(target))
    return np.maximum(_correlations(block, target), by_rank)


def _correlations(block: Array, target: Array) -> Array:
    """Absolute correlations of columns with a target; 0 for those that are constant."""
    centred, goal = block - block.mean(axis=0), target - target.mean()
    length = np.linalg.norm(centred, axis=0) * np.linalg.norm(goal)
    return np.abs(goal @ centred) / np.where(length > 0, length, np.inf)


def _is_sorted(goals: list[tuple[Array, bool]]) -> bool:
    """Whether the rows are in the order of a target."""
    for target, is_number in goals:
        if is_number:
            if _correlations(ranks(target)[:, None], np.arange(target.size))[0] > 0.9:
                return True
        elif np.count_nonzero(target[1:] != target[:-1]) <= max(
            np.unique(target).size, target.size // 10
        ):
            return True
    return False
