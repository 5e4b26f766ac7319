"""The data that a linear selector passes to its solver, and results in the user's units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design, Units
from rowsparse.selectors.base.ranges import Dimension, check_objective
from rowsparse.selectors.base.sample import Sample
from rowsparse.solvers.solution import Monitor
from rowsparse.targets import Targets

# A larger ratio of the norms of two columns makes their products singular.
_MAX_SPREAD = 1e6


@dataclass
class LinearProblem:
    """The data of a solver; the loss is sum_i weights_i ||y_i - z_i W - b||, or with squares.

    Attributes
    ----------
    design : Design
        The columns z of X, centred and scaled as asked for.
    units : Units
        How ``design`` was made from X.
    Y : array of shape (n, c)
        The target matrix.
    targets : Targets
        The targets of the user, before any centring.
    weights : array of shape (n,) or None
        Weights of the samples; None if all are 1.
    k : int
        Number of features (or groups) to select.
    fit_intercept : bool
        Whether b is free.
    monitor : Monitor
        Called after every iteration; returns True to stop the solver.
    dimensions : dict of str to Dimension
        How parameters and results, by name, grow with the units of X and y.
    n_samples : float
        The sum of the weights.
    target_mean : array of shape (c,) or None
        What was taken off Y already, where the intercept is projected out; None if nothing was.
    sample : Sample or None
        The data that it was made from; None for Moments.
    """

    design: Design
    units: Units
    Y: Array
    targets: Targets
    weights: Array | None
    k: int
    fit_intercept: bool
    monitor: Monitor
    dimensions: dict[str, Dimension]
    n_samples: float
    target_mean: Array | None = None
    sample: Sample | None = None

    @property
    def n_rows(self) -> float:
        """The number of samples at hand; infinite if there are only Moments of them."""
        return np.inf if self.target_mean is not None else self.Y.shape[0]

    @property
    def x_unit(self) -> float:
        """What X was divided by: 1, or a power of two for data of an extreme magnitude."""
        return self.units.x_unit

    @property
    def y_unit(self) -> float:
        """What y was divided by: 1, or a power of two for data of an extreme magnitude."""
        return self.targets.unit

    @overload
    def scaled(self, name: str, value: float) -> float: ...
    @overload
    def scaled(self, name: str, value: None) -> None: ...
    def scaled(self, name: str, value: float | None) -> float | None:
        """The user's value of a parameter, in the units of the design.

        A positive value stays positive, even where the result would be smaller than any float.
        """
        if value is None or value == 0:
            return value
        return self.dimensions[name].to_design(name, float(value), self.x_unit, self.y_unit)

    def restored(self, name: str, value: Any) -> Any:
        """A result of the solver, in the units of the user's data."""
        return self.dimensions[name].from_design(name, value, self.x_unit, self.y_unit)

    def model(self, W: Array, b: Array, columns: Index | None = None) -> tuple[Array, Array]:
        """Coefficients (c x d) and intercepts for the user's data; d is that of ``columns``."""
        at = slice(None) if columns is None else columns
        with np.errstate(over="ignore", invalid="ignore"):
            # Rows of zeros stay zero even where their scale is infinite.
            inv_scale = np.where(W.any(axis=1), self.units.inv_scale[at] * self.y_unit, 0.0)
            units = Units(self.units.mean[at], inv_scale, self.x_unit)
            coef, intercept = units.coefficients(W, b * self.y_unit)
        lost = W.any() and np.abs(coef).max() < np.finfo(np.float64).tiny
        if lost or not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "The coefficients are beyond the range of floats: multiply X or y by a power of "
                "ten that brings them closer together."
            )
        return coef, intercept

    def squared(self) -> tuple[LinearProblem, Array]:
        """The same problem for a squared loss, and the means of its targets.

        The rows are multiplied by the square roots of their weights and the intercept is
        projected out, so that the loss is ||Y - ZW||_F^2. The design is centred already if there
        is an intercept.
        """
        if self.target_mean is not None:
            return self, self.target_mean
        n, c = self.Y.shape
        weights = np.ones(n) if self.weights is None else self.weights
        Y, mean = self.Y, np.zeros(c)
        # Twice, because the first mean is rounded: for large means the rest is not negligible.
        for _ in range(2 if self.fit_intercept else 0):
            offset = weights @ Y / weights.sum()
            Y, mean = Y - offset, mean + offset
        if self.fit_intercept:
            # Constant columns become exactly zero, without rounding errors.
            Y[:, np.all(self.Y[:1] == self.Y, axis=0)] = 0.0
        if self.weights is None:
            return replace(self, Y=Y), mean
        design, _ = self.design.weighted(weights, center=False)
        return replace(self, design=design, Y=np.sqrt(weights)[:, None] * Y, weights=None), mean


def linear_problem(
    sample: Sample,
    *,
    standardize: bool,
    clip: float | None = None,
    fit_intercept: bool,
    objective_power: int,
    dimensions: dict[str, Dimension],
) -> LinearProblem:
    """The problem of a selector on a sample; refuses y if the objective would overflow."""
    design, units = sample.design(
        center=bool(standardize or fit_intercept), scale=standardize, clip=clip
    )
    targets, weights = sample.required_targets, sample.weights
    check_objective(targets.Y, weights, fit_intercept, targets.unit, objective_power)
    return LinearProblem(
        design,
        units,
        targets.Y,
        targets,
        weights,
        sample.k,
        bool(fit_intercept),
        sample.monitor,
        {"objective": Dimension(y=objective_power), **dimensions},
        float(sample.X.shape[0] if weights is None else weights.sum()),
        sample=sample,
    )


def why_singular(name: str, problem: LinearProblem) -> str:
    """The likely reason for a singular matrix in a solver."""
    norms = problem.design.column_norms()
    norms = norms[norms > 0]
    if norms.max() > _MAX_SPREAD * norms.min():
        return (
            f"The columns of X are of magnitudes too different for {name}: rescale them, or set "
            "standardize=True."
        )
    return (
        f"{name} met a singular matrix: drop columns of X that depend on others, or penalise more."
    )
