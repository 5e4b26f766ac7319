"""Which settings a method takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rowsparse.selectors.topk.loss_defaults import DEFAULTS
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.table import Table

from .planted import SCORE, D, make, selected


def test_include_and_exclude(classes: Table) -> None:
    result = selected(classes, 3, include="f0", exclude="f2, f5", stability=3)
    chosen = {feature.name for feature in result.features}
    assert "f0" in chosen
    assert not chosen & {"f2", "f5"}
    relief = selected(classes, 3, method="relieff", exclude="f2", stability=0, cv=0)
    assert relief.data.n_features == D - 1
    assert "f2" not in {feature.name for feature in relief.features}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 13}, "-k 13 is more than the 12 columns"),
        ({"k": 0}, "k must be an integer of at least 1"),
        ({"k": 2, "cv": 1}, "cv must be between 2 and"),
        ({"k": 2, "cv": 1000}, "cv must be between 2 and"),
        ({"k": "auto", "cv": 0}, "-k auto needs cross-validation"),
        ({"k": 2, "stability": 1}, "stability needs at least 2"),
        ({"k": 2, "stability": -1}, "stability must be an integer of at least 0"),
        ({"k": 2, "method": "nosuch"}, "nosuch"),
        ({"k": 2, "method": "rfs", "certify": True}, "RFS has no --certify"),
        ({"k": 2, "method": "rfs", "alpha": 1.0}, "RFS has no --alpha"),
        ({"k": 2, "method": "rfs", "loss": "squared"}, "RFS has no --loss"),
        ({"k": 2, "loss": "cubic"}, "loss must be one of 'auto', 'squared'"),
        ({"k": 2, "method": "rfs", "clip": 2.0}, "RFS has no --clip"),
        ({"k": 2, "clip": 0.0}, "clip must be a number above 0; got 0.0"),
        ({"k": 2, "method": "relieff", "include": "f1"}, "ReliefF has no --include"),
        ({"k": 2, "include": "f1", "exclude": "f1"}, "--include and --exclude overlap in 'f1'"),
        ({"k": 2, "include": "g1"}, "include: there is no column 'g1'"),
        ({"k": 2, "alpha": -1.0}, "alpha must be a number of at least 0"),
    ],
)
def test_options_that_do_not_fit(classes: Table, options: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        selected(classes, **options)


def test_a_method_for_other_targets(numbers: Table) -> None:
    from rowsparse import list_selectors

    every, fit = set(list_selectors()), set(list_selectors(task="regression"))
    with pytest.raises(InputError, match="these are for regression"):
        selected(numbers, 2, method=sorted(every - fit)[0])


def test_a_loss_for_other_targets(numbers: Table) -> None:
    with pytest.raises(InputError, match="--loss logistic is for classes and labels"):
        selected(numbers, 2, loss="logistic")


def test_the_loss_of_counts_and_their_task_need_each_other(numbers: Table, counts: Table) -> None:
    with pytest.raises(InputError, match="was read for regression: read it with --task counts"):
        selected(numbers, 2, loss="poisson")
    with pytest.raises(InputError, match="for counts is --loss poisson: leave --loss squared out"):
        selected(counts, 2, loss="squared")
    result = selected(counts, 2, cv=0, stability=0)
    assert result.settings["loss"] == "poisson"
    assert result.settings["task"] == "counts"
    # To methods without such a task they are numbers.
    other = selected(counts, 3, method="rfs", cv=3, stability=0)
    assert other.settings["task"] == "regression"
    assert (other.data.task, other.metric) == ("counts", "d2")
    with pytest.raises(InputError, match="SLAP takes targets for classification"):
        selected(counts, 2, method="slap")


@pytest.mark.parametrize(("loss", "taken"), [("auto", "logistic"), ("l21", "l21")])
def test_the_loss_that_took_effect_is_recorded_with_its_ridge(
    classes: Table, loss: str, taken: str
) -> None:
    settings = selected(classes, 2, loss=loss, cv=0, stability=0).settings
    assert settings["loss"] == taken
    assert settings["alpha"] == DEFAULTS[taken].alpha


def test_categories_come_and_go_together(tmp_path: Path) -> None:
    colour = np.array(["red", "green", "blue"])[np.digitize(SCORE, [-1, 1])]
    table = make(tmp_path, goal=SCORE, colour=colour)
    result = selected(table, 1, stability=3)
    assert {feature.name for feature in result.features} == {
        "colour=red",
        "colour=green",
        "colour=blue",
    }
    assert any("together or not at all" in note for note in result.data.notes)
    assert (result.k, len(result.features)) == (1, 3)
    assert (result.data.n_features, result.data.n_columns) == (D + 1, D + 3)
    alone = selected(table, 2, method="rfs", stability=0, cv=0)
    assert any("RFS knows no groups" in note for note in alone.data.notes)
    assert (alone.k, len(alone.features), alone.data.n_features) == (2, 2, D + 3)
    proven = selected(table, 1, certify=True, stability=0, cv=0)
    assert [len(group) for group in proven.proof.statement.feature_groups].count(3) == 1
    automatic = selected(table, "auto", stability=0, k_max=3)
    assert automatic.k_was_chosen
    assert automatic.curve is not None
    assert automatic.curve.ks == (1, 2, 3)
