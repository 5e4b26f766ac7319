"""The commands on tables: exit codes, files whole or absent, sentences without tracebacks."""

from __future__ import annotations

import csv
import hashlib
import json
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning

from rowsparse import ReliefF, report
from rowsparse.workflow.loading import read_excel
from rowsparse.workflow.model import SavedModel

from .commands import QUICK, call, frame, invoke, result_of, select

FILES = ["features.csv", "model.json", "report.html", "result.json", "settings.toml"]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -------------------------------------------------------------------------------------- select
def test_select_prints_and_writes(data: Path) -> None:
    out = data.parent / "out"
    done = call(f"select {data} --target outcome -k 3 --out {out}")
    assert done.stderr == ""
    for word in ("Rank", "Feature", "Score", "Selected in", "FDR", "By itself", "f1", "f4", "f6"):
        assert word in done.stdout
    assert "right on" in done.stdout
    assert "'sample'" in done.stdout
    assert names_in(out) == FILES
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
    assert result["data"]["sha256"] == hashlib.sha256(data.read_bytes()).hexdigest()
    assert set(result["versions"]) == {"python", "rowsparse", "numpy", "scipy", "scikit-learn"}
    assert result["status"] == "heuristic"
    assert result["objective"] > result["lower_bound"] == 0
    assert {"read", "select", "validate"} <= set(result["seconds"])
    assert (result["settings"]["seed"], result["settings"]["k"]) == (0, "3")


def test_a_proof_in_result_json(data: Path) -> None:
    assert select(data, "--certify", "--alpha", "2").exit_code == 0
    result = result_of(data.parent / "out")
    assert result["status"] == "optimal"
    assert 0 < result["lower_bound"] <= result["objective"]
    assert result["gap"] <= 1e-5


def test_k_auto_shows_the_curve(data: Path) -> None:
    out = data.parent / "out"
    done = call(f"select {data} -t outcome -k auto --k-max 5 --stability 0 --out {out}")
    assert "The score is highest with" in done.stdout
    assert result_of(out)["curve"]["ks"] == [1, 2, 3, 4, 5]


def test_several_targets(data: Path) -> None:
    labels = {f"label_{j}": (pl.col(f"f{j}") > 0).cast(pl.Int8) for j in (1, 2)}
    frame().with_columns(**labels).write_csv(data)
    assert select(data, "-t", "label_*", "--drop", "outcome", "-k", 2).exit_code == 0
    result = result_of(data.parent / "out")
    assert (result["data"]["task"], result["metric"]) == ("multilabel", "macro_f1")
    assert {f["name"] for f in result["features"]} == {"f1", "f2"}


def test_quiet_and_without_report(data: Path) -> None:
    done = select(data, "-q", "--no-report")
    assert (done.exit_code, done.output) == (0, "")
    assert not (data.parent / "out" / "report.html").exists()


