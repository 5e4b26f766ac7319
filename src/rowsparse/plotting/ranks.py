"""Mean ranks over data sets, with the critical difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rowsparse.evaluation import Comparison
from rowsparse.plotting.axes import COLOURS, STRONG, name_ticks

__all__ = ["draw_ranks"]

# The size of a rank, as a share of that of the name of its method.
_NUMBER_SIZE = 0.833


def draw_ranks(
    axes: Any,
    bars: Any,
    comparison: Comparison,
    *,
    labels: Sequence[str] | None = None,
    colours: Sequence[str] | None = None,
    highlight: str | None = None,
) -> None:
    """Draw mean ranks from the best down; bars at the right join methods that are not told apart.

    Parameters
    ----------
    axes, bars : matplotlib Axes
        For the ranks, and for the bars beside them, with the same y axis.
    comparison : Comparison
        What to draw.
    labels, colours : sequence of str, optional
        How the methods are written and drawn.
    highlight : str, optional
        The method that stands out.
    """
    methods, ranks = comparison.methods, comparison.mean_ranks
    if colours is None:
        colours = [STRONG if method == highlight else COLOURS[0] for method in methods]
    room = name_ticks(axes.yaxis, labels or methods, "small")
    for at, (method, rank, colour) in enumerate(zip(methods, ranks, colours, strict=True)):
        axes.plot([0, rank], [at, at], color=colour, linewidth=0.8, alpha=0.35)
        size = min(7 if method == highlight else 5, room)
        axes.plot(rank, at, "o", color=colour, markersize=size)
    for at, text in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True):
        text.set_color(colours[at])
        text.set_fontweight("bold" if methods[at] == highlight else "normal")
        axes.annotate(
            f"{ranks[at]:.1f}",
            (ranks[at], at),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=_NUMBER_SIZE * text.get_fontsize(),
        )
    _draw_difference(axes, comparison)
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right", "left"]].set_visible(False)
    for at, (first, last) in enumerate(comparison.cliques):
        bars.plot([at, at], [first - 0.25, last + 0.25], color="black", linewidth=2.5)
    bars.set_xlim(-0.8, max(len(comparison.cliques), 4) - 0.2)
    bars.set_axis_off()


def _draw_difference(axes: Any, comparison: Comparison) -> None:
    """Set the limits, and draw the critical difference as a bar above the ranks."""
    highest, gap = float(comparison.mean_ranks.max()), comparison.critical_difference
    end = 1.0 + gap
    axes.set(
        xlim=(0, max(1.12 * highest, 1.05 * end)),
        ylim=(len(comparison.methods) - 0.4, -2.2),
        xlabel="mean rank",
    )
    axes.plot([1, end], [-1.3, -1.3], color="black", linewidth=2)
    axes.annotate(
        f"critical difference {gap:.1f}",
        ((1 + end) / 2, -1.45),
        ha="center",
        va="bottom",
        fontsize="small",
    )
