"""The positive class of two, and weights of classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rowsparse import TopK, topk_path
from rowsparse.workflow.compare import compare
from rowsparse.workflow.loading import open_table
from rowsparse.workflow.select import find_path
from rowsparse.workflow.settings import CompareSettings, PathSettings, TableSettings
from rowsparse.workflow.table import Table, read_table
from rowsparse.workflow.writing import write_predictions

from .files import refusal
from .planted import SCORE, make, selected


def weighted(table: Table, **settings: object) -> Table:
    reading = TableSettings(target="goal", **settings)  # type: ignore[arg-type]
    return read_table(table.path, reading)


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1)])
def test_the_positive_class_is_the_one_that_results_are_of(
    classes: tuple[object, object], tmp_path: Path
) -> None:
    table = make(tmp_path, goal=[classes[int(score > 0.4)] for score in SCORE])
    first, second = map(str, classes)
    usual = selected(table, 3, cv=3, stability=0)
    again = selected(weighted(table, positive=second), 3, cv=3, stability=0)
    assert again.features == usual.features
    turned = selected(weighted(table, positive=first), 3, cv=3, stability=0)
    assert turned.score == usual.score
    assert turned.data.classes == (second, first)
    assert turned.data.class_counts == usual.data.class_counts[::-1]
    for one, other in zip(turned.features, usual.features, strict=True):
        assert one.name == other.name
        assert one.effect == pytest.approx(-other.effect)
        assert one.effect_in == first
        assert one.speaks_for == other.speaks_for
    (_, mine), (theirs, _) = turned.class_scores, usual.class_scores
    assert (mine.name, mine.sensitivity) == (theirs.name, theirs.sensitivity)
    assert mine.average_precision == pytest.approx(theirs.average_precision)
    assert turned.model is not None
    assert usual.model is not None
    assert turned.model.classes == classes[::-1]
    assert turned.model.predict(table.path).tolist() == usual.model.predict(table.path).tolist()
    rows = pl.read_csv(write_predictions(tmp_path, turned.model, open_table(table.path)))
    values = usual.model.predictions(table.path).values
    assert values is not None
    np.testing.assert_allclose(rows[f"decision value of {first}"], values[:, 0], atol=0.02)


def test_weights_of_classes_are_those_of_the_selector_and_of_the_model(tmp_path: Path) -> None:
    y = np.where(SCORE > 1, "many", "few")
    table = make(tmp_path, goal=y)
    for text, weights in (("balanced", "balanced"), ("few=5", {"few": 5.0, "many": 1.0})):
        heavy = weighted(table, class_weight=text)
        assert heavy.class_weight == weights
        result = selected(heavy, 3, cv=3, stability=0)
        selector = TopK(3, class_weight=weights, random_state=0).fit(table.X, y)
        assert (
            sorted(one.index for one in result.features)
            == np.flatnonzero(selector.support_).tolist()
        )
        assert result.objective == pytest.approx(selector.objective_)
        order = [one.index for one in result.features]
        machine = SVC(kernel="linear", class_weight=weights)
        machine.fit(StandardScaler().fit_transform(table.X[:, order]), y)
        assert result.model is not None
        np.testing.assert_allclose(result.model.judge.coefficients, machine.coef_, rtol=1e-4)
        path = find_path(heavy, PathSettings(k_max=3, cv=3))
        expected = topk_path(table.X, y, 3, class_weight=weights, random_state=0)
        np.testing.assert_allclose(path.objectives, expected.objectives)
    settings = CompareSettings(k=(2,), methods=("topk", "relieff"), cv=3)
    notes = compare(weighted(table, class_weight="balanced"), settings).data.notes
    assert any(note.startswith("ReliefF selected without weights of classes") for note in notes)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"positive": "maybe"}, "--positive: there is no class 'maybe'; the target 'goal' has"),
        ({"class_weight": "maybe=2"}, "--class-weight: there is no class 'maybe'; the target has"),
        ({"class_weight": "yes"}, "--class-weight: there is no class 'yes'"),
        ({"class_weight": "yes=-1"}, "the weight of 'yes' must be a number above 0; got '-1'"),
        ({"class_weight": "yes=x"}, "the weight of 'yes' must be a number above 0; got 'x'"),
        ({"target": "f1", "positive": "yes"}, "--positive is for two classes; the target holds"),
        ({"target": "f1", "class_weight": "balanced"}, "--class-weight is for classes; the target"),
    ],
)
def test_refusals(settings: dict[str, str], sentence: str, tmp_path: Path) -> None:
    table = make(tmp_path, goal=np.where(SCORE > 0, "yes", "no"))
    assert sentence in refusal(table.path, **{"target": "goal"} | settings)
