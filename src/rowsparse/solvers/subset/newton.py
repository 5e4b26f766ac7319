"""Second-order models of the logistic loss at a fit, and what changes of the support gain in them.

With h the curvature of the loss at the fit on a support S and m = X'h / sum h (0 without an
intercept), each column of the targets has the weighted inner products

    C = X_S' diag(h) X - (sum h) m_S m',   M = (C_SS + ridge I)^-1,   T = M C
    s_j = x_j' diag(h) x_j - (sum h) m_j^2 + ridge - C_j' T_j,         R = X' (Y - probabilities)

and the gains of the squared loss with these inner products, halved, are those of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.solvers.losses.logistic import LogisticLoss, NewtonFit
from rowsparse.solvers.subset.gram import safe_ratio

# A column adds nothing to the selected ones up to this share of its own inner product.
_NOTHING_LEFT = 1e-10
# What is added to the diagonal of a matrix, as a share of it, so that it can be inverted.
_DAMPING = 1e-13


class Columns(Protocol):
    """Columns of a design, all or some."""

    @property
    def size(self) -> int:
        """How many there are."""

    def products(self, M: Array) -> Array:
        """Z'M."""

    def squares(self, h: Array) -> Array:
        """sum_i h_i z_ij^2 for every column j."""

    def take(self, places: Index) -> Array:
        """Columns in double precision."""


