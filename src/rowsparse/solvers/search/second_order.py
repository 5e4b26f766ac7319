"""Second-order models of a loss at a fit, and the gains of changes of the support in them.

With H the curvature of the loss at the fit on a support S, diag(h) in general, and m = X'h / sum h
(0 without an intercept), each column of the targets has the weighted inner products

    C = X_S' H X - (sum h) m_S m',   M = (C_SS + ridge I)^-1,   T = M C
    s_j = x_j' H x_j - (sum h) m_j^2 + ridge - C_j' T_j,         R = -X' gradient

and the gains of the squared loss with these inner products, halved, are those of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import Design
from rowsparse.solvers.losses.newton import Curvature, NewtonFit, NewtonLoss
from rowsparse.solvers.search.gram import first_best, safe_ratio

# A column adds nothing to the selected ones up to this share of its own inner product.
NOTHING_LEFT = 1e-10
# Numbers that the models of several columns of the targets hold at a time.
_ENTRIES = 1 << 19
# What is added to the diagonal of a matrix, as a share of it, so that it can be inverted.
_DAMPING = 1e-13


class Columns(Protocol):
    """Columns of a design, all or some."""

    @property
    def size(self) -> int:
        """Number of columns."""

    def products(self, M: Array) -> Array:
        """M'Z."""

    def squares(self, curvature: Curvature) -> Array:
        """z_j' H z_j for every H and every column j of Z."""

    def take(self, places: Index) -> Array:
        """Columns in double precision."""


