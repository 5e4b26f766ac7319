"""Data ready for searches over the number of features, for each loss that has paths."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._deadline import NO_DEADLINE
from rowsparse.moments import Moments
from rowsparse.selectors.base.from_moments import MAX_PRODUCTS
from rowsparse.selectors.base.messages import warn_user
from rowsparse.selectors.base.moments import MomentsSample, read_moments
from rowsparse.selectors.base.parameters import generator
from rowsparse.selectors.base.problem import LinearProblem
from rowsparse.selectors.base.sample import Sample
from rowsparse.selectors.topk.constraints import Constraints
from rowsparse.selectors.topk.logistic import logistic_loss
from rowsparse.selectors.topk.losses import effective_alpha, effective_loss, effective_restarts
from rowsparse.selectors.topk.topk import TopK
from rowsparse.solvers.losses.logistic import LogisticLoss, VaryingLabels
from rowsparse.solvers.losses.squared import least_squares_objective
from rowsparse.solvers.subset.gram import GramProblem, reduced_targets
from rowsparse.solvers.subset.logistic import solve_logistic_path
from rowsparse.solvers.subset.path import PathPoint, solve_path
from rowsparse.solvers.subset.search import search
from rowsparse.streams.passes import gather
from rowsparse.streams.row_blocks import as_row_blocks

# Default of the largest k.
_K_MAX = 30
# A loss below this share of that of no features is a perfect fit.
_PERFECT = 1e-10
# Tolerance of the fits without a ridge.
_FIT_TOL = 1e-9


@dataclass(frozen=True)
class PathProblem(ABC):
    """Data ready for searches over k, at any ridge; build it with :func:`path_problem`."""

    loss_name: ClassVar[str]
    problem: LinearProblem
    constraints: Constraints

    @property
    def n(self) -> float:
        """The number of samples, or the sum of their weights."""
        return self.problem.n_samples

    def effective_alpha(self, alpha: float | str) -> float:
        """The ridge, per sample."""
        return effective_alpha(alpha, self.loss_name, self.problem.targets.task)

    @property
    def smallest(self) -> int:
        """The least k: 1, or what must be selected."""
        return max(1, self.constraints.fixed.size)

    def default_largest(self) -> int:
        """The default of k_max."""
        return max(1, min(_K_MAX, self.constraints.n_left), self.smallest)

    def largest(self, k_max: int) -> int:
        """``k_max``, or what is left to select from if that is less; one warning says so."""
        asked = self.constraints
        asked.check_overlap()
        if asked.fixed.size > k_max:
            raise ValueError(
                f"include has {asked.fixed.size} {asked.noun}, more than k_max={k_max}."
            )
        if asked.n_left < 1:
            raise ValueError(f"exclude leaves no {asked.noun} to select from.")
        if k_max > asked.n_left:
            what = "features" if asked.groups is None else "groups"
            warn_user(
                f"k_max={k_max} is greater than the number of {what} to select from: it is "
                f"taken as {asked.n_left}."
            )
        return min(k_max, asked.n_left)

    def solve(self, alpha: float, k_max: int, *, n_restarts: int, seed: int) -> list[PathPoint]:
        """The best support of every size."""
        return self._solve(self.problem.scaled("alpha", alpha) * self.n, k_max, n_restarts, seed)

    @abstractmethod
    def _solve(self, ridge: float, k_max: int, n_restarts: int, seed: int) -> list[PathPoint]:
        """The same with the ridge in the units of the design."""

    @abstractmethod
    def model(self, point: PathPoint) -> tuple[Array, Array]:
        """Coefficients (n_targets x n_selected) and intercepts, in the units of the data."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of independent columns of the targets."""

    @abstractmethod
    def deviances(self, points: list[PathPoint]) -> Array:
        """Twice the negative log-likelihood of the fit without a ridge, but for a constant."""


