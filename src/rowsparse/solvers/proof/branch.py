"""Branch and bound for the best k features.

The tree grows in rounds. Each takes the open nodes with the least bounds, a fixed number of them
at most, and expands a subtree below each, all with the best objective known at the start of the
round (:mod:`rowsparse.solvers.proof.tree`). The results are merged in the order of the nodes, so
that the outcome does not depend on the worker processes (:mod:`rowsparse.solvers.proof.workers`).
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rowsparse._arrays import Index
from rowsparse._deadline import Deadline
from rowsparse._threads import one_blas_thread
from rowsparse.certificate.proof import Dual, Kind, Step
from rowsparse.solvers.proof.nodes import (
    Node,
    ProofOptions,
    Steps,
    SubproblemCache,
    SubtreeResult,
    SubtreeTask,
    TreeStep,
    bounded,
    root_node,
)
from rowsparse.solvers.proof.problem import CandidateProblem
from rowsparse.solvers.proof.tree import Subtree
from rowsparse.solvers.proof.workers import WorkerPool

# A round takes 1 / _OPEN_PER_TASK of the open nodes, at most _MAX_TASKS. With that many tasks each
# expands up to _NODES_PER_TASK nodes, with fewer tasks one.
_OPEN_PER_TASK, _MAX_TASKS, _NODES_PER_TASK = 8, 32, 4
# Before a search for a better choice, so many nodes and this share of the time are for a proof.
_NODES_BEFORE_SEARCH, _SHARE_BEFORE_SEARCH = 32, 0.1
# Seconds after which starting worker processes pays.
_SECONDS_BEFORE_WORKERS = 1.0
# The most memory for the steps of a proof; of a longer one only the root's are kept.
_MAX_PROOF_BYTES = 1 << 28


@dataclass(frozen=True)
class ProofProgress:
    """What a proof has reached so far."""

    lower_bound: float
    objective: float
    nodes: int


@dataclass
class BranchAndBoundResult:
    """The answer of branch and bound.

    Attributes
    ----------
    support : array of int
        The best features found.
    objective, lower_bound : float
        Their objective, and a value that no choice of k features is below.
    nodes : int
        Number of subproblems bounded, by a relaxation or by trying all choices.
    root_bound : float
        The bound before any branching.
    steps : list of Step
        Those of the whole proof, or of the root bound if they take too much memory.
    complete : bool
        Whether no open node can hold a better choice.
    stopped : bool
        Whether the deadline, the monitor or Ctrl-C ended the search before that.
    """

    support: Index
    objective: float
    lower_bound: float
    nodes: int
    root_bound: float
    steps: list[Step]
    complete: bool
    stopped: bool


class BranchAndBound:
    """Best-first search with screening in every node.

    Parameters
    ----------
    problem : CandidateProblem
        The candidates; features that must not be chosen are not among them.
    support : array of int
        A good choice to start from, as features of the design.
    objective : float
        Its objective.
    include : array of int
        Features that must be chosen.
    options : ProofOptions
        How many features to choose, and when a proof is complete.
    deadline : Deadline
        When to stop with what is proven by then.
    keep_on_interrupt : bool
        Whether Ctrl-C ends the search with what it has, instead of raising KeyboardInterrupt.
    refit : callable
        The accurate objective of a support, which decides whether a choice is better.
    monitor : callable
        Called with the progress after every task; True stops.
    n_jobs : int or None
        Processes, as in joblib; they are started only if the search takes longer than a second.
        They do not change the answer, unless the deadline cuts it short.
    """

    def __init__(
        self,
        problem: CandidateProblem,
        support: Index,
        objective: float,
        *,
        include: Index,
        options: ProofOptions,
        deadline: Deadline,
        keep_on_interrupt: bool,
        refit: Callable[[Index], float],
        monitor: Callable[[ProofProgress], bool],
        n_jobs: int | None,
    ) -> None:
        self.support, self.objective = np.sort(support), objective
        self.nodes = 0
        self._options, self._deadline = options, deadline
        self._keep_on_interrupt, self._refit, self._monitor = keep_on_interrupt, refit, monitor
        self._cache = SubproblemCache(problem)
        self._workers = WorkerPool(problem, options, n_jobs)
        self._start = time.perf_counter()
        self._open = [root_node(problem, options.k, self.support, include)]
        self._order = 0
        # The nodes of this round without a result so far; the bound must count them.
        self._pending: deque[Node] = deque()
        # The least bound of all subtrees that were closed.
        self._closed_bound = np.inf
        self._steps: dict[int, Sequence[TreeStep]] = {}
        self._n_keys = self._n_bytes = 0
        self._stopped = False
        self._root_bound: float | None = None

    # ------------------------------------------------------------------------ the search
    def run(self, max_nodes: float = np.inf) -> BranchAndBoundResult:
        """Search until the gap is closed, time is up, or the monitor stops it.

        After ``max_nodes`` nodes it pauses; another call resumes it.
        """
        self._stopped = False
        try:
            with one_blas_thread(), self._workers:
                while self._has_work() and self.nodes < max_nodes:
                    if not self._round():
                        self._stopped = True
                        break
        except KeyboardInterrupt:
            if not self._keep_on_interrupt:
                raise
            self._stopped = True
        duals = {node.key: node.dual for node in self._open}
        bound = self.lower_bound
        return BranchAndBoundResult(
            self.support,
            self.objective,
            bound,
            self.nodes,
            0.0 if self._root_bound is None else min(self._root_bound, bound),
            in_order(self._steps, duals) if self._is_kept else root_alone(self._steps),
            not self._has_work(),
            self._stopped,
        )

    def run_or_search(
        self, search: Callable[[], tuple[Index, float]], max_nodes: float = np.inf
    ) -> BranchAndBoundResult:
        """As :meth:`run`; if a few nodes do not close the gap, ``search`` for a better choice.

        It returns a choice and its objective. Most problems that are easy to prove are closed
        without it, and on others its result makes the tree smaller.
        """
        whole, self._deadline = self._deadline, self._deadline.share(_SHARE_BEFORE_SEARCH)
        found = self.run(min(max_nodes, _NODES_BEFORE_SEARCH))
        out_of_time, self._deadline = self._deadline.expired(), whole
        if found.complete or whole.expired() or (found.stopped and not out_of_time):
            return found
        try:
            support, objective = search()
        except KeyboardInterrupt:
            if not self._keep_on_interrupt:
                raise
            return replace(found, stopped=True)
        if objective < self.objective:
            self.support, self.objective = np.sort(support), objective
        return self.run(max_nodes)

    @property
    def lower_bound(self) -> float:
        """A value that no choice of k features is below."""
        opened = self._open[0].bound if self._open else np.inf
        pending = min((node.bound for node in self._pending), default=np.inf)
        least = float(min(opened, pending, self._closed_bound, self.objective))
        # Rounding may make a bound negative, but not an objective.
        return max(least, 0.0)

    @property
    def _is_kept(self) -> bool:
        return self._n_bytes <= _MAX_PROOF_BYTES

    def _has_work(self) -> bool:
        threshold = self._options.threshold(self.objective)
        return bool(self._open) and self._open[0].bound < threshold

    # ------------------------------------------------------------------------ the rounds
    def _round(self) -> bool:
        """Expand subtrees below the nodes with the least bounds; whether to go on."""
        tasks = self._next_tasks()
        self._pending.extend(task.node for task in tasks)
        results = self._results(tasks)
        try:
            while self._pending and not self._deadline.expired():
                result = next(results, None)
                if result is None:
                    return False
                self._pending.popleft()
                self._merge(result)
                if self._monitor(ProofProgress(self.lower_bound, self.objective, self.nodes)):
                    return False
            return not self._deadline.expired()
        finally:
            results.close()
            for node in self._pending:
                heapq.heappush(self._open, node)
            self._pending.clear()

    def _next_tasks(self) -> list[SubtreeTask]:
        size = min(max(len(self._open) // _OPEN_PER_TASK, 1), _MAX_TASKS)
        max_nodes = _NODES_PER_TASK if size == _MAX_TASKS else 1
        nodes: list[Node] = []
        while self._has_work() and len(nodes) < size:
            nodes.append(heapq.heappop(self._open))
        # Nodes with larger bounds than an open one wait for a later round.
        max_bound = self._open[0].bound if self._open else np.inf
        return [SubtreeTask(node, self.objective, max_bound, max_nodes) for node in nodes]

    def _results(self, tasks: list[SubtreeTask]) -> Generator[SubtreeResult, None, None]:
        """The results of the tasks, in their order; fewer if time is up."""
        patient = time.perf_counter() - self._start > _SECONDS_BEFORE_WORKERS
        if len(tasks) > 1 and patient and self._workers.is_ready():
            results = self._workers.results(tasks, self._deadline)
            for task, result in zip(tasks, results, strict=False):
                yield self._expanded(task) if result is None else result
            return
        for task in tasks:
            yield self._expanded(task)

    def _expanded(self, task: SubtreeTask) -> SubtreeResult:
        return Subtree(self._cache, self._options, task).expand(self._deadline)

    def _merge(self, result: SubtreeResult) -> None:
        self.nodes += result.n_bounded
        self._closed_bound = min(self._closed_bound, result.closed_bound)
        if self._root_bound is None:
            opened = min((node.bound for node in result.open_nodes), default=np.inf)
            self._root_bound = max(min(opened, result.closed_bound, self.objective), 0.0)
        self._record(result)
        for node in result.open_nodes:
            self._order += 1
            node.order = self._order
            heapq.heappush(self._open, node)
        if result.support is not None and result.objective < self.objective:
            value = self._refit(result.support)
            if value < self.objective:
                self.support, self.objective = result.support, value

    def _record(self, result: SubtreeResult) -> None:
        """Record the steps of a result; its new nodes get keys of the whole tree."""
        first = self._n_keys
        for key, steps in result.steps.items():
            if self._is_kept:
                self._steps[first - key if key < 0 else key] = [s.with_keys(first) for s in steps]
                self._n_bytes += sum(step.nbytes for step in steps)
        if not self._is_kept:
            self._steps = {0: self._steps[0]}
        for node in result.open_nodes:
            node.key = first - node.key if node.key < 0 else node.key
        self._n_keys += result.n_keys


def in_order(steps: Steps, duals: Mapping[int, Dual | None]) -> list[Step]:
    """The steps of a whole tree in the order of the stack, from those of its nodes.

    A node without steps was not expanded: it has the bound of its parent's dual point.
    """
    ordered: list[Step] = []
    stack = [0]
    while stack:
        key = stack.pop()
        chain = steps.get(key)
        if chain is None:
            ordered.append(bounded(duals.get(key)))
            continue
        ordered.extend(chain)
        for step in chain:
            stack.extend(reversed(step.children))
    return ordered


def root_alone(steps: Steps) -> list[Step]:
    """The steps of the bound before any branching."""
    chain = steps.get(0)
    if not chain:
        return [Step(Kind.OPEN)]
    if not any(step.children for step in chain):
        return list(chain)
    return [bounded(chain[0].dual)]
