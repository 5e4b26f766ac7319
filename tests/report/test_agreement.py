"""The agreement of methods is counted over folds and methods."""

from __future__ import annotations

from rowsparse.evaluation import Record, SelectionCurve
from rowsparse.report.agreement import MOST_FEATURES, agreement

from .reading import plain

NAMES = tuple(f"f{j}" for j in range(100))


def curve(**supports: list[tuple[int, ...]]) -> SelectionCurve:
    records = [
        Record(method, "SVM", "honest", 2, split, support=support)
        for method, chosen in supports.items()
        for split, support in enumerate(chosen)
    ]
    return SelectionCurve(records, "classification", "honest", 100)


def test_features_that_most_methods_agree_on_come_first() -> None:
    found = agreement(
        curve(
            A=[(0, 1), (0, 1), (0, 1), (0, 1)],
            B=[(0, 2), (0, 2), (3, 2), (3, 1)],
            C=[(5, 6), (5, 6), (5, 6), (5, 0)],
        ),
        NAMES,
        2,
    )
    assert found is not None
    assert list(found.chart.rows[:2]) == ["f0", "f1"]
    assert set(found.chart.rows) == {"f0", "f1", "f2", "f3", "f5", "f6"}
    assert [cell.text.replace("\u00a0", " ") for cell in found.chart.cells[0]] == [
        "100 %",
        "50 %",
        "25 %",
    ]
    assert "no feature is selected by all 3 methods" in found.sentence


def test_features_of_all_methods_are_named() -> None:
    found = agreement(curve(A=[(0, 1)], B=[(1, 2)]), NAMES, 2)
    assert found is not None
    assert plain(found.sentence).endswith(
        "selected by all 2 methods in at least half of the folds: f1."
    )


def test_too_many_features_are_counted_not_drawn() -> None:
    found = agreement(curve(A=[tuple(range(50))], B=[tuple(range(40))]), NAMES, 2)
    assert found is not None
    assert len(found.chart.rows) == MOST_FEATURES
    assert found.n_left_out == 50 - MOST_FEATURES


def test_one_method_has_nobody_to_agree_with() -> None:
    assert agreement(curve(A=[(0, 1)]), NAMES, 2) is None
    assert agreement(curve(A=[(0, 1)], B=[(0, 1)]), (), 2) is None
