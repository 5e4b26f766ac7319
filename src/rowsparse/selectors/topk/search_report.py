"""Searches and proofs for TopK, and their results as a solution in the units of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._deadline import Deadline
from rowsparse._validation import warn_user
from rowsparse.certificate import Proof, Statement
from rowsparse.certificate.data import data_hash
from rowsparse.certificate.proof import Dual, Step
from rowsparse.selectors.base.linear_problem import LinearProblem
from rowsparse.selectors.base.source import Samples
from rowsparse.selectors.topk.topk_problem import TopKProblem
from rowsparse.solvers.losses.newton import NewtonLoss
from rowsparse.solvers.problem import ROUNDING, Fit, Options, Outcome, Problem, Proven
from rowsparse.solvers.proof.prover import candidates_of, prove
from rowsparse.solvers.search.gram import GramProblem
from rowsparse.solvers.search.search import grown, refit, search, with_support
from rowsparse.solvers.solution import (
    Monitor,
    Solution,
    relative_gap,
    scores_with_closeness,
    silent,
)

if TYPE_CHECKING:
    from rowsparse.selectors.topk.topk import TopK

# With more points than this in the history of a proof, every second one is dropped.
_MOST_POINTS = 2000


def searched(posed: TopKProblem, problem: Problem, options: Options) -> Solution:
    """The solution of a search."""
    found = search(problem, options)
    posed.warn_if_arbitrary(found, problem.ridge)
    return solution_of(found, posed, no_proof(found.objective))


def proven(
    posed: TopKProblem, problem: Problem, options: Options, statement: Statement
) -> Solution:
    """The solution of a search, improved if a proof finds better, with its certificate."""
    history = ProofHistory(options.monitor)
    # One start alone: easy proofs need no others.
    first = search(problem, replace(options, n_restarts=0))
    best = _BestSearch(problem, options, first)
    history.record(first.objective, 0.0, 0)
    proof = prove(problem, first.fit, replace(options, monitor=history), best)
    _warn_if_nothing_is_proven(posed.loss_name, problem, proof)
    found = best.outcome
    if not np.array_equal(proof.support, found.support):
        found = with_support(problem, found, proof.support)
    bound, status = _bound_and_status(proof, found.fit, options)
    in_units = partial(posed.data.restored, "objective")
    certificate: dict[str, Any] = {
        "lower_bound_": bound,
        "gap_": found.objective - bound,
        "status_": status,
        "root_bound_": min(proof.root_bound, bound),
        "n_nodes_": proof.nodes,
        "proof_history_": history.finished(found.objective, bound, proof.nodes, in_units),
        "proof_": _kept(proof, found.fit, bound, posed.data, statement, _hash_of(posed.data)),
    }
    if options.listing is not None:
        zeros = np.flatnonzero(problem.loss.design.column_norms() == 0)
        left_out = zeros if problem.ridge == 0 and problem.choices.groups is None else zeros[:0]
        certificate |= _listing(proof, found.objective, certificate["proof_"], in_units, left_out)
    posed.warn_if_arbitrary(found, problem.ridge)
    return solution_of(found, posed, certificate)


def _bound_and_status(proof: Proven, fit: Fit, options: Options) -> tuple[float, str]:
    """The lower bound of all choices, and whether the best one found is that low."""
    bound = min(proof.lower_bound, fit.objective)
    closed = relative_gap(fit.objective, fit.objective - bound) <= options.gap_tol
    return bound, "optimal" if closed else "gap"


def _kept(
    proof: Proven,
    fit: Fit,
    bound: float,
    data: LinearProblem,
    statement: Statement,
    data_hash: Array | None,
) -> Proof:
    """The proof in the units of the data."""
    return Proof(
        statement=statement,
        support=fit.support,
        objective=float(data.restored("objective", fit.objective)),
        lower_bound=float(data.restored("objective", bound)),
        diagonal=proof.diagonal,
        data=data_hash,
        steps=_in_data_units(data, proof.steps),
    )


@dataclass(frozen=True)
class ProvenSize:
    """The best choice found of one k, in the units of the solver, and its proof."""

    fit: Fit
    status: str
    n_nodes: int
    proof: Proof


def proven_path(
    posed: TopKProblem, alpha: float, k_max: int, options: Options, selector: TopK
) -> dict[int, ProvenSize]:
    """The best choice of every k up to ``k_max``, each with a proof.

    The proofs share what is computed from the columns, and the search of a path that gives each
    its start. Each k in turn has as much of the time as each one after it. Ctrl-C ends them all.
    """
    own = replace(options, n_restarts=0, keep_on_interrupt=False)
    fits, gram = posed.solve(alpha, k_max, own), posed.gram_at(posed.problem(alpha, k_max).ridge)
    shared, about = candidates_of(posed.problem(alpha, k_max)), _hash_of(posed.data)
    deadline, least = options.deadline, np.inf
    found: dict[int, ProvenSize] = {}
    for k, fit in fits.items():
        sized = replace(posed, data=replace(posed.data, k=k))
        problem = sized.problem(alpha, k)
        if fit.objective > least:  # the proof before this one has found better than the path had
            fit = grown(problem, found[k - 1].fit, gram)
        own = replace(own, deadline=deadline.share(1.0 / (k_max - k + 1)))
        full = replace(own, n_restarts=options.n_restarts)
        again = partial(_searched_again, problem, full, fit, gram)
        try:
            proof = prove(problem, fit, own, again, shared)
        except KeyboardInterrupt:
            if not options.keep_on_interrupt:
                raise
            deadline = Deadline(0.0)
            proof = prove(problem, fit, replace(own, deadline=deadline), again, shared)
        if not np.array_equal(proof.support, fit.support):
            fit = refit(problem, proof.support, gram)
        least = min(least, fit.objective)
        fit = replace(fit, objective=least, P=None)
        bound, status = _bound_and_status(proof, fit, options)
        kept = _kept(proof, fit, bound, posed.data, statement_of(selector, sized, alpha), about)
        found[k] = ProvenSize(fit, status, proof.nodes, kept)
    _warn_if_nothing_is_proven(posed.loss_name, problem, proof)
    return found


def _searched_again(
    problem: Problem, options: Options, known: Fit, gram: GramProblem | None
) -> tuple[Index, float]:
    """The better of a fit and of the result of a search with all its starts."""
    if options.n_restarts:
        known = min(known, search(problem, options, gram).fit, key=lambda fit: fit.objective)
    return known.support, known.objective


@dataclass(frozen=True)
class ListedChoices:
    """The choices that a proof lists, in the units of the data.

    Attributes
    ----------
    units : list of lists of int
        The columns, or groups of them, of each choice, the best one first.
    objectives, errors : arrays
        Their objectives, and by how much rounding may have changed these.
    others : float
        No other choice has an objective below this.
    copies : array of int or None
        For every unit the first that is a copy of it; None if there are none.
    left_out : array of int
        Columns that add nothing to a choice, which the proof leaves out.
    """

    units: list[list[int]]
    objectives: Array
    errors: Array
    others: float
    copies: Index | None
    left_out: Index


def _listing(
    proven: Proven,
    best: float,
    proof: Proof,
    in_units: Callable[[Any], Any],
    left_out: Index,
) -> dict[str, ListedChoices | Proof]:
    """The choices that a proof lists; the first has the ``best`` objective."""
    units = [list(one.units) for one in proven.listed]
    objectives = np.maximum([best, *(one.objective for one in proven.listed[1:])], best)
    least = np.array([one.least for one in proven.listed])
    with np.errstate(over="ignore"):
        others = float(in_units(proven.others))
        listed = ListedChoices(
            units,
            in_units(objectives),
            in_units(np.maximum(objectives - least, ROUNDING * objectives)),
            others,
            proven.copies,
            left_out,
        )
    return {
        "listed_": listed,
        "proof_": replace(proof, lower_bound=others, listed=np.array(units, dtype=np.int32)),
    }


@dataclass
class _BestSearch:
    """The best outcome of searches: of one start, and if it is called of all starts."""

    problem: Problem
    options: Options
    outcome: Outcome

    def __call__(self) -> tuple[Index, float]:
        if self.options.n_restarts:
            restarted = search(self.problem, self.options)
            # A deadline may have cut it short.
            if restarted.objective <= self.outcome.objective:
                self.outcome = restarted
        return self.outcome.support, self.outcome.objective


def no_proof(objective: float) -> dict[str, Any]:
    """The attributes of a proof where there is none: an objective is not negative."""
    return {"status_": "heuristic", "lower_bound_": 0.0, "gap_": objective}


def solution_of(result: Outcome, posed: TopKProblem, certificate: dict[str, Any]) -> Solution:
    """The solution of a search on d features, with its certificate."""
    d = result.gains.size
    V, b = posed.loss.expand(result.fit.W, result.fit.b)
    W = np.zeros((d, V.shape[1]))
    W[result.support] = V
    costs = np.zeros((d, 1))
    costs[result.support, 0] = result.costs
    return Solution(
        W=W,
        b=b,
        objective=result.objective,
        history=result.history,
        n_iter=result.history.size,
        converged=True,
        scores=scores_with_closeness(costs, result.gains, result.support),
        support=result.support,
        attributes={"n_starts_": result.n_starts, **certificate},
    )


def statement_of(selector: TopK, posed: TopKProblem, alpha: float) -> Statement:
    """The statement of a proof, in numbers and words that a file can hold."""
    data, asked = posed.data, posed.constraints
    groups = asked.choices(data.k).groups
    class_weight, classes = selector.class_weight, data.targets.classes
    if isinstance(class_weight, dict):
        assert classes is not None
        class_weight = [float(class_weight.get(c, 1.0)) for c in classes.tolist()]
    return Statement(
        n_features=data.design.shape[1],
        k=data.k,
        alpha=float(alpha),
        loss=posed.loss_name,
        task=data.targets.task,
        standardize=bool(selector.standardize),
        fit_intercept=bool(data.fit_intercept),
        class_weight=class_weight,
        include=list(map(int, asked.include)),
        exclude=list(map(int, asked.exclude)),
        clip=None if selector.clip is None else float(selector.clip),
        feature_groups=None if groups is None else [group.tolist() for group in groups],
        tolerance=None if selector._listing is None else selector._listing.tolerance,
    )


def _warn_if_nothing_is_proven(loss: str, problem: Problem, proof: Proven) -> None:
    if problem.ridge > 0 or not proof.objective > 0.0:
        return
    if isinstance(problem.loss, NewtonLoss):
        warn_user(f"certify=True proves nothing with loss={loss!r} and no ridge; take alpha > 0.")
    elif proof.lower_bound == 0.0 and not proof.nodes:
        tried = "" if problem.choices.groups else ", and too many choices to try them all"
        warn_user(
            "certify=True proves nothing here without a ridge: there are as many columns as "
            f"samples or dependent columns{tried}; take alpha > 0."
        )


def _hash_of(data: LinearProblem) -> Array | None:
    """Which data a proof is about; None for sums over samples, which are not at hand."""
    source = data.source
    if not isinstance(source, Samples):
        return None
    targets = source.required_targets
    return data_hash(source.X, targets.Y * targets.unit, source.sample_weight)


def _in_data_units(problem: LinearProblem, steps: list[Step]) -> list[Step]:
    """The steps with coefficients of the columns of X; those that share them still do."""
    converted: dict[int, Dual] = {}

    def in_units(dual: Dual | None) -> Dual | None:
        if dual is None:
            return None
        if id(dual) not in converted:
            scale: Array = problem.scaling.inv_scale[dual.features, None]
            # Coefficients beyond the floats would prove nothing: without one of them, less.
            with np.errstate(over="ignore"):
                V = np.nan_to_num(dual.V * scale * problem.y_unit, posinf=0.0, neginf=0.0)
            converted[id(dual)] = Dual(dual.features, V)
        return converted[id(dual)]

    return [Step(s.kind, in_units(s.dual), s.feature, s.out, s.fixed) for s in steps]


# ------------------------------------------------------------------------- the history
class ProofHistory:
    """Records the objective, the bound and the number of nodes, where one of the first two changes.

    It is the monitor of a proof, which tells another one. Seconds count from its making.
    """

    def __init__(self, told: Monitor = silent) -> None:
        self._told = told
        self._start = perf_counter()
        self._points: list[tuple[float, float, float, int]] = []

    def __call__(self, objective: float, /, **details: float) -> bool:
        """Record objective, bound and nodes of a proof, and pass them on."""
        self.record(objective, details["lower_bound"], int(details["nodes"]))
        return self._told(objective, **details)

    def record(self, objective: float, lower_bound: float, nodes: int) -> None:
        """Record the best objective and the highest bound so far."""
        if self._points:
            _, best, highest, _ = self._points[-1]
            objective, lower_bound = min(objective, best), max(lower_bound, highest)
            if (objective, lower_bound) == (best, highest):
                return
        self._points.append((perf_counter() - self._start, objective, lower_bound, nodes))
        if len(self._points) > _MOST_POINTS:
            del self._points[1:-1:2]

    def finished(
        self, objective: float, lower_bound: float, nodes: int, restored: Callable[[Any], Any]
    ) -> dict[str, Array]:
        """The columns by name, the end of the proof last, in the units of the data."""
        end = (perf_counter() - self._start, objective, lower_bound, nodes)
        seconds, objectives, bounds, counts = map(np.array, zip(*self._points, end, strict=True))
        return {
            "seconds": seconds,
            "objective": restored(objectives),
            "lower_bound": restored(bounds),
            "nodes": counts,
        }
