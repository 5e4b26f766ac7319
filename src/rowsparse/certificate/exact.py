"""A second checker of proofs, in exact arithmetic, written from ``docs/certificate_format.md``.

Every float64 is an integer times a power of two. So weights, targets and centred columns are
integers z', w, y' times a unit each:

    z_ij = unit_j z'_ij,    omega_i = g w_i,    y_i = t y'_i,    v_j = (t / unit_j) v'_j

In terms of v' the objective is g t^2 (t = 1 except for the squared loss) times that of the same
problem for z', w and y', with the penalties

    c_j = alpha sum_i w_i z'_ij^2    (alpha sum_i w_i / unit_j^2 if columns are not standardised).

Its squared loss needs rational numbers only. What has roots, exponentials or logarithms (``clip``
and other losses) is computed with balls: a ball contains the number that is meant, and its
ends are bounds. Floats serve to guess, not to conclude, except as the ends of intervals, which are
moved outwards after every operation.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.certificate.data import Table
from rowsparse.certificate.proof import Dual, Kind, Proof, does_not_hold

try:
    flint: Any = importlib.import_module("flint")
except ImportError:
    flint = None

_INTEGERS = (int, flint.fmpz) if flint else int
# int, Fraction; with python-flint fmpz, fmpq and, for balls, arb.
Number = Any
Rows = list[list[Number]]
# Coefficients of columns, one for each label, in terms of v'.
Point = dict[int, list[Fraction]]

_MOST_CHOICES = 2**20
# Bits of balls at first and at most, and the width of a bound, as a share of it, that is narrow.
_BITS, _MOST_BITS, _NARROW = 128, 1024, Fraction(1, 10**12)
# Lower ends of balls that are at most the least float count as zero.
_LEAST = 2.0**-1074
# Binary places of matrices that are rounded to integers.
_PLACES = 128
# Steps of Newton's method, for a fit and for an intercept, and halvings of a step.
_STEPS, _BALANCING, _HALVINGS = 100, 8, 30


def exact_bound(table: Table, proof: Proof) -> float:
    """The bound of a proof: no choice has a smaller objective. Rounded down.

    Raises ValueError if the proof does not hold, and ImportError if it needs python-flint.
    """
    return _rounded(_computed(table, lambda problem: _bound(problem, proof)), -math.inf)


def exact_objectives(table: Table, choices: Sequence[Index]) -> list[tuple[float, float]]:
    """The objectives of choices of columns, rounded down and up."""

    def ends(problem: _Problem) -> Array:
        return np.array([problem.objective(list(map(int, S))) for S in choices], dtype=object)

    found = _computed(table, ends)
    return [(_rounded(low, -math.inf), _rounded(high, math.inf)) for low, high in found]


def _computed(table: Table, compute: Callable[[_Problem], Any]) -> Any:
    """A result in the units of the data, with twice the bits until it is narrow."""
    loss = _LOSSES[table.statement.loss]
    balls = loss is not _Squared or table.statement.clip is not None
    if balls and flint is None:
        raise ImportError(
            "The exact check of another loss than the squared one, or with clip, needs "
            'python-flint: pip install "rowsparse[exact]".'
        )
    bits = _BITS
    while True:
        with flint.ctx.workprec(bits) if balls else nullcontext(), np.errstate(all="ignore"):
            problem = loss(table, balls)
            result = compute(problem) * problem.unit
        if problem.width <= _NARROW or bits >= _MOST_BITS:
            return result
        bits *= 2


# --------------------------------------------------------------------------------- the numbers
def _is_ball(x: Number) -> bool:
    return flint is not None and isinstance(x, flint.arb)


def _lower(x: Number) -> Number:
    return x.lower() if _is_ball(x) else x


def _upper(x: Number) -> Number:
    return x.upper() if _is_ball(x) else x


def _ratio(x: Number) -> tuple[int, int]:
    """Numerator and denominator; of a ball, those of its midpoint."""
    if isinstance(x, int | float | Fraction):
        return x.as_integer_ratio()
    if not _is_ball(x):
        return (int(x), 1) if isinstance(x, flint.fmpz) else (int(x.p), int(x.q))
    mantissa, exponent = map(int, x.mid().man_exp())
    return mantissa << max(exponent, 0), 1 << max(-exponent, 0)


def _floor(x: Number, places: int) -> int:
    """The integer part of the lower end of x times 2^places."""
    if isinstance(x, _INTEGERS):
        return int(x << places if places >= 0 else x >> -places)
    top, bottom = _ratio(_lower(x))
    return (top << places) // bottom if places >= 0 else top // (bottom << -places)


def _float(x: Number, places: int = 0) -> float:
    """The float next to x times 2^places."""
    top, bottom = _ratio(x)
    try:
        return (top << max(places, 0)) / (bottom << max(-places, 0))
    except OverflowError:
        return math.inf if top > 0 else -math.inf


def _rounded(x: Fraction | float, towards: float) -> float:
    if isinstance(x, float):
        return x
    near = _float(x)
    if math.isfinite(near):
        wrong = Fraction(near) < x if towards > 0 else Fraction(near) > x
    else:
        wrong = near != towards
    return math.nextafter(near, towards) if wrong else near


def _integers(values: Iterable[float | Fraction]) -> tuple[list[int], Fraction]:
    """Numbers as integers without a common divisor, and their unit."""
    ratios = [value.as_integer_ratio() for value in values]
    bottom = math.lcm(*(q for _, q in ratios))
    tops = [p * (bottom // q) for p, q in ratios]
    divisor = math.gcd(*tops) or 1
    return [top // divisor for top in tops], Fraction(divisor, bottom)


def _product(A: Rows, B: Rows, balls: bool) -> Rows:
    """The product of matrices of integers or of balls."""
    if flint is None:
        return (np.array(A, dtype=object) @ np.array(B, dtype=object)).tolist()
    matrix = flint.arb_mat if balls else flint.fmpz_mat
    return (matrix(A) * matrix(B)).tolist()


def _transposed(A: Rows) -> Rows:
    return [list(row) for row in zip(*A, strict=True)]


# --------------------------------------------------------------------------------- the problem
def _weights(table: Table) -> list[Fraction]:
    weights = [Fraction(weight) for weight in table.weights.tolist()]
    if table.class_weight is None:
        return weights
    classes = table.labels.argmax(axis=1).tolist()
    if isinstance(table.class_weight, str):  # "balanced"
        sums = [Fraction(0)] * table.labels.shape[1]
        for weight, label in zip(weights, classes, strict=True):
            sums[label] += weight
        factors = [sum(weights) / (len(sums) * part) for part in sums]
    else:
        factors = [Fraction(weight) for weight in table.class_weight.tolist()]
    return [weight * factors[label] for weight, label in zip(weights, classes, strict=True)]


@dataclass(frozen=True)
class _Column:
    """A column z', its unit and its penalty.

    Its entry of the diagonal of A is about 4^size times the sum of the weights. Columns that are
    equal up to sign and a power of two have the same key.
    """

    z: list[Number]
    unit: Fraction
    penalty: Number
    entry: Number
    size: int
    constant: bool
    key: tuple[int, ...]


class _Problem:
    """The problem in integers or balls, without the loss."""

    def __init__(self, table: Table, balls: bool, labels: Rows, label_unit: Fraction) -> None:
        self.table, self.statement, self.balls = table, table.statement, balls
        self.weights, unit = _integers(_weights(table))
        self.total = sum(self.weights)
        self.labels, self.label_unit = labels, label_unit
        self.unit = unit * label_unit**2
        self.width = Fraction(0)
        self._known: dict[int, _Column] = {}
        # The kinds of units, and those of the units of choices that the bound is not about, sorted.
        self._kinds: dict[Any, int] = {}
        self.listed: set[tuple[int, ...]] = set()

    def number(self, x: float | Fraction) -> Number:
        top, bottom = x.as_integer_ratio()
        if self.balls:
            return flint.arb(top) / bottom
        return flint.fmpq(top, bottom) if flint else Fraction(top, bottom)

    def sum(self, values: Sequence[Number]) -> Number:
        """The weighted sum of a value of each row."""
        return sum(w * x for w, x in zip(self.weights, values, strict=True))

    def square(self, values: Sequence[Number]) -> Number:
        return self.sum([x * x for x in values])

    def centred(self, values: list[int]) -> list[int]:
        """Values less their mean, times the sum of the weights."""
        mean = self.sum(values)
        return [self.total * x - mean for x in values]

    def column(self, j: int) -> _Column:
        if j not in self._known:
            self._known[j] = self._column(self.table.X[:, j].tolist())
        return self._known[j]

    def _column(self, x: list[float]) -> _Column:
        z, unit = _integers(x)
        odd = unit.numerator // (unit.numerator & -unit.numerator)
        sign = -1 if next((value for value in z if value), 0) < 0 else 1
        key = (odd, *(sign * value for value in z))
        constant = not any(z)
        if self.statement.standardize or self.statement.fit_intercept:
            values, z = z, self.centred(z)
            # The square of the standard deviation against those of the limits.
            limit = max(Fraction(10, 2**52) * max(map(abs, values)) * unit, Fraction(1, 2**1022))
            constant = Fraction(self.square(z), self.total**3) * unit**2 <= limit**2
            if constant:
                z = [0] * len(z)
            elif self.statement.clip is not None:
                z = self._clipped(values, self.square(z))
            unit /= self.total
        z = [flint.fmpz(value) if flint and isinstance(value, int) else value for value in z]
        square = self.square(z)
        if constant:  # no choice is better or worse for it, whatever its penalty
            penalty = self.number(1)
        elif self.statement.standardize:
            penalty = self.number(self.statement.alpha) * square
        else:
            penalty = self.number(Fraction(self.statement.alpha) * self.total / unit**2)
        entry = square + penalty
        return _Column(z, unit, penalty, entry, self.size(entry), constant, key)

    def _clipped(self, values: list[int], square: int) -> list[Number]:
        """Values within the limits of ``clip``, centred and times the sum of the weights."""
        mean = flint.arb(self.sum(values)) / self.total
        deviation = (flint.arb(square) / self.total).sqrt() / self.total
        reach = self.number(self.statement.clip or 0.0) * deviation
        moved = [flint.arb(value).min(mean + reach).max(mean - reach) for value in values]
        return self.centred(moved)

    def size(self, square: Number) -> int:
        top, bottom = _ratio(square)
        return (top.bit_length() - bottom.bit_length() - self.total.bit_length()) // 2

    def columns(self, units: Sequence[int]) -> list[int]:
        """The columns of units: of groups, if these are chosen."""
        return self.statement.columns_of(units)

    def start(self) -> tuple[list[int], list[int], int]:
        """The units in all choices, the others of the pool, and how many of these to choose."""
        if self.statement.feature_groups is not None:
            groups = self.statement.units_of(self.statement.include)
            gone = {*groups, *self.statement.units_of(self.statement.exclude)}
            free = [g for g in range(self.statement.n_units) if g not in gone]
            return groups, free, self.statement.k - len(groups)
        include, pool = self.statement.include, self.table.allowed.tolist()
        if self.is_reduced:
            first: dict[tuple[int, ...], int] = {}
            for j in [*include, *pool]:
                if not self.column(j).constant:
                    first.setdefault(self.column(j).key, j)
            pool = sorted(first.values())
        kept = [j for j in include if j in set(pool)]
        places = min(self.statement.k - (len(include) - len(kept)), len(pool))
        return kept, [j for j in pool if j not in set(kept)], places - len(kept)

    def kind(self, unit: int) -> int:
        """A number for a unit, the same for columns that are copies of each other."""
        if self.statement.feature_groups is not None:
            return unit
        column, alpha = self.column(unit), self.statement.alpha
        scale = column.unit if alpha > 0 and not self.statement.standardize else None
        return self._kinds.setdefault(None if column.constant else (column.key, scale), unit)

    def set_listed(self, rows: list[list[int]]) -> None:
        """Leave choices of the pool out of the bound, and those that differ by copies alone."""
        kept, _, r = self.start()
        for row in rows:
            kinds = [self.kind(g) for g in row]
            if self.is_reduced:
                kinds = [*{self.kind(j) for j in row if not self.column(j).constant}]
            if len(kinds) == len(kept) + r:
                self.listed.add(tuple(sorted(kinds)))

    def is_listed(self, units: Sequence[int]) -> bool:
        return bool(self.listed) and tuple(sorted(map(self.kind, units))) in self.listed

    @property
    def is_reduced(self) -> bool:
        """Whether columns that add nothing are no part of the pool."""
        about = self.statement
        return about.loss == "squared" and about.alpha == 0 and about.feature_groups is None

    def settled(self, bound: Number) -> Fraction:
        """The lower end of a bound, or 0 if that is larger; notes how wide it is."""
        low, high = _lower(bound), _upper(bound)
        # A ball below zero, or none, may have an exponent beyond all integers.
        if self.balls and not (bound.is_finite() and low > _LEAST):
            if not high <= 0:
                self.width = Fraction(1)
            return Fraction(0)
        low, high = Fraction(*_ratio(low)), Fraction(*_ratio(high))
        if high > 0:
            self.width = max(self.width, 1 - low / high)
        return max(low, Fraction(0))

    def point(self, dual: Dual, pool: set[int]) -> Point:
        """A dual point of a proof."""
        features, V = _named(dual.features, pool), np.asarray(dual.V)
        if V.shape != (len(features), len(self.labels)):
            raise does_not_hold("a dual point has another number of coefficients")
        if V.dtype.kind != "f" or not np.isfinite(V).all():
            raise does_not_hold("a dual point has coefficients that are not finite")
        units = [self.column(j).unit / self.label_unit for j in features]
        return {
            j: [Fraction(v) * unit for v in row]
            for j, row, unit in zip(features, V.tolist(), units, strict=True)
        }

    def fitted(self, V: Point) -> tuple[Rows, dict[int, list[int]], int]:
        """Z V (a row for each label) and V, both times an integer, and that integer."""
        factor = math.lcm(*(v.denominator for row in V.values() for v in row))
        whole = {j: [int(v * factor) for v in row] for j, row in V.items()}
        if not V or not self.labels:
            return [[0] * len(self.weights) for _ in self.labels], whole, factor
        Z = [self.column(j).z for j in whole]
        return _product(_transposed(list(whole.values())), Z, self.balls), whole, factor

    def slopes(self, residuals: Rows, columns: Sequence[int]) -> Rows:
        """Z' times the weighted residuals: a row for each column."""
        if not columns or not self.labels:
            return [[] for _ in columns]
        weighted = [[w * x for w, x in zip(self.weights, row, strict=True)] for row in residuals]
        Z = [self.column(j).z for j in columns]
        return _product(Z, _transposed(weighted), self.balls)

    def score(self, slope: list[Number], penalty: Number, large: Number) -> Number:
        """The sum of squares over the penalty. For infinity, a number that makes any bound < 0."""
        square = sum(x * x for x in slope)
        if penalty > 0:
            return square / penalty
        if self.balls and not penalty.is_zero():  # too wide a ball
            self.width = Fraction(1)
        return self.number(0) if square == 0 else large

    # Of each loss: the bound of a dual point before any score is subtracted, and the scores of
    # columns; the lesser of `best` and (at most) the least objective of a set of choices of units;
    # what the objective of a choice of columns is at least, and at most.
    inequality: Callable[[Point, Sequence[int]], tuple[Number, dict[int, Number]]]
    least: Callable[[list[int], list[int], int, Fraction | float], Fraction | float]
    objective: Callable[[list[int]], tuple[Fraction, Fraction | float]]