class AllColumns:
    """All columns of a design, by products with it: sparse data stay sparse."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self.size = design.shape[1]

    def products(self, M: Array) -> Array:
        return self._design.rmatmul(M).T

    def squares(self, curvature: Curvature) -> Array:
        if curvature.is_diagonal:
            return self._design.weighted_squares(curvature.h)
        step = max(1, _ENTRIES // self._design.shape[0])
        parts = np.split(np.arange(self.size), range(step, self.size, step))
        return np.hstack([curvature.squares(self.take(part)) for part in parts])

    def take(self, places: Index) -> Array:
        return self._design.double_columns(places)


class ColumnPool:
    """Some columns of a design, held as a dense array in double precision.

    ``features`` has their indices in the design, sorted.
    """

    def __init__(self, design: Design, features: Index) -> None:
        self.features = np.unique(features)
        self._design = design
        self._Z = np.asfortranarray(design.double_columns(self.features))

    @cached_property
    def _squared(self) -> Array:
        return np.square(self._Z)

    @property
    def size(self) -> int:
        return int(self.features.size)

    def products(self, M: Array) -> Array:
        return np.asarray(M.T @ self._Z)

    def squares(self, curvature: Curvature) -> Array:
        if curvature.is_diagonal:
            return np.asarray(curvature.h.T @ self._squared)
        return curvature.squares(self._Z)

    def take(self, places: Index) -> Array:
        return self._Z[:, places]

    def places(self, features: Index) -> Index:
        """Where features are in the pool; they must be in it."""
        return np.searchsorted(self.features, features)

    def extended(self, features: Index) -> ColumnPool:
        """The pool with further features, each named once."""
        near = np.minimum(self.places(features), self.size - 1)
        missing = features[self.features[near] != features]
        if missing.size == 0:
            return self
        wider = ColumnPool.__new__(ColumnPool)
        wider._design = self._design
        joined = np.concatenate([self.features, missing])
        order = np.argsort(joined)
        wider.features = joined[order]
        Z = np.concatenate([self._Z.T, self._design.double_columns(missing).T])
        wider._Z = Z[order].T
        return wider


class TargetModels:
    """The models of some columns of the targets, on all columns given.

    Arrays have the columns of the targets along the first axis.
    """

    def __init__(
        self,
        columns: Columns,
        support: Index,
        X_S: Array,
        W: Array,
        curvature: Curvature,
        residual: Array,
        ridge: float,
        fit_intercept: bool,
    ) -> None:
        H = curvature.h
        (n, k), c = X_S.shape, H.shape[1]
        weighted = curvature.times(X_S).reshape(n, c * k)
        self._columns, self.curvature = columns, curvature
        self._added: list[tuple[Array, Array]] = []
        products = columns.products(np.concatenate([weighted, H, residual], axis=1))
        self.W, self.support = W.T, support
        self.C, self.R = products[: c * k].reshape(c, k, columns.size), products[-c:]
        self.mean = self._sums = np.zeros((c, columns.size))
        self.diagonal = columns.squares(curvature) + ridge
        total = H.sum(axis=0)[:, None]
        if fit_intercept:
            self._sums = products[c * k : -c]
            self.mean = safe_ratio(self._sums, total, total > 0)
            self.C = self.C - self._sums[:, support, None] * self.mean[:, None, :]
            self.diagonal -= self._sums * self.mean
        self.A_SS = self.C[:, :, support] + ridge * np.eye(k)
        self.M = np.linalg.inv(_damped(self.A_SS.copy()))
        # Where all predictions are certain there is no curvature: such a model proposes nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            self.T = self.M @ self.C
            self.s = self.diagonal - np.einsum("cij,cij->cj", self.C, self.T)

    @property
    def _pivots(self) -> Array:
        return np.einsum("cii->ci", self.M)

    def addition_gains(self) -> Array:
        useful = self.s > NOTHING_LEFT * self.diagonal
        return np.asarray(0.5 * safe_ratio(self.R**2, self.s, useful).sum(axis=0))

    def add(self, place: int) -> None:
        """Add a column to the support of the model; ``addition_gains`` are those beyond it.

        With E_l the inner product of columns j and l less what the support explains of it, adding j
        takes E_l^2 / s_j off s_l and E_l R_j / s_j off R_l.
        """
        E = self._columns.products(
            self.curvature.times(self._columns.take(np.array([place])))[..., 0]
        )
        E = E - self._sums[:, place, None] * self.mean
        E -= np.einsum("ck,ckl->cl", self.C[:, :, place], self.T)
        for earlier, pivot in self._added:
            E -= earlier * safe_ratio(earlier[:, place], pivot, pivot > 0)[:, None]
        pivot = self.s[:, place].copy()
        useful = pivot > NOTHING_LEFT * self.diagonal[:, place]
        pivot[~useful] = 0.0
        share = safe_ratio(E, pivot[:, None], useful[:, None])
        self.R = self.R - share * self.R[:, place, None]
        self.s = self.s - share * E
        self._added.append((E, pivot))

    def remove(self, slot: int) -> None:
        """Take a column out of the support of the model; its coefficients are zero then."""
        share = self.M[:, :, slot] / self.M[:, slot, slot, None]
        self.W = self.W - share * self.W[:, slot, None]
        self.M = self.M - share[:, :, None] * self.M[:, slot, None, :]

    def removal_costs(self) -> Array:
        # Of dependent columns without a ridge, rounding may make pivots zero.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            costs = self.W**2 / self._pivots
        return np.asarray(0.5 * np.nan_to_num(costs, nan=0.0, posinf=np.inf).sum(axis=0))

    def exchange_gains(self) -> Array:
        pivots = self._pivots[:, :, None]
        # Where all predictions are certain there is no curvature: such a model proposes nothing.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            left = self.T**2
            left /= pivots
            left += self.s[:, None, :]
            gains = self.T * (self.W[:, :, None] / pivots)
            gains += self.R[:, None, :]
            np.square(gains, out=gains)
            useful = left > NOTHING_LEFT * self.diagonal[:, None, :]
            summed = safe_ratio(gains, left, useful).sum(axis=0)
            summed -= np.sum(self.W[:, :, None] ** 2 / pivots, axis=0)
        summed *= 0.5
        return np.where(np.isfinite(summed), summed, -np.inf)

    # A start beyond the floats is none: fits begin at zero then.
    @np.errstate(divide="ignore", over="ignore", invalid="ignore")
    def start(self, out: int | None, into: int | None, b: Array) -> tuple[Array, Array]:
        """W and b of the models without a slot and with a column, which comes last.

        ``b`` is that of the fit.
        """
        W = self.W
        shift = np.einsum("cj,cj->c", self.mean[:, self.support], W)
        kept = np.arange(W.shape[1]) != out
        if out is not None:
            share = self.M[:, out] / self._pivots[:, out, None]
            W = W - share * W[:, out, None]
        places = self.support[kept]
        if into is not None:
            left, gradient, t = self.s[:, into], self.R[:, into], self.T[:, :, into]
            if out is not None:
                entry = t[:, out] / self._pivots[:, out]
                left = left + entry * t[:, out]
                gradient = gradient + entry * self.W[:, out]
                t = t - share * t[:, out, None]
            useful = left > NOTHING_LEFT * self.diagonal[:, into]
            new = safe_ratio(gradient, left, useful)[:, None]
            W = np.concatenate([(W - t * new)[:, kept], new], axis=1)
            places = np.append(places, into)
        else:
            W = W[:, kept]
        return W.T, b + shift - np.einsum("cj,cj->c", self.mean[:, places], W)


class NewtonModel:
    """The model of all columns of the targets at a fit; ``support`` are places in the columns."""

    def __init__(
        self, loss: NewtonLoss, ridge: float, columns: Columns, support: Index, fit: NewtonFit
    ) -> None:
        self.support, self.fit, self.columns = support, fit, columns
        self._size = columns.size
        self._targets = list(target_models(loss, ridge, columns, support, fit.W, fit.P))

    def addition_gains(self) -> Array:
        """The decrease of the objective by each column; -inf for those of the support."""
        gains = np.zeros(self._size)
        for models in self._targets:
            gains += models.addition_gains()
        gains[self.support] = -np.inf
        return gains

    def additions(self, size: int, allowed: Mask) -> Index:
        """Columns to add, one by one as the model has it: ``size`` of them, or as many as gain.

        The model is of no other use afterwards.
        """
        left = allowed.copy()
        chosen: list[int] = []
        while len(chosen) < size:
            gains = np.where(left, self.addition_gains(), -np.inf)
            best = first_best(gains, np.finfo(np.float64).eps)
            if not gains[best] > 0.0:
                break
            chosen.append(best)
            left[best] = False
            for models in self._targets:
                models.add(best)
        return np.array(chosen, dtype=np.intp)

    # A start beyond the floats is none: fits begin at zero then.
    @np.errstate(divide="ignore", over="ignore", invalid="ignore")
    def removals(self, size: int, n_fixed: int) -> tuple[Index, Array, Array]:
        """The support without some columns, and W and b of the model there.

        ``size`` columns are removed, one by one the one that costs least in the model, but none of
        the first ``n_fixed``. The model is of no other use afterwards.
        """
        kept = np.ones(self.support.size, dtype=bool)
        for _ in range(size):
            costs = np.where(kept, self.removal_costs(), np.inf)
            slot = n_fixed + int(np.argmin(costs[n_fixed:]))
            kept[slot] = False
            for models in self._targets:
                models.remove(slot)
        W = np.concatenate([models.W for models in self._targets]).T
        mean = np.concatenate([models.mean[:, self.support] for models in self._targets])
        b = self.fit.b + np.einsum("cj,jc->c", mean, self.fit.W - W)
        return self.support[kept], W[kept], b

    def removal_costs(self) -> Array:
        """The increase of the objective without each column of the support."""
        costs = np.zeros(self.support.size)
        for models in self._targets:
            costs += models.removal_costs()
        return costs

    def exchange_gains(self) -> Array:
        """Gains of each column (second axis) in the place of one of the support."""
        return summed_exchange_gains(iter(self._targets), self.support, self._size)

    def start(self, out: int | None, into: int | None) -> tuple[Index, Array, Array]:
        """The support with a slot removed and a column added, and W and b of the model there."""
        places = self.support[np.arange(self.support.size) != out]
        places = places if into is None else np.append(places, into)
        W, b = np.empty((places.size, self.fit.b.size)), np.empty(self.fit.b.size)
        begin = 0
        for models in self._targets:
            part = slice(begin, begin + len(models.M))
            W[:, part], b[part] = models.start(out, into, self.fit.b[part])
            begin = part.stop
        return places, W, b


def _damped(A: Array) -> Array:
    """Matrices, their diagonals raised in place so little that they can be inverted if singular."""
    diagonal = np.einsum("...jj->...j", A)
    diagonal *= 1.0 + _DAMPING
    diagonal += np.finfo(np.float64).tiny
    return A


def target_models(
    loss: NewtonLoss, ridge: float, columns: Columns, support: Index, W: Array, P: Array
) -> Iterator[TargetModels]:
    """The models at W and its predictions P, as many columns at a time as memory holds well."""
    X_S, c = columns.take(support), loss.Y.shape[1]
    gradient, curvature = loss.quadratic(P)
    step = max(1, _ENTRIES // max(1, support.size * max(columns.size, len(P))))
    for begin in range(0, c, step):
        part = slice(begin, begin + step)
        yield TargetModels(
            columns,
            support,
            X_S,
            W[:, part],
            curvature if step >= c else curvature.for_targets(part),
            -gradient[:, part],
            ridge,
            loss.fit_intercept,
        )


def summed_exchange_gains(targets: Iterator[TargetModels], support: Index, size: int) -> Array:
    """The exchange gains of the objective, from those of every column of the targets."""
    gains = np.zeros((support.size, size))
    for models in targets:
        gains += models.exchange_gains()
    gains[:, support] = -np.inf
    return gains
