"""What a solver gets, and its results in the units of the data."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.selectors.base.problem import LinearProblem, linear_problem, why_singular
from rowsparse.selectors.base.ranges import Dimension
from rowsparse.selectors.base.sample import read_sample
from rowsparse.selectors.topk.topk import TopK
from tests.selectors.cases import three_classes

X, Y = three_classes(n=30, d=4)
WEIGHTS = np.random.default_rng(1).uniform(0.2, 3.0, 30)


def made(X=X, y=Y, weights=None, standardize=True, fit_intercept=True) -> LinearProblem:
    return linear_problem(
        read_sample(TopK(2), X, y, weights),
        standardize=standardize,
        fit_intercept=fit_intercept,
        objective_power=2,
        dimensions={"alpha": Dimension(x=2)},
    )


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_the_squared_problem_has_the_loss_of_the_model_in_the_units_of_the_data(
    weights, fit_intercept, standardize
):
    problem = made(weights=weights, fit_intercept=fit_intercept, standardize=standardize)
    squared, mean = problem.squared()
    W = np.random.default_rng(0).standard_normal((4, 3))
    loss = np.sum((squared.Y - squared.design.matmul(W)) ** 2)
    coef, intercept = problem.model(W, mean)
    rows = np.sum((np.eye(3)[Y] - X @ coef.T - intercept) ** 2, axis=1)
    expected = np.sum(rows if weights is None else weights * rows)
    assert loss == pytest.approx(expected)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_centred_targets_have_mean_zero_and_constant_ones_vanish(weights):
    y = np.column_stack([X[:, 0] + 1e8, np.full(30, 0.1)])
    squared, mean = made(y=y, weights=weights).squared()
    root = np.ones(30) if weights is None else np.sqrt(weights)
    assert abs(root @ squared.Y[:, 0]) < 1e-7
    np.testing.assert_array_equal(squared.Y[:, 1], 0.0)
    assert mean[1] == pytest.approx(0.1)


def test_the_number_of_samples_is_the_sum_of_the_weights():
    assert made().n_samples == 30.0
    assert made(weights=WEIGHTS).n_samples == pytest.approx(WEIGHTS.sum())


def test_coefficients_of_some_columns_are_those_of_all():
    problem = made()
    W = np.zeros((4, 3))
    W[[1, 3]] = np.random.default_rng(0).standard_normal((2, 3))
    coef, intercept = problem.model(W, np.ones(3))
    part, same = problem.model(W[[1, 3]], np.ones(3), np.array([1, 3]))
    np.testing.assert_allclose(part, coef[:, [1, 3]])
    np.testing.assert_allclose(same, intercept)


def test_parameters_go_to_the_units_of_the_design_and_back():
    problem = made(X=X * 2.0**300, standardize=False)
    assert problem.x_unit != 1.0
    scaled = problem.scaled("alpha", 3.0)
    assert scaled * problem.x_unit == pytest.approx(3.0 / problem.x_unit)
    assert problem.scaled("alpha", None) is None
    assert problem.scaled("alpha", 0.0) == 0.0
    assert made().restored("objective", 5.0) == 5.0


def test_the_reason_for_a_singular_matrix():
    apart = made(X=X * [1, 1, 1e9, 1], standardize=False)
    assert "magnitudes too different for TopK" in why_singular("TopK", apart)
    assert "TopK met a singular matrix" in why_singular("TopK", made())
