"""The candidate features of a proof for the logistic loss.

The problem is to choose S, k features, such that

    f(S) = min_{W,b} loss(XW + 1b') + (ridge / 2) ||W||_F^2   with w_j = 0 outside S

is least. Every W gives a lower bound, by the probabilities of its predictions
(:mod:`rowsparse.solvers.proof.dual_points`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, islice

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.certificate.proof import Kind
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.proof.dual_points import DualPoints
from rowsparse.solvers.proof.logistic_choices import fit_choices
from rowsparse.solvers.proof.logistic_relaxation import LogisticRelaxation
from rowsparse.solvers.proof.problem import Completion, DualBound
from rowsparse.solvers.proof.relaxation import largest

# Entries of X that are held as float64 at a time.
_BLOCK_ENTRIES = 1 << 24
# The most ways to choose the last features that are all tried, before and after a relaxation.
_FEW_WAYS, _MAX_WAYS = 30, 300
# Entries of the columns of the choices that are fitted together.
_BATCH_ENTRIES = 1 << 18
# Tolerance of a fit, relative to the loss of choosing nothing.
_FIT_TOL = 1e-10
_EPS = float(np.finfo(np.float64).eps)


class LogisticCandidates:
    """The features that may still be chosen, by their columns.

    Parameters
    ----------
    loss : LogisticLoss
        Of the design and the labels.
    features : array of int
        The candidates, as columns of the design.
    norms : array of shape (m,)
        Their norms, weighted as the samples are.
    ridge : float
        Weight of ||W||_F^2 / 2; positive.
    columns : array of shape (n, m) or None
        The columns in float64; None if they are too large to be held.
    """

    def __init__(
        self,
        loss: LogisticLoss,
        features: Index,
        norms: Array,
        ridge: float,
        columns: Array | None,
    ) -> None:
        self.loss, self.features, self.norms, self.ridge = loss, features, norms, ridge
        self.unit = np.ones(features.size)
        self._columns = columns

    @classmethod
    def of(cls, loss: LogisticLoss, ridge: float, features: Index) -> LogisticCandidates:
        """Some features of the design."""
        columns, norms = None, np.empty(features.size)
        if loss.design.shape[0] * features.size <= _BLOCK_ENTRIES:
            columns = np.ascontiguousarray(loss.design.double_columns(features))
        for at, block in _blocks(loss, features, columns):
            norms[at] = np.sqrt(loss.omega @ block**2)
        return cls(loss, features, norms, ridge, columns)

    def __len__(self) -> int:
        return int(self.features.size)

    @property
    def total(self) -> float:
        """The loss of choosing nothing."""
        return self.loss.at_zero

    @property
    def nbytes(self) -> int:
        """Memory for what was computed from the columns."""
        return self.norms.nbytes + (0 if self._columns is None else self._columns.nbytes)

    def restricted(self, keep: Index) -> LogisticCandidates:
        """The same problem with these candidates alone."""
        features = self.features[keep]
        columns = None
        if self._columns is not None:
            columns = self._columns.take(keep, axis=1)
        elif self.loss.design.shape[0] * features.size <= _BLOCK_ENTRIES:
            columns = self.loss.design.double_columns(features)
        return LogisticCandidates(self.loss, features, self.norms[keep], self.ridge, columns)

    def strengths(self) -> Array:
        """||x_j' diag(omega) (y - p)||^2 with p the probabilities of choosing nothing."""
        null = np.broadcast_to(self.loss.null_intercept(), self.loss.Y.shape)
        u = self._products(self.loss.gradient(null).T)
        return np.asarray(np.einsum("cj,cj->j", u, u))

    def relaxation(self, positions: Index, k: int, n_fixed: int) -> LogisticRelaxation:
        """The relaxation of choosing k of some candidates, the first ``n_fixed`` among them."""
        X = self._take(positions)
        return LogisticRelaxation(self.loss, X, self.ridge, k, n_fixed)

    def bound(self, active: Index, W: Array, chosen: Index, allowed: Mask, k: int) -> DualBound:
        """The bound of a W with the rows of ``active``, over ``chosen`` and others ``allowed``."""
        loss = self.loss
        fitted = (self._take(active) @ W).T
        nothing = DualBound(-np.inf, np.full(len(self), np.inf), np.inf, np.inf)
        if not np.isfinite(fitted).all():
            return nothing
        point = DualPoints.of(
            fitted, loss.Y.T, loss.omega, loss.fit_intercept, loss.design.bound_rounding
        )
        u = self._products(point.weighted)
        # ||u_j|| and its possible rounding error.
        q = np.sqrt(np.einsum("cj,cj->j", u, u))
        q += float(point.error) * self.norms
        q *= q
        q /= 2.0 * self.ridge
        free, count = q[allowed], k - chosen.size
        top = np.sort(largest(free, count + 1))[::-1]
        used = float(q[chosen].sum() + top[:count].sum())
        rounding = 2.0 * (loss.omega.size + k + 16) * _EPS
        value = float(point.entropy) - used * (1.0 + rounding)
        if not np.isfinite(value):
            return nothing
        first_out = float(top[count]) if top.size > count else 0.0
        last_in = float(top[count - 1]) if count else np.inf
        return DualBound(value, q, last_in, first_out)

    def fit(self, positions: Index) -> tuple[Array, float]:
        """The coefficients of a set of candidates, and f(S)."""
        fit = self.loss.fit(self._take(positions), ridge=self.ridge, tol=_FIT_TOL)
        return fit.W, fit.objective

    def complete(
        self, chosen: Index, free: Index, k: int, threshold: float, *, relaxed: bool
    ) -> Completion | None:
        """Fit all ways to choose the last features, if they are few."""
        count = k - chosen.size
        if math.comb(free.size, count) > (_MAX_WAYS if relaxed else _FEW_WAYS):
            return None
        X = self._take(np.concatenate([chosen, free]))
        norms = self.norms[np.concatenate([chosen, free])]
        n, c = self.loss.Y.shape
        size = max(1, _BATCH_ENTRIES // (n * (k + 1) * max(c, 1)))
        best: Index | None = None
        least, bound = np.inf, np.inf
        ways = combinations(range(chosen.size, chosen.size + free.size), count)
        while batch := list(islice(ways, size)):
            added = np.array(batch, dtype=np.intp).reshape(len(batch), count)
            first = np.broadcast_to(np.arange(chosen.size), (len(batch), chosen.size))
            fitted = fit_choices(self.loss, X, norms, self.ridge, np.hstack([first, added]))
            at = int(np.argmin(fitted.values))
            if fitted.values[at] < least:
                best, least = free[added[at] - chosen.size], float(fitted.values[at])
            bound = min(bound, float(fitted.bounds.min()))
        return Completion(Kind.ALL, bound, best, least)

    def _take(self, positions: Index) -> Array:
        """Columns of some candidates."""
        if self._columns is not None:
            return self._columns.take(positions, axis=1)
        return self.loss.design.double_columns(self.features[positions])

    def _products(self, weighted: Array) -> Array:
        """The products of rows of shape (c, n) with all candidates."""
        if self._columns is not None:
            return np.asarray(weighted @ self._columns)
        products = np.empty((len(weighted), len(self)))
        for at, block in _blocks(self.loss, self.features, None):
            products[:, at] = weighted @ block
        return products


def _blocks(
    loss: LogisticLoss, features: Index, columns: Array | None
) -> Iterator[tuple[slice, Array]]:
    """Columns that may be held as float64 at one time, and where they are."""
    step = max(1, _BLOCK_ENTRIES // loss.design.shape[0])
    for start in range(0, features.size, step):
        at = slice(start, start + step)
        yield at, loss.design.double_columns(features[at]) if columns is None else columns[:, at]
