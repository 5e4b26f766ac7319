"""Selectors that score, order or choose features without a linear model of the targets."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._compat import with_callbacks
from rowsparse._parameters import Allowed, OneOf
from rowsparse.selectors.base.selector import BaseSelector, Sample
from rowsparse.solvers.filters.relevance import AGGREGATES

__all__ = ["Choice", "ScoreSelector", "WeightedScoreSelector"]


@dataclass
class Choice:
    """What a method says of the features.

    Attributes
    ----------
    scores : array of shape (d,)
        Larger is better; +inf is allowed, NaN is not.
    varies : array of bool, shape (d,)
        False for constant columns, which come last.
    order : array of int, optional
        All features, the best first, where the scores have ties that can be broken.
    support : array of int, optional
        The chosen features, where the method chooses a set and not only a ranking.
    n_iter : int, optional
        Number of iterations, of a method that iterates.
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
    """A selector without coefficients.

    A method is a subclass with an ``__init__``, ``allowed`` values of its own parameters, and
    :meth:`_choose`.
    """

    allowed: ClassVar[Allowed] = {"aggregate": OneOf(AGGREGATES)}

    @abstractmethod
    def _choose(self, sample: Sample) -> Choice:
        """Score the features, or choose among them."""

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

    def _select(self, sample: Sample) -> None:
        choice = self._choose(sample)
        if not choice.varies.any():
            raise ValueError("Every column of X is constant: there is nothing to select from.")
        strength = choice.strength
        support = self._exact_support(strength, choice.support, sample.k, choice.varies)
        self._forget_last_fit()
        for name, value in choice.attributes.items():
            setattr(self, name, value)
        if choice.support is None:
            self.order_ = np.argsort(-np.where(choice.varies, strength, 0.0), kind="stable")
        self._expose_targets(sample.targets)
        self._expose_choice(choice.scores, support, choice.varies, strength)
        if choice.n_iter is not None:
            self.n_iter_ = choice.n_iter
            self.converged_ = bool(choice.converged)
            self._warn_unless(self.converged_)


class WeightedScoreSelector(ScoreSelector):
    """A score that takes sample weights."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Select features.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            Training data.
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
