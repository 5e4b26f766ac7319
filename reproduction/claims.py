"""What a paper says, what it prints, what comes out here, and the verdict: the head of a page."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from reproduction.tables import DASH

HOLDS, MOSTLY, FAILS, OPEN = "holds", "holds in most", "does not hold", "not run"


class Claim(NamedTuple):
    """A line of the table that a page opens with."""

    claim: str
    printed: str
    here: str
    verdict: str


def verdict(found: Sequence[bool]) -> str:
    """Of the cases that a sentence is about: all, more than half, or no more than half.

    >>> verdict([True, True]), verdict([True, True, False]), verdict([True, False]), verdict([])
    ('holds', 'holds in most', 'does not hold', 'not run')
    """
    if not found:
        return OPEN
    return HOLDS if all(found) else MOSTLY if 2 * sum(found) > len(found) else FAILS


def share(found: Sequence[bool]) -> str:
    """How many of the cases.

    >>> share([True, False])
    '1 of 2'
    """
    return f"{sum(found)} of {len(found)}" if found else DASH


def counted(claim: str, printed: str, what: str, found: Sequence[bool]) -> Claim:
    """A claim that is judged by the number of cases in which it holds; ``what`` they are.

    >>> counted("the best method", "curves", "data sets", [True, False, False])[2:]
    ('1 of 3 data sets', 'does not hold')
    """
    here = f"{share(found)} {what}" if found else DASH
    return Claim(claim, printed, here, verdict(found))


def split(
    claim: str, printed: str, parts: Mapping[str, Sequence[bool]], judged: Container[str] = ()
) -> Claim:
    """A claim with counts for several protocols or variants, and a verdict on each of them.

    One verdict stands for all where they agree. ``judged`` names those that count, if not all.

    >>> split("first", "curves", {"honest": [False], "published": [True]}).verdict
    'honest: does not hold; published: holds'
    """
    ran = {name: found for name, found in parts.items() if found}
    here = "; ".join(f"{name}: {share(found)}" for name, found in ran.items())
    verdicts = {n: verdict(found) for n, found in ran.items() if not judged or n in judged}
    if len({*verdicts.values()}) > 1:
        return Claim(claim, printed, here, "; ".join(f"{n}: {v}" for n, v in verdicts.items()))
    return Claim(claim, printed, here or DASH, next(iter(verdicts.values()), OPEN))
