"""What results tell about themselves."""

from __future__ import annotations

from rowsparse.workflow.results import KCurve


def test_scores_by_k() -> None:
    curve = KCurve("r2", (1, 4), (0.2, 0.6), (0.05, 0.01), best_k=4, enough_k=4, chosen_k=1)
    assert curve.by_k() == {1: (0.2, 0.05), 4: (0.6, 0.01)}
