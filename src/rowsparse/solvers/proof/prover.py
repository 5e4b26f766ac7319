"""How good a choice of k features is: a proof of optimality, or a bound on what it misses."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.certificate.steps import Kind, Step
from rowsparse.design import Design, direction_key
from rowsparse.solvers.losses.squared import least_squares_objective
from rowsparse.solvers.proof.branch import BranchAndBound, Progress, Search
from rowsparse.solvers.proof.candidates import Candidates
from rowsparse.solvers.proof.diagonal import best_diagonal, nodes_before_climbing, uniform_diagonal
from rowsparse.solvers.proof.exhaustive import enumerate_choices, few_choices
from rowsparse.solvers.proof.workers import one_blas_thread


def silent_progress(progress: Progress) -> bool:
    """Watch nothing and never stop."""
    return False


@dataclass(frozen=True)
class Question:
    """What is to be proven: no choice of k features of a pool is better than a known one.

    Attributes
    ----------
    pool : array of int
        The features to choose from. Without a ridge, of equal columns only one is among them,
        and none of zeros: they would add nothing.
    k : int
        Number of features to choose, no more than there are in the pool.
    include : array of int
        Those of the pool that must be chosen.
    """

    pool: Index
    k: int
    include: Index

    @classmethod
    def of(cls, design: Design, k: int, ridge: float, include: Index, exclude: Index) -> Question:
        """The question for a design."""
        pool = np.setdiff1d(np.arange(design.shape[1]), exclude)
        if ridge > 0:
            return cls(pool, k, include)
        # Included ones first, so that they are those that stand for others.
        first = np.concatenate([include, np.setdiff1d(pool, include)])
        stands_for = _representatives(design, first)
        pool, include = (np.unique(stands_for[part]) for part in (pool, include))
        pool, include = pool[pool >= 0], include[include >= 0]
        return cls(pool, min(k, pool.size), include)


@dataclass
class Proof:
    """What is proven of a choice, and how.

    Attributes
    ----------
    support, objective : array of int and float
        The best features found, and their objective.
    lower_bound, root_bound : float
        No choice has an objective below the first; the second is what was known of that before
        any branching.
    nodes : int
        Number of subproblems bounded, or of choices tried.
    steps : list of Step
        The proof, if it was to be kept, or what there was before any branching.
    question : Question
        What they answer.
    diagonal : array or None
        For each feature of the pool, what takes the place of the ridge; None for the ridge itself.
    """

    support: Index
    objective: float
    lower_bound: float
    root_bound: float
    nodes: int
    steps: list[Step]
    question: Question
    diagonal: Array | None

    def optimal(self, gap_tol: float) -> bool:
        """Whether the bound is within this share of the objective."""
        return self.objective - self.lower_bound <= gap_tol * self.objective


@dataclass
class Prover:
    """Proves what can be proven of one choice; parameters as in :func:`certify`."""

    design: Design
    Y: Array
    ridge: float
    question: Question
    support: Index
    objective: float
    gap_tol: float
    time_limit: float | None
    keep_on_interrupt: bool
    keep: bool
    monitor: Callable[[Progress], bool]
    n_jobs: int | None
    start: float = field(default_factory=time.perf_counter)
    nodes: int = 0
    known_bound: float = 0.0

    def run(self) -> Proof:
        """By branch and bound, with a better diagonal if it takes long; or by trying all."""
        asked = self.question
        problem = Candidates.of(self.design, self.Y, self.ridge, asked.pool)
        with one_blas_thread():
            diagonal = uniform_diagonal(problem, asked.k, asked.include)
        if self.ridge == 0 and diagonal is None:
            return self._enumerated() or self._proof(0.0, [Step(Kind.OPEN)])
        first = self._branch_and_bound(problem, diagonal)
        found = first.run(most=nodes_before_climbing(problem))
        proof = self._concluded(found, diagonal)
        try:
            if not found.complete and not found.stopped:
                found, proof = self._continued(problem, first, proof)
            if found.complete and not proof.optimal(self.gap_tol):
                # Rounding left a gap though no choice is left to be looked at.
                self.nodes = proof.nodes
                proof = self._better(proof, self._enumerated())
        except KeyboardInterrupt:
            if not self.keep_on_interrupt:
                raise
        return proof

    def _continued(
        self, problem: Candidates, first: BranchAndBound, proof: Proof
    ) -> tuple[Search, Proof]:
        """Go on with a better diagonal if there is one, or where the first search paused."""
        asked, known = self.question, proof.diagonal
        with one_blas_thread():
            better = best_diagonal(
                problem, asked.k, asked.include, known, self.objective, self._late
            )
        if better is None:
            found = first.run()
            return found, self._concluded(found, known)
        self.nodes = proof.nodes
        found = self._branch_and_bound(problem, better).run()
        return found, self._better(proof, self._concluded(found, better))

    def _better(self, proof: Proof, other: Proof | None) -> Proof:
        """Of two proofs the one with the higher bound, for the best choice of both."""
        if other is None:
            return proof
        best = max(other, proof, key=lambda p: p.lower_bound)
        nodes = max(other.nodes, proof.nodes)
        root = min(max(other.root_bound, proof.root_bound), best.lower_bound)
        return replace(
            best, support=other.support, objective=other.objective, nodes=nodes, root_bound=root
        )

    def _branch_and_bound(self, problem: Candidates, diagonal: Array | None) -> BranchAndBound:
        asked = self.question
        return BranchAndBound(
            problem if diagonal is None else problem.with_diagonal(diagonal),
            asked.k,
            self.support,
            self.objective,
            include=asked.include,
            gap_tol=self.gap_tol,
            time_limit=self._left(),
            keep_on_interrupt=self.keep_on_interrupt,
            refit=self._refit,
            keep=self.keep,
            monitor=self._watch,
            n_jobs=self.n_jobs,
        )

    def _watch(self, progress: Progress) -> bool:
        """Tell the monitor; what was known before another search began still is."""
        self.known_bound = max(self.known_bound, progress.lower_bound)
        nodes = self.nodes + progress.nodes
        return self.monitor(replace(progress, lower_bound=self.known_bound, nodes=nodes))

    def _left(self) -> float | None:
        if self.time_limit is None:
            return None
        return self.time_limit - (time.perf_counter() - self.start)

    def _late(self) -> bool:
        left = self._left()
        return left is not None and left <= 0

    def _refit(self, support: Index) -> float:
        """The objective of a choice from its columns; inf if it has too few features."""
        if support.size < self.support.size:
            return np.inf
        return least_squares_objective(self.design, self.Y, support, ridge=self.ridge)

    def _concluded(self, found: Search, diagonal: Array | None) -> Proof:
        self.support, self.objective = found.support, found.objective
        proof = self._proof(found.lower_bound, found.steps, found.root_bound, diagonal)
        proof.nodes += found.nodes
        return proof

    def _proof(
        self,
        bound: float,
        steps: list[Step],
        root_bound: float = np.inf,
        diagonal: Array | None = None,
    ) -> Proof:
        bound = float(np.clip(bound, 0.0, self.objective))
        return Proof(
            np.sort(self.support),
            self.objective,
            bound,
            min(root_bound, bound),
            self.nodes,
            steps,
            self.question,
            diagonal,
        )

    def _enumerated(self) -> Proof | None:
        """The proof by trying all choices, if they are few."""
        asked, n = self.question, self.design.shape[0]
        count = asked.k - asked.include.size
        if not few_choices(n, asked.pool.size - asked.include.size, count, asked.k):
            return None
        chosen = np.searchsorted(asked.pool, asked.include)
        free = np.setdiff1d(np.arange(asked.pool.size), chosen)
        X = self.design.double_columns(asked.pool)
        found = enumerate_choices(X, self.Y, self.ridge, chosen, free, count, self._late)
        if found.support is not None:
            support = asked.pool[found.support]
            value = self._refit(support)
            if value < self.objective:
                self.support, self.objective = support, value
        self.nodes += found.tried
        steps = [Step(Kind.ALL if found.lower_bound > 0 else Kind.OPEN)]
        return self._proof(found.lower_bound, steps)


def certify(
    design: Design,
    Y: Array,
    k: int,
    support: Index,
    objective: float,
    *,
    ridge: float,
    include: Index,
    exclude: Index,
    gap_tol: float = 1e-6,
    time_limit: float | None = None,
    keep_on_interrupt: bool = False,
    keep: bool = False,
    monitor: Callable[[Progress], bool] = silent_progress,
    n_jobs: int | None = None,
) -> Proof:
    """Prove that a support is the best one, find a better one, or bound what is missing.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
        Centred.
    k : int
        Number of features.
    support, objective : array of int and float
        A choice, and its objective.
    ridge : float
        Weight of ||W||_F^2. Without one there is a bound only if n > d and no columns depend on
        each other; else all choices are tried, if they are few.
    include, exclude : arrays of int
        Features that must and that must not be chosen.
    gap_tol, time_limit, keep_on_interrupt, keep, monitor, n_jobs
        As in :class:`rowsparse.solvers.proof.branch.BranchAndBound`.

    Returns
    -------
    Proof
        With a bound of 0 where nothing can be proven.
    """
    prover = Prover(
        design,
        Y,
        ridge,
        Question.of(design, k, ridge, include, exclude),
        support,
        objective,
        gap_tol,
        time_limit,
        keep_on_interrupt,
        keep,
        monitor,
        n_jobs,
    )
    # What overflows proves nothing, and is taken for that.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return prover.run()


def _representatives(design: Design, features: Index) -> Index:
    """For every column, the first of these features with the same direction; -1 for zeros."""
    stands_for = np.arange(design.shape[1])
    norms = design.column_norms()
    seen: dict[bytes, int] = {}
    for j in features.tolist():
        if norms[j] == 0:
            stands_for[j] = -1
        else:
            key = direction_key(design.stored_columns(np.array([j]))[:, 0])
            stands_for[j] = seen.setdefault(key, j)
    return stands_for
