"""What a proof by branch and bound consists of, so that somebody else can check it.

A proof is a list of steps. Each speaks of one set of choices, of which there are more and more to
speak of: the choices of k features that contain some features, and otherwise only others of those
that are allowed. At first there is one set, all choices. A step takes the latest set from the
stack; it bounds it, or splits it into smaller ones, which it puts on the stack. If nothing is left
in the end, every choice was bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from rowsparse._arrays import Array, Index


class Kind(IntEnum):
    """What a step does with a set of choices."""

    OPEN = 0  # nothing is known of it but that no objective is negative
    BOUND = 1  # it has the bound of a dual point
    LAST = 2  # one or two features are to go: all ways to choose them are looked at
    SPLIT = 3  # into those with a feature and those without it; the former are next
    SCREEN = 4  # some features are in none, or in all, of the choices that are left
    ALL = 5  # every choice is looked at


@dataclass(frozen=True)
class Dual:
    """The W of a bound, in the units of the design: its rows, and the features that have them."""

    features: Index
    W: Array


@dataclass(frozen=True)
class Step:
    """One step; ``children`` are the keys of the nodes that it leads to."""

    kind: Kind
    dual: Dual | None = None
    feature: int = -1
    out: Index | None = None
    fixed: Index | None = None
    children: tuple[int, ...] = ()

    def with_keys(self, first: int) -> Step:
        """The same with ``first - key`` for the negative keys of its children."""
        children = tuple(first - key if key < 0 else key for key in self.children)
        return Step(self.kind, self.dual, self.feature, self.out, self.fixed, children)


Steps = Mapping[int, Sequence[Step]]


def in_order(steps: Steps, duals: Mapping[int, Dual | None]) -> list[Step]:
    """The steps of a tree in the order of the stack, from those of its nodes.

    A node without steps is one that nobody looked into: it has the bound of its parent's dual
    point.
    """
    ordered: list[Step] = []
    stack = [0]
    while stack:
        key = stack.pop()
        chain = steps.get(key)
        if chain is None:
            dual = duals.get(key)
            ordered.append(Step(Kind.OPEN) if dual is None else Step(Kind.BOUND, dual))
            continue
        ordered.extend(chain)
        for step in chain:
            stack.extend(reversed(step.children))
    return ordered


def root_alone(steps: Steps) -> list[Step]:
    """What is proven before any branching: a bound on all choices, or nothing."""
    chain = steps.get(0)
    if not chain:
        return [Step(Kind.OPEN)]
    if not any(step.children for step in chain):
        return list(chain)
    dual = chain[0].dual
    return [Step(Kind.OPEN) if dual is None else Step(Kind.BOUND, dual)]
