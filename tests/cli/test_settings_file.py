"""A settings file repeats a run; what is typed wins, and what is unknown is refused."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from rowsparse.cli.options import CompareOptions, SelectOptions
from rowsparse.cli.settings_file import read_settings, settings_text

from .commands import QUICK, invoke, result_of, select


def test_a_run_is_repeated(data: Path) -> None:
    more = ("--seed", "5", "--exclude", "f0", "--drop", "sample", "--no-report", "--alpha", "0.5")
    assert select(data, *more).exit_code == 0
    file = data.parent / "out" / "settings.toml"
    again = invoke("select", "--settings", file, "--out", data.parent / "again")
    assert again.exit_code == 0, again.output
    first, second = result_of(data.parent / "out"), result_of(data.parent / "again")
    for key in ("features", "objective", "score", "settings", "data", "k"):
        assert first[key] == second[key]
    assert not (data.parent / "again" / "report.html").exists()
    kept = (data.parent / "again" / "settings.toml").read_text()
    assert kept == file.read_text()


@pytest.mark.parametrize("words", [("compare", "-k", "2"), ("path", "--k-max", "2")])
def test_the_other_commands_too(data: Path, words: tuple[str, ...]) -> None:
    out = data.parent / "out"
    given = ("-t", "outcome", "--cv", "2", "--no-report", "-q")
    assert invoke(words[0], data, *words[1:], *given, "--out", out).exit_code == 0
    file = out / "settings.toml"
    done = invoke(words[0], "--settings", file, "--cv", "3", "-q", "--out", data.parent / "b")
    assert done.exit_code == 0, done.output
    settings = result_of(data.parent / "b")["settings"]
    assert settings == result_of(out)["settings"] | {"cv": 3}
    refused = invoke("select", "--settings", file)
    assert refused.exit_code == 2
    assert f"is for 'rowsparse {words[0]}', not for 'rowsparse select'." in " ".join(
        refused.stderr.replace("│", "").split()
    )


def test_by_hand(data: Path) -> None:
    file = data.with_name("my.toml")
    file.write_text(
        f'data = "{data}"\ntarget = "outcome"\nk = 2\nk-max = 4\ndrop = ["sample", "f0"]\ncv = 2\n'
    )
    out = data.parent / "o"
    done = invoke("select", "--settings", file, "--stability", "0", "-q", "--out", out)
    assert done.exit_code == 0, done.output
    settings = result_of(out)["settings"]
    assert (settings["drop"], settings["k"], settings["k_max"]) == ("sample,f0", "2", 4)
    other = data.parent / "p"
    done = invoke("select", data, "--settings", file, "-k", "3", *QUICK, "-q", "--out", other)
    assert done.exit_code == 0, done.output
    assert result_of(other)["k"] == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("inpute = 'median'", "there is no setting 'inpute'; did you mean 'impute'?"),
        ("settings = 'x'", "there is no setting 'settings';"),
        ("qqqqqq = 1", "there is no setting 'qqqqqq'; see select --help."),
        ("k = ", "is not TOML: "),
        ("[k]\nx = 1", "'k' must be text, a number, true or false, or a list of such."),
        ("command = 'path'", "is for 'rowsparse path', not for 'rowsparse select'."),
    ],
)
def test_refusals(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        read_settings(file, "select", SelectOptions.in_order())
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="cannot read"):
        read_settings(tmp_path / "absent", "select", [])


def test_any_text_comes_back(tmp_path: Path) -> None:
    hostile = 'a"b\\c\n\t\x7f\x00é=[x]#'
    options = CompareOptions(data=Path(hostile), k="1,2", target=hostile, transpose=True)
    record = tomllib.loads(settings_text(options))
    assert record["target"] == record["data"] == hostile
    assert record["transpose"] is True
    assert "out" not in record