# ----------------------------------------------------------------------------------- the steps
def _named(columns: Any, among: Iterable[int]) -> list[int]:
    """Columns that a proof names, all different and among others."""
    columns = np.asarray(columns)
    if columns.ndim != 1 or (columns.size and columns.dtype.kind not in "iu"):
        raise does_not_hold("a step names columns by something else than their numbers")
    names: list[int] = columns.tolist()
    if len(set(names)) < len(names):
        raise does_not_hold("a step names a column twice")
    if not set(names) <= set(among):
        raise does_not_hold("a step names a column that is not in its set of choices")
    return names


def _bound(problem: _Problem, proof: Proof) -> Fraction | float:
    """The least bound of all steps."""
    kept, free, r = problem.start()
    pool, most_left = {*problem.columns(kept + free)}, 2
    if problem.statement.feature_groups is not None:
        most_left = 1
    if proof.diagonal is not None:
        if not isinstance(problem, _Squared):
            raise does_not_hold("it has a diagonal, and its loss is not the squared one")
        problem.set_diagonal(np.asarray(proof.diagonal), sorted(pool))
    best: Fraction | float = problem.settled(problem.inequality({}, [])[0])
    has_places = True
    if proof.listed is not None:
        problem.set_listed(proof.listed.tolist())
        best = math.inf
        about = problem.statement
        has_places = about.feature_groups is not None or len(about.include) + r == about.k
    stack = [(kept, free, r)]
    for step in proof.steps:
        if not stack:
            raise does_not_hold("it has more steps than sets of choices")
        kept, free, r = stack.pop()
        parts: list[tuple[list[int], list[int], int]] = []
        if step.kind == Kind.OPEN:
            best = Fraction(0)
        elif step.kind in (Kind.LAST, Kind.ALL):
            squared = proof.statement.loss == "squared"
            if step.kind == Kind.LAST and not (squared and 1 <= r <= most_left):
                raise does_not_hold("a LAST step has a set of choices of another kind")
            if step.kind == Kind.ALL and math.comb(len(free), r) > _MOST_CHOICES:
                raise does_not_hold("an ALL step has too many choices")
            best = problem.least(kept, free, r, best)
        elif step.kind in (Kind.SPLIT, Kind.EXCHANGE):
            (j,) = _named([step.feature], free)
            rest, copies = [i for i in free if i != j], []
            if step.kind == Kind.EXCHANGE:
                copies = _named(step.out, rest)
                if any(problem.kind(i) != problem.kind(j) for i in copies):
                    raise does_not_hold("it exchanges columns that are no copies")
            without = [i for i in rest if i not in copies]
            parts = [(kept, without, r), ([*kept, j], rest, r - 1)]
        elif step.kind in (Kind.BOUND, Kind.SCREEN):
            V = None if step.dual is None else problem.point(step.dual, pool)
            base, q = problem.number(0), dict.fromkeys(kept + free, problem.number(0))
            if V is not None:
                base, scores = problem.inequality(V, problem.columns(kept + free))
                q = {g: sum(scores[j] for j in problem.columns([g])) for g in q}
            bounds = _Bounds(base, q, kept, free, r)
            if step.kind == Kind.BOUND:
                best = min(best, problem.settled(bounds.of_all()))
                continue
            out, fixed = _named(step.out, free), _named(step.fixed, free)
            gone = {*_named(np.array(out + fixed, dtype=int), free)}
            for bound in (*map(bounds.of_those_with, out), *map(bounds.of_those_without, fixed)):
                best = min(best, problem.settled(bound))
            parts = [(kept + fixed, [j for j in free if j not in gone], r - len(fixed))]
        else:
            raise does_not_hold("it has a step of an unknown kind")
        stack += [part for part in parts if 0 <= part[2] <= len(part[1])]
    if stack:
        raise does_not_hold("its steps leave choices without a bound")
    # Choices that differ only in columns that add nothing are not known from the pool.
    return best if has_places else Fraction(0)


