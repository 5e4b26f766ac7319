"""Prove that a choice of k features is the best one, or bound how much better others can be.

:func:`certify` decides how: by branch and bound (:mod:`rowsparse.solvers.proof.branch`), with a
better diagonal if that takes long (:mod:`rowsparse.solvers.proof.diagonal`), or by trying all
choices (:mod:`rowsparse.solvers.proof.exhaustive`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._deadline import Deadline
from rowsparse._threads import one_blas_thread
from rowsparse.certificate.proof import Kind, Step
from rowsparse.design import Design, direction_key
from rowsparse.solvers.losses.squared import least_squares_objective
from rowsparse.solvers.proof.branch import BranchAndBound, BranchAndBoundResult, ProofProgress
from rowsparse.solvers.proof.candidates import Candidates
from rowsparse.solvers.proof.diagonal import best_diagonal, nodes_before_climbing, uniform_diagonal
from rowsparse.solvers.proof.exhaustive import enumerate_choices, few_choices
from rowsparse.solvers.proof.nodes import ProofOptions


@dataclass(frozen=True)
class SelectionProblem:
    """Which features to choose from, and how many.

    Attributes
    ----------
    pool : array of int
        The features to choose from. Without a ridge, columns of zeros and all but one of equal
        columns are left out, because they would add nothing.
    k : int
        Number of features to choose, at most the size of the pool.
    include : array of int
        Those of the pool that must be chosen.
    implied : array of int
        Features that must be chosen too, but add nothing: they do not count in ``k``.
    """

    pool: Index
    k: int
    include: Index
    implied: Index

    @classmethod
    def of(
        cls, design: Design, k: int, ridge: float, include: Index, exclude: Index
    ) -> SelectionProblem:
        """The problem for a design."""
        pool = np.setdiff1d(np.arange(design.shape[1]), exclude)
        if ridge > 0:
            return cls(pool, k, include, include[:0])
        # Included ones come first, so that of equal columns they are kept.
        first = np.concatenate([include, np.setdiff1d(pool, include)])
        kept = _representatives(design, first)
        pool, own = (np.unique(kept[part]) for part in (pool, include))
        pool, own = pool[pool >= 0], own[own >= 0]
        implied = np.setdiff1d(include, own)
        return cls(pool, min(k - implied.size, pool.size), own, implied)

    def completed(self, support: Index) -> Index:
        """A support with the features that are implied, sorted."""
        return np.union1d(support, self.implied)


@dataclass
class ProverResult:
    """What is proven of a choice, and how.

    Attributes
    ----------
    support, objective : array of int and float
        The best features found, and their objective.
    lower_bound, root_bound : float
        No choice has an objective below the first; the second is the bound before any branching.
    nodes : int
        Number of subproblems bounded, or of choices tried.
    steps : list of Step
        The whole proof, or that of the root bound if it takes too much memory.
    problem : SelectionProblem
        What was proven.
    diagonal : array or None
        For each feature of the pool, what replaces the ridge, as a share of the diagonal entry of
        X'X + ridge I; None for the ridge itself.
    """

    support: Index
    objective: float
    lower_bound: float
    root_bound: float
    nodes: int
    steps: list[Step]
    problem: SelectionProblem
    diagonal: Array | None

    def optimal(self, gap_tol: float) -> bool:
        """Whether the bound is within this share of the objective."""
        return self.objective - self.lower_bound <= gap_tol * self.objective


@dataclass
class Prover:
    """Proves what it can of one choice; parameters as in :func:`certify`.

    ``nodes`` counts those of finished searches, and ``known_bound`` is the best bound reported.
    """

    design: Design
    Y: Array
    ridge: float
    problem: SelectionProblem
    support: Index
    objective: float
    gap_tol: float
    deadline: Deadline
    keep_on_interrupt: bool
    monitor: Callable[[ProofProgress], bool]
    search: Callable[[], tuple[Index, float]]
    n_jobs: int | None
    nodes: int = 0
    known_bound: float = 0.0

    def run(self) -> ProverResult:
        """By branch and bound, with a better diagonal if it takes long; or by trying all."""
        candidates = Candidates.of(self.design, self.Y, self.ridge, self.problem.pool)
        proof = self._proven(candidates)
        if proof.diagonal is None:
            return proof
        shares = proof.diagonal / (candidates.norms**2 + self.ridge)
        if not np.all((shares > 0) & (shares <= 1)):
            # Squares beyond the range of floats: nothing is known.
            open_ = [Step(Kind.OPEN)]
            return replace(proof, lower_bound=0.0, root_bound=0.0, steps=open_, diagonal=None)
        return replace(proof, diagonal=shares)

    def _proven(self, candidates: Candidates) -> ProverResult:
        asked = self.problem
        with one_blas_thread():
            diagonal = uniform_diagonal(candidates, asked.k, asked.include)
        if self.ridge == 0 and diagonal is None:
            self.support, self.objective = self.search()
            return self._enumerated() or self._result(0.0, [Step(Kind.OPEN)])
        first = self._branch_and_bound(candidates, diagonal)
        found = first.run_or_search(self.search, max_nodes=nodes_before_climbing(candidates))
        proof = self._concluded(found, diagonal)
        try:
            if not found.complete and not found.stopped:
                found, proof = self._continued(candidates, first, proof)
            if found.complete and not proof.optimal(self.gap_tol):
                # No node is left, and the gap is rounding error.
                self.nodes = proof.nodes
                proof = self._better(proof, self._enumerated())
        except KeyboardInterrupt:
            if not self.keep_on_interrupt:
                raise
        return proof

    def _continued(
        self, candidates: Candidates, first: BranchAndBound, proof: ProverResult
    ) -> tuple[BranchAndBoundResult, ProverResult]:
        """Start again with a better diagonal if there is one, else resume the first search."""
        asked, known = self.problem, proof.diagonal
        with one_blas_thread():
            better = best_diagonal(
                candidates, asked.k, asked.include, known, self.objective, self.deadline
            )
        if better is None:
            found = first.run()
            return found, self._concluded(found, known)
        self.nodes = proof.nodes
        found = self._branch_and_bound(candidates, better).run()
        return found, self._better(proof, self._concluded(found, better))

    def _better(self, proof: ProverResult, other: ProverResult | None) -> ProverResult:
        """Of two proofs the one with the higher bound, for the best choice of both."""
        if other is None:
            return proof
        best = max(other, proof, key=lambda p: p.lower_bound)
        nodes = max(other.nodes, proof.nodes)
        root = min(max(other.root_bound, proof.root_bound), best.lower_bound)
        return replace(
            best, support=other.support, objective=other.objective, nodes=nodes, root_bound=root
        )

    def _branch_and_bound(self, candidates: Candidates, diagonal: Array | None) -> BranchAndBound:
        return BranchAndBound(
            candidates if diagonal is None else candidates.with_diagonal(diagonal),
            self.support,
            self.objective,
            include=self.problem.include,
            options=ProofOptions(self.problem.k, self.gap_tol),
            deadline=self.deadline,
            keep_on_interrupt=self.keep_on_interrupt,
            refit=self._refit,
            monitor=self._report,
            n_jobs=self.n_jobs,
        )

    def _report(self, progress: ProofProgress) -> bool:
        """Pass the progress on to the monitor, with the best bound and all nodes so far."""
        self.known_bound = max(self.known_bound, progress.lower_bound)
        nodes = self.nodes + progress.nodes
        return self.monitor(replace(progress, lower_bound=self.known_bound, nodes=nodes))

    def _refit(self, support: Index) -> float:
        """The objective of a choice from its columns; inf if it has too few features."""
        if self.problem.completed(support).size < self.support.size:
            return np.inf
        return least_squares_objective(self.design, self.Y, support, ridge=self.ridge)

    def _concluded(self, found: BranchAndBoundResult, diagonal: Array | None) -> ProverResult:
        self.support, self.objective = self.problem.completed(found.support), found.objective
        result = self._result(found.lower_bound, found.steps, found.root_bound, diagonal)
        result.nodes += found.nodes
        return result

    def _result(
        self,
        bound: float,
        steps: list[Step],
        root_bound: float = np.inf,
        diagonal: Array | None = None,
    ) -> ProverResult:
        bound = float(np.clip(bound, 0.0, self.objective))
        return ProverResult(
            np.sort(self.support),
            self.objective,
            bound,
            min(root_bound, bound),
            self.nodes,
            steps,
            self.problem,
            diagonal,
        )

    def _enumerated(self) -> ProverResult | None:
        """The proof by trying all choices; None if there are too many, or the data allow none."""
        asked, n = self.problem, self.design.shape[0]
        if self.design.is_unsure or not self.design.has_stored_columns:
            return None
        count = asked.k - asked.include.size
        if not few_choices(n, asked.pool.size - asked.include.size, count, asked.k):
            return None
        chosen = np.searchsorted(asked.pool, asked.include)
        free = np.setdiff1d(np.arange(asked.pool.size), chosen)
        X = self.design.double_columns(asked.pool)
        found = enumerate_choices(
            X,
            self.Y,
            self.ridge,
            chosen,
            free,
            count,
            rounding=self.design.bound_rounding,
            deadline=self.deadline,
        )
        if found.support is not None:
            support = asked.pool[found.support]
            value = self._refit(support)
            if value < self.objective:
                self.support, self.objective = asked.completed(support), value
        self.nodes += found.tried
        steps = [Step(Kind.ALL if found.lower_bound > 0 else Kind.OPEN)]
        return self._result(found.lower_bound, steps)


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
    gap_tol: float,
    deadline: Deadline,
    keep_on_interrupt: bool,
    monitor: Callable[[ProofProgress], bool],
    search: Callable[[], tuple[Index, float]],
    n_jobs: int | None,
) -> ProverResult:
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
        Weight of ||W||_F^2. Without one there is a bound only if n > d and the columns are
        independent; otherwise all choices are tried, if they are few.
    include, exclude : arrays of int
        Features that must and that must not be chosen.
    gap_tol : float
        Gap, relative to the objective, at which the proof is complete.
    search : callable
        Returns a choice that is as good or better, and its objective; called once, unless the
        first one is proven by a few nodes.
    deadline, keep_on_interrupt, monitor, n_jobs
        As in :class:`rowsparse.solvers.proof.branch.BranchAndBound`.

    Returns
    -------
    ProverResult
        With a bound of 0 where nothing can be proven.
    """
    prover = Prover(
        design,
        Y,
        ridge,
        SelectionProblem.of(design, k, ridge, include, exclude),
        support,
        objective,
        gap_tol,
        deadline,
        keep_on_interrupt,
        monitor,
        search,
        n_jobs,
    )
    # A bound that overflows is discarded where it is computed.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return prover.run()


def _representatives(design: Design, features: Index) -> Index:
    """For every column, the first of these features with the same direction; -1 for zeros.

    Where the columns are not known, each is the first.
    """
    representative = np.arange(design.shape[1])
    norms = design.column_norms()
    seen: dict[bytes, int] = {}
    for j in features.tolist():
        if norms[j] == 0:
            representative[j] = -1
        elif design.has_stored_columns:
            key = direction_key(design.stored_columns(np.array([j]))[:, 0])
            representative[j] = seen.setdefault(key, j)
    return representative
