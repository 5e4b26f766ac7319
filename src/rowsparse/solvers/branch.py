"""Branch and bound for the best k features: a proof, or how far from one."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.solvers.certificate import Bound, Candidates
from rowsparse.solvers.completion import Remainder
from rowsparse.solvers.relaxation import Relaxation

# Features with which the relaxation starts, and which may enter it at a time.
_FIRST_SET, _ROOM = 100, 30
# Rounds of the working set in one node.
_ROUNDS = 12
# Accuracy of a node's relaxation, relative to ||Y||^2.
_TOL = 1e-7
# A subtree with fewer than this share of the candidates gets its own, smaller problem, as long
# as the Gram matrices copied for that take no more than so many bytes in all.
_COMPACT, _COMPACT_BYTES = 0.25, 1 << 30
# With two features to go and no more candidates than this, all pairs are scored at once.
_PAIRS = 1200
# Relative excess over the level at which a feature outside the working set must enter.
_VIOLATION = 1e-6


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
        Number of subproblems whose relaxation was solved.
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


@dataclass(order=True)
class _Node:
    """All choices that contain ``chosen`` and otherwise only ``allowed`` candidates."""

    bound: float
    order: int
    problem: Candidates = field(compare=False)
    chosen: Index = field(compare=False)
    allowed: Mask = field(compare=False)
    working: Index = field(compare=False)
    s: Array = field(compare=False)


class BranchAndBound:
    """Best bound first, with screening in every node.

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
        Told of the progress after every node; True stops.
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
    ) -> None:
        self.k, self.support, self.objective = k, np.sort(support), objective
        self.gap_tol, self.time_limit = gap_tol, time_limit
        self.improve, self.monitor = improve, monitor
        self.keep_on_interrupt = keep_on_interrupt
        self.nodes = 0
        self._order = 0
        self._spare_bytes = _COMPACT_BYTES
        self._start = time.perf_counter()
        self._open: list[_Node] = []
        # The least bound of all subtrees that were closed.
        self._closed = np.inf
        self._root(problem, include)

    # ------------------------------------------------------------------------ the search
    def run(self) -> Proof:
        """Search until the gap is closed, time is up, or the monitor stops it."""
        while self._open:
            if self._open[0].bound >= self._threshold or self._out_of_time():
                break
            node = heapq.heappop(self._open)
            try:
                self._expand(node)
            except KeyboardInterrupt:
                # Unfinished, it still counts for the bound.
                heapq.heappush(self._open, node)
                if not self.keep_on_interrupt:
                    raise
                break
            if self.monitor(self.progress()):
                break
        bound = self.lower_bound
        root = self._root_point
        return Proof(
            self.support,
            self.objective,
            bound,
            bound >= self._threshold,
            self.nodes,
            self._root_bound,
            root[0],
            root[1],
            self._seconds(),
        )

    @property
    def lower_bound(self) -> float:
        """A value that no choice of k features is below."""
        opened = self._open[0].bound if self._open else np.inf
        return float(min(opened, self._closed, self.objective))

    def progress(self) -> Progress:
        """Where the search stands."""
        return Progress(
            self.lower_bound, self.objective, self.nodes, len(self._open), self._seconds()
        )

    @property
    def _threshold(self) -> float:
        """Subtrees whose bound reaches this hold nothing better than what is known."""
        # A little less than the tolerance, so that rounding does not make it a little more.
        return self.objective - 0.99 * self.gap_tol * abs(self.objective)

    def _seconds(self) -> float:
        return time.perf_counter() - self._start

    def _out_of_time(self) -> bool:
        return self.time_limit is not None and self._seconds() >= self.time_limit

    # ------------------------------------------------------------------------- the nodes
    def _root(self, problem: Candidates, include: Index) -> None:
        chosen = np.flatnonzero(np.isin(problem.features, include))
        allowed = np.ones(len(problem), dtype=bool)
        allowed[chosen] = False
        alone = np.einsum("jc,jc->j", problem.B, problem.B)
        alone[~allowed] = -1.0
        first = largest_first(alone)[: min(_FIRST_SET, int(allowed.sum()))]
        known = np.flatnonzero(np.isin(problem.features, self.support) & allowed)
        working = np.union1d(first, known)
        s = np.where(np.isin(working, known), 0.5, 0.0)
        count = self.k - chosen.size
        s += (count - s.sum()) / max(working.size, 1)
        self._root_bound = -np.inf
        self._root_point = (np.zeros(0, dtype=np.intp), problem.B[:0])
        self._push(-np.inf, problem, chosen, allowed, working, s)

    def _push(
        self,
        bound: float,
        problem: Candidates,
        chosen: Index,
        allowed: Mask,
        working: Index,
        s: Array,
    ) -> None:
        self._order += 1
        node = _Node(bound, self._order, problem, chosen, allowed, working, s)
        heapq.heappush(self._open, node)

    def _expand(self, node: _Node) -> None:
        """Bound a node; close it, or split it in two."""
        count = self.k - node.chosen.size
        free = np.flatnonzero(node.allowed)
        if count == 0 or free.size <= count:
            self._leaf(node, np.concatenate([node.chosen, free[:count]]), free.size < count)
            return
        if count == 1:
            self._close(self._best_single(node.problem, node.chosen, free))
            return
        self.nodes += 1
        solved = self._relax(node, count)
        bound, working, s = solved
        value = max(bound.value, node.bound)
        if value >= self._threshold:
            self._close(value)
            return
        self._round(node, working, s, count)
        self._screen(node, bound, value)
        self._split(node, value, bound, working, s)

    def _close(self, bound: float) -> None:
        self._closed = min(self._closed, bound)

    def _leaf(self, node: _Node, positions: Index, too_few: bool) -> None:
        if too_few:
            return
        value = node.problem.objective(positions)
        self._offer(node.problem.features[positions], value)
        self._close(value - node.problem.solve_error)

    def _offer(self, features: Index, value: float) -> None:
        """Take a support that is better than the best one known."""
        if value < self.objective - 1e-12 * abs(self.objective):
            self.support, self.objective = np.sort(features), value
            if self.improve is not None:
                better, least = self.improve(self.support)
                if least < self.objective:
                    self.support, self.objective = np.sort(better), least

    def _relax(self, node: _Node, count: int) -> tuple[Bound, Index, Array]:
        """Solve the relaxation on a working set that grows until nothing outside violates it."""
        problem, chosen = node.problem, node.chosen
        working, s = node.working, node.s
        best: Bound | None = None
        for _ in range(_ROUNDS):
            positions = np.concatenate([chosen, working])
            relaxation = Relaxation(
                problem.rows(positions)[:, positions],
                problem.B[positions],
                problem.total,
                self.k,
                problem.ridge,
                chosen.size,
            )
            start = relaxation.nearest(np.concatenate([np.ones(chosen.size), s]))
            point, _ = relaxation.solve(start, tol=_TOL * problem.total, stop_above=self._threshold)
            active = positions[point.active]
            bound = problem.bound(active, point.W, chosen, node.allowed, self.k)
            if best is None or bound.value > best.value:
                best = bound
                self._remember_root(node, problem.features[active], point.W, bound.value)
            s = point.s[chosen.size :]
            if best.value >= self._threshold:
                break
            level = relaxation.level(point) * (1.0 + _VIOLATION)
            outside = node.allowed & (bound.q > level)
            outside[working] = False
            entering = np.flatnonzero(outside)
            if entering.size == 0:
                break
            entering = entering[largest_first(bound.q[entering])[:_ROOM]]
            working = np.concatenate([working, entering])
            s = np.concatenate([s, np.zeros(entering.size)])
        assert best is not None
        return best, working, s

    def _remember_root(self, node: _Node, features: Index, W: Array, value: float) -> None:
        if self.nodes == 1 and value > self._root_bound:
            self._root_bound, self._root_point = value, (features, W)

    def _round(self, node: _Node, working: Index, s: Array, count: int) -> None:
        """Try the choice nearest to the relaxed one."""
        strongest = working[largest_first(s)[:count]]
        positions = np.concatenate([node.chosen, strongest])
        if positions.size == self.k:
            self._offer(node.problem.features[positions], node.problem.objective(positions))

    def _screen(self, node: _Node, bound: Bound, value: float) -> None:
        """Drop what is in no better choice of this subtree, and fix what is in all of them."""
        q = bound.q
        inside = node.allowed & (q >= bound.k_th)
        out = node.allowed & ~inside & (value + bound.k_th - q > self._threshold)
        fixed = inside & (value + q - bound.next_one > self._threshold)
        # Whatever is ruled out this way lies above the threshold.
        if out.any() or fixed.any():
            self._close(self._threshold)
        node.allowed = node.allowed & ~out & ~fixed
        node.chosen = np.concatenate([node.chosen, np.flatnonzero(fixed)])

    def _split(self, node: _Node, value: float, bound: Bound, working: Index, s: Array) -> None:
        problem, chosen, allowed = node.problem, node.chosen, node.allowed
        count = self.k - chosen.size
        free = np.flatnonzero(allowed)
        if count < 0 or free.size < count:
            return
        if count <= 1 or free.size == count:
            self._push(value, problem, chosen, allowed, working, s)
            return
        if count == 2 and free.size <= _PAIRS:
            self._close(self._best_pair(problem, chosen, free))
            return
        full = np.zeros(len(problem))
        full[working] = s
        size = 8 * (chosen.size + free.size) ** 2
        if free.size < _COMPACT * len(problem) and size <= self._spare_bytes:
            self._spare_bytes -= size
            kept = np.sort(np.concatenate([chosen, free]))
            chosen, free = np.searchsorted(kept, chosen), np.searchsorted(kept, free)
            problem, full, q = problem.restricted(kept), full[kept], bound.q[kept]
            allowed = np.zeros(kept.size, dtype=bool)
            allowed[free] = True
        else:
            q = bound.q
        # Of the undecided ones the strongest: without it the bound rises most.
        branch = int(free[np.argmax(full[free] + 1e-12 * q[free] / max(float(q.max()), 1e-300))])
        rest = allowed.copy()
        rest[branch] = False
        for picked in (np.append(chosen, branch), chosen):
            self._child(value, problem, picked, rest, full, q)

    def _child(
        self, value: float, problem: Candidates, chosen: Index, allowed: Mask, s: Array, q: Array
    ) -> None:
        count = self.k - chosen.size
        free = np.flatnonzero(allowed)
        likely = largest_first(q[free])[: count + _ROOM]
        strong = allowed & (s > 0)
        strong[free[likely]] = True
        working = np.flatnonzero(strong)
        self._push(value, problem, chosen, allowed, working, s[working])

    # ------------------------------------------------------------- the last one or two
    def _best_single(self, problem: Candidates, chosen: Index, free: Index) -> float:
        """Complete ``chosen`` by the best single candidate; a bound on all ways to do so."""
        rest = Remainder(problem, chosen, free)
        at = int(np.argmax(rest.gains))
        value = rest.total - float(rest.gains[at])
        self._offer(problem.features[np.append(chosen, free[at])], value)
        return value - problem.solve_error

    def _best_pair(self, problem: Candidates, chosen: Index, free: Index) -> float:
        """Complete ``chosen`` by the best two candidates; a bound on all ways to do so."""
        rest = Remainder(problem, chosen, free)
        i, j, gain = rest.best_pair()
        value = rest.total - gain
        self._offer(problem.features[np.append(chosen, free[[i, j]])], value)
        return value - problem.solve_error


def largest_first(values: Array) -> Index:
    """The order of falling values, ties by index."""
    return np.argsort(-values, kind="stable")
