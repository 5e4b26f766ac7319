"""Verification of a proof, step by step, in plain NumPy and without any code of the solvers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from os import PathLike
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.certificate.data import Data
from rowsparse.certificate.proof import Proof
from rowsparse.certificate.steps import Dual, Kind, Step
from rowsparse.design import direction_key

_EPS = float(np.finfo(np.float64).eps)
# Entries of the columns of the choices that are tried together.
_BATCH_ENTRIES = 1 << 20
# Singular value of columns of unit norm from which on they count as independent.
_INDEPENDENT = 1e-12


def verify(
    X: Any, y: Any, proof: Proof | str | PathLike[str] | Any, sample_weight: Any = None
) -> float:
    """Check a proof of :class:`rowsparse.TopK` and return the bound that follows from it.

    With Z the standardised data, Y the centred targets, and u = Z'(Y - ZW), every choice of k
    features has an objective of at least

        ||Y||^2 - ||ZW||^2 - (the sum of the k largest ||u_j||^2 / ridge)

    for any W. A proof divides the choices into sets, each with a W for which this bound, over
    the features that the set allows, is high enough. Here the bounds are recomputed from the
    data and lowered by their possible rounding error. No result of the search is used, and no
    choice is left out, because the sets are made by splitting larger ones.

    X is made dense, so this is meant for data of moderate size.

    Parameters
    ----------
    X, y, sample_weight
        What the selector was fitted on.
    proof : Proof, path or TopK
        ``selector.proof_``, the file that it was saved to, or the selector itself. Without
        ``keep_proof=True`` it only proves the bound before any branching.

    Returns
    -------
    float
        No choice of k features has an objective below this.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import TopK
    >>> from rowsparse.certificate import verify
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = TopK(2, certify=True, keep_proof=True, random_state=0).fit(X, y)
    >>> bound = verify(X, y, selector.proof_)
    >>> bool(bound >= (1 - 1e-6) * selector.objective_)
    True
    """
    if isinstance(proof, (str, PathLike)):
        proof = Proof.load(proof)
    kept = proof if isinstance(proof, Proof) else getattr(proof, "proof_", None)
    if not isinstance(kept, Proof):
        raise ValueError("there is no proof to check: fit TopK with certify=True.")
    kept.problem.check()
    data = Data.of(X, y, kept.problem, sample_weight)
    # A bound that overflows is replaced by 0 where it is computed.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        bound = Checker(data, kept).bound()
    return bound * kept.problem.y_unit * kept.problem.y_unit


def objective(X: Any, y: Any, proof: Proof, sample_weight: Any = None) -> float:
    """The objective of the columns that a proof is about, recomputed from the data."""
    problem = proof.problem
    data = Data.of(X, y, problem, sample_weight)
    Z, k = data.Z[:, proof.support], proof.support.size
    augmented = np.vstack([Z, np.sqrt(data.ridge) * np.eye(k)])
    target = np.vstack([data.Y, np.zeros((k, data.Y.shape[1]))])
    W = np.linalg.lstsq(augmented, target, rcond=None)[0]
    least = float(np.sum((target - augmented @ W) ** 2))
    return least * problem.y_unit * problem.y_unit


@dataclass(frozen=True)
class Choices:
    """All choices of the features ``chosen`` and ``count`` more of those ``allowed``."""

    chosen: Index
    allowed: Mask
    count: int

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return self.count < 0 or self.count > int(self.allowed.sum())

    def without(self, out: Index, fixed: Index) -> Choices:
        """The choices without the features ``out`` and with the features ``fixed``."""
        if not (self.allowed[out].all() and self.allowed[fixed].all()):
            raise ValueError(
                "the proof does not hold: it screens or splits on a column that is not allowed."
            )
        allowed = self.allowed.copy()
        allowed[out] = allowed[fixed] = False
        return Choices(np.append(self.chosen, fixed), allowed, self.count - fixed.size)


class Checker:
    """The bound that follows from the steps of a proof.

    Features are positions in the pool. D is the ridge, or replaces it by a diagonal matrix with
    Z'Z + ridge I - D positive semi-definite.
    """

    def __init__(self, data: Data, proof: Proof) -> None:
        self.proof, self.pool = proof, np.asarray(proof.pool, dtype=np.intp)
        self.ridge, self.Y = data.ridge, data.Y
        self.first = self._all_choices(data)
        self.Z = np.ascontiguousarray(data.Z[:, self.pool])
        n, m = self.Z.shape
        self.rounding = 2.0 * (n + 16) * _EPS
        self.B, self.total = self.Z.T @ self.Y, float(np.vdot(self.Y, self.Y))
        self.gram = self.Z.T @ self.Z if m < n or proof.diagonal is not None else None
        self.norms = np.sqrt(np.einsum("ij,ij->j", self.Z, self.Z) + self.ridge)
        self.D = np.full(m, self.ridge)
        if proof.diagonal is not None:
            self.D = self._admissible(np.asarray(proof.diagonal, dtype=np.float64))

    def bound(self) -> float:
        """The least of all bounds."""
        stack, least = [self.first], self.total
        for step in self.proof.steps:
            if not stack:
                raise ValueError("the proof does not hold: it has more steps than sets of choices.")
            bound, left = self._take(step, stack.pop())
            least = min(least, bound if bound == bound else 0.0)
            stack.extend(choices for choices in left if not choices.is_empty)
        if stack:
            raise ValueError("the proof does not hold: it leaves out some choices.")
        return max(least, 0.0)

    def _take(self, step: Step, choices: Choices) -> tuple[float, list[Choices]]:
        """What one step proves, and the choices that it leaves for later ones."""
        if step.kind == Kind.SPLIT:
            j = np.atleast_1d(self._positions(np.array([step.feature])))
            none = j[:0]
            return np.inf, [choices.without(j, none), choices.without(none, j)]
        if step.kind == Kind.SCREEN:
            out, fixed = (self._positions(part) for part in (step.out, step.fixed))
            return self._screened(step.dual, choices, out, fixed), [choices.without(out, fixed)]
        if step.kind == Kind.BOUND:
            return self._bound(step.dual, choices)[0], []
        if step.kind == Kind.LAST:
            return self._last(choices), []
        return (self._every(choices) if step.kind == Kind.ALL else 0.0), []

    # ------------------------------------------------------------------------- the problem
    def _all_choices(self, data: Data) -> Choices:
        """All choices of the problem, in terms of the pool."""
        problem, pool = self.proof.problem, self.pool
        allowed = np.setdiff1d(np.arange(problem.n_features), problem.exclude)
        include = np.array(problem.include, dtype=np.intp)
        k = problem.k
        if self.ridge > 0:
            complete = np.array_equal(np.sort(pool), allowed)
        else:
            # Columns of zeros and copies of others do not change the possible fits.
            known = {direction_key(data.X[:, j]): j for j in pool.tolist()}
            stands = {j: known.get(direction_key(data.X[:, j])) for j in allowed.tolist()}
            complete = all(at is not None or not data.Z[:, j].any() for j, at in stands.items())
            own = {at for at in map(stands.get, include.tolist()) if at is not None}
            include = np.array(sorted(own), dtype=np.intp)
            k = min(k, pool.size)
        if not complete or np.any(np.diff(pool) <= 0):
            raise ValueError("the proof does not hold: it leaves out columns of X.")
        chosen = self._positions(include)
        free = np.ones(pool.size, dtype=bool)
        free[chosen] = False
        return Choices(chosen, free, k - chosen.size)

    def _positions(self, features: Any) -> Index:
        """Columns of X as positions in the pool."""
        features = np.asarray(features, dtype=np.intp)
        at = np.minimum(np.searchsorted(self.pool, features), self.pool.size - 1)
        if not np.array_equal(self.pool[at], features):
            raise ValueError("the proof does not hold: it names columns outside its pool.")
        if np.unique(at).size < at.size:
            raise ValueError("the proof does not hold: it counts a column twice.")
        return at

    def _admissible(self, D: Array) -> Array:
        """D, if Z'Z + ridge I - D is positive semi-definite by more than rounding errors."""
        m, gram = len(self.norms), self.gram
        assert gram is not None
        if D.shape != (m,) or not np.all(D > 0):
            raise ValueError("the proof does not hold: its diagonal is not positive.")
        P = gram / self.norms / self.norms[:, None]
        slack = m * (self.rounding + 4.0 * (m + 2) * _EPS)
        P.flat[:: m + 1] = 1.0 - D / self.norms**2 - slack
        try:
            np.linalg.cholesky(P)
        except np.linalg.LinAlgError:
            raise ValueError("the proof does not hold: its diagonal is too large.") from None
        return D

    # -------------------------------------------------------------------------- the bounds
    def _bound(self, dual: Dual | None, choices: Choices) -> tuple[float, Array]:
        """The bound of a dual point over some choices, and the q of all features."""
        if dual is None:
            return 0.0, np.zeros(self.pool.size)
        at, W = self._positions(dual.features), np.asarray(dual.W, dtype=np.float64)
        if W.shape != (at.size, self.Y.shape[1]) or not np.isfinite(W).all():
            raise ValueError("the proof does not hold: a dual point is malformed.")
        fitted = self.Z[:, at] @ W
        moved = (self.ridge - self.D[at])[:, None] * W
        u = self.B - (self.Z.T @ fitted if self.gram is None else self.gram[:, at] @ W)
        u[at] -= moved
        size = float(self.norms[at] @ np.linalg.norm(W, axis=1))
        rounding = self.rounding + 2.0 * _EPS * at.size
        root = np.sqrt(self.total)
        lengths = np.linalg.norm(u, axis=1) + rounding * (root + size) * self.norms
        q = lengths**2 / self.D
        largest = np.sort(q[choices.allowed])[::-1][: choices.count].sum()
        explained = float(np.vdot(fitted, fitted) + np.vdot(W, moved))
        margin = rounding * (size * (size + root) + 8.0 * self.total)
        value = self.total - explained - q[choices.chosen].sum() - largest - margin
        return (float(value) if np.isfinite(value) else 0.0), q

    def _screened(self, dual: Dual | None, choices: Choices, out: Index, fixed: Index) -> float:
        """The bound of the choices with one of ``out``, or without one of ``fixed``."""
        value, q = self._bound(dual, choices)
        ordered = np.append(np.sort(q[choices.allowed])[::-1], 0.0)
        last, following = ordered[choices.count - 1], ordered[choices.count]
        with_one = value + np.maximum(last - q[out], 0.0)
        without_one = value + np.maximum(q[fixed] - following, 0.0)
        return float(min(with_one.min(initial=np.inf), without_one.min(initial=np.inf)))

    def _products(self, one: Index, other: Index) -> Array:
        if self.gram is not None:
            return self.gram[np.ix_(one, other)]
        return self.Z[:, one].T @ self.Z[:, other]

    def _last(self, choices: Choices) -> float:
        """The least objective with one or two more features, of all ways to choose them."""
        C, F = choices.chosen, np.flatnonzero(choices.allowed)
        if choices.count not in (1, 2):
            raise ValueError("the proof does not hold: more than two features are left to choose.")
        try:
            L = np.linalg.cholesky(self._products(C, C) + self.ridge * np.eye(C.size))
        except np.linalg.LinAlgError:
            return 0.0
        E = np.linalg.solve(L, self._products(C, F))
        fitted = np.linalg.solve(L, self.B[C])
        left = self.total - float(np.vdot(fitted, fitted))
        B = self.B[F] - E.T @ fitted
        # The residual Gram matrix of one or two features is at least D.
        s = np.maximum(self.norms[F] ** 2 - np.einsum("ij,ij->j", E, E), self.D[F])
        gains = np.einsum("jc,jc->j", B, B) / s
        if choices.count == 2:
            g = (self._products(F, F) - E.T @ E) / np.sqrt(np.outer(s, s))
            max_correlation = 1.0 - np.maximum(np.min(self.D[F]) / np.maximum.outer(s, s), _EPS)
            g = np.clip(g, -max_correlation, max_correlation)
            f = (B @ B.T) / np.sqrt(np.outer(s, s))
            gains = (gains[:, None] + gains - 2.0 * g * f) / (1.0 - g * g)
            gains = gains[np.triu_indices(F.size, 1)]
        return left - float(gains.max()) - self._solve_error(C.size + choices.count)

    def _solve_error(self, k: int) -> float:
        """Bound on how far below its computed value the objective of a choice of k may be."""
        # Both the ridge and D bound the coefficients of any choice, and so does half the larger.
        penalty = self.D if self.proof.diagonal is None else np.maximum(self.D, self.ridge) / 2
        spread = np.sort(1.0 + self.norms**2 / penalty)[::-1][:k].sum()
        return 4.0 * (self.rounding + 8.0 * (k + 2) * _EPS) * float(spread) * self.total

    # -------------------------------------------------------------------------- all choices
    def _every(self, choices: Choices) -> float:
        """The least objective of all choices, each from its own columns."""
        k = choices.chosen.size + choices.count
        if k == 0:
            return self.total * (1.0 - self.rounding)
        size = max(1, _BATCH_ENTRIES // ((self.Z.shape[0] + k) * max(k, 1)))
        bounds = [self._residuals(batch).min() for batch in _batches(choices, size)]
        return float(min(bounds, default=np.inf))

    def _residuals(self, sets: Index) -> Array:
        """Lower bounds on the squared distance of Y from the columns of each set.

        With columns Z of unit norm and least singular value s, and any residuals r, it is
        at least ||r||^2 - ||Z'r||^2 / s^2.
        """
        (N, k), n = sets.shape, self.Z.shape[0]
        Z = np.concatenate(
            [
                self.Z[:, sets].transpose(1, 0, 2),
                np.broadcast_to(np.sqrt(self.ridge) * np.eye(k), (N, k, k)),
            ],
            axis=1,
        )
        Z = Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), np.finfo(float).tiny)
        Y = np.concatenate([self.Y, np.zeros((k, self.Y.shape[1]))])
        Q, R = np.linalg.qr(Z)
        s = np.linalg.svd(R, compute_uv=False)[:, -1]
        sound = s > 2.0 * _INDEPENDENT
        R[~sound] = np.eye(k)
        W = np.linalg.solve(R, Q.transpose(0, 2, 1) @ Y)
        r = Y - Z @ W
        rounding = 2.0 * (n + 2 * k + 16) * _EPS
        squares = np.einsum("sic,sic->s", r, r)
        slope = np.linalg.norm(Z.transpose(0, 2, 1) @ r, axis=(1, 2))
        slope += rounding * np.sqrt(k * squares)
        reach = slope / np.where(sound, s - rounding * k - _INDEPENDENT, 1.0)
        error = rounding * (np.sqrt(self.total) + np.linalg.norm(W, axis=2).sum(axis=1))
        left = np.sqrt(np.maximum(squares * (1.0 - rounding) - reach**2, 0.0)) - error
        return np.where(sound, np.maximum(left, 0.0) ** 2, 0.0)


def _batches(choices: Choices, size: int) -> Iterator[Index]:
    free = combinations(np.flatnonzero(choices.allowed).tolist(), choices.count)
    while batch := list(islice(free, size)):
        rest = np.array(batch, dtype=np.intp).reshape(len(batch), choices.count)
        yield np.hstack([np.tile(choices.chosen, (len(batch), 1)), rest])
