"""The commands on a table: read, run, write, print."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rowsparse.cli.display import Display
from rowsparse.cli.outcome import DONE, WARNED, complain, interrupts

if TYPE_CHECKING:
    from rowsparse.workflow.table import Table

__all__ = ["Job", "run_compare", "run_path", "run_select", "run_verify"]


@dataclass(frozen=True)
class Job:
    """One command with its options."""

    name: str
    data: Path
    out: Path | None
    quiet: bool
    report: bool
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where the results go."""
        if self.out is not None:
            return self.out
        stem = self.data.name.removesuffix(".gz").rpartition(".")[0] or self.data.name
        return Path(f"{stem}-{self.name}")

    @property
    def settings(self) -> dict[str, Any]:
        """All that it takes to repeat the command."""
        return {"command": self.command, "data": str(self.data), **self.options}

    @property
    def command(self) -> str:
        """What to type to repeat it, with every option that is set."""
        words = ["rowsparse", self.name, str(self.data)]
        for name, value in self.options.items():
            flag = "-k" if name == "k" else f"--{name.replace('_', '-')}"
            if value is True:
                words.append(flag)
            elif value is not None and value is not False:
                # A value that begins with a dash is taken for an option unless joined.
                text = str(value)
                words += [f"{flag}={text}"] if text.startswith("-") else [flag, text]
        return shlex.join(words)


def run_select(job: Job) -> int:
    """``rowsparse select``."""
    from rowsparse.cli.parsing import count_of, image_of

    options = job.options
    count, image = count_of(options["k"]), image_of(options["image"])
    proof = options["proof"]
    if proof and not options["certify"]:
        raise ValueError("--proof needs --certify: without it there is nothing to write.")
    if proof and not Path(proof).parent.is_dir():
        raise ValueError(f"--proof: there is no folder {str(Path(proof).parent)!r}.")
    with _folder(job.folder), _display(job) as display:
        table, started = _read(job, display, "select", keep_all=image is not None)
        from rowsparse.workflow.select import select
        from rowsparse.workflow.writing import write_reduced, write_selection

        passed = ("method", "certify", "alpha", "include", "exclude", "cv", "stability")
        result = select(
            table,
            count,
            **{name: options[name] for name in passed},
            keep_proof=bool(proof),
            time_limit=options["time_limit"],
            k_max=options["k_max"],
            image_shape=image,
            seed=options["seed"],
            n_jobs=options["jobs"],
            settings=job.settings,
            progress=display,
        )
        result.seconds.update({"read": started, **result.seconds})
        display("Writing the results")
        page = _page(job, "selection_page", result)
        written = write_selection(job.folder, result)
        if options["transform"]:
            written.append(write_reduced(job.folder, table, result))
        if result.proof is not None:
            from rowsparse.workflow.checking import write_proof

            reading = _reading(job, keep_all=image is not None)
            proof = write_proof(Path(proof), result.proof, table, reading)
        written += _write_page(job, page)
    if not job.quiet:
        from rowsparse.cli.tables import print_selection

        print_selection(result, job.folder, written)
        if proof:
            from rowsparse.cli.tables import print_proof

            print_proof(proof, job.data)
    _say(result.warnings)
    return DONE if result.converged else WARNED


def run_verify(proof: Path, data: Path) -> int:
    """``rowsparse verify``."""
    from rowsparse.cli.tables import print_checked
    from rowsparse.workflow.checking import check_proof

    checked = check_proof(proof, data)
    print_checked(checked)
    return DONE if checked.holds else WARNED


