"""The best-k-features problem of TopK in exact rational arithmetic, for tiny data.

Every stored number is a dyadic fraction, and so the objective of a choice is a fraction too: with
the weighted and centred Gram matrix G and columns of variance v_j, columns that are scaled to unit
variance and a ridge r on them have the same objective as the columns themselves with the
penalty r v_j on feature j, which needs no square root.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, groupby
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
# Spread, relative to the largest value, up to which a column is constant, and the least spread.
_CONSTANT = Fraction(10 * float(np.finfo(np.float64).eps))
_TINY = Fraction(float(np.finfo(np.float64).tiny))
# Bits of standard deviations, which limits of clipped columns are computed from.
_BITS = 300


@dataclass(frozen=True)
class ColumnSets:
    """All choices of k units that contain some and none of others, by their columns."""

    units: list[tuple[int, ...]]
    k: int
    include: frozenset[int]
    exclude: frozenset[int]

    @classmethod
    def of(
        cls,
        d: int,
        k: int,
        include: Iterable[int] = (),
        exclude: Iterable[int] = (),
        groups: Iterable[Sequence[int]] | None = None,
    ) -> ColumnSets:
        """Units are columns, or groups for which columns stand in what must and must not be in."""
        units = [tuple(group) for group in ([[j] for j in range(d)] if groups is None else groups)]
        fixed, barred = (
            frozenset(u for u, unit in enumerate(units) if set(unit) & set(columns))
            for columns in (include, exclude)
        )
        return cls(units, k, fixed, barred)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        free = [u for u in range(len(self.units)) if u not in self.include | self.exclude]
        for rest in combinations(free, self.k - len(self.include)):
            yield tuple(sorted(j for u in (*self.include, *rest) for j in self.units[u]))


@dataclass(frozen=True)
class ExactProblem:
    """f(S) = total - <B_S, (G_SS + diag(penalty)_S)^-1 B_S>, all of it in fractions."""

    G: Array
    B: Array
    total: Fraction
    penalty: list[Fraction]
    sets: ColumnSets

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
    ) -> ExactProblem:
        """From dense data; clipped columns are as exact as their standard deviations."""
        w = fractions_of(np.ones(len(X)) if weights is None else weights)
        Xf, Yf = fractions_of(X), fractions_of(Y)
        total_weight = w.sum()
        if standardize or fit_intercept:
            Xf = centred(X, w, clip)
        if fit_intercept:
            Yf = Yf - (w @ Yf) / total_weight
        weighted = w[:, None] * Xf
        G, B = weighted.T @ Xf, weighted.T @ Yf
        total = (w[:, None] * Yf * Yf).sum()
        ridge = Fraction(alpha) * total_weight
        penalty = [ridge * (G[j, j] / total_weight if standardize else 1) for j in range(len(G))]
        return cls(G, B, total, penalty, ColumnSets.of(len(G), k, include, exclude, groups))

    def choices(self) -> Iterator[tuple[int, ...]]:
        """All choices, by their columns."""
        return iter(self.sets)

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
        looked_at: list[Any] = []
        for width, same in groupby(sorted(self.choices(), key=len), key=len):
            choices = np.array(list(same), dtype=np.intp).reshape(-1, width)
            values = self._approximate(choices)
            # Where long doubles fail, the choice is looked at exactly.
            looked_at += [*choices[np.argsort(values, kind="stable")[:few]]]
            looked_at += [*choices[~np.isfinite(values)][:50]]
        return min(self.objective(S.tolist()) for S in looked_at)

    def _approximate(self, choices: Array) -> Array:
        diagonal = [self.G[j, j] + self.penalty[j] for j in range(len(self.G))]
        unit = np.array([_rough_root(entry) for entry in diagonal], dtype=object)
        A = self.G + np.diag(np.array(self.penalty, dtype=object))
        A = long_doubles(A / np.outer(unit, unit))[choices[:, :, None], choices[:, None, :]]
        norm = _rough_root(self.total)
        B = long_doubles(self.B / unit[:, None] / norm)[choices]
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


def fractions_of(M: Array) -> Array:
    """Floats as fractions."""
    exact = np.frompyfunc(lambda value: Fraction(float(value)), 1, 1)
    return np.asarray(exact(np.asarray(M)), dtype=object)


def long_doubles(M: Array) -> Array:
    """Fractions as long doubles."""

    def convert(value: Fraction) -> np.longdouble:
        high = float(value)
        return np.longdouble(high) + np.longdouble(float(value - Fraction(high)))

    return np.asarray(np.frompyfunc(convert, 1, 1)(M), dtype=np.longdouble)


def _rough_root(value: Fraction) -> Fraction:
    """A power of two near the square root; 1 for 0."""
    bits = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    return Fraction(2) ** bits if value else Fraction(1)


def centred(X: Array, w: Array, clip: float | None) -> Array:
    """The columns within ``clip`` standard deviations of their means, less these means.

    Constant columns become zero; ``w`` and the result are fractions.
    """
    columns = []
    for x in fractions_of(X).T:
        largest = max(abs(value) for value in x)
        x = x - (w @ x) / w.sum()
        variance = (w @ (x * x)) / w.sum()
        if variance <= max(_CONSTANT * largest, _TINY) ** 2:
            columns.append(0 * x)
            continue
        if clip is not None:
            reach = Fraction(clip) * _precise_root(variance)
            x = np.array([min(max(value, -reach), reach) for value in x], dtype=object)
            x = x - (w @ x) / w.sum()
        columns.append(x)
    return np.array(columns, dtype=object).T


def _precise_root(value: Fraction) -> Fraction:
    """The square root to 300 bits; of 4 times a number twice that, so that copies stay copies."""
    size = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    unit = Fraction(2) ** (_BITS - size)
    return Fraction(isqrt(int(value * unit**2))) / unit
