"""The part of a page that all papers have: accuracy over k by one classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reproduction.declare import Row
from reproduction.figures import method_panels, protocol_pictures
from reproduction.summaries import all_samples, means_by_protocol
from reproduction.tables import means_table


def accuracy_section(
    name: str,
    rows: Sequence[Row],
    datasets: Mapping[str, str],
    methods: Mapping[str, str],
    *,
    estimator: str,
    what: str = "accuracy",
    y: str = "accuracy, %",
    drawn: Mapping[str, str] | None = None,
    columns: int = 2,
    subject: str = "TopK",
) -> dict[str, Any]:
    """The means over k, what selecting on all samples adds to them, and the curves.

    ``drawn`` has the methods of the curves, if not all in their order; the line of the ``subject``
    stands out.
    """
    found = means_by_protocol(rows, datasets, methods, what=what, estimator=estimator)
    return {
        "estimator": estimator,
        "means": found,
        "all_samples": all_samples(found, methods),
        "table": means_table(found, datasets, methods),
        "pictures": protocol_pictures(
            name,
            lambda p: method_panels(
                rows, datasets, drawn or methods, what=what, protocol=p, estimator=estimator
            ),
            y=y,
            columns=columns,
            subject=subject,
        ),
    }
