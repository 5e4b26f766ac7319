"""TopK that predicts: scikit-learn's linear models on the selected columns."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from rowsparse import RowBlocks, TopK, TopKClassifier, TopKRegressor
from tests.selectors.cases import classes_of_two, numbers_of_three

ALPHA = 0.05


def two_classes() -> tuple[np.ndarray, np.ndarray]:
    X, y = classes_of_two()
    # Some on the wrong side, so that no class is separated from the others.
    return X, np.where(np.arange(len(y)) % 7 == 0, "b", np.where(y == "a", "a", "b"))


def three_classes() -> tuple[np.ndarray, np.ndarray]:
    X, y = classes_of_two()
    return X, np.where(np.arange(len(y)) % 7 == 0, "c", y)


def labels() -> tuple[np.ndarray, np.ndarray]:
    X, y = three_classes()
    return X, np.column_stack([y == "a", y != "b", X[:, 7] > 0.3]).astype(int)


def scaled(model: TopK, X: np.ndarray) -> np.ndarray:
    """The selected columns, standardised."""
    return np.asarray(StandardScaler().fit_transform(X)[:, model.support_])


@pytest.mark.parametrize("made", [two_classes, three_classes, labels])
def test_the_squared_loss_is_a_ridge_classifier_on_the_selected_columns(made: Any) -> None:
    X, y = made()
    ours = TopKClassifier(3, alpha=ALPHA, loss="squared", random_state=0).fit(X, y)
    Z = scaled(ours, X)
    theirs = RidgeClassifier(alpha=ALPHA * len(X)).fit(Z, y)
    # That one has labels -1 and 1, and ours 0 and 1, but for two classes.
    expected = theirs.decision_function(Z) / (1 if made is two_classes else 2)
    shift = 0.5 if made is three_classes else 0.0
    np.testing.assert_allclose(ours.decision_function(X) - shift, expected, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(Z))
    assert ours.coef_.shape == (1 if made is two_classes else 3, X.shape[1])
    assert not hasattr(ours, "predict_proba")


@pytest.mark.parametrize("made", [two_classes, three_classes, labels])
def test_the_logistic_loss_is_logistic_regression_on_the_selected_columns(made: Any) -> None:
    X, y = made()
    ours = TopKClassifier(3, alpha=ALPHA, loss="logistic", random_state=0).fit(X, y)
    Z = scaled(ours, X)
    one = LogisticRegression(C=1 / (ALPHA * len(X)), tol=1e-10, max_iter=1000)
    theirs = (one if made is two_classes else OneVsRestClassifier(one)).fit(Z, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(Z), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(Z))
    assert ours.score(X, y) == accuracy_score(y, ours.predict(X))


@pytest.mark.parametrize("n_targets", [1, 2])
def test_numbers_are_ridge_regression_on_the_selected_columns(n_targets: int) -> None:
    X, y = numbers_of_three()
    Y = y if n_targets == 1 else np.column_stack([y, X[:, 3] - y])
    ours = TopKRegressor(3, alpha=ALPHA, random_state=0).fit(X, Y)
    Z = scaled(ours, X)
    theirs = Ridge(alpha=ALPHA * len(X)).fit(Z, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(Z), atol=1e-9)
    assert ours.score(X, Y) == pytest.approx(r2_score(Y, theirs.predict(Z)))


@pytest.mark.parametrize("loss", ["squared", "logistic", "l21"])
def test_the_choice_is_that_of_topk_and_can_be_proven(loss: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    options: dict[str, Any] = {"loss": loss, "certify": loss != "l21", "random_state": 0}
    topk, classifier = (cls(3, **options).fit(X, y) for cls in (TopK, TopKClassifier))
    np.testing.assert_array_equal(classifier.support_, topk.support_)
    np.testing.assert_array_equal(classifier.coef_, topk.coef_)
    np.testing.assert_array_equal(classifier.transform(X), topk.transform(X))
    assert topk.coef_.shape == (1, 30)
    assert classifier.status_ == ("heuristic" if loss == "l21" else "optimal")
    assert classifier.score(X, y) > 0.9


def test_whole_numbers_are_numbers_for_one_and_classes_for_the_other() -> None:
    X, y = load_diabetes(return_X_y=True)
    regressor = TopKRegressor(3, random_state=0).fit(X, y)
    assert regressor.task_ == "regression"
    np.testing.assert_array_equal(np.flatnonzero(regressor.support_), [2, 3, 8])
    ten = np.clip(y // 30, 0, 9).astype(int)
    assert TopKClassifier(2, loss="squared", n_restarts=0).fit(X, ten).classes_.size == 10
    with pytest.raises(ValueError, match="Unknown label type: y holds continuous numbers"):
        TopKClassifier(2).fit(X, y + 0.5)
    with pytest.raises(ValueError, match="task must be one of 'auto', 'regression'"):
        TopKRegressor(2, task="classification").fit(X, y)


@pytest.mark.parametrize("clip", [None, 1.0])
def test_sparse_and_single_precision_predict_the_same(clip: float | None) -> None:
    X, y = two_classes()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = TopKClassifier(3, loss="logistic", clip=clip, random_state=0).fit(X, y)
    expected = model.decision_function(X)
    seen = X if clip is None else np.clip(X, *model.clip_limits_)
    np.testing.assert_allclose(seen @ model.coef_[0] + model.intercept_, expected)
    for same in (sp.csr_array(X), sp.csc_matrix(X), X.astype(np.float32)):
        np.testing.assert_allclose(model.decision_function(same), expected, rtol=1e-5, atol=1e-5)


def test_frames_have_to_have_the_columns_of_the_fit() -> None:
    pd = pytest.importorskip("pandas")
    X, y = numbers_of_three()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    model = TopKRegressor(3).fit(frame, y).set_output(transform="pandas")
    assert isinstance(model.predict(frame), np.ndarray)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="NaN"):
        model.predict(frame.where(frame > 0))


def test_dask_collections_are_predicted() -> None:
    da = pytest.importorskip("dask.array")
    X, y = numbers_of_three()
    model = TopKRegressor(3).fit(X, y)
    found = model.predict(da.from_array(X, chunks=(50, -1)))
    np.testing.assert_allclose(found, model.predict(X))


def test_probabilities_too_small_for_floats_are_of_the_least_unlikely_class() -> None:
    X, y = three_classes()
    model = TopKClassifier(3, loss="logistic", random_state=0).fit(X, y)
    model.intercept_ = model.intercept_ - 1e4
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


def test_blocks_of_samples() -> None:
    X, y = three_classes()
    whole = TopKClassifier(3, loss="squared", random_state=0).fit(X, y)
    parts = [(X[i::4], y[i::4]) for i in range(4)]
    streamed = TopKClassifier(3, loss="squared", random_state=0).fit(RowBlocks(lambda: parts))
    grown = TopKClassifier(3, loss="squared", random_state=0)
    for block, some in parts:
        grown.partial_fit(block, some, classes=["a", "b", "c"])
    for model in (streamed, grown):
        np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X))
    labelled = TopKClassifier(3, loss="squared", random_state=0).partial_fit(*labels())
    assert labelled.predict(X).shape == (len(X), 3)


def test_they_are_judged_calibrated_stacked_and_searched() -> None:
    X, y = load_iris(return_X_y=True)
    model = TopKClassifier(2, loss="logistic", n_restarts=0)
    assert cross_val_score(model, X, y, scoring="neg_log_loss").mean() > -0.6
    assert cross_val_score(model, X, y, scoring="roc_auc_ovr").mean() > 0.95
    for loss in ("squared", "logistic"):
        judged = CalibratedClassifierCV(model.set_params(loss=loss)).fit(X, y)
        assert judged.score(X, y) > 0.85
    stacked = StackingClassifier([("two", model)], LogisticRegression(), passthrough=True)
    assert stacked.fit(X, y).score(X, y) > 0.95
    search = GridSearchCV(model, {"n_features_to_select": [1, 2, 3]}).fit(X, y)
    assert search.best_params_["n_features_to_select"] >= 2
    X, y = numbers_of_three()
    regressor = StackingRegressor([("three", TopKRegressor(3))], LinearRegression()).fit(X, y)
    assert regressor.score(X, y) > 0.9
