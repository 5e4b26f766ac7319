"""Options as a record that repeats the command."""

from __future__ import annotations

import gzip
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rowsparse.cli.options import PathOptions, SelectOptions
from rowsparse.selectors.topk.losses import DEFAULT_ALPHAS, DEFAULT_RESTARTS

from .commands import QUICK, invoke, result_of, select


def test_default_folder_is_named_after_the_table(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data.parent)
    packed = data.parent / "my.table.csv.gz"
    packed.write_bytes(gzip.compress(data.read_bytes()))
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


def test_the_record_has_every_option_and_the_command_those_that_are_set() -> None:
    options = SelectOptions(
        data=Path("my table.csv"), k="3", certify=True, proof=Path("p.npz"), alpha=-1.0, quiet=True
    )
    record = options.record
    assert record["command"] == (
        "rowsparse select 'my table.csv' -k 3 --method topk --certify --proof p.npz --alpha=-1.0 "
        "--k-max 30 --task auto --cv 5 --repeats 1 --seed 0 --quiet"
    )
    assert record["proof"] == "p.npz"
    assert record["impute"] is None
    assert not {"out", "report", "quiet", "debug"} & set(record)


@pytest.mark.parametrize(
    ("name", "folder"), [("a.b.csv", "a.b-path"), ("a.csv.gz", "a-path"), ("plain", "plain-path")]
)
def test_the_folder_is_named_after_the_table(name: str, folder: str) -> None:
    assert PathOptions(data=Path("somewhere") / name).folder == Path(folder)
    assert PathOptions(data=Path(name), out=Path("x")).folder == Path("x")


def test_settings_are_those_that_took_effect(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data.parent)
    done = invoke("select", data, "-t", "outcome", "-k", "2", "--certify", "-q", "--no-report")
    assert done.exit_code == 0, done.output
    result = result_of(Path("table-select"))
    settings = result["settings"]
    assert None not in settings.values()
    assert (settings["loss"], settings["alpha"]) == ("logistic", DEFAULT_ALPHAS["logistic"])
    assert settings["n_restarts"] == DEFAULT_RESTARTS["logistic"]
    assert settings["time_limit"] == 10.0
    assert settings["stability"] == 20
    assert settings["task"] == "classification"
    assert result["command"].endswith("--seed 0 --no-report --quiet")
    assert abs(datetime.now(UTC) - datetime.fromisoformat(result["date"])) < timedelta(minutes=5)
    assert invoke("path", data, "-t", "outcome", "--k-max", "2", "--out", "here").exit_code == 0
    along = result_of(Path("here"))
    assert along["settings"]["alpha"] == DEFAULT_ALPHAS["logistic"]
    assert "time_limit" not in along["settings"]
    assert along["command"].endswith("--out here")
    assert invoke("compare", data, "-t", "outcome", "-k", "2", "--cv", "2", "-q").exit_code == 0
    assert result_of(Path("table-compare"))["settings"]["methods"][0] == "topk"
