"""Verification of a proof, step by step, in plain NumPy and without any code of the solvers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import comb
from os import PathLike
from typing import Any, Protocol

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.certificate.choices import Choices
from rowsparse.certificate.data import Scaled, Table, representatives
from rowsparse.certificate.logistic import LogisticBounds
from rowsparse.certificate.proof import Dual, Kind, Proof, Statement, Step, does_not_hold
from rowsparse.certificate.squared import SquaredBounds

_LARGEST = float(np.finfo(np.float64).max)
# The most choices that a step may try.
_MOST_CHOICES = 1 << 20


@dataclass(frozen=True)
class Verification:
    """What a proof proves of a table; ``float`` of it is the bound.

    Attributes
    ----------
    statement : str
        In one sentence.
    bound : float
        No choice has an objective below this.
    objective : float
        The objective of the columns that were chosen, computed anew.
    n_steps : int
        Number of steps that were checked.
    confirmed : tuple of str
        What of the statement the caller gave, and agrees; all else is as the proof says.
    same_data : bool
        Whether the data have the hash in the proof; False if it has none, because the data were
        never seen in one piece.
    exact : bool
        Whether the bound was computed without rounding.
    """

    statement: str
    bound: float
    objective: float
    n_steps: int
    confirmed: tuple[str, ...]
    same_data: bool
    exact: bool

    @property
    def gap(self) -> float:
        """The difference of objective and bound, as a share of the objective."""
        left = max(self.objective - self.bound, 0.0)
        return left / self.objective if self.objective > 0 else 0.0

    def __float__(self) -> float:
        return self.bound

    def __str__(self) -> str:
        how = "in exact arithmetic" if self.exact else "with rounding errors counted against it"
        return (
            f"{self.statement} The columns chosen have {self.objective:.10g}, a gap of "
            f"{self.gap:.2g}. Checked in {self.n_steps} steps, {how}."
        )


def verify(
    X: Any,
    y: Any,
    proof: Proof | str | PathLike[str] | Any,
    sample_weight: Any = None,
    *,
    exact: bool = False,
    **given: Any,
) -> Verification:
    """Check a proof of :class:`rowsparse.TopK`: what follows from it for X and y.

    A proof divides the choices of k columns into sets, each with a point for which an inequality
    holds: with Z the standardised columns, Y the centred targets and u = Z'(Y - ZW), every choice
    has a squared loss of at least

        ||Y||^2 - ||ZW||^2 - (the sum of the k largest ||u_j||^2 / ridge)

    for any W; the logistic loss has an inequality of its own. Here all of it is computed from the
    data and lowered by its possible rounding error. Of the proof nothing is believed: its
    statement is what the result says, and its steps can only prove less than they should, because
    the inequality holds for any W, and no choice is left out where sets are made by splitting
    larger ones. ``docs/certificate_format.md`` has the specification.

    X is made dense, so this is meant for data of moderate size.

    Parameters
    ----------
    X, y, sample_weight
        What the selector was fitted on. Other data are refused, by name of the difference.
    proof : Proof, path or TopK
        ``selector.proof_``, the file that it was saved to, or the selector itself.
    exact : bool, default=False
        Whether to compute in exact arithmetic instead (:mod:`rowsparse.certificate.exact`), which
        takes longer; the extra ``exact`` (python-flint) makes it faster.
    **given
        What the statement should be, by the names of :class:`Statement`: ``k=5, alpha=0.5,
        loss="logistic"``; ValueError if the proof is about something else.

    Returns
    -------
    Verification
        The statement, the bound, the objective computed anew, and what was checked.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import TopK
    >>> from rowsparse.certificate import verify
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = TopK(2, loss="squared", certify=True, random_state=0).fit(X, y)
    >>> checked = verify(X, y, selector.proof_, k=2, loss="squared")
    >>> checked.confirmed, checked.gap < 1e-6
    (('k', 'loss'), True)
    >>> float(checked) == checked.bound
    True
    """
    if isinstance(proof, (str, PathLike)):
        proof = Proof.load(proof)
    kept = proof if isinstance(proof, Proof) else getattr(proof, "proof_", None)
    if not isinstance(kept, Proof):
        raise ValueError("there is no proof to check: fit TopK with certify=True.")
    table = Table.of(X, y, sample_weight, kept)
    confirmed = _confirmed(kept.statement, given, y)
    support = _chosen(kept)
    # A bound that overflows is replaced by 0 where it is computed.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if exact:
            from rowsparse.certificate.exact import exact_bound, exact_objective

            bound, objective = exact_bound(table, kept), exact_objective(table, support)
        else:
            bound, objective = Checker(table, kept).bound(), _objective(table, support)
    return Verification(
        kept.statement.sentence(bound),
        bound,
        objective,
        len(kept),
        confirmed,
        kept.data is not None,
        exact,
    )


def _confirmed(statement: Statement, given: dict[str, Any], y: Any) -> tuple[str, ...]:
    """The names of what the caller gave, if the statement agrees."""
    known = {field.name for field in fields(Statement)}
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"a statement has no {name!r}: it has {', '.join(sorted(known))}.")
        found = getattr(statement, name)
        if name in ("include", "exclude"):
            value, found = sorted(value or []), sorted(found)
        elif name == "class_weight" and isinstance(value, dict):
            value = [float(value.get(c, 1.0)) for c in np.unique(np.asarray(y)).tolist()]
        if value != found or isinstance(value, bool) != isinstance(found, bool):
            raise ValueError(f"the proof is about {name}={found!r}, and not {value!r}.")
    return tuple(given)


def _chosen(proof: Proof) -> Index:
    """The columns that the proof says were chosen, if they are a choice."""
    statement, support = proof.statement, np.asarray(proof.support)
    if support.dtype.kind not in "iu" or support.ndim != 1:
        raise does_not_hold("the columns that were chosen are no whole numbers")
    chosen = set(support.tolist())
    is_choice = (
        chosen >= set(statement.include)
        and not chosen & set(statement.exclude)
        and all(0 <= j < statement.n_features for j in chosen)
    )
    if not is_choice or not support.size == len(chosen) == statement.k:
        raise does_not_hold(
            f"it is not about {statement.k} different columns that may be chosen together"
        )
    return support.astype(np.intp)


def _objective(table: Table, support: Index) -> float:
    bounds = bounds_of(table, Scaled.of(table), support, None)
    return in_units(bounds, bounds.objective(np.arange(support.size)), trust=1.0)


# -------------------------------------------------------------------------------- the checker
class LossBounds(Protocol):
    """What the data prove with one loss. Columns are positions in the pool of a proof.

    ``factor`` holds the share of a bound that rounding leaves, the sum of the weights, and the
    binary exponent of the unit of the targets; ``total`` is the objective of choosing nothing.
    """

    factor: tuple[float, float, int]
    total: float
    n_targets: int

    def bound(self, at: Index, V: Array, choices: Choices) -> tuple[float, Array]: ...
    def last(self, choices: Choices) -> float: ...
    def every(self, choices: Choices) -> float: ...
    def objective(self, support: Index) -> float: ...


def bounds_of(table: Table, data: Scaled, pool: Index, shares: Array | None) -> LossBounds:
    """The bounds of the loss that a table's statement names."""
    if table.statement.loss == "squared":
        return SquaredBounds(table, data, pool, shares)
    if shares is not None:
        raise does_not_hold("it has a diagonal with the logistic loss")
    return LogisticBounds(table, data, pool)


