"""Losses with a curvature: their fits by Newton's method, and their dual points.

All columns of the targets are fitted at once, either on one support to a given accuracy, or on
many supports of one size together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar, Self

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.solvers.losses.base import SupportFit

# Most Newton steps, and halvings of one of them.
_MAX_STEPS, _MAX_HALVINGS = 100, 40
# Share of the loss of W = 0 below which a fit is perfect: the curvature vanishes with the loss.
_PERFECT = 1e-12
# The share of the decrease that the quadratic model promises, by which a step must lower the loss.
_ARMIJO = 1e-4
# Weighted columns of several labels that are held at a time, in numbers.
_ENTRIES = 1 << 20
# Least number of labels, and largest number of products of pairs of columns, for which these
# products are computed first.
_MANY_LABELS, _MAX_PAIRS = 8, 1 << 22
# Added to the diagonal of a Hessian matrix, as a share of it, so that it can be inverted.
_DAMPING = 1e-13
# A larger ratio of the entries of that diagonal makes elimination lose digits.
_MAX_SPREAD = 1e8
# A fit is given up if it stays above a limit even with this multiple of the expected decrease.
_HOPE = 2.0
# The same for many fits at a time; the decrease is a share of the loss of W = 0.
_MANY_STEPS, _MANY_HALVINGS, _MANY_TOL = 50, 30, 1e-8


@dataclass(frozen=True)
class NewtonFit:
    """Coefficients on some columns.

    Attributes
    ----------
    W, b : arrays of shape (k, c) and (c,)
        Coefficients and intercepts.
    P : array of shape (n, c)
        The predictions ZW + 1b'.
    objective : float
        The loss with (ridge / 2) ||W||_F^2.
    decrement : float
        What a further Newton step promises to take off the objective.
    converged : bool
        Whether that is within the tolerance; False for a fit that was given up.
    """

    W: Array
    b: Array
    P: Array
    objective: float
    decrement: float
    converged: bool


@dataclass(frozen=True)
class DualPoint:
    """A point at which the conjugate of a loss is finite; leading axes are points.

    With W the coefficients of a choice S, its objective is at least

        value - sum_{j in S} (||x_j' Theta|| + error ||x_j||)^2 / (2 ridge).

    Attributes
    ----------
    Theta : array of shape (..., c, n)
        About minus the gradient of the loss; if there is an intercept, its sums over the samples
        are zero up to rounding.
    value : array of shape (...)
        min_P f(P) + <Theta, P>, lowered by what rounding may take off.
    error : array of shape (...)
        The share of ||x_j|| by which ||x_j' Theta|| may be off; norms are weighted as the samples.
    """

    Theta: Array
    value: Array
    error: Array


@dataclass(frozen=True)
class Curvature:
    """The second derivatives at some predictions, an operator H for each column of the targets.

    Here that is diag(h): each sample has a loss of its own. A loss in which they depend on each
    other has a subclass with :meth:`times` alone, and an h with H <= diag(h).

    Attributes
    ----------
    h : array of shape (..., n, c)
        The diagonals.
    """

    is_diagonal: ClassVar[bool] = True

    h: Array

    def times(self, Z: Array) -> Array:
        """HZ, of shape (..., n, c, k), for Z of shape (..., n, k)."""
        return np.asarray(self.h[..., None] * Z[..., None, :])

    def products(self, Z: Array) -> Array:
        """Z'HZ, of shape (..., c, k, k), for Z of shape (..., n, k)."""
        Zt, Z = Z.swapaxes(-1, -2)[..., None, :, :], Z[..., None, :, :]
        if self.is_diagonal:
            return np.matmul(Zt * self.h.swapaxes(-1, -2)[..., None, :], Z)
        return np.matmul(Zt, self.times(Z[..., 0, :, :]).swapaxes(-2, -3))

    def squares(self, Z: Array) -> Array:
        """The diagonals of Z'HZ, of shape (c, k), for Z of shape (n, k)."""
        return np.einsum("ij,icj->cj", Z, self.times(Z))

    def for_targets(self, columns: slice) -> Self:
        """The curvature for some columns of the targets."""
        return replace(self, h=self.h[..., columns])


@dataclass(frozen=True)
class VaryingColumns:
    """The columns of Y that are not constant, and the intercepts of the others.

    With a free intercept the best W of a constant column is zero.
    """

    varying: Index
    intercepts: Array

    @classmethod
    def from_targets(cls, Y: Array, fit_intercept: bool, intercepts: Array) -> VaryingColumns:
        """From the intercepts that fit the first row of each column."""
        constant = np.all(Y[:1] == Y, axis=0) & fit_intercept
        return cls(np.flatnonzero(~constant), intercepts)

    def expand(self, W: Array, b: Array) -> tuple[Array, Array]:
        """(W, b) of the varying columns for all of them."""
        full, intercepts = np.zeros((W.shape[0], self.intercepts.size)), self.intercepts.copy()
        full[:, self.varying], intercepts[self.varying] = W, b
        return full, intercepts


@dataclass(frozen=True)
class NewtonLoss(ABC):
    """sum_i omega_i sum_c l(y_ic, p_ic), for a convex l with a second derivative in p.

    A loss is a subclass that answers the abstract methods; one whose slopes may exceed 1 answers
    :meth:`steepness` as well, and one that is no sum over the samples :meth:`quadratic`, and
    :meth:`dual_value_at` in the place of :meth:`dual_value`. ``perfect`` says what features do that
    make the loss zero.
    """

    perfect: ClassVar[str] = "fit the targets perfectly"

    design: Design
    Y: Array
    omega: Array
    fit_intercept: bool

    @classmethod
    def from_targets(
        cls, design: Design, Y: Array, omega: Array, fit_intercept: bool, task: str
    ) -> Self:
        """From the targets of the user for a task; refuses those that the loss does not take."""
        return cls(design, Y, omega, fit_intercept)

    def expand(self, W: Array, b: Array) -> tuple[Array, Array]:
        """(W, b) for the targets of the user."""
        return W, b

    # ------------------------------------------------------------------- members of a loss
    @abstractmethod
    def null_intercept(self) -> Array:
        """The best b for W = 0."""

    @abstractmethod
    def column_values(self, P: Array) -> Array:
        """The loss of every column of predictions of shape (..., n, c)."""

    @abstractmethod
    def derivatives(self, P: Array) -> tuple[Array, Array]:
        """The gradient and the curvature at (..., n, c), which share most of their work."""

    @abstractmethod
    def curvature_bound(self, P: Array) -> Array:
        """Weights, one a sample, that the curvature is hardly above anywhere near P."""

    def dual_value(self, Theta: Array) -> float:
        """-f*(-Theta) = min_P f(P) + <Theta, P>, for a Theta at which it is finite."""
        raise NotImplementedError

    @abstractmethod
    def dual(self, P: Array) -> DualPoint:
        """A feasible dual point of predictions of shape (..., c, n), whatever they are."""

    # ------------------------------------------------------------------- shared by all
    @cached_property
    def at_zero(self) -> float:
        """The least loss with W = 0."""
        return self.value(np.broadcast_to(self.null_intercept(), self.Y.shape))

    @property
    def n_terms(self) -> float:
        """The weight of all terms of the loss of a column, for information criteria."""
        return float(self.omega.sum())

    def value(self, P: Array) -> float:
        return float(self.column_values(P).sum())

    def dual_value_at(self, P: Array) -> float:
        """The dual value of minus the gradient at P."""
        return self.dual_value(-self.gradient(P))

    def steepness(self, P: Array) -> float:
        """The norm of the slopes of l at P, weighted as the samples: for slopes of at most 1."""
        return float(np.sqrt(self.omega.sum()))

    def rounding_of(self, Z: Array, W: Array, P: Array) -> float:
        """The error of the loss at P = ZW + 1b' by the errors of the columns Z, at most."""
        share = self.design.product_rounding
        if share == 0.0:
            return 0.0
        norms = np.sqrt(self.omega @ Z**2)
        return float(share * self.steepness(P) * (norms @ np.abs(W).sum(axis=1)))

    def gradient(self, P: Array) -> Array:
        return self.derivatives(P)[0]

    def curvature(self, P: Array) -> Array:
        """The second derivatives, or weights that they are at most."""
        return self.derivatives(P)[1]

    def quadratic(self, P: Array) -> tuple[Array, Curvature]:
        """The gradient and the curvature as an operator, at predictions of shape (..., n, c)."""
        gradient, h = self.derivatives(P)
        return gradient, Curvature(h)

    def refit(self, support: Index, *, penalty: float, tol: float) -> SupportFit:
        """The fit with penalty/2 ||W||_F^2 on a support.

        ``gap`` is the duality gap or, without a penalty, what the last Newton step promised.
        """
        Z = self.design.double_columns(support)
        fit = self.fit(Z, ridge=penalty, tol=tol)
        Theta = -self.gradient(fit.P)
        gap = fit.decrement
        if penalty > 0:
            products = Z.T @ Theta
            dual = self.dual_value_at(fit.P) - float(np.vdot(products, products)) / (2.0 * penalty)
            gap = max(fit.objective - dual, 0.0)
        return SupportFit(support, fit.W, fit.b, fit.objective, Theta, gap, fit.converged)

    def fit(
        self,
        Z: Array,
        *,
        ridge: float,
        tol: float,
        start: tuple[Array, Array] | None = None,
        limit: float = np.inf,
    ) -> NewtonFit:
        """Minimise the loss with ridge/2 ||W||_F^2 on the columns Z by Newton's method.

        Steps are halved, for each column of Y by itself, until they lower the loss. Without a
        ridge, and where the columns separate the labels, coefficients grow until the loss is
        nearly zero.

        Parameters
        ----------
        Z : array of shape (n, k)
            Columns in double precision.
        ridge, tol : float
            The weight, and the decrease of the objective at which to stop, as a share of the loss
            of W = 0.
        start : (W, b), optional
            Where to begin, if that is better than W = 0, the default.
        limit : float
            Fits that cannot reach an objective below this are given up.
        """
        k = Z.shape[1]
        if self.fit_intercept:
            Z = np.column_stack([Z, np.ones(Z.shape[0])])
        penalty = np.zeros(Z.shape[1])
        penalty[:k] = ridge
        W, b = (np.zeros((k, self.Y.shape[1])), self.null_intercept()) if start is None else start
        V = np.vstack([W, b]) if self.fit_intercept else W.copy()
        products = _WeightedProducts.from_columns(Z, self.Y.shape[1])
        enough, decrement, converged = tol * self.at_zero, 0.0, False
        # Starts and steps beyond the floats have objectives that are infinite or NaN.
        with np.errstate(over="ignore", invalid="ignore"):
            P = Z @ V
            values = self._column_objectives(P, V, penalty)
            if start is not None and not values.sum() < self.at_zero:
                return self.fit(Z[:, :k], ridge=ridge, tol=tol, limit=limit)
            for _ in range(_MAX_STEPS):
                objective = float(values.sum())
                converged = self.is_perfect(objective)
                if converged:
                    break
                slope, step = self._newton_step(products, P, V, penalty)
                decreases = 0.5 * np.maximum(np.einsum("jc,jc->c", slope, step), 0.0)
                decrement = float(decreases.sum())
                if objective - _HOPE * decrement >= limit:
                    break
                V, P, moved = self._line_search(Z, step, V, P, values, decreases, penalty)
                lowered = moved < values
                values = np.minimum(values, moved)
                # The step was taken all the same: it squares the error.
                converged = decrement <= enough
                if converged or not lowered.any():
                    break
        b = V[k] if self.fit_intercept else np.zeros(V.shape[1])
        objective = float(values.sum()) + self.rounding_of(Z[:, :k], V[:k], P)
        return NewtonFit(V[:k], b, P, objective, decrement, converged)

    def is_perfect(self, objective: float) -> bool:
        """Whether an objective is all but zero, so that nothing is left to gain."""
        return objective <= _PERFECT * self.at_zero

    def fit_many(
        self, Z: Array, *, ridge: float, start: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Minimise the loss with ridge/2 ||W||_F^2 on many sets of k columns.

        Parameters
        ----------
        Z : array of shape (N, n, k)
            The columns of each set, in double precision.
        ridge : float
            The weight.
        start : (W, b) of shapes (N, k, c) and (N, c), optional
            Where to begin, if the objectives there are finite; default W = 0.

        Returns
        -------
        values : array of shape (N,)
            Objectives that the sets attain.
        P : array of shape (N, c, n)
            The predictions.
        """
        N, n, k = Z.shape
        if self.fit_intercept:
            Z = np.concatenate([Z, np.ones((N, n, 1))], axis=2)
        V = np.zeros((N, self.Y.shape[1], Z.shape[2]))
        if self.fit_intercept:
            V[:, :, k] = self.null_intercept() if start is None else start[1]
        if start is not None:
            V[:, :, :k] = start[0].swapaxes(1, 2)
        penalty = np.full(Z.shape[2], ridge)
        penalty[k:] = 0.0
        Zt = Z.transpose(0, 2, 1)
        # Starts and steps beyond the floats have objectives that are NaN, which are not taken.
        with np.errstate(over="ignore", invalid="ignore"):
            P = np.matmul(V, Zt)
            values = self._many_objectives(P, V, penalty)
            if start is not None and not np.isfinite(values).all():
                return self.fit_many(Z[:, :, :k], ridge=ridge)
            for _ in range(_MANY_STEPS):
                gradient, curvature = self.quadratic(_by_sample(P))
                slope = np.matmul(gradient.transpose(0, 2, 1), Z) + penalty * V
                step = _solved(curvature.products(Z), penalty, slope)
                promised = 0.5 * np.maximum(np.einsum("scj,scj->sc", slope, step), 0.0)
                before = values
                V, P, values = self._many_moved(Zt, step, promised, V, P, values, penalty)
                going_on = promised.sum(axis=1) > _MANY_TOL * self.at_zero
                if not (going_on & (values < before).any(axis=1)).any():
                    break
        return values.sum(axis=1), P

    def _many_moved(
        self,
        Zt: Array,
        step: Array,
        promised: Array,
        V: Array,
        P: Array,
        values: Array,
        penalty: Array,
    ) -> tuple[Array, Array, Array]:
        """V, P and the objectives after a step, halved for each column until it lowers its loss."""
        direction = np.matmul(step, Zt)
        length = np.ones(values.shape)
        slack = 1e-15 * values
        for _ in range(_MANY_HALVINGS):
            V_new = V - length[..., None] * step
            P_new = P - length[..., None] * direction
            moved = self._many_objectives(P_new, V_new, penalty)
            short = ~(moved <= values - 2.0 * _ARMIJO * length * promised + slack)
            if not short.any():
                return V_new, P_new, moved
            length[short] /= 2.0
        # Rounding hides any further gain.
        still = short[..., None]
        return np.where(still, V, V_new), np.where(still, P, P_new), np.where(short, values, moved)

    def _many_objectives(self, P: Array, V: Array, penalty: Array) -> Array:
        return np.asarray(self.column_values(_by_sample(P)) + 0.5 * (V**2 @ penalty))

    def _column_objectives(self, P: Array, V: Array, penalty: Array) -> Array:
        return np.asarray(self.column_values(P) + 0.5 * (penalty @ (V * V)))

    def _newton_step(
        self, products: _WeightedProducts, P: Array, V: Array, penalty: Array
    ) -> tuple[Array, Array]:
        """The gradient in V, and the Newton step."""
        gradient, curvature = self.quadratic(P)
        slope = products.Z.T @ gradient + penalty[:, None] * V
        return slope, _solved(products.weighted(curvature), penalty, slope.T).T

    def _line_search(
        self,
        Z: Array,
        step: Array,
        V: Array,
        P: Array,
        values: Array,
        decreases: Array,
        penalty: Array,
    ) -> tuple[Array, Array, Array]:
        """V, P and the objectives of the columns after the step, halved where necessary."""
        direction, slack = Z @ step, 1e-15 * np.abs(values)
        for _ in range(_MAX_HALVINGS):
            V_new, P_new = V - step, P - direction
            moved = self._column_objectives(P_new, V_new, penalty)
            short = ~(moved <= values - 2.0 * _ARMIJO * decreases + slack)
            if not short.any():
                return V_new, P_new, moved
            half = np.where(short, 0.5, 1.0)
            step, direction, decreases = half * step, half * direction, half * decreases
        # Rounding hides any further gain.
        V_new, P_new = np.where(short, V, V_new), np.where(short, P, P_new)
        return V_new, P_new, self._column_objectives(P_new, V_new, penalty)


@dataclass(frozen=True)
class _WeightedProducts:
    """Z'HZ of the same columns Z for the curvatures H of many labels.

    For many labels at a time, ``pairs`` has the products of all pairs of columns, of shape
    (pairs, n), which makes it one product of matrices for H = diag(h).
    """

    Z: Array
    pairs: Array | None

    @classmethod
    def from_columns(cls, Z: Array, n_labels: int) -> _WeightedProducts:
        k = Z.shape[1]
        if n_labels < _MANY_LABELS or Z.size * (k + 1) // 2 > _MAX_PAIRS:
            return cls(Z, None)
        one, other, _ = _pairs(k)
        rows = np.ascontiguousarray(Z.T)
        return cls(Z, rows[one] * rows[other])

    def weighted(self, curvature: Curvature) -> Array:
        """The products, of shape (c, k, k)."""
        if not curvature.is_diagonal:
            return curvature.products(self.Z)
        H = curvature.h
        k, c = self.Z.shape[1], H.shape[1]
        if self.pairs is not None:
            return np.ascontiguousarray((self.pairs @ H)[_pairs(k)[2]].transpose(2, 0, 1))
        products = np.empty((c, k, k))
        step = max(1, _ENTRIES // max(1, self.Z.size))
        for begin in range(0, c, step):
            scaled = self.Z.T * H.T[begin : begin + step, None, :]
            np.matmul(scaled, self.Z, out=products[begin : begin + step])
        return products


def _solved(H: Array, penalty: Array, slope: Array) -> Array:
    """(H + diag(penalty))^-1 slope, for every slope along the last axis; H is changed."""
    diagonal = np.einsum("...jj->...j", H)
    diagonal += penalty
    # Each entry by its own size: columns of X may be of other magnitudes than the intercept's.
    diagonal *= 1.0 + _DAMPING
    diagonal += np.finfo(np.float64).tiny
    if diagonal.max(initial=0.0) <= _MAX_SPREAD * diagonal.min(initial=np.inf):
        return np.asarray(np.linalg.solve(H, slope[..., None])[..., 0])
    unit = 1.0 / np.sqrt(diagonal)
    scaled = H * unit[..., :, None] * unit[..., None, :]
    step = np.linalg.solve(scaled, (slope * unit)[..., None])[..., 0]
    # A step beyond the floats is one that the line search shortens.
    with np.errstate(over="ignore"):
        return np.asarray(step * unit)


def _by_sample(P: Array) -> Array:
    """Predictions of shape (N, c, n) as (N, n, c), not copied."""
    return P.transpose(0, 2, 1)


@lru_cache(maxsize=128)
def _pairs(k: int) -> tuple[Index, Index, Index]:
    """The pairs i >= j of k columns, and for every i and j the place of their pair."""
    one, other = np.tril_indices(k)
    place = np.empty((k, k), dtype=np.intp)
    place[one, other] = place[other, one] = np.arange(one.size)
    return one, other, place
