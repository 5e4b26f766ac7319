"""The commands and their options."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rowsparse.cli.outcome import ended

__all__ = ["make_app"]


class Task(StrEnum):
    """What the target holds."""

    auto = "auto"
    classification = "classification"
    multilabel = "multilabel"
    regression = "regression"


class Impute(StrEnum):
    """What takes the place of a missing value."""

    median = "median"


Data = Annotated[
    Path,
    typer.Argument(
        help="The table: .csv, .tsv (also .gz), .parquet, .arrow, .feather, .npz, .mat or .h5ad.",
        show_default=False,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        help="Column to predict; several as 'a,b,c' or 'label_*'.",
        show_default=False,
    ),
]
Drop = Annotated[str | None, typer.Option(help="Columns to leave out.", show_default=False)]
TaskOption = Annotated[Task, typer.Option(help="What the target holds.")]
ImputeOption = Annotated[
    Impute | None,
    typer.Option(help="Fill missing values; otherwise they are refused.", show_default=False),
]
Include = Annotated[
    str | None, typer.Option(help="Columns that must be selected.", show_default=False)
]
Exclude = Annotated[
    str | None, typer.Option(help="Columns that must not be selected.", show_default=False)
]
Alpha = Annotated[
    float | None, typer.Option(help="Weight of the ridge, per sample.", show_default=False)
]
Folds = Annotated[int, typer.Option("--cv", help="Number of folds of the cross-validation.")]
KMax = Annotated[int, typer.Option("--k-max", help="The largest number of features to try.")]
Seed = Annotated[int, typer.Option(help="Seed of everything that is drawn.", min=0)]
Jobs = Annotated[
    int | None,
    typer.Option(help="Number of threads; the answer is the same.", min=1, show_default=False),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder for the results; named after the table if not given.",
                 show_default=False),
]  # fmt: skip
Report = Annotated[bool, typer.Option("--report/--no-report", help="Write report.html.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


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
    for command in (select, verify, compare, path, methods, datasets, demo):
        app.command()(command)
    return app


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


def select(
    data: Data,
    k: Annotated[
        str,
        typer.Option(
            "-k", help="Number of features, or 'auto': by cross-validation.", show_default=False
        ),
    ],
    target: Target = None,
    method: Annotated[str, typer.Option(help="See 'rowsparse methods'.")] = "topk",
    certify: Annotated[
        bool, typer.Option("--certify", help="Prove how close to the best choice it is.")
    ] = False,
    proof: Annotated[
        Path | None,
        typer.Option(
            help="File for the proof of --certify, step by step; see 'rowsparse verify'.",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for search and proof; 10 with --certify.", show_default=False),
    ] = None,
    alpha: Alpha = None,
    include: Include = None,
    exclude: Exclude = None,
    drop: Drop = None,
    impute: ImputeOption = None,
    task: TaskOption = Task.auto,
    cv: Folds = 5,
    k_max: KMax = 30,
    stability: Annotated[
        int | None,
        typer.Option(
            help="Subsamples for the selection frequencies; 0 for none. By default 20, or 5 of a "
            "large table.",
            show_default=False,
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(help="The columns are pixels, as in 28x28 (height x width).",
                     show_default=False),
    ] = None,
    transform: Annotated[
        bool, typer.Option("--transform", help="Write the reduced table too.")
    ] = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Out = None,
    report: Report = True,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Pick the k features of a table that serve the prediction together."""
    from rowsparse.cli.tasks import Job, run_select

    job = Job(
        "select", data, out, quiet=quiet, report=report,
        options={
            "target": target, "k": k, "method": method, "certify": certify,
            "proof": proof and str(proof), "time_limit": time_limit, "alpha": alpha,
            "include": include, "exclude": exclude,
            "drop": drop, "impute": impute and impute.value, "task": task.value, "cv": cv,
            "k_max": k_max, "stability": stability, "image": image, "transform": transform,
            "seed": seed, "jobs": jobs,
        },
    )  # fmt: skip
    raise typer.Exit(ended(lambda: run_select(job), debug=debug))


def verify(
    proof: Annotated[
        Path,
        typer.Argument(help="What 'rowsparse select --proof' wrote.", show_default=False),
    ],
    data: Data,
    debug: Debug = False,
) -> None:
    """Check a proof against its table, without trusting the search that made it."""
    from rowsparse.cli.tasks import run_verify

    raise typer.Exit(ended(lambda: run_verify(proof, data), debug=debug))


def compare(
    data: Data,
    k: Annotated[
        str, typer.Option("-k", help="Numbers of features, as in 5,10,20.", show_default=False)
    ],
    target: Target = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, as in topk,rfs,relieff, or 'all'; see 'rowsparse methods'.",
            show_default=False,
        ),
    ] = None,
    drop: Drop = None,
    impute: ImputeOption = None,
    task: TaskOption = Task.auto,
    cv: Folds = 5,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Out = None,
    report: Report = True,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Judge several methods on samples that took no part in the selection."""
    from rowsparse.cli.tasks import Job, run_compare

    job = Job(
        "compare", data, out, quiet=quiet, report=report,
        options={
            "target": target, "k": k, "methods": methods, "drop": drop,
            "impute": impute and impute.value, "task": task.value, "cv": cv, "seed": seed,
            "jobs": jobs,
        },
    )  # fmt: skip
    raise typer.Exit(ended(lambda: run_compare(job), debug=debug))


def path(
    data: Data,
    target: Target = None,
    k_max: KMax = 30,
    alpha: Alpha = None,
    include: Include = None,
    exclude: Exclude = None,
    drop: Drop = None,
    impute: ImputeOption = None,
    task: TaskOption = Task.auto,
    cv: Folds = 5,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Out = None,
    report: Report = True,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show the best features for every k, and what each further one is worth."""
    from rowsparse.cli.tasks import Job, run_path

    job = Job(
        "path", data, out, quiet=quiet, report=report,
        options={
            "target": target, "k_max": k_max, "alpha": alpha, "include": include,
            "exclude": exclude, "drop": drop, "impute": impute and impute.value,
            "task": task.value, "cv": cv, "seed": seed, "jobs": jobs,
        },
    )  # fmt: skip
    raise typer.Exit(ended(lambda: run_path(job), debug=debug))


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
