"""Selectors that fit a linear model: coefficients, intercept, objective."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index, Mask
from rowsparse._compat import with_callbacks
from rowsparse.design import Design, Units
from rowsparse.selectors.base.ranges import Dimension, check_objective
from rowsparse.selectors.base.selector import BaseSelector, Sample
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


# Differences from the objective, which are shown as shares of it.
_GAPS = frozenset({"gap_", "refit_gap_"})
# Norms of columns as they are that differ by more than this make their products singular.
_MAX_SPREAD = 1e6


@dataclass
class Problem:
    """What a selector hands to its solver.

    ``Y`` and ``weights`` are as in the loss sum_i weights_i ||y_i - z_i W - b||; ``x_unit`` and
    ``y_unit`` are 1, or the powers of two that data of an extreme magnitude were divided by.
    ``dimensions`` says how parameters and results, by name, grow with these units.
    ``n_samples`` is the sum of the weights.
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
    dimensions: dict[str, Dimension]
    n_samples: float

    @property
    def x_unit(self) -> float:
        """What X was divided by."""
        return self.units.x_unit

    @overload
    def scaled(self, name: str, value: float) -> float: ...
    @overload
    def scaled(self, name: str, value: None) -> None: ...
    def scaled(self, name: str, value: float | None) -> float | None:
        """The user's value of a parameter, in the units of the design.

        One that would be less than any float stays positive: all that it could be compared with
        is a column whose square is lost as well.
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
            # A row of zeros stays one, whatever its unit is.
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
        if self.fit_intercept:
            # Of equal numbers nothing is left, not even rounding.
            Y[:, np.all(self.Y[:1] == self.Y, axis=0)] = 0.0
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

    def _dimensions(self) -> dict[str, Dimension]:
        """How parameters grow with the units of X and y, by name.

        What the solver reports by the same name, with an underscore, is converted back.
        """
        return {}

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
        try:
            solution = self._solve(problem)
        except LinAlgError:
            raise ValueError(self._breakdown(problem)) from None
        self._expose(solution, problem, sample.labels)

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Problem, Targets]:
        """What the solver would be handed, for those who call another one."""
        sample = self._sample(X, y, sample_weight)
        return self._problem(sample), sample.labels

    def _problem(self, sample: Sample) -> Problem:
        center = bool(self.standardize or self.fit_intercept)
        design, units = sample.design(center=center, scale=self.standardize)
        power = 1 if self.loss == "l21" else 2
        problem = Problem(
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
            {"objective": Dimension(y=power), **self._dimensions()},
            float(sample.X.shape[0] if sample.weights is None else sample.weights.sum()),
        )
        check_objective(problem.Y, problem.weights, problem.fit_intercept, problem.y_unit, power)
        return problem

    def _breakdown(self, problem: Problem) -> str:
        """Why a matrix of the solver was singular, as far as one can tell."""
        norms = problem.design.column_norms()
        norms = norms[norms > 0]
        if norms.max() > _MAX_SPREAD * norms.min():
            return (
                f"The columns of X are of magnitudes too different for {type(self).__name__}: "
                "rescale them, or set standardize=True."
            )
        return (
            f"{type(self).__name__} met a singular matrix: drop columns of X that depend on "
            "others, or penalise more."
        )

    def _expose(self, solution: Solution, problem: Problem, targets: Targets) -> None:
        varies = problem.design.column_norms() > 0
        support = self._support_of(solution, problem.k, varies)
        self._forget_last_fit()
        coef, intercept = problem.model(solution.W, solution.b)
        single = targets.single_output
        self.coef_ = coef[0] if single else coef
        self.intercept_ = float(intercept[0]) if single else intercept
        self.objective_ = problem.restored("objective", solution.objective)
        self.history_ = problem.restored("objective", solution.history)
        self.n_iter_ = solution.n_iter
        self.converged_ = bool(solution.converged)
        for name, value in solution.attributes.items():
            kind = "objective" if name in _OBJECTIVE_LIKE else name.removesuffix("_")
            known = kind in problem.dimensions
            setattr(self, name, problem.restored(kind, value) if known else value)
        for name in _GAPS & solution.attributes.keys():
            setattr(self, name, relative_gap(solution.objective, solution.attributes[name]))
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
        return solution
