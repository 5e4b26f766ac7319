"""The course of a proof as it is kept."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from rowsparse import TopK
from rowsparse.selectors.topk import proof_history
from rowsparse.selectors.topk.proof_history import ProofHistory


def test_only_changes_and_the_end_are_kept() -> None:
    history = ProofHistory()
    for point in ((5.0, 0.0, 0), (5.0, 3.0, 1), (5.0, 3.0, 2), (4.0, 2.5, 3)):
        history.record(*point)
    columns = history.finished(4.0, 4.0, 7, lambda values: 10 * values)
    assert columns["objective"].tolist() == [50, 50, 40, 40]
    assert columns["lower_bound"].tolist() == [0, 30, 30, 40]
    assert columns["nodes"].tolist() == [0, 1, 3, 7]
    assert (np.diff(columns["seconds"]) >= 0).all()


def test_a_long_history_is_thinned_but_keeps_its_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_history, "_MOST_POINTS", 10)
    history = ProofHistory()
    for bound in range(1000):
        history.record(2000.0, float(bound), bound)
    bounds = history.finished(2000.0, 1500.0, 1000, np.asarray)["lower_bound"]
    assert len(bounds) <= 11
    assert (bounds[0], bounds[-2], bounds[-1]) == (0, 999, 1500)
    assert (np.diff(bounds) > 0).all()


@pytest.mark.parametrize("options", [{}, {"loss": "logistic"}, {"n_restarts": 0}])
@pytest.mark.parametrize("unit", [1.0, 1e100])
def test_it_ends_with_what_is_reported(options: dict[str, object], unit: float) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    y = y if options.get("loss") else unit * y
    task = "auto" if options.get("loss") else "regression"
    selector = TopK(3, certify=True, task=task, random_state=0, **options)
    selector.fit(X[:200, :10], y[:200])
    history = selector.proof_history_
    assert history["objective"][-1] == selector.objective_
    assert history["lower_bound"][-1] == selector.lower_bound_
    assert history["nodes"][-1] == selector.n_nodes_
    assert (history["lower_bound"] <= history["objective"][-1] * (1 + 1e-9)).all()


def test_without_a_proof_there_is_none() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    selector = TopK(2, certify=True, random_state=0).fit(X, y)
    assert not hasattr(selector.set_params(certify=False).fit(X, y), "proof_history_")
