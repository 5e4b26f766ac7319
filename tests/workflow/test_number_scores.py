"""Numbers and counts: scores, errors and the saved model are those of scikit-learn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, PoissonRegressor
from sklearn.metrics import d2_tweedie_score, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rowsparse import TopK
from rowsparse.workflow.compare import compare
from rowsparse.workflow.loading import open_table
from rowsparse.workflow.model import SavedModel, score_holdout
from rowsparse.workflow.select import find_path
from rowsparse.workflow.settings import CompareSettings, PathSettings
from rowsparse.workflow.table import Table
from rowsparse.workflow.writing import write_selection

from .planted import SCORE, N, X, make, selected


@pytest.mark.parametrize("kind", ["numbers", "counts"])
def test_scores_and_errors_are_those_of_held_out_samples(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    table: Table = request.getfixturevalue(kind)
    judge, metric = LinearRegression(), r2_score
    if kind == "counts":
        judge = PoissonRegressor(alpha=1e-2, max_iter=300)

        def metric(y: np.ndarray, said: np.ndarray) -> float:
            return d2_tweedie_score(y, said, power=1)

    scores, observed, predicted, guessed = [], [], [], []
    for train, test in KFold(4, shuffle=True, random_state=0).split(table.X):
        task = "regression" if kind == "numbers" else "counts"
        chosen = TopK(3, n_restarts=0, task=task, random_state=0)
        S = chosen.fit(table.X[train], table.y[train]).get_support()
        model = make_pipeline(StandardScaler(), judge).fit(table.X[train][:, S], table.y[train])
        said = model.predict(table.X[test][:, S])
        scores.append(metric(table.y[test], said))
        observed += table.y[test].tolist()
        predicted += said.tolist()
        guessed += [table.y[train].mean()] * test.size
    result = selected(table, 3, cv=4, stability=0)
    assert result.metric == {"numbers": "r2", "counts": "d2"}[kind]
    assert result.score == pytest.approx(np.mean(scores), abs=1e-6)
    assert result.verdict.level == "better"
    assert result.chance_score <= 0 < result.baseline_score
    (found,) = result.number_scores
    assert found.name == "goal"
    assert found.observed == tuple(observed)
    np.testing.assert_allclose(found.predicted, predicted, atol=1e-4)
    assert found.rmse == pytest.approx(root_mean_squared_error(observed, predicted), abs=1e-5)
    assert found.guess_rmse == pytest.approx(root_mean_squared_error(observed, guessed))
    along = find_path(table, PathSettings(k_max=4, cv=4))
    assert along.curve.by_k()[3][0] == result.score
    beside = compare(table, CompareSettings(k=(3,), methods=("topk", "rfs"), cv=4))
    assert beside.curve.mean(result.metric)[0, 0] == result.score
    assert beside.curve.metrics[1:] == ("rmse", "mae")
    assert beside.verdict.level == along.verdict.level == "better"
    write_selection(tmp_path, result)
    kept = json.loads((tmp_path / "result.json").read_text())["number_scores"]
    assert kept[0]["rmse"] == found.rmse


def test_the_saved_model_of_counts_predicts_rates(counts: Table, tmp_path: Path) -> None:
    result = selected(counts, 3, cv=0, stability=0)
    assert {feature.name for feature in result.features} == {"f2", "f5", "f9"}
    assert result.number_scores == ()
    (tmp_path / "model.json").write_text(result.model.to_json())
    model = SavedModel.load(tmp_path)
    assert (model.task, model.judge.rule, model.selector.rule) == ("counts", "rates", "rates")
    Z = counts.X[:, [feature.index for feature in result.features]]
    judge = make_pipeline(StandardScaler(), PoissonRegressor(alpha=1e-2, max_iter=300))
    rates = judge.fit(Z, counts.y).predict(Z)
    np.testing.assert_allclose(model.predict(counts.path), rates, rtol=1e-10)
    own = TopK(3, task="counts", random_state=0).fit(counts.X, counts.y)
    log_rates = counts.X @ own.coef_.ravel() + own.intercept_
    np.testing.assert_allclose(model.selector.predict(Z, 0).ravel(), np.exp(log_rates), rtol=1e-10)
    held = score_holdout(model, open_table(counts.path))
    assert held.score == pytest.approx(d2_tweedie_score(counts.y, rates, power=1))
    assert held.chance == pytest.approx(0.0, abs=1e-12)
    assert held.scores["rmse"] == pytest.approx(root_mean_squared_error(counts.y, rates))


def test_each_of_several_numbers_has_its_errors(tmp_path: Path) -> None:
    table = make(tmp_path, "n*", n1=SCORE, n2=SCORE - X[:, 2] + 100)
    found = selected(table, 4, cv=3, stability=0).number_scores
    assert [one.name for one in found] == ["n1", "n2"]
    for one, y in zip(found, table.y.T, strict=True):
        assert sorted(one.observed) == sorted(y.tolist())
        assert 0 < one.rmse < one.guess_rmse == pytest.approx(y.std(), rel=0.1)


def test_many_samples_are_thinned_for_the_figure_alone(numbers: Table, monkeypatch: object) -> None:
    whole = selected(numbers, 3, cv=3, stability=0).number_scores[0]
    monkeypatch.setattr("rowsparse.workflow.cross_validation._MOST_POINTS", 10)
    thinned = selected(numbers, 3, cv=3, stability=0).number_scores[0]
    assert (len(whole.observed), len(thinned.observed)) == (N, 10)
    assert (thinned.rmse, thinned.guess_rmse) == (whole.rmse, whole.guess_rmse)
