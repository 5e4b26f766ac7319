"""A diagonal matrix D below X'X + ridge I that replaces the ridge and tightens bounds.

With D <= X'X + ridge I, the best-k-features problem is the same with X'X + ridge I - D instead of
X'X and D_j instead of the ridge for feature j (Dong, Chen & Linderoth 2015), and a larger D makes
its relaxation tighter. The value of the relaxation,

    g(D) = min over s, W of ||Y||^2 - 2 <B, W> + <W, (A - D) W> + sum_j D_j ||w_j||^2 / s_j

with A = X'X + ridge I, is concave in D, with the gradient s_j (1 - s_j) ||u_j||^2 / D_j^2. Here
g(D) + mu (log det(A - D) + log det(D - floor)) is raised by Newton steps while mu falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from rowsparse._arrays import Array
from rowsparse._deadline import Deadline
from rowsparse.solvers.choices import Choices
from rowsparse.solvers.proof.relaxation import GramRelaxation

# The most features for which a general D is computed.
_MAX_GENERAL = 150
# Accuracy of a relaxation, relative to ||Y||^2, and of an eigenvalue, relative to itself.
_TOL, _EIGENVALUE_TOL = 1e-5, 1e-4
# Weights of the barrier, relative to the gradient of g, Newton steps with each, and tries of a
# step length.
_WEIGHTS, _STEPS, _TRIES = (3.0, 1.0, 0.3, 0.1, 0.03), 6, 6
# Steps to the maximum of the barrier, and the gain relative to ||Y||^2 below which the weight is
# lowered.
_CENTRING_STEPS, _MIN_GAIN = 30, 3e-5
# What a multiple of I must add to the ridge, as a share of it, and which share of the gap a
# general D must close.
_MIN_INCREASE, _MIN_CLOSED = 1e-3, 1 / 3
# Nodes per feature that take about as long as the search for a general D.
_NODES_PER_FEATURE = 2
# No D_j is less than this share of the largest multiple of I.
_FLOOR = 0.1
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class _RootRelaxation:
    """The relaxation of the whole problem for one D: its value, its s, and the gradient of g."""

    value: float
    s: Array
    gradient: Array


class Products(Protocol):
    """A problem by products of columns.

    :class:`~rowsparse.solvers.proof.gram_candidates.GramCandidates` is one.
    """

    choices: Choices
    B: Array
    total: float
    ridge: float
    rounding: float
    n_samples: int

    @property
    def gram(self) -> Array | None:
        """X'X of all columns, if it is kept."""


def uniform_diagonal(problem: Products) -> Array | None:
    """The largest multiple of I below A, or None if it is hardly larger than the ridge."""
    search = _DiagonalSearch.from_products(problem, problem.choices.n_columns)
    return None if search is None else search.uniform()


def nodes_before_climbing(problem: Products) -> float:
    """How many nodes of branch and bound to expand before searching for a general D."""
    m, most = problem.choices.n_columns, min(_MAX_GENERAL, problem.n_samples - 1)
    return _NODES_PER_FEATURE * m if problem.gram is not None and m <= most else np.inf


def best_diagonal(
    problem: Products, known: Array | None, objective: float, deadline: Deadline
) -> Array | None:
    """A D that closes enough of the gap that the known one (None: the ridge) leaves, or None."""
    search = _DiagonalSearch.from_products(problem, _MAX_GENERAL)
    return None if search is None or deadline.expired() else search.best(known, objective, deadline)


