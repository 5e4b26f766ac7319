"""Files of all formats, and labels beside them, as columns that may be features or targets."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import file_digest
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Index
from rowsparse._files import UnreadableFileError
from rowsparse._mat import read_mat
from rowsparse._npz import read_npz
from rowsparse._text import counted
from rowsparse.workflow.columns import missing_in
from rowsparse.workflow.messages import (
    InputError,
    numbered,
    quoted,
    required,
    setting,
    shown,
    split_names,
)
from rowsparse.workflow.settings import ReadingSettings
from rowsparse.workflow.text_files import (
    Dialect,
    check_distinct,
    line_of,
    name_columns,
    panics_as_errors,
    parse_cells,
    read_delimited,
    whole_as_text,
)

ArrayReader = Callable[[Path, Collection[str]], tuple[dict[str, Any], list[str]]]

# By the suffix of a file.
FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".xlsx": "excel",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npz": "npz",
    ".mat": "mat",
    ".h5ad": "h5ad",
}


def _row_place(row: int) -> str:
    return f"row {row + 1}"


@dataclass(frozen=True)
class Loaded:
    """The columns of a file or a data frame, by their names.

    ``frame``, of polars or pandas, has columns that may be features or targets. Formats that store
    them apart have a ``matrix`` with the names ``features``, and the targets in ``labels``.
    ``place`` says where people find a row, counted from 0, in the file: "line 7" or "row 6".
    ``elsewhere`` is a sentence on what else the file holds, for columns that are not found, and
    ``notes`` are sentences on how it was read. ``source`` is what messages call the table; a file
    has its ``path``, how it was read, and of text how it is written.
    """

    frame: Any = None
    matrix: Any = None
    features: list[str] = field(default_factory=list)
    labels: dict[str, NDArray[Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    place: Callable[[int], str] = _row_place
    elsewhere: str = ""
    source: str = ""
    path: Path | None = None
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    dialect: Dialect | None = None

    @property
    def names(self) -> list[str]:
        """Names of the columns that may be features."""
        return self.features if self.frame is None else [str(name) for name in self.frame.columns]

    @property
    def target_names(self) -> list[str]:
        """Names of the columns that may be targets: of a table of columns, all of them."""
        return list(self.labels) if self.frame is None else self.names

    @property
    def n_rows(self) -> int:
        """Number of samples."""
        return int(self.matrix.shape[0] if self.frame is None else len(self.frame))

    def values(self, name: str) -> NDArray[Any]:
        """The values of a column that may be a feature."""
        if self.frame is not None:
            return self.target_values(name)
        column = self.matrix[:, [self.features.index(name)]]
        return np.asarray(column.toarray() if sp.issparse(column) else column).ravel()

    def target_values(self, name: str) -> NDArray[Any]:
        """The values of a column that may be a target."""
        if self.frame is None:
            return self.labels[name]
        if hasattr(self.frame, "iloc"):
            return _pandas_values(self.frame.iloc[:, self.names.index(name)])
        return _polars_values(self.frame[name])

    def rows(self, kept: Index) -> Loaded:
        """Some of the rows."""
        frame = self.frame
        if frame is not None:
            frame = frame.iloc[kept] if hasattr(frame, "iloc") else frame[kept.tolist()]
        return replace(
            self,
            frame=frame,
            matrix=None if self.matrix is None else self.matrix[kept],
            labels={name: values[kept] for name, values in self.labels.items()},
            place=lambda row: self.place(int(kept[row])),
        )

    def with_targets(self, targets: Sequence[str]) -> Loaded:
        """The rows that have a value of every target."""
        missing = np.any([missing_in(self.target_values(name)) for name in targets], axis=0)
        return self.rows(np.flatnonzero(~missing)) if missing.any() else self

    def as_written(self, names: Sequence[str]) -> list[list[Any]]:
        """The values of some columns; those of a text file exactly as they stand there."""
        if names and self.path is not None and self.dialect is not None:
            frame = load(self.path, self.reading, as_text=True).frame
            return [frame[name].to_list() for name in names]
        return [self.target_values(name).tolist() for name in names]


def _polars_values(column: Any) -> NDArray[Any]:
    """Numbers with NaN, or objects with None, for what is missing; dates as text."""
    polars = required("polars")
    kind, has_gaps = column.dtype, column.null_count() > 0
    if kind.is_numeric():
        is_plain = kind.is_float() or (kind.is_integer() and not has_gaps)
        return np.asarray(column if is_plain else column.cast(polars.Float64))
    if kind == polars.Boolean and not has_gaps:
        return np.asarray(column)
    if kind in (polars.Date, polars.Datetime):
        column = column.cast(polars.String)
    elif kind not in (polars.Boolean, polars.String, polars.Categorical, polars.Enum):
        raise InputError(f"The column {shown(column.name)} holds neither numbers nor text.")
    return np.array(column.to_list(), dtype=object)


def _pandas_values(column: Any) -> NDArray[Any]:
    """A column of pandas as numbers, or as objects with None for what is missing."""
    if column.dtype.kind in "biuf" and not column.isna().any():
        return np.asarray(column.to_numpy())
    values = column.astype(object)
    return np.asarray(values.where(~column.isna(), None), dtype=object)


def open_table(table: Any, reading: ReadingSettings | None = None) -> Loaded:
    """Open a file of any format, or a data frame of polars or pandas, with or without targets.

    The settings say how a file is read: which cells are missing values, and whether it is
    transposed or joined with labels.
    """
    if isinstance(table, Loaded):
        return table
    if isinstance(table, str | Path):
        return load(Path(table), reading)
    if not hasattr(table, "columns"):
        raise TypeError(
            "The table must be the path of a file or a data frame of polars or pandas; got "
            f"{type(table).__name__}."
        )
    opened = Loaded(frame=table, source="the data frame")
    check_distinct(opened.source, opened.names)
    return opened


# -------------------------------------------------------------------------------------------- files
def checksum(path: Path) -> str:
    """The sha256 of a file."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def format_of(path: Path) -> str:
    """The format of a file, by its suffix; ``.gz`` may follow that of a text file."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] == ".gz"
    last = suffixes[-2:-1] if packed else suffixes[-1:]
    kind = FORMATS.get(last[0]) if last else None
    if kind is None or (packed and kind not in _TEXT):
        raise InputError(
            f"{shown(path.name)} is of no known type: give a file that ends in .csv, .tsv (also "
            ".gz), .xlsx, .parquet, .arrow, .feather, .npz, .mat or .h5ad."
        )
    return kind


def check_is_file(path: Path) -> None:
    """Refuse a file that is not there."""
    if not path.is_file():
        raise InputError(f"There is no file {shown(str(path))}.")


_TEXT = ("csv", "tsv")
# Settings for the files of some formats only.
_FOR_SOME = {
    "sheet": (("excel",), "is for Excel files, not for {}."),
    "header_row": ((*_TEXT, "excel"), "is for text and Excel files, not for {}."),
    **dict.fromkeys(
        ("transpose", "na_values"),
        (
            (*_TEXT, "excel", "parquet", "arrow"),
            "is about tables with columns, and {} holds arrays: leave it out.",
        ),
    ),
}


def load(path: Path, settings: ReadingSettings | None = None, *, as_text: bool = False) -> Loaded:
    """Read a file, whatever its format, and the file with its labels if the settings name one.

    With ``as_text`` the cells of text files stay as they are written.
    """
    settings = settings or ReadingSettings()
    table = _load(path, settings, as_text)
    return table if settings.labels is None else _with_labels(table, path, settings, as_text)


def _load(path: Path, settings: ReadingSettings, as_text: bool) -> Loaded:
    """Read a file; the settings say how."""
    if path.is_dir():
        tables = sorted(file.name for file in path.iterdir() if file.suffix.lower() in FORMATS)
        has = f": it has the tables {quoted(tables)}" if tables else ""
        raise InputError(f"{shown(path.name or str(path))} is a folder, not a file{has}.")
    kind = format_of(path)
    check_is_file(path)
    if path.stat().st_size == 0:
        raise InputError(f"{shown(path.name)} is empty.")
    for name, (kinds, words) in _FOR_SOME.items():
        if getattr(settings, name) and kind not in kinds:
            raise InputError(f"{setting(name)} {words.format(shown(path.name))}")
    loaded = _READERS[kind](path, settings, as_text)
    loaded = replace(loaded, source=path.name, path=path, reading=settings)
    na_values, notes, frame = split_names(settings.na_values), loaded.notes, loaded.frame
    if settings.transpose:
        frame, turned = transpose_frame(frame)
        notes = [*notes, *turned]
        samples = frame[SAMPLE].to_list()
        loaded = replace(loaded, place=lambda row: f"column {shown(samples[row])}")
    as_it_is = as_text if kind in _TEXT else kind != "excel" and not settings.transpose
    if not as_it_is or (na_values and not as_text):
        marks = loaded.dialect or Dialect(",", "utf-8")
        frame, parsed = parse_cells(
            frame, na_values, separator=marks.separator, decimal_comma=marks.decimal_comma
        )
        notes = [*notes, *parsed]
    return replace(loaded, frame=frame, notes=notes)


def _text(path: Path, settings: ReadingSettings, as_text: bool) -> Loaded:
    na_values = split_names(settings.na_values)
    frame, dialect = read_delimited(path, na_values, as_text, settings.header_row)
    notes = []
    if settings.header_row is None and dialect.n_comments:
        lines = counted(dialect.n_comments, "line")
        notes.append(f"Skipped: {lines} before the header, blank or beginning with '#'.")
    if dialect.encoding == "cp1252":
        notes.append("The file is not UTF-8: it was read as Windows-1252.")

    def place(row: int) -> str:
        return f"line {line_of(path, dialect, row):,}"

    return Loaded(frame=frame, notes=notes, place=place, dialect=dialect)


def _parquet(path: Path, *_: Any) -> Loaded:
    return Loaded(frame=_columnar(required("polars").read_parquet, path, "Parquet"))


def _arrow(path: Path, *_: Any) -> Loaded:
    polars = required("polars")
    with path.open("rb") as stream:
        is_file = stream.read(6) == b"ARROW1"
    read = polars.read_ipc if is_file else polars.read_ipc_stream
    if "memory_map" in signature(read).parameters:
        # Older versions map the file into memory; offsets in a damaged one may lie outside of it.
        read = partial(read, memory_map=False)
    return Loaded(frame=_columnar(read, path, "Arrow"))


def _columnar(read: Callable[[Path], Any], path: Path, kind: str) -> Any:
    polars = required("polars")
    categories = polars.selectors.categorical() | polars.selectors.by_dtype(polars.Enum)
    try:
        with panics_as_errors():
            return read(path).with_columns(categories.cast(polars.String))
    except polars.exceptions.DuplicateError:
        raise InputError(
            f"{shown(path.name)} has several columns of one name: rename them so that each name "
            "comes once."
        ) from None
    except (polars.exceptions.PolarsError, OSError, ValueError) as error:
        raise _unreadable(path, kind, error) from None


def _unreadable(path: Path, kind: str, error: Exception) -> InputError:
    reason = str(error).partition("\n")[0].strip().rstrip(".")
    name = shown(path.name)
    return InputError(
        f"{name} cannot be read as {kind} and has to be copied or saved again: {reason}."
    )


# ------------------------------------------------------------------------------------------- Excel
def _excel(path: Path, settings: ReadingSettings, *_: bool) -> Loaded:
    frame, rows, notes = read_excel(path, settings.sheet, settings.header_row)
    elsewhere = notes[0] + f" Choose one with {setting('sheet')}." if notes else ""
    return Loaded(
        frame=frame, notes=notes, place=lambda row: f"row {rows[row]}", elsewhere=elsewhere
    )


def read_excel(
    path: Path, sheet: str | None = None, header_row: int | None = None
) -> tuple[Any, list[int], list[str]]:
    """Read a sheet of a workbook, by its name or its number counted from 1; the first by default.

    The row with the names of the columns is the first that is not empty, or that of the number.
    Returns the cells as text, without rows and columns that have none; the row of the sheet,
    counted from 1, that each row comes from; and notes.
    """
    polars = required("polars")
    fastexcel = required("fastexcel")
    try:
        workbook = fastexcel.read_excel(path)
        sheets = workbook.sheet_names
        at = _sheet_at(path, sheets, sheet)
        cells = _exact_text(polars, workbook, at)
    except fastexcel.FastExcelError as error:
        raise _unreadable(path, "Excel", error) from None
    filled = cells.select(~polars.all_horizontal(polars.all().is_null())).to_series().to_list()
    first = 0 if header_row is None else header_row - 1
    rows = [row for row, yes in enumerate(filled) if yes and row >= first]
    if not rows:
        raise InputError(f"The sheet {shown(sheets[at])} of {shown(path.name)} is empty.")
    if header_row is not None and rows[0] != first:
        raise InputError(
            f"{setting('header_row', header_row)}: that row of the sheet {shown(sheets[at])} is "
            "empty."
        )
    header = list(cells.row(rows[0]))
    names = name_columns(path.name, [name or "" for name in header])
    frame = cells[rows[1:]]
    frame.columns = list(names)
    has_name = dict(zip(names, header, strict=True))
    kept = [name for name in names if has_name[name] or frame[name].null_count() < frame.height]
    notes = []
    if len(sheets) > 1:
        others = [name for name in sheets if name != sheets[at]]
        notes.append(f"Read: the sheet {shown(sheets[at])}. Not read: {quoted(others)}.")
    return frame.select(kept), [row + 1 for row in rows[1:]], notes


def _sheet_at(path: Path, sheets: list[str], wanted: str | None) -> int:
    """The place of a sheet that is named, or counted from 1."""
    if wanted is None:
        return 0
    if wanted in sheets:
        return sheets.index(wanted)
    if wanted.isdigit() and 1 <= int(wanted) <= len(sheets):
        return int(wanted) - 1
    raise InputError(
        f"{setting('sheet')}: there is no sheet {shown(wanted)} in {shown(path.name)}; it has "
        f"{quoted(sheets, 20)}."
    )


def _exact_text(polars: Any, workbook: Any, at: int) -> Any:
    """All cells of a sheet as text, numbers with all their digits."""
    text, numbers = (
        workbook.load_sheet(at, header_row=None, skip_rows=0, dtypes=kind).to_polars()
        for kind in ("string", "float")
    )
    # As text, fastexcel rounds fractions; as numbers, it has none for dates and words.
    is_fraction = polars.all() != polars.all().floor()
    exact = numbers.select(polars.when(is_fraction).then(polars.all()).name.keep())
    exact = exact.cast(polars.String)
    return text.select(
        polars.coalesce(exact[name], text[name]).alias(name) for name in text.columns
    )


# ------------------------------------------------------------------------- rows turned into columns
# Name of the column with the names of the samples.
SAMPLE = "sample"


def transpose_frame(frame: Any) -> tuple[Any, list[str]]:
    """A row for each column but the first, which has the names of the new columns; and notes.

    The names of the samples come first. All other columns are text if any column was.
    """
    polars = required("polars")
    first, *samples = frame.columns
    given = whole_as_text(frame[first]).to_list()
    filled = [name or f"row {j + 1}" for j, name in enumerate(given)]
    # The first of the names is that of the samples, so that no feature keeps it.
    (sample, *names), _ = numbered([SAMPLE, *filled])
    rest = frame.select(samples)
    if all(kind.is_numeric() for kind in rest.dtypes):
        values = rest.cast(polars.Float64).to_numpy().T
        turned = polars.from_numpy(values, schema=names, orient="row")
    else:
        turned = rest.cast(polars.String).transpose(column_names=names)
    notes = []
    renamed = [name for name, old in zip(names, filled, strict=True) if name != old]
    if renamed:
        notes.append(f"Names that come several times got a number: {quoted(renamed)}.")
    return turned.insert_column(0, polars.Series(sample, samples, dtype=polars.String)), notes


# ------------------------------------------------------------------------------- NPZ and MAT
def _arrays(path: Path, *_: Any, read: ArrayReader, targets: tuple[str, ...]) -> Loaded:
    """X, y and perhaps feature_names, as features and labels."""
    file = shown(path.name)
    try:
        arrays, found = read(path, {"X", "feature_names", *targets})
    except UnreadableFileError as error:
        raise InputError(f"{file} {error}") from None
    target = next((name for name in targets if name in arrays), None)
    needs = f"{file} needs the arrays X and {targets[0]}; it has {quoted(found) or 'none'}."
    if "X" not in arrays:
        raise InputError(needs)
    X = arrays["X"]
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(
            f"X in {file} must be a matrix of numbers; it is of shape {X.shape} and type {X.dtype}."
        )
    if X.shape[0] == 0:
        raise InputError(f"X in {file} has no rows: at least two are needed.")
    names = _names(path, arrays.get("feature_names"), X.shape[1])
    if target is None:
        return Loaded(matrix=X, features=names, elsewhere=needs)
    y = _labels(file, target, arrays[target], X.shape)
    labels = {target: y} if y.ndim == 1 else {f"{target}{j}": y[:, j] for j in range(y.shape[1])}
    return Loaded(matrix=X, features=names, labels=labels)


def _labels(file: str, name: str, y: Any, shape: tuple[int, int]) -> NDArray[Any]:
    """The array y with a row for each sample."""
    flat = y.ndim == 1 or (y.ndim == 2 and 1 in y.shape)
    n_rows = math.prod(y.shape) if flat else y.shape[0] if y.ndim == 2 else None
    if n_rows != shape[0]:
        raise InputError(
            f"X and {name} in {file} must have one row for each sample; they are of the shapes "
            f"{shape} and {y.shape}."
        )
    if y.dtype.kind not in "biufUSO":
        raise InputError(f"{name} in {file} must hold numbers or text; it is of type {y.dtype}.")
    y = np.asarray(y.toarray() if sp.issparse(y) else y)
    return y.ravel() if flat else y


def _names(path: Path, stored: NDArray[Any] | None, width: int) -> list[str]:
    """Names of the columns of X; x0, x1 and so on where the file has none."""
    if stored is None:
        return [f"x{j}" for j in range(width)]
    if sp.issparse(stored) or stored.size != width:
        raise InputError(
            f"{shown(path.name)} has {stored.size} feature_names for {width} columns of X."
        )
    names = [str(name) for name in np.ravel(stored)]
    check_distinct(path.name, names)
    return names


# ------------------------------------------------------------------------------------ AnnData
def _h5ad(path: Path, *_: Any) -> Loaded:
    anndata = required("anndata")
    try:
        with warnings.catch_warnings():
            # Repeated names get a note below.
            warnings.simplefilter("ignore")
            data = anndata.read_h5ad(path)
        if sp.issparse(data.X):
            # Later operations of SciPy do not check the indices.
            data.X.check_format(full_check=True)
    except Exception as error:
        raise _unreadable(path, "AnnData", error) from None
    if data.X is None:
        raise InputError(f"{shown(path.name)} has no matrix X.")
    names, repeated = numbered(data.var_names.astype(str).tolist())
    notes = []
    if repeated:
        notes.append(
            f"{repeated} variables share their name with an earlier one: a number was added."
        )
    labels = {str(name): _pandas_values(data.obs[name]) for name in data.obs.columns}
    matrix = sp.csr_array(data.X) if sp.issparse(data.X) else np.asarray(data.X)
    return Loaded(matrix=matrix, features=names, labels=labels, notes=notes)


_READERS: dict[str, Callable[[Path, ReadingSettings, bool], Loaded]] = {
    "csv": _text,
    "tsv": _text,
    "excel": _excel,
    "parquet": _parquet,
    "arrow": _arrow,
    "npz": partial(_arrays, read=read_npz, targets=("y", "Y")),
    "mat": partial(_arrays, read=read_mat, targets=("Y", "y")),
    "h5ad": _h5ad,
}


# -------------------------------------------------------------------- labels in a file of their own
def _with_labels(table: Loaded, path: Path, settings: ReadingSettings, as_text: bool) -> Loaded:
    """The table joined with the file of its labels."""
    by, other = str(settings.by), Path(str(settings.labels))
    labels = _load(other, ReadingSettings(na_values=settings.na_values), as_text)
    for one in (table, labels):
        if one.frame is None:
            raise InputError(
                f"{setting('labels')} joins tables with columns, and {shown(one.source)} holds "
                "arrays: leave it out."
            )
    if settings.transpose and by not in table.frame.columns:
        table = replace(table, frame=table.frame.rename({SAMPLE: by}))
    for one in (table, labels):
        if by not in one.frame.columns:
            raise InputError(
                f"{setting('by')}: there is no column {shown(by)} in {shown(one.source)}; it has "
                f"{quoted(one.frame.columns)}."
            )
    shared = [name for name in labels.frame.columns if name in {*table.frame.columns} - {by}]
    if shared:
        raise InputError(
            f"{shown(path.name)} and {shown(other.name)} both have the columns {quoted(shared)}: "
            "rename or remove them in one of the files."
        )
    return _joined(table, labels, by)


def _joined(table: Loaded, labels: Loaded, by: str) -> Loaded:
    """The samples that both files have, in the order of the table."""
    names, rows = _keys(table.frame[by], labels.frame[by])
    file, other = shown(table.source), shown(labels.source)
    for source, keys in ((file, names), (other, rows)):
        twice = [key for key, times in Counter(keys).items() if key is not None and times > 1]
        if twice:
            raise InputError(
                f"{setting('by', by)} must name each sample once: in {source}, {quoted(twice)} "
                "comes several times."
            )
    row_of: dict[str | None, int] = {key: row for row, key in enumerate(rows) if key is not None}
    kept = [i for i, key in enumerate(names) if key in row_of]
    if not kept:
        raise InputError(
            f"No sample of {file} is in {other}: {setting('by', by)} is {shown(str(names[0]))} in "
            f"the first row of one and {shown(str(rows[0]))} in that of the other."
        )
    added = labels.frame[[row_of[names[i]] for i in kept]].drop(by)
    notes = [f"Joined with {other} by {shown(by)}: {quoted(added.columns)} added."]
    if len(kept) < len(names):
        alone = [str(key) for key in names if key not in row_of]
        notes.append(
            f"Left out: {counted(len(alone), 'sample')} without a row in {other}, "
            f"{quoted(alone, 3)}."
        )
    if len(kept) < len(rows):
        unused = counted(len(rows) - len(kept), "row")
        notes.append(f"{unused} of {other} not used: the table has no such samples.")
    samples = [str(names[i]) for i in kept]
    return replace(
        table,
        frame=table.frame[kept].hstack(added),
        notes=[*table.notes, *labels.notes, *notes],
        place=lambda row: f"sample {shown(samples[row])}",
        elsewhere="",
    )


def _keys(left: Any, right: Any) -> tuple[list[str | None], list[str | None]]:
    """Names of samples; if none agree and all are whole numbers, without leading zeros."""
    columns = [whole_as_text(column).str.strip_chars().to_list() for column in (left, right)]
    every = [key for keys in columns for key in keys if key is not None]
    if set(columns[0]).isdisjoint(columns[1]) and all(key.isdigit() for key in every):
        columns = [[key and (key.lstrip("0") or "0") for key in keys] for keys in columns]
    return columns[0], columns[1]
