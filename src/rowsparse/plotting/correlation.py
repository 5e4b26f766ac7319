"""Correlations of the selected features with each other and with those that could replace them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_array

from rowsparse._arrays import Array
from rowsparse._validation import check_number
from rowsparse.evaluation.correlation import closest_left_out, correlations_with
from rowsparse.evaluation.supports import strongest_first
from rowsparse.plotting.axes import QUIET, axes_for, name_ticks
from rowsparse.plotting.features import feature_names, fitted_support

__all__ = ["CorrelationDisplay"]

# Cells of so many columns have room for a number.
_NUMBERED = 14
# Inches of a cell and of the rest of the picture, and the greatest length of a side.
_CELL, _REST, _LONGEST = 0.32, 2.6, 14.0


class CorrelationDisplay:
    """The selected features, and the closest of those that were left out, by their correlations.

    A feature that was left out and is nearly as good as a selected one is highly correlated with
    it, as a rule. Make it with :meth:`from_estimator`.

    Parameters
    ----------
    names : list of str
        Names of the selected features.
    correlations : array of shape (n_selected, n_selected)
        Their correlations.
    alternative_names : list of str
        Names of features that were left out.
    alternative_correlations : array of shape (n_selected, n_alternatives)
        Correlations of the selected features with these.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    image_ : matplotlib AxesImage
        The correlations: the selected features, an empty column, and the alternatives.
    texts_ : list of matplotlib Text
        Numbers in the cells; empty where there are too many.
    colorbar_ : matplotlib Colorbar
        The scale.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import TopK
    >>> from rowsparse.plotting import CorrelationDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = CorrelationDisplay.from_estimator(TopK(2, random_state=0).fit(X, y), X)
    >>> display.alternative_names
    ['petal length (cm)']
    >>> display.alternative_correlations.round(2)
    array([[ 0.96],
           [-0.43]])
    """

    def __init__(
        self,
        names: list[str],
        correlations: Array,
        alternative_names: list[str],
        alternative_correlations: Array,
    ) -> None:
        self.names = names
        self.correlations = correlations
        self.alternative_names = alternative_names
        self.alternative_correlations = alternative_correlations

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        n_alternatives: int = 1,
        max_features: int | None = None,
        ax: Any = None,
        **image_options: Any,
    ) -> Self:
        """Draw the correlations of what a fitted selector has selected.

        Parameters
        ----------
        estimator : selector
            Fitted.
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            The samples from which the correlations are computed.
        n_alternatives : int, default=1
            How many of the features that were left out to show for each selected one, those
            with the largest absolute correlations. One that is close to several is shown once.
        max_features : int, optional
            Show the strongest only; None shows all that are selected.
        ax, **image_options
            As in :meth:`plot`.

        Returns
        -------
        CorrelationDisplay
        """
        support = fitted_support(estimator)
        check_number("max_features", max_features, low=1, integer=True, optional=True)
        check_number("n_alternatives", n_alternatives, low=0, integer=True)
        X = check_array(X, accept_sparse="csr", input_name="X")
        if X.shape[1] != support.size:
            raise ValueError(
                f"X has {X.shape[1]} columns, but estimator was fitted to {support.size}."
            )
        chosen = np.flatnonzero(support)
        order = strongest_first(estimator) if hasattr(estimator, "scores_") else chosen
        order = order[:max_features]
        every = correlations_with(X, order)
        closest = closest_left_out(every, chosen, n_alternatives).ravel().tolist()
        others = list(dict.fromkeys(closest))
        names = feature_names(estimator, support.size)
        return cls(
            [names[j] for j in order.tolist()],
            every[:, order],
            [names[j] for j in others],
            every[:, others],
        ).plot(ax, **image_options)

    def plot(self, ax: Any = None, **image_options: Any) -> Self:
        """Draw the correlations as colours, and as numbers where there is room.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure.
        **image_options
            Passed to ``Axes.imshow``.

        Returns
        -------
        CorrelationDisplay
            Itself.
        """
        k, m = self.alternative_correlations.shape
        gap = np.full((k, 1 if m else 0), np.nan)
        cells = np.hstack([self.correlations, gap, self.alternative_correlations])
        width, height = (min(_REST + _CELL * n, _LONGEST) for n in (cells.shape[1] + 2, k))
        axes = axes_for(ax, width, height)
        options = {"cmap": "RdBu_r", "vmin": -1.0, "vmax": 1.0, "aspect": "auto"} | image_options
        self.image_ = axes.imshow(cells, **options)
        self.colorbar_ = axes.figure.colorbar(self.image_, ax=axes, label="correlation")
        self.colorbar_.set_ticks([-1.0, 0.0, 1.0] if k < 3 else np.linspace(-1.0, 1.0, 5))
        self.texts_ = [] if cells.shape[1] > _NUMBERED else _write(axes, cells)
        axes.set_xlabel("selected features; closest left out (grey)" if m else "selected features")
        axes.spines[:].set_visible(False)
        self._write_names(axes, k)
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _write_names(self, axes: Any, k: int) -> None:
        between = [None] if self.alternative_names else []
        name_ticks(axes.xaxis, [*self.names, *between, *self.alternative_names])
        axes.tick_params(axis="x", rotation=90)
        for at, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True):
            label.set_color(QUIET if at > k else "black")
        # The names below take from the height that the rows share.
        whole = axes.figure.figure
        engine = whole.get_layout_engine()
        if engine is not None:
            engine.execute(whole)
        name_ticks(axes.yaxis, self.names)


def _write(axes: Any, cells: Array) -> list[Any]:
    """Write the numbers into their cells, white on dark colours."""
    return [
        axes.text(
            column,
            row,
            f"{value:.2f}",
            ha="center",
            va="center",
            fontsize="x-small",
            color="white" if abs(value) > 0.6 else "black",
        )
        for (row, column), value in np.ndenumerate(cells)
        if np.isfinite(value)
    ]
