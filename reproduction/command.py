"""The command ``python -m reproduction``: a paper's tables and figures, from the data."""

from pathlib import Path
from typing import Annotated

import typer

from reproduction import get_paper
from reproduction.pages import write_page
from reproduction.runner import RunProgress, run_paper
from reproduction.store import ResultStore, read_rows
from rowsparse.cli.outcome import DONE, WARNED, ended
from rowsparse.cli.table_commands import Display
from rowsparse.workflow.writing import check_writable


def make_app() -> typer.Typer:
    """The application with its one command."""
    app = typer.Typer(name="reproduction", add_completion=False, pretty_exceptions_enable=False)
    app.command()(reproduce)
    return app


def reproduce(
    paper: Annotated[str, typer.Argument(help="The paper, as nie2010.", show_default=False)],
    only: Annotated[
        str | None, typer.Option(help="A single table or figure.", show_default=False)
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A trial of a minute or two, on a page of its own.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for results and page.")] = Path(
        "docs/reproduction"
    ),
    jobs: Annotated[int, typer.Option(help="Number of processes.", min=1)] = 1,
    task_limit: Annotated[
        float | None, typer.Option(help="Seconds that one task may take.", show_default=False)
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed.")] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Write the page from kept results, run nothing.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Run a paper's experiments, or what is left of them, and write its page."""

    def run() -> int:
        failed = _run(paper, out, only, quick, jobs, task_limit, retry, rebuild, quiet)
        return WARNED if failed else DONE

    raise typer.Exit(ended(run, debug=debug))


def _run(
    name: str,
    out: Path,
    only: str | None,
    quick: bool,
    jobs: int,
    task_limit: float | None,
    retry: bool,
    rebuild: bool,
    quiet: bool,
) -> int:
    """Run what is not done yet, keep the rows as text, and write the page; how many failed."""
    paper = get_paper(name)
    size = paper.quick if quick else paper.standard
    paper.chosen(only)
    check_writable(out)
    out.mkdir(parents=True, exist_ok=True)
    rows_file = out / f"{name}{'-quick' if quick else ''}.{paper.rows_format}"
    failed = 0
    if not rebuild:
        with Display(quiet=quiet) as display, ResultStore(out / f"{name}.db", size.name) as store:

            def show(at: RunProgress) -> None:
                left = f"{at.seconds_left / 60:.0f} min left"
                display(f"{at.done} of {at.total} ({left}): {at.last[:60]}", at.done / at.total)

            if retry:
                store.forget_failures()
            run_paper(
                paper, store, size, only=only, n_jobs=jobs, time_limit=task_limit, progress=show
            )
            failed = len(store.failed())
            store.write_text(rows_file, [e.name for e in paper.experiments])
    if not rows_file.exists():
        raise ValueError(f"There is no {str(rows_file)!r} to rebuild the page from.")
    try:
        page = write_page(paper, read_rows(rows_file), out, trial=quick)
    except KeyError as error:
        raise ValueError(
            f"{str(rows_file)!r} has rows without {error}: run the command without --rebuild, "
            "which writes it anew."
        ) from error
    if not quiet:
        print(f"Rows: {rows_file}\nPage: {page}")
        if failed:
            print(f"{failed} tasks failed; their rows say why, and --retry tries them again.")
    return failed
