"""The fit of every selector, and what it sets: linear models and scores of features."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.linalg import LinAlgError
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from rowsparse._arrays import Array, Index, Mask
from rowsparse._compat import CallbackSupportMixin, finish_callbacks, with_callbacks
from rowsparse._parameters import Allowed, OneOf
from rowsparse.rows import top_rows
from rowsparse.selectors.base.messages import warn_user
from rowsparse.selectors.base.moments import MomentsSample, moments_problem
from rowsparse.selectors.base.parameters import check_parameters
from rowsparse.selectors.base.problem import LinearProblem, linear_problem, why_singular
from rowsparse.selectors.base.ranges import Dimension
from rowsparse.selectors.base.sample import ALL_CONSTANT, Sample, number_to_select, read_sample
from rowsparse.selectors.base.state import forget_last_fit, unchanged_on_error
from rowsparse.selectors.base.support import SupportMixin
from rowsparse.solvers.filters.relevance import AGGREGATES
from rowsparse.solvers.solution import Solution, ranking_from_scores, relative_gap
from rowsparse.streams import RowBlocks
from rowsparse.streams.dask_partitions import is_dask
from rowsparse.targets import Targets


class BaseSelector(SupportMixin, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """What both kinds of selectors share: the steps of a fit and the attributes it sets.

    A method derives from one of the two kinds below: :class:`LinearSelector` for a linear model
    of the targets, :class:`ScoreSelector` for scores of the features alone. Its class attribute
    ``allowed`` has the constraints of its own parameters.
    """

    allowed: ClassVar[Allowed] = {}

    n_features_to_select: Any

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        with unchanged_on_error(self):
            check_parameters(self)
            self._check_combinations()
            self._select(self._read(X, y, sample_weight))
            finish_callbacks(self)
        return self

    def _check_combinations(self) -> None:
        """Refuse parameters that are allowed one by one but not together."""

    def _asked_task(self, y: Any = None) -> str:
        """What y is to be taken for; "auto" guesses."""
        return str(getattr(self, "task", "auto"))

    def _read(self, X: Any, y: Any, sample_weight: Any = None) -> Sample:
        """Check the input of fit."""
        if isinstance(X, RowBlocks) or is_dask(X):
            kind = "RowBlocks" if isinstance(X, RowBlocks) else "dask collections"
            raise TypeError(
                f"{type(self).__name__} needs all samples at once and cannot be fitted from "
                f"{kind}: use a selector with fit_moments, such as TopK."
            )
        return read_sample(self, X, y, sample_weight)

    def _number_to_select(self, d: int) -> int:
        """How many of d features to select."""
        return number_to_select(self.n_features_to_select, d)

    @abstractmethod
    def _select(self, sample: Sample | MomentsSample) -> None:
        """Choose features and set the fitted attributes."""

    def _set_choice(
        self,
        scores: Array,
        support: Index,
        varies: Mask,
        strength: Array,
        targets: Targets | None,
    ) -> None:
        """Set the attributes of all selectors; ``strength`` ranks, ``scores`` are shown."""
        self.scores_ = np.where(varies, scores, 0.0)
        self.support_ = np.zeros(scores.size, dtype=bool)
        self.support_[support] = True
        self.ranking_ = ranking_from_scores(np.where(varies, strength, -np.inf), support)
        if targets is not None:
            self.task_ = targets.task
            if targets.classes is not None:
                self.classes_ = targets.classes

    def _set_convergence(self, n_iter: int, converged: bool) -> None:
        self.n_iter_ = n_iter
        self.converged_ = bool(converged)
        message = self._convergence_warning()
        if message is not None:
            warn_user(message, ConvergenceWarning)

    def _convergence_warning(self) -> str | None:
        """What to warn of after the fit, if anything."""
        if self.converged_:
            return None
        name = type(self).__name__
        most = getattr(self, "max_iter", None)
        if most is not None and self.n_iter_ < most:
            return (
                f"{name} did not converge in {self.n_iter_} iterations: it ended short of tol, "
                f"before max_iter={most}; loosen tol, or drop copies of columns."
            )
        return (
            f"{name} did not converge in {self.n_iter_} iterations: raise max_iter, or loosen tol."
        )


class LinearSelector(BaseSelector):
    """A selector that calls a solver of a row-sparse linear model.

    A method is a subclass with an ``__init__`` and :meth:`_solve`. Where the solver's results
    have units, it declares them: :meth:`_objective_power`, :meth:`_dimensions` and the two
    tuples of attribute names.
    """

    takes_device_arrays: ClassVar[bool] = True
    # The solver may return fewer than k non-zero rows, because a penalty decides their number.
    may_have_fewer_rows: ClassVar[bool] = False
    # If this parameter is not None, the solution (and so the ranking) does not depend on k.
    parameter_that_fixes_ranking: ClassVar[str | None] = None
    # Attributes that the solver reports in the units of the objective.
    objective_attributes: ClassVar[tuple[str, ...]] = ()
    # Attributes that the solver reports as differences from the objective: shown as shares of it.
    gap_attributes: ClassVar[tuple[str, ...]] = ()

    standardize: bool
    clip: float | None = None
    fit_intercept: bool
    task: str
    class_weight: Any

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Select features.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            Training data. float32 and sparse data are used as they are, and so are torch tensors
            and CuPy arrays on a GPU. Selectors with ``fit_moments``, and RFS, also take
            :class:`RowBlocks`, which bring their own y, and dask arrays and dataframes, with y
            and weights of the same partitions of rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels, 0/1 label indicators (dense or sparse), or numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample; an integer weight equals repeating the sample.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _select(self, sample: Sample | MomentsSample) -> None:
        problem = self._problem(sample)
        try:
            solution = self._solve(problem)
        except LinAlgError:
            raise ValueError(why_singular(type(self).__name__, problem)) from None
        varies = problem.design.column_norms() > 0
        support = self._support(solution, problem.k, varies)
        forget_last_fit(self)
        self._set_model(solution, problem)
        self._set_reported(solution, problem)
        fixed = self.parameter_that_fixes_ranking
        if fixed is not None and getattr(self, fixed) is not None:
            self.order_ = np.argsort(-np.where(varies, solution.scores, -1.0), kind="stable")
        self._set_choice(solution.scores, support, varies, solution.scores, problem.targets)
        self._set_convergence(solution.n_iter, solution.converged)

    def _problem(self, sample: Sample | MomentsSample) -> LinearProblem:
        options: dict[str, Any] = {
            "standardize": self.standardize,
            "fit_intercept": self.fit_intercept,
            "objective_power": self._objective_power(),
            "dimensions": self._dimensions(),
        }
        if isinstance(sample, MomentsSample):
            return moments_problem(sample, **options)
        return linear_problem(sample, clip=self.clip, **options)

    def _objective_power(self) -> int:
        """With which power of the residuals the objective grows: 1 or 2."""
        return 1

    def _dimensions(self) -> dict[str, Dimension]:
        """How parameters grow with the units of X and y, by name.

        What the solver reports by the same name, with an underscore, is converted back.
        """
        return {}

    @abstractmethod
    def _solve(self, problem: LinearProblem) -> Solution:
        """Call the solver."""

    def _support(self, solution: Solution, k: int, varies: Mask) -> Index:
        """The k features of a solution."""
        active = int(np.count_nonzero(solution.W.any(axis=1)))
        if self.may_have_fewer_rows and active < min(k, int(np.count_nonzero(varies))):
            warn_user(
                f"{type(self).__name__} has {active} non-zero rows at this penalty: the other "
                f"{k - active} of the {k} features are those closest to entering."
            )
        return _exactly(k, solution.scores, solution.support, varies)

    def _set_model(self, solution: Solution, problem: LinearProblem) -> None:
        coef, intercept = problem.model(solution.W, solution.b)
        single = problem.targets.single_output
        self.coef_ = coef[0] if single else coef
        self.intercept_ = float(intercept[0]) if single else intercept
        if problem.units.limits is not None:
            self.clip_limits_ = problem.units.limits
        self.objective_ = problem.restored("objective", solution.objective)
        self.history_ = problem.restored("objective", solution.history)

    def _set_reported(self, solution: Solution, problem: LinearProblem) -> None:
        """Set what else the solver reports, in the units of the data."""
        for name, value in solution.attributes.items():
            known = "objective" if name in self.objective_attributes else name.removesuffix("_")
            if name in self.gap_attributes:
                value = relative_gap(solution.objective, value)
            elif known in problem.dimensions:
                value = problem.restored(known, value)
            setattr(self, name, value)


class SquaredLossSelector(LinearSelector):
    """A selector whose loss is ||Y - XW - 1b'||_F^2, so that b can be projected out."""

    def _objective_power(self) -> int:
        return 2

    def _solve(self, problem: LinearProblem) -> Solution:
        centred, mean = problem.squared()
        solution = self._solve_squared(centred)
        solution.b = mean
        return solution

    @abstractmethod
    def _solve_squared(self, problem: LinearProblem) -> Solution:
        """Call the solver on centred and weighted data."""


