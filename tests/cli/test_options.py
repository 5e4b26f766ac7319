"""Every option is declared once: typed, in settings.toml, in result.json and in messages."""

from __future__ import annotations

import gzip
import re
import shlex
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowsparse.cli.commands import Output, Run, _declared, read_settings, settings_text
from rowsparse.selectors.topk.loss_defaults import DEFAULTS
from rowsparse.workflow.settings import CompareSettings, TableSettings

from .commands import COMMANDS, QUICK, invoke, options_of, parsed, result_of, select


def test_the_help_of_a_command_has_all_its_options_in_groups() -> None:
    for command in COMMANDS:
        text = invoke(command, "--help").stdout
        assert options_of(command) <= set(text.split())
        panels = re.findall(r"─ (\w+) ─", text)
        assert panels == [it for it in ("Arguments", "Options", *panels[2:]) if it in panels]
        assert {"Table", "Results"} <= set(panels)
    words = invoke("select", "--help").stdout
    assert "Experts" in words.partition("--transform")[2], "what few need comes last"


def test_the_help_says_what_an_option_may_be_and_which_ones_are_needed() -> None:
    text = " ".join(re.sub("[│\n]", " ", invoke("select", "--help").stdout).split())
    assert "What the target holds. One of auto, classification, multilabel" in text
    assert text.count("Required.") == 1
    assert "by cross-validation. Required." in text


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("{table}", "-k is missing: Number of features, or 'auto': by cross-validation."),
        ("{folder}", "is a folder, not a file: it has the tables 'table.csv'."),
        ("nosuch.csv", "There is no file 'nosuch.csv'."),
        ("-", "-k is missing: Number of features, or 'auto': by cross-validation."),
    ],
)
def test_what_is_wrong_with_the_table_comes_before_a_missing_option(
    tmp_path: Path, table: str, expected: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    done = invoke("select", table.format(table=path, folder=tmp_path))
    assert (done.exit_code, done.output.strip()[-len(expected) :]) == (2, expected)


@pytest.mark.parametrize("arguments", [("-k", "2", "--task", "guess"), ("--nosuch",), ()])
def test_unknown_options(data: Path, arguments: tuple[str, ...]) -> None:
    done = invoke("select", data, *arguments)
    assert done.exit_code == 2
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("select", "-k", "Auto"), {"k": "auto", "metric": None}),
        (("select", "-k", "3", "--certify", "--jobs", "2"), {"certify": True, "n_jobs": 2, "k": 3}),
        (("select", "-k", "3", "--certify", "--alternatives", "2.5%"), {"alternatives": 0.025}),
        (("select", "-k", "3", "--certify", "--alternatives", ".1"), {"alternatives": 0.1}),
        (("compare", "-k", "5,1, 5", "--methods", "a, b,a,"), {"k": (1, 5), "methods": ("a", "b")}),
        (("path", "--k-max", "4", "--include", "x"), {"k_max": 4, "include": "x", "cv": 5}),
    ],
)
def test_what_is_typed_becomes_settings(
    words: tuple[str, ...], expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = parsed(monkeypatch, words[0], "a.csv", "-t", "y", *words[1:])
    assert {name: getattr(run.settings, name) for name in expected} == expected
    assert run.reading == TableSettings(target="y")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("-k many", "-k must be a whole number or 'auto'; got 'many'."),
        ("-k 0", "-k must be an integer of at least 1, or 'auto'; got 0."),
        ("-k auto --cv 0", "-k auto needs cross-validation: --cv must be at least 2."),
        ("-k 2 --proof p", "--proof needs --certify: without it there is nothing to write."),
        ("-k 2 --certify --proof no/p", "--proof: there is no folder 'no'."),
        ("-k 2 --alternatives 1%", "--alternatives needs --certify: a list is complete where"),
        ("-k 2 --certify --alternatives few", "--alternatives must be a percentage, as in 1%;"),
        ("-k 2 --certify --alternatives 1%5", "--alternatives must be a percentage, as in 1%;"),
        ("-k 2 --certify --alternatives 1", "--alternatives must be a number of at least 0"),
        ("-k 2 --certify --alternatives 1% --loss l21", "--alternatives lists nothing for"),
        ("-k 2 --out ' '", "--out: name a folder, as in --out results, or leave the option out."),
        ("-k 2 --seed 4294967296", "--seed must be an integer of at least 0 and below"),
    ],
)
def test_refusals(data: Path, words: str, sentence: str) -> None:
    done = invoke("select", data, "-t", "outcome", *shlex.split(words))
    assert done.exit_code == 2
    assert done.stderr.startswith(sentence)


