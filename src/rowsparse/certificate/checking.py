"""Verification of a proof, step by step, in plain NumPy and without any code of the solvers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import comb, inf
from os import PathLike
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._threads import blas_threads_for
from rowsparse.certificate.cox_bounds import CoxBounds
from rowsparse.certificate.curved_bounds import CurvedBounds
from rowsparse.certificate.data import EPS, Table
from rowsparse.certificate.logistic_bounds import LogisticBounds
from rowsparse.certificate.poisson_bounds import PoissonBounds
from rowsparse.certificate.proof import Dual, Kind, Proof, Statement, Step, does_not_hold
from rowsparse.certificate.squared_bounds import SquaredBounds
from rowsparse.certificate.step_choices import Choices, Listing

_LEAST, _LARGEST = (float(getattr(np.finfo(np.float64), name)) for name in ("tiny", "max"))
# Products of the columns of a choice that are checked whatever the size of the data.
_MOST_PRODUCTS = 1 << 26
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
        No choice has an objective below this, apart from those that the proof lists, if it does.
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
    listed : tuple of (float, float)
        What the objective of each choice of a list is at least and at most, whatever rounding did.
    tolerance : float or None
        For which tolerance the list is proven to be complete; infinite if there is no other choice,
        negative if nothing is proven, None without a list.
    """

    statement: str
    bound: float
    objective: float
    n_steps: int
    confirmed: tuple[str, ...]
    same_data: bool
    exact: bool
    listed: tuple[tuple[float, float], ...] = ()
    tolerance: float | None = None

    @property
    def gap(self) -> float:
        """By how much another choice may be better than that of the proof, as a share."""
        left = max(self.objective - min([self.bound, *(low for low, _ in self.listed)]), 0.0)
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

    for any W; other losses have inequalities of their own. Here all of it is computed from the
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
    table = Table.from_arrays(X, y, sample_weight, kept)
    confirmed, about = _confirmed(kept.statement, given, y), kept.statement
    choices = [_chosen(about, kept.support), *_listed(kept)]
    _check_size(table)
    # A bound that overflows is replaced by 0 where it is computed.
    quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")
    with quiet, blas_threads_for(table.X.size):
        if exact:
            from rowsparse.certificate.exact import exact_bound, exact_objectives

            bound, objectives = exact_bound(table, kept), exact_objectives(table, choices)
        else:
            bound, objectives = Checker(table, kept).bound(), _objectives(table, choices)
        sentence, tolerance = about.sentence(bound), None
        if about.tolerance is not None:
            sentence, tolerance = _of_list(table, kept, bound, objectives)
    return Verification(
        sentence,
        bound,
        objectives[0][1],
        len(kept),
        confirmed,
        kept.data is not None,
        exact,
        tuple(objectives[1:]),
        tolerance,
    )


def _check_size(table: Table) -> None:
    """Refuse choices of which the products take far more memory than the data."""
    about = table.statement
    sizes = sorted(len(about.columns_of([g])) for g in range(about.n_units))
    entries = sum(sizes[-about.k :]) ** 2 * max(table.labels.shape[1], 1)
    if entries > max(_MOST_PRODUCTS, 64 * table.X.size):
        raise ValueError(f"choices of {about.k:,} are too large to be checked with these data.")


def _of_list(
    table: Table, proof: Proof, bound: float, objectives: Sequence[tuple[float, float]]
) -> tuple[str, float]:
    """What a list proves in one sentence, and the tolerance for which it is complete.

    The objectives, each at least and at most, are those of the choice of the proof and of the
    list. The least of all is at most ``least``, and at least ``lowest``.
    """
    about, rows = proof.statement, proof.listed
    assert rows is not None
    assert about.tolerance is not None
    asked, kinds = about.tolerance, table.kinds
    least = min(high for _, high in objectives)
    lowest = min([bound, *(low for low, _ in objectives)])
    high = (1.0 + asked) * least * (1.0 + 4.0 * EPS)
    low = (1.0 + asked) * lowest * (1.0 - 4.0 * EPS)
    tolerance = bound / least * (1.0 - 4.0 * EPS) - 1.0 if least > 0 else -1.0
    if bound >= high and bound > 0:
        tolerance = max(tolerance, asked)
    which, what = about.words()
    if about.feature_groups is None and np.any(kinds[table.allowed] != table.allowed):
        add_nothing = about.alpha == 0 and about.loss == "squared"
        which += ", constant columns and copies of others left out," if add_nothing else ""
        which += "" if add_nothing else ", copies of columns counted once,"
    once = np.unique(np.sort(kinds[rows], axis=1), axis=0, return_index=True)[1]
    listed = [objectives[1 + at] for at in once.tolist()]
    n, most = len(listed), sum(below <= high for below, _ in listed)
    sure = max(sum(above <= low for _, above in listed), 1)
    if tolerance >= asked:
        count = f"Exactly {most:,}" if sure >= most else f"At least {sure:,} and at most {most:,}"
        noun, verb = ("choice", "has") if most == 1 else ("choices", "have")
        return (
            f"{count} {noun} of {which} {verb} {what} within {100 * asked:.6g} % of the least, "
            f"{least:.10g}: those listed.",
            tolerance,
        )
    proven = f"nothing is proven of others within {100 * asked:.6g} % of the least"
    if tolerance >= 0:
        proven = (
            f"the list is complete within {100 * tolerance:.6g} % of the least, {least:.10g}, and "
            f"not within {100 * asked:.6g} %"
        )
    proven = f"apart from the {n:,} listed: {proven}"
    return f"No {which} have {what} below {bound:.10g}, {proven}.", tolerance


