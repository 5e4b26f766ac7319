"""The commands and their options, built from the declarations of their settings."""

from __future__ import annotations

import gc
import json
import os
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, Signature
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, cast, get_type_hints

import typer

from rowsparse._parameters import OneOf
from rowsparse.cli.outcome import ended
from rowsparse.workflow.messages import InputError, setting, shown
from rowsparse.workflow.settings import (
    CompareSettings,
    Option,
    PathSettings,
    ReadingSettings,
    SelectSettings,
    Settings,
    TableSettings,
    option,
)

# What stands for standard input in the place of a file.
STANDARD_INPUT = Path("-")
# Name of the file in the folder of a run.
SETTINGS_FILE = "settings.toml"
_PANELS = ("Table", "Model", "Scores", "Results", "Experts")


def _named_folder(text: str) -> Path:
    """A folder; an empty name would be the current one."""
    if not text.strip():
        raise InputError(
            f"{setting('out')}: name a folder, as in {setting('out', 'results')}, or leave the "
            "option out."
        )
    return Path(text)


# ------------------------------------------------------------------------- where results go
@dataclass(frozen=True, kw_only=True)
class Command(Settings):
    """What every command has."""

    debug: bool = option("Show the traceback of an error.", False, panel="Experts")


@dataclass(frozen=True, kw_only=True)
class Output(Command):
    """Where the table is, and where and how results are shown."""

    data: Path = option(
        "The table: .csv, .tsv (also .gz), .xlsx, .parquet, .arrow, .feather, .npz, .mat or .h5ad; "
        "- for standard input.",
        MISSING,
        is_argument=True,
        is_path=True,
    )
    out: Path | None = option(
        "Folder for the results; named after the table if not given.",
        panel="Results",
        parse=_named_folder,
    )
    format: str | None = option(
        "What tables are written as: csv unless given; the reduced table as it is read.",
        panel="Results",
        allowed=OneOf(("csv", "xlsx")),
    )
    force: bool = option(
        "Overwrite the results of an earlier run in that folder.", False, panel="Results"
    )
    json: bool = option("Print the result as JSON, and nothing else.", False, panel="Results")
    quiet: bool = option("No progress and no table.", False, panel="Results", short="-q")


@dataclass(frozen=True, kw_only=True)
class ApplyOutput(Output):
    """Options of ``apply`` alone."""

    result: Path = option(
        "The folder that 'rowsparse select' wrote, or its model.json.", MISSING, is_argument=True
    )
    predict: bool = option(
        "Write predictions instead of the reduced table.", False, panel="Results"
    )


@dataclass(frozen=True, kw_only=True)
class TableOutput(Output):
    """Options of the commands that select from a table."""

    figures: bool = option(
        "Write the charts of the report as SVG files too.", False, panel="Results"
    )
    report: bool = option("Write report.html.", True, panel="Results")
    settings: Path | None = option(
        "Settings of an earlier run (settings.toml); options that are given win.", panel="Experts"
    )


@dataclass(frozen=True, kw_only=True)
class SelectOutput(TableOutput):
    """Options of ``select`` alone."""

    proof: Path | None = option(
        "File for the proof of --certify, step by step; see 'rowsparse verify'.",
        panel="Results",
        is_path=True,
    )
    holdout: Path | None = option(
        "Another table, to score the selection on; no part of it is used before.",
        panel="Scores",
        is_path=True,
    )
    transform: bool = option("Write the reduced table too.", False, panel="Results")


@dataclass(frozen=True, kw_only=True)
class VerifyOutput(Command):
    """Options of ``verify``."""

    proof: Path = option("What 'rowsparse select --proof' wrote.", MISSING, is_argument=True)
    data: Path = option(
        "The table, in any format; - for standard input.", MISSING, is_argument=True
    )
    exact: bool = option("Compute in exact arithmetic, which takes longer.", False, panel="Results")


# Options that say where and how results are shown, not what they are: part of the command only.
_NOT_SETTINGS = frozenset(
    ("settings", "out", "format", "force", "figures", "report", "json", "quiet", "debug")
)
# Options of one run that another one need not have.
_NOT_REPEATED = frozenset(("settings", "out", "force", "json", "quiet", "debug"))


@dataclass(frozen=True)
class Run:
    """One call of a command: what was typed, and the settings that it makes.

    ``given`` has every option, as typed or by default, in the order of the help; ``made`` how the
    table is read, what is asked of it, and where results go, as far as the command has options of
    these kinds.
    """

    command: str
    given: dict[str, Any]
    declared: dict[str, Option]
    made: tuple[Any, ...]

    @property
    def reading(self) -> Any:
        """How the table is read."""
        return self.made[0]

    @property
    def settings(self) -> Any:
        """What is asked of the table."""
        return self.made[1]

    @property
    def output(self) -> Any:
        """Where results go."""
        return self.made[-1]

    @property
    def folder(self) -> Path:
        """Where the results go."""
        if self.output.out is not None:
            return Path(self.output.out)
        table = self.output.data
        stem = table.name.removesuffix(".gz").rpartition(".")[0] or table.name
        return Path(f"{'stdin' if table == STANDARD_INPUT else stem}-{self.command}")

    @property
    def table_format(self) -> str:
        """What tables are written as."""
        return str(self.output.format or "csv")

    @property
    def record(self) -> dict[str, Any]:
        """All that it takes to repeat the command; kept in the result."""
        words = ["rowsparse", self.command, str(self.output.data)]
        chosen: dict[str, Any] = {}
        for name, value in self.given.items():
            if name in ("data", "settings"):
                continue
            if name not in _NOT_SETTINGS:
                chosen[name] = str(value) if isinstance(value, Path) else value
            if name == "report":
                words += [] if value else ["--no-report"]
            elif value is not None and value is not False:
                words += shlex.split(setting(name, None if value is True else value))
        return {"command": shlex.join(words), "data": str(self.output.data), **chosen}