def test_without_jinja2_all_but_the_report_is_written(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rowsparse.report.page.find_spec", lambda name: None)
    done = select(data, "-q")
    assert done.exit_code == 0
    assert 'pip install "rowsparse[report]"' in done.stderr
    assert names_in(data.parent / "out") == [name for name in FILES if name != "report.html"]


def test_the_report_gets_the_result(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(report, "selection_page", lambda result: seen.append(result) or "<p>ok</p>")
    assert select(data).exit_code == 0
    assert (data.parent / "out" / "report.html").read_text() == "<p>ok</p>"
    assert seen[0].data.source == "table.csv"
    assert seen[0].settings["method"] == "topk"


def test_a_second_run_needs_force(data: Path) -> None:
    out = data.parent / "out"
    assert select(data, "--no-report").exit_code == 0
    before = (out / "result.json").read_bytes()
    done = select(data)
    assert done.exit_code == 2
    assert "has the results of an earlier run: choose another with --out, or" in done.stderr
    assert "--force" in done.stderr
    assert (out / "result.json").read_bytes() == before
    assert select(data, "--seed", 3, "--force").exit_code == 0
    assert result_of(out)["settings"]["seed"] == 3


def test_a_holdout_is_scored_by_the_saved_model(data: Path) -> None:
    other = data.with_name("other.csv")
    frame().reverse().head(25).write_csv(other)
    done = select(data, "--holdout", other)
    assert done.exit_code == 0, done.output
    out = data.parent / "out"
    truth = frame().reverse().head(25)["outcome"].to_numpy()
    accuracy = float(np.mean(SavedModel.load(out).predict(other) == truth))
    held = result_of(out)["holdout"]
    assert (held["source"], held["n_samples"], held["score"]) == ("other.csv", 25, accuracy)
    assert "On the 25 samples of other.csv, the accuracy of the saved model is" in done.stdout
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "accuracy of the saved model" in page
    assert "Accuracy on the holdout" in page


def test_a_holdout_that_cannot_be_used_is_refused_before_the_work(data: Path) -> None:
    other, upper = data.with_name("other.csv"), data.with_name("upper.csv")
    frame().drop("outcome").write_csv(other)
    frame().with_columns(pl.col("outcome").str.to_uppercase()).write_csv(upper)
    for path, words in (
        (other, "has no column 'outcome'"),
        (upper, "holds the classes 'HEALTHY' and 'ILL', and those of the model are"),
        (data, "--holdout must be another"),
    ):
        done = select(data, "--holdout", path)
        assert done.exit_code == 2
        assert words in done.stderr
        assert not (data.parent / "out").exists()


def test_a_holdout_without_a_selected_column_is_a_note(data: Path) -> None:
    other = data.with_name("other.csv")
    frame().drop("f1").write_csv(other)
    done = select(data, "--holdout", other)
    assert done.exit_code == 0
    assert "Note: No score on the holdout: 'other.csv' lacks 1 of the 3 columns" in done.stderr
    assert result_of(data.parent / "out")["holdout"] is None


def test_rows_without_a_target_are_left_out_of_the_holdout_too(data: Path) -> None:
    some = pl.when(pl.int_range(60) > 4).then("outcome").alias("outcome")
    other = data.with_name("other.csv")
    frame().with_columns(some).write_csv(other)
    refused = select(data, "--holdout", other)
    assert "missing in 5 of 60 rows: leave them out with --drop-missing-target." in refused.stderr
    done = select(data, "--holdout", other, "--drop-missing-target", "-q")
    assert done.exit_code == 0, done.output
    assert result_of(data.parent / "out")["holdout"]["n_samples"] == 55


def test_features_in_rows_and_labels_elsewhere(data: Path) -> None:
    table = frame()
    features = table.select("^f.*$").transpose(
        include_header=True, header_name="gene", column_names=table["sample"].to_list()
    )
    features.write_csv(data)
    labels = data.parent / "pheno.csv"
    table.select("sample", "outcome").reverse().write_csv(labels)
    done = select(data, "--transpose", "--labels", labels, "--by", "sample", "--transform")
    assert done.exit_code == 0, done.output
    result = result_of(data.parent / "out")
    assert {feature["name"] for feature in result["features"]} == {"f1", "f4", "f6"}
    assert f"--transpose --labels {labels} --by sample" in result["command"]
    reduced = pl.read_csv(data.parent / "out" / "reduced.csv")
    assert reduced.equals(table.select("sample", "f1", "f4", "f6", "outcome"))
    missing = select(data, "--transpose", "--labels", labels)
    assert missing.exit_code == 2
    assert missing.stderr.startswith("--labels and --by need each other: ")


# ----------------------------------------------------------------------------- compare and path
def test_compare(data: Path) -> None:
    out = data.parent / "out"
    methods = "-k 2,3 --methods topk,relieff --cv 2"
    done = call(f"compare {data} -t outcome {methods} --out {out}")
    for word in ("TopK", "ReliefF", "Stability", "Redundancy", "Seconds", "accuracy"):
        assert word in done.stdout
    assert names_in(out) == ["comparison.csv", *FILES[2:]]
    assert pl.read_csv(out / "comparison.csv").height == 2 * 2 * 2 * 2
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
    done = call(f"compare {data} -t outcome -k {k} --methods {methods} --out {out}", code=2)
    assert words in done.stderr
    assert not out.exists()


def test_a_method_that_fails_is_a_warning(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any, X: Any, y: Any = None) -> None:
        raise ValueError("no neighbours")

    monkeypatch.setattr(ReliefF, "fit", fail)
    asked = f"-t outcome -k 2 --methods topk,relieff --cv 2 --out {data.parent / 'out'}"
    done = call(f"compare {data} {asked}", code=1)
    assert "ReliefF failed: no neighbours." in done.stderr
    assert "failed" in done.stdout


def test_path(data: Path) -> None:
    out = data.parent / "out"
    done = call(f"path {data} -t outcome --k-max 4 --cv 2 --out {out}")
    assert "The score is highest with" in done.stdout
    rows = pl.read_csv(out / "path.csv")
    assert rows["k"].to_list() == [1, 2, 3, 4]
    assert json.loads(rows["features"][2]) == ["f1", "f4", "f6"]
    assert rows["objective"].is_sorted(descending=True)
    assert (out / "report.html").exists()


# ------------------------------------------------------------------------ errors and interruption
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("-t nosuch -k 2", "there is no column 'nosuch'"),
        ("-k 2", "Name the column to predict with --target"),
        ("-t outcome -k 99", "-k 99 is more than the 8 columns"),
        ("-t outcome -k 2 --method topl", "did you mean"),
        ("-t outcome -k 2 --method zzz", "'zzz': see rowsparse methods."),
        ("-t outcome -k 2 --alpha -1", "--alpha must be a number of at least 0;"),
        ("-t outcome -k 2 --time-limit 0", "--time-limit must be a number"),
        ("-t outcome -k 1 --include f1,f2", "--include has 2 columns, more"),
        ("-t outcome -k 7 --exclude f1,f2", "--exclude leaves 6 columns"),
        ("-t outcome -k 2 --cv 1", "--cv must be between"),
        ("-t outcome -k 2 --drop 'f*'", "No column is left"),
        ("-t outcome -k 2 --metric r2", "--metric for classification is one of"),
    ],
)
def test_wrong_input_is_one_sentence(data: Path, asked: str, words: str) -> None:
    out = data.parent / "out"
    done = call(f"select {data} {asked} --out {out}", code=2)
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert not out.exists(), "a folder for nothing"


