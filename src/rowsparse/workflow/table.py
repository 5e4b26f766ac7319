"""Tables: features and targets out of a file, with a note on each thing done to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index, Mask, dense_columns
from rowsparse._text import counted
from rowsparse.workflow.columns import (
    LEFT_OUT,
    NO_TARGET,
    Column,
    TargetColumns,
    as_text,
    find_columns,
    find_gaps,
    find_identifiers,
    find_survival,
    judge_text,
    missing_in,
    read_survival,
    read_targets,
    weights_of_classes,
    with_positive,
)
from rowsparse.workflow.loading import Loaded, load
from rowsparse.workflow.messages import (
    InputError,
    Problems,
    holding,
    quoted,
    required,
    setting,
    shown,
)
from rowsparse.workflow.settings import TableSettings

# A table of more numbers than this is large; and as many are looked at once.
_LARGE, _BLOCK = 5_000_000, 2_000_000


@dataclass(frozen=True)
class Table:
    """Features, targets, and what was done to them.

    ``X`` is dense or sparse, without missing values: ``gaps`` has the rows in which a column of the
    file had none, which X has been given. ``made_from`` has the column of categories that a feature
    was made from, ``columns`` how columns became features that are more than their numbers, and
    ``left_out`` the columns of the file that are no features, and why, as the end of a sentence;
    ``identifiers`` are those that only number or name the rows. ``notes`` has a sentence for each
    thing done to the data. ``class_weight`` is None, "balanced" or a dict, as in scikit-learn, and
    ``sample_groups`` the group of each row, from the column that the settings name. ``reading``
    says how the file was read, and ``sha256`` is that of the file, empty if not computed.
    """

    X: Any
    names: list[str]
    target: TargetColumns
    path: Path
    made_from: dict[int, str] = field(default_factory=dict)
    columns: dict[str, Column] = field(default_factory=dict)
    gaps: dict[str, Index] = field(default_factory=dict)
    identifiers: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    class_weight: Any = None
    sample_groups: Index | None = None
    reading: TableSettings = field(default_factory=TableSettings)
    sha256: str = ""

    @property
    def y(self) -> NDArray[Any]:
        """The targets."""
        return self.target.y

    @property
    def task(self) -> str:
        """What the targets are."""
        return self.target.task

    @cached_property
    def as_numbers(self) -> Table:
        """Of survival times their martingale residuals as the number to predict, the risk."""
        if self.task != "survival":
            return self
        # Imported when it is asked for, as the selectors that come with it take their time.
        from rowsparse.evaluation.survival import martingale_residuals

        risk = replace(
            self.target, y=martingale_residuals(self.y), task="regression", names=("risk",)
        )
        return replace(self, target=risk)

    @property
    def n_groups(self) -> int:
        """Number of groups of rows."""
        return 0 if self.sample_groups is None else int(self.sample_groups.max()) + 1

    @property
    def unit_of(self) -> Index:
        """For every feature its own index; for those of a category the index of the first."""
        first = np.arange(self.X.shape[1])
        for part in self.groups.values():
            first[part] = part.min()
        return first

    @property
    def is_large(self) -> bool:
        """Whether a pass over all numbers takes longer than a search among the features."""
        return bool(self.X.shape[0] * self.X.shape[1] > _LARGE)

    def origin(self, column: int) -> str:
        """Name in the file of the column that a feature was made from."""
        return self.made_from.get(column, self.names[column])

    @property
    def logged(self) -> Mask:
        """Which features are logarithms."""
        names = {name for name, column in self.columns.items() if column.log}
        return np.array([self.origin(j) in names for j in range(len(self.names))])

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The features of each column of the file."""
        found: dict[str, list[int]] = {}
        for j in range(len(self.names)):
            found.setdefault(self.origin(j), []).append(j)
        return found

    @cached_property
    def groups(self) -> dict[str, Index]:
        """The features that were made together from one column of categories, by its name."""
        return {name: np.array(part) for name, part in self.places.items() if len(part) > 1}

    def columns_of(self, setting_name: str, wanted: str | None) -> list[int]:
        """The features that a setting names, by their own names or by those of the file."""
        if not wanted:
            return []
        places = self.places | {self.names[j]: [j] for j in self.made_from}
        found = find_columns(setting_name, wanted, list(places), self.left_out)
        return sorted({j for name in found for j in places[name]})

    def column(self, name: str, rows: Index | None = None) -> Column:
        """How a column became features, with what fills its gaps, from all rows or some."""
        column, impute = self.columns.get(name, Column(name)), self.reading.impute
        if impute is None:
            return column
        known = self.X[:, self.places[name]]
        if rows is not None:
            known = known[np.setdiff1d(rows, self.gaps.get(name, ()))]
        # The gaps of all rows are filled already, which does not change what fills them.
        return column.filled_by(known.toarray() if sp.issparse(known) else known, impute)

    def filled_from(self, rows: Index) -> Table:
        """The table with missing values replaced by what the given rows alone suggest."""
        if not self.gaps:
            return self
        X = np.array(self.X, order="F")
        for name, gap in self.gaps.items():
            at = np.ix_(gap, np.array(self.places[name]))
            X[at] = self.column(name, rows).filled(np.full((gap.size, at[1].size), np.nan))
        return replace(self, X=X)

    def without(self, columns: list[int], *notes: str) -> Table:
        """The table without some features, and notes on that."""
        kept = np.setdiff1d(np.arange(len(self.names)), columns)
        place = {int(old): new for new, old in enumerate(kept.tolist())}
        names = [self.names[j] for j in kept.tolist()]
        made_from = {place[j]: name for j, name in self.made_from.items() if j in place}
        there = {*names, *made_from.values()}
        return replace(
            self,
            X=self.X[:, kept],
            names=names,
            made_from=made_from,
            gaps={name: gap for name, gap in self.gaps.items() if name in there},
            notes=(*self.notes, *notes),
        )


