"""A part of the tree of branch and bound: what becomes of a node and of those below it.

A node stands for all choices of k features that contain some and otherwise only others of its
candidates. Nothing here depends on the rest of the tree but for the best objective known, so
that parts of it may grow anywhere, in any order, and come out the same.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import blake2b

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
# A node with fewer than this share of the candidates gets its own, smaller problem; of these, the
# latest are kept up to so many bytes.
_COMPACT, _HOME_BYTES = 0.25, 1 << 28
# With two features to go and no more candidates than this, all pairs are scored at once; with no
# more than this few, that takes less time than a relaxation.
_PAIRS, _FEW = 1200, 400
# Relative excess over the level at which a feature outside the working set must enter.
_VIOLATION = 1e-6


@dataclass(frozen=True)
class Home:
    """Some candidates of the root problem, and a short name for them."""

    name: bytes
    kept: Index

    @classmethod
    def of(cls, kept: Index) -> Home:
        """The home of these candidates."""
        kept = kept.astype(np.int32)
        return cls(blake2b(kept.tobytes(), digest_size=16).digest(), kept)


@dataclass(order=True)
class Node:
    """All choices that contain ``chosen`` and otherwise only ``allowed`` candidates of a home.

    ``working`` and ``s`` are where its relaxation starts. Small enough to travel.
    """

    bound: float
    order: int
    home: Home | None = field(compare=False)
    chosen: Index = field(compare=False)
    allowed: Mask = field(compare=False)
    working: Index = field(compare=False)
    s: Array = field(compare=False)


class Homes:
    """The problems of the homes: each made from the root problem, the latest ones kept."""

    def __init__(self, root: Candidates, max_bytes: int = _HOME_BYTES) -> None:
        self.root = root
        self._spare = max_bytes
        self._kept: OrderedDict[bytes, Candidates] = OrderedDict()

    def problem(self, home: Home | None) -> Candidates:
        """The problem of a home; the root problem for None."""
        if home is None:
            return self.root
        problem = self._kept.pop(home.name, None)
        if problem is None:
            # Never from another home: the last digits might depend on which one there was.
            problem = self.root.restricted(home.kept)
            self._spare -= problem.nbytes
            while self._spare < 0 and self._kept:
                self._spare += self._kept.popitem(last=False)[1].nbytes
        self._kept[home.name] = problem
        return problem


@dataclass(frozen=True)
class Goal:
    """How many features to choose, and the relative gap at which that is good enough."""

    k: int
    gap_tol: float

    def threshold(self, objective: float) -> float:
        """The bound from which on a subtree holds nothing better than this objective."""
        # A little less than the tolerance, so that rounding does not make it a little more.
        return objective - 0.99 * self.gap_tol * abs(objective)


@dataclass(frozen=True)
class Task:
    """Expand a node and those below it, the best first.

    That is at most ``most`` of them, after the first none whose bound is above ``ceiling``; no
    choice counts that is not better than ``objective``.
    """

    node: Node
    objective: float
    ceiling: float
    most: int


@dataclass(frozen=True)
class Harvest:
    """What a task came to.

    Attributes
    ----------
    opened : list of Node
        The nodes left to expand, in the order in which they came up.
    closed : float
        The least bound of all that needs no more expanding.
    nodes : int
        Number of relaxations solved, or of subproblems whose pairs were all looked at instead.
    support, objective : array of int or None, and float
        The best features found, if any are better than what was known.
    """

    opened: list[Node]
    closed: float
    nodes: int
    support: Index | None
    objective: float


@dataclass(frozen=True)
class Relaxed:
    """The best bound of a node's relaxation, the W it comes from, and where it ended.

    ``force`` says how much the features of the working set resist being left out.
    """

    bound: Bound
    features: Index
    W: Array
    working: Index
    s: Array
    force: Array


def never() -> bool:
    """Do not stop."""
    return False


def root_node(problem: Candidates, k: int, support: Index, include: Index) -> Node:
    """The node of all choices that contain ``include``, to start near a known support."""
    chosen = np.flatnonzero(np.isin(problem.features, include))
    allowed = np.ones(len(problem), dtype=bool)
    allowed[chosen] = False
    alone = np.einsum("jc,jc->j", problem.B, problem.B)
    alone[~allowed] = -1.0
    first = largest_first(alone)[: min(_FIRST_SET, int(allowed.sum()))]
    known = np.flatnonzero(np.isin(problem.features, support) & allowed)
    working = np.union1d(first, known)
    s = np.where(np.isin(working, known), 0.5, 0.0)
    s += (k - chosen.size - s.sum()) / max(working.size, 1)
    # A sum of squares is not negative.
    return Node(0.0, 0, None, chosen, allowed, working, s)


class Subtree:
    """The part of the tree below one node, with screening in every node.

    ``first`` is the first relaxation solved.
    """

    def __init__(self, homes: Homes, goal: Goal, task: Task) -> None:
        self._homes, self._goal, self._task = homes, goal, task
        self._threshold = goal.threshold(task.objective)
        self._objective = task.objective
        self._support: Index | None = None
        self._closed = np.inf
        self._nodes = self._order = 0
        self._open = [task.node]
        self.first: Relaxed | None = None

    def grow(self, stop: Callable[[], bool] = never) -> Harvest:
        """Do the task, or what of it is done when ``stop`` says so."""
        expanded = 0
        while self._open and expanded < self._task.most and not stop():
            least = self._open[0].bound
            if least >= self._threshold or (expanded and least > self._task.ceiling):
                break
            expanded += 1
            self._expand(heapq.heappop(self._open))
        opened = sorted(self._open, key=lambda node: node.order)
        return Harvest(opened, self._closed, self._nodes, self._support, self._objective)

    def _push(
        self,
        bound: float,
        home: Home | None,
        chosen: Index,
        allowed: Mask,
        working: Index,
        s: Array,
    ) -> None:
        self._order += 1
        heapq.heappush(self._open, Node(bound, self._order, home, chosen, allowed, working, s))

    def _close(self, bound: float) -> None:
        self._closed = min(self._closed, bound)

    def _offer(self, features: Index, value: float) -> None:
        """Take a support that is better than the best one known."""
        if value < self._objective - 1e-12 * abs(self._objective):
            self._support, self._objective = np.sort(features), value
            self._threshold = self._goal.threshold(value)

    # --------------------------------------------------------------------------- one node
    def _expand(self, node: Node) -> None:
        """Bound a node; close it, or split it in two."""
        problem, k = self._homes.problem(node.home), self._goal.k
        count = k - node.chosen.size
        free = np.flatnonzero(node.allowed)
        if count == 0 or free.size <= count:
            if free.size >= count:
                self._leaf(problem, np.concatenate([node.chosen, free[:count]]))
            return
        if count == 1:
            self._close(self._best_single(problem, node.chosen, free))
            return
        self._nodes += 1
        # The root (order 0) is relaxed all the same: its dual point is shown to the user.
        if count == 2 and free.size <= _FEW and node.order:
            self._close(self._best_pair(problem, node.chosen, free))
            return
        relaxed = self._relax(problem, node)
        self.first = self.first or relaxed
        value = max(relaxed.bound.value, node.bound)
        if value >= self._threshold:
            self._close(value)
            return
        # The choice nearest to the relaxed one.
        strongest = relaxed.working[largest_first(relaxed.s)[:count]]
        positions = np.concatenate([node.chosen, strongest])
        if positions.size == k:
            self._offer(problem.features[positions], problem.objective(positions))
        chosen, allowed = self._screened(node, relaxed.bound, value)
        self._split(problem, node.home, chosen, allowed, value, relaxed)

    def _leaf(self, problem: Candidates, positions: Index) -> None:
        value = problem.objective(positions)
        self._offer(problem.features[positions], value)
        self._close(value - problem.solve_error)

    def _relax(self, problem: Candidates, node: Node) -> Relaxed:
        """Solve the relaxation on a working set that grows until nothing outside violates it."""
        chosen, working, s = node.chosen, node.working, node.s
        k, fixed = self._goal.k, np.ones(chosen.size)
        best: Relaxed | None = None
        for _ in range(_ROUNDS):
            positions = np.concatenate([chosen, working])
            relaxation = Relaxation(
                problem.block(positions),
                problem.B[positions],
                problem.total,
                k,
                problem.ridge,
                chosen.size,
            )
            start = relaxation.nearest(np.concatenate([fixed, s]))
            point, _ = relaxation.solve(start, tol=_TOL * problem.total, stop_above=self._threshold)
            active = positions[point.active]
            bound = problem.bound(active, point.W, chosen, node.allowed, k)
            s = point.s[chosen.size :]
            if best is None or bound.value > best.bound.value:
                best = Relaxed(bound, problem.features[active], point.W, working, s, s)
            if best.bound.value >= self._threshold:
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
        force = np.zeros(working.size)
        if best.bound.value < self._threshold:
            solved = relaxation.resistance(point)[chosen.size :]
            force[: solved.size] = solved
        return replace(best, working=working, s=s, force=force)

    def _screened(self, node: Node, bound: Bound, value: float) -> tuple[Index, Mask]:
        """``chosen`` and ``allowed`` less what is in no better choice and what is in all."""
        q = bound.q
        inside = node.allowed & (q >= bound.k_th)
        out = node.allowed & ~inside & (value + bound.k_th - q > self._threshold)
        fixed = inside & (value + q - bound.next_one > self._threshold)
        # Whatever is ruled out this way lies above the threshold.
        if out.any() or fixed.any():
            self._close(self._threshold)
        chosen = np.concatenate([node.chosen, np.flatnonzero(fixed)])
        return chosen, node.allowed & ~out & ~fixed

    def _split(
        self,
        problem: Candidates,
        home: Home | None,
        chosen: Index,
        allowed: Mask,
        value: float,
        relaxed: Relaxed,
    ) -> None:
        count = self._goal.k - chosen.size
        free = np.flatnonzero(allowed)
        if count < 0 or free.size < count:
            return
        if count <= 1 or free.size == count:
            self._push(value, home, chosen, allowed, relaxed.working, relaxed.s)
            return
        if count == 2 and free.size <= _PAIRS:
            self._close(self._best_pair(problem, chosen, free))
            return
        s, force, q = np.zeros(len(problem)), np.zeros(len(problem)), relaxed.bound.q
        s[relaxed.working], force[relaxed.working] = relaxed.s, relaxed.force
        if free.size < _COMPACT * len(problem):
            kept = np.sort(np.concatenate([chosen, free]))
            chosen, free = np.searchsorted(kept, chosen), np.searchsorted(kept, free)
            s, force, q, allowed = s[kept], force[kept], q[kept], allowed[kept]
            home = Home.of(kept if home is None else home.kept[kept])
        branch = int(free[np.lexsort((q[free], s[free], force[free]))[-1]])
        rest = allowed.copy()
        rest[branch] = False
        for picked in (np.append(chosen, branch), chosen):
            self._child(value, home, picked, rest, s, q)

    def _child(
        self, value: float, home: Home | None, chosen: Index, allowed: Mask, s: Array, q: Array
    ) -> None:
        count = self._goal.k - chosen.size
        free = np.flatnonzero(allowed)
        likely = largest_first(q[free])[: count + _ROOM]
        strong = allowed & (s > 0)
        strong[free[likely]] = True
        working = np.flatnonzero(strong)
        self._push(value, home, chosen, allowed, working, s[working])

    # ------------------------------------------------------------- the last one or two
    def _best_single(self, problem: Candidates, chosen: Index, free: Index) -> float:
        """Complete ``chosen`` by the best single candidate; a bound on all ways to do so."""
        rest = Remainder(problem, chosen, free)
        at = int(np.argmax(rest.gains))
        value = rest.total - float(rest.gains[at])
        self._offer(problem.features[np.append(chosen, free[at])], value)
        return value - problem.solve_error

    def _best_pair(self, problem: Candidates, chosen: Index, free: Index) -> float:
        """Complete ``chosen`` by the best two candidates; a bound on all ways to do so.

        That of the threshold will do where none is better.
        """
        rest = Remainder(problem, chosen, free)
        found = rest.best_pair(rest.total - self._threshold - 2.0 * problem.solve_error)
        if found is None:
            return self._threshold
        i, j, gain = found
        value = rest.total - gain
        self._offer(problem.features[np.append(chosen, free[[i, j]])], value)
        return value - problem.solve_error


def largest_first(values: Array) -> Index:
    """The order of falling values, ties by index."""
    return np.argsort(-values, kind="stable")
