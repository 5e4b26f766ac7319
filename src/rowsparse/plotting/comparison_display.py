"""Selectors compared: their scores over the number of features, or their ranks over data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from rowsparse._arrays import Array
from rowsparse._names import shown
from rowsparse._validation import check_choice
from rowsparse.evaluation import Comparison, SelectionCurve
from rowsparse.evaluation.metrics import is_better_low
from rowsparse.plotting.axes import (
    COLOURS,
    STRONG,
    Display,
    axes_for,
    draw_line,
    k_ticks,
    name_ticks,
    row_axes,
)

# With more lines than this, error bars hide each other, and the legend stands beside the lines.
_FEW_LINES = 5
# What a curve has besides the metrics of its task.
_RECORDED = ("objective", "redundancy", "seconds", "n_selected")

# The size of a rank, as a share of that of the name of its method.
_NUMBER_SIZE = 0.833


@dataclass(eq=False, repr=False)
class ComparisonDisplay(Display):
    """Several selectors: scores over k on one data set, or mean ranks over many.

    Make it with :meth:`from_curve` or with :meth:`from_comparison`.

    Parameters
    ----------
    methods : sequence of str
        Names of the selectors.
    ks : sequence of int, optional
        Numbers of features.
    means, sds : arrays of shape (n_methods, n_ks), optional
        Mean scores and their standard deviations; of shape (n_methods, 2, n_ks), those below and
        above.
    score_name : str, default="score"
        What the scores are.
    is_low_better : bool, default=False
        Whether a lower score is better.
    comparison : Comparison, optional
        Mean ranks, which are drawn instead of scores.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib ErrorbarContainer
        One for each selector, in the order in which they are drawn; empty for ranks.
    bars_ax_ : matplotlib Axes or None
        For ranks: the axes of the bars that join selectors which are not told apart.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse.evaluation import compare_over_datasets, selection_curve
    >>> from rowsparse.plotting import ComparisonDisplay
    >>> curve = selection_curve(["topk", "rfs"], *load_iris(return_X_y=True), ks=[1, 2, 3])
    >>> display = ComparisonDisplay.from_curve(curve)
    >>> display.methods, display.means.shape
    (['TopK', 'RFS'], (2, 3))

    >>> scores = [[0.9, 0.8, 0.7], [0.8, 0.9, 0.6], [0.9, 0.7, 0.5], [0.7, 0.6, 0.5]]
    >>> result = compare_over_datasets(scores, ["a", "b", "c"])
    >>> ComparisonDisplay.from_comparison(result).ax_.get_xlabel()
    'mean rank'
    """

    methods: Any
    _: KW_ONLY
    ks: Any = None
    means: Array | None = None
    sds: Array | None = None
    score_name: str = "score"
    is_low_better: bool = False
    comparison: Comparison | None = None

    @classmethod
    def from_curve(
        cls,
        curve: SelectionCurve,
        *,
        metric: str | None = None,
        estimator: str | None = None,
        highlight: str | None = None,
        show_sd: bool | None = None,
        ax: Any = None,
        **line_options: Any,
    ) -> Self:
        """Draw scores over the number of features, or of a single number the best selector first.

        Parameters
        ----------
        curve : SelectionCurve
            What :func:`rowsparse.evaluation.selection_curve` returned.
        metric : str, optional
            A metric of the task, or "objective", "redundancy", "seconds" or "n_selected"; None
            is the first metric.
        estimator : str, optional
            The estimator that was scored; None is the first one.
        highlight, show_sd, ax, **line_options
            As in :meth:`plot`.

        Returns
        -------
        ComparisonDisplay
        """
        if not isinstance(curve, SelectionCurve):
            raise TypeError(
                "curve must be what rowsparse.evaluation.selection_curve returns; got "
                f"{type(curve).__name__}."
            )
        check_choice("metric", metric, (*curve.metrics, *_RECORDED), optional=True)
        check_choice("estimator", estimator, curve.estimators, optional=True)
        what = curve.metrics[0] if metric is None else metric
        judge = curve.estimators[0] if estimator is None else estimator
        name = what.replace("_", " ")
        display = cls(
            curve.selectors,
            ks=curve.ks,
            means=curve.mean(what, judge),
            sds=curve.sd(what, judge),
            score_name=name if what in _RECORDED else f"{name} of {judge}",
            is_low_better=what in _RECORDED or is_better_low(what),
        )
        return display.plot(ax, highlight=highlight, show_sd=show_sd, **line_options)

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, highlight: str | None = None, ax: Any = None
    ) -> Self:
        """Draw mean ranks with the critical difference.

        Parameters
        ----------
        comparison : Comparison
            What :func:`rowsparse.evaluation.compare_over_datasets` returned.
        highlight, ax
            As in :meth:`plot`.

        Returns
        -------
        ComparisonDisplay
        """
        if not isinstance(comparison, Comparison):
            raise TypeError(
                "comparison must be what rowsparse.evaluation.compare_over_datasets returns; got "
                f"{type(comparison).__name__}."
            )
        return cls(comparison.methods, comparison=comparison).plot(ax, highlight=highlight)

    def plot(
        self,
        ax: Any = None,
        *,
        highlight: str | None = None,
        show_sd: bool | None = None,
        **line_options: Any,
    ) -> Self:
        """Draw the scores, or the ranks if there is a comparison.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure. Ranks take a part of it for the bars at the right.
        highlight : str, optional
            The selector that stands out.
        show_sd : bool, optional
            Whether scores have error bars of one standard deviation; None draws them for up to
            five selectors.
        **line_options
            Passed to ``Axes.errorbar``, which draws the scores.

        Returns
        -------
        ComparisonDisplay
            Itself.
        """
        check_choice("highlight", highlight, self.methods, optional=True)
        self.lines_: list[Any] = []
        self.bars_ax_ = None
        if self.comparison is not None:
            axes = self._plot_ranks(ax, self.comparison, highlight)
        else:
            axes = self._plot_lines(ax, highlight, show_sd, line_options)
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _plot_ranks(self, ax: Any, comparison: Comparison, highlight: str | None) -> Any:
        axes = axes_for(ax, 7.0, 1.3 + 0.24 * len(self.methods))
        from mpl_toolkits.axes_grid1 import make_axes_locatable

        self.bars_ax_ = make_axes_locatable(axes).append_axes("right", "20%", 0.1, sharey=axes)
        draw_ranks(axes, self.bars_ax_, comparison, highlight=highlight)
        return axes

    def _plot_lines(
        self, ax: Any, highlight: str | None, show_sd: bool | None, options: dict[str, Any]
    ) -> Any:
        if self.ks is None or self.means is None:
            raise ValueError("Give ks and means, or comparison: there is nothing to draw.")
        if len(self.ks) == 1:
            return self._plot_rows(ax, highlight, show_sd is not False, options)
        axes = axes_for(ax)
        few = len(self.methods) <= _FEW_LINES
        with_sd = self.sds is not None and (few if show_sd is None else show_sd)
        for at, method in enumerate(self.methods):
            spread = np.asarray(self.sds)[at] if with_sd else None
            style = {"label": shown(method, 30)} | options
            line = draw_line(
                axes,
                self.ks,
                self.means[at],
                spread,
                number=at,
                highlight=method == highlight,
                **style,
            )
            self.lines_.append(line)
        words = f"{self.score_name} ± sd" if with_sd else self.score_name
        axes.set(xlabel="number of features k", ylabel=words)
        k_ticks(axes.xaxis)
        axes.grid(alpha=0.3)
        place = {} if few else {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        axes.legend(fontsize="small", **place)
        return axes

    def _plot_rows(
        self, ax: Any, highlight: str | None, with_sd: bool, options: dict[str, Any]
    ) -> Any:
        """A row for each selector at the only number of features, the best at the top."""
        means = np.asarray(self.means)[:, 0]
        order = np.argsort(means if self.is_low_better else -means, kind="stable")
        axes = row_axes(ax, len(order))
        name_ticks(axes.yaxis, [self.methods[i] for i in order.tolist()])
        for row, i in enumerate(order.tolist()):
            spread = None
            if with_sd and self.sds is not None:
                spread = np.asarray(self.sds)[i].reshape(-1, 1)
            colour = STRONG if self.methods[i] == highlight else COLOURS[i % len(COLOURS)]
            style = {"fmt": "o", "color": colour, "ms": 5} | options
            self.lines_.append(axes.errorbar(means[i], row, xerr=spread, **style))
        axes.set_xlabel(f"{self.score_name}{' ± sd' if with_sd else ''}, k = {self.ks[0]}")
        return axes


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
