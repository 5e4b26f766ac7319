"""What the commands do: read, run, write, print."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from types import TracebackType
from typing import Any, Self
from zipfile import BadZipFile, ZipFile

from rowsparse import report
from rowsparse._names import shown as cut
from rowsparse.certificate.proof import proof_path
from rowsparse.cli import printing
from rowsparse.cli.commands import SETTINGS_FILE, STANDARD_INPUT, Run, settings_text
from rowsparse.cli.outcome import DONE, WARNED, complain, interrupts
from rowsparse.workflow import writing
from rowsparse.workflow.compare import compare
from rowsparse.workflow.loading import Loaded, checksum, open_table
from rowsparse.workflow.messages import InputError, required, setting, shown
from rowsparse.workflow.model import SavedModel, check_targets, score_holdout
from rowsparse.workflow.select import find_path, select
from rowsparse.workflow.settings import ReadingSettings, TableSettings
from rowsparse.workflow.streaming import select_streamed, should_stream
from rowsparse.workflow.table import Table, read_table
from rowsparse.workflow.writing import check_folder, check_proof, result_folder, write_proof

# Bytes of a Parquet or text file from which on it may be too large for memory.
_LARGE_FILE = 1 << 26
# What pages, charts, files and tables of a command are named after.
_KINDS = {"select": "selection", "compare": "comparison", "path": "path"}

_Write = Callable[[Path], list[Path]]


# ------------------------------------------------------------------------------------ the commands
def run_table(run: Run) -> int:
    """``rowsparse select``, ``compare`` and ``path``."""
    output, kind = run.output, _KINDS[run.command]
    if getattr(output, "proof", None):
        _check_proof(run)
    check_output(run)
    with (
        interrupts() as check,
        input_file(output.data) as data,
        Display(quiet=output.quiet, check=check) as display,
    ):
        find = _selected if run.command == "select" else _found
        result, seconds, write = find(run, data, display)
        record = _in_effect(run.record, result.settings)
        result = replace(result, settings=record, seconds={**result.seconds, "read": seconds})
        display("Writing the results")
        with result_folder(run.folder) as folder:
            written = getattr(writing, f"write_{kind}")(folder, result, run.table_format)
            written += write(folder)
            written += _write_report(folder, run, kind, result)
    if output.json:
        sys.stdout.write((run.folder / "result.json").read_text(encoding="utf-8"))
    elif not output.quiet:
        getattr(printing, f"print_{kind}")(result, run.folder, written)
        if getattr(output, "proof", None) and result.proof is not None:
            printing.print_proof(proof_path(output.proof), output.data)
    for sentence in result.warnings:
        complain(f"Note: {cut(sentence, 400)}")
    errors = (record.error for record in getattr(result.curve, "records", ()))
    return WARNED if any(errors) or not getattr(result, "converged", True) else DONE


def _found(run: Run, data: Path, display: Display) -> tuple[Any, float, _Write]:
    """The result of ``compare`` or ``path``, the seconds of reading, and what else is written."""
    table, seconds = _read(data, run.reading.for_loss(run.settings.loss), display)
    find: Callable[..., Any] = compare if run.command == "compare" else find_path
    return find(table, run.settings, progress=display), seconds, lambda folder: []


def _selected(run: Run, data: Path, display: Display) -> tuple[Any, float, _Write]:
    """The same of ``select``."""
    settings, output = run.settings, run.output
    reading, streamed = run.reading.for_loss(settings.loss), None
    if _streams(data):
        if output.transform:
            raise InputError(
                f"{setting('transform')} needs the whole table in memory: leave it out."
            )
        started = perf_counter()
        streamed = select_streamed(data, reading, settings, progress=display)
        table, settings = replace(streamed.table, sha256=checksum(data)), streamed.settings
        seconds = round(perf_counter() - started, 3)
    else:
        table, seconds = _read(data, reading, display)
    holdout = output.holdout and _read_holdout(output.holdout, table)
    result = select(table, settings, progress=display)
    if streamed is not None:
        result = streamed.completed(result)
    if holdout and result.model is not None:
        try:
            result = replace(result, holdout=score_holdout(result.model, holdout, result.metric))
        except InputError as error:
            sentence = f"No score on the holdout: {error}"
            result = replace(result, warnings=(*result.warnings, sentence))

    def write(folder: Path) -> list[Path]:
        if output.proof and result.proof is not None:
            write_proof(output.proof, result.proof, table, reading)
        return (
            [writing.write_reduced(folder, table, result, output.format)]
            if output.transform
            else []
        )

    return result, seconds, write


def run_apply(run: Run) -> int:
    """``rowsparse apply``: reduce or predict a table with the model of a selection."""
    output = run.output
    check_output(run)
    model = SavedModel.load(output.result)
    with input_file(output.data) as path:
        table = model.open(path, run.reading)
        model.check_columns(table)
        score = None
        with result_folder(run.folder) as stage:
            if output.predict:
                written = writing.write_predictions(stage, model, table, run.table_format)
                if set(model.targets) <= set(table.target_names):
                    known = table.with_targets(model.targets)
                    score = score_holdout(model, known) if known.n_rows else None
            else:
                columns = {column.name for column in model.columns}
                wanted = {*columns, *model.targets, *model.identifiers_in(table)}
                written = writing.write_columns(stage, path, wanted, table.reading, output.format)
    if output.json:
        sys.stdout.write(writing.applied_text(model, table, run.folder / written.name, score))
    elif not output.quiet:
        printing.print_applied(model, table, run.folder, written, score)
    return DONE


def run_verify(run: Run) -> int:
    """``rowsparse verify``."""
    proof = run.output.proof
    if not proof.exists() and proof_path(proof).exists():
        proof = proof_path(proof)  # --proof adds the suffix too
    with input_file(run.output.data) as path:
        checked = check_proof(proof, path, exact=run.output.exact)
    printing.print_checked(checked)
    return DONE if checked.holds else WARNED


def run_methods(_: Run) -> int:
    """``rowsparse methods``."""
    printing.print_methods()
    return DONE


# ------------------------------------------------------------------------------ what they share
def check_table(data: Path) -> None:
    """Refuse a table that cannot be read."""
    if data != STANDARD_INPUT:
        open_table(data, ReadingSettings())


def check_output(run: Run) -> None:
    """Refuse the folder and the format for the results before the work begins."""
    if run.table_format == "xlsx":
        required("xlsxwriter")
    check_folder(run.folder, run.output.data, force=run.output.force)


def _read(path: Path, settings: TableSettings, display: Display) -> tuple[Table, float]:
    """The table, and the seconds it took."""
    display(f"Reading {path.name}")
    started = perf_counter()
    table: Table = read_table(path, settings)
    return replace(table, sha256=checksum(path)), round(perf_counter() - started, 3)


def _check_proof(run: Run) -> None:
    """Refuse a file for the proof that would hold nothing, or overwrite something."""
    proof = proof_path(run.output.proof)
    if not run.settings.certify:
        raise InputError(
            f"{setting('proof')} needs {setting('certify')}: without it there is nothing to write."
        )
    if not proof.parent.is_dir():
        raise InputError(f"{setting('proof')}: there is no folder {str(proof.parent)!r}.")
    if proof.resolve() == run.output.data.resolve():
        raise InputError(f"{setting('proof')} would overwrite the table {shown(str(proof))}.")
    if proof.exists() and not run.output.force:
        raise InputError(
            f"{setting('proof')}: there is a file {shown(str(proof))} already: choose another, or "
            f"overwrite it with {setting('force')}."
        )


def _streams(path: Path) -> bool:
    """Whether the table is too large for memory, and read in blocks."""
    small = not path.is_file() or path.stat().st_size < _LARGE_FILE
    return not small and should_stream(path)


def _read_holdout(path: Path, table: Table) -> Loaded:
    """The table that the selection is scored on; refused here, before the work, if it cannot be."""
    if path.resolve() == table.path.resolve():
        raise InputError(f"{setting('holdout')} must be another table than the one selected from.")
    reading = table.reading if path.suffix == ".xlsx" else replace(table.reading, sheet=None)
    holdout = open_table(path, reading)
    if table.reading.drop_missing_target and {*table.target.names} <= {*holdout.target_names}:
        holdout = holdout.with_targets(table.target.names)
    is_classes = table.task == "classification"
    check_targets(holdout, table.target.names, table.target.classes if is_classes else None)
    return holdout


def _in_effect(options: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """The options with what took effect where they leave it open, and without what did not."""
    chosen = {name: value for name, value in options.items() if value is not None}
    known = {name: value for name, value in settings.items() if value is not None}
    if chosen.get("task") == "auto":
        chosen["task"] = known["task"]
    return {"command": chosen.pop("command"), "date": known["date"]} | known | chosen


def _write_report(folder: Path, run: Run, kind: str, result: object) -> list[Path]:
    """Write the report and its charts, if they are wanted, and the settings of the run."""
    texts = {SETTINGS_FILE: settings_text(run)}
    if run.output.report:
        try:
            report.require_extra()
            texts = {"report.html": getattr(report, f"{kind}_page")(result), **texts}
        except ImportError as error:
            complain(f"report.html is not written. {error}")
    for name, text in texts.items():
        writing.write_text(folder / name, text)
    written = [folder / name for name in texts]
    if run.output.figures:
        written.append(folder / "figures")
        written[-1].mkdir()
        for chart in getattr(report, f"{kind}_charts")(result):
            writing.write_text(written[-1] / f"{chart.name}.svg", chart.file())
    return written


# --------------------------------------------------------------------------------- standard input
# How files begin; all others are text.
_SUFFIXES = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"MATLAB": ".mat",
    b"\x89HDF": ".h5ad",
}


@contextmanager
def input_file(data: Path) -> Iterator[Path]:
    """The file that holds the table: for ``-`` a temporary one with what standard input holds."""
    if data != STANDARD_INPUT:
        yield data
        return
    if sys.stdin.isatty():
        raise InputError(
            "The table is to come from standard input, and that is a terminal: pipe it in, as in "
            "'zcat genes.csv.gz | rowsparse select - -t diagnosis -k 20'."
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        yield path.rename(path.with_suffix(_suffix(path)))


def _suffix(path: Path) -> str:
    """The suffix that the format of a file has."""
    with path.open("rb") as stream:
        head = stream.read(8)
    if head.startswith(b"PK"):
        try:
            with ZipFile(path) as archive:
                is_excel = any(name.startswith("xl/") for name in archive.namelist())
        except BadZipFile:
            is_excel = False
        return ".xlsx" if is_excel else ".npz"
    found = (suffix for start, suffix in _SUFFIXES.items() if head.startswith(start))
    return next(found, ".csv")


# ----------------------------------------------------------------------------------------- progress
# Seconds between two plain lines, and before the first.
_SECONDS_BETWEEN = 10.0


class Display:
    """A spinner, what is being done, a bar where the share is known, and the seconds so far.

    Where standard error is no terminal, a plain line tells the step every ten seconds, if it is
    another one. Nothing is shown with ``quiet``.
    """

    def __init__(self, *, quiet: bool, check: Callable[[], None] = lambda: None) -> None:
        self.quiet, self.check = quiet, check
        self._progress: Any = None
        self._task: Any = None
        self._started = self._told = perf_counter()
        self._line = ""

    def __enter__(self) -> Self:
        if self.quiet:
            return self
        from rich.console import Console

        console = Console(stderr=True)
        if console.is_terminal:
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
            from rich.progress import TimeElapsedColumn as Elapsed

            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
            bar = BarColumn(bar_width=20)
            self._progress = Progress(*columns, bar, Elapsed(), console=console, transient=True)
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def __call__(self, step: str, share: float | None = None) -> None:
        """Show what is being done, and which share of it is done."""
        self.check()
        if self._progress is None:
            if not self.quiet:
                self._tell(step if share is None else f"{step}, {100 * share:.0f} %")
            return
        total = None if share is None else 1.0
        if self._task is None:
            self._task = self._progress.add_task(step, total=total)
        self._progress.update(self._task, description=step, total=total, completed=share or 0.0)

    def _tell(self, line: str) -> None:
        """Write a plain line, not too often."""
        now = perf_counter()
        if now - self._told < _SECONDS_BETWEEN or line == self._line:
            return
        self._told, self._line = now, line
        complain(f"{now - self._started:6.0f} s  {line}")
