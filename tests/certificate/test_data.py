"""The data of a proof equal those of the selector."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.certificate import ProofProblem
from rowsparse.certificate.data import Data


def problem(**changes):
    values = {
        "n_features": 4,
        "n_targets": 3,
        "k": 2,
        "alpha": 0.5,
        "standardize": True,
        "fit_intercept": True,
        "task": "classification",
        "class_weight": None,
        "include": [],
        "exclude": [],
        "x_unit": 1.0,
        "y_unit": 1.0,
    }
    return ProofProblem(**values | changes)


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    return rng.standard_normal((12, 4)) + 3.0, np.arange(12) % 3


def test_columns_are_standardised_and_classes_are_centred(sample):
    X, y = sample
    X[:, 2] = 5.0
    data = Data.of(X, y, problem(), None)
    expected = (X - X.mean(0)) / np.where(np.arange(4) == 2, 1.0, X.std(0))
    np.testing.assert_allclose(data.Z, expected, atol=1e-12)
    assert not data.Z[:, 2].any()
    np.testing.assert_allclose(data.Y, np.eye(3)[y] - 1 / 3, atol=1e-12)
    assert data.ridge == pytest.approx(6.0)


def test_clipped_columns_are_standardised_again(sample):
    X, y = sample
    data = Data.of(X, y, problem(clip=1.0), None)
    within = np.clip((X - X.mean(0)) / X.std(0), -1.0, 1.0)
    np.testing.assert_allclose(data.X, within, atol=1e-12)
    np.testing.assert_allclose(data.Z, (within - within.mean(0)) / within.std(0), atol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_whole_weights_are_repeated_samples(sample, make):
    X, y = sample
    weights = np.array([0, 1, 2, 1] * 3)
    weighted = Data.of(make(X), y, problem(), weights)
    X, y = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    repeated = Data.of(X, y, problem(), None)
    np.testing.assert_allclose(weighted.Z.T @ weighted.Z, repeated.Z.T @ repeated.Z)
    np.testing.assert_allclose(weighted.Z.T @ weighted.Y, repeated.Z.T @ repeated.Y, atol=1e-12)
    assert weighted.ridge == pytest.approx(repeated.ridge)


def test_balanced_classes_weigh_the_same(sample):
    X, _ = sample
    y = np.array([0] * 6 + [1] * 4 + [2] * 2)
    balanced = Data.of(X, y, problem(class_weight="balanced"), None)
    listed = Data.of(X, y, problem(class_weight=[12 / 18, 1.0, 2.0]), None)
    np.testing.assert_allclose(balanced.Z, listed.Z)
    np.testing.assert_allclose(balanced.Y, listed.Y)


def test_units_divide_x_and_numbers(sample):
    X, _ = sample
    y = np.linspace(0.0, 8.0, 12)
    plain = {"task": "regression", "n_targets": 1, "standardize": False, "fit_intercept": False}
    data = Data.of(X, y, problem(**plain, x_unit=2.0, y_unit=4.0), None)
    np.testing.assert_allclose(data.Z, X / 2)
    np.testing.assert_allclose(data.Y[:, 0], y / 4)
    assert data.ridge == pytest.approx(0.5 * 12 / 4)


def test_data_of_another_shape_are_refused(sample):
    X, y = sample
    with pytest.raises(ValueError, match="about 4 columns"):
        Data.of(X[:, :3], y, problem(), None)
    with pytest.raises(ValueError, match="2 targets, but the proof is about 3"):
        Data.of(X, y % 2, problem(), None)


def test_the_logistic_loss_has_binary_labels(sample):
    X, y = sample
    options = {"loss": "logistic", "n_targets": 2}
    two = Data.of(X, y > 0, problem(**options), np.arange(12.0))
    np.testing.assert_array_equal(two.labels[:, 0], (y > 0)[1:])
    np.testing.assert_array_equal(two.weights, np.arange(1.0, 12.0))
    labels = np.column_stack([y == 0, np.ones(12)]).astype(int)
    several = problem(**options, task="multilabel")
    assert Data.of(X, labels, several, None).labels.shape == (12, 1)
    free = problem(**options, task="multilabel", fit_intercept=False)
    assert Data.of(X, labels, free, None).labels.shape == (12, 2)
