"""The candidates of a proof for a loss with a curvature, by their columns.

The problem is to choose S, k features, such that

    f(S) = min_{W,b} loss(XW + 1b') + (ridge / 2) ||W||_F^2   with w_j = 0 outside S

is least. Every W gives a lower bound, by the dual point of its predictions
(:class:`rowsparse.solvers.losses.newton.DualPoint`). Where groups are chosen, the score of a group
is the sum of those of its columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._deadline import Deadline
from rowsparse.certificate.proof import Dual, Kind
from rowsparse.solvers.choices import Choices, Largest
from rowsparse.solvers.losses.newton import NewtonLoss
from rowsparse.solvers.problem import Listing
from rowsparse.solvers.proof.candidates import Completion, DualBound, Ways, listed
from rowsparse.solvers.proof.relaxation import ColumnPoint, ColumnRelaxation, Guess

# Entries of X that are held as float64 at a time.
_BLOCK_ENTRIES = 1 << 24
# The most ways to choose the last features that are all tried, before and after a relaxation, and
# the most predictions that are fitted in all of them.
_FEW_WAYS, _MAX_WAYS, _MAX_PREDICTIONS = 30, 300, 1 << 18
# Entries of the columns of the choices that are fitted together.
_BATCH_ENTRIES = 1 << 18
# Tolerance of a fit, and of the one that decides which of two choices is better, relative to the
# loss of choosing nothing.
_FIT_TOL, _REFIT_TOL = 1e-10, 1e-11
_EPS = float(np.finfo(np.float64).eps)


class ColumnCandidates:
    """The units that may still be chosen, by their columns.

    Parameters
    ----------
    loss : NewtonLoss
        Of the design and the targets.
    choices : Choices
        Which sets of the candidates may be chosen.
    names, features : arrays of int
        The candidates as units of the problem, and their columns as columns of the design.
    norms : array of shape (m,)
        Norms of the columns, weighted as the samples are.
    ridge : float
        Weight of ||W||_F^2 / 2.
    columns : array of shape (n, m) or None
        The columns in float64; None if they are too large to be held.
    """

    patience, shares = math.inf, None

    def __init__(
        self,
        loss: NewtonLoss,
        choices: Choices,
        names: Index,
        features: Index,
        norms: Array,
        ridge: float,
        columns: Array | None,
    ) -> None:
        self.loss, self.choices, self.names, self.features = loss, choices, names, features
        self.norms, self.ridge = norms, ridge
        self._columns = columns

    @classmethod
    def from_loss(cls, loss: NewtonLoss, ridge: float, choices: Choices) -> ColumnCandidates:
        """The units of a problem that are not barred."""
        names = np.setdiff1d(np.arange(choices.n_units), choices.barred)
        features = choices.columns(names)
        columns, norms = None, np.empty(features.size)
        if loss.design.shape[0] * features.size <= _BLOCK_ENTRIES:
            columns = np.ascontiguousarray(loss.design.double_columns(features))
        for at, block in _blocks(loss, features, columns):
            norms[at] = np.sqrt(loss.omega @ block**2)
        return cls(loss, choices.among(names), names, features, norms, ridge, columns)

    def __len__(self) -> int:
        return int(self.names.size)

    @property
    def has_bounds(self) -> bool:
        """Whether there is a ridge, and a target that varies."""
        return self.ridge > 0 and self.loss.Y.shape[1] > 0

    @property
    def total(self) -> float:
        """The loss of choosing nothing."""
        return self.loss.at_zero

    @property
    def nbytes(self) -> int:
        """Memory for what was computed from the columns."""
        return self.norms.nbytes + (0 if self._columns is None else self._columns.nbytes)

    def restricted(self, keep: Index) -> ColumnCandidates:
        """The same problem with these candidates alone."""
        at = self.choices.columns(keep)
        features = self.features[at]
        columns = None
        if self._columns is not None:
            columns = self._columns.take(at, axis=1)
        elif self.loss.design.shape[0] * features.size <= _BLOCK_ENTRIES:
            columns = self.loss.design.double_columns(features)
        own, names = self.choices.among(keep), self.names[keep]
        return ColumnCandidates(
            self.loss, own, names, features, self.norms[at], self.ridge, columns
        )

    def with_k(self, k: int) -> ColumnCandidates:
        """The same problem of choosing k units."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.choices = self.choices.with_k(k)
        return other

    def gains_alone(self) -> Array:
        """||X_g' G||^2 with G the gradient of choosing nothing."""
        null = np.broadcast_to(self.loss.null_intercept(), self.loss.Y.shape)
        u = self._products(self.loss.gradient(null).T)
        return self.choices.sums(np.asarray(np.einsum("cj,cj->j", u, u)))

    def relaxation(
        self, positions: Index, n_fixed: int, guess: Guess | None = None
    ) -> ColumnRelaxation:
        """The relaxation of the choice of some candidates, the first ``n_fixed`` among them."""
        choices, at = self.choices, self.choices.columns(positions)
        X, owner, start = self._take(at), choices.owner_among(positions), None
        if guess is not None:
            start = guess.among(self.features[at])
        return ColumnRelaxation(self.loss, X, self.ridge, choices.k, n_fixed, owner, start)

    def guess(self, positions: Index, point: ColumnPoint) -> Guess | None:
        """Where similar relaxations may start; None for a fit that overflows."""
        if not (np.isfinite(point.u).all() and np.isfinite(point.b).all()):
            return None
        columns, W = self.features[self.choices.columns(positions)], np.zeros_like(point.u)
        W[point.active] = point.W
        order = np.argsort(columns)
        return Guess(columns[order], point.u[order] / self.ridge, W[order], point.b)

    def bound(self, active: Index, W: Array, chosen: Index, allowed: Mask) -> DualBound:
        """The bound of a W with the rows of ``active``, over ``chosen`` and others ``allowed``."""
        loss, choices = self.loss, self.choices
        fitted = (self._take(active) @ W).T
        nothing = DualBound(-np.inf, np.full(len(self), np.inf), Largest(np.inf, np.inf, np.inf))
        if not np.isfinite(fitted).all():
            return nothing
        point = loss.dual(fitted)
        u = self._products(point.Theta)
        # ||u_j|| and its possible rounding error.
        q = np.sqrt(np.einsum("cj,cj->j", u, u))
        q += float(point.error) * self.norms
        q *= q
        q /= 2.0 * self.ridge
        q = choices.sums(q)
        used = choices.largest(q, chosen, allowed)
        rounding = 2.0 * (loss.omega.size + choices.most_columns + 16) * _EPS
        value = float(point.value) - used.total * (1.0 + rounding)
        return DualBound(value, q, used) if np.isfinite(value) else nothing

    def fit(self, positions: Index, limit: float = np.inf) -> tuple[Array, float]:
        """The coefficients of a set of candidates, and f(S); rough where that exceeds a limit."""
        columns = self._take(self.choices.columns(positions))
        fit = self.loss.fit(columns, ridge=self.ridge, tol=_FIT_TOL, limit=limit)
        return fit.W, fit.objective

    def dual(self, active: Index, W: Array) -> Dual:
        """The dual point of a W, which is recorded as it is."""
        return Dual(self.features[active], W)

    def objective(self, features: Index) -> float:
        """f(S) of some columns of the design."""
        columns = self.loss.design.double_columns(features)
        return self.loss.fit(columns, ridge=self.ridge, tol=_REFIT_TOL).objective

    def tightened(self, objective: float, deadline: Deadline) -> None:
        """No other bounds are known."""

    def enumerated(self, deadline: Deadline, listing: Listing | None = None) -> None:
        """What branch and bound leaves is no rounding error that trying all choices would end."""

    def is_nearly_complete(
        self, chosen: Index, allowed: Mask, threshold: float, bound: DualBound
    ) -> bool:
        """Fits take longer than better bounds."""
        return False

    def complete(
        self,
        chosen: Index,
        free: Index,
        threshold: float,
        bound: DualBound | None = None,
        most: int = 0,
    ) -> Completion | None:
        """Fit all ways to choose the last units, if they are few."""
        count = self.choices.k - chosen.size
        few = max(1, _MAX_PREDICTIONS // max(1, self.loss.Y.size))
        if math.comb(free.size, count) > min(few, _FEW_WAYS if bound is None else _MAX_WAYS):
            return None
        units = np.concatenate([chosen, free])
        at = self.choices.columns(units)
        X, norms, own = self._take(at), self.norms[at], self.choices.among(units)
        n, c = self.loss.Y.shape
        ways = list(combinations(range(chosen.size, units.size), count))
        sets = np.array(ways, dtype=np.intp).reshape(len(ways), count)
        first = np.broadcast_to(np.arange(chosen.size), (len(ways), chosen.size))
        sets = np.hstack([first, sets])
        values, least = np.empty(len(sets)), np.empty(len(sets))
        for same, columns in _by_width(own, sets):
            size = max(1, _BATCH_ENTRIES // (n * (columns.shape[1] + 1) * max(c, 1)))
            for start in range(0, len(columns), size):
                part = slice(start, start + size)
                values[same[part]], least[same[part]] = self._fitted(X, norms, columns[part])
        added = units[sets[:, chosen.size :]]
        if most:
            fitted = Ways(added, values, least)
            return listed(Kind.ALL, fitted, self.choices.copies, threshold, most)
        best = int(np.argmin(values))
        return Completion(Kind.ALL, float(least.min()), added[best], float(values[best]))

    def _fitted(self, X: Array, norms: Array, choices: Index) -> tuple[Array, Array]:
        """The objective that each choice of columns of X attains, and what it is at least."""
        n, k = X.shape[0], choices.shape[1]
        Z = np.ascontiguousarray(X[:, choices].transpose(1, 0, 2))
        values, P = self.loss.fit_many(Z, ridge=self.ridge)
        points = self.loss.dual(P)
        u = np.matmul(points.Theta, Z)
        lengths = np.sqrt(np.einsum("scj,scj->sj", u, u)) + points.error[:, None] * norms[choices]
        q = lengths**2 / (2.0 * self.ridge)
        rounding = 2.0 * (n + k + 16) * _EPS
        bounds = points.value - q.sum(axis=1) * (1.0 + rounding)
        return values, np.where(np.isfinite(bounds), bounds, -np.inf)

    def _take(self, positions: Index) -> Array:
        """Some columns, by their positions among those of the candidates."""
        if self._columns is not None:
            return self._columns.take(positions, axis=1)
        return self.loss.design.double_columns(self.features[positions])

    def _products(self, weighted: Array) -> Array:
        """The products of rows of shape (c, n) with all columns."""
        if self._columns is not None:
            return np.asarray(weighted @ self._columns)
        products = np.empty((len(weighted), self.features.size))
        for at, block in _blocks(self.loss, self.features, None):
            products[:, at] = weighted @ block
        return products


def _by_width(choices: Choices, sets: Index) -> Iterator[tuple[Index, Index]]:
    """Sets of units with equally many columns: which ones, and their columns, a row each."""
    if choices.groups is None:
        yield np.arange(len(sets)), sets
        return
    widths = choices.sizes[sets].sum(axis=1)
    for width in np.unique(widths):
        same = np.flatnonzero(widths == width)
        yield same, np.array([choices.columns(units) for units in sets[same]])


def _blocks(
    loss: NewtonLoss, features: Index, columns: Array | None
) -> Iterator[tuple[slice, Array]]:
    """Columns that may be held as float64 at one time, and where they are."""
    step = max(1, _BLOCK_ENTRIES // loss.design.shape[0])
    for start in range(0, features.size, step):
        at = slice(start, start + step)
        yield at, loss.design.double_columns(features[at]) if columns is None else columns[:, at]
