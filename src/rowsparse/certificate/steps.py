"""The steps of a proof by branch and bound.

A proof is a list of steps that work on a stack of sets of choices. A set holds the choices of k
features that contain given features and otherwise only features that are allowed. At first the
stack holds one set, all choices. Each step takes the top set and either bounds it, or splits it
into smaller ones that go on the stack. If the stack is empty at the end, every choice was bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from rowsparse._arrays import Array, Index


class Kind(IntEnum):
    """What a step does with a set of choices."""

    OPEN = 0  # bounds it by 0: no objective is negative
    BOUND = 1  # bounds it by a dual point
    LAST = 2  # one or two features are left to choose: tries all ways to choose them
    SPLIT = 3  # splits it into the choices with a feature, which come next, and those without
    SCREEN = 4  # removes the choices with some features, or without others, by a dual point
    ALL = 5  # tries every choice


@dataclass(frozen=True)
class Dual:
    """The non-zero rows of the W of a bound, in the units of the design, and their features."""

    features: Index
    W: Array


@dataclass(frozen=True)
class Step:
    """One step; see :class:`Kind`.

    Attributes
    ----------
    kind : Kind
        What it does.
    dual : Dual or None
        The dual point of a bound.
    feature : int
        The feature to split on, or -1.
    out, fixed : array of int or None
        For screening: features of no choice that is left, and of all that are left.
    children : tuple of int
        Keys of the nodes that the step creates.
    """

    kind: Kind
    dual: Dual | None = None
    feature: int = -1
    out: Index | None = None
    fixed: Index | None = None
    children: tuple[int, ...] = ()

    def with_keys(self, first: int) -> Step:
        """The same step with ``first - key`` instead of each negative key of its children."""
        children = tuple(first - key if key < 0 else key for key in self.children)
        return Step(self.kind, self.dual, self.feature, self.out, self.fixed, children)


Steps = Mapping[int, Sequence[Step]]


def bounded(dual: Dual | None) -> Step:
    """The step that bounds a set of choices by a dual point, or by 0 without one."""
    return Step(Kind.OPEN) if dual is None else Step(Kind.BOUND, dual)


def in_order(steps: Steps, duals: Mapping[int, Dual | None]) -> list[Step]:
    """The steps of a whole tree in the order of the stack, from those of its nodes.

    A node without steps was not expanded: it has the bound of its parent's dual point.
    """
    ordered: list[Step] = []
    stack = [0]
    while stack:
        key = stack.pop()
        chain = steps.get(key)
        if chain is None:
            ordered.append(bounded(duals.get(key)))
            continue
        ordered.extend(chain)
        for step in chain:
            stack.extend(reversed(step.children))
    return ordered


def root_alone(steps: Steps) -> list[Step]:
    """The steps of the bound before any branching."""
    chain = steps.get(0)
    if not chain:
        return [Step(Kind.OPEN)]
    if not any(step.children for step in chain):
        return list(chain)
    return [bounded(chain[0].dual)]
