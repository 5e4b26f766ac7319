"""The best-k-features problem of TopK with the logistic loss in long doubles, for tiny data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmarks.exact import Array, centred, fractions_of, long_doubles

_STEPS, _HALVINGS = 200, 60
# A step that promises less than this share of the objective of nothing is the last.
_ENOUGH = 1e-17


@dataclass(frozen=True)
class LogisticProblem:
    """f(S) = min_W,b sum_i w_i l(y_i, x_i W + b) + (ridge / 2) ||W||^2, by Newton's method.

    What is computed is attained, so it is not below the minimum but by rounding of long doubles.
    """

    X: Array
    Y: Array
    weights: Array
    ridge: np.longdouble
    fit_intercept: bool
    k: int
    include: frozenset[int]
    exclude: frozenset[int]

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
    ) -> LogisticProblem:
        """From dense data and 0/1 labels; with two classes one column."""
        weights = np.ones(len(X)) if weights is None else weights
        w, Z = weights.astype(np.longdouble), np.asarray(X, dtype=np.longdouble)
        share = w / w.sum()
        if standardize or fit_intercept:
            Z = long_doubles(centred(X, fractions_of(weights), clip))
        if standardize:
            scale = np.sqrt(share @ Z**2)
            Z = Z / np.where(scale > 0, scale, 1)
        Y = np.asarray(Y, dtype=np.longdouble)
        if fit_intercept:
            # Their loss is zero with an infinite intercept.
            Y = Y[:, np.ptp(Y, axis=0) > 0]
        ridge = np.longdouble(alpha) * w.sum()
        return cls(Z, Y, w, ridge, fit_intercept, k, frozenset(include), frozenset(exclude))

    def choices(self) -> Iterator[tuple[int, ...]]:
        """All choices of k features that include and exclude what they must."""
        free = [j for j in range(self.X.shape[1]) if j not in self.include | self.exclude]
        for rest in combinations(free, self.k - len(self.include)):
            yield tuple(sorted((*self.include, *rest)))

    def best(self) -> np.longdouble:
        """The least objective of all choices."""
        return min(self.objective(S) for S in self.choices())

    @property
    def total(self) -> np.longdouble:
        """The objective of choosing nothing."""
        return self.objective(())

    def objective(self, S: Sequence[int]) -> np.longdouble:
        """f(S), one label after another."""
        Z = self.X[:, list(S)]
        if self.fit_intercept:
            Z = np.column_stack([Z, np.ones(len(Z), dtype=np.longdouble)])
        penalty = np.full(Z.shape[1], self.ridge)
        penalty[len(S) :] = 0
        return np.longdouble(sum(self._fitted(Z, 1 - 2 * y, penalty) for y in self.Y.T))

    def _fitted(self, Z: Array, sign: Array, penalty: Array) -> np.longdouble:
        def objective(v: Array) -> np.longdouble:
            losses = np.logaddexp(np.longdouble(0), sign * (Z @ v))
            return np.longdouble(self.weights @ losses + (penalty * v * v).sum() / 2)

        v = np.zeros(Z.shape[1], dtype=np.longdouble)
        value = objective(v)
        enough = _ENOUGH * value
        for _ in range(_STEPS):
            size = np.exp(-np.logaddexp(np.longdouble(0), -sign * (Z @ v)))
            slope = Z.T @ (self.weights * sign * size) + penalty * v
            H = (Z.T * (self.weights * size * (1 - size))) @ Z + np.diag(penalty)
            # The direction may be rounded: slope and objective decide.
            scale = np.sqrt(np.maximum(np.diag(H), np.finfo(np.float64).tiny))
            scaled = (H / scale / scale[:, None]).astype(np.float64) + 1e-14 * np.eye(len(v))
            step = np.linalg.solve(scaled, (slope / scale).astype(np.float64)) / scale
            moved, reached = v, value
            for halving in range(_HALVINGS):
                there = v - step / np.longdouble(2) ** halving
                if objective(there) < value:
                    moved, reached = there, objective(there)
                    break
            if not reached < value or slope @ step <= enough:
                return min(reached, value)
            v, value = moved, reached
        return value