def test_files_that_are_not_there_or_wrong(tmp_path: Path) -> None:
    for name, content in (("no.csv", None), ("a.xlsx", b"PK"), ("e.csv", b"")):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        done = select(tmp_path / name)
        assert done.exit_code == 2
        assert done.stderr.count("\n") == 1


def test_out_that_cannot_be_a_folder(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = select(data, out=data / "deeper")
    assert done.exit_code == 2
    assert done.stderr.startswith("Cannot write to ")
    monkeypatch.chdir(data.parent)
    done = call(f"select {data} -t outcome -k 2 --out ''", code=2)
    assert "name a folder, as in --out results, or leave the option out" in done.stderr
    assert names_in(data.parent) == ["table.csv"]


def test_debug_shows_the_traceback(data: Path) -> None:
    done = invoke("select", data, "-k", "2", "--debug", "--out", data.parent / "out")
    assert done.exit_code != 0
    assert isinstance(done.exception, ValueError)


def test_not_converged_is_exit_code_1(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = ReliefF.fit

    def restless(self: Any, X: Any, y: Any = None) -> Any:
        warnings.warn("ReliefF did not converge.", ConvergenceWarning, stacklevel=2)
        return fit(self, X, y)

    monkeypatch.setattr(ReliefF, "fit", restless)
    done = select(data, "--method", "relieff")
    assert done.exit_code == 1
    assert "Note: ReliefF did not converge." in done.stderr
    assert result_of(data.parent / "out")["converged"] is False


def test_interrupt_leaves_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(result: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "selection_page", stop)
    done = select(data)
    assert (done.exit_code, done.stderr) == (130, "Interrupted.\n")
    assert not (data.parent / "out").exists()


def test_interrupt_keeps_what_was_there_before(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert select(data).exit_code == 0
    out = data.parent / "out"
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def stop(text: str, path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rowsparse._files.Path.replace", stop)
    assert select(data, "--seed", "3", "--force").exit_code == 130
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.posix
@pytest.mark.parametrize(
    ("sent", "code", "words"),
    [(signal.SIGINT, 130, "Interrupted.\n"), (signal.SIGTERM, 143, "")],
)
def test_a_process_that_is_stopped_leaves_nothing(
    sent: signal.Signals, code: int, words: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 400))
    np.savez(tmp_path / "hard.npz", X=X, y=rng.integers(0, 3, 60))
    hard = "-k 15 --certify --time-limit 300 --alpha 0.05 --loss squared --out out"
    script = (
        "import sys; from rowsparse import TopK, cli; fit = TopK.fit\n"
        "def announced(*args): print('begun', flush=True); return fit(*args)\n"
        f"TopK.fit = announced; sys.argv = 'rowsparse select hard.npz {hard}'.split(); cli.main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.5)
    process.send_signal(sent)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert (out, err) == ("", words)
    assert names_in(tmp_path) == ["hard.npz"]


# ------------------------------------------------------------------------------------ the results
def test_the_loss_is_an_option_and_is_said_in_the_report(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    call(f"select {data} -t outcome -k 2 --loss logistic --out {out}")
    assert result_of(out)["settings"]["loss"] == "logistic"
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "The objective is the logistic loss of a linear model" in page
    refused = call(f"path {data} -t outcome --loss l21 --out {tmp_path / 'no'}", code=2)
    assert "--loss must be one of 'auto', 'squared', 'logistic'" in refused.stderr


@pytest.mark.parametrize("words", ["select -k 2 --stability 0", "path --k-max 2", "compare -k 2"])
def test_json_and_nothing_else(data: Path, words: str) -> None:
    out = data.parent / "out"
    done = call(f"{words} {data} -t outcome --cv 2 --json --out {out}")
    assert json.loads(done.stdout) == result_of(out)
    assert done.stdout.count("\n}\n") == 1


def test_figures_are_files(data: Path) -> None:
    out = data.parent / "out"
    done = select(data, "--figures")
    assert done.exit_code == 0, done.output
    assert {"volcano.svg", "roc.svg"} <= {*names_in(out / "figures")}
    again = select(data, "--force")
    assert again.exit_code == 0, again.output
    assert not (out / "figures").exists()
    (out / "figures").mkdir()
    (out / "figures" / "own.txt").write_text("mine")
    refused = select(data, "--force", "--figures")
    assert refused.exit_code == 2
    assert "own.txt" in refused.stderr
    assert (out / "figures" / "own.txt").read_text() == "mine"


def test_tables_as_workbooks(data: Path) -> None:
    pytest.importorskip("fastexcel")
    pytest.importorskip("xlsxwriter")
    frame().rename({"f1": "=1+1"}).write_csv(data)
    done = select(data, "--format", "xlsx", "--transform", "--no-report")
    assert done.exit_code == 0, done.output
    out = data.parent / "out"
    assert {"features.xlsx", "reduced.xlsx"} <= {*names_in(out)}
    names = [item["name"] for item in result_of(out)["features"]]
    assert "=1+1" in names
    assert read_excel(out / "features.xlsx")[0]["feature"].to_list() == names
    assert "=1+1" in read_excel(out / "reduced.xlsx")[0].columns
    assert "earlier run" in select(data, "--format", "xlsx").stderr
    call(f"apply {out} {data} --predict --format xlsx --out {out / 'new'}")
    assert read_excel(out / "new" / "predictions.xlsx")[0].height == 60
    for words in ("compare -k 2", "path --k-max 2"):
        more = f"-t outcome --cv 2 --no-report --format xlsx --out {out / 'x'} --force -q"
        call(f"{words} {data} {more}")
    assert (out / "x" / "path.xlsx").exists()
    assert not (out / "x" / "comparison.xlsx").exists()


def test_a_table_in_blocks_gives_the_features_of_the_whole(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    path = data.parent / "table.parquet"
    pl.read_csv(data).write_parquet(path)
    common = f"{path} --target outcome -k 3 --drop sample {' '.join(QUICK)}"
    chosen = []
    for memory in (1 << 40, 4000):
        monkeypatch.setattr("rowsparse.cli.table_commands._LARGE_FILE", 0)
        monkeypatch.setattr("rowsparse.workflow.streaming.fits_memory", memory.__gt__)
        out = data.parent / f"out{memory}"
        call(f"select {common} --out {out}")
        chosen.append({feature["name"] for feature in result_of(out)["features"]})
    assert chosen[0] == chosen[1]
    refused = call(f"select {common} --transform --out {data.parent / 'o'}", code=2)
    assert "--transform needs the whole table in memory: leave it out." in refused.stderr
