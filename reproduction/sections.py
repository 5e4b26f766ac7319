"""The part of a page that all papers have: accuracy over k by one classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reproduction.declare import Row
from reproduction.figures import method_panels, protocol_pictures
from reproduction.summaries import means_by_protocol, standings
from reproduction.tables import means_table


def accuracy_section(
    name: str,
    rows: Sequence[Row],
    datasets: Mapping[str, str],
    methods: Mapping[str, str],
    watched: Mapping[str, str],
    *,
    estimator: str,
    what: str = "accuracy",
    y: str = "accuracy, %",
    drawn: Mapping[str, str] | None = None,
    columns: int = 2,
) -> dict[str, Any]:
    """Who stands where, the means over k, and the curves.

    ``watched`` has the methods whose places are given, and ``drawn`` those of the curves, if not
    all in their order.
    """
    found = means_by_protocol(rows, datasets, methods, what=what, estimator=estimator)
    return {
        "estimator": estimator,
        "means": found,
        "standings": standings(found, datasets, methods, watched),
        "table": means_table(found, datasets, methods),
        "pictures": protocol_pictures(
            name,
            lambda p: method_panels(
                rows, datasets, drawn or methods, what=what, protocol=p, estimator=estimator
            ),
            y=y,
            columns=columns,
        ),
    }
