"""The commands on a table: read, run, write, print."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from rowsparse.cli.display import Display
from rowsparse.cli.imports import import_workflow
from rowsparse.cli.outcome import DONE, WARNED, complain, interrupts
from rowsparse.cli.standard_input import input_file

if TYPE_CHECKING:
    from rowsparse.cli.options import (
        CompareOptions,
        PathOptions,
        ReadingOptions,
        SelectOptions,
        TableOptions,
    )
    from rowsparse.workflow.new_table import NewTable
    from rowsparse.workflow.results import ComparisonResult, PathResult, SelectionResult
    from rowsparse.workflow.settings import SelectSettings, TableSettings
    from rowsparse.workflow.streaming import StreamedSelection
    from rowsparse.workflow.table import Table

__all__ = ["check_output", "run_compare", "run_path", "run_select", "run_verify"]

# Bytes of a Parquet file from which on it may be too large for memory.
_LARGE_FILE = 1 << 26

Result = TypeVar("Result", "SelectionResult", "ComparisonResult", "PathResult")


def run_select(options: SelectOptions) -> int:
    """``rowsparse select``."""
    from rowsparse.cli.settings import select_settings, table_settings

    settings = select_settings(options)
    reading = table_settings(options, keep_all=settings.image_shape is not None)
    check_output(options)
    with _inputs(options) as (data, display):
        streamed = None
        if _streams(options, data):
            streamed, seconds = _stream(data, reading, settings, display)
            table, settings = streamed.table, streamed.settings
        else:
            table, seconds = _read(data, reading, display, "select")
        holdout = options.holdout and _read_holdout(options.holdout, table)
        from rowsparse.workflow.proof_files import write_proof
        from rowsparse.workflow.reduced_table import write_reduced
        from rowsparse.workflow.result_folder import result_folder
        from rowsparse.workflow.select import select
        from rowsparse.workflow.writing import write_selection

        result = select(table, settings, progress=display)
        if streamed is not None:
            result = streamed.completed(result)
        result = _recorded(result, options, seconds)
        if holdout:
            result = _with_holdout(result, holdout)
        display("Writing the results")
        page = _page(options, "selection_page", result)
        proof = options.proof
        with result_folder(options.folder) as folder:
            written = write_selection(folder, result, options.table_format)
            if options.transform:
                written.append(write_reduced(folder, table, result, options.format))
            if proof and result.proof is not None:
                proof = write_proof(proof, result.proof, table, reading)
            written += _write_texts(folder, page, options)
            written += _write_figures(options, folder, result)
    if _shows_tables(options):
        from rowsparse.cli.printing import print_proof, print_selection

        print_selection(result, options.folder, written)
        if proof:
            print_proof(proof, options.data)
    _complain_of(result.warnings)
    return DONE if result.converged else WARNED


def run_verify(proof: Path, data: Path, *, exact: bool) -> int:
    """``rowsparse verify``."""
    from rowsparse.cli.printing import print_checked
    from rowsparse.workflow.proof_files import check_proof

    with input_file(data) as path:
        checked = check_proof(proof, path, exact=exact)
    print_checked(checked)
    return DONE if checked.holds else WARNED


def run_compare(options: CompareOptions) -> int:
    """``rowsparse compare``."""
    from rowsparse.cli.settings import compare_settings, table_settings

    settings = compare_settings(options)
    check_output(options)
    with _inputs(options) as (data, display):
        table, seconds = _read(data, table_settings(options), display, "compare")
        from rowsparse.workflow.compare import compare
        from rowsparse.workflow.result_folder import result_folder
        from rowsparse.workflow.writing import write_comparison

        result = _recorded(compare(table, settings, progress=display), options, seconds)
        page = _page(options, "comparison_page", result)
        with result_folder(options.folder) as folder:
            written = write_comparison(folder, result, options.table_format)
            written += _write_texts(folder, page, options)
            written += _write_figures(options, folder, result)
    if _shows_tables(options):
        from rowsparse.cli.printing import print_comparison

        print_comparison(result, options.folder, written)
    _complain_of(result.warnings)
    return WARNED if any(record.error for record in result.curve.records) else DONE


def run_path(options: PathOptions) -> int:
    """``rowsparse path``."""
    from rowsparse.cli.settings import path_settings, table_settings

    settings = path_settings(options)
    check_output(options)
    with _inputs(options) as (data, display):
        table, seconds = _read(data, table_settings(options), display, "path")
        from rowsparse.workflow.path import find_path
        from rowsparse.workflow.result_folder import result_folder
        from rowsparse.workflow.writing import write_path

        result = _recorded(find_path(table, settings, progress=display), options, seconds)
        page = _page(options, "path_page", result)
        with result_folder(options.folder) as folder:
            written = write_path(folder, result, options.table_format)
            written += _write_texts(folder, page, options)
            written += _write_figures(options, folder, result)
    if _shows_tables(options):
        from rowsparse.cli.printing import print_path

        print_path(result, options.folder, written)
    _complain_of(result.warnings)
    return DONE


# ------------------------------------------------------------------------------ what they share
@contextmanager
def _inputs(options: TableOptions) -> Iterator[tuple[Path, Display]]:
    """The file with the table, and the display."""
    with (
        interrupts() as check,
        input_file(options.data) as data,
        Display(quiet=options.quiet, check=check) as display,
    ):
        yield data, display


def check_output(options: ReadingOptions) -> None:
    """Refuse the folder and the format for the results before the work begins."""
    if options.table_format == "xlsx":
        from rowsparse.workflow.excel import require_xlsxwriter

        require_xlsxwriter()
    from rowsparse.workflow.result_folder import check_folder

    check_folder(options.folder, options.data, force=options.force)


def _read(
    path: Path, settings: TableSettings, display: Display, workflow: str
) -> tuple[Table, float]:
    """The table, and the seconds it took.

    Meanwhile threads import the module of the workflow and compute the checksum of the file.
    """
    from rowsparse.workflow.loading import checksum
    from rowsparse.workflow.table import read_table

    display(f"Reading {path.name}")
    started = perf_counter()
    found: list[str] = []
    helpers = [
        threading.Thread(target=_ignoring_errors, args=(call,), daemon=True)
        for call in (
            lambda: import_workflow(workflow, with_pandas=path.suffix == ".h5ad"),
            lambda: found.append(checksum(path)),
        )
    ]
    for helper in helpers:
        helper.start()
    try:
        table = read_table(path, settings)
    finally:
        for helper in helpers:
            helper.join()
    return replace(table, sha256=found[0]), round(perf_counter() - started, 3)


def _streams(options: SelectOptions, path: Path) -> bool:
    """Whether the table is read in blocks: as asked for, or because it is too large."""
    if options.stream:
        return True
    small = path.suffix.lower() not in (".parquet", ".pq") or path.stat().st_size < _LARGE_FILE
    return not small and bool(import_workflow("streaming").should_stream(path))


def _stream(
    path: Path, reading: TableSettings, settings: SelectSettings, display: Display
) -> tuple[StreamedSelection, float]:
    """What one pass over the table selects, and the seconds it took."""
    streaming = import_workflow("streaming")
    from rowsparse.workflow.loading import checksum

    started = perf_counter()
    found = streaming.select_streamed(path, reading, settings, progress=display)
    found = replace(found, table=replace(found.table, sha256=checksum(path)))
    return found, round(perf_counter() - started, 3)


def _read_holdout(path: Path, table: Table) -> NewTable:
    """The table that the selection is scored on; refused here, before the work, if it cannot be."""
    from rowsparse.workflow.holdout import check_targets
    from rowsparse.workflow.messages import InputError, setting
    from rowsparse.workflow.new_table import open_table

    if path.resolve() == table.path.resolve():
        raise InputError(f"{setting('holdout')} must be another table than the one selected from.")
    holdout = open_table(path, table.reading)
    if table.reading.drop_missing_target and {*table.target.names} <= {*holdout.target_names}:
        holdout = holdout.with_targets(table.target.names)
    check_targets(holdout, table.target.names)
    return holdout


def _with_holdout(result: SelectionResult, holdout: NewTable) -> SelectionResult:
    """The result with its score on the holdout, or with a warning why there is none."""
    from rowsparse.cli.settings import with_flags
    from rowsparse.workflow.holdout import score_holdout
    from rowsparse.workflow.messages import InputError

    if result.model is None:
        return result
    try:
        return replace(result, holdout=score_holdout(result.model, holdout, result.metric))
    except InputError as error:
        sentence = f"No score on the holdout: {with_flags(error.message)}"
        return replace(result, warnings=(*result.warnings, sentence))


def _ignoring_errors(call: Callable[[], object]) -> None:
    """Call a function whose errors occur again, and are reported, where its result is used."""
    with suppress(Exception):
        call()


def _recorded(result: Result, options: TableOptions, seconds: float) -> Result:
    """The result with the options of the command, the seconds of reading, and notes with flags."""
    from rowsparse.cli.settings import as_typed, with_flags

    return replace(
        result,
        data=replace(result.data, notes=tuple(map(with_flags, result.data.notes))),
        warnings=tuple(map(as_typed, result.warnings)),
        settings=_in_effect(options.record, result.settings),
        seconds={**result.seconds, "read": seconds},
    )


def _in_effect(options: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """The options with what took effect where they leave it open, and without what did not."""
    chosen = {name: value for name, value in options.items() if value is not None}
    known = {name: value for name, value in settings.items() if value is not None}
    if chosen.get("task") == "auto":
        chosen["task"] = known["task"]
    return {"command": chosen.pop("command"), "date": known["date"]} | known | chosen


def _page(options: TableOptions, function: str, result: object) -> str | None:
    """The report as a page of HTML, or None if it is not wanted or cannot be made."""
    if not options.report:
        return None
    from rowsparse import report

    try:
        report.require_extra()
    except ImportError as error:
        complain(f"report.html is not written. {error}")
        return None
    page: str = getattr(report, function)(result)
    return page


def _write_texts(folder: Path, page: str | None, options: TableOptions) -> list[Path]:
    """Write the report, if there is one, and the settings of the run."""
    from rowsparse.cli.settings_file import SETTINGS_FILE, settings_text
    from rowsparse.workflow.writing import write_text

    texts = {"report.html": page, SETTINGS_FILE: settings_text(options)}
    written = {folder / name: text for name, text in texts.items() if text is not None}
    for path, text in written.items():
        write_text(path, text)
    return list(written)


def _write_figures(options: TableOptions, folder: Path, result: object) -> list[Path]:
    """Write the charts as SVG files, if that is asked for."""
    from rowsparse import report
    from rowsparse.workflow.writing import write_text

    if not options.figures:
        return []
    kind = {"select": "selection", "compare": "comparison", "path": "path"}[options.command]
    figures = folder / "figures"
    figures.mkdir()
    for name, text in getattr(report, f"{kind}_figures")(result).items():
        write_text(figures / f"{name}.svg", text)
    return [figures]


def _shows_tables(options: TableOptions) -> bool:
    """Whether tables are to be printed; prints the result as JSON if that is asked for."""
    if options.json:
        sys.stdout.write((options.folder / "result.json").read_text(encoding="utf-8"))
    return not (options.json or options.quiet)


def _complain_of(warnings: tuple[str, ...]) -> None:
    from rowsparse.cli.printing import plain

    for sentence in warnings:
        complain(f"Note: {plain(sentence, 400)}")
