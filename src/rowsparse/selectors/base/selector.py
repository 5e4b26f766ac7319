"""Base classes of selectors: the steps of a fit, for linear models and for scores of features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.linalg import LinAlgError
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from rowsparse._arrays import Array, Index, Mask
from rowsparse._compat import CallbackSupportMixin, finish_callbacks, with_callbacks
from rowsparse._parameters import Allowed, OneOf
from rowsparse._threads import blas_threads_for
from rowsparse._validation import one_sentence, warn_user
from rowsparse.rows import top_rows
from rowsparse.selectors.base.fitted_selector import (
    SET_BY_VALIDATION,
    FittedSelector,
    forget_last_fit,
    unchanged_on_error,
)
from rowsparse.selectors.base.linear_problem import (
    Dimension,
    LinearProblem,
    ProblemSettings,
    why_singular,
)
from rowsparse.selectors.base.shared_parameters import check_parameters, documented_attributes
from rowsparse.selectors.base.source import (
    ALL_CONSTANT,
    Blocks,
    Samples,
    Source,
    number_to_select,
    open_source,
)
from rowsparse.solvers.filters.relevance import AGGREGATES
from rowsparse.solvers.solution import Solution, ranking_from_scores, relative_gap
from rowsparse.targets import Targets

if TYPE_CHECKING:
    from rowsparse.moments import Moments


class BaseSelector(FittedSelector, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of both kinds of selectors: the steps of a fit and the attributes it sets.

    A method derives from one of the two kinds below: :class:`LinearSelector` for a linear model
    of the targets, :class:`ScoreSelector` for scores of the features alone. Its class attribute
    ``allowed`` has the constraints of its own parameters.
    """

    allowed: ClassVar[Allowed] = {}
    # Whether fit takes RowBlocks and dask collections.
    takes_blocks: ClassVar[bool] = False
    # Whether X'X is among the sums over the samples that are needed.
    needs_products: ClassVar[bool] = True

    n_features_to_select: Any

    def _fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        with unchanged_on_error(self):
            check_parameters(self)
            self._check_combinations()
            source = self._source(X, y, sample_weight)
            with blas_threads_for(source.n_entries):
                self._select(source)
            if not isinstance(source, Samples):
                # It has one entry a sample, and there are no samples.
                self.__dict__.pop("dual_coef_", None)
            if isinstance(source, Blocks):
                self.n_passes_ = source.n_passes
            finish_callbacks(self)
        return self

    def _check_combinations(self) -> None:
        """Refuse parameters that are allowed one by one but not together."""

    def _check_without_rows(self) -> None:
        """Refuse parameters with which all samples are needed at once."""

    def _asked_task(self, y: Any = None) -> str:
        """The task that y is taken for; "auto" guesses."""
        return str(getattr(self, "task", "auto"))

    def _source(self, X: Any, y: Any = None, sample_weight: Any = None) -> Source:
        """Check the input of fit."""
        return open_source(self, X, y, sample_weight)

    def _number_to_select(self, d: int) -> int:
        """Number of features to select of d."""
        return number_to_select(self.n_features_to_select, d)

    @abstractmethod
    def _select(self, source: Source) -> None:
        """Choose features and set the fitted attributes."""

    def _set_choice(
        self,
        scores: Array,
        support: Index,
        varies: Mask,
        ranked: Array,
        targets: Targets | None,
    ) -> None:
        """Set the attributes of all selectors; ``scores`` are shown, and ``ranked`` ranks."""
        self.scores_ = np.where(varies, scores, 0.0)
        self.support_ = np.zeros(scores.size, dtype=bool)
        self.support_[support] = True
        self.ranking_ = ranking_from_scores(np.where(varies, ranked, -np.inf), support)
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
        """The warning after the fit, or None."""
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

    A method is a subclass with an ``__init__`` and :meth:`_solve`. Where parameters or results of
    the solver have units, it says so by :meth:`_dimensions` and the tuples of attribute names.
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
    # With which power of the residuals the objective grows.
    objective_power: ClassVar[int] = 1
    # Whether the solver can do without X'X where it can read blocks again.
    works_by_passes: ClassVar[bool] = False

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
            Class labels, 0/1 label indicators (dense or sparse), or numbers; for TopK also a
            structured array of the events and times of survival.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample; an integer weight equals repeating the sample.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _select(self, source: Source) -> None:
        problem = source.problem(self._settings())
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

    def _settings(self) -> ProblemSettings:
        """The settings of the problem that the data are brought into."""
        return ProblemSettings(
            type(self).__name__,
            self.standardize,
            self.fit_intercept,
            self.clip,
            {"objective": Dimension(y=self.objective_power), **self._dimensions()},
            self.works_by_passes,
        )

    def _dimensions(self) -> dict[str, Dimension]:
        """The dimensions of parameters in units of X and y, by name.

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
        if problem.scaling.limits is not None:
            self.clip_limits_ = problem.scaling.limits
        self.objective_ = problem.restored("objective", solution.objective)
        self.history_ = problem.restored("objective", solution.history)

    def _set_reported(self, solution: Solution, problem: LinearProblem) -> None:
        """Set the other results of the solver, in the units of the data."""
        for name, value in solution.attributes.items():
            known = "objective" if name in self.objective_attributes else name.removesuffix("_")
            if name in self.gap_attributes:
                value = relative_gap(solution.objective, value)
            elif known in problem.dimensions:
                value = problem.restored(known, value)
            setattr(self, name, value)


class SquaredLossSelector(LinearSelector):
    """A selector whose loss is ||Y - XW - 1b'||_F^2, so that b can be projected out."""

    objective_power = 2

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
    def ranked(self) -> Array:
        """Finite numbers that rank the features as the method does."""
        order = np.argsort(-self.scores, kind="stable") if self.order is None else self.order
        ranked = np.empty(self.scores.size)
        ranked[order] = np.arange(self.scores.size, 0, -1)
        return ranked


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

    def _select(self, source: Source) -> None:
        scored = self._score(source)
        if not scored.varies.any():
            raise ValueError(ALL_CONSTANT)
        ranked = scored.ranked
        support = _exactly(source.k, ranked, scored.support, scored.varies)
        forget_last_fit(self)
        for name, value in scored.attributes.items():
            setattr(self, name, value)
        if scored.support is None:
            self.order_ = np.argsort(-np.where(scored.varies, ranked, 0.0), kind="stable")
        self._set_choice(scored.scores, support, scored.varies, ranked, source.targets)
        if scored.n_iter is not None:
            self._set_convergence(scored.n_iter, scored.converged)

    @abstractmethod
    def _score(self, source: Any) -> ScoredFeatures:
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


