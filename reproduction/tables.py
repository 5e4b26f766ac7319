"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.summaries import Means

# What a cell without a result shows.
DASH = "–"


def shown(value: float | None, form: str) -> str:
    """A number, or a dash for none.

    >>> shown(0.5, ".2f"), shown(None, ".2f")
    ('0.50', '–')
    """
    return DASH if value is None else format(value, form)


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Mean and standard deviation.

    >>> spread([1.0, 2.0]), spread([])
    ('1.50 ± 0.50', '–')
    """
    if not len(values):
        return DASH
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"


def markdown_table(
    header: Sequence[str], lines: Iterable[Sequence[Any]], *, numbers: bool = True
) -> str:
    """A table in Markdown; the first column to the left, the others too unless they are numbers.

    >>> print(markdown_table(["data", "k"], [["ALLAML", 20]]))
    | data | k |
    |:--|--:|
    | ALLAML | 20 |
    """
    rule = "|" + "|".join([":--"] + ["--:" if numbers else ":--"] * (len(header) - 1)) + "|"
    rows = ["| " + " | ".join(map(str, line)) + " |" for line in [header, *lines]]
    return "\n".join([rows[0], rule, *rows[1:]])


def means_table(
    blocks: Mapping[str, Means],
    datasets: Mapping[str, str],
    methods: Mapping[str, str],
    *,
    form: str = ".1f",
) -> str:
    """Methods by data sets that were run; a cell has the means of all blocks, in their order."""
    ran = [d for d in datasets if any(d in means for means in blocks.values())]
    lines = []
    for method, label in methods.items():
        cells = [[means.get(d, {}).get(method) for means in blocks.values()] for d in ran]
        if any(value is not None for cell in cells for value in cell):
            lines.append([label, *("/".join(shown(v, form) for v in cell) for cell in cells)])
    return markdown_table(["method", *(datasets[d] for d in ran)], lines)
