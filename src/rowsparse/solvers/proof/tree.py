"""A part of the tree of branch and bound: what becomes of a node and of those below it.

Nothing here depends on the rest of the tree but for the best objective known, so
that parts of it may grow anywhere, in any order, and come out the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.certificate.steps import Dual, Kind, Step
from rowsparse.solvers.proof.candidates import Bound, Candidates
from rowsparse.solvers.proof.completion import Remainder
from rowsparse.solvers.proof.nodes import Goal, Harvest, Home, Homes, Node, Task, largest_first
from rowsparse.solvers.proof.relaxation import Relaxation

# Features that may enter a relaxation at a time.
_ROOM = 30
# Rounds of the working set in one node.
_ROUNDS = 12
# Accuracy of a node's relaxation, relative to ||Y||^2.
_TOL = 1e-7
# A node with fewer than this share of the candidates gets its own, smaller problem.
_COMPACT = 0.25
# With two features to go and no more candidates than this, all pairs are scored at once; with no
# more than this few, that takes less time than a relaxation.
_PAIRS, _FEW = 1200, 400
# Relative excess over the level at which a feature outside the working set must enter.
_VIOLATION = 1e-6


@dataclass(frozen=True)
class Relaxed:
    """The best bound of a node's relaxation, the W it comes from, and where it ended.

    ``force`` says how much the features of the working set resist being left out.
    """

    bound: Bound
    dual: Dual
    working: Index
    s: Array
    force: Array


def never() -> bool:
    """Do not stop."""
    return False


class Subtree:
    """The part of the tree below one node, with screening in every node."""

    def __init__(self, homes: Homes, goal: Goal, task: Task) -> None:
        self._homes, self._goal, self._task = homes, goal, task
        self._threshold = goal.threshold(task.objective)
        self._objective = task.objective
        self._support: Index | None = None
        self._closed = np.inf
        self._nodes = self._order = 0
        self._open = [task.node]
        self._steps: dict[int, list[Step]] = {}

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
        return Harvest(
            opened,
            self._closed,
            self._nodes,
            self._support,
            self._objective,
            self._steps,
            self._order,
        )

    def _push(self, node: Node) -> None:
        heapq.heappush(self._open, node)

    def _next_key(self) -> int:
        self._order += 1
        return -self._order

    def _record(self, node: Node, step: Step) -> None:
        """Keep a step of the proof; of the root, always."""
        if self._goal.keep or node.order == 0:
            self._steps.setdefault(node.key, []).append(step)

    def _close(self, bound: float) -> None:
        self._closed = min(self._closed, bound)

    def _close_last(self, node: Node, bound: float, parent: float, dual: Dual | None) -> None:
        """Close a node by looking at all that is left, or by what its parent had if that is more.

        ``bound`` may have lost to rounding what ``parent``, the bound of ``dual``, still has.
        """
        # False for a bound that is not a number, too.
        enough = bound >= parent
        self._record(node, Step(Kind.LAST) if enough else bounded(dual))
        self._close(bound if enough else parent)

    def _offer(self, features: Index, value: float) -> None:
        """Take a support that is better than the best one known."""
        if value < self._task.node.bound:  # of which there is none here: rounding says so
            return
        if value < self._objective - 1e-12 * abs(self._objective):
            self._support, self._objective = np.sort(features), value
            self._threshold = self._goal.threshold(value)

    # --------------------------------------------------------------------------- one node
    def _expand(self, node: Node) -> None:
        """Bound a node; close it, or split it in two."""
        problem, k = self._homes.problem(node.home), self._goal.k
        count = k - node.chosen.size
        free = np.flatnonzero(node.allowed)
        if free.size < count:
            return
        if count == 0 or free.size == count:
            self._leaf(problem, node, np.concatenate([node.chosen, free[:count]]))
            return
        if count == 1:
            bound = self._best_single(problem, node.chosen, free)
            self._close_last(node, bound, node.bound, node.dual)
            return
        self._nodes += 1
        # The root (order 0) is relaxed all the same: its dual point is shown to the user.
        if count == 2 and free.size <= _FEW and node.order:
            bound = self._best_pair(problem, node.chosen, free)
            self._close_last(node, bound, node.bound, node.dual)
            return
        relaxed = self._relax(problem, node)
        own = relaxed.bound.value >= node.bound
        value, dual = (relaxed.bound.value, relaxed.dual) if own else (node.bound, node.dual)
        if value >= self._threshold:
            self._record(node, bounded(dual))
            self._close(value)
            return
        # The choice nearest to the relaxed one.
        strongest = relaxed.working[largest_first(relaxed.s)[:count]]
        positions = np.concatenate([node.chosen, strongest])
        if positions.size == k:
            self._offer(problem.features[positions], problem.fit(positions)[1])
        # A copy: should Ctrl-C come now, the node is as it was.
        node = replace(node, bound=value, dual=dual)
        node, screening = self._screened(problem, node, relaxed)
        self._split(problem, node, relaxed, screening)

    def _leaf(self, problem: Candidates, node: Node, positions: Index) -> None:
        """Close a node with one choice."""
        W, value = problem.fit(positions)
        self._offer(problem.features[positions], value)
        nothing = np.zeros(len(problem), dtype=bool)
        own = problem.bound(positions, W, positions, nothing, positions.size).value
        dual, bound = self._dual(problem, positions, W), own
        if node.bound > own and node.dual is not None:
            dual, bound = node.dual, node.bound
        self._record(node, Step(Kind.BOUND, dual))
        self._close(bound)

    @staticmethod
    def _dual(problem: Candidates, active: Index, W: Array) -> Dual:
        return Dual(problem.features[active], W * problem.unit[active, None])

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
                best = Relaxed(bound, self._dual(problem, active, point.W), working, s, s)
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

    def _screened(
        self, problem: Candidates, node: Node, relaxed: Relaxed
    ) -> tuple[Node, list[Step]]:
        """The node without what is in no better choice and what is in all; the step, if any."""
        # The value that belongs to these q: the node may have a better one from elsewhere.
        bound, q = relaxed.bound, relaxed.bound.q
        inside = node.allowed & (q >= bound.k_th)
        out = node.allowed & ~inside & (bound.value + bound.k_th - q > self._threshold)
        fixed = inside & (bound.value + q - bound.next_one > self._threshold)
        if not (out.any() or fixed.any()):
            return node, []
        # Whatever is ruled out this way lies above the threshold.
        self._close(self._threshold)
        chosen = np.concatenate([node.chosen, np.flatnonzero(fixed)])
        names = problem.features
        step = Step(Kind.SCREEN, relaxed.dual, -1, names[out], names[fixed])
        return replace(node, chosen=chosen, allowed=node.allowed & ~out & ~fixed), [step]

    def _split(
        self, problem: Candidates, node: Node, relaxed: Relaxed, screening: list[Step]
    ) -> None:
        chosen, allowed, home = node.chosen, node.allowed, node.home
        count = self._goal.k - chosen.size
        free = np.flatnonzero(allowed)
        if screening and (count <= 1 or free.size <= count):
            feasible = 0 <= count <= free.size
            key = self._next_key()
            self._record(node, replace(screening[0], children=(key,) if feasible else ()))
            if feasible:
                self._push(replace(node, order=self._order, key=key))
            return
        for step in screening:
            self._record(node, step)
        if count == 2 and free.size <= _PAIRS:
            self._close_last(node, self._best_pair(problem, chosen, free), node.bound, node.dual)
            return
        names, q = problem.features, relaxed.bound.q
        s, force = np.zeros(len(problem)), np.zeros(len(problem))
        s[relaxed.working], force[relaxed.working] = relaxed.s, relaxed.force
        if free.size < _COMPACT * len(problem):
            kept = np.sort(np.concatenate([chosen, free]))
            chosen, free = np.searchsorted(kept, chosen), np.searchsorted(kept, free)
            s, force, q, allowed = s[kept], force[kept], q[kept], allowed[kept]
            names, home = names[kept], Home.of(kept if home is None else home.kept[kept])
        branch = int(free[np.lexsort((q[free], s[free], force[free]))[-1]])
        rest = allowed.copy()
        rest[branch] = False
        children = []
        for picked in (np.append(chosen, branch), chosen):
            child = replace(node, home=home, chosen=picked, allowed=rest)
            children.append(self._child(child, s, q))
        # Of the root, the dual point is shown to the user.
        dual = None if node.order else node.dual
        step = Step(Kind.SPLIT, dual, int(names[branch]), children=tuple(children))
        self._record(node, step)

    def _child(self, node: Node, s: Array, q: Array) -> int:
        """Put a child on the heap, with where its relaxation starts; its key."""
        count = self._goal.k - node.chosen.size
        free = np.flatnonzero(node.allowed)
        likely = largest_first(q[free])[: count + _ROOM]
        strong = node.allowed & (s > 0)
        strong[free[likely]] = True
        working = np.flatnonzero(strong)
        key = self._next_key()
        dual = node.dual if self._goal.keep else None
        self._push(
            replace(node, order=self._order, working=working, s=s[working], key=key, dual=dual)
        )
        return key

    # ------------------------------------------------------------- the last one or two
    def _best_single(self, problem: Candidates, chosen: Index, free: Index) -> float:
        """Complete ``chosen`` by the best single candidate; a bound on all ways to do so."""
        try:
            rest = Remainder(problem, chosen, free)
        except np.linalg.LinAlgError:
            return -np.inf
        at = int(np.argmax(rest.gains))
        value = rest.total - float(rest.gains[at])
        self._offer(problem.features[np.append(chosen, free[at])], value)
        return value - problem.solve_error(self._goal.k)

    def _best_pair(self, problem: Candidates, chosen: Index, free: Index) -> float:
        """Complete ``chosen`` by the best two candidates; a bound on all ways to do so.

        That of the threshold will do where none is better.
        """
        try:
            rest = Remainder(problem, chosen, free)
        except np.linalg.LinAlgError:
            return -np.inf
        error = problem.solve_error(self._goal.k)
        found = rest.best_pair(rest.total - self._threshold - 2.0 * error)
        if found is None:
            return self._threshold
        i, j, gain = found
        value = rest.total - gain
        self._offer(problem.features[np.append(chosen, free[[i, j]])], value)
        return value - error


def bounded(dual: Dual | None) -> Step:
    """The step that takes a bound from a dual point, if there is one."""
    return Step(Kind.OPEN) if dual is None else Step(Kind.BOUND, dual)
