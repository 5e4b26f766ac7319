"""The data of a proof: the user's table, and the same centred and scaled with its rounding errors.

The statement is about exact arithmetic on the numbers of the table. In terms of the columns x_j,
with weights omega_i of the samples (sample weights times class weights) and their means m_j,

    f(S) = min_{V, b} sum_i omega_i loss(y_i, b + sum_{j in S} (x_ij - m_j) v_j)
                      + factor alpha sum_{j in S} p_j ||v_j||^2

with p_j = sum_i omega_i (x_ij - m_j)^2 if columns are standardised and sum_i omega_i if not, and
factor 1 for the squared loss, 1/2 for the logistic. A column whose standard deviation is at most
10 eps times its largest modulus, or at most the least normal float, counts as constant: x_j - m_j
is zero. Columns that are not centred (no standardisation and no intercept) have m_j = 0 and are
constant only if they are zero. With ``clip``, x_j is replaced first by x_j within m_j -/+ clip
standard deviations, unless it is constant. Samples of weight zero do not exist.

Every term is non-negative. So weights and penalties that are off by a share delta move every
f(S) by at most that share, and a bound is multiplied by 1 - delta. That covers the rounding of
weights, scales and ridge. What else rounding does is an error of the columns: see ``Scaled``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array, Index, Mask, to_host
from rowsparse.certificate.proof import Proof, Statement, does_not_hold

EPS = float(np.finfo(np.float64).eps)
_TINY, _HUGE = float(np.finfo(np.float64).tiny), 1e300
# Spread, as a share of the largest modulus, up to which a column is constant.
_CONSTANT = 10 * EPS
# Columns this close to that limit, as a share of it, are not told apart from constant ones.
_CLOSE = 1e-6
# Share of the weights below which products lose their digits.
_LEAST_SHARE = 1e-250
# With more classes than that, and than columns, this is the most entries of their columns.
_MANY_CLASSES, _MOST_LABELS = 1000, 1 << 24
# Entries that are hashed at a time.
_HASH_ENTRIES = 1 << 20


# ---------------------------------------------------------------------------------- the table
@dataclass(frozen=True)
class Table:
    """The samples of positive weight.

    Attributes
    ----------
    X : array of shape (n, d)
        Dense; as they are, without ``clip``.
    labels : array of shape (n, c)
        A column of 0 and 1 for each class or label, or the numbers; of survival times a column of
        events and one of times.
    weights : array of shape (n,)
        Sample weights.
    class_weight : array of shape (c,) or None
        What they are multiplied by; "balanced" is left to the checkers, because it is rounded.
    """

    statement: Statement
    X: Array
    labels: Array
    weights: Array
    class_weight: Any

    @classmethod
    def from_arrays(cls, X: Any, y: Any, sample_weight: Any, proof: Proof) -> Table:
        """Read the data of a proof, and refuse other data than it is about."""
        statement = proof.statement
        statement.check()
        X = _matrix(X)
        n, d = X.shape
        if d != statement.n_features:
            raise ValueError(
                f"X has {d} columns, but the proof is about {statement.n_features} columns."
            )
        weights = np.ones(n) if sample_weight is None else np.asarray(to_host(sample_weight), float)
        y = np.asarray(y.toarray() if sp.issparse(y) else to_host(y))
        if weights.shape != (n,) or y.shape[:1] != (n,):
            raise ValueError(f"X has {n} rows, and y or sample_weight has another number of them.")
        if not np.all((weights >= 0) & (weights < np.inf)) or not weights.any():
            raise ValueError("sample_weight must hold finite weights of at least 0, not all 0.")
        kept = weights > 0
        labels = _encoded(y[kept], statement.task, d)
        if not np.isfinite(X).all() or not np.isfinite(labels).all():
            raise ValueError("X and y must hold finite numbers.")
        X, weights = X[kept], weights[kept]
        if proof.data is not None:
            _compare(proof.data, data_hash(X, labels, weights), d)
        per_class = statement.class_weight
        if isinstance(per_class, list):
            if len(per_class) != labels.shape[1]:
                raise does_not_hold("it has a weight for each of another number of classes")
            per_class = np.array(per_class, dtype=np.float64)
        return cls(statement, X, labels, weights, per_class)

    @property
    def allowed(self) -> Index:
        """The columns that are not excluded, and not in a group with one that is."""
        statement = self.statement
        barred = statement.columns_of(statement.units_of(statement.exclude))
        return np.setdiff1d(np.arange(self.X.shape[1]), barred)

    @property
    def is_reduced(self) -> bool:
        """Whether constant columns and copies add nothing and are no part of the pool."""
        about = self.statement
        return about.loss == "squared" and about.alpha == 0 and about.feature_groups is None

    @cached_property
    def scaled(self) -> Scaled:
        """The columns centred and scaled."""
        return Scaled.from_table(self)

    @cached_property
    def kinds(self) -> Index:
        """For each unit, the first that it is a copy of, of those included first; -1 if constant.

        Groups are no copies.
        """
        about = self.statement
        if about.feature_groups is not None:
            return np.arange(about.n_units)
        include = np.array(about.include, dtype=np.intp)
        order = np.concatenate([include, np.setdiff1d(self.allowed, include)])
        same_scale = about.alpha > 0 and not about.standardize
        return representatives(self.X, self.scaled.constant, order, same_scale=same_scale)


def _matrix(X: Any) -> Array:
    X = to_host(X)
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions; it has the shape {X.shape}.")
    return X


def _encoded(y: Array, task: str, d: int) -> Array:
    """A column of 0 and 1 for each class or label, or the numbers, beside d columns."""
    if task == "classification":
        try:
            classes = np.unique(y.ravel())
        except TypeError:
            raise ValueError("y must hold class labels of one kind.") from None
        if y.ndim > 2 or y.size != len(y) or classes.size < 2:
            raise ValueError("y must be one column of at least two classes.")
        if classes.size > max(_MANY_CLASSES, d) and y.size * classes.size > _MOST_LABELS:
            raise ValueError(f"y has {classes.size:,} values: too many for classes.")
        labels = y.reshape(-1, 1) == classes
        if not labels.any(axis=1).all():
            raise ValueError("y must hold class labels, none of them missing.")
        return np.asarray(labels, dtype=np.float64)
    try:
        names = y.dtype.names
        numbers = y if names is None else np.column_stack([y[name] for name in names])
        numbers = numbers.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("y must hold numbers, which the proof is about.") from None
    numbers = numbers[:, None] if numbers.ndim == 1 else numbers
    if numbers.ndim != 2 or (task == "multilabel" and not np.isin(numbers, (0.0, 1.0)).all()):
        raise ValueError(f"y does not hold targets for {task}, which the proof is about.")
    if task == "counts" and not numbers.min() >= 0:
        raise ValueError("y must hold counts, of at least 0, which the proof is about.")
    if task == "survival" and not _are_times(numbers):
        raise ValueError("y must hold events and times of survival, which the proof is about.")
    return numbers


def _are_times(numbers: Array) -> bool:
    """Whether there is a column of events, 0 or 1 and not all 0, and one of positive times."""
    if numbers.shape[1] != 2:
        return False
    events, times = numbers.T
    return bool(np.isin(events, (0.0, 1.0)).all() and events.any() and np.all(times > 0))


# ----------------------------------------------------------------------------------- the hash
def data_hash(X: Any, labels: Array, weights: Array | None) -> Array:
    """Which data these are: numbers of 64 bits, the same for any order of the rows.

    One for each column of [X, labels, weights], the sum over its entries a of h(bits(a)) modulo
    2^64, and one for the rows, the sum over them of h(sum_j (2 h(j) + 1) h(bits(a_j))), j from 1. h
    is the finaliser of SplitMix64, and bits(a) are those of the float64, 0 for both zeros. Targets
    below 2^-1000 of the largest count as 0, so that a change of unit does not matter. Rows of
    weight 0 are left out by the caller; no weights are weights of 1.
    """
    n = len(labels)
    weights = np.ones(n) if weights is None else weights
    least = np.ldexp(np.abs(labels).max(initial=0.0), -1000)
    beside = np.column_stack([np.where(np.abs(labels) < least, 0.0, labels), weights])
    d = X.shape[1]
    factor = 2 * _mixed(np.arange(1, d + beside.shape[1] + 1, dtype=np.uint64)) + np.uint64(1)
    H = _mixed(_bits(beside))
    columns, rows = np.zeros(d, dtype=np.uint64), H @ factor[d:]
    step = max(1, _HASH_ENTRIES // max(d, 1))
    if sp.issparse(X):
        X = sp.csr_array(X, copy=True)
        X.sum_duplicates()
    for start in range(0, n, step):
        part = X[start : min(start + step, n), :]
        if sp.issparse(part):
            terms = _mixed(_bits(part.data))
            np.add.at(columns, part.indices, terms)
            row = np.repeat(np.arange(start, start + part.shape[0]), np.diff(part.indptr))
            np.add.at(rows, row, terms * factor[part.indices])
        else:
            terms = _mixed(_bits(part))
            columns += terms.sum(axis=0, dtype=np.uint64)
            rows[start : start + step] += terms @ factor[:d]
    total = _mixed(rows).sum(keepdims=True, dtype=np.uint64)
    return np.concatenate([columns, H.sum(axis=0, dtype=np.uint64), total])


def _mixed(z: Array) -> Array:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def _bits(values: Any) -> Array:
    # Adding 0 turns negative zeros into positive ones.
    return (np.asarray(to_host(values), dtype=np.float64) + 0.0).view(np.uint64)


def _compare(known: Array, found: Array, d: int) -> None:
    """Refuse data with another hash, by name of the difference."""
    if known.shape != found.shape or known.dtype != np.uint64:
        raise does_not_hold("its hash is not that of such a table")
    differs = known != found
    columns = np.flatnonzero(differs[:d]).tolist()
    if not differs.any():
        return
    if columns:
        shown = ", ".join(map(str, columns[:5])) + (", ..." if len(columns) > 5 else "")
        many = len(columns) > 1
        what = f"columns {shown} of X differ" if many else f"column {shown} of X differs"
    elif differs[:-1].any():
        what = "y differs" if differs[:-2].any() else "sample_weight differs"
    else:
        what = "its rows go together in another way"
    raise OtherDataError(f"the proof is about other data: {what}.", columns)


class OtherDataError(ValueError):
    """A proof is about other data than it is checked against; ``columns`` of X differ."""

    def __init__(self, message: str, columns: list[int]) -> None:
        super().__init__(message)
        self.columns = columns


# ------------------------------------------------------------------------------ scaled columns
@dataclass(frozen=True)
class Scaled:
    """Centred columns of unit root mean square, and what rounding did to them.

    With the shares sigma_i of the weights, f(S) is their sum times

        min_{W, b} sum_i sigma_i loss(y_i, b + z_i W) + factor sum_{j in S} c_j ||w_j||^2.

    Z holds sqrt(sigma_i) z_ij, so its columns have the norm 1, or 0 for constant ones.

    Attributes
    ----------
    Z : array of shape (n, d)
        All columns.
    penalty : array of shape (d,)
        c_j.
    unit : array of shape (d,)
        By which coefficients of the columns of X are multiplied to make W.
    share : array of shape (n,)
        sigma_i.
    weight, exponent : float, int
        The sum of the weights is weight 2^exponent.
    error : float
        The columns of Z are off by at most this, in norm.
    trust : float
        1 - delta: what a bound is multiplied by for the rounding of weights, scales and ridge.
    """

    Z: Array
    penalty: Array
    unit: Array
    share: Array
    weight: float
    exponent: int
    error: float
    trust: float

    @classmethod
    def from_table(cls, table: Table) -> Scaled:
        """The columns of a table."""
        statement, (n, d) = table.statement, table.X.shape
        weights, exponent = _weights(table)
        weight = float(weights.sum())
        share = weights / weight
        columns = _centred(table.X, share, centre=statement.standardize or statement.fit_intercept)
        if statement.clip is not None:
            columns = _clipped(columns, share, statement.clip)
        varies = ~columns.constant
        norm = np.where(varies, columns.norm, 1.0)
        Z = np.where(varies, columns.values, 0.0) / norm * np.sqrt(share)[:, None]
        unit = np.where(varies, np.ldexp(norm, columns.exponent), 1.0)
        penalty = np.full(d, float(statement.alpha))
        if not statement.standardize:
            # A smaller penalty lowers every objective: it may be rounded down, not up.
            digits, places = np.frexp(penalty)
            places -= 2 * np.where(varies, columns.exponent, 0)
            penalty = np.minimum(np.ldexp(digits / norm**2, places), _HUGE)
            penalty[penalty < _TINY] = 0.0
        error = float((columns.error / norm)[varies].max(initial=0.0)) + 2.0 * (n + 8) * EPS
        if columns.is_close or not share.min() >= _LEAST_SHARE:
            error = np.inf
        return cls(Z, penalty, unit, share, weight, exponent, error, 1.0 - 8.0 * error)

    @property
    def constant(self) -> Mask:
        """The columns that count as constant."""
        return np.asarray(~self.Z.any(axis=0))


@dataclass(frozen=True)
class _Centred:
    """Columns divided by 2^exponent and centred, with norms weighted by the shares.

    Attributes
    ----------
    values, exponent, norm : arrays
        The columns, and their weighted norms.
    error : array
        What they are off by, in norm: x - c is computed for a c that is a float, by two
        subtractions, each off by half an eps of its result; and c differs from the exact mean by
        the mean of x - c, which is computed too, and off by (n + 8) eps of the norm.
    constant : array of bool
        The columns that count as constant.
    is_close : bool
        Whether a column is too close to the limit for that to be sure.
    """

    values: Array
    exponent: Any
    norm: Array
    error: Array
    constant: Mask
    is_close: bool = False


def _centred(X: Array, share: Array, *, centre: bool) -> _Centred:
    n = len(X)
    exponent = np.frexp(np.abs(X).max(axis=0))[1]
    first = values = np.ldexp(X, -exponent)
    largest = np.abs(values).max(axis=0)
    if centre:
        # Twice, because with large means the rounding error of the first is not negligible.
        first = values - share @ values
        values = first - share @ first
    norm = np.sqrt(share @ values**2)
    error = EPS * (np.sqrt(share @ first**2) + norm) + (n + 8) * EPS * norm
    if not centre:
        return _Centred(values, exponent, norm, error, norm == 0.0)
    error += np.abs(share @ values)
    limit = np.maximum(_CONSTANT * largest, np.ldexp(_TINY, -exponent))
    constant = norm <= limit
    is_close = bool(np.any(np.abs(norm - limit) <= _CLOSE * limit))
    return _Centred(values, exponent, norm, error, constant, is_close)


def _clipped(columns: _Centred, share: Array, clip: float) -> _Centred:
    """The columns within ``clip`` norms of 0, centred again.

    Moving values into an interval makes errors no larger; its ends are off by those of the norm.
    """
    reach = np.where(columns.constant, np.inf, clip * columns.norm)
    again = _centred(np.clip(columns.values, -reach, reach), share, centre=True)
    error = columns.error + np.where(columns.constant, 0.0, reach) * (len(share) + 8) * EPS
    values, norm, more = (
        np.ldexp(part, again.exponent) for part in (again.values, again.norm, again.error)
    )
    return replace(columns, values=values, norm=norm, error=error + more)


def _weights(table: Table) -> tuple[Array, int]:
    """Sample weights times class weights, divided by 2^exponent, and that exponent.

    The largest of both are below 1: a weight that is subnormal then is hardly any.
    """
    weights, exponent = _below_one(table.weights)
    per_class = table.class_weight
    if per_class is None:
        return weights, exponent
    if isinstance(per_class, str):
        counts = weights @ table.labels
        per_class = counts.sum() / (counts.size * counts)
    per_class, power = _below_one(per_class)
    return weights * (table.labels @ per_class), exponent + power


def _below_one(values: Array) -> tuple[Array, int]:
    """Values divided by the power of two next above the largest modulus, and its exponent."""
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return np.ldexp(values, -exponent), exponent


def centred_targets(labels: Array, share: Array, *, centre: bool) -> tuple[Array, float, int]:
    """sqrt(sigma) (Y - mean) / 2^exponent, its error in norm, and the exponent.

    Targets that are constant become zero.
    """
    scaled, exponent = _below_one(labels)
    columns = _centred(scaled, share, centre=centre)
    Y = np.ldexp(columns.values, columns.exponent)
    error = np.ldexp(columns.error, columns.exponent)
    if centre:
        constant = np.all(labels[:1] == labels, axis=0)
        Y[:, constant], error[constant] = 0.0, 0.0
    Y *= np.sqrt(share)[:, None]
    return Y, float(np.linalg.norm(error)) + 4.0 * EPS * float(np.linalg.norm(Y)), exponent


def representatives(X: Array, constant: Mask, order: Index, *, same_scale: bool = False) -> Index:
    """For each column, the first of ``order`` that it is a copy of; -1 for constant columns.

    Copies are equal up to sign and, without ``same_scale``, a power of two. Without a ridge,
    constant columns and copies add nothing to a least squares fit.
    """
    mantissa, exponent = np.frexp(X)
    first: dict[bytes, int] = {}
    stands = np.full(X.shape[1], -1)
    for j in order[~constant[order]].tolist():
        at = int(np.argmax(mantissa[:, j] != 0))
        # No negative zeros: they would not be equal as bytes.
        digits = mantissa[:, j] * np.sign(mantissa[at, j]) + 0.0
        unit = 0 if same_scale else exponent[at, j]
        power = np.where(digits != 0, exponent[:, j] - unit, 0)
        stands[j] = first.setdefault(digits.tobytes() + power.tobytes(), j)
    return stands
