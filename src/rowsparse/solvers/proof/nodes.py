"""The nodes of branch and bound, and the messages between the main process and its workers.

A node stands for all choices of k features that contain some features and otherwise only others of
its candidates.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.certificate.proof import Dual, Kind, Step
from rowsparse.solvers.proof.problem import CandidateProblem

# Features with which the relaxation of the root starts.
_FIRST_SET = 100
# Memory for the subproblems of nodes with few candidates; the least recently used are dropped.
_CACHE_BYTES = 1 << 28


@dataclass(frozen=True)
class CandidateSubset:
    """Positions of some candidates of the root problem, and a short key for them."""

    key: bytes
    kept: Index

    @classmethod
    def of(cls, kept: Index) -> CandidateSubset:
        """The subset with these positions."""
        kept = kept.astype(np.int32)
        return cls(blake2b(kept.tobytes(), digest_size=16).digest(), kept)


@dataclass(order=True)
class Node:
    """All choices that contain ``chosen`` and otherwise only ``allowed`` candidates.

    Nodes are sorted by their bound, ties by ``order``. Small enough to be sent to a worker.

    Attributes
    ----------
    bound : float
        No choice of the node has an objective below this.
    order : int
        The order in which nodes were created; 0 for the root.
    subset : CandidateSubset or None
        The candidates that positions refer to; None for those of the root problem.
    chosen, allowed : array of int and array of bool
        Positions of the features chosen, and which others may be chosen.
    working, s : arrays
        Working set and starting point of the relaxation.
    key : int
        Name of the node in the recorded steps of a proof.
    dual : Dual or None
        The dual point that ``bound`` comes from.
    """

    bound: float
    order: int
    subset: CandidateSubset | None = field(compare=False)
    chosen: Index = field(compare=False)
    allowed: Mask = field(compare=False)
    working: Index = field(compare=False)
    s: Array = field(compare=False)
    key: int = field(compare=False, default=0)
    dual: Dual | None = field(compare=False, default=None)


@dataclass(frozen=True)
class TreeStep(Step):
    """A step of a proof, and the keys of the nodes that it creates."""

    children: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """Memory for its arrays."""
        arrays = [self.out, self.fixed]
        if self.dual is not None:
            arrays += [self.dual.features, self.dual.V]
        return sum(array.nbytes for array in arrays if array is not None)

    def with_keys(self, first: int) -> TreeStep:
        """The same step with ``first - key`` instead of each negative key of its children."""
        return replace(self, children=tuple(first - k if k < 0 else k for k in self.children))


Steps = Mapping[int, Sequence[TreeStep]]


def bounded(dual: Dual | None) -> TreeStep:
    """The step that bounds a set of choices by a dual point, or by 0 without one."""
    return TreeStep(Kind.OPEN) if dual is None else TreeStep(Kind.BOUND, dual)


class SubproblemCache:
    """The problems of candidate subsets, each made from the root problem; the latest are kept."""

    def __init__(self, root: CandidateProblem, max_bytes: int = _CACHE_BYTES) -> None:
        self.root = root
        self._free_bytes = max_bytes
        self._kept: OrderedDict[bytes, CandidateProblem] = OrderedDict()

    def problem(self, subset: CandidateSubset | None) -> CandidateProblem:
        """The problem of a subset; the root problem for None."""
        if subset is None:
            return self.root
        problem = self._kept.pop(subset.key, None)
        if problem is None:
            # Always from the root: its last digits must not depend on what else was cached.
            problem = self.root.restricted(subset.kept)
            self._free_bytes -= problem.nbytes
            while self._free_bytes < 0 and self._kept:
                self._free_bytes += self._kept.popitem(last=False)[1].nbytes
        self._kept[subset.key] = problem
        return problem


@dataclass(frozen=True)
class ProofOptions:
    """What all nodes share.

    Attributes
    ----------
    k : int
        Number of features to choose.
    gap_tol : float
        Relative gap at which a proof is complete.
    """

    k: int
    gap_tol: float

    def threshold(self, objective: float) -> float:
        """The bound from which on a subtree holds nothing better than this objective."""
        # A little less than the tolerance, so that rounding cannot exceed it.
        return objective - 0.99 * self.gap_tol * abs(objective)


@dataclass(frozen=True)
class SubtreeTask:
    """Expand a node and those below it, those with the least bound first.

    Attributes
    ----------
    node : Node
        The first to be expanded.
    objective : float
        The best objective known; only better choices are reported.
    max_bound : float
        After the first, no node with a larger bound is expanded.
    max_nodes : int
        The most nodes to expand.
    """

    node: Node
    objective: float
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
        The best features found, if any are better than what was known.
    steps : dict
        Recorded steps of the proof, by the keys of the nodes. New nodes have negative keys.
    n_keys : int
        Number of negative keys.
    """

    open_nodes: list[Node]
    closed_bound: float
    n_bounded: int
    support: Index | None
    objective: float
    steps: Steps
    n_keys: int


def root_node(problem: CandidateProblem, k: int, support: Index, include: Index) -> Node:
    """The node of all choices that contain ``include``; its relaxation starts near ``support``."""
    chosen = np.flatnonzero(np.isin(problem.features, include))
    allowed = np.ones(len(problem), dtype=bool)
    allowed[chosen] = False
    alone = problem.strengths()
    alone[~allowed] = -1.0
    first = largest_first(alone)[: min(_FIRST_SET, int(allowed.sum()))]
    known = np.flatnonzero(np.isin(problem.features, support) & allowed)
    working = np.union1d(first, known)
    s = np.where(np.isin(working, known), 0.5, 0.0)
    s += (k - chosen.size - s.sum()) / max(working.size, 1)
    # The bound 0 holds: no objective is negative.
    return Node(0.0, 0, None, chosen, allowed, working, s)


def largest_first(values: Array) -> Index:
    """The order of falling values, ties by index."""
    return np.argsort(-values, kind="stable")
