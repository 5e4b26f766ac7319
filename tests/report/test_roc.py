"""ROC curves go from the lower left to the upper right."""

from __future__ import annotations

import math

from rowsparse.report.roc import MOST_CURVES, roc_chart
from rowsparse.workflow.class_scores import ClassScore

from .reading import classed, parse


def score(name: str, auc: float) -> ClassScore:
    return ClassScore(name, 5, 0.8, 0.9, auc, (0.0, 0.0, 1.0), (0.0, auc, 1.0))


def test_one_curve_for_two_classes() -> None:
    chart = roc_chart([score("no", 0.9), score("yes", 0.9)], two_classes=True)
    assert chart is not None
    assert [(name, words) for name, _, words in chart.legend] == [("yes", "AUC 0.900")]
    root = parse(chart.drawing)
    assert len(classed(root, "line")) == 1
    points = [point.split(",") for point in classed(root, "line")[0].get("points", "").split()]
    (x0, y0), *_, (x1, y1) = [(float(x), float(y)) for x, y in points]
    assert x0 < x1
    assert y0 > y1
    guessing = classed(root, "level")[0].get("points", "").split()
    assert guessing == [",".join(points[0]), ",".join(points[-1])]


def test_of_many_classes_those_that_are_hard_to_tell() -> None:
    scores = [score(f"c{at}", 0.5 + at / 100) for at in range(30)]
    chart = roc_chart(scores[::-1], two_classes=False)
    assert chart is not None
    assert {name for name, *_ in chart.legend} == {f"c{at}" for at in range(MOST_CURVES)}
    assert chart.n_left_out == 30 - MOST_CURVES


def test_no_curve_no_chart() -> None:
    nothing = ClassScore("x", 0, math.nan, math.nan, math.nan, (), ())
    assert roc_chart([nothing], two_classes=False) is None
    assert roc_chart([], two_classes=False) is None
