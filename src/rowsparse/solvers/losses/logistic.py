"""The logistic loss, and logistic regression with a ridge on a support."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import entr

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
# Products of pairs of columns are computed first if there are so many labels, and no more of them.
_MANY_LABELS, _MAX_PAIRS = 8, 1 << 22
# What is added to the diagonal of a Hessian matrix, as a share of it, so that it can be inverted.
_DAMPING = 1e-13
# A larger ratio of the entries of that diagonal makes elimination lose digits.
_MAX_SPREAD = 1e8
# A fit is given up if it stays above a limit even with so many times the decrease expected.
_HOPE = 2.0
# The intercept of a label that all samples share: its probability is 1 but for rounding.
_CERTAIN = 37.0


@dataclass(frozen=True)
class NewtonFit:
    """Coefficients of logistic regressions on some columns.

    Attributes
    ----------
    W, b : arrays of shape (k, c) and (c,)
        Coefficients and intercepts.
    P : array of shape (n, c)
        The predictions ZW + 1b', on the scale of the logits.
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
class LogisticLoss:
    """sum_i omega_i sum_c log(1 + exp(p_ic)) - y_ic p_ic, for labels Y of 0 and 1.

    One column is binary logistic regression. Several columns are as many binary problems: the
    labels of multi-label data, or several classes one against the rest. If b is free, no column of
    Y may be constant.
    """

    design: Design
    Y: Array
    omega: Array
    fit_intercept: bool

    @cached_property
    def at_zero(self) -> float:
        """The least loss with W = 0."""
        return self.value(np.broadcast_to(self.null_intercept(), self.Y.shape))

    def null_intercept(self) -> Array:
        """The best b for W = 0."""
        if not self.fit_intercept:
            return np.zeros(self.Y.shape[1])
        ones = self.omega @ self.Y
        return np.asarray(np.log(ones) - np.log(self.omega @ (1.0 - self.Y)))

    def value(self, P: Array) -> float:
        return float(self.column_values(P).sum())

    def column_values(self, P: Array) -> Array:
        """The loss of every column."""
        # log(1 + exp(p)) - y p is log(1 + exp(-p)) for y = 1 and log(1 + exp(p)) for y = 0.
        # np.logaddexp is slower.
        values = np.log1p(np.exp(-np.abs(P)))
        values += np.maximum(np.where(self.Y > 0.5, -P, P), 0.0)
        return np.asarray(self.omega @ values)

    def gradient(self, P: Array) -> Array:
        return self.derivatives(P)[0]

    def curvature(self, P: Array) -> Array:
        """omega_i p (1 - p), with p the probabilities: the second derivatives."""
        return self.derivatives(P)[1]

    def derivatives(self, P: Array) -> tuple[Array, Array]:
        """The gradient and the curvature, of which one is half of the work for the other."""
        # Both without cancellation; faster than scipy.special.expit on large arrays.
        small = np.exp(-np.abs(P))
        share = 1.0 / (1.0 + small)
        rest = small * share
        gradient = np.where(P >= 0.0, share, rest)
        gradient -= self.Y
        rest *= share
        return self.omega[:, None] * gradient, self.omega[:, None] * rest

    def dual_value(self, Theta: Array) -> float:
        """The entropy of the probabilities Q = Y - Theta / omega, which must be in [0, 1]."""
        Q = np.clip(self.Y - Theta / self.omega[:, None], 0.0, 1.0)
        return float(self.omega @ (entr(Q) + entr(1.0 - Q)).sum(axis=1))

    def refit(self, support: Index, *, penalty: float, tol: float) -> SupportFit:
        """Logistic regression with penalty/2 ||W||_F^2 on a support.

        ``gap`` is the duality gap or, without a penalty, what the last Newton step promised.
        """
        Z = self.design.double_columns(support)
        fit = self.fit(Z, ridge=penalty, tol=tol)
        Theta = -self.gradient(fit.P)
        gap = fit.decrement
        if penalty > 0:
            products = Z.T @ Theta
            dual = self.dual_value(Theta) - float(np.vdot(products, products)) / (2.0 * penalty)
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
            Where to begin; default W = 0.
        limit : float
            Fits that cannot reach an objective below this are given up.
        """
        k = Z.shape[1]
        if self.fit_intercept:
            Z = np.column_stack([Z, np.ones(Z.shape[0])])
        weights = np.zeros((Z.shape[1], 1))
        weights[:k] = ridge
        W, b = (np.zeros((k, self.Y.shape[1])), self.null_intercept()) if start is None else start
        V = np.vstack([W, b]) if self.fit_intercept else W.copy()
        P = Z @ V
        values = self._column_objectives(P, V, weights)
        if start is not None and not np.isfinite(values).all():
            return self.fit(Z[:, :k], ridge=ridge, tol=tol, limit=limit)
        products = _WeightedProducts.of(Z, self.Y.shape[1])
        enough, decrement, converged = tol * self.at_zero, 0.0, False
        for _ in range(_MAX_STEPS):
            converged = self.is_perfect(float(values.sum()))
            if converged:
                break
            slope, step = self._newton_step(products, P, V, weights)
            decreases = np.maximum(np.einsum("jc,jc->c", slope, step), 0.0) / 2.0
            decrement = float(decreases.sum())
            if values.sum() - _HOPE * decrement >= limit:
                break
            V, P, moved = self._line_search(Z, step, V, P, values, decreases, weights)
            stuck = not np.any(moved < values)
            values = np.minimum(values, moved)
            # The step was taken all the same: it squares the error.
            converged = decrement <= enough
            if converged or stuck:
                break
        b = V[k] if self.fit_intercept else np.zeros(V.shape[1])
        objective = float(values.sum()) + self._rounding_of(Z[:, :k], V[:k])
        return NewtonFit(V[:k], b, P, objective, decrement, converged)

    def _rounding_of(self, Z: Array, W: Array) -> float:
        """What the errors of the columns may add: the slope of the loss is at most 1."""
        share = self.design.product_rounding
        if share == 0.0:
            return 0.0
        norms = np.sqrt(self.omega @ Z**2)
        return float(share * np.sqrt(self.omega.sum()) * (norms @ np.abs(W).sum(axis=1)))

    def is_perfect(self, objective: float) -> bool:
        """Whether an objective is all but zero, so that nothing is left to gain."""
        return objective <= _PERFECT * self.at_zero

    def _column_objectives(self, P: Array, V: Array, weights: Array) -> Array:
        # Coefficients beyond the floats make an objective that is NaN, which no step accepts.
        with np.errstate(over="ignore", invalid="ignore"):
            return self.column_values(P) + 0.5 * (weights * V**2).sum(axis=0)

    def _newton_step(
        self, products: _WeightedProducts, P: Array, V: Array, weights: Array
    ) -> tuple[Array, Array]:
        """The gradient in V, and the Newton step."""
        gradient, curvature = self.derivatives(P)
        slope = products.Z.T @ gradient + weights * V
        H = products.weighted(curvature)
        diagonal = np.einsum("cjj->cj", H)
        diagonal += weights[:, 0]
        # Each entry by its own size: columns of X may be of other magnitudes than the intercept's.
        diagonal *= 1.0 + _DAMPING
        diagonal += np.finfo(np.float64).tiny
        if diagonal.max(initial=0.0) > _MAX_SPREAD * diagonal.min(initial=np.inf):
            unit = 1.0 / np.sqrt(diagonal)
            scaled = H * unit[:, :, None] * unit[:, None, :]
            step = np.linalg.solve(scaled, (slope.T * unit)[..., None])[..., 0]
            # A step beyond the floats is one that the line search shortens.
            with np.errstate(over="ignore"):
                return slope, (step * unit).T
        return slope, np.linalg.solve(H, slope.T[..., None])[..., 0].T

    def _line_search(
        self,
        Z: Array,
        step: Array,
        V: Array,
        P: Array,
        values: Array,
        decreases: Array,
        weights: Array,
    ) -> tuple[Array, Array, Array]:
        """V, P and the objectives of the columns after the step, halved where necessary."""
        length = np.ones(V.shape[1])
        slack = 1e-15 * np.abs(values)
        # Where the curvature is all but zero a step may be beyond the floats: it is too long.
        with np.errstate(over="ignore", invalid="ignore"):
            direction = Z @ step
            for _ in range(_MAX_HALVINGS):
                V_new, P_new = V - length * step, P - length * direction
                moved = self._column_objectives(P_new, V_new, weights)
                short = ~(moved <= values - 2.0 * _ARMIJO * length * decreases + slack)
                if not short.any():
                    return V_new, P_new, moved
                length[short] /= 2.0
        # Rounding hides what is left to gain.
        V_new, P_new = np.where(short, V, V_new), np.where(short, P, P_new)
        return V_new, P_new, self._column_objectives(P_new, V_new, weights)


@dataclass(frozen=True)
class _WeightedProducts:
    """Z' diag(h) Z of the same columns Z for many h.

    For many labels at a time, ``pairs`` has the products of all pairs of columns, of shape
    (pairs, n), which makes it one product of matrices.
    """

    Z: Array
    pairs: Array | None

    @classmethod
    def of(cls, Z: Array, n_labels: int) -> _WeightedProducts:
        k = Z.shape[1]
        if n_labels < _MANY_LABELS or Z.size * (k + 1) // 2 > _MAX_PAIRS:
            return cls(Z, None)
        one, other, _ = _pairs(k)
        rows = np.ascontiguousarray(Z.T)
        return cls(Z, rows[one] * rows[other])

    def weighted(self, H: Array) -> Array:
        """The products, of shape (c, k, k), for the columns of H."""
        k, c = self.Z.shape[1], H.shape[1]
        if self.pairs is not None:
            return np.ascontiguousarray((self.pairs @ H)[_pairs(k)[2]].transpose(2, 0, 1))
        products = np.empty((c, k, k))
        step = max(1, _ENTRIES // max(1, self.Z.size))
        for begin in range(0, c, step):
            scaled = self.Z.T * H.T[begin : begin + step, None, :]
            np.matmul(scaled, self.Z, out=products[begin : begin + step])
        return products


@lru_cache(maxsize=128)
def _pairs(k: int) -> tuple[Index, Index, Index]:
    """The pairs i >= j of k columns, and for every i and j the place of their pair."""
    one, other = np.tril_indices(k)
    place = np.empty((k, k), dtype=np.intp)
    place[one, other] = place[other, one] = np.arange(one.size)
    return one, other, place


@dataclass(frozen=True)
class VaryingLabels:
    """The columns of Y that are not constant, and the intercepts of the others.

    With a free intercept the loss of a constant column is zero for W = 0 and an infinite b.
    """

    varying: Index
    certain: Array

    @classmethod
    def of(cls, Y: Array, fit_intercept: bool) -> VaryingLabels:
        constant = np.all(Y[:1] == Y, axis=0) & fit_intercept
        return cls(np.flatnonzero(~constant), np.where(Y[0] > 0.5, _CERTAIN, -_CERTAIN))

    def expand(self, W: Array, b: Array) -> tuple[Array, Array]:
        """(W, b) of the varying columns for all of them."""
        full, intercepts = np.zeros((W.shape[0], self.certain.size)), self.certain.copy()
        full[:, self.varying], intercepts[self.varying] = W, b
        return full, intercepts
