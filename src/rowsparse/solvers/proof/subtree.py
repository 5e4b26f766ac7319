"""The expansion of a subtree of branch and bound, and the messages between it and the tree.

A subtree depends on the other ones only through the best objective known, so subtrees may be
expanded in any order and in any process with the same result.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rowsparse._arrays import Index
from rowsparse._deadline import Deadline
from rowsparse.certificate.proof import Step
from rowsparse.solvers.problem import Listed
from rowsparse.solvers.proof.expander import Expander, Expansion, Known, Node


@dataclass(frozen=True)
class TreeStep(Step):
    """A step of a proof, and the keys of the nodes that it creates."""

    children: tuple[int, ...] = ()

    @classmethod
    def from_step(cls, step: Step, children: tuple[int, ...] = ()) -> TreeStep:
        """A step with the keys of its nodes."""
        return cls(step.kind, step.dual, step.feature, step.out, step.fixed, children)

    @property
    def nbytes(self) -> int:
        """Memory for its arrays."""
        arrays = [self.out, self.fixed]
        if self.dual is not None:
            arrays += [self.dual.features, self.dual.V]
        return sum(array.nbytes for array in arrays if array is not None)

    def with_keys(self, first: int) -> TreeStep:
        """The same step with ``first - key`` instead of each negative key of its children."""
        if not self.children:
            return self
        return replace(self, children=tuple(first - k if k < 0 else k for k in self.children))


Steps = Mapping[int, Sequence[TreeStep]]


@dataclass(frozen=True)
class SubtreeTask:
    """Expand a node and those below it, those with the least bound first.

    Attributes
    ----------
    node : Node
        The first to be expanded.
    known : Known
        The best objective known; only better choices are reported.
    max_bound : float
        After the first, no node with a larger bound is expanded.
    max_nodes : int
        The most nodes to expand.
    """

    node: Node
    known: Known
    max_bound: float
    max_nodes: int


@dataclass(frozen=True)
class SubtreeResult:
    """What a task led to.

    Attributes
    ----------
    open_nodes : list of Node
        The nodes left to expand, in the order of their creation.
    closed_bound : float
        The least bound of all parts that need no more expanding.
    n_bounded : int
        Number of relaxations solved, or of subproblems whose choices were all tried instead.
    support, objective : array of int or None, and float
        The best columns found, if any are better than what was known.
    steps : dict
        Recorded steps of the proof, by the keys of the nodes. New nodes have negative keys.
    n_keys : int
        Number of negative keys.
    listed : list of Listed
        The choices below the threshold that are in no open node; the closed bound is of others.
    """

    open_nodes: list[Node]
    closed_bound: float
    n_bounded: int
    support: Index | None
    objective: float
    steps: Steps
    n_keys: int
    listed: list[Listed]


class Subtree:
    """The part of the tree below one node."""

    def __init__(self, expander: Expander, task: SubtreeTask) -> None:
        self._expander, self._task, self._known = expander, task, task.known
        self._support: Index | None = None
        self._closed_bound = np.inf
        self._n_bounded = self._order = 0
        self._open = [task.node]
        self._steps: dict[int, list[TreeStep]] = {}
        self._listed: list[Listed] = []

    def expand(self, deadline: Deadline) -> SubtreeResult:
        """Do the task, or the part of it that is done by the deadline."""
        expanded = 0
        while self._open and expanded < self._task.max_nodes and not deadline.expired():
            least = self._open[0].bound
            if least >= self._known.threshold or (expanded and least > self._task.max_bound):
                break
            expanded += 1
            node = heapq.heappop(self._open)
            (found,) = self._expander.expand([node], self._known, deadline)
            self._apply(node, found)
        return SubtreeResult(
            sorted(self._open, key=lambda node: node.order),
            self._closed_bound,
            self._n_bounded,
            self._support,
            self._known.objective,
            self._steps,
            self._order,
            self._listed,
        )

    def _apply(self, node: Node, found: Expansion) -> None:
        """Take what became of a node."""
        self._n_bounded += found.counts
        self._closed_bound = min(self._closed_bound, found.closed)
        self._listed.extend(found.listed)
        for columns, value in found.offers:
            better = self._known.lowered(value)
            if better is not self._known:
                self._known, self._support = better, np.sort(columns)
        keys = list(map(self._named, found.children))
        steps, key = [TreeStep.from_step(step) for step in found.steps], node.key
        if found.splits:
            last = found.splits[-1]
            for split in found.splits[:-1]:
                rest = self._next_key()
                steps.append(TreeStep.from_step(split, (keys.pop(0), rest)))
                self._steps[key] = steps
                steps, key = [], rest
            steps.append(TreeStep.from_step(last, tuple(keys)))
        elif keys:
            steps[-1] = replace(steps[-1], children=tuple(keys))
        if steps:
            self._steps[key] = steps

    def _next_key(self) -> int:
        self._order += 1
        return -self._order

    def _named(self, child: Node) -> int:
        """Put a child on the heap; returns its key."""
        child.key = self._next_key()
        child.order = self._order
        heapq.heappush(self._open, child)
        return child.key