# -------------------------------------------------------------------------------- the record
def test_the_folder_is_named_after_the_table(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, folder in (("a.b.csv", "a.b-path"), ("a.csv.gz", "a-path"), ("plain", "plain-path")):
        assert parsed(monkeypatch, "path", f"somewhere/{name}").folder == Path(folder)
    monkeypatch.chdir(data.parent)
    packed = data.parent / "my.table.csv.gz"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    monkeypatch.undo()
    monkeypatch.chdir(data.parent)
    assert invoke("select", packed.name, "-t", "outcome", "-k", 2, *QUICK, "-q").exit_code == 0
    assert (data.parent / "my.table-select" / "features.csv").exists()


def test_result_json_repeats_the_run(data: Path) -> None:
    more = ("--alpha", "0", "--clip", "1.5", "--seed", "5", "--exclude", "f0", "--include", "f2")
    assert select(data, *more).exit_code == 0
    first = result_of(data.parent / "out")
    words = shlex.split(first["command"])
    assert words[0] == "rowsparse"
    again = invoke(*words[1:], "--out", data.parent / "again")
    assert again.exit_code == 0, again.output
    second = result_of(data.parent / "again")
    for key in ("features", "objective", "score", "settings", "data", "k", "stability"):
        assert first[key] == second[key]


def test_the_record_has_every_option_and_the_command_those_that_are_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    typed = "--certify --proof p.npz --drop=-x --quiet"
    run = parsed(monkeypatch, "select", "my table.csv", "-k", "3", *typed.split())
    record = run.record
    assert shlex.split(record["command"])[:5] == ["rowsparse", "select", "my table.csv", "-k", "3"]
    assert "--drop=-x" in record["command"]
    assert record["command"].endswith("--quiet --proof p.npz --seed 0")
    assert record["proof"] == "p.npz"
    assert record["impute"] is None
    assert not {"out", "report", "quiet", "debug"} & set(record)


def test_settings_are_those_that_took_effect(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data.parent)
    done = invoke("select", data, "-t", "outcome", "-k", "2", "--certify", "-q", "--no-report")
    assert done.exit_code == 0, done.output
    result = result_of(Path("table-select"))
    settings = result["settings"]
    assert None not in settings.values()
    assert (settings["loss"], settings["alpha"]) == ("logistic", DEFAULTS["logistic"].alpha)
    assert settings["n_restarts"] == DEFAULTS["logistic"].n_restarts
    assert settings["time_limit"] == 10.0
    assert settings["stability"] == 20
    assert settings["task"] == "classification"
    assert "--no-report" in result["command"]
    assert abs(datetime.now(UTC) - datetime.fromisoformat(result["date"])) < timedelta(minutes=5)
    assert invoke("path", data, "-t", "outcome", "--k-max", "2", "--out", "here").exit_code == 0
    along = result_of(Path("here"))
    assert along["settings"]["alpha"] == DEFAULTS["logistic"].alpha
    assert "time_limit" not in along["settings"]
    assert "--out here" in along["command"]
    assert invoke("compare", data, "-t", "outcome", "-k", "2", "--cv", "2", "-q").exit_code == 0
    assert result_of(Path("table-compare"))["settings"]["methods"][0] == "topk"


# ----------------------------------------------------------------------------- settings.toml
def test_a_settings_file_repeats_a_run_from_any_folder(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = ("--seed", "5", "--exclude", "f0", "--drop", "sample", "--no-report", "--alpha", "0.5")
    monkeypatch.chdir(data.parent)
    assert select(Path(data.name), *more, out=Path("out")).exit_code == 0
    file = data.parent / "out" / "settings.toml"
    monkeypatch.chdir("/")
    again = invoke("select", "--settings", file, "--out", data.parent / "again")
    assert again.exit_code == 0, again.output
    first, second = result_of(data.parent / "out"), result_of(data.parent / "again")
    assert second["settings"].pop("data") == str(data)
    assert first["settings"].pop("data") == data.name
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
        f'data = "{data.name}"\ntarget = "outcome"\nk = 2\nk-max = 4\ndrop = ["sample", "f0"]\n'
        "cv = 2\n"
    )
    out = data.parent / "o"
    done = invoke("select", "--settings", file, "--stability", "0", "-q", "--out", out)
    assert done.exit_code == 0, done.output
    settings = result_of(out)["settings"]
    assert (settings["drop"], settings["k"], settings["k_max"]) == ("sample,f0", "2", 4)
    file.write_text(f'data = "{data.name}"\nk = 2\ncv = "many"\n')
    done = invoke("select", "--settings", file)
    assert done.exit_code == 2
    assert "'--cv'" in done.stderr
    assert "integer" in done.stderr


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
def test_refused_settings_files(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        read_settings(file, "select")
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="cannot read"):
        read_settings(tmp_path / "absent", "select")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back(text: str) -> None:
    output = Output(data=Path("-"))
    kinds = (TableSettings, CompareSettings, Output)
    declared = {name: it for name, (it, _) in _declared(kinds).items()}
    given_ = {"data": Path("-"), "target": text, "transpose": True}
    run = Run("compare", given_, declared, (TableSettings(), CompareSettings(k=(1,)), output))
    record = tomllib.loads(settings_text(run))
    assert record == {"command": "compare", "data": "-", "target": text, "transpose": True}
