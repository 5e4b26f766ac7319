"""NearOptimal: every choice of features that is nearly as good as the best one, and a proof."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags

from rowsparse._arrays import Array, Index, Mask
from rowsparse._compat import CallbackSupportMixin, finish_callbacks, told, with_callbacks
from rowsparse._parameters import Allowed, Number, Satisfies
from rowsparse.certificate.proof import Statement
from rowsparse.moments import Moments
from rowsparse.selectors.base.fitted_selector import (
    FittedSelector,
    forget_last_fit,
    unchanged_on_error,
)
from rowsparse.selectors.base.shared_parameters import check_parameters, filled_docstring
from rowsparse.selectors.topk.search_report import ListedChoices
from rowsparse.selectors.topk.topk import TopK
from rowsparse.solvers.problem import ROUNDING, Listing

# Attributes of the fitted TopK that this one has too.
_SHARED = (
    "support_",
    "objective_",
    "lower_bound_",
    "gap_",
    "status_",
    "root_bound_",
    "n_nodes_",
    "proof_",
    "proof_history_",
    "loss_",
    "alpha_",
    "task_",
    "classes_",
    "n_passes_",
    "n_features_in_",
    "feature_names_in_",
)
# A cost is exact if rounding changes no more of the objective than this share.
_EXACT = 1e-9


def _is_topk(value: Any) -> bool:
    return isinstance(value, TopK)


@filled_docstring
class NearOptimal(
    FittedSelector,
    CallbackSupportMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """All choices of k features that are nearly as good as the best one, proven to be all.

    Lists every choice of k features whose objective exceeds that of the best one by less than a
    share ``tolerance``, by the branch and bound of :class:`TopK`, and proves that no other
    choice comes that close. So it says of each feature whether it is in all of these choices, in
    some or in none, and what it costs at least to leave it out or to force it in.

    It is about the objective on these samples: a feature in all choices is one without which the
    fit is worse by more than the tolerance, not one that other samples are certain to need
    (:class:`StabilitySelection` asks that).

    Parameters
    ----------
    selector : TopK, TopKClassifier or TopKRegressor, optional
        What is selected, and how; None is :class:`TopK` as it comes, for 10 features. It is
        fitted with ``certify=True``, and its ``gap_tol`` counts for ``status_`` alone. Not with
        ``loss="l21"``, which has no proofs.
    tolerance : float, default=0.01
        By how much an objective may exceed the least one, as a share of that. The number of
        choices can grow fast with it. 0 asks for choices as good as the best one.
    max_choices : int, default=1000
        The most choices to list. If there are more, the best ones are listed, and
        ``tolerance_`` says for which tolerance they are all.
    time_limit : float, optional
        Seconds after which the search ends with the choices found so far; Ctrl-C then does so
        too. None is the ``time_limit`` of the selector.

    Attributes
    ----------
    choices_ : list of arrays of int
        The features of each choice, sorted; the best choice is the first. Of columns that are
        copies (``copies_``) the first ones stand for the others.
    objectives_ : array of shape (n_choices,)
        The objective of each.
    within_rounding_ : array of bool of shape (n_choices,)
        Whether rounding decides if the choice is within the tolerance.
    tolerance_ : float
        The tolerance for which the list is proven to be complete: no other choice has an objective
        below ``(1 + tolerance_) * objective_``. It is infinite if there is no other
        choice, and negative if not even the best one is proven.
    complete_ : bool
        Whether that is at least ``tolerance``.
    in_all_, in_some_, in_none_ : arrays of bool of shape (n_features,)
        Features in all choices within the tolerance, in some but not in all, and in none. This
        is proven; if the list is not complete, for ``tolerance_`` in place of ``tolerance``, and
        where that is negative all three are False, except for features that are included or
        excluded, or in some listed choice and not in another. Of a feature about which rounding
        decides all three are False, too.
    share_ : array of shape (n_features,)
        Share of the listed choices that have the feature, or could have it in place of a copy.
    cost_without_, cost_with_ : arrays of shape (n_features,)
        By how much the objective rises at least if the feature is left out, and if it is forced
        in, as a share of the least one; infinite where that is not possible.
    cost_without_exact_, cost_with_exact_ : arrays of bool of shape (n_features,)
        Whether a listed choice attains that cost; otherwise it is a lower bound.
    copies_ : dict of int to array of int
        For each feature that has copies the others: columns that are equal up to their sign
        (standardised ones up to a factor that is a power of two), or constant as well. A choice
        with one in place of another is as good, and is listed once. Without a ridge, choices
        with a copy beside the column itself, or with a constant column, count as none: what they
        add is nothing.
    objective_, lower_bound_, gap_, status_ : float, float, float and str
        The objective of the best choice, a bound that no choice is below, their difference as a
        share of the objective, and "optimal" or "gap".
    root_bound_, n_nodes_ : float and int
        The bound before any branching, and the number of subproblems solved.
    proof_ : rowsparse.certificate.Proof
        Every step of the proof, for :func:`rowsparse.certificate.verify` to check: its
        ``listed`` has the choices.
    proof_history_ : dict of arrays
        Over the time of the proof: "seconds", "objective", "lower_bound" and "nodes".
    selector_ : TopK
        The fitted selector: the model of the best choice, and how it was found.
    loss_, alpha_ : str and float
        The loss and the ridge that took effect.
    n_passes_ : int
        After a fit from :class:`RowBlocks` or a dask collection: how often it was read.
    support_ : array of bool of shape (n_features,)
        The features of the best choice.
    ranking_ : array of int of shape (n_features,)
        1 for the features of the best choice, then 2, 3, ... by falling share of the choices,
        then by rising ``cost_with_``.
    {input}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import NearOptimal, TopK
    >>> X, y = load_iris(return_X_y=True)
    >>> near = NearOptimal(TopK(2, random_state=0), tolerance=0.025).fit(X, y)
    >>> [choice.tolist() for choice in near.choices_], near.complete_
    ([[1, 3], [2, 3]], True)
    >>> near.in_all_, near.in_some_
    (array([False, False, False,  True]), array([False,  True,  True, False]))
    >>> near.cost_without_.round(3), near.cost_without_exact_
    (array([0.   , 0.024, 0.   , 0.027]), array([ True,  True,  True, False]))
    """

    allowed: ClassVar[Allowed] = {
        "selector": Satisfies(
            "a TopK, TopKClassifier or TopKRegressor", _is_topk, TypeError, optional=True
        ),
        "tolerance": Number(low=0.0),
        "max_choices": Number(low=1, integer=True),
    }

    def __init__(
        self,
        selector: Any = None,
        *,
        tolerance: float = 0.01,
        max_choices: int = 1000,
        time_limit: float | None = None,
    ) -> None:
        self.selector = selector
        self.tolerance = tolerance
        self.max_choices = max_choices
        self.time_limit = time_limit

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """List the choices that are nearly as good as the best one.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            Training data; whatever the selector takes, :class:`RowBlocks` and dask collections
            too.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels, 0/1 label indicators (dense or sparse), or numbers; for survival times a
            structured array of events and times, or these two columns.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample; an integer weight equals repeating the sample.

        Returns
        -------
        self
        """
        return self._fit(lambda selector: selector.fit(X, y, sample_weight))

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit_moments(self, moments: Moments) -> Self:
        """List the choices, from statistics of the samples.

        Parameters
        ----------
        moments : Moments
            The statistics; not changed. Copies of columns are not known from them, and are
            listed as other columns are.

        Returns
        -------
        self
        """
        return self._fit(lambda selector: selector.fit_moments(moments))

    def _fit(self, fitted: Any) -> Self:
        with unchanged_on_error(self):
            check_parameters(self)
            selector = clone(self._inner)
            if selector.loss == "l21":
                raise ValueError("NearOptimal proves nothing of loss='l21': take another loss.")
            limit = selector.time_limit if self.time_limit is None else self.time_limit
            selector.set_params(certify=True, time_limit=limit)
            selector._listing = Listing(float(self.tolerance), int(self.max_choices))
            (selector,) = told(self, (fitted(one) for one in [selector]), 1, "proof")
            forget_last_fit(self)
            found: ListedChoices = vars(selector).pop("listed_")
            del selector._listing
            for name in _SHARED:
                if name in vars(selector):
                    setattr(self, name, getattr(selector, name))
            self.selector_ = selector
            self._set_choices(found)
            finish_callbacks(self)
        return self

    @property
    def _inner(self) -> Any:
        return TopK() if self.selector is None else self.selector

    def _set_choices(self, found: ListedChoices) -> None:
        """Set the attributes of the choices and of each feature."""
        statement = self.proof_.statement
        owner = _owner(statement)
        best, objectives = self.objective_, found.objectives
        limit = (1.0 + self.tolerance) * best
        self.choices_ = [np.sort(np.array(statement.columns_of(u))) for u in found.units]
        self.objectives_ = objectives
        self.within_rounding_ = objectives + found.errors >= limit
        self.complete_ = bool(found.others >= limit)
        self.tolerance_ = float(_increase(np.array(found.others), best))
        if self.complete_:  # The quotient is rounded.
            self.tolerance_ = max(self.tolerance_, float(self.tolerance))
        members = _Members.from_listing(found, statement)
        with_it, without_it = members.with_unit(), members.without_unit()
        known = self.tolerance_ >= 0
        # Those within what is proven, up to rounding, and all that rounding may bring there.
        within = min(limit, found.others) if known else np.inf
        among = objectives <= (1.0 + ROUNDING) * within
        among[0] = True
        maybe = among | (objectives - found.errors < within)
        sure: Mask = np.asarray(known | members.fixed | members.barred)
        # Columns that take no part in any choice of the proof: nothing is known of them.
        sure &= ~members.apart
        never_with, never_without = (~part[:, maybe].any(axis=1) for part in (with_it, without_it))
        self.in_all_ = (never_without & sure)[owner]
        self.in_none_ = (never_with & sure)[owner]
        some = with_it[:, among].any(axis=1) & without_it[:, among].any(axis=1)
        self.in_some_ = np.asarray(some)[owner]
        self.share_ = with_it.mean(axis=1)[owner]
        least = np.where(members.apart, min(self.lower_bound_, found.others), found.others)
        for name, inside, impossible in (
            ("cost_with_", with_it, members.barred),
            ("cost_without_", without_it, members.fixed),
        ):
            attained = np.where(inside, objectives, np.inf).min(axis=1)
            proven = np.where(inside, objectives - found.errors, np.inf).min(axis=1)
            proven = np.minimum(proven, least)
            exact = (attained * (1.0 - _EXACT) <= proven) | impossible
            cost = np.where(exact, np.minimum(attained, least), proven)
            cost = np.where(impossible, np.inf, cost)
            setattr(self, name, _increase(cost, best)[owner])
            setattr(self, f"{name}exact_", exact[owner])
        self.copies_ = members.copies()
        order = np.lexsort((self.cost_with_, -self.share_))
        order = order[~self.support_[order]]
        self.ranking_ = np.ones(owner.size, dtype=np.intp)
        self.ranking_[order] = np.arange(2, order.size + 2)

    def to_frame(self) -> Any:
        """The facts about each feature that is in some choice, as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            A row for each, the most indispensable first: "feature" (its number), "name", "verdict"
            ("all", "some", or "" where nothing is proven), "share", "cost_without", "cost_with",
            whether these are exact, and "copies".
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError('to_frame needs pandas: pip install "rowsparse[tables]".') from None
        self._get_support_mask()  # raises NotFittedError
        chosen = np.flatnonzero(self.share_ > 0)
        order = np.lexsort((chosen, -self.cost_without_[chosen], -self.share_[chosen]))
        at = chosen[order]
        names = getattr(self, "feature_names_in_", None)
        verdict = np.select([self.in_all_, self.in_some_], ["all", "some"], "")
        return pd.DataFrame(
            {
                "feature": at,
                "name": [f"x{j}" if names is None else str(names[j]) for j in at.tolist()],
                "verdict": verdict[at],
                "share": self.share_[at],
                "cost_without": self.cost_without_[at],
                "cost_without_exact": self.cost_without_exact_[at],
                "cost_with": self.cost_with_[at],
                "cost_with_exact": self.cost_with_exact_[at],
                "copies": [self.copies_.get(j, np.array([], dtype=int)).tolist() for j in at],
            }
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.target_tags = inner.target_tags
        return tags


class _Members(NamedTuple):
    """Which units each listed choice has, or could have by an exchange of copies.

    Attributes
    ----------
    first : array of shape (m,)
        For each unit the first one that is a copy of it.
    counts : array of shape (m, N)
        How many copies of each unit a choice has, the unit itself counted.
    sizes, included : arrays of shape (m,)
        How many copies of it may be chosen, and how many must be.
    fixed, barred, apart : arrays of bool of shape (m,)
        Units that must and must not be chosen, and columns that the proof leaves out.
    """

    first: Index
    counts: Array
    sizes: Index
    included: Index
    fixed: Mask
    barred: Mask
    apart: Mask

    @classmethod
    def from_listing(cls, found: ListedChoices, statement: Statement) -> _Members:
        """From the choices of a proof and its statement."""
        m = statement.n_units
        first = np.arange(m) if found.copies is None else found.copies
        fixed, barred = np.zeros((2, m), dtype=bool)
        fixed[statement.units_of(statement.include)] = True
        barred[statement.units_of(statement.exclude)] = True
        counts = np.zeros((m, len(found.units)), dtype=np.intp)
        for i, units in enumerate(found.units):
            np.add.at(counts[:, i], first[units], 1)
        sizes = np.bincount(first[~barred], minlength=m)
        included = np.bincount(first[fixed], minlength=m)
        apart = np.isin(first, found.left_out) & ~fixed & ~barred
        return cls(first, counts[first], sizes[first], included[first], fixed, barred, apart)

    def with_unit(self) -> Mask:
        """Of shape (m, N): whether a choice has the unit, or can have it."""
        found: Mask = self.counts > self.included[:, None]
        found[self.fixed] = True
        found[self.barred] = False
        return found

    def without_unit(self) -> Mask:
        """Of shape (m, N): whether a choice lacks the unit, or can lack it."""
        found: Mask = self.counts < self.sizes[:, None]
        found[self.fixed] = False
        found[self.barred] = True
        return found

    def copies(self) -> dict[int, Index]:
        """The copies of each unit that has any."""
        order = np.argsort(self.first, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(self.first[order])) + 1)
        return {
            j: part[part != j] for part in parts if part.size > 1 for j in sorted(part.tolist())
        }


def _owner(statement: Statement) -> Index:
    """The unit of each column."""
    owner = np.arange(statement.n_features)
    for g, group in enumerate(statement.feature_groups or ()):
        owner[group] = g
    return owner


def _increase(objective: Array, least: float) -> Array:
    """By how much objectives exceed the least one, as a share of it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = objective / least - 1.0
    # Of a perfect fit every other one is infinitely worse.
    return np.where(objective == least, 0.0, share)
