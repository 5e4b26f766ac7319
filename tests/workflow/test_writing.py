"""Files with results hold the numbers of the results."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rowsparse.workflow.compare import compare
from rowsparse.workflow.loading import open_table
from rowsparse.workflow.model import SavedModel
from rowsparse.workflow.select import find_path
from rowsparse.workflow.settings import CompareSettings, PathSettings
from rowsparse.workflow.table import Table
from rowsparse.workflow.writing import (
    write_comparison,
    write_path,
    write_predictions,
    write_selection,
    write_text,
)

from .planted import selected


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_a_selection_as_files(classes: Table, tmp_path: Path) -> None:
    result = selected(classes, 3, cv=0, stability=4)
    listing, record, model = write_selection(tmp_path, result)
    rows = rows_of(listing)
    assert [row["feature"] for row in rows] == [feature.name for feature in result.features]
    for row, feature in zip(rows, result.features, strict=True):
        assert float(row["score"]) == feature.score
        assert float(row["selected_in_low"]) == feature.frequency_interval[0]
        assert float(row["coefficient of b"]) == feature.coefficients[1]
    found = json.loads(record.read_text(encoding="utf-8"))
    assert found["score"] is None, "NaN is not in JSON"
    assert found["objective"] == result.objective
    assert found["settings"]["k"] == 3
    assert found["data"]["class_counts"] == list(classes.target.counts)
    assert SavedModel.load(model).to_json() == result.model.to_json()


def test_predictions_as_a_file(classes: Table, tmp_path: Path) -> None:
    model = selected(classes, 3, cv=0, stability=0).model
    model = replace(model, identifiers=("id", "absent"))
    lines = classes.path.read_text().splitlines()
    new = tmp_path / "new.csv"
    new.write_text("\n".join(["id," + lines[0], *(f"00{i},{s}" for i, s in enumerate(lines[1:]))]))
    rows = rows_of(write_predictions(tmp_path, model, open_table(new)))
    assert [row["id"] for row in rows] == [f"00{i}" for i in range(len(lines) - 1)]
    assert [row["predicted goal"] for row in rows] == model.predict(new).tolist()


def test_a_comparison_as_files(classes: Table, tmp_path: Path) -> None:
    result = compare(classes, CompareSettings(k=(1, 3), methods=("topk", "relieff"), cv=2))
    listing, record = write_comparison(tmp_path, result)
    judges = len(result.curve.estimators)
    assert len(rows_of(listing)) == 2 * 2 * judges * 2
    means = [row["accuracy"] for row in json.loads(record.read_text())["results"]]
    np.testing.assert_array_equal(np.reshape(means, (2, 2)), result.curve.mean("accuracy"))


def test_a_path_as_files(numbers: Table, tmp_path: Path) -> None:
    result = find_path(numbers, PathSettings(k_max=3, cv=2))
    listing, record = write_path(tmp_path, result)
    rows = rows_of(listing)
    assert [float(row["objective"]) for row in rows] == list(result.objectives)
    assert json.loads(rows[2]["features"]) == ["f2", "f5", "f9"]
    assert json.loads(record.read_text())["supports"][2] == ["f2", "f5", "f9"]


def test_lone_surrogates_are_escaped(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "half \ud83e of a character")
    assert (tmp_path / "a.txt").read_text() == "half \\ud83e of a character"


def test_the_command_is_written_first(classes: Table, tmp_path: Path) -> None:
    result = replace(selected(classes, 2, cv=0, stability=0), settings={"command": "as typed"})
    _, record, _ = write_selection(tmp_path, result)
    assert next(iter(json.loads(record.read_text()).items())) == ("command", "as typed")


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-x", "'-x"),
        ("-1.5", "-1.5"),
        ("a=b", "a=b"),
    ],
)
def test_names_that_spreadsheets_would_compute_are_quoted(
    name: str, cell: str, numbers: Table, tmp_path: Path
) -> None:
    result = selected(numbers, 2, cv=0, stability=0)
    first, *rest = result.features
    result = replace(result, features=(replace(first, name=name), *rest))
    listing, record, *_ = write_selection(tmp_path, result)
    assert rows_of(listing)[0]["feature"] == cell
    assert json.loads(record.read_text())["features"][0]["name"] == name