@dataclass
class ScoredFeatures:
    """The result of a method without coefficients.

    Attributes
    ----------
    scores : array of shape (d,)
        Larger is better; +inf is allowed, NaN is not.
    varies : array of bool, shape (d,)
        False for constant columns, which come last.
    order : array of int, optional
        All features, the best first, where the method breaks ties of the scores.
    support : array of int, optional
        The chosen features, where the method chooses a set and not only a ranking.
    n_iter : int, optional
        Number of iterations, if the method iterates.
    converged : bool
        Whether the method's own criterion was met.
    attributes : dict
        What else the method reports, by the name of the fitted attribute.
    """

    scores: Array
    varies: Mask
    order: Index | None = None
    support: Index | None = None
    n_iter: int | None = None
    converged: bool = True
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def strength(self) -> Array:
        """Finite numbers that rank the features as the method does."""
        order = np.argsort(-self.scores, kind="stable") if self.order is None else self.order
        strength = np.empty(self.scores.size)
        strength[order] = np.arange(self.scores.size, 0, -1)
        return strength


class ScoreSelector(BaseSelector):
    """A selector without coefficients: a subclass with an ``__init__`` and :meth:`_score`."""

    allowed: ClassVar[Allowed] = {"aggregate": OneOf(AGGREGATES)}

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Select features.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels, 0/1 label indicators (dense or sparse), or numbers, as far as the
            method takes them.

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def _select(self, sample: Sample | MomentsSample) -> None:
        scored = self._score(sample)
        if not scored.varies.any():
            raise ValueError(ALL_CONSTANT)
        strength = scored.strength
        support = _exactly(sample.k, strength, scored.support, scored.varies)
        forget_last_fit(self)
        for name, value in scored.attributes.items():
            setattr(self, name, value)
        if scored.support is None:
            self.order_ = np.argsort(-np.where(scored.varies, strength, 0.0), kind="stable")
        self._set_choice(scored.scores, support, scored.varies, strength, sample.targets)
        if scored.n_iter is not None:
            self._set_convergence(scored.n_iter, scored.converged)

    @abstractmethod
    def _score(self, sample: Any) -> ScoredFeatures:
        """Score the features, or choose among them."""


class WeightedScoreSelector(ScoreSelector):
    """A score that takes sample weights."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Select features.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            Training data. Selectors with ``fit_moments`` also take :class:`RowBlocks`, which
            bring their own y, and dask arrays and dataframes, with y and weights of the same
            partitions of rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels, 0/1 label indicators (dense or sparse), or numbers, as far as the
            method takes them.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample; an integer weight equals repeating the sample.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)


def _exactly(k: int, strength: Array, chosen: Index | None, varies: Mask) -> Index:
    """Exactly k features: those chosen, then the strongest of the rest, constant ones last."""
    strength = np.where(varies, strength, -np.inf)
    if chosen is not None:
        strength[chosen[varies[chosen]]] = np.inf
    support = top_rows(strength, k)
    constant = int(np.count_nonzero(~varies[support]))
    if constant:
        warn_user(
            f"Only {k - constant} columns of X vary: {constant} constant columns were added to "
            f"reach n_features_to_select={k}."
        )
    return support
