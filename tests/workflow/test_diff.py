"""Two results compared have what the two results have."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from rowsparse.workflow.diff import compare_results
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.table import Table
from rowsparse.workflow.writing import write_comparison, write_selection

from .planted import selected


def written(folder: Path, table: Table, k: int, **settings: object) -> Path:
    folder.mkdir()
    write_selection(folder, selected(table, k, stability=0, **settings))
    return folder


def test_features_settings_and_scores(classes: Table, tmp_path: Path) -> None:
    a, b = (written(tmp_path / f"k{k}", classes, k, cv=3 + k) for k in (2, 4))
    first, second = (selected(classes, k, stability=0, cv=3 + k) for k in (2, 4))
    found = compare_results(a, b / "result.json")
    assert found.names == (str(a), str(b))
    ranks = [{f.name: f.rank for f in result.features} for result in (first, second)]
    assert {one.name: one.ranks for one in found.features} == {
        name: (ranks[0].get(name), ranks[1].get(name)) for name in {**ranks[0], **ranks[1]}
    }
    assert len(found.both) + len(found.only(0)) == 2
    assert len(found.both) + len(found.only(1)) == 4
    assert found.features[: len(found.both)] == tuple(found.both)
    one = found.both[0]
    own = next(f for f in second.features if f.name == one.name)
    assert one.coefficients[1] == own.coefficients
    assert found.scores[0].values == (first.score, second.score)
    assert found.scores[0].spreads == (first.score_sd, second.score_sd)
    assert {name: values for name, *values in found.settings} == {
        "k": ["2", "4"],
        "cv": ["5", "7"],
    }
    assert found.outputs == (("a", "b", "c"), ("a", "b", "c"))


def test_a_result_does_not_differ_from_itself(numbers: Table, tmp_path: Path) -> None:
    a = written(tmp_path / "a", numbers, 3, cv=0)
    found = compare_results(a, a)
    assert found.settings == ()
    assert found.only(0) == found.only(1) == []
    assert all(math.isfinite(value) for one in found.scores for value in one.values)


def test_what_is_no_result_is_refused(classes: Table, tmp_path: Path) -> None:
    from rowsparse.workflow.compare import compare
    from rowsparse.workflow.settings import CompareSettings

    good = written(tmp_path / "good", classes, 2, cv=0)
    empty, other, odd = (tmp_path / name for name in ("empty", "other", "odd"))
    for folder in (empty, other, odd):
        folder.mkdir()
    settings = CompareSettings(k=(1,), methods=("fstatistic",), cv=2)
    write_comparison(other, replace(compare(classes, settings)))
    record = json.loads((good / "result.json").read_text())
    (odd / "result.json").write_text(json.dumps(record | {"features": [1]}))
    for path, why in (
        (empty, "it has no result.json"),
        (tmp_path / "absent", "there is no such folder"),
        (other, "another command"),
        (odd, "another program"),
        (good / "features.csv", "another program"),
    ):
        for pair in ((good, path), (path, good)):
            with pytest.raises(InputError, match=f"is no result of rowsparse select: .*{why}"):
                compare_results(*pair)
