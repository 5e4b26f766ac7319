"""Tables: features and targets out of a file, with a note on each thing done to them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Index, Mask
from rowsparse._text import counted
from rowsparse.workflow.categories import Category, encode_text
from rowsparse.workflow.identifiers import find_identifiers
from rowsparse.workflow.labels import load_joined
from rowsparse.workflow.loading import Loaded
from rowsparse.workflow.messages import InputError, holding, quoted, setting, shown
from rowsparse.workflow.missing_values import commonest_category, fill_missing, fill_value
from rowsparse.workflow.results import DataSummary
from rowsparse.workflow.sample_groups import find_groups
from rowsparse.workflow.settings import TableSettings
from rowsparse.workflow.target_columns import (
    TargetColumns,
    find_columns,
    find_targets,
    missing_in,
    read_targets,
)

__all__ = ["Table", "read_table"]

# A table of more numbers than this is large.
_LARGE = 5_000_000


@dataclass(frozen=True)
class Table:
    """Features, targets, and what was done to them.

    Attributes
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Without missing values.
    names : list of str
        Of the features.
    target : TargetColumns
    groups : dict of str to array of int
        The features made from one column of categories, by its name.
    made_from : dict of int to str
        The column of categories that a feature was made from.
    categories : dict of str to Category
        The columns of text that features were made from.
    identifiers : tuple of str
        Columns that only number or name the rows.
    left_out : dict of str to str
        Columns of the file that are no features, and why, as the end of a sentence.
    notes : tuple of str
        One sentence for each thing done to the data.
    path : Path
    gaps : dict of str to array of int
        Rows in which a column of the file had no value, which X has been given.
    sample_groups : array of int or None
        The group of each row, from the column that the settings name.
    reading : TableSettings
        How the file was read.
    sha256 : str
        Of the file; empty if not computed.
    """

    X: Any
    names: list[str]
    target: TargetColumns
    path: Path
    groups: dict[str, Index] = field(default_factory=dict)
    made_from: dict[int, str] = field(default_factory=dict)
    identifiers: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    categories: dict[str, Category] = field(default_factory=dict)
    gaps: dict[str, Index] = field(default_factory=dict)
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

    @property
    def n_units(self) -> int:
        """Number of features, those of a category counted once."""
        return int(self.X.shape[1] - sum(part.size - 1 for part in self.groups.values()))

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

    def columns_of(self, setting_name: str, wanted: str | None) -> list[int]:
        """The features that a setting names, by their own names or by those of the file."""
        if not wanted:
            return []
        places: dict[str, list[int]] = {}
        for j, name in enumerate(self.names):
            places.setdefault(name, []).append(j)
            if j in self.made_from:
                places.setdefault(self.made_from[j], []).append(j)
        found = find_columns(setting_name, wanted, list(places), self.left_out)
        return sorted({j for name in found for j in places[name]})

    def filled_from(self, rows: Index) -> Table:
        """The table with missing values replaced by what the given rows alone suggest."""
        if not self.gaps:
            return self
        places: dict[str, list[int]] = {}
        for j in range(len(self.names)):
            places.setdefault(self.origin(j), []).append(j)
        X = np.array(self.X)
        for name in self.gaps.keys() & places.keys():
            gap, columns = self.gaps[name], np.array(places[name])
            known = X[np.ix_(np.setdiff1d(rows, gap), columns)]
            is_text = name in self.categories
            impute = str(self.reading.impute)
            value = commonest_category(known) if is_text else fill_value(known, impute)
            X[np.ix_(gap, columns)] = value
        return replace(self, X=X)

    def without(self, columns: list[int], note: str) -> Table:
        """The table without some features."""
        kept = np.setdiff1d(np.arange(len(self.names)), columns)
        place = {int(old): new for new, old in enumerate(kept.tolist())}
        groups = {
            name: np.array([place[int(j)] for j in part if int(j) in place], dtype=np.intp)
            for name, part in self.groups.items()
        }
        return replace(
            self,
            X=self.X[:, kept],
            names=[self.names[j] for j in kept.tolist()],
            groups={name: part for name, part in groups.items() if part.size},
            made_from={place[j]: name for j, name in self.made_from.items() if j in place},
            notes=(*self.notes, note),
        )

    def summary(self) -> DataSummary:
        """What results say about the data."""
        return DataSummary(
            source=self.path.name,
            sha256=self.sha256,
            n_samples=self.X.shape[0],
            n_features=self.n_units,
            task=self.task,
            targets=self.target.names,
            classes=self.target.classes,
            class_counts=self.target.counts,
            notes=self.notes,
            n_columns=self.X.shape[1],
        )


@dataclass(frozen=True)
class _Columns:
    """The columns of a file: numbers and text apart, before any is left out."""

    X: Any
    names: list[str]
    target: TargetColumns
    text: dict[str, NDArray[Any]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_table(path: Path, settings: TableSettings | None = None) -> Table:
    """Read the features and targets in a file.

    Parameters
    ----------
    path : Path
        CSV or TSV (also gzipped), Excel, Parquet, Arrow or Feather, NPZ, MAT, or AnnData.
    settings : TableSettings, optional
        Which columns are read, and how.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        With a sentence on what is wrong with the file or the settings.
    """
    settings = settings or TableSettings()
    loaded = load_joined(path, settings)
    targets = find_targets(settings.target, loaded)
    if settings.drop_missing_target:
        loaded = _without_missing(loaded, targets)
    if loaded.n_rows < 2:
        rows = "one row only" if loaded.n_rows else "no rows"
        raise InputError(f"The table has {rows}: at least two are needed.")
    dropped = find_columns("drop", settings.drop, [*loaded.names, *loaded.candidates])
    both = [name for name in targets if name in set(dropped)]
    if both:
        raise InputError(
            f"{quoted(both)} cannot be both in {setting('target')} and in {setting('drop')}."
        )
    column, groups = find_groups(settings.groups_column, loaded, targets)
    dropped += [name for name in column if name not in dropped]
    split = _from_matrix if loaded.frame is None else _from_frame
    columns = split(loaded, targets, dropped, settings.task)
    columns.left_out.update(dict.fromkeys(targets, "is the target"))
    columns.left_out.update(dict.fromkeys(dropped, f"was left out with {setting('drop')}"))
    columns.left_out.update(dict.fromkeys(column, f"is the {setting('groups_column')}"))
    table = _finished(path, columns, settings, loaded)
    return replace(table, sample_groups=groups, identifiers=(*table.identifiers, *column))


def _without_missing(loaded: Loaded, targets: list[str]) -> Loaded:
    """The rows that have a value of every target."""
    columns = loaded.labels if loaded.frame is None else loaded.frame
    missing = np.zeros(loaded.n_rows, dtype=bool)
    for name in targets:
        missing |= missing_in(np.array(list(columns[name]), dtype=object))
    if not missing.any():
        return loaded
    if missing.all():
        raise InputError(f"No row has a value of the target {quoted(targets)}.")
    note = (
        f"Left out: {counted(int(missing.sum()), 'row')} of {loaded.n_rows:,} without a value of "
        f"the target {quoted(targets)}."
    )
    part = loaded.rows(np.flatnonzero(~missing))
    return replace(part, notes=[*part.notes, note])


# ------------------------------------------------------------------------ numbers, text, targets
def _from_frame(loaded: Loaded, targets: list[str], dropped: list[str], task: str) -> _Columns:
    import polars

    dates = polars.selectors.date() | polars.selectors.datetime()
    frame = loaded.frame.with_columns(dates.cast(polars.String))
    goal = read_targets({name: _values(frame[name]) for name in targets}, task, loaded.place)
    rest = frame.drop([*targets, *dropped])
    by_kind: dict[Any, list[str]] = {}
    for name, kind in zip(rest.columns, rest.dtypes, strict=True):
        by_kind.setdefault(kind, []).append(name)
    text = by_kind.pop(polars.String, [])
    counted = {kind for kind in by_kind if kind.is_numeric() or kind == polars.Boolean}
    numeric = [name for kind in counted for name in by_kind[kind]]
    if len(counted) > 1:
        names = set(numeric)
        numeric = [name for name in rest.columns if name in names]
    other = [name for kind in by_kind.keys() - counted for name in by_kind[kind]]
    notes = [*loaded.notes, *goal.notes]
    if other:
        notes.append(f"Left out: {holding(other, ', which')} neither numbers nor text.")
    left_out = dict.fromkeys(other, "was left out: it holds neither numbers nor text")
    X = np.empty((frame.height, 0))
    if numeric:
        part = rest.select(numeric) if len(numeric) < rest.width else rest
        X = part.to_numpy() if counted == {polars.Float64} else part.cast(polars.Float64).to_numpy()
    words = {name: _values(rest[name]) for name in text}
    return _Columns(X, numeric, goal, words, left_out, notes)


def _values(column: Any) -> NDArray[Any]:
    """A column of polars: numbers with NaN, or objects with None, for what is missing."""
    import polars

    if column.dtype.is_numeric():
        if column.dtype.is_integer() and column.null_count() == 0:
            return np.asarray(column.to_numpy())
        return np.asarray(column.cast(polars.Float64).to_numpy())
    if column.dtype == polars.Boolean and column.null_count() == 0:
        return np.asarray(column.to_numpy())
    if column.dtype not in (polars.String, polars.Boolean):
        raise InputError(f"The target {shown(column.name)} holds neither numbers nor text.")
    return np.array(column.to_list(), dtype=object)


def _from_matrix(loaded: Loaded, targets: list[str], dropped: list[str], task: str) -> _Columns:
    goal = read_targets({name: loaded.labels[name] for name in targets}, task, loaded.place)
    gone = set(dropped)
    kept = np.array([name not in gone for name in loaded.names], dtype=bool)
    X, names = _keep(loaded.matrix, loaded.names, kept)
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    X = sp.csr_array(X, dtype=dtype) if sp.issparse(X) else np.asarray(X, dtype=dtype)
    left_out = dict.fromkeys(loaded.labels, "is beside the features: it can only be a target")
    return _Columns(X, names, goal, left_out=left_out, notes=[*loaded.notes, *goal.notes])


# ------------------------------------------------------------------------- what is left out
def _finished(path: Path, columns: _Columns, settings: TableSettings, loaded: Loaded) -> Table:
    """Leave identifiers and constants out, fill or refuse missing values, encode text."""
    X, names, notes = columns.X, columns.names, list(columns.notes)
    text = encode_text(columns.text, impute=settings.impute is not None, place=loaded.place)
    identifiers = list(text.identifiers)
    if not settings.keep_all:
        counting = find_identifiers(X, names)
        identifiers += [name for name, yes in zip(names, counting, strict=True) if yes]
        X, names = _keep(X, names, ~counting)
    if identifiers:
        notes.append(f"Left out as identifiers of the rows: {quoted(identifiers)}.")
    left_out = columns.left_out | text.left_out
    left_out |= dict.fromkeys(identifiers, "was left out as an identifier of the rows")
    X, gaps, filled = fill_missing(X, names, text, settings.impute)
    notes += filled
    if not settings.keep_all:
        constant = _constant(X)
        gone = [name for name, yes in zip(names, constant, strict=True) if yes]
        gone += text.constant
        if gone:
            notes.append(f"Left out, being the same in every row: {quoted(gone)}.")
        left_out |= dict.fromkeys(gone, "was left out: it is the same in every row")
        X, names = _keep(X, names, ~constant)
    notes += text.notes
    groups = {name: part + len(names) for name, part in text.groups.items()}
    made_from = {len(names) + j: origin for j, origin in enumerate(text.origins)}
    if text.names:
        X = np.column_stack([X, text.X])
        names = [*names, *text.names]
    if not names:
        raise InputError("No column is left to select from: all are targets, text or constant.")
    return Table(
        X=X,
        names=names,
        target=columns.target,
        path=path,
        groups=groups,
        made_from=made_from,
        categories=text.categories,
        gaps=gaps,
        identifiers=tuple(identifiers),
        left_out=left_out,
        notes=tuple(notes),
        reading=settings,
    )


def _keep(X: Any, names: list[str], kept: Mask) -> tuple[Any, list[str]]:
    if kept.all():
        return X, names
    return X[:, kept], [name for name, yes in zip(names, kept, strict=True) if yes]


def _constant(X: Any) -> Mask:
    if sp.issparse(X):
        return np.asarray(X.max(axis=0).toarray() == X.min(axis=0).toarray()).ravel()
    return np.asarray(X.max(axis=0) == X.min(axis=0))