def _confirmed(statement: Statement, given: dict[str, Any], y: Any) -> tuple[str, ...]:
    """The names of what the caller gave, if the statement agrees."""
    known = {field.name for field in fields(Statement)}
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"a statement has no {name!r}: it has {', '.join(sorted(known))}.")
        found = getattr(statement, name)
        if name in ("include", "exclude"):
            value, found = sorted(value or []), sorted(found)
        elif name == "feature_groups":
            value, found = (_grouped(groups, statement.n_features) for groups in (value, found))
        elif name == "class_weight" and isinstance(value, dict):
            value = [float(value.get(c, 1.0)) for c in np.unique(np.asarray(y)).tolist()]
        if value != found or isinstance(value, bool) != isinstance(found, bool):
            raise ValueError(f"the proof is about {name}={found!r}, and not {value!r}.")
    return tuple(given)


def _grouped(groups: Any, d: int) -> list[list[int]] | None:
    """Groups by their columns, in order; None where each has one.

    They may be labels, or lists of columns; a column in no list is a group of its own.

    >>> _grouped([[2, 0]], 4), _grouped(["a", "b", "a", "c"], 4), _grouped([[0], [1]], 2)
    ([[0, 2], [1], [3]], [[0, 2], [1], [3]], None)
    """
    if groups is None:
        return None
    if any(isinstance(group, (list, tuple, set, np.ndarray)) for group in groups):
        parts = [sorted(map(int, group)) for group in groups if len(group)]
        parts += [[j] for j in set(range(d)).difference(*parts)]
    else:
        labels = np.asarray(groups)
        parts = [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]
    return sorted(parts) if any(len(part) > 1 for part in parts) else None


def _listed(proof: Proof) -> list[Index]:
    """The columns of each choice that a proof lists."""
    about, rows = proof.statement, proof.listed
    if (rows is None) != (about.tolerance is None):
        raise does_not_hold("it has a list of choices without a tolerance, or none with one")
    if rows is None:
        return []
    if not isinstance(rows, np.ndarray) or rows.dtype.kind not in "iu" or rows.ndim != 2:
        raise does_not_hold("its list is no table of whole numbers")
    if not rows.size or rows.min() < 0 or rows.max() >= about.n_units:
        raise does_not_hold("its list is empty, or names units that do not exist")
    if len(np.unique(np.sort(rows, axis=1), axis=0)) < len(rows):
        raise does_not_hold("it lists a choice twice")
    return [_chosen(about, np.array(about.columns_of(row))) for row in rows.tolist()]


def _chosen(statement: Statement, support: Any) -> Index:
    """The columns that the proof says were chosen, if they are a choice."""
    support = np.asarray(support)
    if support.dtype.kind not in "iu" or support.ndim != 1:
        raise does_not_hold("the columns that were chosen are no whole numbers")
    chosen = set(support.tolist())
    units = statement.units_of(sorted(chosen))
    is_choice = (
        all(0 <= j < statement.n_features for j in chosen)
        and chosen >= set(statement.include)
        and not chosen & set(statement.exclude)
        and chosen == set(statement.columns_of(units))
    )
    if not is_choice or support.size != len(chosen) or len(units) != statement.k:
        what = "columns" if statement.feature_groups is None else "groups"
        raise does_not_hold(
            f"it is not about {statement.k} different {what} that may be chosen together"
        )
    return support.astype(np.intp)


