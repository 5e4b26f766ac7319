"""The problem of TopK: constraints on a choice, and a loss on data, for any ridge and size."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index
from rowsparse._threads import blas_threads_for
from rowsparse._validation import warn_user
from rowsparse.selectors.base.linear_problem import LinearProblem
from rowsparse.selectors.topk.loss_defaults import effective_alpha, effective_loss
from rowsparse.solvers.choices import Choices
from rowsparse.solvers.losses.cox import CoxLoss
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.losses.newton import NewtonLoss
from rowsparse.solvers.losses.poisson import PoissonLoss
from rowsparse.solvers.losses.squared import SquaredLoss, least_squares_objective
from rowsparse.solvers.problem import Fit, Options, Outcome, Problem
from rowsparse.solvers.search.gram import GramProblem, reduced_targets
from rowsparse.solvers.search.search import path, search

if TYPE_CHECKING:
    from rowsparse.selectors.topk.topk import TopK

# The losses with a curvature, by name.
CURVED: dict[str, type[NewtonLoss]] = {
    "logistic": LogisticLoss,
    "poisson": PoissonLoss,
    "cox": CoxLoss,
}
# Default of the largest k.
_K_MAX = 30
# Share of the objective of no features below which a fit is perfect, or labels are separated.
_PERFECT, _SEPARATED = 1e-10, 1e-6
# Tolerance of the fits without a ridge.
_FIT_TOL = 1e-9


# ------------------------------------------------------------------------------- constraints
@dataclass(frozen=True)
class Constraints:
    """Constraints on a choice of columns, by index; made by :meth:`resolved`."""

    include: list[int]
    exclude: list[int]
    groups: list[Index] | None
    n_columns: int

    @classmethod
    def resolved(
        cls, include: Any, exclude: Any, groups: Any, d: int, names: NDArray[Any] | None
    ) -> Constraints:
        """From the parameters of the user, for d columns that may have names."""
        return cls(
            resolve_columns("include", include, d, names),
            resolve_columns("exclude", exclude, d, names),
            None if groups is None else resolve_groups(groups, d, names),
            d,
        )

    @property
    def noun(self) -> str:
        """The noun of a unit in messages."""
        return "columns" if self.groups is None else "groups"

    @cached_property
    def units(self) -> Choices:
        """The units, with none of them to choose."""
        return Choices.from_columns(
            self.n_columns, 0, include=self.include, exclude=self.exclude, groups=self.groups
        )

    @property
    def n_left(self) -> int:
        """Number of units that may be selected."""
        return self.units.n_units - self.units.barred.size

    def choices(self, k: int) -> Choices:
        """The choices of k units that satisfy it."""
        return self.units.with_k(k)

    def check_overlap(self) -> None:
        """Refuse units that are both included and excluded."""
        both = np.intersect1d(self.units.fixed, self.units.barred).tolist()
        if both:
            where = f"column {both[0]}"
            if self.groups is not None:
                where = f"the group of columns {self.groups[both[0]].tolist()}"
            raise ValueError(f"include and exclude overlap in {where}.")

    def check(self, k: int) -> None:
        """Refuse constraints that no choice of k columns, or groups, can satisfy."""
        self.check_overlap()
        n_fixed = self.units.fixed.size
        if n_fixed > k:
            raise ValueError(
                f"include has {n_fixed} {self.noun}, more than n_features_to_select={k}."
            )
        if self.n_left < k:
            raise ValueError(
                f"exclude leaves {self.n_left} {self.noun}, fewer than n_features_to_select={k}."
            )


def resolve_columns(what: str, value: Any, d: int, names: NDArray[Any] | None) -> list[int]:
    """Columns given by index or name, as sorted indices.

    >>> resolve_columns("include", ["b", 0], 3, np.array(["a", "b", "c"]))
    [0, 1]
    """
    if value is None:
        return []
    if isinstance(value, np.ndarray):
        value = np.atleast_1d(value).tolist()
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = [value]
    known = {} if names is None else {name: j for j, name in enumerate(names.tolist())}
    return sorted({_resolve_column(what, column, d, known) for column in value})


def _resolve_column(what: str, column: Any, d: int, known: dict[str, int]) -> int:
    if isinstance(column, str):
        if not known:
            raise ValueError(
                f"{what} has the name {column!r}, but X came without column names: give indices."
            )
        if column not in known:
            raise ValueError(f"{what} has {column!r}, which is not a column of X.")
        return known[column]
    is_bool = isinstance(column, (bool, np.bool_))
    if is_bool or not isinstance(column, numbers.Integral):
        raise TypeError(f"{what} must hold indices or names of columns; got {column!r}.")
    if not 0 <= int(column) < d:
        raise ValueError(f"{what} has the index {column}, but X has the columns 0 to {d - 1}.")
    return int(column)


def resolve_groups(groups: Any, d: int, names: NDArray[Any] | None) -> list[Index]:
    """Groups of columns, given by lists or by labels, as arrays of indices.

    A column that is in none of the lists is a group of its own.

    >>> [group.tolist() for group in resolve_groups([[2, 0]], 4, None)]
    [[0, 2], [1], [3]]
    >>> [group.tolist() for group in resolve_groups(["a", "b", "a", "b"], 4, None)]
    [[0, 2], [1, 3]]
    """
    if isinstance(groups, (str, dict)) or np.ndim(np.asarray(groups, dtype=object)) == 0:
        raise TypeError(
            "feature_groups must be lists of columns, or one label for each column; got "
            f"{groups!r}."
        )
    if any(isinstance(g, (Sequence, np.ndarray, set)) and not isinstance(g, str) for g in groups):
        return _listed_groups(groups, d, names)
    labels = np.asarray(groups)
    if labels.shape != (d,):
        raise ValueError(f"feature_groups has {labels.size} labels, but X has {d} columns.")
    missing = [j for j, label in enumerate(labels.tolist()) if label is None or label != label]
    if missing:
        raise ValueError(
            f"feature_groups has no label for column {missing[0]}: give every column one."
        )
    try:
        code = np.unique(labels, return_inverse=True)[1]
    except TypeError:
        raise TypeError(
            "feature_groups must hold labels of one kind, all text or all numbers."
        ) from None
    order = np.argsort(code, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(code[order])) + 1)
    return sorted(parts, key=lambda part: int(part[0]))


def _listed_groups(groups: Any, d: int, names: NDArray[Any] | None) -> list[Index]:
    parts = [resolve_columns("feature_groups", group, d, names) for group in groups]
    times = np.bincount([j for part in parts for j in part], minlength=d)
    if times.max(initial=0) > 1:
        raise ValueError(
            f"feature_groups have column {times.argmax()} twice: a column is in one only."
        )
    parts = [part for part in parts if part] + [[j] for j in np.flatnonzero(times == 0).tolist()]
    return [np.array(part, dtype=np.intp) for part in sorted(parts)]


# ------------------------------------------------------------------------------- the problem
@dataclass(frozen=True)
class TopKProblem:
    """A loss on the data of a selector, in the units of the design, and the constraints.

    It is made by :func:`pose`, or by :func:`open_problem` from what ``fit`` is given.

    Attributes
    ----------
    loss_name : str
        The loss; not "auto".
    data : LinearProblem
        For the squared loss centred and weighted.
    loss : Loss
        Of the targets that the solver sees.
    constraints : Constraints
        What may be chosen.
    """

    loss_name: str
    data: LinearProblem
    loss: SquaredLoss | NewtonLoss
    constraints: Constraints

    @property
    def n(self) -> float:
        """The number of samples, or the sum of their weights."""
        return self.data.n_samples

    @property
    def n_terms(self) -> float:
        """The number of terms of the loss: of samples, or of events where the others have none."""
        return self.loss.n_terms if isinstance(self.loss, NewtonLoss) else self.n

    @property
    def n_columns(self) -> int:
        """The number of independent columns of the targets."""
        return (self.loss.Y if self._gram is None else self._gram.B).shape[1]

    def effective_alpha(self, alpha: float | str) -> float:
        """The ridge, per sample."""
        return effective_alpha(alpha, self.loss_name, self.data.targets.task)

    # ---------------------------------------------------------------------- sizes
    @property
    def smallest(self) -> int:
        """The least k: 1, or the number of included units."""
        return max(1, self.constraints.units.fixed.size)

    def default_largest(self) -> int:
        """The default of k_max."""
        return max(1, min(_K_MAX, self.constraints.n_left), self.smallest)

    def largest(self, k_max: int) -> int:
        """``k_max``, or the number to select from if that is less, with one warning."""
        asked = self.constraints
        asked.check_overlap()
        n_fixed = asked.units.fixed.size
        if n_fixed > k_max:
            raise ValueError(f"include has {n_fixed} {asked.noun}, more than k_max={k_max}.")
        if asked.n_left < 1:
            raise ValueError(f"exclude leaves no {asked.noun} to select from.")
        if k_max > asked.n_left:
            what = "features" if asked.groups is None else "groups"
            warn_user(
                f"k_max={k_max} is greater than the number of {what} to select from: it is "
                f"taken as {asked.n_left}."
            )
        return min(k_max, asked.n_left)

    # -------------------------------------------------------------------- searches
    def problem(self, alpha: float, k: int) -> Problem:
        """The choice of k units, with ``alpha`` as the user gives it."""
        ridge = float(self.data.scaled("alpha", alpha) * self.data.n_samples)
        return Problem(self.loss, ridge, self.constraints.choices(k))

    def solve(self, alpha: float, k_max: int, options: Options) -> dict[int, Fit]:
        """The best support of every size."""
        problem = self.problem(alpha, k_max)
        with blas_threads_for(self.data.source.n_entries):
            return path(problem, options, self.gram_at(problem.ridge))

    def best(self, selector: TopK, k: int) -> Index:
        """The features that the selector would select for k, found in the data of all k."""
        k = min(k, self.constraints.units.n_units)
        self.constraints.check(k)
        problem = self.problem(self.effective_alpha(selector.alpha), k)
        options = selector._options(self.loss_name)
        with blas_threads_for(self.data.source.n_entries):
            return search(problem, options, self.gram_at(problem.ridge)).support

    @cached_property
    def _gram(self) -> GramProblem | None:
        """For the squared loss the Gram form, which all searches share."""
        if not isinstance(self.loss, SquaredLoss):
            return None
        return GramProblem.from_design(self.loss.design, reduced_targets(self.loss.Y))

    def gram_at(self, ridge: float) -> GramProblem | None:
        """For the squared loss the Gram form with a ridge."""
        return None if self._gram is None else self._gram.with_ridge(ridge)

    # --------------------------------------------------------------------- results
    def model(self, fit: Fit) -> tuple[Array, Array]:
        """Coefficients (n_targets x n_selected) and intercepts, in the units of the data."""
        return self.data.model(*self.loss.expand(fit.W, fit.b), fit.support)

    def decision_model(self, fit: Fit) -> tuple[Array, Array]:
        """The same, of two classes with one row."""
        model = self.model(fit)
        return decision_model(*model) if self.data.targets.task == "classification" else model

    def deviances(self, fits: dict[int, Fit]) -> Array:
        """Twice the negative log-likelihood of the fits without a ridge, up to a constant."""
        loss = self.loss
        if self._gram is None:
            refits = [loss.refit(f.support, penalty=0.0, tol=_FIT_TOL) for f in fits.values()]
            return 2.0 * np.array([refit.objective for refit in refits])
        entries = self.n * self.n_columns
        supports = [fit.support for fit in fits.values()]
        losses = np.array([least_squares_objective(loss.design, loss.Y, S) for S in supports])
        losses = np.maximum(losses, max(_PERFECT * self._gram.total, np.finfo(np.float64).tiny))
        return np.asarray(entries * np.log(losses / entries))

    def warn_if_arbitrary(self, found: Outcome, ridge: float) -> None:
        """Warn where the fit is perfect without a ridge, so that others are as good."""
        if ridge > 0:
            return
        n, k = self.loss.Y.shape[0], found.support.size
        if isinstance(self.loss, NewtonLoss):
            if found.objective <= _SEPARATED * self.loss.at_zero:
                warn_user(
                    f"{self.data.k} features {self.loss.perfect} with alpha=0, and so may others: "
                    "the coefficients have no limit and the choice is arbitrary; take alpha > 0."
                )
            return
        total = float(np.vdot(self.loss.Y, self.loss.Y))
        if k >= n - self.data.fit_intercept and found.objective <= _PERFECT * total:
            warn_user(
                f"{k} features fit {n} samples perfectly with alpha=0, and so would others: the "
                "choice is arbitrary; take alpha > 0 or fewer features."
            )


def decision_model(coef: Array, intercept: Array) -> tuple[Array, Array]:
    """A linear model of classes with one row for two of them: the second less the first."""
    if len(intercept) != 2:
        return coef, intercept
    return coef[1:] - coef[:1], intercept[1:] - intercept[:1]


def open_problem(selector: TopK, X: Any, y: Any = None, sample_weight: Any = None) -> TopKProblem:
    """The problem of a selector, its parameters checked, for any k."""
    selector._check_combinations()
    settings = replace(selector._settings(), name="A path", by_passes=False)
    data = selector._source(X, y, sample_weight).problem(settings)
    loss = effective_loss(selector.loss, data.targets.task, data.source.n_rows)
    return pose(loss, data, selector._constraints(data.design.shape[1]))


def pose(name: str, data: LinearProblem, constraints: Constraints) -> TopKProblem:
    """The problem with the loss of this name; refuses targets that it does not take."""
    if name == "squared":
        centred, mean = data.squared()
        squared = SquaredLoss(centred.design, centred.Y, mean)
        return TopKProblem(name, centred, squared, constraints)
    weights = np.ones(data.Y.shape[0]) if data.weights is None else data.weights
    task = data.targets.task
    loss = CURVED[name].from_targets(data.design, data.Y, weights, data.fit_intercept, task)
    return TopKProblem(name, data, loss, constraints)
