"""From a file to features and targets, with a sentence for everything done on the way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Index, Mask
from rowsparse._validation import check_choice
from rowsparse.workflow.categories import encode_text
from rowsparse.workflow.errors import InputError, listed, shown
from rowsparse.workflow.gaps import without_gaps
from rowsparse.workflow.labels import TargetColumns, find_columns, find_targets, target_columns
from rowsparse.workflow.loading import Loaded, format_of, load
from rowsparse.workflow.results import DataSummary

__all__ = ["IMPUTE", "InputError", "Table", "read_table"]

IMPUTE = ("median",)

# Names that say what a column of numbers is.
_ID_NAME = re.compile(
    r"^(id|ids|idx|index|uuid|guid|row|rownames?|row_?(id|number|num|nr|no)|column 1"
    r"|.*[ _.-](id|idx|uuid|guid)|[A-Za-z]+ID|[a-z]+Id)$",
    re.IGNORECASE,
)
# Whole numbers that rise from row to row are a count of the rows, if there are enough of them.
_COUNTING_ROWS = 10
# Numbers in a large table.
_LARGE = 5_000_000


@dataclass(frozen=True)
class Table:
    """Features, targets, and what was done to them.

    Attributes
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Numbers without gaps.
    names : list of str
        Of the features.
    target : TargetColumns
    groups : dict of str to array of int
        Features that stand together for one column of categories.
    made_from : dict of int to str
        The column of categories that a feature was made from.
    identifiers : tuple of str
        Columns that only number or name the rows.
    notes : tuple of str
        One sentence for each thing done or noticed.
    path : Path
    sha256 : str
        Of the file; empty until it is known.
    """

    X: Any
    names: list[str]
    target: TargetColumns
    path: Path
    groups: dict[str, Index] = field(default_factory=dict)
    made_from: dict[int, str] = field(default_factory=dict)
    identifiers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sha256: str = ""

    @property
    def y(self) -> NDArray[Any]:
        """The targets."""
        return self.target.y

    @property
    def task(self) -> str:
        """What they are."""
        return self.target.task

    @property
    def n_units(self) -> int:
        """How many can be selected: columns, with those of a category counted once."""
        return int(self.X.shape[1] - sum(part.size - 1 for part in self.groups.values()))

    @property
    def unit_of(self) -> Index:
        """For every feature itself; for those of a category, the first of them."""
        first = np.arange(self.X.shape[1])
        for part in self.groups.values():
            first[part] = part.min()
        return first

    def n_units_of(self, columns: Sequence[int]) -> int:
        """How many these are, with those of a category counted once."""
        return int(np.unique(self.unit_of[list(columns)]).size)

    @property
    def is_large(self) -> bool:
        """Whether reading all numbers takes longer than a search among the features."""
        return bool(self.X.shape[0] * self.X.shape[1] > _LARGE)

    def origin(self, column: int) -> str:
        """The name in the file of what a feature was made from."""
        return self.made_from.get(column, self.names[column])

    def columns_of(self, option: str, wanted: str | None) -> list[int]:
        """The features that an option names, by the columns of the file or by their own names."""
        if not wanted:
            return []
        places: dict[str, list[int]] = {}
        for j, name in enumerate(self.names):
            places.setdefault(name, []).append(j)
            if j in self.made_from:
                places.setdefault(self.made_from[j], []).append(j)
        found = find_columns(option, wanted, list(places))
        return sorted({j for name in found for j in places[name]})

    def without(self, columns: list[int], note: str) -> Table:
        """The same without some features."""
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
        """What results say of the data."""
        return DataSummary(
            source=self.path.name,
            sha256=self.sha256,
            n_samples=self.X.shape[0],
            n_features=self.X.shape[1],
            task=self.task,
            targets=self.target.names,
            classes=self.target.classes,
            class_counts=self.target.counts,
            notes=self.notes,
        )


def read_table(
    path: Path,
    target: str | None = None,
    *,
    drop: str | None = None,
    impute: str | None = None,
    task: str = "auto",
    keep_all: bool = False,
) -> Table:
    """Read a file and make features and targets of it.

    Parameters
    ----------
    path : Path
        CSV or TSV (also gzipped), Parquet, Arrow or Feather, NPZ, MAT, or AnnData.
    target : str, optional
        Column to predict: its name, several with commas between, or a pattern with ``*``. May be
        left out where the file itself says what y is.
    drop : str, optional
        Columns to leave out, in the same manner.
    impute : {"median"}, optional
        What to put in the place of missing values; without it they are refused.
    task : {"auto", "classification", "multilabel", "regression"}, default="auto"
        What the target holds.
    keep_all : bool, default=False
        Keep constant columns and identifiers too, where the place of a column has a meaning.

    Returns
    -------
    Table
    """
    check_choice("--impute", impute, IMPUTE, optional=True)
    format_of(path)
    loaded = load(path)
    names = find_targets(target, loaded)
    if loaded.frame is not None:
        parts = _from_frame(loaded, names, drop, task)
    else:
        parts = _from_matrix(loaded, names, drop, task)
    return _finished(path, loaded, parts, impute, keep_all)


@dataclass(frozen=True)
class _Parts:
    """Numbers and text apart, before anything is left out."""

    X: Any
    names: list[str]
    target: TargetColumns
    text: dict[str, NDArray[Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


# -------------------------------------------------------------------------------- the parts
def _from_frame(loaded: Loaded, targets: list[str], drop: str | None, task: str) -> _Parts:
    import polars

    frame = loaded.frame
    if frame.height < 2:
        raise InputError(f"The table has {_rows(frame.height)}: at least two are needed.")
    dropped = find_columns("--drop", drop, frame.columns)
    _check_apart(targets, dropped)
    goal = target_columns({name: _values(frame[name]) for name in targets}, task)
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
    notes = []
    if other:
        verb = "holds" if len(other) == 1 else "hold"
        notes.append(f"Left out: {listed(other)}, which {verb} neither numbers nor text.")
    X = np.empty((frame.height, 0))
    if numeric:
        part = rest.select(numeric) if text or other else rest
        X = part.to_numpy() if counted == {polars.Float64} else part.cast(polars.Float64).to_numpy()
    return _Parts(X, numeric, goal, {name: _values(rest[name]) for name in text}, notes)


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


def _from_matrix(loaded: Loaded, targets: list[str], drop: str | None, task: str) -> _Parts:
    n = loaded.matrix.shape[0]
    if n < 2:
        raise InputError(f"The table has {_rows(n)}: at least two are needed.")
    dropped = set(find_columns("--drop", drop, [*loaded.names, *loaded.labels]))
    _check_apart(targets, list(dropped))
    goal = target_columns({name: loaded.labels[name] for name in targets}, task)
    X, names = loaded.matrix, loaded.names
    if dropped & set(names):
        kept = [j for j, name in enumerate(names) if name not in dropped]
        X, names = X[:, kept], [names[j] for j in kept]
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    X = sp.csr_array(X, dtype=dtype) if sp.issparse(X) else np.asarray(X, dtype=dtype)
    return _Parts(X, names, goal)


def _check_apart(targets: list[str], dropped: list[str]) -> None:
    both = [name for name in targets if name in dropped]
    if both:
        raise InputError(f"{listed(both)} cannot be both in --target and in --drop.")


def _rows(n: int) -> str:
    return {0: "no rows", 1: "one row only"}.get(n, f"{n:,} rows")


# ------------------------------------------------------------------------- what is left out
def _finished(
    path: Path, loaded: Loaded, parts: _Parts, impute: str | None, keep_all: bool
) -> Table:
    """Identifiers and constants out, gaps filled or refused, text encoded."""
    X, names = parts.X, parts.names
    notes = [*loaded.notes, *parts.target.notes, *parts.notes]
    text = encode_text(parts.text, impute=impute is not None)
    identifiers = list(text.identifiers)
    if not keep_all:
        counting = _identifiers(X, names)
        identifiers += [name for name, yes in zip(names, counting, strict=True) if yes]
        X, names = _keep(X, names, ~counting)
    if identifiers:
        notes.append(f"Left out as identifiers of the rows: {listed(identifiers)}.")
    X, filled = without_gaps(X, names, text, impute, parts.target.y.shape[0])
    notes += filled
    if not keep_all:
        constant = _constant(X)
        gone = [name for name, yes in zip(names, constant, strict=True) if yes]
        gone += text.constant
        if gone:
            notes.append(f"Left out, being the same in every row: {listed(gone)}.")
        X, names = _keep(X, names, ~constant)
    notes += text.notes
    groups = {name: part + len(names) for name, part in text.groups.items()}
    made_from = {len(names) + j: origin for j, origin in enumerate(text.origins)}
    if text.names:
        X = np.column_stack([X, text.X])
        names = [*names, *text.names]
    if not names:
        raise InputError("No column is left to select from: all are targets, text or constant.")
    return Table(X, names, parts.target, path, groups, made_from, tuple(identifiers), tuple(notes))


def _keep(X: Any, names: list[str], kept: Mask) -> tuple[Any, list[str]]:
    if kept.all():
        return X, names
    return X[:, kept], [name for name, yes in zip(names, kept, strict=True) if yes]


def _identifiers(X: Any, names: list[str]) -> Mask:
    """Columns of different whole numbers that are named like a number, or count the rows."""
    found = np.zeros(len(names), dtype=bool)
    if sp.issparse(X) or X.shape[0] < 2:
        return found
    head = X[:_COUNTING_ROWS]
    with np.errstate(invalid="ignore"):
        rises = (np.diff(head, axis=0) > 0).all(axis=0) if len(X) >= _COUNTING_ROWS else found
        whole = (head == np.floor(head)).all(axis=0)
    for j in np.flatnonzero(whole).tolist():
        named = _ID_NAME.match(names[j]) is not None
        if not (rises[j] or named):
            continue
        column = X[:, j]
        if not np.all(column == np.floor(column)):
            continue
        found[j] = np.all(np.diff(column) > 0) if not named else np.unique(column).size == len(X)
    return found


def _constant(X: Any) -> Mask:
    if sp.issparse(X):
        return np.asarray(X.max(axis=0).toarray() == X.min(axis=0).toarray()).ravel()
    return np.asarray(X.max(axis=0) == X.min(axis=0))
