"""The ``reproduce`` command: a paper's tables and figures, from the data."""

from __future__ import annotations

from pathlib import Path

from rowsparse.cli.display import Display
from rowsparse.cli.outcome import DONE, WARNED

__all__ = ["run_reproduce"]


def run_reproduce(
    name: str,
    out: Path,
    *,
    only: str | None,
    quick: bool,
    jobs: int,
    task_limit: float | None,
    retry: bool,
    rebuild: bool,
    quiet: bool,
) -> int:
    """Run what is not done yet, keep the rows as text, and write the page."""
    from rowsparse.experiments import get_paper
    from rowsparse.experiments.pages import write_page
    from rowsparse.experiments.runner import Progress, run_paper
    from rowsparse.experiments.store import ResultStore, read_rows
    from rowsparse.workflow.writing import prepare_folder

    paper = get_paper(name)
    size = paper.quick if quick else paper.standard
    paper.chosen(only)
    prepare_folder(out)
    rows_file = out / f"{name}{'-quick' if quick else ''}.{paper.rows_format}"
    failed = 0
    if not rebuild:
        with Display(quiet=quiet) as display, ResultStore(out / f"{name}.db", size.name) as store:

            def show(at: Progress) -> None:
                left = f"{at.seconds_left / 60:.0f} min left"
                display(f"{at.done} of {at.total} ({left}): {at.last[:60]}", at.done / at.total)

            if retry:
                store.forget_failures()
            failed = run_paper(
                paper, store, size, only=only, n_jobs=jobs, time_limit=task_limit, progress=show
            )
            store.write_text(rows_file, [e.name for e in paper.experiments])
    if not rows_file.exists():
        raise ValueError(f"There is no {str(rows_file)!r} to rebuild the page from.")
    try:
        page = write_page(paper, read_rows(rows_file), out)
    except KeyError as error:
        raise ValueError(
            f"{str(rows_file)!r} has rows without {error}: run the command without --rebuild, "
            "which writes it anew."
        ) from error
    if not quiet:
        print(f"Rows: {rows_file}\nPage: {page}")
        if failed:
            print(f"{failed} tasks failed; their rows say why, and --retry tries them again.")
    return WARNED if failed else DONE