class _Bounds:
    """The bounds that the scores of a dual point give for parts of a set of choices.

    A choice with column j has r - 1 others of the set, one without it has r: of the other columns.
    To subtract their largest scores is what the document says in terms of differences.
    """

    def __init__(
        self, base: Number, q: dict[int, Number], kept: list[int], free: list[int], r: int
    ) -> None:
        self.q, self.r = q, r
        self.base = base - sum(self.q[j] for j in kept)
        self.order = sorted(free, key=lambda j: _upper(self.q[j]), reverse=True)

    def of_all(self) -> Number:
        return self.base - sum(self.q[j] for j in self.order[: self.r])

    def of_those_without(self, j: int) -> Number:
        return self.base - self._largest(self.r, j)

    def of_those_with(self, j: int) -> Number:
        return self.base - (self.q[j] + self._largest(self.r - 1, j) if self.r else 0)

    def _largest(self, count: int, without: int) -> Number:
        return sum([self.q[j] for j in self.order[: count + 1] if j != without][:count])


# ---------------------------------------------------------------------------- the squared loss
class _Squared(_Problem):
    def __init__(self, table: Table, balls: bool) -> None:
        values, unit = _integers(table.labels.T.ravel().tolist())
        n = len(table.labels)
        labels: Rows = [values[at : at + n] for at in range(0, len(values), n)]
        super().__init__(table, balls, labels, unit)
        if self.statement.fit_intercept:
            centred = [self.centred(row) for row in labels]
            super().__init__(table, balls, centred, unit / self.total)
        self.T = self.number(sum(map(self.square, self.labels)))
        self.T_size = self.size(self.T)
        self.shares: dict[int, Number] = {}

    def inequality(self, V: Point, columns: Sequence[int]) -> tuple[Number, dict[int, Number]]:
        fitted, whole, factor = self.fitted(V)
        residuals = [
            [factor * y - x for y, x in zip(*rows, strict=True)]
            for rows in zip(self.labels, fitted, strict=True)
        ]
        quadratic = self.number(0) + sum(map(self.square, fitted))
        # c_j - D_j, which is 0 without a diagonal.
        excess = {j: self.column(j).penalty - self.diagonal(j) for j in whole if self.shares}
        for j, rest in excess.items():
            quadratic += rest * sum(v * v for v in whole[j])
        q = {}
        for j, u in zip(columns, self.slopes(residuals, columns), strict=True):
            if j in excess:
                u = [x - excess[j] * v for x, v in zip(u, whole[j], strict=True)]
            q[j] = self.score(u, self.diagonal(j) * factor**2, self.T + 1)
        return self.T - quadratic / factor**2, q

    def diagonal(self, j: int) -> Number:
        """The entry D_j."""
        column = self.column(j)
        return self.shares[j] * column.entry if self.shares else column.penalty

    def set_diagonal(self, shares: Array, pool: list[int]) -> None:
        """Replace the ridge by shares of the diagonal of A, if they are admissible."""
        if len(pool) > 2 * len(self.weights) or shares.shape != (len(pool),):
            raise does_not_hold("its diagonal has another length, or too many columns")
        if shares.dtype.kind != "f" or not np.all((shares > 0) & (shares <= 1)):
            raise does_not_hold("its diagonal has shares that are not within 0 and 1")
        self.shares = {j: self.number(x) for j, x in zip(pool, shares.tolist(), strict=True)}
        A = [row[: len(pool)] for row in self.gram(pool)]
        for i, j in enumerate(pool):
            A[i][i] = A[i][i] - self.diagonal(j)
        if pool and not _is_semidefinite(*self.scaled(A, pool)):
            raise does_not_hold("its diagonal is too large")

    def gram(self, columns: list[int]) -> Rows:
        """The rows of [A B] for columns."""
        if not columns:
            return []
        Z = [self.column(j).z for j in columns]
        both = [[w * x for w, x in zip(self.weights, row, strict=True)] for row in Z + self.labels]
        M = _product(Z, _transposed(both), self.balls)
        for i, j in enumerate(columns):
            M[i][i] = self.column(j).entry
        return M

    def objective(self, chosen: list[int]) -> tuple[Fraction, Fraction | float]:
        value = self.value(chosen)
        return self.settled(value), Fraction(*_ratio(_upper(value)))

    def value(self, chosen: list[int]) -> Number:
        """The objective of a choice, by elimination."""
        M, rest = self.gram(chosen), self.T
        for p, row in enumerate(M):
            if row[p] == 0:  # the column is in the span of earlier ones, without a ridge
                continue
            if not row[p] > 0:  # a ball that is too wide: between no loss and that without it
                return rest.union(flint.arb(0))
            rest = rest - sum(b * b for b in row[len(M) :]) / row[p]
            for i in range(p + 1, len(M)):
                factor = row[i] / row[p]
                M[i] = [a - factor * b for a, b in zip(M[i], row, strict=True)]
        return rest

    def scaled(self, M: Rows, columns: list[int]) -> tuple[Array, Array]:
        """Rows of A or [A B] with entries of about 2^_PLACES, as integers below and above."""
        sizes = [self.column(j).size for j in columns] + [self.T_size] * len(self.labels)
        places = _PLACES - self.total.bit_length()

        def floors(M: Rows) -> Array:
            whole = np.zeros((len(M), len(M[0])), dtype=object)
            for i, row in enumerate(M):
                pairs = zip(row[i:], sizes[i:], strict=False)
                whole[i, i:] = [_floor(x, places - sizes[i] - size) for x, size in pairs]
            whole[:, : len(M)] += np.triu(whole[:, : len(M)], 1).T
            return whole

        low = floors(M)
        return low, -floors([[-x for x in row] for row in M]) if self.balls else low + 1

    def least(
        self, kept: list[int], free: list[int], r: int, best: Fraction | float
    ) -> Fraction | float:
        if r == 0:
            if self.is_listed(kept):
                return best
            return min(best, self.settled(self.value(self.columns(kept))))
        places = -self.total.bit_length() - 2 * self.T_size
        columns = self.columns(kept + free)
        box = _Box.from_integers(*self.scaled(self.gram(columns), columns))
        rest = _Box.from_integers(
            _floor(self.T, places + _PLACES), -_floor(-self.T, places + _PLACES)
        )
        for _ in self.columns(kept):
            box, rest = _eliminated(box, rest, 0)
        if self.statement.feature_groups is None:
            tried = _objectives(box, rest, np.array(free), r)
        else:
            tried = self._of_groups(box, rest, free, r)
        for lows, chosen in tried:
            for at in np.argsort(lows):
                if lows[at] >= _rounded(best * Fraction(2) ** places, math.inf):
                    break
                units = [*kept, *chosen[at].tolist()]
                if not self.is_listed(units):
                    best = min(best, self.settled(self.value(self.columns(units))))
        return best

    def _of_groups(
        self, box: _Box, rest: _Box, free: list[int], r: int
    ) -> Iterator[tuple[Array, Index]]:
        """As :func:`_objectives`, of choices of groups: their columns one after the other."""
        place = {j: at for at, j in enumerate(self.columns(free))}
        labels = range(len(place), len(place) + len(self.labels))
        for chosen in combinations(free, r):
            at = [place[j] for j in self.columns(chosen)]
            part, left = box[np.ix_(at, [*at, *labels])], rest
            for _ in at:
                part, left = _eliminated(part, left, 0)
            yield left.low[None], np.array([chosen])


