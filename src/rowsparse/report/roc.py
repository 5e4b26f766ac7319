"""ROC curves: how many of a class are found, against how many others are taken for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowsparse._names import full
from rowsparse.report.lines import Series, line_chart, style_class
from rowsparse.report.numbers import decimal
from rowsparse.report.svg import Svg

if TYPE_CHECKING:
    from rowsparse.workflow.class_scores import ClassScore

__all__ = ["RocChart", "roc_chart"]

# More curves than these cannot be told apart.
MOST_CURVES = 12


@dataclass(frozen=True)
class RocChart:
    """The drawing, the entries of its legend (name, style, words), and how many are not drawn."""

    drawing: Svg
    legend: list[tuple[str, str, str]]
    n_left_out: int = 0


def roc_chart(scores: Sequence[ClassScore], *, two_classes: bool) -> RocChart | None:
    """The curves of each class against the rest; one only if there are two classes.

    Of too many classes, those with the smallest areas are drawn. None if there is no curve.
    """
    known = [one for one in scores if one.false_positive_rate]
    if two_classes:
        known = known[1:]
    if not known:
        return None
    drawn = sorted(known, key=lambda one: one.auc)[:MOST_CURVES]
    drawn = [one for one in known if one in drawn]
    guessing = Series("guessing", [0.0, 1.0], [0.0, 1.0], dots=False, line_class="level")
    curves = [
        Series("", one.false_positive_rate, one.true_positive_rate, style=at, dots=False)
        for at, one in enumerate(drawn)
    ]
    areas = ", ".join(f"{full(one.name, 40)} {decimal(one.auc, 3)}" for one in drawn)
    drawing = line_chart(
        [guessing, *curves],
        label=f"ROC curves. Area under the curve: {areas}.",
        height=330,
        x_label="others taken for it (1 − specificity)",
        y_label="found (sensitivity)",
        x_ticks=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
        limits=(0.0, 1.0),
    )
    legend = [
        (one.name, style_class(at), f"AUC {decimal(one.auc, 3)}") for at, one in enumerate(drawn)
    ]
    return RocChart(drawing, legend, len(known) - len(drawn))
