"""The command line: commands only parse, call and print.

Heavy imports stand inside the functions, so that ``rowsparse --help`` answers at once.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer
    from rich.table import Table

    from rowsparse.demo import DigitsDemo

__all__ = ["build_app", "main"]

_BAD_INPUT = 2
_INTERRUPTED = 130


def main() -> None:
    """Run the command line; the entry point of the ``rowsparse`` command."""
    try:
        app = build_app()
    except ImportError:
        _complain('The command line needs typer and rich: pip install "rowsparse[cli]".')
        raise SystemExit(_BAD_INPUT) from None
    app()


def build_app() -> "typer.Typer":
    """Make the typer application.

    Returns
    -------
    typer.Typer
        The application, with all its commands.
    """
    import typer

    app = typer.Typer(
        name="rowsparse",
        help="Pick exactly k features, for classes, labels or numbers.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            from rowsparse import __version__

            typer.echo(f"rowsparse {__version__}")
            raise typer.Exit

    @app.callback()
    def root(
        version: Annotated[
            bool,
            typer.Option(
                "--version", help="Show the version and exit.", callback=show_version, is_eager=True
            ),
        ] = False,
    ) -> None:
        """Pick exactly k features, for classes, labels or numbers."""

    @app.command()
    def demo(
        out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo"),
        k: Annotated[int, typer.Option("-k", help="Number of pixels to pick, 1 to 64.")] = 10,
    ) -> None:
        """Pick k of the 64 pixels of the handwritten digits with every method."""
        raise typer.Exit(_interruptible_demo(out, k))

    return app


def _interruptible_demo(out: Path, k: int) -> int:
    """Run the demo; Ctrl-C ends it quietly with the customary exit code."""
    try:
        return _run_demo(out, k)
    except KeyboardInterrupt:
        _complain("Interrupted.")
        return _INTERRUPTED


def _run_demo(out: Path, k: int) -> int:
    """Check the input, run the demo, print the table and write the picture."""
    from rich.console import Console

    from rowsparse.demo import check_k, run_digits
    from rowsparse.report import require_matplotlib, save_digits_figure

    try:
        check_k(k)
        require_matplotlib()
        _prepare_folder(out)
    except (ValueError, ImportError, OSError) as error:
        _complain(_sentence(error))
        return _BAD_INPUT

    with Console(stderr=True).status("Loading the digits") as status:
        result = run_digits(k, progress=lambda name: status.update(f"Picking pixels: {name}"))
    console = Console()
    console.print(_table(result))
    picture = out / "digits.png"
    try:
        save_digits_figure(result, picture)
    except OSError as error:
        _complain(_sentence(error))
        return _BAD_INPUT
    console.print(f"Picture: {picture}", soft_wrap=True, markup=False, highlight=False)
    return 0


def _prepare_folder(out: Path) -> None:
    """Make the folder and try to write in it, before any time is spent."""
    from tempfile import TemporaryFile

    out.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=out):
        pass


def _sentence(error: Exception) -> str:
    """Put an error in one sentence."""
    if isinstance(error, OSError):
        return f"Cannot write to {str(error.filename2 or error.filename)!r}: {error.strerror}."
    return str(error)


def _complain(sentence: str) -> None:
    """Write a sentence on standard error."""
    sys.stderr.write(f"{sentence}\n")


def _table(result: "DigitsDemo") -> "Table":
    """Lay the rows out as a table for the terminal."""
    from rich.table import Table

    table = Table(title=f"{result.k} of 64 pixels of the handwritten digits", title_justify="left")
    table.add_column("Method", style="bold", no_wrap=True)
    table.add_column("Paper", no_wrap=True)
    for heading in ("Selected", "Seconds", "Objective", "Accuracy, %"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in result.rows:
        if not row.paper:
            table.add_section()
        table.add_row(
            row.method,
            row.paper,
            str(row.n_selected),
            "" if row.seconds is None else f"{row.seconds:.3f}",
            f"{row.objective:.1f}",
            f"{100 * row.accuracy:.1f} ± {100 * row.accuracy_sd:.1f}",
        )
    table.caption = (
        "Objective: squared error of least squares refitted on the pixels. "
        "Accuracy: linear SVM, 5 folds, pixels picked inside each fold."
    )
    table.caption_justify = "left"
    return table


if __name__ == "__main__":
    main()
