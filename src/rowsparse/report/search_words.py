"""How close to the best choice a search came, in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rowsparse._text import counted
from rowsparse.report.numbers import (
    decimal,
    finite,
    metric_name,
    number,
    percent_down,
    percent_up,
    score,
    seconds,
)
from rowsparse.report.words import isolated, listing, stability_word
from rowsparse.workflow.results import (
    Alternatives,
    Certificate,
    ProgressPoint,
    SelectionResult,
)

__all__ = [
    "alternatives_sentence",
    "best_so_far",
    "certificate_label",
    "certificate_sentence",
    "has_course",
    "increase_words",
    "minimised",
    "progress_sentence",
    "proven_sentence",
]

_LOSSES = {
    "squared": "the squared error of a linear model",
    "l21": "the sum of the norms of the residuals of a linear model",
    "logistic": "the logistic loss of a linear model",
}
# An objective that falls by a smaller share fell by rounding, or by a fit that went on.
_ROUNDING = 1e-6


def certificate_sentence(certificate: Certificate | None, k: int, method: str) -> str:
    """How close to the best possible choice this one is, and whether that is proven.

    Examples
    --------
    >>> from rowsparse.workflow.results import Certificate
    >>> close = Certificate("gap", objective=10.0, lower_bound=9.96, gap=0.004)
    >>> certificate_sentence(close, 20, "TopK").replace("\\u00a0", " ")
    'No other choice of 20 features lowers the loss on these samples by more than 0.4 %; proven.'
    """
    choice = f"choice of {counted(k, 'feature')}"
    if certificate is not None and certificate.status == "only":
        return f"There is no other {choice}: they are all that may be selected."
    if certificate is None:
        return (
            f"Another {choice} may serve better; not proven: {isolated(method)} cannot tell how "
            "close to the best choice it comes."
        )
    if certificate.status == "optimal":
        return f"No other {choice} has a lower loss on these samples; proven."
    if certificate.status == "gap" and _says_something(certificate.gap):
        most = percent_up(certificate.gap)
        return f"No other {choice} lowers the loss on these samples by more than {most}; proven."
    if certificate.status == "gap":
        return (
            f"Another {choice} may have a lower loss; not proven: the search for a proof ended "
            "before it could say by how much at most."
        )
    return f"Another {choice} may have a lower loss; nothing is proven about this one."


def certificate_label(certificate: Certificate | None) -> tuple[str, str]:
    """The same in two or three words, and a few more to stand below them."""
    if certificate is not None and certificate.status == "optimal":
        return "Least possible", "proven: no other choice has a lower one"
    if certificate is not None and certificate.status == "only":
        return "The only one", "all features that may be selected are"
    if certificate is not None and certificate.status == "gap" and _says_something(certificate.gap):
        return f"Within {percent_up(certificate.gap)}", "of the lowest possible loss, proven"
    return "Not proven", "another choice may have a lower loss"


def proven_sentence(result: SelectionResult) -> str:
    """What a proof is about, beside what it is not about; empty where nothing is proven.

    A choice may have the least loss and yet be neither stable nor predict.
    """
    certificate = result.certificate
    if certificate is None or certificate.status not in ("optimal", "gap"):
        return ""
    if certificate.status == "gap" and not _says_something(certificate.gap):
        return ""
    stable = predict = ""
    if result.stability is not None and math.isfinite(result.stability[0]):
        value = result.stability[0]
        stable = f" (stability {decimal(value)}, {stability_word(value)})"
    if math.isfinite(result.score):
        predict = f" ({metric_name(result.metric)} {score(result.metric, result.score)})"
    return (
        "What is proven is about the loss on these samples. Whether other samples would give the "
        f"same features{stable}, and whether these predict them{predict}, is not proven."
    )


def alternatives_sentence(near: Alternatives, n_features: int) -> str:
    """How many choices are nearly as good, which features are in all, and what is proven.

    Examples
    --------
    >>> from rowsparse.workflow.results import Alternatives, ListedFeature
    >>> exact = {"cost_without_exact": True, "cost_with_exact": True}
    >>> must = ListedFeature("age", (0,), "all", 1.0, 0.2, cost_with=0.0, **exact)
    >>> may = ListedFeature("sex", (1,), "some", 0.5, 0.004, cost_with=0.0, **exact)
    >>> near = Alternatives(0.01, True, 0.01, (must, may), ((0, 1), (0,)), (0.0, 0.004))
    >>> text = alternatives_sentence(near, 30).translate({0x2068: "", 0x2069: "", 0xA0: " "})
    >>> text.split(". ")[0]
    'Within 1 % of the best there are exactly 2 choices, from 2 of 30 features'
    >>> text.split(". ", 1)[1]
    'Indispensable: age. No other choice comes that close: proven.'
    """
    asked = _percent(near.tolerance)
    n, of = len(near.choices), len(near.features)
    listed = f"{counted(n, 'choice')}, from {of:,} of {counted(n_features, 'feature')}"
    if near.is_complete:
        exactly = "" if near.n_uncertain else "exactly "
        parts = [f"Within {asked} of the best there {'is' if n == 1 else 'are'} {exactly}{listed}."]
    elif near.proven >= 0:
        known = percent_down(near.proven)
        parts = [
            f"The list is not complete: there may be more within {asked} of the best than these "
            f"{listed}; that there are no others within {known} is proven."
        ]
    else:
        return (
            f"The list is not complete: there may be more within {asked} of the best than these "
            f"{listed}; nothing is proven, not even that the best of them is the best."
        )
    names = [one.name for one in near.indispensable]
    within = "" if near.is_complete else f" within {percent_down(near.proven)}"
    parts.append(f"Indispensable{within}: {listing(names, 12) if names else 'none'}.")
    if near.is_complete:
        parts.append("No other choice comes that close: proven.")
    if near.n_uncertain:
        parts.append(f"About {near.n_uncertain:,} of them rounding decides.")
    if any(one.copies for one in near.features):
        parts.append("Of features that are copies of each other the first stands for all.")
    return " ".join(parts)


def increase_words(share: float, is_exact: bool) -> str:
    """By how much a loss rises, or at least by how much.

    Examples
    --------
    >>> text = [increase_words(0.0123, exact) for exact in (True, False)]
    >>> [one.replace("\\u00a0", " ") for one in text]
    ['1.2 %', '≥ 1.2 %']
    >>> increase_words(math.inf, True), increase_words(-0.5, False)
    ('not possible', 'not known')
    """
    if math.isinf(share):
        return "not possible"
    if is_exact:
        return f"{number(100 * max(share, 0.0), 2)}\u00a0%"
    return f"≥\u00a0{percent_down(share)}" if share >= 0 else "not known"


def _percent(share: float) -> str:
    return f"{number(100 * share)}\u00a0%"


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


def minimised(settings: Mapping[str, Any]) -> str:
    """The sentence on what TopK lowers, by the settings that took effect; empty for others.

    >>> minimised({"loss": "logistic", "alpha": 0.125}).replace("\\u00a0", " ")
    'The objective is the logistic loss of a linear model, with a ridge of 0.125 per sample.'
    """
    loss = _LOSSES.get(str(settings.get("loss")))
    if loss is None:
        return ""
    alpha = float(settings.get("alpha") or 0.0)
    ridge = f", with a ridge of {number(alpha)} per sample" if alpha > 0 else ", without a ridge"
    return f"The objective is {loss}{ridge}."
