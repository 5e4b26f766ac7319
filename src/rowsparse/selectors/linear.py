"""Selectors that fit a linear model: coefficients, intercept, objective."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index, Mask
from rowsparse._compat import with_callbacks
from rowsparse.design import Design, Units
from rowsparse.selectors.base import BaseSelector, Sample
from rowsparse.solvers.solution import Monitor, Solution, relative_gap
from rowsparse.targets import Targets

# Attributes that are sums like the objective, and scale with it.
_OBJECTIVE_LIKE = frozenset(
    {
        "lower_bound_",
        "root_bound_",
        "alm_objective_",
        "published_objective_",
        "refitted_objective_",
        "objectives_",
        "forward_objective_",
    }
)


@dataclass
class Problem:
    """What a selector hands to its solver.

    ``Y`` and ``weights`` are as in the loss sum_i weights_i ||y_i - z_i W - b||; ``x_unit`` and
    ``y_unit`` are 1, or what data of an extreme magnitude were divided by.
    """

    design: Design
    units: Units
    Y: Array
    weights: Array | None
    k: int
    fit_intercept: bool
    y_unit: float
    monitor: Monitor
    task: str
    classes: NDArray[Any] | None

    @property
    def x_unit(self) -> float:
        """What X was divided by."""
        return self.units.x_unit

    def squared(self) -> tuple[Problem, Array]:
        """The same problem for a squared loss, and the means of its targets.

        The rows carry the square roots of their weights and the intercept is projected out, so
        that the loss is ||Y - ZW||_F^2. The design is centred already if there is an intercept.
        """
        n, c = self.Y.shape
        weights = np.ones(n) if self.weights is None else self.weights
        Y, mean = self.Y, np.zeros(c)
        # Twice, because the first mean is rounded: of large means the rest is not negligible.
        for _ in range(2 if self.fit_intercept else 0):
            offset = weights @ Y / weights.sum()
            Y, mean = Y - offset, mean + offset
        if self.weights is None:
            return replace(self, Y=Y), mean
        design, _ = self.design.weighted(weights, center=False)
        return replace(self, design=design, Y=np.sqrt(weights)[:, None] * Y, weights=None), mean


class LinearSelector(BaseSelector):
    """A selector that calls a solver of a row-sparse linear model.

    A method is a subclass with an ``__init__``, ``allowed`` values of its own parameters, and
    :meth:`_solve`; its ``loss`` says whether the objective grows with the residual or with its
    square.
    """

    loss: ClassVar[str] = "l21"
    # Whether the penalty decides how many rows are active, so that some may be missing.
    ranks_rows: ClassVar[bool] = False
    # The parameter that, unless it is None, decides the solution whatever k is.
    decides_alone: ClassVar[str | None] = None

    standardize: bool
    fit_intercept: bool
    task: str
    class_weight: Any

    @abstractmethod
    def _solve(self, problem: Problem) -> Solution:
        """Call the solver."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select features.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            Training data. float32 and sparse data are used as they are.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels, 0/1 label indicators (dense or sparse), or numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample; an integer weight equals repeating the sample.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _select(self, sample: Sample) -> None:
        problem = self._problem(sample)
        self._expose(self._solve(problem), problem, sample.labels)

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Problem, Targets]:
        """What the solver would be handed, for those who call another one."""
        sample = self._sample(X, y, sample_weight)
        return self._problem(sample), sample.labels

    def _problem(self, sample: Sample) -> Problem:
        center = bool(self.standardize or self.fit_intercept)
        design, units = sample.design(center=center, scale=self.standardize)
        return Problem(
            design,
            units,
            sample.labels.Y,
            sample.weights,
            sample.k,
            bool(self.fit_intercept),
            sample.labels.unit,
            sample.monitor,
            sample.labels.task,
            sample.labels.classes,
        )

    def _expose(self, solution: Solution, problem: Problem, targets: Targets) -> None:
        varies = problem.design.column_norms() > 0
        support = self._support_of(solution, problem.k, varies)
        self._forget_last_fit()
        scale = problem.y_unit if self.loss == "l21" else problem.y_unit * problem.y_unit
        coef, intercept = problem.units.coefficients(solution.W, solution.b)
        self.coef_ = coef * problem.y_unit
        self.intercept_ = intercept * problem.y_unit
        self.objective_ = solution.objective * scale
        self.history_ = solution.history * scale
        self.n_iter_ = solution.n_iter
        self.converged_ = bool(solution.converged)
        for name, value in solution.attributes.items():
            setattr(self, name, value * scale if name in _OBJECTIVE_LIKE else value)
        if "gap_" in solution.attributes:
            self.gap_ = relative_gap(solution.objective, solution.attributes["gap_"])
        if self.decides_alone is not None and getattr(self, self.decides_alone) is not None:
            self.order_ = np.argsort(-np.where(varies, solution.scores, -1.0), kind="stable")
        self._expose_targets(targets)
        self._expose_choice(solution.scores, support, varies, solution.scores)
        self._warn_unless(self.converged_)

    def _support_of(self, solution: Solution, k: int, varies: Mask) -> Index:
        """Exactly k features of a solution."""
        active = int(np.count_nonzero(solution.W.any(axis=1)))
        if self.ranks_rows and active < min(k, int(np.count_nonzero(varies))):
            warnings.warn(
                f"{type(self).__name__} has {active} non-zero rows at this penalty: the other "
                f"{k - active} of the {k} features are those closest to entering.",
                UserWarning,
                stacklevel=6,
            )
        return self._exact_support(solution.scores, solution.support, k, varies)


class SquaredLossSelector(LinearSelector):
    """A selector whose loss is ||Y - XW - 1b'||_F^2, so that b can be projected out."""

    loss = "squared"

    @abstractmethod
    def _solve_squared(self, problem: Problem) -> Solution:
        """Call the solver on centred and weighted data."""

    def _solve(self, problem: Problem) -> Solution:
        centred, mean = problem.squared()
        solution = self._solve_squared(centred)
        solution.b = mean
        if "dual_coef_" in solution.attributes:
            # The dual point of a squared loss is a residual, in the units of y.
            solution.attributes["dual_coef_"] *= problem.y_unit
        return solution
