"""A subtree of branch and bound: expanding a node and those below it.

Of the rest of the tree, only the best objective known matters here, so subtrees may be expanded in
any order and in any process with the same result.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._deadline import Deadline
from rowsparse.certificate.proof import Dual, Kind
from rowsparse.solvers.proof.nodes import (
    CandidateSubset,
    Node,
    ProofOptions,
    SubproblemCache,
    SubtreeResult,
    SubtreeTask,
    TreeStep,
    bounded,
    largest_first,
)
from rowsparse.solvers.proof.problem import CandidateProblem, DualBound

# Features that may enter a working set at a time.
_MAX_ENTERING = 30
# Rounds of the working set in one node.
_MAX_ROUNDS = 12
# Accuracy of a node's relaxation, relative to the objective of choosing nothing.
_TOL = 1e-7
# A node with fewer than this share of the candidates gets its own, smaller problem.
_COMPACT = 0.25
# A feature enters the working set if its q exceeds the multiplier by this share.
_VIOLATION = 1e-6
# A choice is better if it lowers the objective by more than this share.
_LEAST_GAIN = 1e-12


@dataclass(frozen=True)
class NodeRelaxation:
    """The relaxation of a node.

    Attributes
    ----------
    bound, dual : DualBound and Dual
        The best bound, and the W it comes from.
    working, s : arrays
        The working set, and its s at the end.
    slope : array
        For each feature of the working set, how steeply the relaxation rises where s_j is 0.
    """

    bound: DualBound
    dual: Dual
    working: Index
    s: Array
    slope: Array


class Subtree:
    """The part of the tree below one node, with screening in every node."""

    def __init__(self, cache: SubproblemCache, options: ProofOptions, task: SubtreeTask) -> None:
        self._cache, self._options, self._task = cache, options, task
        self._threshold = options.threshold(task.objective)
        self._objective = task.objective
        self._support: Index | None = None
        self._closed_bound = np.inf
        self._n_bounded = self._order = 0
        self._open = [task.node]
        self._steps: dict[int, list[TreeStep]] = {}

    def expand(self, deadline: Deadline) -> SubtreeResult:
        """Do the task, or the part of it that is done by the deadline."""
        expanded = 0
        while self._open and expanded < self._task.max_nodes and not deadline.expired():
            least = self._open[0].bound
            if least >= self._threshold or (expanded and least > self._task.max_bound):
                break
            expanded += 1
            self._expand(heapq.heappop(self._open), deadline)
        return SubtreeResult(
            sorted(self._open, key=lambda node: node.order),
            self._closed_bound,
            self._n_bounded,
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

    def _record(self, node: Node, step: TreeStep) -> None:
        """Record a step of the proof."""
        self._steps.setdefault(node.key, []).append(step)

    def _close(self, bound: float) -> None:
        self._closed_bound = min(self._closed_bound, bound)

    def _complete(
        self, problem: CandidateProblem, node: Node, free: Index, *, relaxed: bool
    ) -> bool:
        """Close a node by trying all ways to choose its last features, unless they are many."""
        k, chosen = self._options.k, node.chosen
        found = problem.complete(chosen, free, k, self._threshold, relaxed=relaxed)
        if found is None:
            return False
        if found.added is not None:
            self._offer(problem.features[np.append(chosen, found.added)], found.value)
        # The bound that the node had before is larger only by rounding. False also for a bound
        # that is not a number.
        use_own = found.bound >= node.bound
        self._record(node, TreeStep(found.kind) if use_own else bounded(node.dual))
        self._close(found.bound if use_own else node.bound)
        return True

    def _offer(self, features: Index, value: float) -> None:
        """Take a support that is better than the best one known."""
        if value < self._task.node.bound:  # impossible but for rounding
            return
        if value < self._objective - _LEAST_GAIN * abs(self._objective):
            self._support, self._objective = np.sort(features), value
            self._threshold = self._options.threshold(value)

    # --------------------------------------------------------------------------- one node
    def _expand(self, node: Node, deadline: Deadline) -> None:
        """Bound a node; close it, or split it in two."""
        problem, k = self._cache.problem(node.subset), self._options.k
        count = k - node.chosen.size
        free = np.flatnonzero(node.allowed)
        if free.size < count:
            return
        if count == 0 or free.size == count:
            self._leaf(problem, node, np.concatenate([node.chosen, free[:count]]))
            return
        # The root (order 0) is relaxed unless one feature is left to choose: its dual point is
        # part of the user's answer.
        tried = (count == 1 or node.order > 0) and self._complete(
            problem, node, free, relaxed=False
        )
        self._n_bounded += not (tried and count == 1)
        if tried:
            return
        relaxed = self._relax(problem, node, deadline)
        own = relaxed.bound.value >= node.bound
        value, dual = (relaxed.bound.value, relaxed.dual) if own else (node.bound, node.dual)
        if value >= self._threshold:
            self._record(node, bounded(dual))
            self._close(value)
            return
        # Round the relaxed solution to a choice.
        strongest = relaxed.working[largest_first(relaxed.s)[:count]]
        positions = np.concatenate([node.chosen, strongest])
        if positions.size == k:
            self._offer(problem.features[positions], problem.fit(positions)[1])
        # A copy, so that an interrupted expansion leaves the node unchanged.
        node = replace(node, bound=value, dual=dual)
        node, screening = self._screened(problem, node, relaxed)
        self._split(problem, node, relaxed, screening)

    def _leaf(self, problem: CandidateProblem, node: Node, positions: Index) -> None:
        """Close a node with one choice."""
        W, value = problem.fit(positions)
        self._offer(problem.features[positions], value)
        nothing = np.zeros(len(problem), dtype=bool)
        own = problem.bound(positions, W, positions, nothing, positions.size).value
        dual, bound = self._dual(problem, positions, W), own
        if node.bound > own and node.dual is not None:
            dual, bound = node.dual, node.bound
        self._record(node, TreeStep(Kind.BOUND, dual))
        self._close(bound)

    @staticmethod
    def _dual(problem: CandidateProblem, active: Index, W: Array) -> Dual:
        return Dual(problem.features[active], W * problem.unit[active, None])

    def _relax(self, problem: CandidateProblem, node: Node, deadline: Deadline) -> NodeRelaxation:
        """Solve the relaxation on a working set that grows until nothing outside violates it.

        Time that is up ends it too: any working set gives a bound.
        """
        chosen, working, s = node.chosen, node.working, node.s
        k, fixed = self._options.k, np.ones(chosen.size)
        best: NodeRelaxation | None = None
        for _ in range(_MAX_ROUNDS):
            positions = np.concatenate([chosen, working])
            relaxation = problem.relaxation(positions, k, chosen.size)
            start = relaxation.project(np.concatenate([fixed, s]))
            point, _ = relaxation.solve(start, tol=_TOL * problem.total, stop_above=self._threshold)
            active = positions[point.active]
            bound = problem.bound(active, point.W, chosen, node.allowed, k)
            s = point.s[chosen.size :]
            if best is None or bound.value > best.bound.value:
                best = NodeRelaxation(bound, self._dual(problem, active, point.W), working, s, s)
            if best.bound.value >= self._threshold or deadline.expired():
                break
            level = relaxation.multiplier(point) * (1.0 + _VIOLATION)
            outside = node.allowed & (bound.q > level)
            outside[working] = False
            entering = np.flatnonzero(outside)
            if entering.size == 0:
                break
            entering = entering[largest_first(bound.q[entering])[:_MAX_ENTERING]]
            working = np.concatenate([working, entering])
            s = np.concatenate([s, np.zeros(entering.size)])
        assert best is not None
        slope = np.zeros(working.size)
        if best.bound.value < self._threshold:
            solved = relaxation.slopes_at_zero(point)[chosen.size :]
            slope[: solved.size] = solved
        return replace(best, working=working, s=s, slope=slope)

    def _screened(
        self, problem: CandidateProblem, node: Node, relaxed: NodeRelaxation
    ) -> tuple[Node, TreeStep | None]:
        """The node after screening, and the step that justifies it, if any.

        Features in no better choice are excluded, those in every better choice are chosen.
        """
        # Of this relaxation, because q is; the bound of the node may come from its parent.
        bound, q = relaxed.bound, relaxed.bound.q
        inside = node.allowed & (q >= bound.last_in)
        out = node.allowed & ~inside & (bound.value + bound.last_in - q > self._threshold)
        fixed = inside & (bound.value + q - bound.first_out > self._threshold)
        if not (out.any() or fixed.any()):
            return node, None
        # The choices ruled out this way lie above the threshold.
        self._close(self._threshold)
        chosen = np.concatenate([node.chosen, np.flatnonzero(fixed)])
        names = problem.features
        step = TreeStep(Kind.SCREEN, relaxed.dual, -1, names[out], names[fixed])
        return replace(node, chosen=chosen, allowed=node.allowed & ~out & ~fixed), step

    def _split(
        self,
        problem: CandidateProblem,
        node: Node,
        relaxed: NodeRelaxation,
        screening: TreeStep | None,
    ) -> None:
        """Split a node on the feature with the steepest slope, or try all of few choices."""
        chosen, allowed, subset = node.chosen, node.allowed, node.subset
        count = self._options.k - chosen.size
        free = np.flatnonzero(allowed)
        names, q = problem.features, relaxed.bound.q
        s, slope = np.zeros(len(problem)), np.zeros(len(problem))
        s[relaxed.working], slope[relaxed.working] = relaxed.s, relaxed.slope
        if screening is not None and (count <= 1 or free.size <= count):
            feasible = 0 <= count <= free.size
            self._record(
                node, replace(screening, children=(self._child(node, s, q),) if feasible else ())
            )
            return
        if screening is not None:
            self._record(node, screening)
        if self._complete(problem, node, free, relaxed=True):
            return
        if free.size < _COMPACT * len(problem):
            kept = np.sort(np.concatenate([chosen, free]))
            chosen, free = np.searchsorted(kept, chosen), np.searchsorted(kept, free)
            s, slope, q, allowed = s[kept], slope[kept], q[kept], allowed[kept]
            names = names[kept]
            subset = CandidateSubset.of(kept if subset is None else subset.kept[kept])
        branch = int(free[np.lexsort((q[free], s[free], slope[free]))[-1]])
        rest = allowed.copy()
        rest[branch] = False
        children = []
        for picked in (np.append(chosen, branch), chosen):
            child = replace(node, subset=subset, chosen=picked, allowed=rest)
            children.append(self._child(child, s, q))
        # The dual point of the root is what remains of a proof too large to be kept.
        dual = None if node.order else node.dual
        step = TreeStep(Kind.SPLIT, dual, int(names[branch]), children=tuple(children))
        self._record(node, step)

    def _child(self, node: Node, s: Array, q: Array) -> int:
        """Put a child on the heap, with the start of its relaxation; returns its key."""
        count = self._options.k - node.chosen.size
        free = np.flatnonzero(node.allowed)
        likely = largest_first(q[free])[: count + _MAX_ENTERING]
        strong = node.allowed & (s > 0)
        strong[free[likely]] = True
        working = np.flatnonzero(strong)
        key = self._next_key()
        self._push(replace(node, order=self._order, working=working, s=s[working], key=key))
        return key
