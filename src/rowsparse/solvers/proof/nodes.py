"""The nodes of branch and bound, and what travels between the process that has the tree and others.

A node stands for all choices of k features that contain some and otherwise only others of its
candidates.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.certificate.steps import Dual, Steps
from rowsparse.solvers.proof.candidates import Candidates

# Features with which the relaxation of the root starts.
_FIRST_SET = 100
# Of the problems of nodes with few candidates, the latest are kept up to so many bytes.
_HOME_BYTES = 1 << 28


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

    ``working`` and ``s`` are where its relaxation starts. ``key`` names the node, in a proof that
    is kept, and ``dual`` is where its bound comes from. Small enough to travel.
    """

    bound: float
    order: int
    home: Home | None = field(compare=False)
    chosen: Index = field(compare=False)
    allowed: Mask = field(compare=False)
    working: Index = field(compare=False)
    s: Array = field(compare=False)
    key: int = field(compare=False, default=0)
    dual: Dual | None = field(compare=False, default=None)


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
    """How many features to choose, and the relative gap at which that is good enough.

    ``keep`` says whether the steps of the proof are to be kept.
    """

    k: int
    gap_tol: float
    keep: bool = False

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
    steps, n_keys : dict and int
        Those of the proof, if they are kept; the new nodes have negative keys, so many of them.
    """

    opened: list[Node]
    closed: float
    nodes: int
    support: Index | None
    objective: float
    steps: Steps
    n_keys: int


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


def largest_first(values: Array) -> Index:
    """The order of falling values, ties by index."""
    return np.argsort(-values, kind="stable")
