"""Branch and bound for the best k features: a proof, or how far from one.

The tree grows in rounds. Each takes the open nodes with the least bounds, a fixed number of them
at most, and lets a part of the tree grow below each, all with the best objective known at the
start of the round (:mod:`rowsparse.solvers.tree`). What they come to is put together in the order
of the nodes, so that it is the same wherever they grew (:mod:`rowsparse.solvers.workers`).
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.solvers.certificate import Candidates
from rowsparse.solvers.tree import (
    Goal,
    Harvest,
    Homes,
    Node,
    Relaxed,
    Subtree,
    Task,
    root_node,
)
from rowsparse.solvers.workers import Crew, one_blas_thread

# A round takes one open node in so many, a fixed number at most; below each of that number, so
# many may be expanded, below each of fewer one.
_SHARE, _ROUND, _DEPTH = 8, 32, 4
# Seconds of search after which processes are worth their start.
_PATIENCE = 1.0


@dataclass(frozen=True)
class Progress:
    """What a certificate has reached so far."""

    lower_bound: float
    objective: float
    nodes: int
    open_nodes: int
    seconds: float


@dataclass
class Proof:
    """The answer of branch and bound.

    Attributes
    ----------
    support : array of int
        The best features found.
    objective, lower_bound : float
        Their objective, and a bound that no choice of k features is below.
    optimal : bool
        Whether the two are as close as was asked.
    nodes : int
        Number of subproblems bounded, by a relaxation or by looking at all pairs.
    root_bound : float
        The bound before any branching.
    dual_features, dual_W : arrays
        W of the root bound, and the features of its rows.
    """

    support: Index
    objective: float
    lower_bound: float
    optimal: bool
    nodes: int
    root_bound: float
    dual_features: Index
    dual_W: Array
    seconds: float


class BranchAndBound:
    """Best bounds first, with screening in every node.

    Parameters
    ----------
    problem : Candidates
        The candidates; features that must not be chosen are not among them.
    k : int
        Number of features.
    support : array of int
        A good choice to start from, as features of the design.
    objective : float
        Its objective.
    include : array of int
        Features that must be chosen.
    gap_tol : float
        Gap, relative to the objective, at which the proof counts as complete.
    time_limit : float or None
        Seconds after which to stop with what is proven by then.
    keep_on_interrupt : bool
        Whether Ctrl-C ends the search with what it has, instead of going through.
    improve : callable, optional
        From a support (features) to one that is at least as good, and its objective.
    monitor : callable
        Told of the progress after every few nodes (each one, at first); True stops.
    n_jobs : int, optional
        Processes, as in joblib; they are started only if the search takes longer than a second.
        But for what a time limit cuts off, they do not change the answer.
    """

    def __init__(
        self,
        problem: Candidates,
        k: int,
        support: Index,
        objective: float,
        *,
        include: Index,
        gap_tol: float = 1e-6,
        time_limit: float | None = None,
        keep_on_interrupt: bool = False,
        improve: Callable[[Index], tuple[Index, float]] | None = None,
        monitor: Callable[[Progress], bool] = lambda progress: False,
        n_jobs: int | None = None,
    ) -> None:
        self.support, self.objective = np.sort(support), objective
        self.time_limit, self.keep_on_interrupt = time_limit, keep_on_interrupt
        self.improve, self.monitor = improve, monitor
        self.nodes = 0
        self._goal = Goal(k, gap_tol)
        self._homes = Homes(problem)
        self._crew = Crew(problem, self._goal, n_jobs)
        self._start = time.perf_counter()
        self._open = [root_node(problem, k, self.support, include)]
        self._order = 0
        # The nodes of this round whose harvest is not in yet: they count for the bound.
        self._growing: deque[Node] = deque()
        # The least bound of all subtrees that were closed.
        self._closed = np.inf
        self._root: Relaxed | None = None

    # ------------------------------------------------------------------------ the search
    def run(self) -> Proof:
        """Search until the gap is closed, time is up, or the monitor stops it."""
        try:
            with one_blas_thread(), self._crew:
                while self._has_work() and self._round():
                    pass
        except KeyboardInterrupt:
            if not self.keep_on_interrupt:
                raise
        bound, root = self.lower_bound, self._root
        none = np.zeros(0, dtype=np.intp)
        return Proof(
            self.support,
            self.objective,
            bound,
            bound >= self._threshold,
            self.nodes,
            -np.inf if root is None else root.bound.value,
            none if root is None else root.features,
            self._homes.root.B[:0] if root is None else root.W,
            self._seconds(),
        )

    @property
    def lower_bound(self) -> float:
        """A value that no choice of k features is below."""
        opened = self._open[0].bound if self._open else np.inf
        growing = min((node.bound for node in self._growing), default=np.inf)
        return float(min(opened, growing, self._closed, self.objective))

    def progress(self) -> Progress:
        """Where the search stands."""
        n_open = len(self._open) + len(self._growing)
        return Progress(self.lower_bound, self.objective, self.nodes, n_open, self._seconds())

    @property
    def _threshold(self) -> float:
        return self._goal.threshold(self.objective)

    def _seconds(self) -> float:
        return time.perf_counter() - self._start

    def _left(self) -> float:
        return np.inf if self.time_limit is None else self.time_limit - self._seconds()

    def _out_of_time(self) -> bool:
        return self._left() <= 0

    def _has_work(self) -> bool:
        return bool(self._open) and self._open[0].bound < self._threshold

    # ------------------------------------------------------------------------ the rounds
    def _round(self) -> bool:
        """Let the tree grow below the best nodes; whether to go on."""
        tasks = self._tasks()
        self._growing.extend(task.node for task in tasks)
        harvests = self._harvests(tasks)
        try:
            while self._growing and not self._out_of_time():
                harvest = next(harvests, None)
                if harvest is None:
                    return False
                self._growing.popleft()
                self._gather(harvest)
                if self.monitor(self.progress()):
                    return False
            return not self._out_of_time()
        finally:
            harvests.close()
            for node in self._growing:
                heapq.heappush(self._open, node)
            self._growing.clear()

    def _tasks(self) -> list[Task]:
        size = min(max(len(self._open) // _SHARE, 1), _ROUND)
        depth = _DEPTH if size == _ROUND else 1
        nodes: list[Node] = []
        while self._has_work() and len(nodes) < size:
            nodes.append(heapq.heappop(self._open))
        # Nodes above the best one that was not taken are better left to the next round.
        ceiling = self._open[0].bound if self._open else np.inf
        return [Task(node, self.objective, ceiling, depth) for node in nodes]

    def _harvests(self, tasks: list[Task]) -> Generator[Harvest, None, None]:
        """What the tasks come to, in their order; fewer if time is up."""
        if len(tasks) > 1 and self._seconds() > _PATIENCE and self._crew.is_ready():
            for task, harvest in zip(tasks, self._crew.harvests(tasks, self._left), strict=False):
                yield self._grown(task) if harvest is None else harvest
            return
        for task in tasks:
            yield self._grown(task)

    def _grown(self, task: Task) -> Harvest:
        subtree = Subtree(self._homes, self._goal, task)
        harvest = subtree.grow(self._out_of_time)
        self._root = self._root or subtree.first
        return harvest

    def _gather(self, harvest: Harvest) -> None:
        self.nodes += harvest.nodes
        self._closed = min(self._closed, harvest.closed)
        for node in harvest.opened:
            self._order += 1
            node.order = self._order
            heapq.heappush(self._open, node)
        # Better by rounding alone is enough: the bounds of the harvest go with its objective.
        if harvest.support is not None and harvest.objective < self.objective:
            self.support, self.objective = harvest.support, harvest.objective
            if self.improve is not None:
                better, least = self.improve(self.support)
                if least < self.objective:
                    self.support, self.objective = np.sort(better), least
