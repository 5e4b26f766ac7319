"""What a model says for each class is in the order of its classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from rowsparse.evaluation import predict

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("n", [100, 150])
def test_the_largest_value_is_the_answer(n: int) -> None:
    for model in (SVC(kernel="linear"), LogisticRegression(max_iter=500)):
        said = predict(model.fit(X[:n], y[:n]), X[:n], "classification")
        assert said.values is not None
        assert said.values.shape == (n, n // 50)
        assert np.mean(said.classes[said.values.argmax(axis=1)] == said.answers) > 0.99
        assert said.are_probabilities == isinstance(model, LogisticRegression)


def test_labels_and_numbers() -> None:
    Y = np.eye(3, dtype=int)[y]
    said = predict(OneVsRestClassifier(SVC(kernel="linear")).fit(X, Y), X, "multilabel")
    assert said.values is not None
    np.testing.assert_array_equal(said.values > 0, said.answers == 1)
    assert predict(LinearRegression().fit(X, y), X, "regression").values is None
