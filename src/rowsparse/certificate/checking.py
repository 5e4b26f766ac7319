"""Verification of a proof, step by step, in plain NumPy and without any code of the solvers."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.certificate.choices import Choices, LossBounds
from rowsparse.certificate.data import Data
from rowsparse.certificate.logistic import LogisticBounds, logistic_objective
from rowsparse.certificate.proof import Proof
from rowsparse.certificate.squared import SquaredBounds, squared_objective
from rowsparse.certificate.steps import Dual, Kind, Step
from rowsparse.design import direction_key


def verify(
    X: Any, y: Any, proof: Proof | str | PathLike[str] | Any, sample_weight: Any = None
) -> float:
    """Check a proof of :class:`rowsparse.TopK` and return the bound that follows from it.

    With Z the standardised data, Y the centred targets, and u = Z'(Y - ZW), every choice of k
    features has an objective of at least

        ||Y||^2 - ||ZW||^2 - (the sum of the k largest ||u_j||^2 / ridge)

    for any W. With the logistic loss, sample weights omega, labels T of 0 and 1 and the
    probabilities P of the predictions ZW + b, it is at least

        sum_i omega_i H(p_i) - (the sum of the k largest ||z_j' diag(omega) (P - T)||^2 / (2 ridge))

    with H the entropy in nats, summed over the labels, and b such that the weighted sums of P
    are those of T (without an intercept, b = 0). A proof divides the choices into sets, each with
    a W for which this bound, over the features that the set allows, is high enough. Here the
    bounds are recomputed from the data and lowered by their possible rounding error. No result of
    the search is used, and no choice is left out, because the sets are made by splitting larger
    ones.

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
    _check_choice(kept)
    data = Data.of(X, y, kept.problem, sample_weight)
    # A bound that overflows is replaced by 0 where it is computed.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        bound = Checker(data, kept).bound()
    return bound * kept.problem.y_unit * kept.problem.y_unit


def objective(X: Any, y: Any, proof: Proof, sample_weight: Any = None) -> float:
    """The objective of the columns that a proof is about, recomputed from the data."""
    _check_choice(proof)
    problem = proof.problem
    data = Data.of(X, y, problem, sample_weight)
    if problem.loss == "squared":
        return squared_objective(data, proof.support) * problem.y_unit * problem.y_unit
    return logistic_objective(data, proof.support)


def _check_choice(proof: Proof) -> None:
    """Raise ValueError unless the columns of the proof are a choice that its problem allows."""
    problem, support = proof.problem, np.asarray(proof.support)
    problem.check()
    chosen = set(support.tolist())
    allowed = set(range(problem.n_features)) - set(problem.exclude)
    is_choice = chosen <= allowed and chosen >= set(problem.include)
    if not is_choice or not support.size == len(chosen) == problem.k:
        raise ValueError(
            f"the proof does not hold: it is not about {problem.k} different columns that may be "
            "chosen together."
        )


class Checker:
    """The bound that follows from the steps of a proof. Features are positions in the pool."""

    def __init__(self, data: Data, proof: Proof) -> None:
        self.proof, self.pool = proof, np.asarray(proof.pool, dtype=np.intp)
        self.first = self._all_choices(data)
        self.bounds: LossBounds
        if proof.problem.loss == "squared":
            self.bounds = SquaredBounds(data, self.pool, proof.diagonal)
        else:
            self.bounds = LogisticBounds(data, self.pool)

    def bound(self) -> float:
        """The least of all bounds."""
        stack, least = [self.first], self.bounds.total
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
            return self.bounds.last(choices), []
        return (self.bounds.every(choices) if step.kind == Kind.ALL else 0.0), []

    # ------------------------------------------------------------------------- the problem
    def _all_choices(self, data: Data) -> Choices:
        """All choices of the problem, in terms of the pool."""
        problem, pool = self.proof.problem, self.pool
        allowed = np.setdiff1d(np.arange(problem.n_features), problem.exclude)
        include = np.array(problem.include, dtype=np.intp)
        k = problem.k
        if data.ridge > 0 or problem.loss != "squared":
            complete = np.array_equal(np.sort(pool), allowed)
        else:
            # Columns of zeros and copies of others do not change the possible fits.
            known = {direction_key(data.X[:, j]): j for j in pool.tolist()}
            stands = {j: known.get(direction_key(data.X[:, j])) for j in allowed.tolist()}
            complete = all(at is not None or not data.Z[:, j].any() for j, at in stands.items())
            own = {at for at in map(stands.get, include.tolist()) if at is not None}
            k = min(k - (include.size - len(own)), pool.size)
            include = np.array(sorted(own), dtype=np.intp)
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

    # -------------------------------------------------------------------------- the bounds
    def _bound(self, dual: Dual | None, choices: Choices) -> tuple[float, Array]:
        """The bound of a dual point over some choices, and the q of all features."""
        if dual is None:
            return 0.0, np.zeros(self.pool.size)
        at, W = self._positions(dual.features), np.asarray(dual.W, dtype=np.float64)
        if W.shape != (at.size, self.bounds.n_targets) or not np.isfinite(W).all():
            raise ValueError("the proof does not hold: a dual point is malformed.")
        value, q = self.bounds.bound(at, W, choices)
        # Without a finite bound its q say nothing either.
        return (value, q) if np.isfinite(value) else (0.0, np.zeros_like(q))

    def _screened(self, dual: Dual | None, choices: Choices, out: Index, fixed: Index) -> float:
        """The bound of the choices with one of ``out``, or without one of ``fixed``."""
        value, q = self._bound(dual, choices)
        ordered = np.append(np.sort(q[choices.allowed])[::-1], 0.0)
        last, following = ordered[choices.count - 1], ordered[choices.count]
        with_one = value + np.maximum(last - q[out], 0.0)
        without_one = value + np.maximum(q[fixed] - following, 0.0)
        return float(min(with_one.min(initial=np.inf), without_one.min(initial=np.inf)))
