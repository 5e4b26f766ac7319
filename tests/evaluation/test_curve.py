"""Selection inside the folds, what happens when it is not, and the records of it."""

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris, make_multilabel_classification, make_regression
from sklearn.feature_selection import SelectKBest, SelectorMixin, f_classif
from sklearn.model_selection import ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rowsparse import TopK, stability
from rowsparse.evaluation import Record, SelectionCurve, selection_curve


class Nosy(SelectorMixin, BaseEstimator):
    """Takes the first k columns and remembers how many samples it saw."""

    seen: list[int] = []  # noqa: RUF012

    def __init__(self, n_features_to_select=1):
        self.n_features_to_select = n_features_to_select

    def fit(self, X, y):
        Nosy.seen.append(len(X))
        self.support_ = np.arange(X.shape[1]) < self.n_features_to_select
        return self

    def _get_support_mask(self):
        return self.support_


class Failing(Nosy):
    def fit(self, X, y):
        raise ValueError("no luck today.")


def test_honest_accuracy_is_that_of_a_pipeline():
    X, y = load_iris(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    curve = selection_curve({"F": SelectKBest(f_classif)}, X, y, [1, 2], cv=folds)
    for k in (1, 2):
        model = make_pipeline(
            StandardScaler(), SelectKBest(f_classif, k=k), StandardScaler(), SVC(kernel="linear")
        )
        expected = cross_val_score(model, X, y, cv=folds)
        np.testing.assert_allclose(curve.values("accuracy", "F", "linear SVM", k), expected)
    assert curve.task == "classification"
    assert curve.metrics[0] == "accuracy"
    assert curve.estimators == ["linear SVM", "1-NN"]


def test_who_sees_what():
    X, y = load_iris(return_X_y=True)
    Nosy.seen.clear()
    selection_curve({"nosy": Nosy()}, X, y, [2], cv=3)
    assert Nosy.seen == [100, 100, 100]
    Nosy.seen.clear()
    curve = selection_curve({"nosy": Nosy()}, X, y, [2], cv=3, protocol="published")
    assert Nosy.seen == [150]
    assert {record.protocol for record in curve.records} == {"published"}
    assert np.isnan(curve.stability("nosy", 2)).all()


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.long)])
def test_the_same_answer_for_any_number_of_jobs(backend):
    X, y = load_iris(return_X_y=True)
    with parallel_config(backend):
        one, two = (
            selection_curve(["topk", "fstatistic"], X, y, [1, 2], cv=2, n_jobs=jobs)
            for jobs in (1, 2)
        )
    assert [r.support for r in one.records] == [r.support for r in two.records]
    np.testing.assert_array_equal(one.mean("accuracy"), two.mean("accuracy"))
    assert one.selectors == ["TopK", "FStatistic"]


def test_labels_numbers_and_sparse_data():
    X, Y = make_multilabel_classification(60, 8, n_classes=3, random_state=0)
    curve = selection_curve(["topk"], X, Y, [3], cv=3)
    assert curve.metrics == ("macro_f1", "accuracy")
    everything = selection_curve(["topk"], X, Y, [8], cv=3)
    assert 0.4 < curve.mean("macro_f1")[0, 0] <= everything.mean("macro_f1")[0, 0] + 0.1
    neighbours = selection_curve(["topk"], X, Y, [3], {"3-NN": KNeighborsClassifier(3)}, cv=3)
    assert 0.4 < neighbours.mean("macro_f1")[0, 0] < 1
    X, y = make_regression(60, 8, n_informative=2, noise=0.1, random_state=0)
    curve = selection_curve(["topk"], X, y, [2], cv=3)
    assert curve.mean("r2")[0, 0] > 0.99
    np.testing.assert_allclose(
        selection_curve(["topk"], sp.csr_array(X), y, [2], cv=3).mean("r2"), curve.mean("r2")
    )


def test_errors_are_raised_or_recorded():
    X, y = load_iris(return_X_y=True)
    selectors = {"fails": Failing(), "works": TopK(1)}
    with pytest.raises(ValueError, match="no luck today"):
        selection_curve(selectors, X, y, [1])
    curve = selection_curve(selectors, X, y, [1], on_error="record")
    failed = [r for r in curve.records if r.selector == "fails"]
    assert {r.error for r in failed} == {"ValueError: no luck today."}
    assert np.isnan(curve.mean("accuracy")[0, 0])
    assert curve.mean("accuracy")[1, 0] > 0.8


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"ks": []}, ValueError, "ks must hold at least one"),
        ({"ks": [0]}, ValueError, "every one of ks must be an integer of at least 1"),
        ({"ks": [1.5]}, ValueError, "every one of ks must be an integer"),
        ({"selectors": []}, ValueError, "selectors must name at least one"),
        ({"selectors": ["nothing"]}, ValueError, "There is no selector 'nothing'"),
        ({"selectors": {"svm": SVC()}}, TypeError, "'svm' must be a selector"),
        ({"protocol": "dishonest"}, ValueError, "protocol must be one of"),
        ({"on_error": "ignore"}, ValueError, "on_error must be one of"),
    ],
)
def test_wrong_input(change, error, message):
    X, y = load_iris(return_X_y=True)
    arguments = {"selectors": ["topk"], "ks": [1]} | change
    with pytest.raises(error, match=message):
        selection_curve(X=X, y=y, **arguments)


# ------------------------------------------------------------------------------------------ records
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
