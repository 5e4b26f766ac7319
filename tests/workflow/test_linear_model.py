"""A linear model of a selection says what the one of scikit-learn says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rowsparse.evaluation.metrics import predict
from rowsparse.workflow.model import LinearModel, linear_model

X, y = load_iris(return_X_y=True)
Z = StandardScaler().fit_transform(X)
LOGISTIC = LogisticRegression(max_iter=300)


@pytest.mark.parametrize(
    ("name", "model"), [("linear SVM", SVC(kernel="linear")), ("logistic regression", LOGISTIC)]
)
@pytest.mark.parametrize("n", [100, 150])
def test_answers_and_values_of_classes(name: str, model: Any, n: int) -> None:
    said = predict(model.fit(Z[:n], y[:n]), Z[:n], "classification")
    own = linear_model(name, model)
    np.testing.assert_array_equal(own.predict(Z[:n], n // 50), said.answers)
    np.testing.assert_allclose(own.class_values(Z[:n], n // 50), said.values, atol=1e-9)
    assert own.has_probabilities == said.are_probabilities


def test_values_of_labels() -> None:
    model = OneVsRestClassifier(LOGISTIC).fit(Z, np.eye(3, dtype=int)[y])
    own = linear_model("logistic regression", model)
    np.testing.assert_allclose(own.class_values(Z, 0), model.decision_function(Z))
    assert not own.has_probabilities


def test_a_record_of_another_shape_is_refused() -> None:
    record = {"name": "x", "rule": "sign", "coefficients": [[1.0, 2.0]], "intercept": [0.0]}
    assert LinearModel.from_record(record, 2).rule == "sign"
    for bad in ({"rule": "other"}, {"intercept": [0.0, 1.0]}):
        with pytest.raises(ValueError):  # noqa: PT011 - the caller says what is wrong
            LinearModel.from_record(record | bad, 2)
