"""The volcano plot: effect against p-value of all features, the selected ones with their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rowsparse._arrays import Array
from rowsparse._names import full, shown
from rowsparse.report.labels import RADIUS, placed_labels
from rowsparse.report.lines import HEAD, Series, line_chart
from rowsparse.report.numbers import decimal, p_value
from rowsparse.report.svg import Scale, Svg, across, join, tag, text

if TYPE_CHECKING:
    from rowsparse.workflow.results import RankedFeature
    from rowsparse.workflow.univariate import UnivariateTests

__all__ = ["volcano"]

# p-values below 10 to the minus this are drawn there.
_LOWEST = 300.0
# Height in pixels of the chart.
HEIGHT = 340.0


def volcano(tests: UnivariateTests, features: Sequence[RankedFeature], most_named: int) -> Svg:
    """The chart.

    Parameters
    ----------
    tests : UnivariateTests
        Of all features.
    features : sequence of RankedFeature
        The selected ones, the strongest first.
    most_named : int
        How many of them get a name, if there is room.
    """
    x, y = _heights(tests)
    at = np.array([feature.index for feature in features], dtype=int)
    others = np.setdiff1d(np.arange(x.size), at)
    threshold = -np.log10(max(tests.threshold(), 10**-_LOWEST)) if tests.count() else np.nan

    def over(x_scale: Scale, y_scale: Scale) -> Svg:
        lines = [y_scale(threshold)] if np.isfinite(threshold) else []
        dots = [
            (x_scale(x[j]), y_scale(y[j]), shown(feature.name, 20))
            for j, feature in zip(at.tolist(), features, strict=True)
        ]
        inside = (HEAD, y_scale(0.0))
        labels = placed_labels(dots[:most_named], lines, inside)
        drawn = [tag("line", x1=0, x2="100%", y1=line, y2=line, class_="level") for line in lines]
        return join(
            [
                *drawn,
                *[
                    _dot(place, down, _hint(feature, tests))
                    for feature, (place, down, _) in zip(features, dots, strict=True)
                ],
                *[label.drawn() for label in labels],
                *[text("100%", HEAD - 10, "dashed: FDR 5 %", "note", "end") for _ in lines],
            ]
        )

    cloud = Series("", x[others].tolist(), y[others].tolist(), is_cloud=True)
    ends = Series("", x[at].tolist(), y[at].tolist(), line=False, dots=False)
    below = f"{tests.count():,} of {x.size:,} features have a false discovery rate of 5 % at most"
    return line_chart(
        [cloud, ends],
        label=f"{tests.effect_name} against p-value of all features, the selected ones marked. "
        f"{below}.",
        height=HEIGHT,
        x_label=tests.effect_name,
        y_label="−log₁₀ of p",
        limits=(0.0, np.inf),
        over=over,
    )


def _dot(at: float, y: float, hint: str) -> Svg:
    title = tag("title", hint)
    return tag("circle", title, cx=across(at), cy=float(y), r=RADIUS, class_="dot s0")


def _heights(tests: UnivariateTests) -> tuple[Array, Array]:
    """Effects, infinite ones at the end of the others, and −log10 of the p-values."""
    known = np.abs(tests.effects[np.isfinite(tests.effects)]).max(initial=0.0) or 1.0
    x = np.nan_to_num(np.clip(tests.effects, -known, known))
    return x, -np.log10(np.maximum(tests.p, 10**-_LOWEST))


def _hint(feature: RankedFeature, tests: UnivariateTests) -> str:
    j = feature.index
    return (
        f"{full(feature.name, 80)}: {tests.effect_name} {decimal(float(tests.effects[j]))}, "
        f"p {p_value(float(tests.p[j]))}, FDR {p_value(float(tests.fdr[j]))}"
    )
