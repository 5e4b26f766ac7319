"""The options of the commands on a table."""

import shlex
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from rowsparse.cli import completion
from rowsparse.cli.parameters import (
    Adjust,
    Alpha,
    By,
    Clip,
    Data,
    Debug,
    Drop,
    DropMissingTarget,
    Exclude,
    Figures,
    Folds,
    Force,
    Format,
    GroupsColumn,
    Impute,
    Include,
    Jobs,
    Json,
    KMax,
    Labels,
    LossName,
    Metric,
    NaValues,
    Out,
    Query,
    Quiet,
    Repeats,
    Report,
    Seed,
    Settings,
    TableFormat,
    Target,
    TargetKind,
    Task,
    Transpose,
)
from rowsparse.cli.standard_input import STANDARD_INPUT

__all__ = [
    "ApplyOptions",
    "CompareOptions",
    "PathOptions",
    "ReadingOptions",
    "SelectOptions",
    "TableOptions",
]

# Options that say where and how results are shown, not what they are: part of the command only.
_NOT_SETTINGS = (
    "settings",
    "out",
    "format",
    "force",
    "figures",
    "report",
    "json",
    "quiet",
    "debug",
)


def _default_folder(table: Path, command: str) -> Path:
    """The folder for the results of a command on a table, if none is given."""
    if table == STANDARD_INPUT:
        return Path(f"stdin-{command}")
    stem = table.name.removesuffix(".gz").rpartition(".")[0] or table.name
    return Path(f"{stem}-{command}")


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Options of every command that reads a table and writes a folder."""

    command: ClassVar[str]
    data: Data
    na_values: NaValues = None
    transpose: Transpose = False
    query: Query = None
    labels: Labels = None
    by: By = None
    out: Out = None
    format: Format = None
    force: Force = False
    json: Json = False
    quiet: Quiet = False
    debug: Debug = False

    @property
    def table_format(self) -> str:
        """What tables are written as."""
        return str(self.format or TableFormat.csv)

    @property
    def folder(self) -> Path:
        """Where the results go."""
        if self.out is not None:
            return self.out
        return _default_folder(self.data, self.command)

    @classmethod
    def in_order(cls) -> list[str]:
        """The names of the options: table and target, those of this command, those of all."""
        every = [field.name for field in fields(cls)]
        inherited = {field.name for field in fields(cls.__base__)}  # type: ignore[arg-type]
        parts = (
            ("result", "data", "target"),
            [name for name in every if name not in inherited],
            [name for name in every if name not in _NOT_SETTINGS],
            _NOT_SETTINGS,
        )
        return list(dict.fromkeys(name for part in parts for name in part if name in every))


@dataclass(frozen=True, kw_only=True)
class ApplyOptions(ReadingOptions):
    """Reduce another table to the selected columns, or predict it."""

    command: ClassVar[str] = "apply"
    result: Annotated[
        Path,
        typer.Argument(
            help="The folder that 'rowsparse select' wrote, or its model.json.", show_default=False
        ),
    ]
    predict: Annotated[
        bool, typer.Option("--predict", help="Write predictions instead of the reduced table.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class TableOptions(ReadingOptions):
    """Options of the commands that select from a table."""

    target: Target = None
    adjust: Adjust = None
    drop: Drop = None
    drop_missing_target: DropMissingTarget = False
    impute: Impute = None
    task: Task = TargetKind.auto
    groups_column: GroupsColumn = None
    cv: Folds = 5
    repeats: Repeats = 1
    metric: Metric = None
    seed: Seed = 0
    jobs: Jobs = None
    figures: Figures = False
    settings: Settings = None
    report: Report = True

    @property
    def record(self) -> dict[str, Any]:
        """All that it takes to repeat the command; kept in the result."""
        from rowsparse.cli.settings import flag

        words = ["rowsparse", self.command, str(self.data)]
        chosen: dict[str, Any] = {}
        for option in self.in_order():
            if option in ("data", "settings"):
                continue
            value = getattr(self, option)
            if option not in _NOT_SETTINGS:
                chosen[option] = str(value) if isinstance(value, StrEnum | Path) else value
            if option == "report":
                words += [] if value else ["--no-report"]
            elif value is True:
                words.append(flag(option))
            elif value is not None and value is not False:
                text = str(value)
                # Only after "=" may a value begin with a dash.
                name = flag(option)
                words += [f"{name}={text}"] if text.startswith("-") else [name, text]
        return {"command": shlex.join(words), "data": str(self.data), **chosen}


@dataclass(frozen=True, kw_only=True)
class SelectOptions(TableOptions):
    """Pick the k features of a table that serve the prediction together."""

    command: ClassVar[str] = "select"
    k: Annotated[
        str,
        typer.Option(
            "-k", help="Number of features, or 'auto': by cross-validation.", show_default=False
        ),
    ]
    method: Annotated[
        str, typer.Option(help="See 'rowsparse methods'.", autocompletion=completion.methods)
    ] = "topk"
    certify: Annotated[
        bool, typer.Option("--certify", help="Prove how close to the best choice it is.")
    ] = False
    proof: Annotated[
        Path | None,
        typer.Option(
            help="File for the proof of --certify, step by step; see 'rowsparse verify'.",
            show_default=False,
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for search and proof; 10 with --certify.", show_default=False),
    ] = None
    loss: LossName = None
    alpha: Alpha = None
    clip: Clip = None
    include: Include = None
    exclude: Exclude = None
    k_max: KMax = 30
    stability: Annotated[
        int | None,
        typer.Option(
            help="Subsamples for the selection frequencies; 0 for none. By default 20, or 5 of a "
            "large table.",
            show_default=False,
        ),
    ] = None
    image: Annotated[
        str | None,
        typer.Option(
            help="The columns are pixels, as in 28x28 (height x width).", show_default=False
        ),
    ] = None
    holdout: Annotated[
        Path | None,
        typer.Option(
            help="Another table, to score the selection on; no part of it is used before.",
            show_default=False,
        ),
    ] = None
    transform: Annotated[bool, typer.Option("--transform", help="Write the reduced table too.")] = (
        False
    )
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="Read the Parquet file in blocks; one that takes more than a quarter of memory "
            "always is.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class CompareOptions(TableOptions):
    """Judge several methods on samples that took no part in the selection."""

    command: ClassVar[str] = "compare"
    k: Annotated[
        str, typer.Option("-k", help="Numbers of features, as in 5,10,20.", show_default=False)
    ]
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, as in topk,rfs,relieff, or 'all'; see 'rowsparse methods'.",
            show_default=False,
            autocompletion=completion.several_methods,
        ),
    ] = None
    loss: LossName = None


@dataclass(frozen=True, kw_only=True)
class PathOptions(TableOptions):
    """Show the best features for every k, and what each further one is worth."""

    command: ClassVar[str] = "path"
    k_max: KMax = 30
    loss: LossName = None
    alpha: Alpha = None
    clip: Clip = None
    include: Include = None
    exclude: Exclude = None
