"""The command ``apply``: another table reduced or predicted, or refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rowsparse.workflow.model import SavedModel

from .commands import frame, invoke, select


@pytest.fixture
def folder(data: Path) -> Path:
    assert select(data, "-q", "--no-report").exit_code == 0
    return data.parent / "out"


@pytest.fixture
def new(data: Path) -> Path:
    path = data.with_name("new.csv")
    frame().reverse().head(20).write_csv(path)
    return path


def apply(*arguments: object) -> Any:
    return invoke("apply", *arguments)


def test_reduced_to_the_selected_columns(folder: Path, new: Path) -> None:
    out = new.with_name("reduced")
    done = apply(folder, new, "--out", out)
    assert done.exit_code == 0, done.output
    assert "20 rows of new.csv: reduced to 3 columns, selected by TopK." in done.stdout
    assert "Not used by the model: 'f0', 'f2', 'f3', 'f5' and 'f7'." in done.stdout
    kept = pl.read_csv(out / "reduced.csv")
    assert kept.equals(pl.read_csv(new).select("sample", "f1", "f4", "f6", "outcome"))


def test_predictions_and_their_score(folder: Path, new: Path) -> None:
    out = new.with_name("predicted")
    done = apply(folder / "model.json", new, "--predict", "--out", out)
    assert done.exit_code == 0, done.output
    assert "predicted from 3 columns by the linear SVM of the selection." in done.stdout
    assert "the accuracy of the saved model is" in done.stdout
    rows = pl.read_csv(out / "predictions.csv")
    assert rows["sample"].to_list() == pl.read_csv(new)["sample"].to_list()
    assert rows["predicted outcome"].to_list() == SavedModel.load(folder).predict(new).tolist()
    assert rows["outcome"].to_list() == pl.read_csv(new)["outcome"].to_list()
    said = SavedModel.load(folder).predictions(new)
    assert rows["decision value of ill"].to_list() == said.values[:, 1].tolist()
    assert rows.columns == ["sample", "outcome", "predicted outcome", "decision value of ill"]


def test_predictions_need_no_target(
    folder: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(new.parent)
    pl.read_csv(new).select("f6", "f4", "f1").write_csv(new)
    done = apply(folder, new, "--predict", "-q")
    assert (done.exit_code, done.output) == (0, "")
    assert pl.read_csv(new.parent / "new-apply" / "predictions.csv").columns == [
        "row",
        "predicted outcome",
        "decision value of ill",
    ]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("column", "'new.csv' lacks 1 of the 3 columns of the model: 'f1'; it has"),
        ("text", "Column 'f1' holds text such as 'x'; the model needs numbers."),
        (
            "gap",
            "Column 'f1' has 20 missing values: fill them first, or select again with --",
        ),
        ("model", "is not a model that rowsparse select wrote"),
        ("folder", "has the results of an earlier run: choose another with --out"),
    ],
)
def test_refusals(damage: str, words: str, folder: Path, new: Path) -> None:
    out = new.with_name("applied")
    table = pl.read_csv(new)
    changes = {
        "column": table.drop("f1"),
        "text": table.with_columns(f1=pl.lit("x")),
        "gap": table.with_columns(f1=None),
    }
    changes.get(damage, table).write_csv(new)
    if damage == "model":
        (folder / "model.json").write_text("{}")
    done = apply(folder, new, "--predict", "--out", folder if damage == "folder" else out)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not out.exists()
    assert (folder / "features.csv").exists()


def test_a_table_is_read_as_for_the_selection(folder: Path, new: Path) -> None:
    table = pl.read_csv(new).with_columns(f1=pl.Series(["<LOD", *["0.5"] * 19]))
    measured = table.drop("sample", "outcome").transpose(
        include_header=True, header_name="gene", column_names=table["sample"].to_list()
    )
    measured.write_csv(new)
    pheno = new.with_name("pheno.csv")
    table.select(pl.col("sample").alias("patient"), "outcome").reverse().write_csv(pheno)
    turned = ("--transpose", "--labels", pheno, "--by", "patient")
    refused = apply(folder, new, *turned, "--predict", "--out", new.with_name("a"))
    assert "text such as '<LOD'" in refused.stderr
    refused = apply(folder, new, *turned, "--na-values", "<LOD", "--predict", "--out", "a")
    assert "Column 'f1' has 1 missing value" in refused.stderr
    measured.drop(table["sample"][0]).write_csv(new)
    out = new.with_name("b")
    done = apply(folder, new, *turned, "--predict", "--out", out)
    assert done.exit_code == 0, done.output
    assert "19 rows of new.csv" in done.stdout
    assert "the accuracy of the saved model is" in done.stdout
    rows = pl.read_csv(out / "predictions.csv")
    assert rows.columns[:3] == ["patient", "outcome", "predicted outcome"]
    assert apply(folder, new, "--transpose", "--out", new.with_name("c")).exit_code == 0
    kept = pl.read_csv(new.with_name("c") / "reduced.csv")
    assert kept.columns == ["sample", "f1", "f4", "f6"]
    assert kept["sample"].to_list() == table["sample"].to_list()[1:]


def test_rows_without_a_target_are_predicted_and_not_scored(folder: Path, new: Path) -> None:
    table = pl.read_csv(new)
    some = pl.when(pl.int_range(20) < 8).then("outcome").alias("outcome")
    table.with_columns(some).write_csv(new)
    out = new.with_name("partly")
    done = apply(folder, new, "--predict", "--out", out)
    assert done.exit_code == 0, done.output
    assert "8 samples" in done.stdout
    assert pl.read_csv(out / "predictions.csv").height == 20


def test_json_and_nothing_else(folder: Path, new: Path) -> None:
    done = apply(folder, new, "--predict", "--json", "--out", new.with_name("j"))
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert record["predictions"] == SavedModel.load(folder).predict(new).tolist()
    assert record["holdout"]["n_samples"] == record["n_rows"] == 20
    assert set(record["columns"]) == {"f1", "f4", "f6"}
    assert Path(record["file"]).exists()
    done = apply(folder, new, "--json", "--out", new.with_name("r"))
    assert json.loads(done.stdout)["predictions"] is None
