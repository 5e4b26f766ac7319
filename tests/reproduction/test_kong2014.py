"""What the page of Kong and Ding (2014) computes."""

import numpy as np
import pytest

from reproduction import kong2014
from reproduction.kong2014_runs import SCALINGS, residue_of, scaled
from rowsparse.evaluation.metrics import residue


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(2.0, 3.0, (30, 8))
    X[:, 5] = 4.0
    return X, rng.integers(0, 3, 30)


def onehot(y):
    return (y[:, None] == np.unique(y)).astype(float)


def test_scalings_do_what_they_say(data):
    X, _ = data
    live = np.arange(8) != 5
    standard = scaled(X, "standardised")
    np.testing.assert_allclose(standard.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(standard.std(axis=0)[live], 1.0)
    np.testing.assert_allclose(scaled(X, "unit sd").std(axis=0)[live], 1.0)
    np.testing.assert_allclose(scaled(X, "centred"), X - X.mean(axis=0))
    np.testing.assert_allclose(np.linalg.norm(scaled(X, "unit length"), axis=0), 1.0)
    ranged = scaled(X, "zero to one")[:, live]
    assert (ranged.min(), ranged.max()) == (0.0, 1.0)
    np.testing.assert_allclose(scaled(X, "samples standardised").std(axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(scaled(X, "samples of unit length"), axis=1), 1.0)
    assert scaled(X, "as distributed") is X
    assert all(np.isfinite(scaled(X, how)).all() for how in SCALINGS)
    with pytest.raises(ValueError, match="There is no scaling 'ranks'"):
        scaled(X, "ranks")


def test_on_standardised_columns_the_residue_is_that_of_the_evaluation(data):
    X, y = data
    support = np.array([0, 3, 6])
    Z = scaled(X, "standardised")
    for fit_intercept in (False, True):
        expected = residue(X, y, support, fit_intercept=fit_intercept)
        assert residue_of(Z, onehot(y), support, fit_intercept) == pytest.approx(expected)


def test_the_printed_residues_of_lung_are_out_of_reach_of_centred_columns(benchmark_data):
    _, y = benchmark_data("lung")
    floor = np.sqrt(y.size) * np.linalg.norm(onehot(y).mean(axis=0))
    assert floor == pytest.approx(10.05, abs=0.005)
    assert floor > max(max(values) for values in kong2014.TABLE["lung"].values())
