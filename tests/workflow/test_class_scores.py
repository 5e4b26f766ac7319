"""Sensitivity, specificity and ROC curves are those of the pooled predictions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import auc, recall_score

from rowsparse.workflow.cross_validation import cross_validate, table_folds
from rowsparse.workflow.plan import make_plan
from rowsparse.workflow.settings import SelectSettings
from rowsparse.workflow.table import Table
from rowsparse.workflow.writing import write_selection

from .planted import N, make, selected


def test_classes(classes: Table, tmp_path: Path) -> None:
    splits = table_folds(classes, SelectSettings(k=3, cv=4))
    plan = make_plan(classes, SelectSettings(k=3), 0)
    held = cross_validate(plan, [3], splits, metric="accuracy").held_out(3)
    found = held.class_scores()
    truth = np.concatenate([classes.y[test] for _, test in splits])
    answers = np.concatenate([one.answers for one in held.predicted])
    assert [one.name for one in found] == ["a", "b", "c"]
    for one in found:
        is_one, said = truth == one.name, answers == one.name
        assert one.n_samples == is_one.sum()
        assert one.sensitivity == pytest.approx(recall_score(is_one, said))
        assert one.specificity == pytest.approx(recall_score(~is_one, ~said))
        area = auc(one.false_positive_rate, one.true_positive_rate)
        assert one.auc == pytest.approx(area)
        steps = -np.diff(one.recall) @ one.precision[:-1]
        assert one.average_precision == pytest.approx(steps)
    result = selected(classes, 3, cv=4, stability=0)
    assert result.class_scores == found
    write_selection(tmp_path, result)
    kept = json.loads((tmp_path / "result.json").read_text())["class_scores"]
    assert kept[0]["sensitivity"] == found[0].sensitivity


def test_of_two_classes_the_one_mirrors_the_other(tmp_path: Path) -> None:
    goal = np.random.default_rng(1).permutation(["no", "yes"] * (N // 2))
    no, yes = selected(make(tmp_path, goal=goal), 2, stability=0).class_scores
    assert (no.sensitivity, no.specificity) == (yes.specificity, yes.sensitivity)
    assert no.auc == pytest.approx(yes.auc)


def test_labels_have_curves_and_numbers_have_none(labels: Table, numbers: Table) -> None:
    found = selected(labels, 3, cv=3, stability=0).class_scores
    assert [one.name for one in found] == ["l0", "l1", "l2"]
    assert [one.n_samples for one in found] == labels.y.sum(axis=0).tolist()
    assert selected(numbers, 3, cv=3, stability=0).class_scores == ()


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_that_a_fold_has_not_seen(tmp_path: Path) -> None:
    goal = np.array(["a", "b"] * (N // 2), dtype=object)
    goal[0] = "rare"
    rare = selected(make(tmp_path, goal=goal), 2, cv=3, stability=0).class_scores[-1]
    assert (rare.name, rare.n_samples, rare.sensitivity) == ("rare", 1, 0.0)
