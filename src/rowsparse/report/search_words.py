"""How close to the best choice a search came, in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rowsparse._text import counted
from rowsparse.report.names import isolated
from rowsparse.report.numbers import (
    finite,
    number,
    percent_up,
    seconds,
)

if TYPE_CHECKING:
    from rowsparse.workflow.results import (
        Certificate,
        ProgressPoint,
    )


__all__ = [
    "best_so_far",
    "certificate_label",
    "certificate_sentence",
    "has_course",
    "progress_sentence",
]

# An objective that falls by a smaller share fell by rounding, or by a fit that went on.
_ROUNDING = 1e-6


def certificate_sentence(certificate: Certificate | None, k: int, method: str) -> str:
    """How close to the best possible choice this one is, and whether that is proven.

    Examples
    --------
    >>> from rowsparse.workflow.results import Certificate
    >>> close = Certificate("gap", objective=10.0, lower_bound=9.96, gap=0.004)
    >>> certificate_sentence(close, 20, "TopK").replace("\\u00a0", " ")
    'No other choice of 20 features can lower the loss by more than 0.4 %; proven.'
    """
    choice = f"choice of {counted(k, 'feature')}"
    if certificate is None:
        return (
            f"Another {choice} may serve better; not proven: {isolated(method)} cannot tell how "
            "close to the best choice it comes."
        )
    if certificate.status == "optimal":
        return f"No other {choice} has a lower loss: this one is the best possible; proven."
    if certificate.status == "gap" and _says_something(certificate.gap):
        most = percent_up(certificate.gap)
        return f"No other {choice} can lower the loss by more than {most}; proven."
    if certificate.status == "gap":
        return (
            f"Another {choice} may have a lower loss; not proven: the search for a proof ended "
            "before it could say by how much at most."
        )
    return f"Another {choice} may have a lower loss; nothing is proven about this one."


def certificate_label(certificate: Certificate | None) -> tuple[str, str]:
    """The same in two or three words, and a few more to stand below them."""
    if certificate is not None and certificate.status == "optimal":
        return "Best possible", "proven: no other choice has a lower loss"
    if certificate is not None and certificate.status == "gap" and _says_something(certificate.gap):
        return f"Within {percent_up(certificate.gap)}", "of the lowest possible loss, proven"
    return "Not proven", "another choice may have a lower loss"


def _says_something(gap: float) -> bool:
    return math.isfinite(gap) and 0 <= gap < 1


def best_so_far(progress: Sequence[ProgressPoint]) -> list[ProgressPoint]:
    """The lowest objective and the highest bound up to each point; rounding is no change."""
    points: list[ProgressPoint] = []
    for point in progress:
        objective, bound = point.objective, point.lower_bound
        if points:
            last = points[-1]
            if not objective < last.objective - _ROUNDING * abs(last.objective):
                objective = last.objective
            known = [b for b in (last.lower_bound, bound) if b is not None]
            bound = max(known, default=None)
        points.append(replace(point, objective=objective, lower_bound=bound))
    return points


def has_course(progress: Sequence[ProgressPoint]) -> bool:
    """Whether objective or bound changed, so that there is something to draw."""
    points = best_so_far(progress)
    return len({(point.objective, point.lower_bound) for point in points}) > 1


def progress_sentence(progress: Sequence[ProgressPoint]) -> str:
    """When the choice was found, and how far the proof came."""
    points = best_so_far(progress)
    last = points[-1].objective
    if not has_course(progress):
        tried = "nothing tried after it was better" if len(points) > 1 else "no other was tried"
        return f"The search kept its first choice, with an objective of {number(last)}: {tried}."
    found = next(point for point in points if point.objective == last)
    text = f"The final choice was found after {seconds(found.seconds)}"
    bounds = finite(point.lower_bound for point in points if point.lower_bound is not None)
    if not bounds:
        return f"{text}, with an objective of {number(last)}."
    gap = (last - bounds[-1]) / abs(last) if last else 0.0
    rest = "closed" if gap <= 1e-6 else f"narrowed to {percent_up(gap)}"
    return (
        f"{text}; after {seconds(points[-1].seconds)} the gap between it and what is possible "
        f"at best was {rest}."
    )