def _objectives(table: Table, choices: Sequence[Index]) -> list[tuple[float, float]]:
    """What the objective of each choice of columns is at least and at most."""
    used = np.unique(np.concatenate(choices))
    bounds = bounds_of(table, used, None)
    found = [(0.0, 0.0)] * len(choices)
    widths = np.array([*map(len, choices)])
    for width in np.unique(widths).tolist():
        same = np.flatnonzero(widths == width)
        sets = np.searchsorted(used, [choices[at] for at in same.tolist()])
        for start in range(0, len(sets), bounds.batch(width)):
            part = slice(start, start + bounds.batch(width))
            for at, low, high in zip(same[part].tolist(), *bounds.fitted(sets[part]), strict=True):
                found[at] = in_units(bounds, low), in_units(bounds, high, upwards=True)
    return found


# -------------------------------------------------------------------------------- the checker
# What the data prove with one loss. Columns are positions in the pool of a proof.
LossBounds = SquaredBounds | CurvedBounds
BOUNDS: dict[str, type[LossBounds]] = {
    "squared": SquaredBounds,
    "logistic": LogisticBounds,
    "poisson": PoissonBounds,
    "cox": CoxBounds,
}


def bounds_of(table: Table, pool: Index, shares: Array | None) -> LossBounds:
    """The bounds of the loss that a table's statement names."""
    return BOUNDS[table.statement.loss](table, table.scaled, pool, shares)


def in_units(bounds: LossBounds, value: float, *, upwards: bool = False) -> float:
    """A bound in the units of the data; rounded down, or up, within the range of floats.

    ``factor`` holds the share of a bound that rounding leaves, the unit, and its binary exponent.
    """
    if not upwards and (value <= 0.0 or value == inf):
        return max(float(value), 0.0)
    trust, unit, exponent = bounds.factor
    with np.errstate(over="ignore"):
        scaled = float(np.ldexp(value * unit * (2.0 - trust if upwards else trust), exponent))
    if upwards:
        scaled = max(scaled, _LEAST) if value > 0 else scaled
        return scaled if scaled <= _LARGEST else _LARGEST
    return min(scaled, _LARGEST) if scaled >= _LEAST else 0.0


