"""The best-k-features problem of TopK in exact rational arithmetic, for tiny data.

Every stored number is a dyadic fraction, and so the objective of a choice is a fraction too: with
the weighted and centred Gram matrix G and columns of variance v_j, columns that are scaled to unit
variance and a ridge r on them have the same objective as the columns themselves with the
penalty r v_j on feature j, which needs no square root.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
# Spread, relative to the largest value, up to which TopK takes a column for constant.
_CONSTANT = 10 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ExactProblem:
    """f(S) = total - <B_S, (G_SS + diag(penalty)_S)^-1 B_S>, all of it in fractions."""

    G: Array
    B: Array
    total: Fraction
    penalty: list[Fraction]
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
    ) -> ExactProblem:
        """From dense data; what TopK would take for a constant column is one here too."""
        Xf, Yf = _fractions(X), _fractions(Y)
        w = _fractions(np.ones(len(X)) if weights is None else weights)
        total_weight = w.sum()
        if standardize or fit_intercept:
            Xf = Xf - (w @ Xf) / total_weight
            Xf[:, constant_columns(X)] = Fraction(0)
        if fit_intercept:
            Yf = Yf - (w @ Yf) / total_weight
        weighted = w[:, None] * Xf
        G, B = weighted.T @ Xf, weighted.T @ Yf
        total = (w[:, None] * Yf * Yf).sum()
        ridge = Fraction(alpha) * total_weight
        penalty = [ridge * (G[j, j] / total_weight if standardize else 1) for j in range(len(G))]
        return cls(G, B, total, penalty, k, frozenset(include), frozenset(exclude))

    def choices(self) -> Iterator[tuple[int, ...]]:
        """All choices of k features that include and exclude what they must."""
        free = [j for j in range(len(self.G)) if j not in self.include | self.exclude]
        for rest in combinations(free, self.k - len(self.include)):
            yield tuple(sorted((*self.include, *rest)))

    def objective(self, S: Sequence[int]) -> Fraction:
        """f(S), by eliminating one feature after another; dependent ones add nothing."""
        S = list(S)
        A = self.G[np.ix_(S, S)].copy()
        B = self.B[S].copy()
        for i, j in enumerate(S):
            A[i, i] += self.penalty[j]
        explained = Fraction(0)
        for i in range(len(S)):
            if A[i, i] == 0:
                continue
            explained += sum(b * b for b in B[i]) / A[i, i]
            for m in range(i + 1, len(S)):
                share = A[m, i] / A[i, i]
                A[m, i + 1 :] = A[m, i + 1 :] - share * A[i, i + 1 :]
                B[m] = B[m] - share * B[i]
        return self.total - explained

    def best(self, few: int = 4) -> Fraction:
        """The least objective: that of the few best choices of an enumeration in long doubles."""
        choices = np.array(list(self.choices()), dtype=np.intp)
        values = self._approximate(choices)
        candidates = choices[np.argsort(values, kind="stable")[:few]]
        # Where long doubles fail, the choice is looked at exactly.
        lost = choices[~np.isfinite(values)][:50]
        return min(self.objective(S.tolist()) for S in [*candidates, *lost])

    def _approximate(self, choices: Array) -> Array:
        scale = np.array([_root(self.G[j, j] + self.penalty[j]) for j in range(len(self.G))])
        unit = np.array([Fraction(float(s)) for s in scale], dtype=object)
        A = self.G + np.diag(np.array(self.penalty, dtype=object))
        A = _long(A / np.outer(unit, unit))[choices[:, :, None], choices[:, None, :]]
        norm = Fraction(float(_root(self.total))) if self.total else Fraction(1)
        B = _long(self.B / unit[:, None] / norm)[choices]
        explained = np.zeros(len(choices), dtype=np.longdouble)
        with np.errstate(all="ignore"):
            for i in range(choices.shape[1]):
                pivot = A[:, i, i].copy()
                pivot[pivot <= 0] = np.nan
                explained += (B[:, i] ** 2).sum(axis=1) / pivot
                share = A[:, i + 1 :, i] / pivot[:, None]
                A[:, i + 1 :] -= share[:, :, None] * A[:, i, None]
                B[:, i + 1 :] -= share[:, :, None] * B[:, i, None]
        return np.asarray(1 - explained, dtype=np.float64)


def _fractions(M: Array) -> Array:
    exact = np.frompyfunc(lambda value: Fraction(float(value)), 1, 1)
    return np.asarray(exact(np.asarray(M)), dtype=object)


def _long(M: Array) -> Array:
    def convert(value: Fraction) -> np.longdouble:
        high = float(value)
        return np.longdouble(high) + np.longdouble(float(value - Fraction(high)))

    return np.asarray(np.frompyfunc(convert, 1, 1)(M), dtype=np.longdouble)


def _root(value: Fraction) -> float:
    return float(value) ** 0.5 or 1.0


def constant_columns(X: Array) -> Array:
    """Which columns TopK takes for constant."""
    X = np.asarray(X, dtype=np.longdouble)
    return np.asarray(X.std(axis=0) <= _CONSTANT * np.abs(X).max(axis=0))