def in_units(bounds: LossBounds, value: float, trust: float | None = None) -> float:
    """A bound in the units of the data; rounded down, within the range of floats."""
    factor, weight, exponent = bounds.factor
    value *= weight * (factor if trust is None else trust)
    with np.errstate(over="ignore"):
        scaled = float(np.ldexp(value, 2 * exponent))
    if scaled < np.finfo(np.float64).tiny:
        return 0.0
    return min(scaled, _LARGEST)


class Checker:
    """The bound that follows from the steps of a proof. Columns are positions in the pool."""

    def __init__(self, table: Table, proof: Proof) -> None:
        self.steps, statement = proof.steps, table.statement
        data, pool = Scaled.of(table), table.allowed
        stands = np.full(statement.n_features, -1)
        stands[pool] = pool
        if statement.alpha == 0 and statement.loss == "squared":
            include = np.array(statement.include, dtype=np.intp)
            order = np.concatenate([include, np.setdiff1d(pool, include)])
            stands = representatives(table.X, data.constant, order)
            pool = np.unique(stands[stands >= 0])
        # The place in the pool of every column; -1 for none.
        self.place = np.full(statement.n_features, -1)
        self.place[pool] = np.arange(pool.size)
        own = stands[np.array(statement.include, dtype=np.intp)]
        self.first = self._all_choices(statement, self.place[own[own >= 0]], pool.size)
        self.bounds = bounds_of(table, data, pool, proof.diagonal)

    def bound(self) -> float:
        """The least of all bounds, in the units of the data."""
        stack, least = [self.first], self.bounds.total
        for step in self.steps:
            if not stack:
                raise does_not_hold("it has more steps than sets of choices")
            bound, left = self._take(step, stack.pop())
            least = min(least, bound if bound == bound else 0.0)
            stack.extend(choices for choices in left if not choices.is_empty)
        if stack:
            raise does_not_hold("it leaves out some choices")
        return in_units(self.bounds, max(least, 0.0))

    def _take(self, step: Step, choices: Choices) -> tuple[float, list[Choices]]:
        """What one step proves, and the choices that it leaves for later ones."""
        if step.kind == Kind.SPLIT:
            j = self._positions(np.array([step.feature]))
            none = j[:0]
            return np.inf, [choices.without(j, none), choices.without(none, j)]
        if step.kind == Kind.SCREEN:
            out, fixed = (self._positions(part) for part in (step.out, step.fixed))
            return self._screened(step.dual, choices, out, fixed), [choices.without(out, fixed)]
        if step.kind == Kind.BOUND:
            return self._bound(step.dual, choices)[0], []
        if step.kind == Kind.LAST:
            return self.bounds.last(choices), []
        if step.kind == Kind.OPEN:
            return 0.0, []
        if comb(int(choices.allowed.sum()), choices.count) > _MOST_CHOICES:
            raise does_not_hold("it tries more choices than can be tried")
        return self.bounds.every(choices), []

    @staticmethod
    def _all_choices(statement: Statement, included: Index, m: int) -> Choices:
        """All choices of the problem, from a pool of m columns; some may be ``included`` twice.

        Included columns that are constant, or copies of other included ones, take a place and add
        nothing. Other choices may be filled up with such columns, too: with fewer columns in the
        pool than places, all of them are chosen.
        """
        chosen = np.unique(included)
        k = min(statement.k - (len(statement.include) - chosen.size), m)
        free = np.ones(m, dtype=bool)
        free[chosen] = False
        return Choices(chosen, free, k - chosen.size)

    def _positions(self, features: Any) -> Index:
        """Columns of X as positions in the pool."""
        features = np.asarray([] if features is None else features)
        if features.dtype.kind not in "iu" and features.size:
            raise does_not_hold("it names columns by something else than whole numbers")
        if np.any((features < 0) | (features >= self.place.size)):
            raise does_not_hold("it names columns that there are not")
        at = self.place[features.astype(np.intp)]
        if np.any(at < 0):
            raise does_not_hold("it names columns outside its pool")
        if np.unique(at).size < at.size:
            raise does_not_hold("it counts a column twice")
        return at

    def _bound(self, dual: Dual | None, choices: Choices) -> tuple[float, Array]:
        """The bound of a dual point over some choices, and the q of all columns."""
        nothing = 0.0, np.zeros(self.first.allowed.size)
        if dual is None:
            return nothing
        at, V = self._positions(dual.features), np.asarray(dual.V)
        if V.dtype.kind != "f" or V.shape != (at.size, self.bounds.n_targets):
            raise does_not_hold("a dual point is malformed")
        if not np.isfinite(V).all():
            raise does_not_hold("a dual point is not finite")
        value, q = self.bounds.bound(at, V.astype(np.float64), choices)
        # Without a finite bound its q say nothing either.
        return (value, q) if np.isfinite(value) else nothing

    def _screened(self, dual: Dual | None, choices: Choices, out: Index, fixed: Index) -> float:
        """The bound of the choices with one of ``out``, or without one of ``fixed``.

        With one of ``out`` in the place of the last of the largest q, or one of ``fixed`` replaced
        by the first that is not among them.
        """
        value, q = self._bound(dual, choices)
        ordered = np.append(np.sort(q[choices.allowed])[::-1], 0.0)
        last, following = ordered[choices.count - 1], ordered[choices.count]
        with_one = value + np.maximum(last - q[out], 0.0)
        without_one = value + np.maximum(q[fixed] - following, 0.0)
        return float(min(with_one.min(initial=np.inf), without_one.min(initial=np.inf)))
