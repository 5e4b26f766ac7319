"""Selection from a table that is larger than memory: one pass, then the ordinary workflow.

The pass gathers the statistics of all rows in parts, from which the features are selected, their
number chosen and their frequencies found. The selected columns of some of the rows then make a
table of ordinary size, on which features are described, scored and modelled as always.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rowsparse._files import fits_memory
from rowsparse.moments import Moments
from rowsparse.moments.parts import merged
from rowsparse.selectors import StabilitySelection, TopK, TopKCV
from rowsparse.streams import RowBlocks
from rowsparse.streams.passes import gather_parts
from rowsparse.streams.tables import needed_module
from rowsparse.workflow.columns import find_columns, is_id_name, is_index_name
from rowsparse.workflow.cross_validation import score_curve
from rowsparse.workflow.loading import Loaded
from rowsparse.workflow.messages import (
    InputError,
    one_line,
    quoted,
    setting,
    shown,
    split_names,
)
from rowsparse.workflow.results import KCurve, SelectionResult
from rowsparse.workflow.run_log import ProgressCallback, silent
from rowsparse.workflow.select import frequency_of
from rowsparse.workflow.settings import SelectSettings, TableSettings
from rowsparse.workflow.table import Table, as_table
from rowsparse.workflow.text_files import MISSING, is_packed, sniff

# A table is streamed if it takes more than the memory divided by this.
_MEMORY_SHARE = 4
_PARQUET, _TEXT = (".parquet", ".pq"), (".csv", ".tsv", ".txt")
_HEAD_BYTES = 1 << 16
# Parts of the rows, for folds and subsamples; rows that are described; subsamples.
_PARTS, _DESCRIBED_ROWS, _SUBSAMPLES = 20, 100_000, 20
# What needs all rows at once.
_READING = (
    *("labels", "by", "groups_column", "impute", "na_values", "time"),
    *("levels", "log", "transpose", "header_row", "class_weight", "drop_missing_target"),
)
_SELECTING = ("certify", "adjust", "clip")


def should_stream(path: Path) -> bool:
    """Whether a table takes more than a share of memory; Parquet and text files are streamed."""
    if not path.is_file():
        return False
    try:
        if path.suffix.lower() in _PARQUET:
            found = needed_module("pyarrow.parquet").read_metadata(path)
            n_cells = found.num_rows * found.num_columns
        elif path.suffix.lower() in _TEXT and not is_packed(path):
            n_cells = _cells_of_text(path)
        else:
            return False
    except (ImportError, OSError, ValueError):
        return False
    return not fits_memory(_MEMORY_SHARE * 8 * n_cells)


def _cells_of_text(path: Path) -> int:
    """About how many cells a text file has; 0 if its rows have to be rewritten first."""
    dialect = sniff(path)
    if not dialect.is_plain or dialect.encoding != "utf-8":
        return 0
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    n_ends = head.count(dialect.separator.encode()) + head.count(b"\n")
    return path.stat().st_size * n_ends // len(head)


@contextmanager
def _as_parquet(path: Path, reading: TableSettings, progress: ProgressCallback) -> Iterator[Path]:
    """A Parquet file with the table: the file itself, or a temporary copy of a text file."""
    if path.suffix.lower() in _PARQUET:
        yield path
        return
    import polars

    progress(f"Copying {path.name} to Parquet")
    missing = [*MISSING, *split_names(reading.na_values)]
    dialect = sniff(path, missing)
    kinds = [polars.String if text else polars.Float64 for text in dialect.is_text]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / f"{path.stem}.parquet"
        try:
            polars.scan_csv(
                path,
                separator=dialect.separator,
                has_header=False,
                skip_rows=1,
                null_values=["", *missing],
                decimal_comma=dialect.decimal_comma,
                schema=dict(zip(dialect.header, kinds, strict=True)),
            ).sink_parquet(copy)
        except polars.exceptions.PolarsError as error:
            raise InputError(
                f"{shown(path.name)} cannot be read in blocks, and is too large for memory: "
                f"{one_line(error)}"
            ) from None
        yield copy


@dataclass(frozen=True)
class StreamedSelection:
    """What one pass found, and the small table for the rest of the workflow.

    ``table`` has the selected columns of some rows, and ``settings`` select them all. ``stability``
    has the frequencies of all ``n_features``, and ``places`` says where the selected ones are among
    them. ``curve`` has the scores over k, where k was chosen, and ``objective`` is that of the
    selection from all ``n_samples`` rows.
    """

    table: Table
    settings: SelectSettings
    n_samples: int
    n_features: int
    places: dict[str, int]
    stability: StabilitySelection | None
    curve: KCurve | None
    objective: float

    def completed(self, result: SelectionResult) -> SelectionResult:
        """The result on the small table, with what is known from all rows."""
        features = []
        for feature in result.features:
            j = self.places[feature.name]
            # The table has the selected columns alone, so that nothing is known of all features.
            known: dict[str, Any] = {"index": j, "p_value": None, "fdr": None, "effect": None}
            if self.stability is not None:
                known |= frequency_of(self.stability, j)
            features.append(replace(feature, **known))
        note = (
            f"Selected from all {self.n_samples:,} rows in one pass; described and scored on "
            f"{self.table.X.shape[0]:,} of them."
        )
        data = replace(
            result.data,
            n_samples=self.n_samples,
            n_features=self.n_features,
            n_columns=self.n_features,
            notes=(*result.data.notes, note),
        )
        warning = (
            "The features were selected from all rows, those of the score too: it may be a little "
            "too good."
        )
        measure = None
        if self.stability is not None:
            low, high = self.stability.stability_interval_
            measure = (self.stability.stability_, low, high)
        return replace(
            result,
            data=data,
            features=tuple(features),
            stability=measure,
            curve=self.curve,
            k_was_chosen=self.curve is not None,
            objective=self.objective,
            # The table has the selected columns alone: no score with all features is known.
            baseline_score=float("nan"),
            tests=None,
            warnings=(*result.warnings, *([] if np.isnan(result.score) else [warning])),
        )


def select_streamed(
    path: Path,
    reading: TableSettings,
    settings: SelectSettings,
    *,
    progress: ProgressCallback = silent,
) -> StreamedSelection:
    """Select from a Parquet file, or a text file, in one pass.

    The method has to be "topk", without what needs all rows at once; otherwise, and where something
    is wrong with the file, an InputError says so.
    """
    _check(path, reading, settings)
    try:
        with _as_parquet(path, reading, progress) as file:
            names, targets = _columns(file, reading)
            target = targets[0] if len(targets) == 1 else targets
            blocks = RowBlocks.from_table(file, target, columns=names)
            n_blocks = max(blocks.n_blocks or 1, 1)
            parts = gather_parts(
                blocks,
                reading.task,
                _PARTS,
                lambda done: progress(f"Reading {path.name}", done / n_blocks),
            )
            found = _selected(file, reading, settings, names, parts, progress)
        return replace(found, table=replace(found.table, path=path))
    except InputError:
        raise
    except (OSError, ImportError, ValueError) as error:
        raise InputError(f"{shown(path.name)}: {error}") from None


def _check(path: Path, reading: TableSettings, settings: SelectSettings) -> None:
    is_text = path.suffix.lower() in _TEXT
    if not is_text and path.suffix.lower() not in _PARQUET:
        raise InputError(f"Only Parquet and text files are read in blocks, not {shown(path.name)}.")
    asked = [
        name
        for name in _READING
        if getattr(reading, name)
        and not (is_text and name == "na_values" and "*" not in str(reading.na_values))
    ]
    asked += [name for name in _SELECTING if getattr(settings, name)]
    if asked:
        raise InputError(f"{setting(asked[0])} needs the whole table in memory: leave it out.")
    if reading.task == "counts":
        raise InputError(
            f"{setting('task', reading.task)} needs the whole table in memory: take the target as "
            f"numbers with {setting('task', 'regression')}."
        )
    if settings.loss not in (None, "auto", "squared"):
        raise InputError(
            f"{setting('loss', settings.loss)} needs the whole table in memory: take "
            f"{setting('loss', 'squared')}."
        )
    if settings.method != "topk":
        raise InputError(f"A table in blocks is selected from with {setting('method', 'topk')}.")


def _columns(path: Path, reading: TableSettings) -> tuple[list[str], list[str]]:
    """The columns of numbers to select from, and the targets."""
    types = needed_module("pyarrow.types")
    schema = needed_module("pyarrow.parquet").read_schema(path)
    if not reading.target:
        raise InputError(f"{setting('target')} is needed: the column to predict.")
    targets = find_columns("target", reading.target, schema.names)
    aside = {*targets, *find_columns("drop", reading.drop, schema.names)}
    kinds = (types.is_floating, types.is_integer, types.is_boolean)
    numbers = [field.name for field in schema if any(kind(field.type) for kind in kinds)]
    # To look at the values of a column would take a pass.
    aside |= {name for name in numbers if is_id_name(name) or is_index_name(name)}
    names = [name for name in numbers if name not in aside]
    if not names:
        raise InputError(f"{shown(path.name)} has no columns of numbers besides {quoted(targets)}.")
    return names, targets


def _selected(
    path: Path,
    reading: TableSettings,
    settings: SelectSettings,
    names: list[str],
    parts: list[Moments],
    progress: ProgressCallback,
) -> StreamedSelection:
    whole = merged(parts)
    options: dict[str, Any] = {"random_state": settings.seed}
    if settings.alpha is not None:
        options["alpha"] = settings.alpha
    for name in ("include", "exclude"):
        options[name] = find_columns(name, getattr(settings, name), names) or None
    k, curve = settings.k, None
    if k == "auto":
        progress("Choosing the number of features")
        k_max = min(settings.k_max, len(names))
        chosen = TopKCV(k_max=k_max, cv=settings.cv, **options).fit_moments(parts)
        k, curve = chosen.n_features_, _curve(chosen, settings.cv)
    progress(f"Selecting {k} of {len(names):,} features")
    selector = TopK(k, **options).fit_moments(whole)
    stability = None
    n_subsamples = _SUBSAMPLES if settings.stability is None else settings.stability
    if n_subsamples:
        again = StabilitySelection(
            TopK(k, n_restarts=0, **options),
            n_subsamples=n_subsamples,
            random_state=settings.seed,
        )
        stability = again.fit_moments(parts)
    selected = [names[j] for j in np.flatnonzero(selector.support_).tolist()]
    return StreamedSelection(
        table=_small_table(path, replace(reading, task=whole.task), selected, whole.n_samples),
        settings=replace(
            settings,
            k=len(selected),
            stability=0,
            include=None,
            exclude=None,
            k_max=30,
            loss="squared",
        ),
        n_samples=whole.n_samples,
        n_features=len(names),
        places={name: names.index(name) for name in selected},
        stability=stability,
        curve=curve,
        objective=float(selector.objective_),
    )


def _curve(chosen: TopKCV, n_folds: int) -> KCurve:
    found = chosen.cv_results_
    folds = [found[f"split{i}_test_score"] for i in range(n_folds)]
    ks = [int(k) for k in found["n_features"]]
    return score_curve("r2", ks, np.array(folds), chosen.n_features_, n_folds)


def _small_table(path: Path, reading: TableSettings, selected: list[str], n: int) -> Table:
    """The selected columns and the targets of at most ``n`` rows, evenly spaced."""
    import polars

    _, targets = _columns(path, reading)
    lazy = polars.scan_parquet(path).select([*selected, *targets])
    frame = lazy.gather_every(max(1, -(-n // _DESCRIBED_ROWS))).collect(engine="streaming")
    return as_table(Loaded(frame=frame), path, replace(reading, drop=None, keep_all=True))
