"""The score is that of a selection made without the test samples."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rowsparse import TopK
from rowsparse.workflow.compare import compare
from rowsparse.workflow.cross_validation import judges
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.select import find_path
from rowsparse.workflow.settings import CompareSettings, PathSettings
from rowsparse.workflow.table import Table

from .planted import SCORE, N, X, make, selected

macro_f1 = partial(f1_score, average="macro", zero_division=0.0)


def test_the_score_is_honest(classes: Table) -> None:
    result = selected(classes, 3, stability=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores, with_all, counts = [], [], np.zeros((3, 3), dtype=int)
    for train, test in folds.split(classes.X, classes.y):
        chosen = TopK(3, n_restarts=0, random_state=0).fit(classes.X[train], classes.y[train])
        S = chosen.get_support()
        model = make_pipeline(StandardScaler(), SVC(kernel="linear", C=1.0))
        answer = model.fit(classes.X[train][:, S], classes.y[train]).predict(classes.X[test][:, S])
        scores.append(np.mean(answer == classes.y[test]))
        model.fit(classes.X[train], classes.y[train])
        with_all.append(model.score(classes.X[test], classes.y[test]))
        for true, said in zip(classes.y[test], answer, strict=True):
            counts["abc".index(true), "abc".index(said)] += 1
    assert result.metric == "accuracy"
    assert result.score == pytest.approx(np.mean(scores))
    assert result.score_sd == pytest.approx(np.std(scores))
    assert result.confusion is not None
    np.testing.assert_array_equal(result.confusion.counts, counts)
    assert result.chance_score == pytest.approx(max(classes.target.counts) / N, abs=0.02)
    assert result.baseline_score == pytest.approx(np.mean(with_all))
    assert result.stability is None
    assert all(feature.frequency is None for feature in result.features)


@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_f1"])
def test_another_metric_is_the_score_of_every_workflow(classes: Table, metric: str) -> None:
    result = selected(classes, 2, cv=3, stability=0, metric=metric)
    scores, guesses = [], []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(classes.X, classes.y):
        chosen = TopK(2, n_restarts=0, random_state=0).fit(classes.X[train], classes.y[train])
        model = make_pipeline(chosen, StandardScaler(), SVC(kernel="linear"))
        answer = model.fit(classes.X[train], classes.y[train]).predict(classes.X[test])
        function = balanced_accuracy_score if metric == "balanced_accuracy" else macro_f1
        scores.append(function(classes.y[test], answer))
        values, counts = np.unique(classes.y[train], return_counts=True)
        guesses.append(function(classes.y[test], np.repeat(values[counts.argmax()], test.size)))
    assert result.metric == result.curve.metric == result.verdict.metric == metric
    assert result.score == pytest.approx(np.mean(scores))
    assert result.chance_score == pytest.approx(np.mean(guesses))
    along = find_path(classes, PathSettings(k_max=3, cv=3, metric=metric))
    assert along.curve.by_k()[2][0] == result.score
    beside = compare(classes, CompareSettings(k=(2,), methods=("topk",), cv=3, metric=metric))
    assert beside.curve.metrics[0] == metric
    assert beside.curve.mean(metric)[0, 0] == result.score


def test_a_metric_that_the_targets_do_not_have(classes: Table, numbers: Table) -> None:
    words = "metric for regression is one of r2, rmse, mae; got 'accuracy'"
    with pytest.raises(InputError, match=words):
        selected(numbers, 2, metric="accuracy")
    with pytest.raises(InputError, match=words):
        find_path(numbers, PathSettings(metric="accuracy"))
    with pytest.raises(InputError, match="macro_f1, auc, log_loss; got 'r2'"):
        compare(classes, CompareSettings(k=(2,), metric="r2"))


def out_of_fold(table: Table, k: int, judge: Any) -> list[tuple[Any, Any, Any]]:
    """Truth, fitted model and features of the test samples of each fold."""
    found = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(table.X, table.y):
        S = TopK(k, n_restarts=0, random_state=0).fit(table.X[train], table.y[train]).get_support()
        model = make_pipeline(StandardScaler(), clone(judge))
        model.fit(table.X[train][:, S], table.y[train])
        found.append((table.y[test], model, table.X[test][:, S]))
    return found


def test_auc_is_that_of_the_decision_values_of_the_judge(classes: Table) -> None:
    result = selected(classes, 2, cv=3, stability=0, metric="auc")
    folds = out_of_fold(classes, 2, SVC(kernel="linear"))
    areas = [
        np.mean([roc_auc_score(y == c, m.decision_function(Z)[:, i]) for i, c in enumerate("abc")])
        for y, m, Z in folds
    ]
    assert result.score == pytest.approx(np.mean(areas))
    assert result.chance_score == 0.5
    beside = compare(classes, CompareSettings(k=(2,), methods=("topk",), cv=3, metric="auc"))
    assert beside.curve.mean("auc")[0, 0] == result.score
    assert beside.verdict.level == result.verdict.level == "better"


def test_log_loss_is_that_of_logistic_regression_and_better_low(classes: Table) -> None:
    result = selected(classes, 2, cv=3, stability=0, metric="log_loss")
    folds = out_of_fold(classes, 2, LogisticRegression(max_iter=300))
    losses = [log_loss(y, m.predict_proba(Z)) for y, m, Z in folds]
    assert result.score == pytest.approx(np.mean(losses))
    assert result.score < result.chance_score
    assert result.verdict.level == "better"
    assert result.curve.best_k == result.curve.ks[int(np.argmin(result.curve.mean))]
    assert result.model.judge.has_probabilities
    beside = compare(classes, CompareSettings(k=(1, 3), methods=("topk",), cv=3, metric="log_loss"))
    assert beside.curve.estimators == ["logistic regression"]
    assert beside.verdict.level == "better"


@pytest.mark.parametrize("metric", ["mae", "rmse"])
def test_errors_are_in_the_units_of_the_target(numbers: Table, metric: str) -> None:
    result = selected(numbers, 3, cv=3, stability=0, metric=metric)
    assert 0 < result.score < result.chance_score
    assert result.verdict.level == "better"
    assert result.verdict.gain == pytest.approx(result.chance_score - result.score)


def test_auc_with_one_class_in_a_fold_is_refused(tmp_path: Path) -> None:
    table = make(tmp_path, goal=["rare"] * 2 + ["common"] * (N - 2))
    with pytest.raises(InputError, match="one of the 5 folds has one only"):
        selected(table, 2, metric="auc")
    assert np.isfinite(selected(table, 2, cv=2, stability=0, metric="auc").score)


def test_labels_named_at_random_are_predicted_at_chance(tmp_path: Path) -> None:
    noise = make(tmp_path, goal=np.random.default_rng(0).permutation(["a", "b"] * (N // 2)))
    assert selected(noise, 5, stability=0).score < 0.68


def test_a_large_table_has_the_same_score(classes: Table, monkeypatch: Any) -> None:
    before = selected(classes, 8, stability=0)
    monkeypatch.setattr("rowsparse.workflow.table._LARGE", 10)
    result = selected(classes, 8, stability=0)
    assert result.curve.ks == (2, 4, 6, 8)
    assert result.score == before.score
    assert result.curve.mean[1] == before.curve.mean[1]


@pytest.mark.parametrize("grouped", [False, True])
def test_the_same_k_has_the_same_score_in_every_workflow(tmp_path: Path, grouped: bool) -> None:
    colour = np.array(["red", "green", "blue"])[np.digitize(X[:, 3], [-0.5, 0.5])]
    goal = np.array(["a", "b", "c"])[np.digitize(SCORE + X[:, 3], [-1, 1])]
    table = make(tmp_path, goal=goal, **({"colour": colour} if grouped else {}))
    k, cv, seed = 4, 4, 3
    asked = selected(table, k, cv=cv, seed=seed, stability=0)
    chosen = selected(table, "auto", k_max=6, cv=cv, seed=seed, stability=0)
    along = find_path(table, PathSettings(k_max=7, cv=cv, seed=seed)).curve
    beside = compare(
        table, CompareSettings(k=tuple(range(2, 12)), methods=("topk",), cv=cv, seed=seed)
    ).curve
    assert chosen.score == chosen.curve.by_k()[chosen.k][0]
    for scores in (chosen.curve.by_k(), along.by_k()):
        assert scores[k] == (asked.score, asked.score_sd)
    at = beside.ks.index(k)
    assert beside.mean("accuracy")[0, at] == asked.score
    assert beside.sd("accuracy")[0, at] == asked.score_sd


def test_many_samples_are_judged_by_a_quicker_model(classes: Table, labels: Table) -> None:
    assert list(judges(classes)) == ["linear SVM", "1-NN"]
    rows = np.zeros((10_000, 1))
    assert next(iter(judges(replace(classes, X=rows)))) == "logistic regression"
    assert list(judges(replace(labels, X=rows))) == ["logistic regression"]


def test_too_few_samples_for_a_score_is_a_note(tmp_path: Path) -> None:
    table = make(tmp_path, goal=["rare"] + ["common"] * (N - 1))
    result = selected(table, 2, stability=4)
    assert np.isnan(result.score)
    assert any(sentence.startswith("No cross-validated score") for sentence in result.warnings)


def test_as_many_classes_as_samples_is_refused(tmp_path: Path) -> None:
    table = make(tmp_path, goal=[f"class {i}" for i in range(N)])
    with pytest.raises(InputError, match="No class has two samples"):
        selected(table, 2)
