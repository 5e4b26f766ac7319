"""A selection is that of the selector itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rowsparse import StabilitySelection, TopK, stability
from rowsparse._compat import HAS_CALLBACKS
from rowsparse.workflow.table import Table

from .files import read
from .planted import SCORE, D, X, make, selected


def test_features_are_those_of_topk(classes: Table) -> None:
    result = selected(classes, 4, seed=7)
    fitted = TopK(4, random_state=7).fit(classes.X, classes.y)
    chosen = fitted.get_support(indices=True)
    assert sorted(feature.index for feature in result.features) == chosen.tolist()
    scores = [feature.score for feature in result.features]
    assert scores == sorted(fitted.scores_[chosen].tolist(), reverse=True)
    assert [feature.rank for feature in result.features] == [1, 2, 3, 4]
    assert result.objective == fitted.objective_
    assert result.certificate is not None
    assert result.certificate.status == "heuristic"
    first = result.features[0]
    assert first.name == f"f{first.index}"
    expected = fitted.coef_[:, first.index] * classes.X[:, first.index].std()
    np.testing.assert_allclose(first.coefficients, expected)
    strongest = int(np.abs(expected).argmax())
    against = "" if expected[strongest] > 0 else "against "
    assert first.speaks_for == f"{against}{'abc'[strongest]}"


def test_frequencies_are_those_of_stability_selection(classes: Table) -> None:
    result = selected(classes, 3, stability=9, seed=2, cv=0)
    selector = TopK(3, n_restarts=0, random_state=2)
    expected = StabilitySelection(selector, n_subsamples=9, random_state=2)
    expected.fit(classes.X, classes.y)
    for feature in result.features:
        assert feature.frequency == expected.frequencies_[feature.index]
        low, high = feature.frequency_interval or (0, 0)
        assert (low, high) == tuple(expected.frequency_intervals_[feature.index])
    assert result.stability is not None
    assert result.stability[0] == expected.stability_
    assert np.isnan(result.score)


def test_stability_leaves_out_what_had_to_be_selected(tmp_path: Path) -> None:
    colour = np.array(["red", "green", "blue"])[np.digitize(X[:, 3], [-0.5, 0.5])]
    table = make(tmp_path, goal=SCORE, colour=colour)
    free = selected(table, 2, exclude="colour,f0", stability=9, cv=0)
    forced = selected(table, 4, include="colour,f0", stability=9, cv=0)
    assert forced.n_forced == 2
    marked = {feature.name for feature in forced.features if feature.is_forced}
    assert marked == {"colour=red", "colour=green", "colour=blue", "f0"}
    for feature in forced.features:
        assert (feature.frequency is None) == feature.is_forced
    assert not any(feature.is_forced for feature in free.features)
    selector = TopK(
        4, include=[0, *range(D, D + 3)], feature_groups=[list(range(D, D + 3))], n_restarts=0
    )
    again = StabilitySelection(selector, n_subsamples=9, random_state=0).fit(table.X, table.y)
    assert forced.stability == stability(again.supports_[:, 1:D])
    assert forced.stability[0] < again.stability_
    assert selected(table, 2, include="colour,f0", stability=4, cv=0).stability is None


def test_numbers(numbers: Table) -> None:
    result = selected(numbers, 3, stability=4)
    assert sorted(feature.index for feature in result.features) == [2, 5, 9]
    assert result.metric == "r2"
    assert result.score > 0.8
    assert result.confusion is None
    assert result.distributions[0].groups == ("low", "middle", "high")
    meaning = {feature.index: feature.speaks_for for feature in result.features}
    assert meaning == {2: "higher goal", 5: "higher goal", 9: "lower goal"}
    assert result.data.classes == ()


def test_several_labels(labels: Table) -> None:
    result = selected(labels, 4, stability=4, cv=3)
    assert result.metric == "macro_f1"
    assert result.score > result.chance_score + 0.2
    assert result.data.classes == ("l0", "l1", "l2")
    assert all(len(feature.coefficients) == 3 for feature in result.features)
    assert result.distributions[0].groups == ("l0", "l1", "l2")


def test_a_proof(classes: Table) -> None:
    result = selected(classes, 2, certify=True, alpha=2.0, stability=0, cv=0)
    assert result.certificate is not None
    assert result.certificate.status == "optimal"
    assert result.certificate.lower_bound <= result.certificate.objective
    if HAS_CALLBACKS:
        last = result.progress[-1]
        assert last.objective == result.objective
        assert last.lower_bound is not None
        assert last.lower_bound <= last.objective


def test_sparse_data(tmp_path: Path) -> None:
    from scipy.io import savemat
    from scipy.sparse import csc_array

    counts = np.maximum(np.round(2 * X), 0)
    savemat(tmp_path / "a.mat", {"X": csc_array(counts), "Y": (SCORE > 0).astype(float)[:, None]})
    dense = tmp_path / "dense.mat"
    savemat(dense, {"X": counts, "Y": (SCORE > 0).astype(float)[:, None]})
    thin, thick = (selected(read(p), 3, stability=3) for p in (tmp_path / "a.mat", dense))
    assert [f.index for f in thin.features] == [f.index for f in thick.features]
    np.testing.assert_allclose(thin.correlation, thick.correlation, atol=1e-10)
    assert thin.score == thick.score


def test_all_features_may_be_selected(classes: Table) -> None:
    result = selected(classes, D, stability=2, cv=2)
    assert result.k == D
    assert result.closest == ((),) * D
    assert result.certificate is not None
    assert result.certificate.status == "only"


def test_a_model_that_cannot_be_fitted_is_a_warning(
    classes: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise ValueError("Input contains infinity.")

    monkeypatch.setattr("rowsparse.workflow.select.fit_model", fail)
    result = selected(classes, 2, cv=0, stability=0)
    assert result.model is None
    assert result.warnings == ("No model is saved: Input contains infinity.",)
