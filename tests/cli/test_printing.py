"""Names in the data are printed as text."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl

from rowsparse._names import shown
from rowsparse.cli.printing import _lines

from .commands import frame, result_of, select

HOSTILE = ["<script>alert(1)</script>", 'a"b', "new\nline", "\x1b[31mred", "[bold]x[/bold]", "🧬"]


def test_a_number_is_spoken_for_by_its_name(data: Path) -> None:
    frame().with_columns(outcome=pl.col("f1") - pl.col("f4")).write_csv(data)
    done = select(data, "-k", "2")
    assert done.exit_code == 0, done.output
    assert "rises with outcome" in done.stdout
    assert "falls with outcome" in done.stdout
    assert "empty name" not in done.stdout


def test_forced_features_are_marked(data: Path) -> None:
    done = select(data, "--include", "f0", "--stability", "4")
    assert done.exit_code == 0, done.output
    shown = next(line for line in done.stdout.splitlines() if "f0" in line)
    assert "forced" in shown
    out = data.parent / "out"
    with (out / "features.csv").open(newline="", encoding="utf-8") as stream:
        rows = {row["feature"]: row for row in csv.DictReader(stream)}
    assert [name for name, row in rows.items() if row["forced"] == "yes"] == ["f0"]
    assert [name for name, row in rows.items() if not row["selected_in"]] == ["f0"]
    assert "empty name" not in done.stdout
    assert (out / "report.html").read_text(encoding="utf-8").count('<span class="tag">forced') == 1


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
    assert shown("a\tb") != "a\tb"


def test_covariates_have_a_table_of_their_own(data: Path) -> None:
    done = select(data, "--adjust", "f0")
    assert done.exit_code == 0, done.output
    assert "In every model, and not counted" in done.stdout
    assert "linear model of 3 features and the covariates, picked anew" in done.stdout
    assert "Coefficient of ill" in done.stdout
    assert "with the covariates alone " in done.stdout
    record = result_of(data.parent / "out")
    assert [item["name"] for item in record["covariates"]] == ["f0"]
    assert "f0" not in [item["name"] for item in record["features"]]


def test_names_go_on_in_the_next_line_after_a_separator() -> None:
    assert _lines("mean_concave_points") == "mean_concave_\npoints"
    assert _lines("GENE1143") == "GENE1143"
    assert _lines("a_b") == "a_b"
    assert _lines("onewordthatislongerthanaline").count("\n") == 0
