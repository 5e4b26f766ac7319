"""The page of two results compared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rowsparse._text import counted
from rowsparse.report.names import isolated
from rowsparse.report.numbers import decimal, metric_name, score, spread
from rowsparse.report.page import render

if TYPE_CHECKING:
    from rowsparse.workflow.diff import FeatureDiff, ResultDiff, ScoreDiff

__all__ = ["coefficient_words", "diff_page", "diff_sentences", "score_words"]

MOST_ROWS = 500


def diff_page(diff: ResultDiff) -> str:
    """The report of ``rowsparse diff`` as one HTML page.

    Parameters
    ----------
    diff : ResultDiff

    Returns
    -------
    str
        The page: style, script and charts are inside, and nothing is fetched.
    """
    return render(
        "diff.html.j2",
        title="Two selections compared",
        diff=diff,
        summary=diff_sentences(diff),
        tiles=[],
        most_rows=MOST_ROWS,
        coefficient_words=coefficient_words,
        score_words=score_words,
    )


def diff_sentences(diff: ResultDiff) -> list[str]:
    """How many features are the same, and whether the scores differ by more than their spread."""
    a, b = (isolated(name, 30) for name in diff.names)
    both = len(diff.both)
    sentences = [
        f"{counted(both, 'feature')} {'is' if both == 1 else 'are'} in both; "
        f"{len(diff.only(0)):,} only in {a} and {len(diff.only(1)):,} only in {b}."
    ]
    main = next((one for one in diff.scores if one.name == "selected features"), None)
    if main is not None and all(map(math.isfinite, main.values)):
        sentences.append(_score_sentence(main, a, b))
    n = len(diff.settings)
    sentences.append(
        f"{counted(n, 'setting')} or fact{'s' if n != 1 else ''} of the data "
        f"{'differs' if n == 1 else 'differ'}."
        if n
        else "Settings, data and versions are the same."
    )
    return sentences


def _score_sentence(main: ScoreDiff, a: str, b: str) -> str:
    metric, other = main.metrics
    if metric != other:
        return (
            f"The scores cannot be compared: {a} has {metric_name(metric)}, {b} "
            f"{metric_name(other)}."
        )
    first, second = (score(metric, value) for value in main.values)
    text = f"The {metric_name(metric)} is {first} in {a} and {second} in {b}"
    gap, around = abs(main.values[0] - main.values[1]), max(main.spreads)
    if not gap:
        return f"The {metric_name(metric)} is {first} in both."
    if not math.isfinite(around):
        return f"{text}."
    verb = "is more than" if gap > around else "is within"
    return f"{text}: that {verb} the spread over the folds ({spread(metric, around)})."


def score_words(one: ScoreDiff, side: int) -> str:
    """A score with its spread."""
    value, around = one.values[side], one.spreads[side]
    if one.name == "stability":
        return decimal(value)
    return f"{score(one.metrics[side], value)} {spread(one.metrics[side], around)}".strip()


def coefficient_words(one: FeatureDiff, side: int, outputs: tuple[str, ...]) -> str:
    """The largest coefficient of a feature, and what it is of."""
    values = one.coefficients[side]
    if not values:
        return ""
    at = max(range(len(values)), key=lambda i: abs(values[i]) if math.isfinite(values[i]) else -1.0)
    of = f" ({isolated(outputs[at], 16)})" if len(outputs) == len(values) > 1 else ""
    return decimal(values[at], 3) + of
