"""Branch and bound for the best k units: the open nodes, and the rounds that expand them.

The tree grows in rounds. Each takes the open nodes with the least bounds, a fixed number of them
at most, and expands a subtree below each, all with the best objective known at the start of the
round (:mod:`rowsparse.solvers.proof.subtree`). The results are merged in the order of the nodes, so
that the outcome does not depend on the worker processes (:mod:`rowsparse.solvers.proof.workers`).
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from rowsparse._arrays import Index
from rowsparse._threads import one_blas_thread
from rowsparse.certificate.proof import Dual, Kind, Step
from rowsparse.solvers.problem import Listed, Options
from rowsparse.solvers.proof.candidates import Candidates
from rowsparse.solvers.proof.expander import Expander, Known, Node, bounded, root_node
from rowsparse.solvers.proof.subtree import Steps, Subtree, SubtreeResult, SubtreeTask, TreeStep
from rowsparse.solvers.proof.workers import WorkerPool

# A round takes 1 / _OPEN_PER_TASK of the open nodes, at most _MAX_TASKS. With that many tasks each
# expands up to _NODES_PER_TASK nodes, with fewer tasks one.
_OPEN_PER_TASK, _MAX_TASKS, _NODES_PER_TASK = 8, 32, 4
# Number of nodes and share of the time for a proof before a search for a better choice.
_NODES_BEFORE_SEARCH, _SHARE_BEFORE_SEARCH = 32, 0.1
# Seconds after which worker processes are started, if the open nodes will take as long again.
_SECONDS_BEFORE_WORKERS = 1.0
# The most memory for the steps of a proof; of a longer one only the root's are kept.
_MAX_PROOF_BYTES = 1 << 28


class Tree:
    """Best-first search with screening in every node.

    Parameters
    ----------
    problem : Candidates
        The candidates; units that must not be chosen are not among them.
    support : array of int
        The columns of a good choice to start from.
    objective : float
        Its objective.
    options : Options
        The monitor is called after every task. Processes are started only if the search takes
        long; they do not change the answer, unless the deadline cuts it short.
    refit : callable
        The accurate objective of some columns, which decides whether a choice is better.
    canonical : callable
        A choice of units with the first copies of them, sorted.

    Attributes
    ----------
    support, objective : array of int and float
        The best columns found, and their objective.
    nodes : int
        Number of nodes bounded, by a relaxation or by trying all choices.
    stopped : bool
        Whether the deadline, the monitor or Ctrl-C ended the search before it was complete.
    listed : dict
        With a listing, the choices listed so far, by their units.
    """

    def __init__(
        self,
        problem: Candidates,
        support: Index,
        objective: float,
        options: Options,
        refit: Callable[[Index], float],
        canonical: Callable[[Index], Index] = np.sort,
    ) -> None:
        self.support, self.objective = np.sort(support), objective
        self.nodes, self.stopped = 0, False
        self.listed: dict[tuple[int, ...], Listed] = {}
        self._gap_tol, self._deadline = options.gap_tol, options.deadline
        self._listing, self._canonical = options.listing, canonical
        self._keep_on_interrupt, self._monitor = options.keep_on_interrupt, options.monitor
        self._refit = refit
        self._expander = Expander(problem)
        self._workers = WorkerPool(problem, options.n_jobs)
        self._start, self._is_long = time.perf_counter(), False
        self._open = [root_node(problem, self.support)]
        self._order = 0
        # The nodes of this round without a result so far; the bound must count them.
        self._pending: deque[Node] = deque()
        # The least bound of all subtrees that were closed.
        self._closed_bound = np.inf
        self._steps: dict[int, Sequence[TreeStep]] = {}
        self._n_keys = self._n_bytes = 0
        self._root_bound: float | None = None

    # ------------------------------------------------------------------------ what it proves
    @property
    def others(self) -> float:
        """A value that no choice is below, apart from those listed."""
        opened = self._open[0].bound if self._open else np.inf
        pending = min((node.bound for node in self._pending), default=np.inf)
        # Rounding may make a bound negative, but not an objective.
        return max(float(min(opened, pending, self._closed_bound)), 0.0)

    @property
    def lower_bound(self) -> float:
        """A value that no choice is below."""
        return min(self.others, self.objective)

    @property
    def threshold(self) -> float:
        """The bound from which on a set of choices needs no more expanding."""
        return self._known(0.0).threshold

    @property
    def root_bound(self) -> float:
        """The bound before any branching."""
        return 0.0 if self._root_bound is None else min(self._root_bound, self.lower_bound)

    @property
    def complete(self) -> bool:
        """Whether no open node can hold a better choice, or one to list."""
        return not (self._open and self._open[0].bound < self.threshold)

    @property
    def steps(self) -> list[Step]:
        """Those of the whole proof, or of the root bound if they take too much memory."""
        if not self._is_kept:
            return root_alone(self._steps)
        return depth_first(self._steps, {node.key: node.dual for node in self._open})

    @property
    def _is_kept(self) -> bool:
        return self._n_bytes <= _MAX_PROOF_BYTES

    def _known(self, least: float) -> Known:
        most = np.inf
        if self._listing is not None and len(self.listed) == self._listing.max_choices:
            most = max(one.objective for one in self.listed.values())
        return Known(self.objective, least, self._gap_tol, self._listing, most)

    # ------------------------------------------------------------------------ the search
    def run(self, max_nodes: float = np.inf) -> None:
        """Search until the gap is closed, time is up, or the monitor stops it.

        After ``max_nodes`` nodes it pauses; another call resumes it.
        """
        self.stopped = False
        try:
            with one_blas_thread(), self._workers:
                while not self.complete and self.nodes < max_nodes:
                    if not self._round():
                        self.stopped = True
                        break
        except KeyboardInterrupt:
            if not self._keep_on_interrupt:
                raise
            self.stopped = True

    def run_or_search(
        self, search: Callable[[], tuple[Index, float]], max_nodes: float = np.inf
    ) -> None:
        """As :meth:`run`; if a few nodes do not close the gap, ``search`` for a better choice.

        It returns a choice and its objective. Most problems that are easy to prove are closed
        without it, and on others its result makes the tree smaller.
        """
        whole, self._deadline = self._deadline, self._deadline.share(_SHARE_BEFORE_SEARCH)
        self.run(min(max_nodes, _NODES_BEFORE_SEARCH))
        out_of_time, self._deadline = self._deadline.expired(), whole
        if self.complete or whole.expired() or (self.stopped and not out_of_time):
            return
        try:
            support, objective = search()
        except KeyboardInterrupt:
            if not self._keep_on_interrupt:
                raise
            self.stopped = True
            return
        if objective < self.objective:
            self.support, self.objective = np.sort(support), objective
        self.run(max_nodes)

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
                bound = self.lower_bound
                if self._monitor(self.objective, lower_bound=bound, nodes=self.nodes):
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
        while not self.complete and len(nodes) < size:
            nodes.append(heapq.heappop(self._open))
        # Nodes with larger bounds than an open one wait for a later round.
        max_bound = self._open[0].bound if self._open else np.inf
        return [SubtreeTask(node, self._known(node.bound), max_bound, max_nodes) for node in nodes]

    def _results(self, tasks: list[SubtreeTask]) -> Generator[SubtreeResult, None, None]:
        """The results of the tasks, in their order; fewer if time is up."""
        self._is_long = self._is_long or self._takes_long(len(tasks))
        if len(tasks) > 1 and self._is_long and self._workers.is_ready():
            results = self._workers.results(tasks, self._deadline)
            for task, result in zip(tasks, results, strict=False):
                yield self._expanded(task) if result is None else result
            return
        for task in tasks:
            yield self._expanded(task)

    def _takes_long(self, n_tasks: int) -> bool:
        """Whether the search has taken long, and the open nodes alone will take as long again."""
        taken = time.perf_counter() - self._start
        left = taken * (len(self._open) + n_tasks) / max(self.nodes, 1)
        return min(taken, left) > _SECONDS_BEFORE_WORKERS

    def _expanded(self, task: SubtreeTask) -> SubtreeResult:
        return Subtree(self._expander, task).expand(self._deadline)

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
        if self._listing is not None:
            self._list(result.listed)

    def _list(self, found: Sequence[Listed]) -> None:
        """List choices, each once, and drop those that are above the threshold now."""
        assert self._listing is not None
        for one in found:
            units = tuple(self._canonical(np.array(one.units)).tolist())
            self.listed.setdefault(units, replace(one, units=units))
        best = sorted(self.listed.values(), key=lambda one: (one.objective, one.units))
        self.listed = {one.units: one for one in best[: self._listing.max_choices]}
        threshold = self.threshold
        self.listed = {u: one for u, one in self.listed.items() if one.least < threshold}
        dropped = (one.least for one in best if one.units not in self.listed)
        self._closed_bound = min(self._closed_bound, *dropped, np.inf)

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


def depth_first(steps: Steps, duals: Mapping[int, Dual | None]) -> list[Step]:
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
