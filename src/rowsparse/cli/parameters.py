"""The single options of the commands, as typer reads them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rowsparse.cli import completion

__all__ = [
    "Adjust",
    "Alpha",
    "By",
    "Clip",
    "Data",
    "Debug",
    "Drop",
    "DropMissingTarget",
    "Exclude",
    "Figures",
    "Folds",
    "Force",
    "Format",
    "GroupsColumn",
    "Impute",
    "ImputeMethod",
    "Include",
    "Jobs",
    "Json",
    "KMax",
    "Labels",
    "LossName",
    "Metric",
    "NaValues",
    "Out",
    "Query",
    "Quiet",
    "Repeats",
    "Report",
    "Seed",
    "Settings",
    "TableFormat",
    "Target",
    "TargetKind",
    "Task",
    "Transpose",
]


class TargetKind(StrEnum):
    """What the target holds."""

    auto = "auto"
    classification = "classification"
    multilabel = "multilabel"
    regression = "regression"


class LossChoice(StrEnum):
    """What TopK minimises."""

    auto = "auto"
    squared = "squared"
    l21 = "l21"
    logistic = "logistic"


class ImputeMethod(StrEnum):
    """What replaces a missing value."""

    median = "median"
    mean = "mean"
    most_frequent = "most_frequent"


class TableFormat(StrEnum):
    """What tables are written as."""

    csv = "csv"
    xlsx = "xlsx"


Data = Annotated[
    Path,
    typer.Argument(
        help="The table: .csv, .tsv (also .gz), .xlsx, .parquet, .arrow, .feather, .npz, .mat, "
        ".h5ad or .sqlite; - for standard input.",
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
        autocompletion=completion.several_columns,
    ),
]
Drop = Annotated[
    str | None,
    typer.Option(
        help="Columns to leave out.", show_default=False, autocompletion=completion.several_columns
    ),
]
DropMissingTarget = Annotated[
    bool,
    typer.Option("--drop-missing-target", help="Leave rows out that have no value of the target."),
]
Task = Annotated[TargetKind, typer.Option(help="What the target holds.")]
Impute = Annotated[
    ImputeMethod | None,
    typer.Option(help="Fill missing values; otherwise they are refused.", show_default=False),
]
NaValues = Annotated[
    str | None,
    typer.Option(
        help="Cells that are missing values, as in '<LOD,ND', besides NA and the like.",
        show_default=False,
    ),
]
Transpose = Annotated[
    bool,
    typer.Option("--transpose", help="The table has a row for each feature, its name first."),
]
Query = Annotated[
    str | None,
    typer.Option(
        help="SQL that makes the table, as in 'SELECT * FROM data WHERE age > 40'.",
        show_default=False,
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(help="Another file with the column to predict; see --by.", show_default=False),
]
By = Annotated[
    str | None,
    typer.Option(
        help="Column with the names of the samples, in the table and in --labels.",
        show_default=False,
        autocompletion=completion.columns,
    ),
]
Include = Annotated[
    str | None,
    typer.Option(
        help="Columns that must be selected.",
        show_default=False,
        autocompletion=completion.several_columns,
    ),
]
Exclude = Annotated[
    str | None,
    typer.Option(
        help="Columns that must not be selected.",
        show_default=False,
        autocompletion=completion.several_columns,
    ),
]
Adjust = Annotated[
    str | None,
    typer.Option(
        help="Columns in every model that do not count, as in age,sex.",
        show_default=False,
        autocompletion=completion.several_columns,
    ),
]
Alpha = Annotated[
    float | None, typer.Option(help="Weight of the ridge, per sample.", show_default=False)
]
LossName = Annotated[
    LossChoice | None,
    typer.Option(
        "--loss",
        help="What TopK minimises; auto: logistic for classes and labels, squared for numbers.",
        show_default=False,
    ),
]
Clip = Annotated[
    float | None,
    typer.Option(
        help="Limit for standardised columns, so that extreme values weigh less; try 2 for word "
        "counts.",
        show_default=False,
    ),
]
Folds = Annotated[int, typer.Option("--cv", help="Number of folds of the cross-validation.")]
Repeats = Annotated[int, typer.Option(help="How often the folds are drawn.")]
GroupsColumn = Annotated[
    str | None,
    typer.Option(
        help="Column such as the patient: rows of one value stay together in folds.",
        show_default=False,
        autocompletion=completion.columns,
    ),
]
KMax = Annotated[int, typer.Option("--k-max", help="The largest number of features to try.")]
Metric = Annotated[
    str | None,
    typer.Option(
        help="Score: accuracy, balanced_accuracy, macro_f1, auc or log_loss for classes, r2 or mae "
        "for numbers; macro_f1, accuracy or auc for labels. By default the first of them.",
        show_default=False,
        autocompletion=completion.metrics,
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of everything that is drawn.", min=0)]
Jobs = Annotated[
    int | None,
    typer.Option(help="Number of threads; the answer is the same.", min=1, show_default=False),
]


def _named_folder(text: str) -> Path:
    """A folder; an empty name would be the current one."""
    if not text.strip():
        raise typer.BadParameter("name a folder, as in --out results, or leave the option out.")
    return Path(text)


Out = Annotated[
    Path | None,
    typer.Option(
        parser=_named_folder,
        metavar="DIR",
        help="Folder for the results; named after the table if not given.",
        show_default=False,
    ),
]


def _use_settings(context: typer.Context, path: Path | None) -> Path | None:
    """Take what a settings file has for options that are not given."""
    if path is not None:
        from rowsparse.cli.settings_file import read_settings

        known = [str(parameter.name) for parameter in context.command.params]
        try:
            context.default_map = read_settings(path, str(context.info_name), known)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return path


Settings = Annotated[
    Path | None,
    typer.Option(
        callback=_use_settings,
        is_eager=True,
        help="Settings of an earlier run (settings.toml); options that are given win.",
        show_default=False,
    ),
]
Format = Annotated[
    TableFormat | None,
    typer.Option(
        help="What tables are written as: csv unless given; the reduced table as it is read.",
        show_default=False,
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Overwrite the results of an earlier run in that folder.")
]
Figures = Annotated[
    bool, typer.Option("--figures", help="Write the charts of the report as SVG files too.")
]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Write report.html.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