@dataclass(frozen=True)
class SquaredPathProblem(PathProblem):
    """The squared loss: centred targets ``Y``, their ``mean``, and the Gram form ``shared``."""

    loss_name: ClassVar[str] = "squared"
    Y: Array
    mean: Array
    shared: GramProblem

    def _solve(self, ridge: float, k_max: int, n_restarts: int, seed: int) -> list[PathPoint]:
        return solve_path(
            self.shared.with_ridge(ridge),
            self.Y,
            k_max,
            include=self.constraints.include,
            exclude=self.constraints.exclude,
            groups=self.constraints.groups,
            n_restarts=n_restarts,
            seed=seed,
        )

    def best(self, selector: TopK, k: int) -> Index:
        """The features that the selector would select for k, found in the data of all k."""
        asked = self.constraints
        k = min(k, asked.n_units)
        asked.check(k)
        alpha = self.problem.scaled("alpha", self.effective_alpha(selector.alpha))
        shared = self.shared.with_ridge(alpha * self.n)
        return search(
            shared.design,
            self.Y,
            k,
            ridge=shared.ridge,
            include=asked.include,
            exclude=asked.exclude,
            groups=asked.groups,
            n_restarts=effective_restarts(selector.n_restarts, self.loss_name),
            seed=int(generator(selector.random_state).integers(2**31)),
            n_jobs=selector.n_jobs,
            deadline=NO_DEADLINE,
            problem=shared,
        ).support

    def model(self, point: PathPoint) -> tuple[Array, Array]:
        return self.problem.model(point.V, self.mean, point.support)

    @property
    def n_columns(self) -> int:
        return self.shared.B.shape[1]

    def deviances(self, points: list[PathPoint]) -> Array:
        design, entries = self.shared.design, self.n * self.n_columns
        losses = np.array([least_squares_objective(design, self.Y, p.support) for p in points])
        losses = np.maximum(losses, max(_PERFECT * self.shared.total, np.finfo(np.float64).tiny))
        return np.asarray(entries * np.log(losses / entries))


@dataclass(frozen=True)
class LogisticPathProblem(PathProblem):
    """The logistic loss of the ``labels`` that vary."""

    loss_name: ClassVar[str] = "logistic"
    loss: LogisticLoss
    labels: VaryingLabels

    def _solve(self, ridge: float, k_max: int, n_restarts: int, seed: int) -> list[PathPoint]:
        return solve_logistic_path(
            self.loss,
            k_max,
            ridge=ridge,
            include=self.constraints.include,
            exclude=self.constraints.exclude,
            groups=self.constraints.groups,
            n_restarts=n_restarts,
            seed=seed,
        )

    def model(self, point: PathPoint) -> tuple[Array, Array]:
        return self.problem.model(*self.labels.expand(point.V, point.b), point.support)

    @property
    def n_columns(self) -> int:
        return self.loss.Y.shape[1]

    def deviances(self, points: list[PathPoint]) -> Array:
        fits = [self.loss.refit(p.support, penalty=0.0, tol=_FIT_TOL) for p in points]
        return 2.0 * np.array([fit.objective for fit in fits])


def path_problem(selector: TopK, X: Any, y: Any, sample_weight: Any) -> PathProblem:
    """What the selector, its parameters checked, would hand to its solver."""
    blocks = as_row_blocks(X, y, sample_weight)
    if blocks is not None:
        selector._check_moments()
        moments = gather(blocks, selector.task, most_products=MAX_PRODUCTS)
        return moments_path_problem(selector, moments)
    selector._check_combinations()
    return _path_problem(selector, selector._read(X, y, sample_weight))


def moments_path_problem(selector: TopK, moments: Moments) -> PathProblem:
    """The same for the samples of Moments."""
    selector._check_combinations()
    selector._check_moments()
    return _path_problem(selector, read_moments(selector, moments))


def _path_problem(selector: TopK, sample: Sample | MomentsSample) -> PathProblem:
    problem = selector._problem(sample)
    d, names = problem.design.shape[1], getattr(selector, "feature_names_in_", None)
    asked = Constraints.of(selector.include, selector.exclude, selector.feature_groups, d, names)
    if effective_loss(selector.loss, problem.targets.task, problem.n_rows) == "logistic":
        return LogisticPathProblem(problem, asked, *logistic_loss(problem))
    squared, mean = problem.squared()
    shared = GramProblem.of(squared.design, reduced_targets(squared.Y))
    return SquaredPathProblem(problem, asked, squared.Y, mean, shared)
