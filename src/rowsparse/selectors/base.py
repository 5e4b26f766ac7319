"""The scikit-learn face that all selectors share."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rowsparse._compat import (
    CallbackSupportMixin,
    finish_callbacks,
    iteration_monitor,
    with_callbacks,
)
from rowsparse._validation import (
    check_finite_columns,
    check_numeric_columns,
    one_sentence,
    resolve_count,
)
from rowsparse.design import Array, Design, Index, Units, make_design
from rowsparse.rows import top_rows
from rowsparse.solvers.solution import Monitor, Solution, ranking_from_scores, relative_gap
from rowsparse.targets import (
    Targets,
    check_sample_weight,
    combine_weights,
    encode_targets,
    target_array,
)

VARIANTS = ("corrected", "published")

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
        mean = weights @ self.Y / weights.sum() if self.fit_intercept else np.zeros(c)
        if self.weights is None:
            return replace(self, Y=self.Y - mean), mean
        design, _ = self.design.weighted(weights, center=False)
        Y = np.sqrt(weights)[:, None] * (self.Y - mean)
        return replace(self, design=design, Y=Y, weights=None), mean


class BaseSelector(CallbackSupportMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Validates, encodes, calls a solver and exposes the result.

    A method is a subclass with an ``__init__``, :meth:`_check_params` and :meth:`_solve`; its
    ``loss`` says whether the objective grows with the residual or with its square.
    """

    loss: ClassVar[str] = "l21"
    # Whether the penalty decides how many rows are active, so that some may be missing.
    ranks_rows: ClassVar[bool] = False

    n_features_to_select: Any
    standardize: bool
    fit_intercept: bool
    task: str
    class_weight: Any

    @abstractmethod
    def _check_params(self) -> None:
        """Refuse parameters out of range, one sentence each."""

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
        with _all_or_nothing(self):
            self._check_params()
            problem, targets, varies = self._prepare(X, y, sample_weight)
            solution = self._solve(problem)
            self._expose(solution, problem, targets, varies)
            finish_callbacks(self)
        return self

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Problem, Targets, NDArray[np.bool_]]:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        X = self._validated(X)
        y = target_array(y, X.shape[0])
        weights = check_sample_weight(sample_weight, X.shape[0])
        if weights is not None and np.any(weights == 0):
            # A sample of weight zero is a sample that is not there.
            kept = np.flatnonzero(weights)
            X, y, weights = X[kept], y[kept], weights[kept]
        targets = encode_targets(y, self.task)
        weights = combine_weights(targets, weights, self.class_weight)
        k = self._number_to_select(X.shape[1])
        center = bool(self.standardize or self.fit_intercept)
        design, units = make_design(X, center=center, scale=self.standardize, weights=weights)
        varies = design.column_norms() > 0
        if not varies.any():
            raise ValueError("Every column of X is constant: there is nothing to select from.")
        problem = Problem(
            design,
            units,
            targets.Y,
            weights,
            k,
            bool(self.fit_intercept),
            targets.unit,
            iteration_monitor(self),
        )
        return problem, targets, varies

    def _validated(self, X: Any) -> Any:
        check_numeric_columns(X)
        try:
            validated = validate_data(
                self,
                X,
                accept_sparse=("csr", "csc"),
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
                ensure_min_samples=2,
            )
        except (TypeError, ValueError) as error:
            raise one_sentence("X", error) from None
        check_finite_columns(validated, X)
        return validated

    def _number_to_select(self, d: int) -> int:
        k = resolve_count(self.n_features_to_select, d)
        if k > d:
            warnings.warn(
                f"n_features_to_select={k} is greater than n_features={d}: all features are kept.",
                UserWarning,
                stacklevel=5,
            )
        return min(k, d)

    def _expose(
        self, solution: Solution, problem: Problem, targets: Targets, varies: NDArray[np.bool_]
    ) -> None:
        support = self._exact_support(solution, problem.k, varies)
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
        self.task_ = targets.task
        if targets.classes is not None:
            self.classes_ = targets.classes
        self.scores_ = np.where(varies, solution.scores, 0.0)
        self.support_ = np.zeros(solution.scores.size, dtype=bool)
        self.support_[support] = True
        self.ranking_ = ranking_from_scores(np.where(varies, self.scores_, -1.0), support)
        self._warn_if_not_converged()

    def _forget_last_fit(self) -> None:
        for name in [v for v in vars(self) if v.endswith("_") and not v.startswith("_")]:
            if name not in ("n_features_in_", "feature_names_in_"):
                delattr(self, name)

    def _exact_support(self, solution: Solution, k: int, varies: NDArray[np.bool_]) -> Index:
        """Exactly k features: the solver's own, filled up by the strongest of the rest."""
        strength = np.where(varies, solution.scores, -1.0)
        if solution.support is not None:
            chosen = solution.support[varies[solution.support]]
            strength[chosen] = np.inf
        support = top_rows(strength, k)
        active = int(np.count_nonzero(solution.W.any(axis=1)))
        if self.ranks_rows and active < min(k, int(np.count_nonzero(varies))):
            warnings.warn(
                f"{type(self).__name__} has {active} non-zero rows at this penalty: the other "
                f"{k - active} of the {k} features are those closest to entering.",
                UserWarning,
                stacklevel=5,
            )
        constant = int(np.count_nonzero(~varies[support]))
        if constant:
            warnings.warn(
                f"Only {k - constant} columns of X vary: {constant} constant columns were added "
                f"to reach n_features_to_select={k}.",
                UserWarning,
                stacklevel=5,
            )
        return support

    def _warn_if_not_converged(self) -> None:
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.n_iter_} iterations: raise "
                "max_iter, or loosen tol.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return np.asarray(self.support_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


class SquaredLossSelector(BaseSelector):
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


def generator(random_state: Any) -> np.random.Generator:
    """A NumPy generator from what scikit-learn accepts as ``random_state``."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


@contextmanager
def _all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was if its fit fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        # What scikit-learn's callbacks hold is theirs to clean up.
        callbacks = {name: value for name, value in vars(estimator).items() if "callback" in name}
        vars(estimator).clear()
        vars(estimator).update(before | callbacks)
        raise
