"""Nodes of branch and bound, and their expansion: a node is closed, screened, or split in two.

A node stands for all choices of k units that contain some units and otherwise only others of its
candidates. Expanding one is a function of the node and of the best objective known.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import NamedTuple, Self

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._deadline import Deadline
from rowsparse.certificate.proof import Dual, Kind, Step
from rowsparse.solvers.choices import largest
from rowsparse.solvers.problem import Listed, Listing
from rowsparse.solvers.proof.candidates import Candidates, Completion, DualBound
from rowsparse.solvers.proof.relaxation import Guess, Splits, no_splits

# Units with which the relaxation of the root starts.
_FIRST_SET = 100
# Memory for the problems of nodes with few candidates; the least recently used are dropped.
_CACHE_BYTES = 1 << 28
# Units with which the relaxation of a node starts besides those of its parent, and how many may
# enter a working set at a time at least; half of its size may.
_LIKELY, _MIN_ENTERING = 60, 30
# Rounds of the working set in one node.
_MAX_ROUNDS = 12
# Accuracy of a node's relaxation, relative to the objective of choosing nothing.
_TOL = 1e-7
# A node with fewer than this share of the candidates gets its own, smaller problem.
_COMPACT = 0.25
# A unit enters the working set if its q exceeds the multiplier by this share.
_VIOLATION = 1e-6
# The most splits of a node between two relaxations.
_MAX_SPLITS = 4
# A choice is better if it lowers the objective by more than this share.
_LEAST_GAIN = 1e-12


# ------------------------------------------------------------------------------------ the nodes
@dataclass(frozen=True)
class CandidateSubset:
    """Positions of some candidates of the root problem, and a short key for them."""

    key: bytes
    kept: Index

    @classmethod
    def from_positions(cls, kept: Index) -> CandidateSubset:
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
        Positions of the units chosen, and which others may be chosen.
    working, s : arrays
        Working set and starting point of the relaxation.
    key : int
        Name of the node in the recorded steps of a proof.
    dual : Dual or None
        The dual point that ``bound`` comes from.
    guess : Guess or None
        Where the fit of the relaxation starts, if it needs a start.
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
    guess: Guess | None = field(compare=False, default=None)


def root_node(problem: Candidates, support: Index) -> Node:
    """The node of all choices; its relaxation starts near the one with these columns."""
    choices, chosen = problem.choices, problem.choices.fixed
    allowed = np.ones(len(problem), dtype=bool)
    allowed[chosen] = False
    alone = problem.gains_alone()
    alone[~allowed] = -1.0
    first = largest_first(alone)[: min(_FIRST_SET, int(allowed.sum()))]
    inside = choices.sums(np.isin(problem.features, support)) > 0
    known = np.flatnonzero(inside & allowed)
    working = np.union1d(first, known)
    s = np.where(np.isin(working, known), 0.5, 0.0)
    s += (choices.n_free - s.sum()) / max(working.size, 1)
    # The bound 0 holds: no objective is negative.
    return Node(0.0, 0, None, chosen, allowed, working, s)


@dataclass(frozen=True)
class Known:
    """The best objective known, and the bound from which on a node can be closed.

    Attributes
    ----------
    objective : float
        The best one.
    least : float
        No choice has an objective below this, up to rounding.
    gap_tol : float
        Relative gap at which a proof is complete.
    listing : Listing or None
        Which choices are listed; None for the best one alone.
    most : float
        The largest objective of the choices listed, if there are as many as there may be.
    """

    objective: float
    least: float
    gap_tol: float
    listing: Listing | None = None
    most: float = np.inf

    @property
    def n_listed(self) -> int:
        """The most choices that are listed."""
        return 0 if self.listing is None else self.listing.max_choices

    @property
    def threshold(self) -> float:
        """The bound from which on a set of choices holds nothing better, or nothing to list."""
        if self.listing is not None:
            return min(self.listing.limit(self.objective), self.most)
        # A little less than the tolerance, so that rounding cannot exceed it.
        return self.objective - 0.99 * self.gap_tol * abs(self.objective)

    def lowered(self, value: float) -> Known:
        """With this objective if it is better, else the same."""
        is_better = value < self.objective - _LEAST_GAIN * abs(self.objective)
        return replace(self, objective=value) if self.least <= value and is_better else self


@dataclass(frozen=True)
class Expansion:
    """What became of a node.

    Attributes
    ----------
    steps : sequence of Step
        The steps of a proof for it. The last one makes the child, if there are no splits.
    splits : sequence of Step
        Steps after these, each of which makes a child, and leaves a rest to the next one.
    children : sequence of Node
        The nodes of the choices that remain, without names yet: one for each split, and one for
        the last rest, if it holds any.
    closed : float
        The least bound of its choices that are not in the children.
    offers : sequence of (array, float)
        Choices of columns that were found, and their objectives.
    counts : bool
        Whether it took a relaxation, or the choices of several units.
    listed : sequence of Listed
        Its choices below the threshold, which are in neither.
    """

    steps: Sequence[Step] = ()
    splits: Sequence[Step] = ()
    children: Sequence[Node] = ()
    closed: float = np.inf
    offers: Sequence[tuple[Index, float]] = ()
    counts: bool = False
    listed: Sequence[Listed] = ()

    def after(
        self, steps: Sequence[Step], closed: float, offers: Sequence[tuple[Index, float]]
    ) -> Expansion:
        """The same after earlier steps and offers."""
        return replace(
            self,
            steps=(*steps, *self.steps),
            closed=min(closed, self.closed),
            offers=(*offers, *self.offers),
            counts=True,
        )


# ------------------------------------------------------------------------- the relaxed solution
@dataclass(frozen=True)
class NodeRelaxation:
    """The relaxation of a node.

    Attributes
    ----------
    bound, dual : DualBound and Dual
        The best bound, and the W it comes from.
    working, s : arrays
        The working set, and its s at the end.
    plan : Splits
        Units to split on, with the s of the working set that is expected in each part.
    guess : Guess or None
        Where the fits of similar relaxations start.
    """

    bound: DualBound
    dual: Dual
    working: Index
    s: Array
    plan: Splits
    guess: Guess | None


def relaxed(
    problem: Candidates, node: Node, threshold: float, deadline: Deadline
) -> NodeRelaxation:
    """Solve the relaxation on a working set that grows until nothing outside violates it.

    Time that is up ends it too: any working set gives a bound.
    """
    chosen, working, s, guess = node.chosen, node.working, node.s, node.guess
    best: NodeRelaxation | None = None
    for _ in range(_MAX_ROUNDS):
        positions = np.concatenate([chosen, working])
        relaxation = problem.relaxation(positions, chosen.size, guess)
        start, tol = relaxation.near(s), _TOL * problem.total
        point, _ = relaxation.solve(start, tol=tol, stop_above=threshold)
        active = problem.choices.columns(positions)[point.active]
        bound = problem.bound(active, point.W, chosen, node.allowed)
        s, guess = point.s[chosen.size :], problem.guess(positions, point)
        last = NodeRelaxation(bound, problem.dual(active, point.W), working, s, no_splits(s), guess)
        if best is None or bound.value > best.bound.value:
            best = last
        if best.bound.value >= threshold or deadline.expired():
            break
        if problem.is_nearly_complete(chosen, node.allowed, threshold, bound):
            best = last
            break
        level = relaxation.multiplier(point) * (1.0 + _VIOLATION)
        outside = node.allowed & (bound.q > level)
        outside[working] = False
        entering = np.flatnonzero(outside)
        if entering.size == 0:
            break
        most = max(_MIN_ENTERING, working.size // 2)
        entering = entering[largest_first(bound.q[entering])[:most]]
        working = np.concatenate([working, entering])
        s = np.concatenate([s, np.zeros(entering.size)])
    assert best is not None
    # Of the last relaxation, whose working set may be smaller by now.
    first, working, s = chosen.size, positions[chosen.size :], point.s[chosen.size :]
    plan = no_splits(s)
    if best.bound.value < threshold:
        most = _MAX_SPLITS if node.order else 1
        splits = relaxation.splits(point, threshold - point.phi, most)
        plan = Splits(positions[splits.units], splits.inside[:, first:], splits.rest[first:])
    return replace(best, working=working, s=s, plan=plan, guess=guess)


def screened(bound: DualBound, allowed: Mask, threshold: float) -> tuple[Mask, Mask]:
    """The units in no choice below the threshold, and those in every such choice."""
    q, top = bound.q, bound.largest
    inside = allowed & (q >= top.last_in)
    out: Mask = allowed & ~inside & (bound.value + top.last_in - q > threshold)
    fixed: Mask = inside & (bound.value + q - top.first_out > threshold)
    return out, fixed


def bounded(dual: Dual | None) -> Step:
    """The step that bounds a set of choices by a dual point, or by 0 without one."""
    return Step(Kind.OPEN) if dual is None else Step(Kind.BOUND, dual)


def largest_first(values: Array) -> Index:
    """The order of falling values, ties by index."""
    return np.argsort(-values, kind="stable")


# --------------------------------------------------------------------------------- the expander
class SubproblemCache:
    """The problems of candidate subsets, each made from the root problem; the latest are kept."""

    def __init__(self, root: Candidates, max_bytes: int = _CACHE_BYTES) -> None:
        self.root = root
        self._free_bytes = max_bytes
        self._kept: OrderedDict[bytes, Candidates] = OrderedDict()

    def problem(self, subset: CandidateSubset | None) -> Candidates:
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


class Expander:
    """Expands nodes of a problem, one after the other."""

    def __init__(self, root: Candidates) -> None:
        self.cache = SubproblemCache(root)

    def expand(self, nodes: Sequence[Node], known: Known, deadline: Deadline) -> list[Expansion]:
        """What becomes of each, all with the same best objective."""
        return [self._expanded(node, known, deadline) for node in nodes]

    def _expanded(self, node: Node, known: Known, deadline: Deadline) -> Expansion:
        problem = self.cache.problem(node.subset)
        count = problem.choices.k - node.chosen.size
        free = np.flatnonzero(node.allowed)
        if free.size < count:
            return Expansion()
        if count == 0 or free.size == count:
            return _leaf(problem, node, np.concatenate([node.chosen, free[:count]]), known)
        # The root (order 0) is relaxed unless one unit is left to choose: its dual point is part
        # of the user's answer.
        if count == 1 or node.order > 0:
            ways = _completion(problem, node, known)
            if ways is not None:
                return replace(_completed(problem, node, ways), counts=count > 1)
        solved = relaxed(problem, node, known.threshold, deadline)
        # A copy, so that an interrupted expansion leaves the node unchanged.
        if solved.bound.value >= node.bound:
            node = replace(node, bound=solved.bound.value, dual=solved.dual)
        if node.bound >= known.threshold:
            return Expansion((bounded(node.dual),), closed=node.bound, counts=True)
        # Round the relaxed solution to a choice.
        offers: list[tuple[Index, float]] = []
        strongest = solved.working[largest_first(solved.s)[:count]]
        if strongest.size == count:
            positions = np.concatenate([node.chosen, strongest])
            columns = problem.features[problem.choices.columns(positions)]
            offers.append((columns, problem.fit(positions, known.objective)[1]))
            known = known.lowered(offers[0][1])
        # Of this relaxation, because q is; the bound of the node may come from its parent.
        out, fixed = screened(solved.bound, node.allowed, known.threshold)
        if not (out.any() or fixed.any()):
            return _divided(problem, node, solved, known).after((), np.inf, offers)
        names = problem.names
        step = Step(Kind.SCREEN, solved.dual, -1, names[out], names[fixed])
        chosen = np.concatenate([node.chosen, np.flatnonzero(fixed)])
        node = replace(node, chosen=chosen, allowed=node.allowed & ~out & ~fixed)
        count, left = problem.choices.k - chosen.size, int(node.allowed.sum())
        if 1 < count < left:
            rest = _divided(problem, node, solved, known)
        else:
            start = _Start.of(problem, solved, np.flatnonzero(node.allowed))
            child = _child(problem, node, chosen, node.allowed, start, solved.s)
            rest = Expansion(children=(child,) if 0 <= count <= left else ())
        # The choices ruled out lie above the threshold.
        return rest.after((step,), known.threshold, offers)


def _leaf(problem: Candidates, node: Node, positions: Index, known: Known) -> Expansion:
    """A node with one choice."""
    W, value = problem.fit(positions)
    columns = problem.choices.columns(positions)
    nothing = np.zeros(len(problem), dtype=bool)
    bound, dual = problem.bound(columns, W, positions, nothing).value, problem.dual(columns, W)
    if node.bound > bound and node.dual is not None:
        dual, bound = node.dual, node.bound
    offer = problem.features[columns], value
    if known.listing is not None and not bound >= known.threshold:
        listed = Listed(_names(problem, positions), value, bound)
        return Expansion((Step(Kind.ALL),), offers=(offer,), listed=(listed,))
    return Expansion((Step(Kind.BOUND, dual),), closed=bound, offers=(offer,))


def _completion(
    problem: Candidates, node: Node, known: Known, bound: DualBound | None = None
) -> Completion | None:
    """All ways to choose the last units of a node, if they are few."""
    free = np.flatnonzero(node.allowed)
    free = problem.choices.distinct(free, problem.choices.k - node.chosen.size)
    return problem.complete(node.chosen, free, known.threshold, bound, known.n_listed)


def _names(problem: Candidates, positions: Index) -> tuple[int, ...]:
    return tuple(np.sort(problem.names[positions]).tolist())


def _completed(problem: Candidates, node: Node, ways: Completion) -> Expansion:
    """The expansion of a node by trying all ways to choose its last units."""
    offers: tuple[tuple[Index, float], ...] = ()
    if ways.added is not None:
        columns = problem.choices.columns(np.append(node.chosen, ways.added))
        offers = ((problem.features[columns], ways.value),)
    listed: tuple[Listed, ...] = ()
    if ways.listed is not None:
        listed = tuple(
            Listed(_names(problem, np.append(node.chosen, added)), float(value), float(least))
            for added, value, least in zip(*ways.listed, strict=True)
        )
    # The bound that the node had before is larger only by rounding. False also for a bound that
    # is not a number.
    if listed or ways.bound >= node.bound:
        return Expansion((Step(ways.kind),), closed=ways.bound, offers=offers, listed=listed)
    return Expansion((bounded(node.dual),), closed=node.bound, offers=offers)


def _divided(problem: Candidates, node: Node, solved: NodeRelaxation, known: Known) -> Expansion:
    """A node split on the units that were planned, or all of few choices tried."""
    ways = _completion(problem, node, known, solved.bound)
    if ways is not None:
        return _completed(problem, node, ways)
    free = np.flatnonzero(node.allowed)
    start = _Start.of(problem, solved, free)
    kept = None
    if free.size < _COMPACT * len(problem):
        kept = np.sort(np.concatenate([node.chosen, free]))
    plan = solved.plan
    if not node.allowed[plan.units].any():
        s = start.full(solved.s)[free]
        plan = Splits(free[np.lexsort((solved.bound.q[free], s))[-1:]], solved.s[None], solved.s)
    splits: list[Step] = []
    children: list[Node] = []
    rest, count = node.allowed, problem.choices.k - node.chosen.size
    for branch, inside in zip(plan.units.tolist(), plan.inside, strict=True):
        # A choice with a copy instead is as good as one with the unit itself.
        copies = rest & problem.choices.copies_of(branch)
        if not rest[branch] or rest.sum() < count:
            continue
        rest = rest & ~copies
        rest[branch] = False
        # The dual point of the root is what remains of a proof too large to be kept.
        dual = None if node.order or splits else node.dual
        step = Step(Kind.SPLIT, dual, int(problem.names[branch]))
        if copies.any():
            step = replace(step, kind=Kind.EXCHANGE, out=problem.names[copies])
        splits.append(step)
        chosen = np.append(node.chosen, branch)
        children.append(_child(problem, node, chosen, rest | copies, start, inside, kept))
    if rest.sum() >= count:
        children.append(_child(problem, node, node.chosen, rest, start, plan.rest, kept))
    return Expansion(splits=splits, children=children)


class _Start(NamedTuple):
    """Where the relaxations of children start.

    Attributes
    ----------
    n_units : int
        Number of candidates.
    working : array of int
        The working set of their parent.
    likely : array of int
        Candidates with large scores, in falling order.
    guess : Guess or None
        The start of the fits.
    """

    n_units: int
    working: Index
    likely: Index
    guess: Guess | None

    @classmethod
    def of(cls, problem: Candidates, solved: NodeRelaxation, free: Index) -> Self:
        """From the relaxation of their parent, in which these candidates are free."""
        # Scores beyond the range of floats are not numbers.
        q = np.fmax(solved.bound.q[free], 0.0)
        most = problem.choices.k + _LIKELY + _MAX_SPLITS
        large = np.flatnonzero(q >= largest(q, most).min(initial=np.inf))
        likely = free[large[largest_first(q[large])]]
        return cls(len(problem), solved.working, likely, solved.guess)

    def full(self, s: Array) -> Array:
        """Values of the working set, of all candidates."""
        values = np.zeros(self.n_units)
        values[self.working] = s
        return values


def _child(
    problem: Candidates,
    node: Node,
    chosen: Index,
    allowed: Mask,
    start: _Start,
    s: Array,
    kept: Index | None = None,
) -> Node:
    """A part of a node, with the start of its relaxation: what is strong here, and what is likely.

    In positions among ``kept`` alone, if that is given.
    """
    likely, count = start.likely[allowed[start.likely]], problem.choices.k - chosen.size
    s = start.full(s)
    strong = allowed & (s > 0)
    strong[likely[: count + _LIKELY]] = True
    # Copies that were left out may have been the likely ones.
    missing = max(count - int(strong.sum()), 0)
    strong[np.flatnonzero(allowed & ~strong)[:missing]] = True
    working, subset = np.flatnonzero(strong), node.subset
    s = s[working]
    if kept is not None:
        subset = CandidateSubset.from_positions(kept if subset is None else subset.kept[kept])
        chosen, working = np.searchsorted(kept, chosen), np.searchsorted(kept, working)
        allowed = allowed[kept]
    dual, guess = node.dual, start.guess
    return Node(node.bound, 0, subset, chosen, allowed, working, s, dual=dual, guess=guess)