class Checker:
    """The bound that follows from the steps of a proof. Columns and units are those of the pool."""

    def __init__(self, table: Table, proof: Proof) -> None:
        self.steps, self.table, about = proof.steps, table, table.statement
        # For every column the one of the pool that stands for it; -1 for none.
        stands = np.full(about.n_features, -1)
        stands[table.allowed] = table.allowed
        stands = table.kinds if table.is_reduced else stands
        pool = np.unique(stands[stands >= 0])
        # The places of columns, and of units, among those of the pool; -1 for none.
        self.place = self.unit_place = _places(pool, about.n_features)
        self.bounds = bounds_of(table, pool, proof.diagonal)
        units, groups, places = pool, None, np.where(stands >= 0, self.place[stands], -1)
        if about.feature_groups is not None:
            units = np.setdiff1d(np.arange(about.n_units), about.units_of(about.exclude))
            self.unit_place = places = _places(units, about.n_units)
            groups = tuple(self.place[about.feature_groups[g]] for g in units)
        self.units = units
        # Included columns that are constant, or copies of other included ones, take a place and add
        # nothing. Other choices may be filled up with such columns, too: with fewer columns in the
        # pool than places, all of them are chosen.
        included = places[np.array(about.units_of(about.include), dtype=np.intp)]
        chosen = np.unique(included[included >= 0])
        k = min(about.k - (included.size - chosen.size), units.size)
        free = np.ones(units.size, dtype=bool)
        free[chosen] = False
        self.first = Choices(chosen, free, k - chosen.size, groups)
        if proof.listed is not None:
            self.first = replace(self.first, listing=self._listing(places[proof.listed]))

    @cached_property
    def kinds(self) -> Index:
        """A number for each unit, the same for columns that are copies of each other."""
        return self.table.kinds[self.units]

    def _listing(self, rows: Index) -> Listing:
        """The choices listed, as units of the pool; -1 for columns that add nothing."""
        size, kinds = self.first.chosen.size + self.first.count, []
        for row in rows:
            units = np.unique(row[row >= 0])
            # Who proved it from sums over the samples did not see which columns are copies: a
            # choice with two of them is none of the pool, and leaves none out.
            if units.size == size:
                kinds.append(np.sort(self.kinds[units]))
        listed = np.array(kinds, dtype=np.intp).reshape(len(kinds), size)
        return Listing(self.kinds, np.unique(listed, axis=0))

    def bound(self) -> float:
        """The least of all bounds, in the units of the data."""
        stack, least = [self.first], self.bounds.total if self.first.listing is None else inf
        for step in self.steps:
            if not stack:
                raise does_not_hold("it has more steps than sets of choices")
            bound, left = self._take(step, stack.pop(), least)
            least = min(least, bound if bound == bound else 0.0)
            stack.extend(choices for choices in left if not choices.is_empty)
        if stack:
            raise does_not_hold("it leaves out some choices")
        about = self.table.statement
        if self.first.listing is not None and about.feature_groups is None:
            # Choices that differ only in columns that add nothing are not known from the pool.
            least = least if len(about.include) + self.first.count == about.k else 0.0
        return in_units(self.bounds, least)

    def _take(self, step: Step, choices: Choices, least: float) -> tuple[float, list[Choices]]:
        """What one step proves, and the choices that it leaves; ``least`` is what was proven."""
        if step.kind in (Kind.SPLIT, Kind.EXCHANGE):
            j = _positions(np.array([step.feature]), self.unit_place)
            none = copies = j[:0]
            if step.kind == Kind.EXCHANGE:
                copies = _positions(step.out, self.unit_place)
                if np.any((self.kinds[copies] != self.kinds[j]) | (copies == j)):
                    raise does_not_hold("it exchanges columns that are no copies")
            left = choices.without(np.append(j, copies), none)
            return np.inf, [left, choices.without(none, j)]
        if step.kind == Kind.SCREEN:
            out, fixed = (_positions(part, self.unit_place) for part in (step.out, step.fixed))
            bounds = (
                _screened(value, choices.sums(q), choices, out, fixed)
                for value, q in self._bounds(step.dual, choices)
            )
            return _reached(bounds, least), [choices.without(out, fixed)]
        if step.kind == Kind.BOUND:
            return _reached((value for value, _ in self._bounds(step.dual, choices)), least), []
        if step.kind == Kind.LAST:
            return self.bounds.last(choices, least), []
        if step.kind == Kind.OPEN:
            return 0.0, []
        if comb(int(choices.allowed.sum()), choices.count) > _MOST_CHOICES:
            raise does_not_hold("it tries more choices than can be tried")
        return self.bounds.every(choices), []

    def _bounds(self, dual: Dual | None, choices: Choices) -> Iterator[tuple[float, Array]]:
        """Bounds of a dual point over some choices, and the q of all columns."""
        nothing = 0.0, np.zeros(self.bounds.c.size)
        if dual is None:
            yield nothing
            return
        at, V = _positions(dual.features, self.place), np.asarray(dual.V)
        if V.dtype.kind != "f" or V.shape != (at.size, self.bounds.n_targets):
            raise does_not_hold("a dual point is malformed")
        if not np.isfinite(V).all():
            raise does_not_hold("a dual point is not finite")
        for value, q in self.bounds.bounds(at, V.astype(np.float64), choices):
            # Without a finite bound its q say nothing either.
            yield (value, q) if np.isfinite(value) else nothing


def _places(names: Index, size: int) -> Index:
    """For each of ``size`` columns or groups its place among some names; -1 for others."""
    place = np.full(size, -1)
    place[names] = np.arange(names.size)
    return place


def _positions(names: Any, place: Index) -> Index:
    """Columns of X, or groups of them, as positions in the pool."""
    names = np.asarray(names)
    if names.ndim != 1 or (names.size and names.dtype.kind not in "iu"):
        raise does_not_hold("it names columns by something else than whole numbers")
    if np.any((names < 0) | (names >= place.size)):
        raise does_not_hold("it names columns that there are not")
    at = place[names.astype(np.intp)]
    if np.any(at < 0):
        raise does_not_hold("it names columns outside its pool")
    if np.unique(at).size < at.size:
        raise does_not_hold("it counts a column twice")
    return at


def _reached(bounds: Iterator[float], enough: float) -> float:
    """The largest bound, or the first that is enough."""
    best = -np.inf
    for bound in bounds:
        best = max(best, bound)
        if best >= enough:
            break
    return best


def _screened(value: float, q: Array, choices: Choices, out: Index, fixed: Index) -> float:
    """The bound of the choices with one of ``out``, or without one of ``fixed``, by unit scores.

    With one of ``out`` in the place of the last of the largest q, or one of ``fixed`` replaced
    by the first that is not among them.
    """
    ordered = np.append(np.sort(q[choices.allowed])[::-1], 0.0)
    last, following = ordered[choices.count - 1], ordered[choices.count]
    gained = np.append(last - q[out], q[fixed] - following)
    return float((value + np.maximum(gained, 0.0)).min(initial=np.inf))