# ------------------------------------------------------------------------------- the commands
def _run_by(name: str) -> Callable[[Run], int]:
    """What runs a command: a function of a module that is imported when it is called."""

    def run(call: Run) -> int:
        return int(_command(name)(call))

    return run


def _command(name: str) -> Callable[..., Any]:
    """A function of the module that has what the commands do."""
    with _light_imports():
        module = import_module("rowsparse.cli.table_commands")
    # No collection looks at what was imported.
    gc.freeze()
    return cast(Callable[..., Any], getattr(module, name))


# What scikit-learn imports and no command needs, as a rule: with the names that it takes
# from it. pandas, which takes as long as scikit-learn, is there for data frames only.
_HIDDEN = "pandas"
_LATER = {
    "scipy.stats": ("chi2", "gmean", "rankdata", "spearmanr"),
}


@contextmanager
def _light_imports() -> Iterator[None]:
    """Import scikit-learn in less time: what it imports and hardly uses waits for its use.

    Whatever asks for these modules afterwards can import them.
    """
    modules = cast(dict[str, Any], sys.modules)
    if "sklearn" in modules:
        yield
        return
    made: dict[str, Any] = {} if _HIDDEN in modules else {_HIDDEN: None}
    made |= {name: _later(name, taken) for name, taken in _LATER.items() if name not in modules}
    for name, module in made.items():
        modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
    try:
        yield
    finally:
        for name, module in made.items():
            if modules.get(name) is module:
                _forget(name)


def _forget(name: str) -> None:
    """Let the next import of a module find it again."""
    parent, _, child = name.rpartition(".")
    sys.modules.pop(name, None)
    if parent:
        vars(sys.modules[parent]).pop(child, None)


def _later(name: str, taken: Sequence[str]) -> ModuleType:
    """What stands for a module until something of it is used, with the names that others take."""
    module, spec = ModuleType(name), find_spec(name)

    def find(part: str) -> Any:
        if part.startswith("__"):
            raise AttributeError(part)
        if sys.modules.get(name) is module:
            _forget(name)
        return getattr(import_module(name), part)

    vars(module).update({part: _Later(partial(find, part)) for part in taken})
    vars(module).update({"__path__": spec and spec.submodule_search_locations, "__getattr__": find})
    return module


