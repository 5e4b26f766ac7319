"""What TopK proves of its answer, and how that is reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._deadline import Deadline
from rowsparse.certificate import Proof, Statement
from rowsparse.certificate.data import data_hash
from rowsparse.certificate.proof import Dual, Step
from rowsparse.selectors.base.messages import warn_user
from rowsparse.selectors.base.problem import LinearProblem
from rowsparse.selectors.topk.constraints import Constraints
from rowsparse.selectors.topk.proof_history import ProofHistory
from rowsparse.selectors.topk.solution import no_proof
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.proof.branch import ProofProgress
from rowsparse.solvers.proof.logistic_prover import certify_logistic
from rowsparse.solvers.proof.prover import ProverResult, certify
from rowsparse.solvers.solution import relative_gap
from rowsparse.solvers.subset.logistic import with_logistic_support
from rowsparse.solvers.subset.search import SearchResult, with_support

# A search with so many restarts.
Search = Callable[[int], SearchResult]


@dataclass
class _BestSearch:
    """The best result of searches: of one start, and if it is called of ``n_restarts`` more."""

    search: Search
    n_restarts: int
    result: SearchResult

    def __call__(self) -> tuple[Index, float]:
        if self.n_restarts:
            restarted = self.search(self.n_restarts)
            # A deadline may have cut it short.
            if restarted.objective <= self.result.objective:
                self.result = restarted
        return self.result.support, self.result.objective


@dataclass(frozen=True)
class Certification:
    """Searches, and proves what is asked for of the result.

    ``deadline`` is that of search and proof together, and ``keep_on_interrupt`` says whether
    Ctrl-C ends the proof with what it has; the others are parameters of
    :class:`rowsparse.TopK`. ``history`` counts the seconds from here on.
    """

    loss: str
    alpha: float
    standardize: bool
    clip: float | None
    class_weight: Any
    n_restarts: int
    certify: bool
    gap_tol: float
    n_jobs: int | None
    deadline: Deadline
    keep_on_interrupt: bool
    history: ProofHistory = field(default_factory=ProofHistory)

    def of_squared(
        self, problem: LinearProblem, asked: Constraints, ridge: float, search: Search
    ) -> tuple[SearchResult, dict[str, Any]]:
        """The result, improved if a proof found better, and what is proven of it."""
        if not self.certify:
            return self._unproven(search)
        best = self._first(search)
        found = best.result.support, best.result.objective
        options = self._options(problem, asked, best)
        proof = certify(problem.design, problem.Y, problem.k, *found, ridge=ridge, **options)
        if proof.lower_bound == 0.0 < proof.objective and ridge == 0.0 and not proof.nodes:
            warn_user(
                "certify=True proves nothing here without a ridge: there are as many columns as "
                "samples or dependent columns, and too many choices to try them all; take "
                "alpha > 0."
            )
        result = best.result
        if not np.array_equal(proof.support, result.support):
            result = with_support(result, problem.design, problem.Y, proof.support, ridge=ridge)
        return result, self._proven(problem, asked, result, proof)

    def of_logistic(
        self,
        problem: LinearProblem,
        asked: Constraints,
        loss: LogisticLoss,
        ridge: float,
        search: Search,
    ) -> tuple[SearchResult, dict[str, Any]]:
        """As :meth:`of_squared`, for the logistic loss."""
        if not self.certify:
            return self._unproven(search)
        best = self._first(search)
        found = best.result.support, best.result.objective
        options = self._options(problem, asked, best)
        proof = certify_logistic(loss, problem.k, *found, ridge=ridge, **options)
        if ridge == 0.0 < proof.objective:
            warn_user(
                "certify=True proves nothing with loss='logistic' and no ridge; take alpha > 0."
            )
        result = best.result
        if not np.array_equal(proof.support, result.support):
            result = with_logistic_support(result, loss, proof.support, ridge=ridge)
        return result, self._proven(problem, asked, result, proof)

    def _unproven(self, search: Search) -> tuple[SearchResult, dict[str, Any]]:
        result = search(self.n_restarts)
        return result, no_proof(result.objective)

    def _first(self, search: Search) -> _BestSearch:
        """One start alone: what is easy to prove needs no others."""
        best = _BestSearch(search, self.n_restarts, search(0))
        self.history.record(best.result.objective, 0.0, 0)
        return best

    def _options(
        self, problem: LinearProblem, asked: Constraints, best: _BestSearch
    ) -> dict[str, Any]:
        """What the provers of all losses take."""

        def monitor(p: ProofProgress) -> bool:
            self.history.record(p.objective, p.lower_bound, p.nodes)
            return problem.monitor(p.objective, lower_bound=p.lower_bound, nodes=p.nodes)

        return {
            "include": np.array(asked.include, dtype=np.intp),
            "exclude": np.array(asked.exclude, dtype=np.intp),
            "gap_tol": self.gap_tol,
            "deadline": self.deadline,
            "keep_on_interrupt": self.keep_on_interrupt,
            "monitor": monitor,
            "search": best,
            "n_jobs": self.n_jobs,
        }

    def _proven(
        self, problem: LinearProblem, asked: Constraints, result: SearchResult, proof: ProverResult
    ) -> dict[str, Any]:
        bound = min(proof.lower_bound, result.objective)
        gap = result.objective - bound
        closed = relative_gap(result.objective, gap) <= self.gap_tol
        return {
            "lower_bound_": bound,
            "gap_": gap,
            "status_": "optimal" if closed else "gap",
            "root_bound_": min(proof.root_bound, bound),
            "n_nodes_": proof.nodes,
            "proof_history_": self.history.finished(
                result.objective, bound, proof.nodes, partial(problem.restored, "objective")
            ),
            "proof_": Proof(
                statement=self._statement(problem, asked),
                support=result.support,
                objective=problem.restored("objective", result.objective),
                lower_bound=problem.restored("objective", bound),
                diagonal=proof.diagonal,
                data=_hash_of(problem),
                steps=_in_data_units(problem, proof.steps),
            ),
        }

    def _statement(self, problem: LinearProblem, asked: Constraints) -> Statement:
        """What a proof is about, in numbers and words that a file can hold."""
        class_weight, classes = self.class_weight, problem.targets.classes
        if isinstance(class_weight, dict):
            assert classes is not None
            class_weight = [float(class_weight.get(c, 1.0)) for c in classes.tolist()]
        return Statement(
            n_features=problem.design.shape[1],
            k=problem.k,
            alpha=float(self.alpha),
            loss=self.loss,
            task=problem.targets.task,
            standardize=bool(self.standardize),
            fit_intercept=bool(problem.fit_intercept),
            class_weight=class_weight,
            include=list(map(int, asked.include)),
            exclude=list(map(int, asked.exclude)),
            clip=None if self.clip is None else float(self.clip),
        )


def _hash_of(problem: LinearProblem) -> Array | None:
    """Which data a proof is about; None for Moments, which do not have them."""
    sample = problem.sample
    if sample is None:
        return None
    targets = sample.required_targets
    return data_hash(sample.X, targets.Y * targets.unit, sample.sample_weight)


def _in_data_units(problem: LinearProblem, steps: list[Step]) -> list[Step]:
    """The steps with coefficients of the columns of X; those that share them still do."""
    converted: dict[int, Dual] = {}

    def in_units(dual: Dual | None) -> Dual | None:
        if dual is None:
            return None
        if id(dual) not in converted:
            scale: Array = problem.units.inv_scale[dual.features, None]
            # Coefficients beyond the floats would prove nothing: without one of them, less.
            with np.errstate(over="ignore"):
                V = np.nan_to_num(dual.V * scale * problem.y_unit, posinf=0.0, neginf=0.0)
            converted[id(dual)] = Dual(dual.features, V)
        return converted[id(dual)]

    return [Step(s.kind, in_units(s.dual), s.feature, s.out, s.fixed) for s in steps]