class _DiagonalSearch:
    """The search for D, in units in which A = X'X + ridge I has ones on its diagonal.

    For the D it returns, X'X + ridge I - D is positive semi-definite by more than rounding errors.
    """

    def __init__(self, problem: Products, gram: Array) -> None:
        self.problem, choices = problem, problem.choices
        m, size = len(gram), gram.diagonal() + problem.ridge
        self.unit = 1.0 / np.sqrt(size)
        self.A = gram * self.unit * self.unit[:, None]
        self.A.flat[:: m + 1] = 1.0
        # Four times what rounding may do here: a checker scales the columns in its own way.
        self.rounding = 4.0 * m * (problem.rounding + 8.0 * (m + 2) * _EPS)
        n_units, chosen = choices.n_units, choices.fixed
        # Units that are fixed come first, and their columns.
        units = np.concatenate([chosen, np.setdiff1d(np.arange(n_units), chosen)])
        self.order, self.owner = choices.columns(units), choices.owner_among(units)
        self.start = np.full(n_units, choices.n_free / max(n_units - chosen.size, 1))
        self.start[: chosen.size] = 1.0
        own = gram.copy()
        own.flat[:: m + 1] += problem.ridge
        least = _least_eigenvalue(own) - 2.0 * self.rounding * float(size.max())
        self.multiple = self._safe(least * self.unit**2)
        # A small D_j would help at the root, but hurt further down the tree.
        self.floor = np.zeros(m) if self.multiple is None else _FLOOR * self.multiple

    @classmethod
    def from_products(cls, problem: Products, most: int) -> _DiagonalSearch | None:
        """None if there are too few samples or too many columns, or nothing to choose."""
        choices, gram = problem.choices, problem.gram
        if gram is None or choices.n_columns > min(most, problem.n_samples - 1):
            return None
        if not 0 < choices.n_free < choices.n_units - choices.fixed.size:
            return None
        if not np.all(gram.diagonal() + problem.ridge > 0):
            return None
        search = cls(problem, gram)
        return None if search.multiple is None else search

    def uniform(self) -> Array | None:
        """The multiple of I, or None if it is hardly larger than the ridge."""
        assert self.multiple is not None
        own = self.multiple / self.unit**2
        return own if own[0] > (1.0 + _MIN_INCREASE) * self.problem.ridge else None

    def best(self, known: Array | None, objective: float, deadline: Deadline) -> Array | None:
        """The D at the end of the barrier method, if it closes enough of the gap."""
        assert self.multiple is not None
        D = np.full(len(self.A), self.problem.ridge) if known is None else known
        root = self._root(D * self.unit**2, self.start)
        start = 0.5 * (1.0 + _FLOOR) * self.multiple
        climbed = self._safe(self._climb(start, root.s, deadline))
        if climbed is None:
            return None
        better = self._root(climbed, root.s).value
        min_gain = _MIN_CLOSED * (objective - root.value)
        return climbed / self.unit**2 if better > root.value + min_gain else None

    def _less(self, D: Array) -> Array:
        """A - D."""
        rest = self.A.copy()
        rest.flat[:: len(rest) + 1] -= D
        return rest

    def _root(self, D: Array, start: Array) -> _RootRelaxation:
        scale = self.unit / np.sqrt(D)
        G = self._less(D)
        G /= np.sqrt(D)
        G /= np.sqrt(D)[:, None]
        order, total = self.order, self.problem.total
        B = (self.problem.B * scale[:, None])[order]
        k, n_fixed = self.problem.choices.k, self.problem.choices.fixed.size
        G = G[np.ix_(order, order)]
        relaxation = GramRelaxation(G, B, total, k, 1.0, n_fixed, self.owner)
        point, value = relaxation.solve_by_barrier(start, tol=_TOL * total)
        gradient, s = np.empty(len(G)), relaxation.spread(point.s)
        gradient[order] = s * (1.0 - s) * relaxation.scores(point.u)
        return _RootRelaxation(value, point.s, gradient / D)

    def _climb(self, D: Array, s: Array, deadline: Deadline) -> Array:
        D = self._centre(D)
        root = self._root(D, s)
        for weight in _WEIGHTS:
            mu = weight * float(root.gradient @ D) / len(D)
            for _ in range(_STEPS):
                moved = None if deadline.expired() else self._step(D, root, mu)
                if moved is None:
                    break
                gained = moved[1].value - root.value
                D, root = moved
                if abs(gained) < _MIN_GAIN * self.problem.total:
                    break
        return D

    def _centre(self, D: Array) -> Array:
        """The D with the largest barrier, or near it."""
        nothing = np.zeros_like(D)
        for _ in range(_CENTRING_STEPS):
            direction = self._direction(D, nothing, 1.0)
            barrier, step = self._barrier(D), 1.0
            while step > 1e-3 and not self._barrier(D + step * direction) > barrier:
                step *= 0.4
            if step <= 1e-3:
                break
            D = D + step * direction
        return D

    def _direction(self, D: Array, gradient: Array, mu: float) -> Array:
        """The Newton direction for g(D), whose gradient is given, plus mu times the barrier."""
        inverse = np.linalg.inv(self._less(D))
        above = D - self.floor
        slope = gradient + mu * (1.0 / above - inverse.diagonal())
        # Of the curvature of g, the part that comes from 1 / D_j^2 alone.
        curvature = mu * inverse * inverse
        curvature.flat[:: len(D) + 1] += 2.0 * gradient / D + mu / above**2
        return np.asarray(np.linalg.solve(curvature, slope))

    def _step(
        self, D: Array, root: _RootRelaxation, mu: float
    ) -> tuple[Array, _RootRelaxation] | None:
        """A Newton step, shortened until it gains; None if it does not."""
        direction = self._direction(D, root.gradient, mu)
        now = root.value + mu * self._barrier(D)
        step = 1.0
        for _ in range(_TRIES):
            trial = D + step * direction
            barrier = self._barrier(trial)
            if np.isfinite(barrier):
                other = self._root(trial, root.s)
                if other.value + mu * barrier > now:
                    return trial, other
            step *= 0.4
        return None

    def _barrier(self, D: Array) -> float:
        """log det(A - D) + log det(D - floor); -inf unless both are positive definite."""
        if not np.all(self.floor < D):
            return -np.inf
        try:
            factor = np.linalg.cholesky(self._less(D))
        except np.linalg.LinAlgError:
            return -np.inf
        return float(2.0 * np.log(factor.diagonal()).sum() + np.log(D - self.floor).sum())

    def _is_below(self, D: Array) -> bool:
        """Whether A - D is positive definite, as far as floating point can tell."""
        try:
            np.linalg.cholesky(self._less(D))
        except np.linalg.LinAlgError:
            return False
        return True

    def _safe(self, D: Array) -> Array | None:
        """D, made less until A - D is positive definite by more than rounding errors."""
        for _ in range(_TRIES):
            if D.min() > 0.0 and self._is_below(D + 2.0 * self.rounding):
                return D
            D = 0.9 * D
        return None


def _least_eigenvalue(A: Array) -> float:
    """The least eigenvalue, or a little less, as Lanczos steps find it; A is overwritten.

    They are steps with the inverse of A, and take much less time than all eigenvalues. What they
    find is no proof: a Cholesky factor decides whether a multiple of I is below A.
    """
    try:
        factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return 0.0
    inverse = LinearOperator(
        A.shape, lambda v: cho_solve(factor, v, check_finite=False), dtype=float
    )
    start = np.random.default_rng(0).standard_normal(len(A))
    try:
        found = eigsh(
            inverse, 1, which="LA", v0=start, tol=_EIGENVALUE_TOL, return_eigenvectors=False
        )
    except ArpackError:
        return 0.0
    return float(1.0 / ((1.0 + _EIGENVALUE_TOL) * found[0]))
