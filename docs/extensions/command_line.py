"""The directive ``command-line``: every command with its arguments and options, from the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from rowsparse.cli import build_app


def plain(text: str) -> str:
    """Text in which Markdown sees no markup."""
    return re.sub(r"([\\`*_<>|\[\]])", r"\\\1", text)


def row(parameter: Any) -> str:
    flags = [*parameter.opts, *parameter.secondary_opts]
    names = [flag if flag.startswith("-") else flag.upper() for flag in flags]
    default = parameter.default
    shown = default.value if isinstance(default, Enum) else default
    named = "" if shown is None or isinstance(shown, bool) else f"`{shown}`"
    return f"| {', '.join(f'`{name}`' for name in names)} | {plain(parameter.help)} | {named} |"


def markdown() -> Iterator[str]:
    commands: dict[str, Any] = vars(get_command(build_app()))["commands"]
    for name, command in commands.items():
        yield f"\n## rowsparse {name}\n\n{plain(command.help)}\n"
        yield "| Argument or option | What it is | Default |\n|---|---|---|"
        yield from (row(parameter) for parameter in command.params)


class CommandLine(SphinxDirective):  # type: ignore[misc]
    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # the sources may have changed
        return self.parse_text_to_nodes("\n".join(markdown()), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
