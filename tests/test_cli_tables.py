"""The commands on tables: exit codes, files whole or absent, sentences without tracebacks."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from rowsparse import cli, list_selectors, report
from rowsparse.cli.display import Display
from rowsparse.cli.outcome import ended, interrupts
from rowsparse.cli.tables import plain

HOSTILE = ["<script>alert(1)</script>", 'a"b', "new\nline", "\x1b[31mred", "[bold]x[/bold]", "🧬"]
QUICK = ("--stability", "0", "--cv", "2")


def frame() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    outcome = np.array(["healthy", "ill"])[(X[:, 1] + X[:, 4] - X[:, 6] > 0).astype(int)]
    columns = {f"f{j}": X[:, j] for j in range(8)}
    return pl.DataFrame({"sample": [f"s{i}" for i in range(60)], **columns, "outcome": outcome})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    frame().write_csv(path)
    return path


def invoke(*arguments: object) -> Any:
    words = [str(word) for word in arguments]
    return CliRunner().invoke(cli.build_app(), words, env={"COLUMNS": "120"})


def select(data: Path, *more: object, out: Path | None = None) -> Any:
    folder = data.parent / "out" if out is None else out
    return invoke("select", data, "-t", "outcome", "-k", "3", "--out", folder, *QUICK, *more)


def result_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


# -------------------------------------------------------------------------------------- select
def test_select_prints_and_writes(data: Path) -> None:
    done = invoke("select", data, "--target", "outcome", "-k", 3, "--out", data.parent / "out")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    for word in ("Rank", "Feature", "Score", "Selected in", "Speaks for", "f1", "f4", "f6"):
        assert word in done.stdout
    assert "right on" in done.stdout
    assert "'sample'" in done.stdout
    out = data.parent / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "features.csv",
        "report.html",
        "result.json",
    ]
    assert (out / "report.html").read_text(encoding="utf-8").lower().startswith("<!doctype html")


def test_features_csv_and_result_json(data: Path) -> None:
    assert select(data, "--stability", 4).exit_code == 0
    out = data.parent / "out"
    with (out / "features.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    result = result_of(out)
    assert [row["feature"] for row in rows] == [f["name"] for f in result["features"]]
    assert {row["feature"] for row in rows} == {"f1", "f4", "f6"}
    assert float(rows[0]["score"]) == result["features"][0]["score"]
    assert rows[0]["coefficient of ill"]
    import hashlib

    assert result["data"]["sha256"] == hashlib.sha256(data.read_bytes()).hexdigest()
    assert set(result["versions"]) == {"python", "rowsparse", "numpy", "scipy", "scikit-learn"}
    assert result["status"] == "heuristic"
    assert result["objective"] > result["lower_bound"] == 0
    assert {"read", "select", "validate"} <= set(result["seconds"])
    assert result["settings"]["seed"] == 0
    assert result["settings"]["k"] == "3"


def test_result_json_repeats_the_run(data: Path) -> None:
    more = ("--alpha", "0", "--seed", "5", "--exclude", "f0", "--include", "f2")
    assert select(data, *more).exit_code == 0
    first = result_of(data.parent / "out")
    words = shlex.split(first["command"])
    assert words[0] == "rowsparse"
    again = invoke(*words[1:], "--out", data.parent / "again")
    assert again.exit_code == 0, again.output
    second = result_of(data.parent / "again")
    for key in ("features", "objective", "score", "settings", "data", "k", "stability"):
        assert first[key] == second[key]


def test_a_proof_in_result_json(data: Path) -> None:
    assert select(data, "--certify", "--alpha", "2").exit_code == 0
    result = result_of(data.parent / "out")
    assert result["status"] == "optimal"
    assert 0 < result["lower_bound"] <= result["objective"]
    assert result["gap"] <= 1e-5


def test_k_auto_shows_the_curve(data: Path) -> None:
    done = invoke("select", data, "-t", "outcome", "-k", "auto", "--k-max", 5, "--stability", 0,
                  "--out", data.parent / "out")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "The score is highest with" in done.stdout
    assert "Note: The number of features was chosen" in done.stderr
    curve = result_of(data.parent / "out")["curve"]
    assert curve["ks"] == [1, 2, 3, 4, 5]


def test_several_targets(data: Path) -> None:
    labels = frame().with_columns(
        label_a=(pl.col("f1") > 0).cast(pl.Int8), label_b=(pl.col("f2") > 0).cast(pl.Int8)
    )
    labels.write_csv(data)
    done = invoke("select", data, "-t", "label_*", "--drop", "outcome", "-k", 2, *QUICK,
                  "--out", data.parent / "out")  # fmt: skip
    assert done.exit_code == 0, done.output
    result = result_of(data.parent / "out")
    assert result["data"]["task"] == "multilabel"
    assert result["metric"] == "macro_f1"
    assert {f["name"] for f in result["features"]} == {"f1", "f2"}


def test_default_folder_is_named_after_the_table(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data.parent)
    packed = data.parent / "my.table.csv.gz"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    assert invoke("select", packed.name, "-t", "outcome", "-k", 2, *QUICK, "-q").exit_code == 0
    assert (data.parent / "my.table-select" / "features.csv").exists()


def test_quiet_and_without_report(data: Path) -> None:
    done = select(data, "-q", "--no-report")
    assert done.exit_code == 0
    assert done.output == ""
    assert not (data.parent / "out" / "report.html").exists()


def test_without_jinja2_all_but_the_report_is_written(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rowsparse.report.files.find_spec", lambda name: None)
    done = select(data, "-q")
    assert done.exit_code == 0
    assert 'pip install "rowsparse[report]"' in done.stderr
    assert sorted(path.name for path in (data.parent / "out").iterdir()) == [
        "features.csv",
        "result.json",
    ]


def test_the_report_gets_the_result(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(report, "selection_page", lambda result: seen.append(result) or "<p>ok</p>")
    assert select(data).exit_code == 0
    assert (data.parent / "out" / "report.html").read_text() == "<p>ok</p>"
    assert seen[0].data.source == "table.csv"
    assert seen[0].settings["method"] == "topk"


def test_hostile_names_are_text(tmp_path: Path) -> None:
    names = {f"f{j}": name for j, name in enumerate(HOSTILE)}
    path = tmp_path / "table.csv"
    frame().rename(names).with_columns(
        outcome=pl.col("outcome").replace("ill", "<b>&'\"")
    ).write_csv(path)
    done = select(path, "-k", "8", "--transform")
    assert done.exit_code == 0, done.output
    assert "\x1b[31m" not in done.stdout
    assert "[bold]x[/bold]" in done.stdout
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    with (tmp_path / "out" / "features.csv").open(newline="", encoding="utf-8") as stream:
        found = {row["feature"] for row in csv.DictReader(stream)}
    assert set(HOSTILE) <= found
    with (tmp_path / "out" / "reduced.csv").open(newline="", encoding="utf-8") as stream:
        assert set(HOSTILE) <= set(next(csv.reader(stream)))


def test_long_names_are_cut_on_the_screen_only(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    frame().rename({"f1": "n" * 10_000}).write_csv(path)
    done = select(path)
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) < 400
    names = [f["name"] for f in result_of(tmp_path / "out")["features"]]
    assert "n" * 10_000 in names
    assert plain("a\tb") != "a\tb"


# ------------------------------------------------------------------------------------ transform
def test_transform_keeps_the_cells_of_a_text_file(tmp_path: Path) -> None:
    text = frame().with_columns(f1=pl.col("f1").round(3).cast(pl.String) + "00")
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(text.write_csv().encode()))
    assert select(path, "--transform").exit_code == 0
    reduced = gzip.decompress((tmp_path / "out" / "reduced.csv.gz").read_bytes()).decode()
    expected = text.select("sample", "f1", "f4", "f6", "outcome").write_csv()
    assert reduced == expected


def test_transform_of_tab_separated_text(tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    frame().write_csv(path, separator="\t")
    assert select(path, "--transform").exit_code == 0
    head = (tmp_path / "out" / "reduced.tsv").read_text().splitlines()[0]
    assert head == "sample\tf1\tf4\tf6\toutcome"


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather"])
def test_transform_of_columnar_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{suffix}"
    table = frame().with_columns(f1=pl.col("f1").cast(pl.Float32))
    table.write_parquet(path) if suffix == "parquet" else table.write_ipc(path)
    assert select(path, "--transform").exit_code == 0
    reduced = tmp_path / "out" / f"reduced.{suffix}"
    read = pl.read_parquet(reduced) if suffix == "parquet" else pl.read_ipc(reduced)
    assert read.equals(table.select("sample", "f1", "f4", "f6", "outcome"))


@pytest.mark.parametrize("suffix", ["npz", "mat"])
def test_transform_of_arrays(suffix: str, tmp_path: Path) -> None:
    from scipy.io import loadmat, savemat

    X = frame().select([f"f{j}" for j in range(8)]).to_numpy()
    y = (frame()["outcome"].to_numpy() == "ill").astype(np.int64)
    path = tmp_path / f"table.{suffix}"
    if suffix == "npz":
        np.savez(path, X=X, y=y, feature_names=np.array([f"f{j}" for j in range(8)]))
    else:
        savemat(path, {"X": X, "Y": y[:, None]})
    done = invoke("select", path, "-k", 3, *QUICK, "--transform", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    reduced = tmp_path / "out" / f"reduced.{suffix}"
    arrays = dict(np.load(reduced)) if suffix == "npz" else loadmat(reduced)
    np.testing.assert_array_equal(arrays["X"], X[:, [1, 4, 6]])
    np.testing.assert_array_equal(arrays["y" if suffix == "npz" else "Y"].ravel(), y)
    again = invoke("select", reduced, "-k", 2, *QUICK, "-q", "--out", tmp_path / "again")
    assert again.exit_code == 0, again.output


def test_transform_of_anndata(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    X = np.abs(frame().select([f"f{j}" for j in range(8)]).to_numpy()).astype(np.float32)
    cells = [f"c{i}" for i in range(60)]
    obs = pd.DataFrame({"outcome": frame()["outcome"].to_list()}, index=cells)
    var = pd.DataFrame(index=[f"f{j}" for j in range(8)])
    anndata.AnnData(X, obs=obs, var=var).write_h5ad(tmp_path / "cells.h5ad")
    done = select(tmp_path / "cells.h5ad", "--transform")
    assert done.exit_code == 0, done.output
    reduced = anndata.read_h5ad(tmp_path / "out" / "reduced.h5ad")
    assert reduced.shape == (60, 3)
    assert list(reduced.obs.columns) == ["outcome"]


def test_transform_never_overwrites_the_input(data: Path) -> None:
    path = data.rename(data.parent / "reduced.csv")
    before = path.read_bytes()
    done = select(path, "--transform", out=path.parent)
    assert done.exit_code == 2
    assert "would overwrite the input" in done.stderr
    assert path.read_bytes() == before


def test_categories_in_the_reduced_table_are_as_they_were(data: Path) -> None:
    table = frame().with_columns(
        sex=pl.when(pl.col("outcome") == "ill").then(pl.lit("m")).otherwise(pl.lit("f"))
    )
    table.write_csv(data)
    assert select(data, "--transform", "--include", "sex").exit_code == 0
    assert pl.read_csv(data.parent / "out" / "reduced.csv")["sex"].to_list() == (
        table["sex"].to_list()
    )


# ----------------------------------------------------------------------------- compare and path
def test_compare(data: Path) -> None:
    out = data.parent / "out"
    done = invoke("compare", data, "-t", "outcome", "-k", "2,3", "--methods", "topk,relieff",
                  "--cv", 2, "--out", out)  # fmt: skip
    assert done.exit_code == 0, done.output
    for word in ("TopK", "ReliefF", "Stability", "Redundancy", "Seconds", "accuracy"):
        assert word in done.stdout
    assert sorted(path.name for path in out.iterdir()) == [
        "comparison.csv",
        "report.html",
        "result.json",
    ]
    rows = pl.read_csv(out / "comparison.csv")
    assert rows.height == 2 * 2 * 2 * 2
    assert len(result_of(out)["results"]) == 4


@pytest.mark.parametrize(
    ("k", "methods", "words"),
    [
        ("two", "topk", "-k must be whole numbers, as in 5,10,20; got 'two'."),
        ("2", "nosuch", "nosuch"),
        ("99", "topk", "-k 99 is more than the 8 columns"),
        ("2", ",", "--methods must name at least one method"),
    ],
)
def test_compare_refusals(data: Path, k: str, methods: str, words: str) -> None:
    out = data.parent / "out"
    done = invoke("compare", data, "-t", "outcome", "-k", k, "--methods", methods, "--out", out)
    assert done.exit_code == 2
    assert words in done.stderr
    assert not out.exists()


def test_a_method_that_fails_is_a_warning(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rowsparse import ReliefF

    def fail(self: Any, X: Any, y: Any = None) -> None:
        raise ValueError("no neighbours")

    monkeypatch.setattr(ReliefF, "fit", fail)
    done = invoke("compare", data, "-t", "outcome", "-k", 2, "--methods", "topk,relieff",
                  "--cv", 2, "--out", data.parent / "out")  # fmt: skip
    assert done.exit_code == 1
    assert "ReliefF failed: ValueError: no neighbours." in done.stderr
    assert "failed" in done.stdout


def test_path(data: Path) -> None:
    out = data.parent / "out"
    done = invoke("path", data, "-t", "outcome", "--k-max", 4, "--cv", 2, "--out", out)
    assert done.exit_code == 0, done.output
    assert "Best score with" in done.stdout
    rows = pl.read_csv(out / "path.csv")
    assert rows["k"].to_list() == [1, 2, 3, 4]
    assert json.loads(rows["features"][2]) == ["f1", "f4", "f6"]
    assert rows["objective"].is_sorted(descending=True)
    assert (out / "report.html").exists()


# ------------------------------------------------------------------------------------- listings
def test_methods_lists_the_registry() -> None:
    done = invoke("methods")
    assert done.exit_code == 0
    for name in list_selectors():
        assert name in done.stdout
    for word in ("Kind", "Targets", "Reference", "What it does", "Xu et al. 2023", "deep ("):
        assert word in done.stdout


def test_datasets_lists_the_catalogue() -> None:
    done = invoke("datasets")
    assert done.exit_code == 0
    assert "allaml" in done.stdout
    assert "7,129" in done.stdout


def test_help_names_every_command_and_completion() -> None:
    done = invoke("--help")
    for name in (
        "select",
        "compare",
        "path",
        "methods",
        "datasets",
        "demo",
        "--install-completion",
    ):
        assert name in done.stdout
    shown = invoke("select", "--help")
    for option in ("--target", "-k", "--method", "--certify", "--alpha", "--include", "--exclude",
                   "--drop", "--cv", "--out", "--transform", "--impute", "--image"):  # fmt: skip
        assert option in shown.stdout


# ------------------------------------------------------------------------ errors and interruption
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-t", "nosuch", "-k", "2"), "there is no column 'nosuch'"),
        (("-k", "2"), "Name the column to predict with --target"),
        (("-t", "outcome", "-k", "many"), "-k must be a whole number or 'auto'; got 'many'."),
        (("-t", "outcome", "-k", "99"), "-k 99 is more than the 8 columns"),
        (("-t", "outcome", "-k", "2", "--image", "big"), "--image must be height x width"),
        (("-t", "outcome", "-k", "2", "--image", "5x5"), "--image 5x5 has 25 pixels"),
        (("-t", "outcome", "-k", "2", "--method", "topl"), "did you mean"),
        (("-t", "outcome", "-k", "2", "--alpha", "-1"), "alpha must be a number of at least 0"),
        (("-t", "outcome", "-k", "2", "--cv", "1"), "--cv must be between"),
        (("-t", "outcome", "-k", "2", "--drop", "f*"), "No column is left"),
    ],
)
def test_wrong_input_is_one_sentence(data: Path, arguments: tuple[str, ...], words: str) -> None:
    out = data.parent / "out"
    done = invoke("select", data, *arguments, "--out", out)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert not out.exists(), "a folder for nothing"


@pytest.mark.parametrize("arguments", [("-k", "2", "--task", "guess"), ("--nosuch",), ()])
def test_unknown_options(data: Path, arguments: tuple[str, ...]) -> None:
    done = invoke("select", data, *arguments)
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_files_that_are_not_there_or_wrong(tmp_path: Path) -> None:
    for name, content in (("no.csv", None), ("a.xlsx", b"PK"), ("e.csv", b"")):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        done = select(tmp_path / name)
        assert done.exit_code == 2
        assert done.stderr.count("\n") == 1


def test_out_that_cannot_be_a_folder(data: Path) -> None:
    done = select(data, out=data / "deeper")
    assert done.exit_code == 2
    assert done.stderr.startswith("Cannot write to ")


def test_debug_shows_the_traceback(data: Path) -> None:
    done = invoke("select", data, "-k", "2", "--debug", "--out", data.parent / "out")
    assert done.exit_code != 0
    assert isinstance(done.exception, ValueError)


def test_not_converged_is_exit_code_1(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from rowsparse import ReliefF

    fit = ReliefF.fit

    def restless(self: Any, X: Any, y: Any = None) -> Any:
        warnings.warn("ReliefF did not converge.", ConvergenceWarning, stacklevel=2)
        return fit(self, X, y)

    monkeypatch.setattr(ReliefF, "fit", restless)
    done = select(data, "--method", "relieff")
    assert done.exit_code == 1
    assert "Note: ReliefF did not converge." in done.stderr
    assert result_of(data.parent / "out")["converged"] is False


def test_errors_nobody_thought_of_are_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise RuntimeError("the roof\nis on fire")

    assert ended(fail) == 2
    assert capsys.readouterr().err == "RuntimeError: the roof; --debug shows where.\n"
    with pytest.raises(RuntimeError):
        ended(fail, debug=True)


def test_interrupt_leaves_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(result: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "selection_page", stop)
    done = select(data)
    assert done.exit_code == 130
    assert done.stderr == "Interrupted.\n"
    assert not (data.parent / "out").exists()


def test_interrupt_keeps_what_was_there_before(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert select(data).exit_code == 0
    out = data.parent / "out"
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def stop(text: str, path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rowsparse._files.Path.replace", stop)
    assert select(data, "--seed", "3").exit_code == 130
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_an_interrupt_that_a_search_took_for_itself_still_counts() -> None:
    with interrupts() as check:
        check()
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:
            pass  # as a search does that returns the best so far
        with pytest.raises(KeyboardInterrupt):
            check()


def test_ctrl_c_on_the_process(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 400))
    np.savez(tmp_path / "hard.npz", X=X, y=rng.integers(0, 3, 60))
    command = [
        sys.executable, "-m", "rowsparse", "select", str(tmp_path / "hard.npz"), "-k", "15",
        "--certify", "--time-limit", "300", "--alpha", "0.05", "--out", str(tmp_path / "out"),
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "out").exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert (out, err) == ("", "Interrupted.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hard.npz"]


# ------------------------------------------------------------------------------------- progress
def test_progress_is_shown_to_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    with Display(quiet=False) as display:
        display("Reading", 0.5)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    with Display(quiet=False) as display:
        display("Reading [the] table", 0.5)
        display("Selecting")
    assert "Selecting" in capsys.readouterr().err
    with Display(quiet=True) as display:
        display("Reading", 0.5)
    assert capsys.readouterr().err == ""
