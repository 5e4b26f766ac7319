"""Survival times in a table: how they are read, scored, modelled and told."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import StratifiedKFold

from rowsparse import TopK, TopKRegressor
from rowsparse.evaluation.survival import log_rank, martingale_residuals
from rowsparse.report import words
from rowsparse.workflow.compare import compare
from rowsparse.workflow.cross_validation import table_folds
from rowsparse.workflow.leakage import find_leaks
from rowsparse.workflow.loading import open_table
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.model import SavedModel, score_holdout
from rowsparse.workflow.plan import make_plan
from rowsparse.workflow.select import find_path
from rowsparse.workflow.settings import (
    CompareSettings,
    EvaluationSettings,
    MethodSettings,
    PathSettings,
    TableSettings,
)
from rowsparse.workflow.table import Table, read_table
from rowsparse.workflow.writing import write_predictions, write_selection

from .files import csv
from .planted import SCORE, D, N, X, selected

RNG = np.random.default_rng(11)
TIME, UNTIL = RNG.exponential(np.exp(-1.5 * SCORE)) + 0.01, RNG.exponential(3, N) + 0.01
DIED = TIME <= UNTIL
MONTHS = np.round(np.minimum(TIME, UNTIL), 3) + 0.001


def frame(**more: object) -> pl.DataFrame:
    columns = {f"f{j}": X[:, j] for j in range(D)} | {"months": MONTHS, "died": DIED.astype(int)}
    return pl.DataFrame(columns | more)


def read(path: Path, **settings: object) -> Table:
    return read_table(path, TableSettings(**{"time": "months", "event": "died", **settings}))


@pytest.fixture
def deaths(tmp_path: Path) -> Table:
    return read(csv(tmp_path / "deaths.csv", frame()))


# -------------------------------------------------------------------------------------- reading
@pytest.mark.parametrize(
    ("event", "otherwise", "value"),
    [
        (1, 0, None),
        (2, 1, None),
        ("yes", "no", None),
        ("Dead", "Alive", None),
        ("1:DECEASED", "0:LIVING", None),
        (True, False, None),
        ("b", "a", "b"),
        (3, 7, "3"),
    ],
)
def test_what_the_event_is(tmp_path: Path, event: object, otherwise: object, value: object) -> None:
    words = [event if one else otherwise for one in DIED.tolist()]
    path = csv(tmp_path / "a.csv", frame(died=words))
    table = read(path, event="died" if value is None else f"died={value}")
    assert (table.task, table.target.names) == ("survival", ("months", "died"))
    np.testing.assert_array_equal(table.y["event"], DIED)
    np.testing.assert_array_equal(table.y["time"], MONTHS)
    assert table.names == [f"f{j}" for j in range(D)]
    assert f"{DIED.sum()} of {N} rows" in table.notes[0]
    assert make_plan(table, MethodSettings()).summary().n_events == DIED.sum()


def test_of_more_values_the_others_are_censored(tmp_path: Path) -> None:
    words = np.where(DIED, "dead", np.where(np.arange(N) % 2, "lost", "well"))
    table = read(csv(tmp_path / "a.csv", frame(died=words)), event="died=dead")
    np.testing.assert_array_equal(table.y["event"], DIED)


def changed(column: str, value: object) -> pl.DataFrame:
    """The table with another value in the fourth row."""
    rows = pl.arange(N, eager=True) == 3
    return frame().with_columns(pl.when(rows).then(pl.lit(value)).otherwise(column).alias(column))


@pytest.mark.parametrize(
    ("table", "settings", "sentence"),
    [
        (frame(), {"event": None}, "--time and --event need each other"),
        (frame(), {"target": "f1"}, "--time and --event stand in the place of --target"),
        (frame(), {"task": "regression"}, "--time is for survival: leave --task regression out"),
        (frame(), {"time": "month"}, "--time: there is no column 'month' in the table; did you"),
        (frame(), {"event": "dead=1"}, "--event: there is no column 'dead' in the table"),
        (frame(), {"time": "f1*"}, "--time names one column; got 'f1.'"),
        (frame(), {"event": "months"}, "--time and --event both name 'months'"),
        (frame(), {"drop": "died"}, "'died' cannot be both in --time or --event and in --drop"),
        (changed("months", 0.0), {}, "'months' is 0 in line 5, and times must be above 0"),
        (changed("months", -2.0), {}, "'months' is -2 in line 5"),
        (changed("months", None), {}, "'months' is missing in 1 of 80 rows: leave them out with"),
        (changed("died", None), {}, "'died' is missing in 1 of 80 rows"),
        (frame(months=["soon"] * N), {}, "--time: 'months' must hold numbers"),
        (frame(died=["no"] * N), {}, "--event: 'died' has no event, only 'no'"),
        (frame(), {"event": "died=2"}, "no row of 'died' is '2'; it holds '0' and '1'"),
        (frame(died=["a", "b"] * 40), {}, "holds 'a' and 'b': say which value is the event, as in"),
        (changed("died", 5), {}, "holds '0', '1' and '5': say which"),
        (frame(cens=DIED), {"event": "cens"}, "say which value is the event, as in --event cens"),
        (frame(), {"class_weight": "balanced"}, "--class-weight is for classes"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, table: pl.DataFrame, settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        read(csv(tmp_path / "a.csv", table), **settings)
    assert "\n" not in str(caught.value)


def test_survival_and_its_loss_need_their_columns(numbers: Table, deaths: Table) -> None:
    with pytest.raises(InputError, match="read it with --time and --event"):
        selected(numbers, 2, loss="cox")
    with pytest.raises(InputError, match="is --loss cox: leave --loss squared out"):
        selected(deaths, 2, loss="squared")
    with pytest.raises(InputError, match="name the columns with --time and --event in the place"):
        TableSettings(target="months").for_loss("cox")
    assert TableSettings(time="a", event="b").for_loss("cox").task == "auto"
    with pytest.raises(InputError, match="metric for survival is one of concordance"):
        selected(deaths, 2, metric="auc")


def test_rows_without_a_time_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", changed("months", None))
    assert read(path, drop_missing_target=True).X.shape[0] == N - 1


# -------------------------------------------------------------------------------------- scores
def concordance(y: np.ndarray, risks: np.ndarray) -> float:
    """By all pairs."""
    right = total = 0.0
    for i, j in combinations(range(len(y)), 2):
        for a, b in ((i, j), (j, i)):
            later = y["time"][b] > y["time"][a]
            tied = y["time"][b] == y["time"][a] and not y["event"][b]
            if y["event"][a] and (later or tied):
                total += 1
                right += (risks[a] > risks[b]) + 0.5 * (risks[a] == risks[b])
    return right / total


def test_the_score_is_the_concordance_of_held_out_samples(deaths: Table, tmp_path: Path) -> None:
    scores, y, high, folds = [], [], [], []
    splitter = StratifiedKFold(4, shuffle=True, random_state=0)
    for at, (train, test) in enumerate(splitter.split(deaths.X, DIED)):
        chosen = TopK(3, loss="cox", n_restarts=0, random_state=0)
        S = chosen.fit(deaths.X[train], deaths.y[train]).get_support()
        mean, sd = deaths.X[train][:, S].mean(axis=0), deaths.X[train][:, S].std(axis=0)
        Z = (deaths.X[:, S] - mean) / sd
        model = TopKRegressor(3, loss="cox", alpha=1e-2).fit(Z[train], deaths.y[train])
        risks = model.predict(Z[test])
        scores.append(concordance(deaths.y[test], risks))
        y.append(deaths.y[test])
        high.append(risks > np.median(risks))
        folds += [at] * test.size
    result = selected(deaths, 3, cv=4, stability=3)
    assert (result.metric, result.chance_score) == ("concordance", 0.5)
    assert result.score == pytest.approx(np.mean(scores))
    assert result.verdict.level == "better"
    assert result.verdict.opponent_score == 0.5
    assert 0.5 < result.baseline_score < 1
    found = result.survival
    np.testing.assert_array_equal(found.y, np.concatenate(y))
    np.testing.assert_array_equal(found.is_high, np.concatenate(high))
    # Four test samples in three training ones: 1 + 4 / 3 times the variance.
    p = log_rank(found.y, found.is_high, np.array(folds), inflation=1 + 4 / 3)
    assert found.p_value == pytest.approx(p, rel=1e-6)
    assert found.p_value < 0.01
    higher, lower = found.halves
    assert higher.median < lower.median
    assert (result.number_scores, result.class_scores, result.confusion) == ((), (), None)
    along = find_path(deaths, PathSettings(k_max=4, cv=4))
    assert along.curve.by_k()[3][0] == result.score
    beside = compare(deaths, CompareSettings(k=(3,), methods=("topk", "fspca"), cv=4))
    assert beside.curve.mean("concordance")[0, 0] == result.score
    assert beside.verdict.level == along.verdict.level == "better"
    write_selection(tmp_path, result)
    kept = json.loads((tmp_path / "result.json").read_text())
    assert kept["survival"]["log_rank_p"] == found.p_value
    assert kept["survival"]["halves"][0]["median"] == higher.median
    assert kept["data"]["n_events"] == DIED.sum()
    assert "coefficient of risk" in (tmp_path / "features.csv").read_text()


def test_repeated_folds_are_told_once(deaths: Table) -> None:
    once = selected(deaths, 3, cv=4, stability=0)
    twice = selected(deaths, 3, cv=4, repeats=2, stability=0)
    assert twice.score != once.score
    np.testing.assert_array_equal(twice.survival.y, once.survival.y)
    assert twice.survival.p_value == once.survival.p_value


def test_folds_have_events_alike(tmp_path: Path) -> None:
    rare = np.arange(N) % 10 == 0
    table = read(csv(tmp_path / "a.csv", frame(died=rare.astype(int))))
    splits = table_folds(table, EvaluationSettings(cv=4))
    assert [int(table.y["event"][test].sum()) for _, test in splits] == [2, 2, 2, 2]
    with pytest.raises(InputError, match="too few have the event: take fewer folds with --cv"):
        selected(table, 2, cv=20, stability=0)
    patients = frame(died=DIED.astype(int), who=np.arange(N) // 4)
    table = read(csv(tmp_path / "b.csv", patients), groups_column="who")
    for train, test in table_folds(table, EvaluationSettings(cv=4)):
        assert not set(table.sample_groups[train]) & set(table.sample_groups[test])
    assert np.isfinite(selected(table, 2, cv=4, stability=2).score)


def test_noise_is_seldom_better_than_guessing(tmp_path: Path) -> None:
    """Of 12 tables 2 at most, as of other targets; and the halves seldom differ."""
    levels, p = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        table = frame(months=rng.permutation(MONTHS), died=rng.permutation(DIED).astype(int))
        result = selected(read(csv(tmp_path / "a.csv", table)), 3, stability=0)
        levels.append(result.verdict.level)
        p.append(result.survival.p_value)
    assert levels.count("better") <= 2
    assert sum(value < 0.05 for value in p) <= 2


# ------------------------------------------------------------------- features and other methods
def test_methods_that_know_no_censoring_select_for_martingale_residuals(deaths: Table) -> None:
    plan = make_plan(deaths, MethodSettings(method="fstatistic"))
    rows = np.arange(0, N, 2)
    np.testing.assert_array_equal(plan.goal(rows), martingale_residuals(deaths.y[rows]))
    assert make_plan(deaths, MethodSettings()).goal(rows).dtype == deaths.y.dtype
    result = selected(deaths, 3, method="fstatistic", stability=0)
    assert {feature.name for feature in result.features} == {"f2", "f5", "f9"}
    assert (
        "FStatistic knows no censored times: it selects for martingale residuals."
        in result.data.notes
    )
    compared = compare(deaths, CompareSettings(k=(2,), methods=("topk", "rfs", "mrmr", "fspca")))
    assert compared.data.notes[-1].startswith("RFS and MRMR know no censored times: they select")


def test_features_by_themselves_are_told_by_the_risk(deaths: Table) -> None:
    result = selected(deaths, 3, cv=0, stability=0)
    risk = martingale_residuals(deaths.y)
    directions = {"f2": "higher", "f5": "higher", "f9": "lower"}
    for feature in result.features:
        r = np.corrcoef(deaths.X[:, feature.index], risk)[0, 1]
        assert feature.effect == pytest.approx(r)
        assert feature.effect_in == "risk"
        assert feature.speaks_for == f"{directions[feature.name]} risk"
    assert result.tests.group_names == ("risk",)
    said = words.tests_sentence(result.tests)
    assert "features go with the risk by themselves" in said
    assert said.endswith("the event less the hazard that its time adds up to.")
    assert words.direction_words(result.tests).startswith("to the right if it rises with the risk")
    assert result.distributions[0].groups == ("low", "middle", "high")
    assert result.survival is None


def test_columns_that_know_the_time_or_the_event_are_told(tmp_path: Path) -> None:
    table = frame(days=30 * MONTHS, cause=np.where(DIED, "known", "none"))
    plan = make_plan(read(csv(tmp_path / "a.csv", table)), MethodSettings())
    assert set(find_leaks(plan).names) == {"days", "cause"}


# -------------------------------------------------------------------------------------- the model
def test_the_saved_model_predicts_risks(deaths: Table, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(selected(deaths, 3, cv=0, stability=0).model.to_json())
    model = SavedModel.load(tmp_path)
    S = [deaths.names.index(feature.name) for feature in model.features]
    Z = (deaths.X[:, S] - deaths.X[:, S].mean(axis=0)) / deaths.X[:, S].std(axis=0)
    judge = TopKRegressor(3, loss="cox", alpha=1e-2).fit(Z, deaths.y)
    np.testing.assert_allclose(model.predict(deaths.path), judge.predict(Z), atol=1e-10)
    held = score_holdout(model, open_table(deaths.path))
    assert held.scores == {"concordance": pytest.approx(concordance(deaths.y, judge.predict(Z)))}
    assert held.chance == 0.5
    written = write_predictions(tmp_path, model, open_table(deaths.path))
    assert pl.read_csv(written).columns == ["row", "months", "died", "predicted risk"]
    # The event is that of the table of the selection; without one, nothing can be compared.
    none = csv(tmp_path / "none.csv", frame(died=np.zeros(N, dtype=int)))
    assert np.isnan(score_holdout(model, open_table(none)).score)
    assert model.predict(frame().drop("months", "died")).shape == (N,)