class AllColumns:
    """All columns of a design, by products with it: sparse data stay sparse."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self.size = design.shape[1]

    def products(self, M: Array) -> Array:
        return self._design.rmatmul(M)

    def squares(self, h: Array) -> Array:
        view, _ = self._design.weighted(h, center=False)
        return view.column_norms() ** 2

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
        return np.asarray(self._Z.T @ M)

    def squares(self, h: Array) -> Array:
        return np.asarray(self._squared.T @ h)

    def take(self, places: Index) -> Array:
        return self._Z[:, places]

    def places(self, features: Index) -> Index:
        """Where features are in the pool; they must be in it."""
        return np.searchsorted(self.features, features)

    def extended(self, features: Index) -> ColumnPool:
        """The pool with further features."""
        missing = np.setdiff1d(features, self.features)
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


class TargetModel:
    """The model of one column of the targets, on all columns given."""

    def __init__(
        self,
        columns: Columns,
        support: Index,
        X_S: Array,
        w: Array,
        h: Array,
        residual: Array,
        ridge: float,
        fit_intercept: bool,
    ) -> None:
        k = support.size
        products = columns.products(np.column_stack([X_S * h[:, None], h, residual])).T
        self.w = w
        self.support = support
        self.C, self.R = products[:k], products[k + 1]
        self.mean = np.zeros(columns.size)
        self.diagonal = columns.squares(h) + ridge
        total = float(h.sum())
        if fit_intercept and total > 0:
            self.mean = products[k] / total
            self.C = self.C - np.outer(products[k][support], self.mean)
            self.diagonal -= products[k] * self.mean
        self.A_SS = self.C[:, support] + ridge * np.eye(k)
        self.M = np.linalg.inv(_damped(self.A_SS.copy()))
        # Where all predictions are certain there is no curvature: such a model proposes nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            self.T = self.M @ self.C
            self.s = self.diagonal - np.einsum("ij,ij->j", self.C, self.T)
        self.useful = self.s > _NOTHING_LEFT * self.diagonal

    def addition_gains(self) -> Array:
        return 0.5 * safe_ratio(self.R**2, self.s, self.useful)

    def removal_costs(self) -> Array:
        return np.asarray(0.5 * self.w**2 / np.diag(self.M))

    def exchange_gains(self) -> Array:
        pivot = np.diag(self.M)[:, None]
        # Where all predictions are certain there is no curvature: such a model proposes nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            left = self.T**2
            left /= pivot
            left += self.s
            gains = self.T * (self.w[:, None] / pivot)
            gains += self.R
            np.square(gains, out=gains)
            gains = safe_ratio(gains, left, left > _NOTHING_LEFT * self.diagonal)
            gains -= (self.w**2)[:, None] / pivot
        gains *= 0.5
        return np.where(np.isfinite(gains), gains, -np.inf)

    def equations(self, kept: Index, into: int | None) -> tuple[Array, Array]:
        """The linear equations of the best coefficients on ``kept`` slots and ``into``."""
        size = kept.size + (into is not None)
        A, right = np.empty((size, size)), np.empty(size)
        A[: kept.size, : kept.size] = self.A_SS[kept[:, None], kept]
        right[: kept.size] = self.A_SS[kept] @ self.w
        if into is not None:
            column = self.C[:, into]
            A[-1, :-1] = A[:-1, -1] = column[kept]
            A[-1, -1] = self.diagonal[into]
            right[-1] = self.R[into] + column @ self.w
        return _damped(A), right


class NewtonModel:
    """The model of all columns of the targets at a fit; ``support`` are places in the columns."""

    def __init__(
        self, loss: LogisticLoss, ridge: float, columns: Columns, support: Index, fit: NewtonFit
    ) -> None:
        self.support, self.fit = support, fit
        self._size = columns.size
        self._targets = list(target_models(loss, ridge, columns, support, fit))

    def addition_gains(self) -> Array:
        """What adding each column takes off the objective; -inf for those of the support."""
        gains = np.zeros(self._size)
        for target in self._targets:
            gains += target.addition_gains()
        gains[self.support] = -np.inf
        return gains

    def removal_costs(self) -> Array:
        """What removing each column of the support adds to the objective."""
        costs = np.zeros(self.support.size)
        for target in self._targets:
            costs += target.removal_costs()
        return costs

    def exchange_gains(self) -> Array:
        """What each column (second axis) in the place of one of the support gains."""
        return summed_exchange_gains(iter(self._targets), self.support, self._size)

    def start(self, out: int | None, into: int | None) -> tuple[Index, Array, Array]:
        """The support with a slot removed and a column added, and W and b of the model there."""
        kept = np.arange(self.support.size)
        kept = kept if out is None else np.delete(kept, out)
        places = self.support[kept] if into is None else np.append(self.support[kept], into)
        equations = [target.equations(kept, into) for target in self._targets]
        W = np.linalg.solve(
            np.array([A for A, _ in equations]),
            np.array([right for _, right in equations])[..., None],
        )[..., 0].T
        means = np.array([target.mean for target in self._targets])
        shift = np.einsum("cj,jc->c", means[:, self.support], self.fit.W)
        return places, W, self.fit.b + shift - np.einsum("cj,jc->c", means[:, places], W)


def _damped(A: Array) -> Array:
    """A, its diagonal raised in place by so little that it can be inverted even if singular."""
    diagonal = np.einsum("jj->j", A)
    diagonal *= 1.0 + _DAMPING
    diagonal += np.finfo(np.float64).tiny
    return A


def target_models(
    loss: LogisticLoss, ridge: float, columns: Columns, support: Index, fit: NewtonFit
) -> Iterator[TargetModel]:
    """The models of the columns of the targets, one by one."""
    X_S = columns.take(support)
    H, residual = loss.curvature(fit.P), -loss.gradient(fit.P)
    for c in range(loss.Y.shape[1]):
        yield TargetModel(
            columns,
            support,
            X_S,
            fit.W[:, c],
            H[:, c],
            residual[:, c],
            ridge,
            loss.fit_intercept,
        )


def summed_exchange_gains(targets: Iterator[TargetModel], support: Index, size: int) -> Array:
    """The exchange gains of the objective, from those of every column of the targets."""
    gains = np.zeros((support.size, size))
    for target in targets:
        gains += target.exchange_gains()
    gains[:, support] = -np.inf
    return gains
