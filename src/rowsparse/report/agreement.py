"""Which features the methods of a comparison agree on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rowsparse._arrays import Array
from rowsparse._text import counted
from rowsparse.report.cells import Cells, share_cells
from rowsparse.report.names import listing

if TYPE_CHECKING:
    from rowsparse.evaluation import SelectionCurve

__all__ = ["Agreement", "agreement"]

# More features than these are not read.
MOST_FEATURES = 30
# A method selects a feature if it does so in this share of the folds at least.
_MOST_FOLDS = 0.5


@dataclass(frozen=True)
class Agreement:
    """The chart, a sentence on it, and how many features are not drawn."""

    chart: Cells
    sentence: str
    n_left_out: int


def agreement(curve: SelectionCurve, names: tuple[str, ...], k: int) -> Agreement | None:
    """How often each method selects each feature, the most agreed on first.

    Parameters
    ----------
    curve : SelectionCurve
    names : tuple of str
        Of all features.
    k : int
        Number of features.

    Returns
    -------
    Agreement or None
        None without names, or with fewer than two methods.
    """
    if not names:
        return None
    shares: dict[str, Array] = {}
    for method in curve.selectors:
        supports = [
            record.support
            for record in curve.records
            if (record.selector, record.k) == (method, k)
            and record.estimator == curve.estimators[0]
            and not record.error
        ]
        if supports:
            counts = np.zeros(len(names))
            for support in supports:
                counts[list(support)] += 1
            shares[method] = counts / len(supports)
    if len(shares) < 2:
        return None
    table = np.array(list(shares.values())).T
    agreed = (table >= _MOST_FOLDS).sum(axis=1)
    order = np.lexsort((-table.sum(axis=1), -agreed))
    order = order[table[order].any(axis=1)]
    drawn = order[:MOST_FEATURES]
    chart = share_cells(
        table[drawn],
        [names[j] for j in drawn.tolist()],
        list(shares),
        f"Share of the folds in which each method selects a feature, k = {k}",
    )
    every = [names[j] for j in order.tolist() if agreed[j] == len(shares)]
    return Agreement(chart, _sentence(every, len(shares), k), len(order) - len(drawn))


def _sentence(every: list[str], n_methods: int, k: int) -> str:
    of = f"With {counted(k, 'feature')},"
    within = "in at least half of the folds"
    if not every:
        return f"{of} no feature is selected by all {n_methods} methods {within}."
    verb = "is" if len(every) == 1 else "are"
    return (
        f"{of} {counted(len(every), 'feature')} {verb} selected by all {n_methods} methods "
        f"{within}: {listing(every, 6)}."
    )
