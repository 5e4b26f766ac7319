"""Options of the commands as settings of the workflow, and settings as flags of the commands."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal

from rowsparse.workflow.messages import InputError, Message, setting, shown
from rowsparse.workflow.settings import (
    CompareSettings,
    PathSettings,
    SelectSettings,
    TableSettings,
)

if TYPE_CHECKING:
    from pathlib import Path

    from rowsparse.cli.options import (
        CompareOptions,
        PathOptions,
        ReadingOptions,
        SelectOptions,
        TableOptions,
    )

__all__ = [
    "as_typed",
    "compare_settings",
    "flag",
    "path_settings",
    "reading_settings",
    "select_settings",
    "table_settings",
    "translated",
    "with_flags",
]

# What is called at the command line otherwise than in Python, apart from dashes.
_FLAGS = {
    "k": "-k",
    "image_shape": "--image",
    "n_jobs": "--jobs",
    "list_selectors": "rowsparse methods",
}

# Parameters of selectors that their messages name, and the settings that they come from.
_PARAMETERS = {
    "n_features_to_select": "k",
    "loss": "loss",
    "alpha": "alpha",
    "clip": "clip",
    "certify": "certify",
    "k_max": "k_max",
    "time_limit": "time_limit",
    "random_state": "seed",
    "n_jobs": "n_jobs",
}


# -------------------------------------------------------------------------- settings as flags
def flag(setting: str) -> str:
    """What a setting is called at the command line.

    >>> flag("k_max"), flag("image_shape")
    ('--k-max', '--image')
    """
    return _FLAGS.get(setting, "--" + setting.replace("_", "-"))


def with_flags(message: str) -> str:
    """A sentence of the workflow with settings as flags.

    >>> with_flags(Message(f"{setting('image_shape', (2, 3))} has 6 pixels."))
    '--image 2x3 has 6 pixels.'
    """
    return message.spelled(_typed) if isinstance(message, Message) else message


def translated(sentence: str) -> str:
    """A sentence of a selector, which names parameters, with flags in their place.

    Not for sentences with names of columns, which may look like parameters.

    >>> translated("certify=True proves nothing with alpha=0: take alpha > 0.")
    '--certify proves nothing with --alpha 0: take --alpha above 0.'
    """
    for parameter, name in _PARAMETERS.items():
        sentence = re.sub(rf"\b{parameter}=True\b", flag(name), sentence)
        sentence = re.sub(rf"\b{parameter}=(?=\w)", f"{flag(name)} ", sentence)
        sentence = re.sub(rf"\b{parameter} > ", f"{flag(name)} above ", sentence)
    return sentence


def as_typed(warning: str) -> str:
    """A warning of the workflow or of a selector, with flags."""
    return with_flags(warning) if isinstance(warning, Message) else translated(warning)


def _typed(setting: str, value: Any) -> str:
    """A setting as it is typed, with its value if it has one."""
    if value is None:
        return flag(setting)
    word = "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
    # Only after "=" may a value begin with a dash.
    return f"{flag(setting)}{'=' if word.startswith('-') else ' '}{shlex.quote(word)}"


# ------------------------------------------------------------------------ options as settings
def reading_settings(options: ReadingOptions) -> TableSettings:
    """How the cells of a table are read; its columns may be anything."""
    return TableSettings(
        na_values=options.na_values,
        transpose=options.transpose,
        query=options.query,
        labels=None if options.labels is None else str(options.labels),
        by=options.by,
    )


def table_settings(options: TableOptions, *, keep_all: bool = False) -> TableSettings:
    """How the table is read."""
    return replace(
        reading_settings(options),
        target=options.target,
        drop=options.drop,
        drop_missing_target=options.drop_missing_target,
        impute=options.impute and str(options.impute),
        groups_column=options.groups_column,
        task=str(options.task),
        keep_all=keep_all,
    )


def select_settings(options: SelectOptions) -> SelectSettings:
    """What ``rowsparse select`` asks for."""
    if options.stream and options.transform:
        raise InputError(
            f"{setting('transform')} needs the whole table in memory: leave out "
            f"{setting('stream')}."
        )
    if options.proof:
        _check_proof(options, options.proof)
    return SelectSettings(
        **_same_names(SelectSettings, options),
        k=_count(options.k),
        image_shape=_image_shape(options.image),
    )


def _check_proof(options: SelectOptions, proof: Path) -> None:
    """Refuse a file for the proof that would hold nothing, or overwrite something."""
    from rowsparse.certificate.proof import proof_path

    proof = proof_path(proof)
    if not options.certify:
        raise InputError(
            f"{setting('proof')} needs {setting('certify')}: without it there is nothing to write."
        )
    if not proof.parent.is_dir():
        raise InputError(f"{setting('proof')}: there is no folder {str(proof.parent)!r}.")
    if proof.resolve() == options.data.resolve():
        raise InputError(f"{setting('proof')} would overwrite the table {shown(str(proof))}.")
    if proof.exists() and not options.force:
        raise InputError(
            f"{setting('proof')}: there is a file {shown(str(proof))} already: choose another, or "
            f"overwrite it with {setting('force')}."
        )


def compare_settings(options: CompareOptions) -> CompareSettings:
    """What ``rowsparse compare`` asks for."""
    methods = None if options.methods is None else _parts(options.methods)
    return CompareSettings(
        **_same_names(CompareSettings, options), k=_counts(options.k), methods=methods
    )


def path_settings(options: PathOptions) -> PathSettings:
    """What ``rowsparse path`` asks for."""
    return PathSettings(**_same_names(PathSettings, options))


def _same_names(kind: type, options: TableOptions) -> dict[str, Any]:
    """The options that are settings of that kind as they are."""
    parsed = ("k", "methods")
    names = [field.name for field in fields(kind) if field.name not in parsed]
    shared = {name: getattr(options, name) for name in names if hasattr(options, name)}
    return shared | {"n_jobs": options.jobs}


def _count(text: str) -> int | Literal["auto"]:
    """The number of features, or "auto"."""
    if text.strip().lower() == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise InputError(
            f"{setting('k')} must be a whole number or 'auto'; got {shown(text)}."
        ) from None


def _counts(text: str) -> tuple[int, ...]:
    """Numbers of features with commas between."""
    try:
        counts = sorted({int(part) for part in _parts(text)})
    except ValueError:
        counts = []
    if not counts:
        raise InputError(f"{setting('k')} must be whole numbers, as in 5,10,20; got {shown(text)}.")
    return tuple(counts)


def _parts(text: str) -> tuple[str, ...]:
    """What stands between commas, each once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _image_shape(text: str | None) -> tuple[int, int] | None:
    """Height and width, as in "28x28"."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+)\s*[x×,]\s*(\d+)\s*", text)
    if match is None or 0 in (int(match[1]), int(match[2])):
        raise InputError(
            f"{setting('image_shape')} must be height x width, as in 28x28; got {shown(text)}."
        )
    return int(match[1]), int(match[2])
