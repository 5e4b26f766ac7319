"""The scikit-learn face that all selectors share."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rowsparse._arrays import Array, Index, Mask
from rowsparse._compat import CallbackSupportMixin, finish_callbacks, iteration_monitor
from rowsparse._validation import (
    check_finite_columns,
    check_numeric_columns,
    one_sentence,
    resolve_count,
)
from rowsparse.design import Design, Units, make_design
from rowsparse.rows import top_rows
from rowsparse.selectors.base.checked import CheckedParameters
from rowsparse.solvers.solution import Monitor, ranking_from_scores
from rowsparse.targets import (
    TASKS,
    Targets,
    check_sample_weight,
    combine_weights,
    encode_targets,
    target_array,
)


class SupportMixin(SelectorMixin):  # type: ignore[misc]
    """A selector whose choice is the mask ``support_``."""

    # What the method can take as targets, and whether it needs any.
    tasks: ClassVar[tuple[str, ...]] = TASKS[1:]
    supervised: ClassVar[bool] = True

    support_: Mask

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self, "support_")
        return np.asarray(self.support_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self.supervised
        tags.target_tags.multi_output = self.tasks != ("classification",)
        tags.target_tags.single_output = True
        return tags

    def _require_targets(self, y: Any) -> None:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )


@dataclass
class Sample:
    """The user's data, checked.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
        As given, finite, float32 or float64; sparse data by rows or by columns.
    targets : Targets or None
        None where the method needs no targets and got none.
    weights : array of shape (n,) or None
        Sample weights times class weights; None if all are 1.
    k : int
        Number of features to select, at most d.
    monitor : Monitor
        Told of every iteration; True asks to stop there.
    """

    X: Any
    targets: Targets | None
    weights: Array | None
    k: int
    monitor: Monitor

    @property
    def labels(self) -> Targets:
        """The targets of a method that cannot do without."""
        assert self.targets is not None
        return self.targets

    def design(self, *, center: bool, scale: bool) -> tuple[Design, Units]:
        """X as solvers see it, and the way back to the user's units."""
        design, units = make_design(self.X, center=center, scale=scale, weights=self.weights)
        if not design.column_norms().any():
            values = self.X.data if sp.issparse(self.X) else self.X
            largest = float(abs(values).max()) if values.shape[0] else 0.0
            if 0.0 < largest < np.finfo(np.float64).tiny:
                raise ValueError("X is too small to compute with: multiply it by a power of ten.")
            raise ValueError("Every column of X is constant: there is nothing to select from.")
        return design, units


class BaseSelector(CheckedParameters, SupportMixin, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Validates, encodes, lets the method choose and exposes its choice.

    A method derives from one of its two kinds, in ``linear.py`` (a model with coefficients) and
    in ``score.py`` (scores alone).
    """

    n_features_to_select: Any

    @abstractmethod
    def _select(self, sample: Sample) -> None:
        """Choose features and set the fitted attributes."""

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        with _all_or_nothing(self):
            self._check_all_params()
            self._select(self._sample(X, y, sample_weight))
            finish_callbacks(self)
        return self

    # ------------------------------------------------------------------------- the input
    def _sample(self, X: Any, y: Any, sample_weight: Any = None) -> Sample:
        if self.supervised:
            self._require_targets(y)
        X = self._validated(X)
        if y is not None:
            y = target_array(y, X.shape[0])
        weights = check_sample_weight(sample_weight, X.shape[0])
        if weights is not None and np.any(weights == 0):
            # A sample of weight zero is a sample that is not there.
            kept = np.flatnonzero(weights)
            X, weights = X[kept], weights[kept]
            y = None if y is None else y[kept]
        targets = None if y is None else self._encoded(y)
        if targets is not None:
            weights = combine_weights(targets, weights, getattr(self, "class_weight", None))
        k = self._number_to_select(X.shape[1])
        return Sample(X, targets, weights, k, iteration_monitor(self))

    def _encoded(self, y: Any) -> Targets:
        targets = encode_targets(y, getattr(self, "task", "auto"))
        if targets.task not in self.tasks:
            raise ValueError(
                f"{type(self).__name__} takes targets for {_listed(self.tasks)}; y is for "
                f"{targets.task}."
            )
        return targets

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
        return self._at_most(d, "features")

    def _at_most(self, n: int, what: str) -> int:
        """How many of n features, or groups of them, to select: all, with a warning, if fewer."""
        k = resolve_count(self.n_features_to_select, n)
        if k > n:
            warnings.warn(
                f"n_features_to_select={k} is greater than n_{what}={n}: all {what} are kept.",
                UserWarning,
                stacklevel=6,
            )
        return min(k, n)

    # ------------------------------------------------------------------------ the result
    def _forget_last_fit(self) -> None:
        for name in [v for v in vars(self) if v.endswith("_") and not v.startswith("_")]:
            if name not in ("n_features_in_", "feature_names_in_"):
                delattr(self, name)

    def _expose_choice(self, scores: Array, support: Index, varies: Mask, strength: Array) -> None:
        """Set the attributes that every selector has; ``strength`` ranks, ``scores`` is shown."""
        self.scores_ = np.where(varies, scores, 0.0)
        self.support_ = np.zeros(scores.size, dtype=bool)
        self.support_[support] = True
        self.ranking_ = ranking_from_scores(np.where(varies, strength, -np.inf), support)

    def _exact_support(self, strength: Array, chosen: Index | None, k: int, varies: Mask) -> Index:
        """Exactly k features: the method's own, filled up by the strongest of the rest."""
        strength = np.where(varies, strength, -np.inf)
        if chosen is not None:
            strength[chosen[varies[chosen]]] = np.inf
        support = top_rows(strength, k)
        constant = int(np.count_nonzero(~varies[support]))
        if constant:
            warnings.warn(
                f"Only {k - constant} columns of X vary: {constant} constant columns were added "
                f"to reach n_features_to_select={k}.",
                UserWarning,
                stacklevel=6,
            )
        return support

    def _expose_targets(self, targets: Targets | None) -> None:
        if targets is None:
            return
        self.task_ = targets.task
        if targets.classes is not None:
            self.classes_ = targets.classes

    def _warn_unless(self, converged: bool) -> None:
        if not converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.n_iter_} iterations: raise "
                "max_iter, or loosen tol.",
                ConvergenceWarning,
                stacklevel=6,
            )


def _listed(names: tuple[str, ...]) -> str:
    return " or ".join(names)


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
