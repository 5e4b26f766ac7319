"""Tables, means and stability of records."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import ShuffleSplit

from rowsparse.evaluation import Record, SelectionCurve, selection_curve, stability


def test_stability_is_that_of_the_supports():
    X, y = load_iris(return_X_y=True)
    cv = ShuffleSplit(6, test_size=0.5, random_state=1)
    curve = selection_curve(["topk"], X, y, [2], cv=cv)
    masks = np.zeros((6, 4), dtype=bool)
    supports = [r.support for r in curve.records if r.estimator == "1-NN"]
    for row, support in zip(masks, supports, strict=True):
        row[list(support)] = True
    assert curve.stability("TopK", 2) == tuple(stability(masks))


def test_records_as_a_table():
    X, y = load_iris(return_X_y=True)
    frame = selection_curve(["topk"], X, y, [1, 2], cv=3).to_frame()
    assert len(frame) == 3 * 2 * 2
    assert {"selector", "k", "split", "accuracy", "objective", "seconds"} <= set(frame.columns)
    assert frame.loc[frame.k == 2, "support"].str.split().str.len().eq(2).all()


def record(selector: str, k: int, split: int, accuracy: float, estimator: str = "svm", **fields):
    scores = {"accuracy": accuracy}
    return Record(selector, estimator, "honest", k, split, scores=scores, **fields)


def test_means_and_deviations_are_over_the_splits():
    records = [
        record("b", 2, 0, 0.5),
        record("b", 2, 1, 0.7),
        record("b", 1, 0, 0.1),
        record("a", 2, 0, 0.9, seconds=3.0),
        record("a", 1, 0, 0.4),
        record("a", 2, 0, 0.0, estimator="tree"),
    ]
    curve = SelectionCurve(records, "classification", "honest", 4)
    assert (curve.selectors, curve.estimators, curve.ks) == (["b", "a"], ["svm", "tree"], [1, 2])
    np.testing.assert_allclose(curve.mean("accuracy"), [[0.1, 0.6], [0.4, 0.9]])
    np.testing.assert_allclose(curve.sd("accuracy"), [[0.0, 0.1], [0.0, 0.0]], atol=1e-15)
    np.testing.assert_array_equal(curve.values("seconds", "a", "svm", 2), [3.0])
    np.testing.assert_array_equal(curve.values("accuracy", "a", "tree", 2), [0.0])


@pytest.mark.parametrize("supports", [[(0,)], [(0, 1, 2), (0, 1, 2)]])
def test_one_selection_or_all_features_have_no_stability(supports):
    records = [record("a", 1, at, 1.0, support=s) for at, s in enumerate(supports)]
    assert np.isnan(SelectionCurve(records, "classification", "honest", 3).stability("a", 1)).all()
