"""The best-k-features problem of TopK with a curved loss in long doubles, for tiny data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from benchmarks.exact import Array, ColumnSets, centred, fractions_of, long_doubles

_STEPS, _HALVINGS = 200, 60
# A step that promises less than this share of the objective of nothing is the last.
_ENOUGH = 1e-17
# Relative rounding error of sums of long doubles, and of a few operations.
_OF_SUMS, _OF_FEW = 1e-17, 1e-18


@dataclass(frozen=True)
class CurvedProblem(ABC):
    """f(S) = min_W,b sum_i w_i l(y_i, x_i W + b) + (ridge / 2) ||W||^2, by Newton's method.

    What is computed is attained, and raised by the rounding of the predictions, which is large
    where columns nearly depend on each other: it is below the minimum only by that of a sum.
    """

    X: Array
    Y: Array
    weights: Array
    ridge: np.longdouble
    fit_intercept: bool
    sets: ColumnSets

    has_intercept: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        X: Array,
        Y: Array,
        k: int,
        alpha: float,
        *,
        weights: Array | None = None,
        standardize: bool = True,
        fit_intercept: bool = True,
        include: Sequence[int] = (),
        exclude: Sequence[int] = (),
        clip: float | None = None,
        groups: Sequence[Sequence[int]] | None = None,
    ) -> Self:
        """From dense data and targets, one column for two classes."""
        weights = np.ones(len(X)) if weights is None else weights
        w, Z = weights.astype(np.longdouble), np.asarray(X, dtype=np.longdouble)
        share = w / w.sum()
        # Without an intercept in the loss, a shift of a column changes nothing but the rounding.
        if standardize or fit_intercept or not cls.has_intercept:
            Z = long_doubles(centred(X, fractions_of(weights), clip))
        if standardize:
            scale = np.sqrt(share @ Z**2)
            Z = Z / np.where(scale > 0, scale, 1)
        Y = np.asarray(Y, dtype=np.longdouble)
        fit_intercept = fit_intercept and cls.has_intercept
        if fit_intercept:
            # Their loss is zero, if with an infinite intercept.
            Y = Y[:, np.ptp(Y, axis=0) > 0]
        ridge = np.longdouble(alpha) * w.sum()
        sets = ColumnSets.of(Z.shape[1], k, include, exclude, groups)
        return cls(Z, Y, w, ridge, fit_intercept, sets)

    def choices(self) -> Iterator[tuple[int, ...]]:
        """All choices, by their columns."""
        return iter(self.sets)

    def best(self) -> np.longdouble:
        """The least objective of all choices."""
        return min(self.objective(S) for S in self.choices())

    @property
    def total(self) -> np.longdouble:
        """The objective of choosing nothing."""
        return self.objective(())

    @property
    def rounding(self) -> float:
        """How far objectives may be below the minimum."""
        return _OF_SUMS * float(self.total)

    @property
    def size(self) -> float:
        """The size of the terms of dual values, in which their rounding is measured."""
        return float(self.total)

    def objective(self, S: Sequence[int]) -> np.longdouble:
        """f(S), one label after another."""
        Z = self.X[:, list(S)]
        if self.fit_intercept:
            Z = np.column_stack([Z, np.ones(len(Z), dtype=np.longdouble)])
        penalty = np.full(Z.shape[1], self.ridge)
        penalty[len(S) :] = 0
        # A step beyond the range of floats gains nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.longdouble(sum(self._fitted(Z, y, penalty) for y in self.targets()))

    def targets(self) -> list[Array]:
        """What is fitted, each with coefficients of its own."""
        return list(self.Y.T)

    @abstractmethod
    def value(self, y: Array, p: Array) -> np.longdouble:
        """The loss of predictions of one target."""

    @abstractmethod
    def derivatives(self, y: Array, p: Array, Z: Array) -> tuple[Array, Array]:
        """Its derivatives in p, and the second ones in v, with p = Zv."""

    def _fitted(self, Z: Array, y: Array, penalty: Array) -> np.longdouble:
        def objective(v: Array) -> np.longdouble:
            return np.longdouble(self.value(y, Z @ v) + (penalty * v * v).sum() / 2)

        v = np.zeros(Z.shape[1], dtype=np.longdouble)
        value = objective(v)
        enough = _ENOUGH * value
        for _ in range(_STEPS):
            first, second = self.derivatives(y, Z @ v, Z)
            slope, H = Z.T @ first + penalty * v, second + np.diag(penalty)
            # The direction may be rounded: slope and objective decide.
            scale = np.sqrt(np.maximum(np.diag(H), np.finfo(np.float64).tiny))
            scaled = (H / scale / scale[:, None]).astype(np.float64) + 1e-14 * np.eye(len(v))
            try:
                step = np.linalg.solve(scaled, (slope / scale).astype(np.float64)) / scale
            except np.linalg.LinAlgError:
                break
            moved, reached = v, value
            for halving in range(_HALVINGS):
                there = v - step / np.longdouble(2) ** halving
                if objective(there) < value:
                    moved, reached = there, objective(there)
                    break
            last = not reached < value or slope @ step <= enough
            v, value = moved, reached
            if last:
                break
        slopes = np.abs(self.derivatives(y, Z @ v, Z)[0])
        rounding = (len(v) + 2) * np.finfo(np.longdouble).eps * (np.abs(Z) @ np.abs(v))
        return np.longdouble(value + slopes @ rounding)


class LogisticProblem(CurvedProblem):
    """Of labels 0 and 1: l = log(1 + exp(p)) - y p."""

    def value(self, y: Array, p: Array) -> np.longdouble:
        return np.longdouble(self.weights @ np.logaddexp(np.longdouble(0), (1 - 2 * y) * p))

    def derivatives(self, y: Array, p: Array, Z: Array) -> tuple[Array, Array]:
        sign = 1 - 2 * y
        size = np.exp(-np.logaddexp(np.longdouble(0), -sign * p))
        return self.weights * sign * size, (Z.T * (self.weights * size * (1 - size))) @ Z


class PoissonProblem(CurvedProblem):
    """Of counts, half the deviance: l = exp(p) - y p - y + y log y."""

    @property
    def size(self) -> float:
        """Of the terms v log v - v - y log y + y, which are far larger than their sum."""
        y = self.Y
        return float(
            self.total + np.sum(self.weights @ (y * np.abs(np.log(np.where(y > 0, y, 1)))))
        )

    def value(self, y: Array, p: Array) -> np.longdouble:
        positive = np.where(y > 0, y, 1)
        off = p - np.log(positive)
        with np.errstate(over="ignore", invalid="ignore"):
            losses = np.where(y > 0, positive * (np.expm1(off) - off), np.exp(p))
            return np.longdouble(self.weights @ losses)

    def derivatives(self, y: Array, p: Array, Z: Array) -> tuple[Array, Array]:
        means = self.weights * np.exp(p)
        return means - self.weights * y, (Z.T * means) @ Z


class CoxProblem(CurvedProblem):
    """Of events and times, half the deviance, by a matrix of who is at risk at which event."""

    has_intercept: ClassVar[bool] = False

    @property
    def rounding(self) -> float:
        """That of logarithms of numbers next to 1, too."""
        return super().rounding + _OF_FEW * float(self.weights @ self.Y[:, 0])

    def targets(self) -> list[Array]:
        return [self.Y]

    def _at_risk(self, y: Array, p: Array) -> tuple[Array, Array, Array]:
        """Of each time of events: the weights of the events, predictions less the largest of those
        at risk, and their weighted exponentials.
        """
        events, times = self.weights * y[:, 0], y[:, 1]
        at = np.unique(times[events > 0])[:, None]
        there = times >= at
        off = np.where(there, p - np.where(there, p, -np.inf).max(axis=1, keepdims=True), 0)
        return np.where(times == at, events, 0), off, np.where(there, self.weights * np.exp(off), 0)

    def value(self, y: Array, p: Array) -> np.longdouble:
        own, off, sizes = self._at_risk(y, p)
        deaths = own.sum(axis=1)
        terms = deaths * np.log(sizes.sum(axis=1) / deaths) - (own * off).sum(axis=1)
        return np.longdouble(np.maximum(terms, 0).sum())

    def derivatives(self, y: Array, p: Array, Z: Array) -> tuple[Array, Array]:
        own, _, sizes = self._at_risk(y, p)
        deaths, shares = own.sum(axis=1), sizes / sizes.sum(axis=1, keepdims=True)
        means, expected = shares @ Z, deaths @ shares
        H = (Z.T * expected) @ Z
        # What is left of a difference of nearly equal numbers may be negative.
        H = H + np.diag(np.diag(H)) * np.longdouble(1e-16) - (means.T * deaths) @ means
        return expected - own.sum(axis=0), H