def _is_semidefinite(low: Array, high: Array) -> bool:
    """Whether all symmetric matrices within two of integers are certain to be.

    A matrix is if, for some L, its difference to L L' is diagonally dominant.
    """
    m = len(low)
    try:
        L = np.linalg.cholesky(
            np.ldexp(low.astype(float), -_PLACES) - (m + 4) ** 2 * 2.0**-50 * np.eye(m)
        )
    except np.linalg.LinAlgError:
        return False
    rows = [[int(x) for x in row] for row in np.rint(np.ldexp(L, _PLACES // 2)).tolist()]
    square = np.array(_product(rows, _transposed(rows), balls=False), dtype=object)
    rest = np.maximum(abs(low - square), abs(high - square))
    np.fill_diagonal(rest, 0)
    return bool(np.all(np.diag(low - square) >= rest.sum(axis=1)))


@dataclass(frozen=True)
class _Box:
    """Arrays of intervals; every operation moves the ends outwards to the next floats."""

    low: Array
    high: Array

    @classmethod
    def from_integers(cls, low: Any, high: Any) -> _Box:
        """Integers divided by 2^_PLACES."""
        return cls._around(*(np.ldexp(np.asarray(end, float), -_PLACES) for end in (low, high)))

    @classmethod
    def _around(cls, *ends: Array) -> _Box:
        low = np.nextafter(np.minimum.reduce(ends), -np.inf)
        high = np.nextafter(np.maximum.reduce(ends), np.inf)
        return cls(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))

    def __getitem__(self, at: Any) -> _Box:
        return _Box(self.low[at], self.high[at])

    def __add__(self, other: _Box) -> _Box:
        return _Box._around(self.low + other.low, self.high + other.high)

    def __sub__(self, other: _Box) -> _Box:
        return _Box._around(self.low - other.high, self.high - other.low)

    def __mul__(self, other: _Box) -> _Box:
        ends = (self.low, self.high), (other.low, other.high)
        return _Box._around(*(a * b for a in ends[0] for b in ends[1]))

    def __truediv__(self, other: _Box) -> _Box:
        """A quotient; anything at all if the divisor is not certain to be positive."""
        sure = other.low > 0
        inverse = _Box._around(
            *(np.where(sure, 1 / end, np.nan) for end in (other.low, other.high))
        )
        return self * inverse


def _eliminated(box: _Box, rest: _Box, i: int) -> tuple[_Box, _Box]:
    """The rows of [A B] after row i, and T, once column i is chosen."""
    m = len(box.low)
    row, pivot = box[i : i + 1, i + 1 :], box[i, i]
    factor = box[i, i + 1 : m, None] / pivot
    gain = _inner(box[i : i + 1, m:])[0, 0] / pivot
    return box[i + 1 :, i + 1 :] - factor * row, rest - gain


def _inner(B: _Box) -> _Box:
    """B B'."""
    parts = [B[:, l, None] * B[None, :, l] for l in range(B.low.shape[1])]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _objectives(box: _Box, rest: _Box, free: Index, r: int) -> Iterator[tuple[Array, Index]]:
    """Lower ends of the objectives of all choices of r columns, and the choices."""
    m = len(free)
    if r > 2:
        for i in range(m - r + 1):
            for lows, chosen in _objectives(*_eliminated(box, rest, i), free[i + 1 :], r - 1):
                yield lows, np.insert(chosen, 0, free[i], axis=1)
        return
    inner = _inner(box[:, m:])
    each = np.arange(m)
    own, gain = box[each, each], inner[each, each]
    if r == 1:
        yield (rest - gain / own).low, free[:, None]
        return
    one, two = np.triu_indices(m, 1)
    cross = box[one, two] * inner[one, two]
    both = own[two] * gain[one] + own[one] * gain[two] - cross - cross
    determinant = own[one] * own[two] - box[one, two] * box[one, two]
    yield (rest - both / determinant).low, free[np.column_stack((one, two))]


# ----------------------------------------------------------------------- losses with a curvature
class _Curved(_Problem):
    """A loss by its gradient, the weights times p - t for labels t and some p of predictions.

    In floats, arrays have a row for each label.
    """

    def __init__(self, table: Table, balls: bool) -> None:
        super().__init__(table, balls, [], Fraction(1))
        self.intercept = self.statement.fit_intercept and self.statement.loss != "cox"
        # For guesses: weights of sum about 1, and columns of about that length.
        self._w = np.array([_float(w, -self.total.bit_length()) for w in self.weights])
        self._z: dict[int, Array] = {}
        self._labels = np.ascontiguousarray(self._targets(table.labels).T)
        self.labels = [list(map(self.number, row)) for row in self._labels.tolist()]
        self._large: Number = None

    # Of each loss, for one label: feasible p of predictions and what they prove; the value of
    # predictions; Z H Z' for rows Z and the second derivatives H, from predictions and p.
    proven: Callable[[list[Number], int], tuple[list[Number], list[Number], Number]]
    loss: Callable[[list[Number], int], Number]
    bend: Callable[[Rows, list[Number], list[Number]], Rows]
    # In floats, of all labels: the values, the gradients in predictions and these products.
    _values: Callable[[Array], Array]
    _derivatives: Callable[[Array, Array], tuple[Array, Array]]

    def _null(self) -> Array:
        """Intercepts to begin a guess with."""
        return np.zeros(len(self._labels))

    def _targets(self, labels: Array) -> Array:
        """The labels t, a column each."""
        if self.statement.task == "classification" and labels.shape[1] == 2:
            labels = labels[:, 1:]
        return labels[:, (labels != labels[0]).any(axis=0)] if self.intercept else labels

    def inequality(self, V: Point, columns: Sequence[int]) -> tuple[Number, dict[int, Number]]:
        base, slopes, _, _ = self._dual(V, columns)
        return base, self._scores(columns, slopes)

    def _scores(self, columns: Sequence[int], slopes: Rows) -> dict[int, Number]:
        if self._large is None:
            # No point proves more than the objective of choosing nothing.
            self._large = 2 * self._dual({}, [])[0].upper() + 1
        large = self._large
        scored = zip(columns, slopes, strict=True)
        return {j: self.score(u, 2 * self.column(j).penalty, large) for j, u in scored}

    def _dual(self, V: Point, columns: Sequence[int]) -> tuple[Number, Rows, Rows, Rows]:
        """What the p prove, the slopes of columns, and for each label the p and predictions."""
        fitted, _, factor = self.fitted(V)
        logits = [[flint.arb(x) / factor for x in row] for row in fitted]
        points = [self.proven(row, l) for l, row in enumerate(logits)]
        residuals = [
            [x - t for x, t in zip(p, labels, strict=True)]
            for (_, p, _), labels in zip(points, self.labels, strict=True)
        ]
        base = self.number(0) + sum(value for _, _, value in points)
        rows, p = [row for row, _, _ in points], [p for _, p, _ in points]
        return base, self.slopes(residuals, columns), p, rows

    def least(
        self, kept: list[int], free: list[int], r: int, best: Fraction | float
    ) -> Fraction | float:
        for more in combinations(free, r):
            if self.is_listed([*kept, *more]):
                continue
            enough = flint.arb(best) if isinstance(best, float) else self.number(best)
            fit = self.fit(self.columns([*kept, *more]), enough)
            best = min(best, self.settled(fit.bound))
        return best

    def objective(self, chosen: list[int]) -> tuple[Fraction, Fraction | float]:
        fit, value = self.fit(chosen, flint.arb(math.inf)), self.number(0)
        value += sum(self.loss(row, l) for l, row in enumerate(fit.logits))
        for j, row in fit.V.items():
            value += self.column(j).penalty * self.number(sum(v * v for v in row)) / 2
        self.settled(value)
        high = _upper(value)
        return self.settled(fit.bound), Fraction(*_ratio(high)) if high.is_finite() else math.inf

    def fit(self, chosen: list[int], enough: Number) -> _Fit:
        """Nearly the best coefficients of a choice, unless its bound is ``enough`` already.

        A guess is mended by Newton's method in balls. A step is halved until the gap is less: the
        gap is a squared norm of the gradient, which short steps of Newton's method make shorter.
        """
        fit = self._fit(chosen, self._guess(chosen))
        for _ in range(_STEPS):
            if fit.bound >= enough or not fit.gap > fit.bound * flint.arb(2) ** -60:
                break
            step = self._newton(fit)
            for halving in range(_HALVINGS if step else 0):
                pairs = ((j, zip(fit.V[j], step[j], strict=True)) for j in chosen)
                V = {j: [v - d / 2**halving for v, d in rows] for j, rows in pairs}
                there = self._fit(chosen, V)
                if there.gap < fit.gap:
                    fit = there
                    break
            else:
                break
        return fit

    def _fit(self, chosen: list[int], V: Point) -> _Fit:
        base, slopes, p, logits = self._dual(V, chosen)
        penalties = [self.column(j).penalty for j in chosen]
        gradient, gap = [], self.number(0)
        for j, u, c in zip(chosen, slopes, penalties, strict=True):
            gradient.append([x + c * self.number(v) for x, v in zip(u, V[j], strict=True)])
            gap += sum(x * x for x in gradient[-1]) / (2 * c)
        bound = base - sum(self._scores(chosen, slopes).values())
        return _Fit(V, p, logits, gradient, bound, gap)

    def _newton(self, fit: _Fit) -> Point:
        """About a step of Newton's method; none if its equations have no solution."""
        sizes = [flint.arb(2) ** -self.column(j).size for j in fit.V]
        rows = [[x * s for x in self.column(j).z] for j, s in zip(fit.V, sizes, strict=True)]
        if self.intercept:
            rows.append([flint.arb(1)] * len(self.weights))
        step: Point = {j: [] for j in fit.V}
        for l, (logits, p) in enumerate(zip(fit.logits, fit.p, strict=True)):
            H, g = self.bend(rows, logits, p), [[flint.arb(0)] for _ in rows]
            for i, (j, s) in enumerate(zip(fit.V, sizes, strict=True)):
                H[i][i] += self.column(j).penalty * s * s
                g[i][0] = fit.gradient[i][l] * s
            try:
                solved = flint.arb_mat(H).mid().solve(flint.arb_mat(g).mid(), algorithm="approx")
            except ZeroDivisionError:
                return {}
            for i, (j, s) in enumerate(zip(fit.V, sizes, strict=True)):
                if not solved[i, 0].is_finite():
                    return {}
                step[j].append(Fraction(*_ratio(solved[i, 0] * s)))
        return step

    def _guess(self, chosen: list[int]) -> Point:
        """About the best coefficients, by Newton's method in floats."""
        shift = self.total.bit_length()
        columns = [self.column(j) for j in chosen]
        intercept = float(self.intercept)
        Z = np.array([*map(self._floats, chosen), np.full(len(self._w), intercept)]).T
        c = np.array([*(_float(x.penalty, -2 * x.size - shift) for x in columns), 1 - intercept])

        def values(V: Array) -> Array:
            return self._values(V @ Z.T) + (V * V) @ c / 2

        V = np.zeros((len(self._labels), len(c)))
        V[:, -1] = self._null() if self.intercept else 0.0
        for _ in range(_STEPS):
            gradient, H = self._derivatives(V @ Z.T, Z)
            slope, H = gradient @ Z + c * V, H + np.diag(c)
            scale = np.sqrt(np.maximum(np.einsum("lii->li", H), 1e-300))
            # The last term, far less than the others in general, is for singular matrices.
            H = H / scale[:, :, None] / scale[:, None, :] + 1e-15 * np.eye(len(c))
            try:
                step = np.linalg.solve(H, (slope / scale)[:, :, None])[:, :, 0] / scale
            except np.linalg.LinAlgError:
                break
            for _ in range(_HALVINGS):
                better = values(V - step) <= values(V) * (1 + 1e-15)
                if better.all():
                    break
                step[~better] /= 2
            V[better] -= step[better]
            if not np.abs(step @ Z.T).max(initial=0.0) > 1e-9:
                break
        rows = [
            [Fraction(v) / Fraction(2) ** column.size for v in row]
            for row, column in zip(V.T.tolist(), columns, strict=False)
        ]
        return dict(zip(chosen, rows, strict=True))

    def squares(self, rows: Rows, h: list[Number]) -> Rows:
        """Z diag(w h) Z' for rows Z."""
        scaled = [w * x for w, x in zip(self.weights, h, strict=True)]
        weighted = [[x * a for x, a in zip(row, scaled, strict=True)] for row in rows]
        return _product(weighted, _transposed(rows), balls=True)

    def _floats(self, j: int) -> Array:
        if j not in self._z:
            column = self.column(j)
            self._z[j] = np.array([_float(x, -column.size) for x in column.z])
        return self._z[j]


@dataclass(frozen=True)
class _Fit:
    """Coefficients of a choice, the p and logits of each label, and the gradient of each column.

    The gap is that of the objective at V to the bound of V: with the gradient g, it is
    sum_j ||g_j||^2 / (2 c_j).
    """

    V: Point
    p: Rows
    logits: Rows
    gradient: Rows
    bound: Number
    gap: Number


class _Logistic(_Curved):
    def proven(self, logits: list[Number], l: int) -> tuple[list[Number], list[Number], Number]:
        """Logits with an intercept, the probabilities, and the sum of their entropies."""
        if self.intercept:
            logits = self._shifted(logits, l)
        p = list(map(_logistic, logits))
        if self.intercept:
            p = self._balanced(p, self.labels[l])
        return logits, p, self.sum(list(map(_entropy, p)))

    def loss(self, logits: list[Number], l: int) -> Number:
        pairs = zip(logits, self.labels[l], strict=True)
        return self.sum([(-abs(x)).exp().log1p() + x.max(0) - t * x for x, t in pairs])

    def bend(self, rows: Rows, logits: list[Number], p: list[Number]) -> Rows:
        return self.squares(rows, [x * (1 - x) for x in p])

    def _values(self, F: Array) -> Array:
        return np.asarray(np.logaddexp(0, (1.0 - 2.0 * self._labels) * F) @ self._w)

    def _derivatives(self, F: Array, Z: Array) -> tuple[Array, Array]:
        sign = 1.0 - 2.0 * self._labels
        miss = _misses(sign * F)
        return self._w * sign * miss, Z.T @ ((self._w * miss * (1 - miss))[:, :, None] * Z)

    def _shifted(self, logits: list[Number], l: int) -> list[Number]:
        """Logits with about the intercept that makes the sum of p that of the labels."""
        at = self._intercept(np.array([_float(x) for x in logits]), self._labels[l])
        logits, target = [x + at for x in logits], self.sum(self.labels[l])
        # Newton's method, because the guess has the accuracy of floats only.
        for _ in range(_BALANCING):
            p = list(map(_logistic, logits))
            off = target - self.sum(p)
            step = off / self.sum([x * (1 - x) for x in p])
            if off.contains(0) or not step.is_finite():
                break
            logits = [x + step.mid() for x in logits]
        return logits

    def _balanced(self, p: list[Number], labels: list[Number]) -> list[Number]:
        """These p mixed with a constant, so that their sum is exactly that of the labels.

        (1 - e) p + e a has the right sum for a = (sum w t - (1 - e) sum w p) / (e sum w).
        """
        target, found = self.sum(labels), self.sum(p)
        least = (2 * abs(target - found) / min(target, self.total - target)).upper()
        for share in (max(least, flint.arb(2) ** -flint.ctx.prec), flint.arb(1)):
            constant = (target - (1 - share) * found) / (share * self.total)
            if share <= 1 and constant >= 0 and constant <= 1:
                break
        return [(1 - share) * x + share * constant for x in p]

    def _intercept(self, logits: Array, labels: Array) -> float:
        """About the intercept for which the weighted mean of p is that of the labels."""
        sign, mean = 1.0 - 2.0 * labels, self._w @ labels / self._w.sum()
        middle = math.log(mean / (1 - mean)) if 0 < mean < 1 else 0.0
        low, high = middle - logits.max(), middle - logits.min()
        at = low + (high - low) / 2
        for _ in range(100):
            miss = _misses(sign * (logits + at))
            off = self._w @ (sign * miss)
            low, high = (low, at) if off > 0 else (at, high)
            step = off / (self._w @ (miss * (1 - miss)))
            if not abs(step) > 1e-15 * max(abs(at), 1.0):
                break
            at = at - step if low < at - step < high else low + (high - low) / 2
        return float(at) if math.isfinite(at) else 0.0


class _Poisson(_Curved):
    def proven(self, logits: list[Number], l: int) -> tuple[list[Number], list[Number], Number]:
        """The logarithms of means, with an intercept that makes their sum right, and the means.

        Both are balls around numbers for which it is exactly right.
        """
        if self.intercept:
            target, found = self.sum(self.labels[l]), self.sum([x.exp() for x in logits])
            at = (target / found).log()
            logits = [x + at for x in logits]
        means = [x.exp() for x in logits]
        pairs = zip(means, logits, strict=True)
        return logits, means, self.sum([v - v * x for v, x in pairs]) + self._own(l)

    def loss(self, logits: list[Number], l: int) -> Number:
        pairs = zip(logits, self.labels[l], strict=True)
        return self.sum([x.exp() - t * x for x, t in pairs]) + self._own(l)

    def bend(self, rows: Rows, logits: list[Number], p: list[Number]) -> Rows:
        return self.squares(rows, p)

    def _own(self, l: int) -> Number:
        """The sum of t log t - t."""
        return self.sum([t * t.log() - t if t > 0 else t for t in self.labels[l]])

    def _values(self, F: Array) -> Array:
        positive = self._labels > 0
        x = F - np.log(np.where(positive, self._labels, 1.0))
        return np.where(positive, self._labels * (np.expm1(x) - x), np.exp(x)) @ self._w

    def _derivatives(self, F: Array, Z: Array) -> tuple[Array, Array]:
        means = np.exp(F)
        return self._w * (means - self._labels), Z.T @ ((self._w * means)[:, :, None] * Z)

    def _null(self) -> Array:
        return np.log(self._labels @ self._w / self._w.sum())


class _Cox(_Curved):
    """The labels are 1 for events; w p is the sum of d times the share in the risk of each event.

    Its events are tuples: how many samples are at risk, of those sorted by time, the latest first,
    and the weight d of the events at that time.
    """

    def _targets(self, labels: Array) -> Array:
        events, times = labels.T.tolist()
        self._order = sorted(range(len(times)), key=lambda i: -times[i])
        deaths: dict[float, list[int]] = {}
        for i in self._order:
            if events[i]:
                deaths.setdefault(times[i], []).append(i)
        at_risk = {time: sum(other >= time for other in times) for time in deaths}
        self._events = [(at_risk[t], sum(self.weights[i] for i in deaths[t])) for t in deaths]
        matters = any(len(deaths[time]) < at_risk[time] for time in deaths)
        return labels[:, :1] if matters else labels[:, :0]

    def _sums(self, values: Any) -> list[Any]:
        """The sums over those at risk at each event."""
        sums, total, done = [], 0 * values[0], 0
        for end, _ in self._events:
            for i in self._order[done:end]:
                total = total + values[i]
            sums.append(total)
            done = end
        return sums

    def _shared(self, rates: Any) -> list[Any]:
        """For each sample, the sum of a number of each event at which it was at risk."""
        found: list[Any] = [0 * rates[0]] * len(self._order)
        total, begin = 0 * rates[0], [0, *(end for end, _ in self._events)]
        for t in reversed(range(len(self._events))):
            total = total + rates[t]
            for i in self._order[begin[t] : begin[t + 1]]:
                found[i] = total
        return found

    def _risks(self, logits: list[Number]) -> tuple[list[Number], list[Number]]:
        """w exp(logit), and its sums over those at risk."""
        sizes = [w * x.exp() for w, x in zip(self.weights, logits, strict=True)]
        return sizes, self._sums(sizes)

    def proven(self, logits: list[Number], l: int) -> tuple[list[Number], list[Number], Number]:
        """The predictions, p, and what the shares of these predictions prove."""
        sums = self._risks(logits)[1]
        rates = [d / total for (_, d), total in zip(self._events, sums, strict=True)]
        pairs = zip(self._shared(rates), logits, strict=True)
        p = [rate * x.exp() for rate, x in pairs]
        moved = self.sum([x * y for x, y in zip(p, logits, strict=True)])
        return logits, p, self._logs(sums) - moved

    def _logs(self, sums: list[Number]) -> Number:
        pairs = zip(self._events, sums, strict=True)
        return self.number(0) + sum(d * (total / d).log() for (_, d), total in pairs)

    def loss(self, logits: list[Number], l: int) -> Number:
        moved = self.sum([t * x for t, x in zip(self.labels[l], logits, strict=True)])
        return self._logs(self._risks(logits)[1]) - moved

    def bend(self, rows: Rows, logits: list[Number], p: list[Number]) -> Rows:
        H, (sizes, sums) = self.squares(rows, p), self._risks(logits)
        weighted = [[x * a for x, a in zip(row, sizes, strict=True)] for row in rows]
        means = [
            [x / total for x, total in zip(self._sums(row), sums, strict=True)] for row in weighted
        ]
        scaled = [[d * x for (_, d), x in zip(self._events, row, strict=True)] for row in means]
        outer = _product(scaled, _transposed(means), balls=True)
        pairs = zip(H, outer, strict=True)
        return [[x - y for x, y in zip(*both, strict=True)] for both in pairs]

    def _float_risks(self, F: Array) -> tuple[Array, Array, Array]:
        """In floats: w exp(f) up to a factor, its sums over those at risk, and the weights d."""
        sizes = self._w * np.exp(F - F.max(axis=-1, keepdims=True))
        d = np.array([_float(d, -self.total.bit_length()) for _, d in self._events])
        return sizes, np.array(self._sums(sizes.T)).T, d

    def _values(self, F: Array) -> Array:
        _, sums, d = self._float_risks(F)
        return np.log(sums / d) @ d - ((F - F.max(axis=-1, keepdims=True)) * self._labels) @ self._w

    def _derivatives(self, F: Array, Z: Array) -> tuple[Array, Array]:
        sizes, sums, d = self._float_risks(F)
        expected = sizes * np.array(self._shared((d / sums).T)).T
        weighted = (sizes[:, :, None] * Z).swapaxes(0, 1)
        means = np.array(self._sums(weighted)).swapaxes(0, 1) / sums[:, :, None]
        H = Z.T @ (expected[:, :, None] * Z) - (means * d[:, None]).swapaxes(1, 2) @ means
        return expected - self._w * self._labels, H


_LOSSES: dict[str, type[_Squared | _Curved]] = {
    "squared": _Squared,
    "logistic": _Logistic,
    "poisson": _Poisson,
    "cox": _Cox,
}


def _misses(x: Array) -> Array:
    """1 / (1 + exp(-x)), accurate where it is small."""
    return np.asarray(np.exp(-np.logaddexp(0, -x)))


def _logistic(x: Number) -> Number:
    """1 / (1 + exp(-x)); a ball that has 0 or 1 as an end where it is next to it."""
    if abs(x) > 1000:
        near = flint.arb(2.0**-1001, 2.0**-1001)
        return near if x < 0 else 1 - near
    p = 1 / (1 + (-x).exp())
    return p if p.is_finite() else flint.arb(0.5, 0.5)


def _entropy(p: Number) -> Number:
    """-p log p - (1 - p) log(1 - p), or 0, which is less, for p that may be 0 or 1."""
    return -p * p.log() - (1 - p) * (1 - p).log() if p > 0 and p < 1 else flint.arb(0)
