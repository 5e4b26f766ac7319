"""Single options that refuse or take over values by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from .commands import invoke


@pytest.mark.parametrize("command", ["select", "compare", "path", "apply"])
def test_an_empty_folder_is_refused_by_every_command(data: Path, command: str) -> None:
    more = ("-k", "2") if command in ("select", "compare") else ()
    more = (data,) if command == "apply" else more
    done = invoke(command, data, *more, "--out", " ")
    assert done.exit_code == 2
    assert "name a folder, as in --out results" in done.stderr


def test_values_of_a_settings_file_are_checked_as_if_typed(data: Path) -> None:
    file = data.with_name("s.toml")
    file.write_text(f'data = "{data}"\nk = 2\ncv = "many"\n')
    done = invoke("select", "--settings", file)
    assert done.exit_code == 2
    assert "'--cv'" in done.stderr
    assert "integer" in done.stderr