class _Later:
    """What is found when it is called, or when something of it is asked for."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self._find = find

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._find()(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._find(), name)


# What runs each command, what it does, and the settings that it has.
_COMMANDS: dict[str, tuple[Callable[[Run], int], str, tuple[type[Settings], ...]]] = {
    "select": (
        _run_by("run_table"),
        "Pick the k features of a table that serve the prediction together.",
        (TableSettings, SelectSettings, SelectOutput),
    ),
    "apply": (
        _run_by("run_apply"),
        "Reduce another table to the selected columns, or predict it.",
        (ReadingSettings, ApplyOutput),
    ),
    "compare": (
        _run_by("run_table"),
        "Judge several methods on samples that took no part in the selection.",
        (TableSettings, CompareSettings, TableOutput),
    ),
    "path": (
        _run_by("run_table"),
        "Show the best features for every k, and what each further one is worth.",
        (TableSettings, PathSettings, TableOutput),
    ),
    "verify": (
        _run_by("run_verify"),
        "Check a proof against its table, without trusting the search that made it.",
        (VerifyOutput,),
    ),
    "methods": (_run_by("run_methods"), "List the methods.", (Command,)),
}


def make_app() -> typer.Typer:
    """The application with all its commands."""
    app = typer.Typer(
        name="rowsparse",
        help=root.__doc__,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    app.callback()(root)
    for name, declared in _COMMANDS.items():
        app.command(name)(_made(name, *declared))
    return app


def _show_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        from rowsparse import __version__

        typer.echo(f"rowsparse {__version__}")
        raise typer.Exit


_VERSION = typer.Option(
    "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
)


def root(version: Annotated[bool, _VERSION] = False) -> None:
    """Pick exactly k features, for classes, labels, numbers, counts or survival times."""


def _made(
    name: str, run: Callable[[Run], int], help: str, kinds: tuple[type[Settings], ...]
) -> Callable[..., None]:
    """A command for typer, with the options of some kinds of settings."""
    declared = _declared(kinds)
    needed = [one for kind in kinds for one in fields(kind) if one.default is MISSING]  # type: ignore[arg-type]
    required = [one.name for one in needed if not declared[one.name][0].is_argument]

    def command(**given: Any) -> None:
        def parsed() -> Run:
            for missing in (it for it in required if given[it] is None):
                _command("check_table")(given["data"])
                raise InputError(f"{setting(missing)} is missing: {declared[missing][0].help}")
            values = {
                it: of.parse(given[it]) if of.parse and given[it] is not None else given[it]
                for it, (of, _) in declared.items()
            }
            made = tuple(kind.taken(values) for kind in kinds)
            return Run(name, given, {it: of for it, (of, _) in declared.items()}, made)

        raise typer.Exit(ended(lambda: run(parsed()), debug=given["debug"]))

    command.__doc__ = help
    # typer reads the parameters from it
    command.__dict__["__signature__"] = Signature([it for _, it in declared.values()])
    return command


def _declared(kinds: Sequence[type[Settings]]) -> dict[str, tuple[Option, Parameter]]:
    """The options of some kinds of settings, by name, in the order of the help."""
    found: dict[str, tuple[Option, Parameter]] = {}
    for kind in kinds:
        hints = get_type_hints(kind)
        for one in fields(kind):  # type: ignore[arg-type]
            declared = one.metadata.get("option")
            if declared is not None:
                found[one.name] = declared, _parameter(one, declared, hints[one.name])
    first = ("result", "data", "target", "k")

    def place(name: str) -> tuple[int, int]:
        declared = found[name][0]
        other = -1 if declared.is_argument else len(first)
        at = first.index(name) if name in first else other
        return at, _PANELS.index(declared.panel)

    return {name: found[name] for name in sorted(found, key=place)}


def _help(one: Any, declared: Option) -> str:
    """What an option is, what it may be, and whether it may be left out."""
    allowed = declared.allowed.options if isinstance(declared.allowed, OneOf) else ()
    kinds = f" One of {', '.join(map(str, allowed))}." if allowed else ""
    return declared.help + kinds + (" Required." if one.default is MISSING else "")


def _parameter(one: Any, declared: Option, hint: Any) -> Parameter:
    default = None if one.default is MISSING else one.default
    if declared.is_argument:
        info: Any = typer.Argument(help=declared.help, show_default=False)
        default = Parameter.empty
    else:
        flag = setting(one.name)
        flags = [f"{flag}/--no-{one.name}" if default is True else flag]
        flags += [declared.short] if declared.short and declared.short != flag else []
        eager: dict[str, Any] = {"callback": _use_settings, "is_eager": True}
        info = typer.Option(
            *flags,
            help=_help(one, declared),
            show_default=default is not None and default is not False,
            rich_help_panel=declared.panel,
            **(eager if one.name == "settings" else {}),
        )
        hint = hint if declared.parse is None else str
        hint = hint | None if default is None else hint
    return Parameter(
        one.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, info]
    )


# ------------------------------------------------------------------------ settings in a file
def settings_text(run: Run) -> str:
    """The options of a run, as TOML; files are named from the folder of the results."""
    lines = [
        f"# To repeat the run: rowsparse {run.command} --settings {SETTINGS_FILE} --out FOLDER",
        f"command = {_toml(run.command)}",
    ]
    for name, value in run.given.items():
        if value is not None and name not in _NOT_REPEATED:
            if run.declared[name].is_path and value != STANDARD_INPUT:
                value = _from_folder(Path(value), run.folder)
            lines.append(f"{name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _from_folder(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive
        return str(path.absolute())


def _toml(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return repr(value).lower()
    # The escapes of JSON are those of TOML, except for the character 127.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _use_settings(context: typer.Context, path: Path | None) -> Path | None:
    """Take what a settings file has for options that are not given."""
    if path is not None:
        try:
            context.default_map = read_settings(path, str(context.info_name))
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return path


def read_settings(path: Path, command: str) -> dict[str, Any]:
    """The options in a settings file for a command, by name.

    A ValueError has a sentence on what is wrong with the file.
    """
    name = shown(str(path))
    declared = {it: of for it, (of, _) in _declared(_COMMANDS[command][2]).items()}
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ValueError(f"cannot read {name}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(f"{name} is not TOML: {reason}.") from None
    meant = record.pop("command", command)
    if meant != command:
        raise ValueError(f"{name} is for 'rowsparse {meant}', not for 'rowsparse {command}'.")
    found = {}
    for key, value in record.items():
        option_name = key.replace("-", "_")
        if option_name not in declared or option_name == "settings":
            close = get_close_matches(option_name, declared, n=1)
            hint = f"did you mean {shown(close[0])}?" if close else f"see {command} --help."
            raise ValueError(f"{name}: there is no setting {shown(key)}; {hint}")
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, str | int | float) for part in parts):
            raise ValueError(
                f"{name}: {shown(key)} must be text, a number, true or false, or a list of such."
            )
        plain = ",".join(map(str, value)) if isinstance(value, list) else value
        is_file = declared[option_name].is_path and plain != str(STANDARD_INPUT)
        found[option_name] = os.path.normpath(path.parent / str(plain)) if is_file else plain
    return found
