"""Branch and bound for the best k features: a proof, or how far from one.

The tree grows in rounds. Each takes the open nodes with the least bounds, a fixed number of them
at most, and lets a part of the tree grow below each, all with the best objective known at the
start of the round (:mod:`rowsparse.solvers.proof.tree`). Their results are put together in the
order of the nodes, so that the outcome does not depend on the processes that computed them
(:mod:`rowsparse.solvers.proof.workers`).
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Index
from rowsparse.certificate.steps import Step, in_order, root_alone
from rowsparse.solvers.proof.candidates import Candidates
from rowsparse.solvers.proof.nodes import Goal, Harvest, Homes, Node, Task, root_node
from rowsparse.solvers.proof.tree import Subtree
from rowsparse.solvers.proof.workers import Crew, one_blas_thread

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
class Search:
    """The answer of branch and bound.

    Attributes
    ----------
    support : array of int
        The best features found.
    objective, lower_bound : float
        Their objective, and a bound that no choice of k features is below.
    nodes : int
        Number of subproblems bounded, by a relaxation or by looking at all pairs.
    root_bound : float
        The bound before any branching.
    steps : list of Step
        Those of the whole proof if it was to be kept, else those of the root bound.
    complete, stopped : bool
        Whether no choice is left to be looked at that might be better, and whether the time, the
        monitor or Ctrl-C ended the search before that.
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
    refit : callable, optional
        The objective of a support, to the last digits. A choice counts as better by this alone.
    keep : bool
        Whether the steps of the proof are kept.
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
        refit: Callable[[Index], float] | None = None,
        keep: bool = False,
        monitor: Callable[[Progress], bool] = lambda progress: False,
        n_jobs: int | None = None,
    ) -> None:
        self.support, self.objective = np.sort(support), objective
        self.time_limit, self.keep_on_interrupt = time_limit, keep_on_interrupt
        self.refit, self.monitor = refit, monitor
        self.nodes = 0
        self._goal = Goal(k, gap_tol, keep)
        self._homes = Homes(problem)
        self._crew = Crew(problem, self._goal, n_jobs)
        self._start = time.perf_counter()
        self._open = [root_node(problem, k, self.support, include)]
        self._order = 0
        # The nodes of this round whose harvest is not in yet: they count for the bound.
        self._growing: deque[Node] = deque()
        # The least bound of all subtrees that were closed.
        self._closed = np.inf
        self._steps: dict[int, Sequence[Step]] = {}
        self._keys = 0
        self._stopped = False
        self._root_bound: float | None = None

    # ------------------------------------------------------------------------ the search
    def run(self, most: float = np.inf) -> Search:
        """Search until the gap is closed, time is up, or the monitor stops it.

        After ``most`` nodes it pauses: another call goes on from there.
        """
        try:
            with one_blas_thread(), self._crew:
                while self._has_work() and self.nodes < most:
                    if not self._round():
                        self._stopped = True
                        break
        except KeyboardInterrupt:
            if not self.keep_on_interrupt:
                raise
            self._stopped = True
        duals = {node.key: node.dual for node in self._open}
        keep = self._goal.keep
        bound = self.lower_bound
        return Search(
            self.support,
            self.objective,
            bound,
            self.nodes,
            0.0 if self._root_bound is None else min(self._root_bound, bound),
            in_order(self._steps, duals) if keep else root_alone(self._steps),
            not self._has_work(),
            self._stopped,
        )

    @property
    def lower_bound(self) -> float:
        """A value that no choice of k features is below."""
        opened = self._open[0].bound if self._open else np.inf
        growing = min((node.bound for node in self._growing), default=np.inf)
        least = float(min(opened, growing, self._closed, self.objective))
        # A sum of squares is not negative, whatever rounding says.
        return max(least, 0.0)

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
        return Subtree(self._homes, self._goal, task).grow(self._out_of_time)

    def _gather(self, harvest: Harvest) -> None:
        self.nodes += harvest.nodes
        self._closed = min(self._closed, harvest.closed)
        if self._root_bound is None:
            opened = min((node.bound for node in harvest.opened), default=np.inf)
            self._root_bound = max(min(opened, harvest.closed, self.objective), 0.0)
        self._keep(harvest)
        for node in harvest.opened:
            self._order += 1
            node.order = self._order
            heapq.heappush(self._open, node)
        # What branch and bound takes for better may be so by rounding alone.
        if harvest.support is not None and harvest.objective < self.objective:
            value = harvest.objective if self.refit is None else self.refit(harvest.support)
            if value < self.objective:
                self.support, self.objective = harvest.support, value

    def _keep(self, harvest: Harvest) -> None:
        """Keep the steps of a harvest; its nodes get keys of their own."""
        first = self._keys
        for key, steps in harvest.steps.items():
            self._steps[first - key if key < 0 else key] = [s.with_keys(first) for s in steps]
        for node in harvest.opened:
            node.key = first - node.key if node.key < 0 else node.key
        self._keys += harvest.n_keys