def _exactly(k: int, ranked: Array, chosen: Index | None, varies: Mask) -> Index:
    """Exactly k features: those chosen, then the best others, constant ones last."""
    ranked = np.where(varies, ranked, -np.inf)
    if chosen is not None:
        ranked[chosen[varies[chosen]]] = np.inf
    support = top_rows(ranked, k)
    constant = int(np.count_nonzero(~varies[support]))
    if constant:
        warn_user(
            f"Only {k - constant} columns of X vary: {constant} constant columns were added to "
            f"reach n_features_to_select={k}."
        )
    return support


# ------------------------------------------- selectors for which sums over the samples are enough
def _moments_are_enough(selector: FromMoments) -> bool:
    """Whether there is a ``partial_fit`` with these parameters; AttributeError says why not."""
    try:
        selector._check_without_rows()
    except ValueError as error:
        raise AttributeError(str(error)) from None
    return True


class FromMoments(BaseSelector):
    """A selector that can be fitted from Moments, and so block by block.

    After ``partial_fit`` it has the statistics of all blocks so far. The features are selected
    when a fitted attribute is asked for: after every block that would cost too much, and the
    first ones may be of one class.
    """

    moments_: Moments

    takes_blocks: ClassVar[bool] = True

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit_moments(self, moments: Moments) -> Self:
        """Select features from statistics of the samples, as ``fit`` does from all of them.

        Parameters
        ----------
        moments : Moments
            The statistics; not changed.

        Returns
        -------
        self
        """
        from rowsparse.moments import Moments

        if not isinstance(moments, Moments):
            raise TypeError(f"moments must be rowsparse.Moments; got {type(moments).__name__}.")
        return self._fit(moments)

    @available_if(_moments_are_enough)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a block of samples to those of earlier calls.

        Only their statistics are kept, as ``moments_``. The features are selected when one of the
        fitted attributes is asked for, or ``transform`` or ``get_support``, from all samples so
        far. ``fit`` and ``fit_moments`` begin anew.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            The block.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels, 0/1 label indicators, or numbers. Classes may appear in any block.
        classes : array-like, optional
            Classes to come in later blocks; they need not be named.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample; an integer weight equals repeating the sample.

        Returns
        -------
        self
        """
        from rowsparse.moments import Moments

        first = "moments_" not in vars(self)
        with unchanged_on_error(self):
            check_parameters(self)
            try:
                validate_data(self, X, reset=first, skip_check_array=True)
            except (TypeError, ValueError) as error:
                raise one_sentence("X", error) from None
            if first:
                moments = Moments(self._asked_task(y), products=self.needs_products)
            else:
                moments = self.moments_
            moments.update(X, y, sample_weight, classes=classes)
            forget_last_fit(self)
            self.moments_ = moments
        return self

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """For notebooks; before the choice as unfitted, since a fitted one is asked for names."""
        if self._waits():
            return cast(Callable[[], str], clone(self)._repr_html_)
        return super()._repr_html_

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        if self._waits():
            return cast(dict[str, str], clone(self)._repr_mimebundle_(**options))
        return super()._repr_mimebundle_(**options)

    def _waits(self) -> bool:
        """Whether there are blocks from which no features have been selected yet."""
        return "moments_" in vars(self) and "support_" not in vars(self)

    def __getattr__(self, name: str) -> Any:
        if self._waits() and name.endswith("_") and name not in SET_BY_VALIDATION:
            known = documented_attributes(type(self))
            if known is None or name in known:
                self._select_from_blocks()
                return getattr(self, name)
        if name == "partial_fit":
            _moments_are_enough(self)  # raises the reason, which the lookup of the method lost
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _get_support_mask(self) -> Mask:
        # The lookup of the choice says why there is none yet.
        return self.support_ if "moments_" in vars(self) else super()._get_support_mask()

    def _select_from_blocks(self) -> None:
        moments = self.__dict__.pop("moments_")
        try:
            self.fit_moments(moments)
        except Exception as error:
            # An AttributeError too: hasattr is False while the blocks are not enough.
            raise NotFittedError(str(error)) from error
        finally:
            self.moments_ = moments
