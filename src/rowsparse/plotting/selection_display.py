"""The selected features with their scores, and how often resamples select them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from rowsparse._arrays import Array
from rowsparse._validation import check_number
from rowsparse.evaluation.supports import strongest_first
from rowsparse.plotting.axes import (
    COLOURS,
    Display,
    feature_names,
    fitted_support,
    name_ticks,
    row_axes,
)

# An infinite score is drawn this much longer than the largest finite one.
_LONGER = 1.1
# Width of the column of frequencies, as a share of the axis.
_COLUMN = 0.12


@dataclass(eq=False, repr=False)
class SelectionDisplay(Display):
    """Scores of the selected features, the strongest first, and their frequencies where known.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    names : list of str
        Names of the selected features.
    scores : array of shape (n_selected,)
        Their scores.
    frequencies : array of shape (n_selected,), optional
        Share of the resamples in which each was selected.
    score_name : str, default="score"
        What the scores are.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    bars_ : matplotlib BarContainer
        The scores; an infinite one is the longest.
    frequency_texts_ : list of matplotlib Annotation
        The frequencies; empty where they are not known.

    See Also
    --------
    StabilityDisplay : Frequencies with their intervals.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import TopK
    >>> from rowsparse.plotting import SelectionDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = SelectionDisplay.from_estimator(TopK(2, random_state=0).fit(X, y))
    >>> display.names
    ['petal width (cm)', 'sepal width (cm)']
    """

    names: list[str]
    scores: Array
    _: KW_ONLY
    frequencies: Array | None = None
    score_name: str = "score"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        stability: Any = None,
        max_features: int | None = None,
        ax: Any = None,
        **bar_options: Any,
    ) -> Self:
        """Draw what a fitted selector has selected.

        Parameters
        ----------
        estimator : selector
            Fitted, with ``scores_``: this package's, or scikit-learn's such as ``SelectKBest``.
        stability : StabilitySelection, optional
            Fitted to the same columns: its frequencies are added.
        max_features : int, optional
            Draw the strongest only; None draws all that are selected.
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure.
        **bar_options
            Passed to ``Axes.barh``.

        Returns
        -------
        SelectionDisplay
        """
        support = fitted_support(estimator)
        check_number("max_features", max_features, low=1, integer=True, optional=True)
        kind = type(estimator).__name__
        if getattr(estimator, "scores_", None) is None:
            raise ValueError(
                f"{kind} has no scores_ to draw: take a selector that scores its features, or "
                "StabilityDisplay for frequencies."
            )
        order = strongest_first(estimator)[:max_features]
        every = feature_names(estimator, support.size)
        display = cls(
            [every[j] for j in order.tolist()],
            np.asarray(estimator.scores_, dtype=np.float64)[order],
            frequencies=None if stability is None else _frequencies(stability, support.size)[order],
            score_name=f"score of {kind}",
        )
        return display.plot(ax, **bar_options)

    def _draw(self, ax: Any, options: dict[str, Any]) -> Any:
        axes = row_axes(ax, len(self.names))
        finite = self.scores[np.isfinite(self.scores)]
        longest = _LONGER * float(finite.max()) if finite.size and finite.max() > 0 else 1.0
        lengths = np.where(np.isposinf(self.scores), longest, self.scores)
        options = {"color": COLOURS[0], "height": 0.7} | options
        self.bars_ = axes.barh(np.arange(len(self.names)), lengths, **options)
        axes.set_xlabel(self.score_name)
        name_ticks(axes.yaxis, self.names)
        self.frequency_texts_ = self._write_frequencies(axes)
        return axes

    def _write_frequencies(self, axes: Any) -> list[Any]:
        """Write the frequencies at the right, in the rows that have names."""
        if self.frequencies is None:
            return []
        low, high = axes.get_xlim()
        axes.set_xlim(low, high + _COLUMN * (high - low))
        axes.set_title("selected in", loc="right", fontsize="small")
        size = axes.get_yticklabels()[0].get_fontsize()
        return [
            axes.annotate(
                f"{self.frequencies[row]:.0%}",
                (1.0, row),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="center",
                fontsize=size,
            )
            for row in axes.get_yticks().astype(int).tolist()
        ]


def _frequencies(stability: Any, n_features: int) -> Array:
    support = fitted_support(stability)
    if not hasattr(stability, "frequencies_"):
        raise TypeError(f"stability must be a fitted StabilitySelection; got {stability!r}.")
    if support.size != n_features:
        raise ValueError(
            f"stability was fitted to {support.size} columns, and estimator to {n_features}."
        )
    return np.asarray(stability.frequencies_)
