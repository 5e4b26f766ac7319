"""The settings of a run as a TOML file, which repeats it."""

from __future__ import annotations

import json
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowsparse.cli.options import TableOptions

__all__ = ["SETTINGS_FILE", "read_settings", "settings_text"]

# Name of the file in the folder of a run.
SETTINGS_FILE = "settings.toml"
# Options of one run that another one need not have.
_NOT_REPEATED = ("settings", "out", "force", "json", "quiet", "debug")


def settings_text(options: TableOptions) -> str:
    """The options of a run, as TOML."""
    lines = [
        f"# To repeat the run: rowsparse {options.command} --settings {SETTINGS_FILE} --out FOLDER",
        f"command = {_value(options.command)}",
    ]
    for name in options.in_order():
        value = getattr(options, name)
        if value is not None and name not in _NOT_REPEATED:
            lines.append(f"{name} = {_value(value)}")
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    # The escapes of JSON are those of TOML, but for the character 127.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def read_settings(path: Path, command: str, known: Sequence[str]) -> dict[str, Any]:
    """The options in a settings file, by name.

    Parameters
    ----------
    path : Path
    command : str
        The command that takes them; a file of another command is refused.
    known : sequence of str
        Names of the options that the command has.

    Raises
    ------
    ValueError
        With a sentence on what is wrong with the file.
    """
    from rowsparse.workflow.messages import shown

    name = shown(str(path))
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
        option = key.replace("-", "_")
        if option not in known or option == "settings":
            close = get_close_matches(option, known, n=1)
            hint = f"did you mean {shown(close[0])}?" if close else f"see {command} --help."
            raise ValueError(f"{name}: there is no setting {shown(key)}; {hint}")
        found[option] = _plain(value, f"{name}: {shown(key)}")
    return found


def _plain(value: Any, where: str) -> Any:
    """A value as it is typed; a list as its items with commas between."""
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ",".join(map(str, value))
    if not isinstance(value, str | int | float):
        raise ValueError(f"{where} must be text, a number, true or false, or a list of such.")
    return value
