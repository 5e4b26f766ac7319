"""How often the features are selected from subsamples."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from rowsparse._arrays import Array, Mask
from rowsparse._validation import check_number
from rowsparse.plotting.axes import (
    COLOURS,
    QUIET,
    STRONG,
    Display,
    feature_names,
    fitted_support,
    name_ticks,
    row_axes,
)


@dataclass(eq=False, repr=False)
class StabilityDisplay(Display):
    """Selection frequencies of the features, the most frequent first, with their intervals.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    names : list of str
        Names of the features.
    frequencies : array of shape (n_shown,)
        Share of the subsamples in which each was selected.
    intervals : array of shape (n_shown, 2)
        Their confidence intervals.
    selected : array of bool of shape (n_shown,)
        Whether each is among the selected features.
    threshold : float, optional
        The frequency from which on features are selected.
    stability, stability_interval : float, tuple of two floats, optional
        The stability of the selection and its confidence interval.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    points_ : list of matplotlib ErrorbarContainer
        Frequencies and intervals of the selected features, then of the others; those that are
        there.
    threshold_line_ : matplotlib Line2D or None
        The threshold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import StabilitySelection, TopK
    >>> from rowsparse.plotting import StabilityDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = StabilitySelection(TopK(2), n_subsamples=20, random_state=0).fit(X, y)
    >>> display = StabilityDisplay.from_estimator(selector, max_features=3)
    >>> display.names
    ['petal width (cm)', 'sepal width (cm)', 'petal length (cm)']
    """

    names: list[str]
    frequencies: Array
    intervals: Array
    selected: Mask
    _: KW_ONLY
    threshold: float | None = None
    stability: float | None = None
    stability_interval: tuple[float, float] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        max_features: int | None = 30,
        ax: Any = None,
        **point_options: Any,
    ) -> Self:
        """Draw the frequencies of a fitted :class:`rowsparse.StabilitySelection`.

        Parameters
        ----------
        estimator : StabilitySelection
            Fitted.
        max_features : int or None, default=30
            Draw the most frequent only; None draws all that were ever selected.
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure.
        **point_options
            Passed to ``Axes.errorbar``.

        Returns
        -------
        StabilityDisplay
        """
        support = fitted_support(estimator)
        check_number("max_features", max_features, low=1, integer=True, optional=True)
        if not hasattr(estimator, "frequencies_"):
            raise ValueError(
                f"{type(estimator).__name__} has no frequencies_: fit StabilitySelection with it "
                "as selector."
            )
        order = np.lexsort((estimator.ranking_, -estimator.frequencies_))
        order = order[estimator.frequencies_[order] > 0][:max_features]
        every = feature_names(estimator, support.size)
        return cls(
            [every[j] for j in order.tolist()],
            estimator.frequencies_[order],
            estimator.frequency_intervals_[order],
            support[order],
            threshold=estimator.threshold,
            stability=estimator.stability_,
            stability_interval=estimator.stability_interval_,
        ).plot(ax, **point_options)

    def _draw(self, ax: Any, options: dict[str, Any]) -> Any:
        axes = row_axes(ax, len(self.names))
        room = name_ticks(axes.yaxis, self.names)
        size = {"ms": min(5.0, 0.6 * room), "elinewidth": min(1.2, 0.25 * room)}
        self.points_ = []
        for mask, colour, fill, label in (
            (self.selected, COLOURS[0], COLOURS[0], "selected"),
            (~self.selected, QUIET, "white", "not selected"),
        ):
            rows = np.flatnonzero(mask)
            if not rows.size:
                continue
            shares = self.frequencies[rows]
            reach = np.abs(self.intervals[rows] - shares[:, None]).T
            style = {"fmt": "o", "color": colour, "mfc": fill, "label": label, **size}
            self.points_.append(axes.errorbar(shares, rows, xerr=reach, **style | options))
        self.threshold_line_ = None
        if self.threshold is not None:
            self.threshold_line_ = axes.axvline(
                self.threshold, color=STRONG, ls="--", lw=1.2, label="threshold"
            )
        axes.set(xlim=(-0.02, 1.02), xlabel="share of the subsamples that select it")
        axes.set_title(self._title(), fontsize="medium")
        axes.legend(loc="lower right", fontsize="small")
        return axes

    def _title(self) -> str:
        if self.stability is None:
            return ""
        if self.stability_interval is None:
            return f"stability {self.stability:.2f}"
        low, high = self.stability_interval
        return f"stability {self.stability:.2f} (95 % interval {low:.2f} to {high:.2f})"
