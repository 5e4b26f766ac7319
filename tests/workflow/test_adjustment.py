"""Covariates: in every model, not counted, reported apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from rowsparse import NearOptimal, TopK
from rowsparse.workflow.compare import compare
from rowsparse.workflow.select import find_path
from rowsparse.workflow.settings import CompareSettings, PathSettings
from rowsparse.workflow.table import Table

from .planted import SCORE, D, N, X, make, selected

SITE = np.array(["north", "south", "west"])[np.digitize(X[:, 3], [-0.5, 0.5])]
SHIFT = 3 * np.unique(SITE, return_inverse=True)[1]
COLUMNS = ["f0", "site=north", "site=south", "site=west"]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return make(tmp_path, goal=SCORE + SHIFT + X[:, 0], site=SITE)


def test_they_are_in_and_do_not_count(table: Table) -> None:
    result = selected(table, 3, adjust="site,f0", stability=4, cv=3)
    groups = [table.groups["site"].tolist()]
    held = [0, *groups[0]]
    direct = TopK(5, include=held, feature_groups=groups, random_state=0).fit(table.X, table.y)
    chosen = set(np.flatnonzero(direct.get_support()).tolist()) - set(held)
    assert {feature.index for feature in result.features} == chosen == {2, 5, 9}
    assert result.k == 3
    assert result.n_forced == 0
    assert result.data.n_features == D - 1
    assert all(feature.frequency is not None for feature in result.features)
    assert [covariate.name for covariate in result.covariates] == COLUMNS
    sd = table.X[:, held].std(axis=0)
    found = [covariate.coefficients[0] for covariate in result.covariates]
    np.testing.assert_allclose(found, direct.coef_.ravel()[held] * sd)
    note = "Adjusted for 'f0' and 'site': in every model, and not counted."
    assert note in result.data.notes
    others = {other.name for row in result.closest for other in row}
    assert not others & set(COLUMNS)


def test_lists_of_choices_are_without_them(table: Table) -> None:
    options = {"certify": True, "alternatives": 0.2, "stability": 0, "cv": 0, "include": "f2"}
    result = selected(table, 2, adjust="site,f0", **options)
    groups = [table.groups["site"].tolist()]
    selector = TopK(
        4, include=[0, 2, *groups[0]], feature_groups=groups, certify=True, random_state=0
    )
    near, found = NearOptimal(selector, tolerance=0.2).fit(table.X, table.y), result.alternatives
    assert found is not None
    assert found.is_complete
    assert len(near.choices_) > 1
    names = [one.name for one in found.features]
    for choice, direct in zip(found.choices, near.choices_, strict=True):
        chosen = {table.names[j] for j in direct.tolist()} - set(COLUMNS)
        assert {names[j] for j in choice} == chosen
    np.testing.assert_allclose(found.increases, near.objectives_ / near.objective_ - 1)
    held = found.of(2)
    assert held is not None
    assert held.is_forced
    assert held not in found.indispensable
    assert found.of(0) is None
    assert result.proof is not None
    assert result.proof.listed is not None
    assert result.certificate is not None
    assert result.certificate.status == near.status_


def test_a_category_is_one_feature_of_a_list(tmp_path: Path) -> None:
    table = make(tmp_path, goal=SCORE + SHIFT, site=SITE)
    options = {"certify": True, "alternatives": 0.3, "stability": 0, "cv": 0}
    found = selected(table, 2, **options).alternatives
    assert found is not None
    site = found.of(int(table.groups["site"][1]))
    assert site is not None
    assert (site.name, len(site.columns), site.verdict) == ("site", 3, "all")


def test_scores_are_of_models_with_them(table: Table) -> None:
    result = selected(table, 3, adjust="site,f0", stability=0, cv=3)
    held = [0, *table.groups["site"].tolist()]
    both, alone = [], []
    for train, test in KFold(3, shuffle=True, random_state=0).split(table.X):
        search = TopK(5, n_restarts=0, include=held, feature_groups=[held[1:]], random_state=0)
        S = search.fit(table.X[train], table.y[train]).get_support()
        for columns, scores in ((S, both), (held, alone)):
            model = LinearRegression().fit(table.X[train][:, columns], table.y[train])
            scores.append(model.score(table.X[test][:, columns], table.y[test]))
    assert result.score == pytest.approx(np.mean(both))
    assert result.covariate_score == pytest.approx(np.mean(alone))
    shared: dict[str, Any] = {"cv": 3, "adjust": "site,f0"}
    along = find_path(table, PathSettings(k_max=4, **shared))
    assert along.ks == (1, 2, 3, 4)
    assert [support.size for support in along.supports] == [1, 2, 3, 4]
    assert along.supports[2].tolist() == [2, 5, 9]
    assert along.curve.by_k()[3][0] == pytest.approx(result.score)
    beside = compare(table, CompareSettings(k=(3,), methods=("topk",), **shared))
    assert beside.curve.mean("r2")[0, 0] == pytest.approx(result.score)
    assert all(record.n_selected == 3 for record in beside.curve.records)


def test_methods_that_hold_nothing_in_are_judged_with_them(table: Table) -> None:
    plain = compare(table, CompareSettings(k=(2,), methods=("fstatistic",), cv=3))
    held = compare(table, CompareSettings(k=(2,), methods=("fstatistic",), cv=3, adjust="site"))
    assert held.curve.mean("r2")[0, 0] > plain.curve.mean("r2")[0, 0]
    chosen = {j for record in held.curve.records for j in record.support}
    assert not chosen & set(table.groups["site"].tolist())
    assert any("selected among the other columns only" in note for note in held.data.notes)


def test_the_saved_model_has_them(table: Table) -> None:
    result = selected(table, 2, adjust="site", stability=0, cv=0)
    assert {column.name for column in result.model.columns} == {
        "site",
        *(feature.name for feature in result.features),
    }
    S = [feature.index for feature in (*result.features, *result.covariates)]
    answer = LinearRegression().fit(table.X[:, S], table.y).predict(table.X[:, S])
    np.testing.assert_allclose(result.model.predict(table.path), answer)
    assert len(answer) == N


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 2, "adjust": "f0", "include": "f0"}, "--adjust and --include overlap in 'f0'"),
        (
            {"k": 2, "adjust": "site", "exclude": "site=west"},
            "--adjust and --exclude overlap in 'site'",
        ),
        ({"k": 2, "adjust": "goal"}, "adjust: 'goal' is the target"),
        ({"k": 2, "adjust": "*"}, "adjust names all columns: none is left"),
        ({"k": 2, "adjust": "f0", "method": "rfs"}, "RFS has no --adjust: leave it out, or take"),
        ({"k": 12, "adjust": "f0,site"}, "-k 12 is more than the 11 columns"),
    ],
)
def test_what_makes_no_sense(table: Table, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        selected(table, **options)