def run_compare(job: Job) -> int:
    """``rowsparse compare``."""
    from rowsparse.cli.parsing import counts_of, names_of

    options = job.options
    counts, methods = counts_of(options["k"]), names_of(options["methods"])
    with _folder(job.folder), _display(job) as display:
        table, started = _read(job, display, "compare")
        from rowsparse.workflow.compare import compare
        from rowsparse.workflow.writing import write_comparison

        result = compare(
            table,
            counts,
            methods,
            cv=options["cv"],
            seed=options["seed"],
            n_jobs=options["jobs"],
            settings=job.settings,
            progress=display,
        )
        result.seconds.update({"read": started, **result.seconds})
        page = _page(job, "comparison_page", result)
        written = write_comparison(job.folder, result) + _write_page(job, page)
    if not job.quiet:
        from rowsparse.cli.tables import print_comparison

        print_comparison(result, job.folder, written)
    _say(result.warnings)
    return WARNED if result.warnings else DONE


def run_path(job: Job) -> int:
    """``rowsparse path``."""
    options = job.options
    with _folder(job.folder), _display(job) as display:
        table, started = _read(job, display, "path")
        from rowsparse.workflow.path import find_path
        from rowsparse.workflow.writing import write_path

        passed = ("alpha", "include", "exclude", "cv", "seed")
        result = find_path(
            table,
            options["k_max"],
            **{name: options[name] for name in passed},
            n_jobs=options["jobs"],
            settings=job.settings,
            progress=display,
        )
        result.seconds.update({"read": started, **result.seconds})
        page = _page(job, "path_page", result)
        written = write_path(job.folder, result) + _write_page(job, page)
    if not job.quiet:
        from rowsparse.cli.tables import print_path

        print_path(result, job.folder, written)
    _say(result.warnings)
    return DONE


# ------------------------------------------------------------------------------ what they share
@contextmanager
def _display(job: Job) -> Iterator[Display]:
    with interrupts() as check, Display(quiet=job.quiet, check=check) as display:
        yield display


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """The folder for the results; taken away again if nothing came of it."""
    from rowsparse.workflow.writing import prepare_folder

    new = prepare_folder(out)
    try:
        yield
    except BaseException:
        if new and not any(out.iterdir()):
            out.rmdir()
        raise


def _read(
    job: Job, display: Display, workflow: str, *, keep_all: bool = False
) -> tuple[Table, float]:
    """The table, and the seconds it took; meanwhile threads load what comes next."""
    from dataclasses import replace

    from rowsparse.workflow.loading import checksum
    from rowsparse.workflow.table import read_table

    display(f"Reading {job.data.name}")
    started = perf_counter()
    found: list[str] = []
    helpers = [
        threading.Thread(target=_quietly, args=(call,), daemon=True)
        for call in (
            lambda: import_module(f"rowsparse.workflow.{workflow}"),
            lambda: found.append(checksum(job.data)),
        )
    ]
    for helper in helpers:
        helper.start()
    try:
        table = read_table(job.data, **_reading(job, keep_all=keep_all))
    finally:
        for helper in helpers:
            helper.join()
    table = replace(table, sha256=found[0])
    return table, round(perf_counter() - started, 3)


def _reading(job: Job, *, keep_all: bool) -> dict[str, Any]:
    """How the table is read."""
    asked = {name: job.options[name] for name in ("target", "drop", "impute", "task")}
    return {**asked, "keep_all": keep_all}


def _quietly(call: Callable[[], object]) -> None:
    """What fails here fails again where it is used, and is told there."""
    try:
        call()
    except Exception:
        return


def _page(job: Job, function: str, result: Any) -> str | None:
    """The report as a page of HTML, or None if it is not wanted or cannot be made."""
    if not job.report:
        return None
    from rowsparse import report

    try:
        report.require_extra()
    except ImportError as error:
        complain(f"report.html is not written. {error}")
        return None
    page: str = getattr(report, function)(result)
    return page


def _write_page(job: Job, page: str | None) -> list[Path]:
    from rowsparse.workflow.writing import write_text

    if page is None:
        return []
    path = job.folder / "report.html"
    write_text(path, page)
    return [path]


def _say(warnings: tuple[str, ...]) -> None:
    from rowsparse.cli.tables import plain

    for sentence in warnings:
        complain(f"Note: {plain(sentence, 400)}")
