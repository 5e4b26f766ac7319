"""Selectors compared: their scores over the number of features, or their ranks over data sets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from rowsparse._arrays import Array
from rowsparse._names import shown
from rowsparse._validation import check_choice
from rowsparse.evaluation import Comparison, SelectionCurve
from rowsparse.plotting.axes import axes_for
from rowsparse.plotting.lines import draw_line
from rowsparse.plotting.ranks import draw_ranks

__all__ = ["ComparisonDisplay"]

# With more lines than this, error bars hide each other, and the legend stands beside the lines.
_FEW_LINES = 5
# What a curve has besides the metrics of its task.
_RECORDED = ("objective", "redundancy", "seconds", "n_selected")


class ComparisonDisplay:
    """Several selectors: scores over k on one data set, or mean ranks over many.

    Make it with :meth:`from_curve` or with :meth:`from_comparison`.

    Parameters
    ----------
    methods : sequence of str
        Names of the selectors.
    ks : sequence of int, optional
        Numbers of features.
    means, sds : arrays of shape (n_methods, n_ks), optional
        Mean scores and their standard deviations.
    score_name : str, default="score"
        What the scores are.
    comparison : Comparison, optional
        Mean ranks, which are drawn instead of scores.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib ErrorbarContainer
        One for each selector; empty for ranks.
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

    def __init__(
        self,
        methods: Any,
        *,
        ks: Any = None,
        means: Array | None = None,
        sds: Array | None = None,
        score_name: str = "score",
        comparison: Comparison | None = None,
    ) -> None:
        self.methods = methods
        self.ks = ks
        self.means = means
        self.sds = sds
        self.score_name = score_name
        self.comparison = comparison

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
        """Draw scores over the number of features.

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
        axes.grid(alpha=0.3)
        place = {} if few else {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        axes.legend(fontsize="small", **place)
        return axes
