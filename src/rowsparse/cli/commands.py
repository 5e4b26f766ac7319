"""The commands."""

from collections.abc import Callable
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from rowsparse.cli.apply_command import run_apply
from rowsparse.cli.options import (
    ApplyOptions,
    CompareOptions,
    PathOptions,
    ReadingOptions,
    SelectOptions,
)
from rowsparse.cli.outcome import ended
from rowsparse.cli.parameters import Data, Debug
from rowsparse.cli.table_commands import run_compare, run_path, run_select, run_verify

__all__ = ["make_app"]

Options = TypeVar("Options", bound=ReadingOptions)


def make_app() -> typer.Typer:
    """The application with all its commands."""
    app = typer.Typer(
        name="rowsparse",
        help="Pick exactly k features, for classes, labels or numbers.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(root)
    app.command("select")(on_table(SelectOptions, run_select))
    app.command("apply")(on_table(ApplyOptions, run_apply))
    app.command("diff")(diff)
    app.command()(verify)
    app.command("compare")(on_table(CompareOptions, run_compare))
    app.command("path")(on_table(PathOptions, run_path))
    for command in (methods, datasets, demo):
        app.command()(command)
    return app


def on_table(options: type[Options], run: Callable[[Options], int]) -> Callable[..., None]:
    """A command whose parameters are the fields of a class of options."""

    def command(**given: Any) -> None:
        raise typer.Exit(ended(lambda: run(options(**given)), debug=given["debug"]))

    command.__doc__ = options.__doc__
    parameters = signature(options).parameters
    # typer reads the parameters from it
    command.__dict__["__signature__"] = Signature([parameters[it] for it in options.in_order()])
    return command


def show_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        from rowsparse import __version__

        typer.echo(f"rowsparse {__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Pick exactly k features, for classes, labels or numbers."""


def verify(
    proof: Annotated[
        Path,
        typer.Argument(help="What 'rowsparse select --proof' wrote.", show_default=False),
    ],
    data: Data,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Compute in exact arithmetic, which takes longer."),
    ] = False,
    debug: Debug = False,
) -> None:
    """Check a proof against its table, without trusting the search that made it."""
    raise typer.Exit(ended(lambda: run_verify(proof, data, exact=exact), debug=debug))


def diff(
    first: Annotated[
        Path,
        typer.Argument(help="A folder that 'rowsparse select' wrote.", show_default=False),
    ],
    second: Annotated[Path, typer.Argument(help="Another one.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File for a page of HTML.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite that file.")] = False,
    debug: Debug = False,
) -> None:
    """Compare two selections: their settings, features and scores."""
    from rowsparse.cli.diff_command import run_diff

    raise typer.Exit(ended(lambda: run_diff(first, second, out=out, force=force), debug=debug))


def methods(debug: Debug = False) -> None:
    """List the methods."""
    from rowsparse.cli.listings import list_methods

    raise typer.Exit(ended(list_methods, debug=debug))


def datasets(debug: Debug = False) -> None:
    """List the benchmark data sets."""
    from rowsparse.cli.listings import list_sets

    raise typer.Exit(ended(list_sets, debug=debug))


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo"),
    k: Annotated[int, typer.Option("-k", help="Number of pixels to pick, 1 to 64.")] = 10,
    debug: Debug = False,
) -> None:
    """Pick k of the 64 pixels of the handwritten digits with every method."""
    from rowsparse.cli.demo import run_demo

    raise typer.Exit(ended(lambda: run_demo(out, k), debug=debug))
