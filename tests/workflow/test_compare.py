"""Several methods on one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rowsparse.workflow.compare import compare
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.settings import CompareSettings
from rowsparse.workflow.table import Table

from .planted import SCORE, make


def test_comparison(classes: Table) -> None:
    settings = CompareSettings(k=(1, 3), methods=("topk", "relieff"), cv=2)
    result = compare(classes, settings)
    assert result.curve.selectors == ["TopK", "ReliefF"]
    assert result.curve.ks == [1, 3]
    assert result.curve.mean("accuracy").shape == (2, 2)
    assert result.warnings == ()
    again = compare(classes, settings)
    np.testing.assert_array_equal(again.curve.mean("accuracy"), result.curve.mean("accuracy"))


def test_comparison_of_the_usual_methods_and_its_refusals(classes: Table, numbers: Table) -> None:
    assert "TopK" in compare(classes, CompareSettings(k=(2,), cv=2)).curve.selectors
    assert "TopK" in compare(numbers, CompareSettings(k=(2,), cv=2)).curve.selectors
    with pytest.raises(InputError, match="-k 99 is more than the 12 columns"):
        compare(classes, CompareSettings(k=(2, 99)))
    with pytest.raises(InputError, match="at least one method"):
        compare(classes, CompareSettings(k=(2,), methods=()))
    with pytest.raises(ValueError, match="nosuch"):
        compare(classes, CompareSettings(k=(2,), methods=("nosuch",)))


def test_the_loss_is_that_of_topk(classes: Table) -> None:
    settings = CompareSettings(k=(2,), methods=("topk", "relieff"), cv=2, loss="logistic")
    assert compare(classes, settings).settings["loss"] == "logistic"
    with pytest.raises(InputError, match="--loss is for topk, which is not among the methods"):
        compare(classes, CompareSettings(k=(2,), methods=("relieff",), loss="logistic"))


def test_methods_without_their_extra_are_left_out_of_all(
    classes: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rowsparse.selectors.registry.find_spec", lambda name: None)
    monkeypatch.setattr(
        "rowsparse.workflow.compare.list_methods", lambda: ["firdl", "relieff", "topk"]
    )
    result = compare(classes, CompareSettings(k=(2,), methods=("all",), cv=2))
    assert result.curve.selectors == ["ReliefF", "TopK"]
    assert result.warnings == ()
    assert result.data.notes == (
        "Left out, as what they need is not installed: firdl; pip install "
        '"rowsparse[deep]" adds them.',
    )


def test_one_note_for_all_methods_that_know_no_groups(tmp_path: Path) -> None:
    colour = np.array(["red", "green", "blue"])[np.digitize(SCORE, [-1, 1])]
    table = make(tmp_path, goal=SCORE, colour=colour)
    methods = ("topk", "relieff", "fstatistic", "mrmr", "ridgeranking")
    result = compare(table, CompareSettings(k=(2,), methods=methods, cv=2))
    told = [note for note in result.data.notes if "group" in note or "together" in note]
    assert told == [
        "The columns made of 'colour' are selected by TopK together or not at all, and count once.",
        "ReliefF, FStatistic, MRMR and 1 more know no groups: of 'colour' they may select single "
        "values.",
    ]


def test_a_method_that_fails_is_told(classes: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    from rowsparse import ReliefF

    def fail(self: Any, X: Any, y: Any = None) -> None:
        raise ValueError("no neighbours.\nmore")

    monkeypatch.setattr(ReliefF, "fit", fail)
    result = compare(classes, CompareSettings(k=(2,), methods=("topk", "relieff"), cv=2))
    assert result.warnings == ("ReliefF failed: no neighbours.",)
    assert np.isfinite(result.curve.mean("accuracy")[0, 0])