def column_blocks(X: Any, columns: Index) -> Iterator[tuple[Index, Array]]:
    """Columns of a matrix and their values, as many at once as memory should hold."""
    width = max(_BLOCK // X.shape[0], 1)
    for start in range(0, columns.size, width):
        part = columns[start : start + width]
        yield part, dense_columns(X, part)


def read_table(path: Path, settings: TableSettings | None = None) -> Table:
    """Read the features and targets in a file of any format.

    An InputError has a sentence on each thing that is wrong with the file or the settings.
    """
    settings = settings or TableSettings()
    return as_table(load(path, settings), path, settings)


def as_table(loaded: Loaded, path: Path, settings: TableSettings) -> Table:
    """The features and targets among columns that are read already, as :func:`read_table`."""
    problems = Problems()
    with problems.gathered():
        targets, event = _targets(settings, loaded)
    with problems.gathered():
        dropped = find_columns("drop", settings.drop, [*loaded.features, *loaded.target_names])
    if problems.sentences and loaded.elsewhere:
        problems.sentences[-1] += f" {loaded.elsewhere}"
    problems.refuse()
    if settings.drop_missing_target:
        loaded = _with_values(loaded, targets)
    if loaded.n_rows < 2:
        rows = "one row only" if loaded.n_rows else "no rows"
        raise InputError(f"The table has {rows}: at least two are needed.")
    _check_apart(settings, "drop", dropped, targets)
    with problems.gathered():
        grouping, sample_groups = _sample_groups(settings, loaded, targets)
    with problems.gathered():
        columns = _orders(settings, loaded, targets)
    problems.refuse()
    target, weights = NO_TARGET, None
    with problems.gathered():
        cells = {name: loaded.target_values(name) for name in targets}
        if settings.time is not None:
            target = read_survival(cells, event, loaded.place)
        else:
            target = read_targets(cells, settings.task, loaded.place)
    if target.task:
        with problems.gathered():
            target = with_positive(target, settings.positive)
        with problems.gathered():
            weights = weights_of_classes(target, settings.class_weight)
    left_out: dict[str, str] = {
        **dict.fromkeys(loaded.labels, "is beside the features: it can only be a target"),
        **dict.fromkeys(targets, "is the target"),
        **dict.fromkeys(dropped, f"was left out with {setting('drop')}"),
        **dict.fromkeys(grouping, f"is the {setting('groups_column')}"),
    }
    empty = Table(None, [], target, path, columns=columns, left_out=left_out, reading=settings)
    table = _with_features(empty, loaded, problems)
    return replace(
        table,
        class_weight=weights,
        sample_groups=sample_groups,
        identifiers=(*table.identifiers, *grouping),
        notes=(*loaded.notes, *target.notes, *table.notes),
    )


def _targets(settings: TableSettings, loaded: Loaded) -> tuple[list[str], str | None]:
    """The columns to predict, and the value that is the event if it is named."""
    columns = loaded.target_names
    if not columns:
        raise InputError("There is no target.")
    if settings.time is not None:
        return find_survival(settings.time, settings.event, columns)
    if settings.target:
        return find_columns("target", settings.target, columns), None
    if loaded.frame is None and {name.rstrip("0123456789") for name in columns} <= {"y", "Y"}:
        return columns, None
    raise InputError(
        f"Name the column to predict with {setting('target')}; the table has {quoted(columns)}."
    )


def _check_apart(settings: TableSettings, other: str, names: list[str], targets: list[str]) -> None:
    """Refuse targets that another setting names too."""
    both = [name for name in targets if name in set(names)]
    if both:
        one = setting("target")
        if settings.time is not None:
            one = f"{setting('time')} or {setting('event')}"
        raise InputError(f"{quoted(both)} cannot be both in {one} and in {setting(other)}.")


def _with_values(loaded: Loaded, targets: list[str]) -> Loaded:
    """The rows that have a value of every target."""
    part = loaded.with_targets(targets)
    n_missing = loaded.n_rows - part.n_rows
    if not part.n_rows:
        raise InputError(f"No row has a value of the target {quoted(targets)}.")
    note = (
        f"Left out: {counted(n_missing, 'row')} of {loaded.n_rows:,} without a value of the "
        f"target {quoted(targets)}."
    )
    return replace(part, notes=[*part.notes, note]) if n_missing else loaded


def _sample_groups(
    settings: TableSettings, loaded: Loaded, targets: list[str]
) -> tuple[list[str], Index | None]:
    """The column with the groups, if one is wanted, and the group of each row as a number."""
    found = find_columns("groups_column", settings.groups_column, loaded.target_names)
    if not found:
        return [], None
    if len(found) > 1:
        raise InputError(f"{setting('groups_column')} names one column, not {quoted(found)}.")
    _check_apart(settings, "groups_column", found, targets)
    values = as_text(loaded.target_values(found[0]))
    missing = missing_in(values)
    if missing.any():
        raise InputError(
            f"{setting('groups_column')}: {shown(found[0])} is missing in "
            f"{int(missing.sum()):,} of {values.size:,} rows, the first in "
            f"{loaded.place(int(np.argmax(missing)))}."
        )
    return found, np.unique(values.astype(str), return_inverse=True)[1]


def _orders(settings: TableSettings, loaded: Loaded, targets: list[str]) -> dict[str, Column]:
    """The columns whose values have an order."""
    problems, found = Problems(), {}
    for part in filter(None, map(str.strip, (settings.levels or "").split(";"))):
        name, _, text = (piece.strip() for piece in part.partition("="))
        values = tuple(value.strip() for value in text.split("<"))
        with problems.gathered():
            if len({*values} - {""}) < max(len(values), 2):
                raise InputError(
                    f"{setting('levels')} names a column and its values from low to high, as in "
                    f"'grade=low<middle<high'; got {shown(part)}."
                )
            (name,) = find_columns("levels", name, [] if loaded.frame is None else loaded.names)
            _check_apart(settings, "levels", [name], targets)
            found[name] = Column(name, values, ordered=True)
            unknown = found[name].unknown(as_text(loaded.values(name)))
            if unknown:
                raise InputError(
                    f"{setting('levels')}: {shown(name)} also holds {quoted(unknown)}: name all "
                    "of its values, in their order."
                )
    problems.refuse()
    return found


# ---------------------------------------------------------------------------------- the features
def _with_features(table: Table, loaded: Loaded, problems: Problems) -> Table:
    """The table with the columns of a file that are features, and notes on all of them.

    All problems found so far, and those that are found here, are refused together.
    """
    settings = table.reading
    gone: dict[str, list[str]] = {reason: [] for reason in LEFT_OUT}
    X, names, text, gone["other"] = _split(loaded, table)
    X, names, gone["empty"] = _without(X, names, _empty(X))
    if not settings.keep_all:
        X, names, gone["identifier"] = _without(X, names, find_identifiers(X, names))
    n_numbers = len(names)
    made: list[tuple[Column, Array]] = []
    for name, values in text.items():
        with problems.gathered():
            reason, known = judge_text(name, values, loaded.place)
            if reason is None:
                column = Column(name, known)
                made.append((column, column.features(values)))
            else:
                gone[reason].append(name)
    logs: list[str] = []
    with problems.gathered():
        X, logs = _logarithms(X, names, settings.log, table.left_out | _reasons(gone))
    table = _stacked(table, X, names, made)
    logged = {name: Column(name, log=True) for name in logs}
    table = replace(table, columns=table.columns | logged)
    with problems.gathered():
        origins = [table.origin(j) for j in range(len(table.names))]
        gaps = find_gaps(table.X, origins, settings.impute, n_numbers + len(text))
    problems.refuse()
    table = replace(table, gaps=gaps).filled_from(np.arange(loaded.n_rows))
    if not settings.keep_all:
        constant = np.flatnonzero(_constant(table.X)).tolist()
        gone["constant"] = [*(table.origin(j) for j in constant), *gone["constant"]]
        table = table.without(constant) if constant else table
    if not table.names:
        raise InputError("No column is left to select from: all are targets, text or constant.")
    place = {name: at for at, name in enumerate(loaded.names)}
    gone = {reason: sorted(names, key=place.__getitem__) for reason, names in gone.items()}
    notes = [
        LEFT_OUT[reason][1].format(names=quoted(which), which=holding(which, ", which"))
        for reason, which in gone.items()
        if which
    ]
    notes += [
        f"{shown(name)} has several rows for each of its values: if it names what they belong "
        f"to, as a patient, take {setting('groups_column', name)}."
        for name in gone["prose"]
        if 2 * len({*text[name].tolist()} - {None}) <= loaded.n_rows
    ]
    return replace(
        table,
        left_out=table.left_out | _reasons(gone),
        identifiers=tuple(gone["identifier"]),
        notes=(*notes, *_remarks(table, logs, text)),
    )


def _reasons(gone: dict[str, list[str]]) -> dict[str, str]:
    """Why each column is no feature."""
    return {name: LEFT_OUT[reason][0] for reason, names in gone.items() for name in names}


def _split(
    loaded: Loaded, table: Table
) -> tuple[Any, list[str], dict[str, NDArray[Any]], list[str]]:
    """Numbers as a matrix and their names; columns of text; names of those that hold neither."""
    if loaded.frame is None:
        gone = np.array([name in table.left_out for name in loaded.names], dtype=bool)
        X, names, _ = _without(loaded.matrix, loaded.names, gone)
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        X = sp.csr_array(X, dtype=dtype) if sp.issparse(X) else np.asarray(X, dtype=dtype)
        return X, names, {}, []
    polars = required("polars")
    # The columns one by one: frames of very many columns take long for each step.
    every = {it.name: it for it in loaded.frame.get_columns() if it.name not in table.left_out}
    for name, column in table.columns.items():
        every[name] = polars.Series(name, column.features(loaded.values(name))[:, 0])
    kinds = {name: column.dtype for name, column in every.items()}
    numbers = {kind for kind in set(kinds.values()) if kind.is_numeric() or kind == polars.Boolean}
    dates = (polars.Date, polars.Datetime)
    words = {kind for kind in set(kinds.values()) if kind == polars.String or kind in dates}
    numeric = [name for name, kind in kinds.items() if kind in numbers]
    text = {name: loaded.values(name) for name, kind in kinds.items() if kind in words}
    taken = {*numeric, *text}
    X = np.empty((loaded.n_rows, 0))
    if numeric:
        part = polars.DataFrame([every[name] for name in numeric])
        is_plain = numbers == {polars.Float64}
        X = part.to_numpy() if is_plain else part.cast(polars.Float64).to_numpy()
    return X, numeric, text, [name for name in kinds if name not in taken]


def _stacked(table: Table, X: Any, names: list[str], made: list[tuple[Column, Array]]) -> Table:
    """The table with features of numbers, and after them those made from categories."""
    if not made:
        return replace(table, X=X, names=names)
    columns = [column for column, _ in made]
    origins = [column.name for column in columns for _ in column.parts]
    return replace(
        table,
        X=np.column_stack([X, *(block for _, block in made)]),
        names=[*names, *(name for column in columns for name in column.names)],
        made_from=dict(enumerate(origins, start=len(names))),
        columns=table.columns | {column.name: column for column in columns},
    )


def _remarks(table: Table, logs: list[str], text: dict[str, NDArray[Any]]) -> list[str]:
    """Sentences on what was done to features."""
    notes = [
        f"{shown(name)} in the order {' < '.join(column.values or ())}."
        for name, column in table.columns.items()
        if column.ordered
    ]
    if logs:
        notes.append(f"log2(1 + x) of {counted(len(logs), 'column')}: {quoted(logs)}.")
    if table.gaps:
        filled = counted(sum(gap.size for gap in table.gaps.values()), "missing value")
        words = " (text: its most frequent value)" if table.gaps.keys() & text.keys() else ""
        notes.append(
            f"{filled} in {counted(len(table.gaps), 'column')} replaced by "
            f"{_FILLS[str(table.reading.impute)]} of their column{words}; in each fold, by that of "
            "its training rows."
        )
    encoded = list(dict.fromkeys(table.made_from.values()))
    if encoded:
        notes.append(
            f"{'Column' if len(encoded) == 1 else 'Columns'} {quoted(encoded)} of categories: "
            f"encoded as {counted(len(table.made_from), 'column')} of 0 and 1."
        )
    return notes


_FILLS = {"median": "the median", "mean": "the mean", "most_frequent": "the most frequent value"}


def _logarithms(
    X: Any, names: list[str], wanted: str | None, left_out: dict[str, str]
) -> tuple[Any, list[str]]:
    """log2(1 + x) of the columns that a setting names, and their names."""
    logged = find_columns("log", wanted, names, left_out)
    if not logged:
        return X, []
    chosen = np.isin(names, logged)
    part = X[:, chosen]
    lowest = part.min(axis=0)
    lowest = lowest.toarray() if sp.issparse(lowest) else np.fmin.reduce(part, axis=0)
    negative = np.ravel(lowest) < 0
    if negative.any():
        which = [name for name, yes in zip(logged, negative, strict=True) if yes]
        raise InputError(
            f"{setting('log')}: {holding(which)} negative values, which have no logarithm: name "
            "the columns of amounts only."
        )
    if sp.issparse(X):
        X = X.copy()
        values = chosen[X.indices]
        X.data = X.data.astype(np.float64)
        X.data[values] = np.log2(1 + X.data[values])
    else:
        X = np.array(X, dtype=np.float64)
        X[:, chosen] = np.log2(1 + part)
    return X, logged


def _without(X: Any, names: list[str], gone: Mask) -> tuple[Any, list[str], list[str]]:
    """A matrix without some columns, the names of the others, and of these."""
    if not gone.any():
        return X, names, []
    parts = (
        [name for name, is_gone in zip(names, gone, strict=True) if is_gone == yes]
        for yes in (False, True)
    )
    return (X[:, ~gone], *parts)


def _empty(X: Any) -> Mask:
    """The columns without any value."""
    found = np.zeros(X.shape[1], dtype=bool)
    if not sp.issparse(X) and X.shape[0]:
        suspect = np.flatnonzero(np.isnan(X[0]))
        found[suspect] = np.isnan(X[:, suspect]).all(axis=0)
    return found


def _constant(X: Any) -> Mask:
    if sp.issparse(X):
        return np.asarray(X.max(axis=0).toarray() == X.min(axis=0).toarray()).ravel()
    return np.asarray(X.max(axis=0) == X.min(axis=0))
