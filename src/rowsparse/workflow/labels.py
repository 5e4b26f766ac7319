"""Labels in a file of their own, joined with the table by the names of the samples."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from rowsparse._text import counted
from rowsparse.workflow.cells import whole_as_text
from rowsparse.workflow.loading import Loaded, load
from rowsparse.workflow.messages import InputError, quoted, setting, shown
from rowsparse.workflow.settings import TableSettings
from rowsparse.workflow.target_columns import split_names
from rowsparse.workflow.transposing import SAMPLE

__all__ = ["load_joined"]


def load_joined(
    path: Path, settings: TableSettings, *, as_text: bool = False, with_target: bool = True
) -> Loaded:
    """Read a file and, if the settings name one, the file with its labels.

    Parameters
    ----------
    path : Path
    settings : TableSettings
    as_text : bool
        Whether the cells of text files stay as they are written.
    with_target : bool
        Whether a file of arrays without y is refused.
    """
    na_values = split_names(settings.na_values)
    table = load(
        path,
        na_values,
        transpose=settings.transpose,
        as_text=as_text,
        with_target=with_target,
        query=settings.query,
    )
    if settings.labels is None or settings.by is None:
        return table
    other = Path(settings.labels)
    labels = load(other, na_values, as_text=as_text)
    for file, loaded in ((path, table), (other, labels)):
        if loaded.frame is None:
            raise InputError(
                f"{setting('labels')} joins tables with columns, and {shown(file.name)} holds "
                "arrays: leave it out."
            )
    if settings.transpose and settings.by not in table.frame.columns:
        table = replace(table, frame=table.frame.rename({SAMPLE: settings.by}))
    _check_columns(table.frame, path, labels.frame, other, settings.by)
    return _joined(table, path, labels, other, settings.by)


def _check_columns(table: Any, path: Path, labels: Any, other: Path, by: str) -> None:
    """Refuse files without the column to join by, or with others in common."""
    for file, frame in ((path, table), (other, labels)):
        if by not in frame.columns:
            raise InputError(
                f"{setting('by')}: there is no column {shown(by)} in {shown(file.name)}; it has "
                f"{quoted(frame.columns)}."
            )
    shared = [name for name in labels.columns if name in set(table.columns) - {by}]
    if shared:
        raise InputError(
            f"{shown(path.name)} and {shown(other.name)} both have the columns {quoted(shared)}: "
            "rename or remove them in one of the files."
        )


def _joined(table: Loaded, path: Path, labels: Loaded, other: Path, by: str) -> Loaded:
    """The samples that both files have, in the order of the table."""
    names, rows = _keys(table.frame[by], labels.frame[by])
    for file, keys in ((path, names), (other, rows)):
        twice = [key for key, times in Counter(keys).items() if key is not None and times > 1]
        if twice:
            raise InputError(
                f"{setting('by', by)} must name each sample once: in {shown(file.name)}, "
                f"{quoted(twice)} comes several times."
            )
    row_of: dict[str | None, int] = {key: row for row, key in enumerate(rows) if key is not None}
    kept = [i for i, key in enumerate(names) if key in row_of]
    if not kept:
        raise InputError(
            f"No sample of {shown(path.name)} is in {shown(other.name)}: {setting('by', by)} is "
            f"{shown(str(names[0]))} in the first row of one and {shown(str(rows[0]))} in that of "
            "the other."
        )
    added = labels.frame[[row_of[names[i]] for i in kept]].drop(by)
    notes = [f"Joined with {shown(other.name)} by {shown(by)}: {quoted(added.columns)} added."]
    if len(kept) < len(names):
        alone = [str(key) for key in names if key not in row_of]
        notes.append(
            f"Left out: {counted(len(alone), 'sample')} without a row in {shown(other.name)}, "
            f"{quoted(alone, 3)}."
        )
    if len(kept) < len(rows):
        unused = counted(len(rows) - len(kept), "row")
        notes.append(f"{unused} of {shown(other.name)} not used: the table has no such samples.")
    samples = [str(names[i]) for i in kept]
    return Loaded(
        frame=table.frame[kept].hstack(added),
        notes=[*table.notes, *labels.notes, *notes],
        place=lambda row: f"sample {shown(samples[row])}",
    )


def _keys(left: Any, right: Any) -> tuple[list[str | None], list[str | None]]:
    """Names of samples; if none agree and all are whole numbers, without leading zeros."""
    columns = [whole_as_text(column).str.strip_chars().to_list() for column in (left, right)]
    every = [key for keys in columns for key in keys if key is not None]
    if set(columns[0]).isdisjoint(columns[1]) and all(key.isdigit() for key in every):
        columns = [[key and (key.lstrip("0") or "0") for key in keys] for keys in columns]
    return columns[0], columns[1]
