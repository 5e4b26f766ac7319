"""Correlations of the selected features with each other and with those that could replace them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from rowsparse._arrays import Array, Index, dense_columns
from rowsparse._validation import check_number
from rowsparse.design import ColumnScaling, make_design
from rowsparse.evaluation.supports import strongest_first
from rowsparse.plotting.axes import (
    QUIET,
    Display,
    axes_for,
    feature_names,
    fitted_support,
    name_cells,
)

# Largest number of columns whose cells have room for a number.
_NUMBERED = 14
# Inches of a cell and of the rest of the picture, and the greatest length of a side.
_CELL, _REST, _LONGEST = 0.32, 2.6, 14.0


@dataclass(eq=False, repr=False)
class CorrelationDisplay(Display):
    """The selected features, and the closest of those that were left out, by their correlations.

    A feature that was left out and is nearly as good as a selected one is highly correlated with
    it, as a rule. Make it with :meth:`from_estimator`.

    Parameters
    ----------
    names : list of str
        Names of the selected features.
    correlations : array of shape (n_selected, n_selected)
        Their correlations.
    closest_names : list of str
        Names of features that were left out.
    closest_correlations : array of shape (n_selected, n_closest)
        Correlations of the selected features with these.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    image_ : matplotlib AxesImage
        The correlations: the selected features, an empty column, and those left out.
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
    >>> display.closest_names
    ['petal length (cm)']
    >>> display.closest_correlations.round(2)
    array([[ 0.96],
           [-0.43]])
    """

    names: list[str]
    correlations: Array
    closest_names: list[str]
    closest_correlations: Array

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        n_closest: int = 1,
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
        n_closest : int, default=1
            How many of the features that were left out to show for each selected one, those
            with the largest absolute correlations. One that is close to several is shown once.
        max_features : int, optional
            Show the strongest only; None shows all that are selected.
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure.
        **image_options
            Passed to ``Axes.imshow``.

        Returns
        -------
        CorrelationDisplay
        """
        support = fitted_support(estimator)
        check_number("max_features", max_features, low=1, integer=True, optional=True)
        check_number("n_closest", n_closest, low=0, integer=True)
        X = check_array(X, accept_sparse="csr", input_name="X")
        if X.shape[1] != support.size:
            raise ValueError(
                f"X has {X.shape[1]} columns, but estimator was fitted to {support.size}."
            )
        chosen = np.flatnonzero(support)
        order = strongest_first(estimator) if hasattr(estimator, "scores_") else chosen
        order = order[:max_features]
        every = correlations_with(X, order)
        closest = closest_left_out(every, chosen, n_closest).ravel().tolist()
        others = list(dict.fromkeys(closest))
        names = feature_names(estimator, support.size)
        return cls(
            [names[j] for j in order.tolist()],
            every[:, order],
            [names[j] for j in others],
            every[:, others],
        ).plot(ax, **image_options)

    def _draw(self, ax: Any, options: dict[str, Any]) -> Any:
        k, m = self.closest_correlations.shape
        gap = np.full((k, 1 if m else 0), np.nan)
        cells = np.hstack([self.correlations, gap, self.closest_correlations])
        width, height = (min(_REST + _CELL * n, _LONGEST) for n in (cells.shape[1] + 2, k))
        axes = axes_for(ax, width, height)
        options = {"cmap": "RdBu_r", "vmin": -1.0, "vmax": 1.0, "aspect": "auto"} | options
        self.image_ = axes.imshow(cells, **options)
        self.colorbar_ = axes.figure.colorbar(self.image_, ax=axes, label="correlation")
        self.colorbar_.set_ticks([-1.0, 0.0, 1.0] if k < 3 else np.linspace(-1.0, 1.0, 5))
        self.texts_ = [] if cells.shape[1] > _NUMBERED else _write(axes, cells)
        axes.set_xlabel("selected features; closest left out (grey)" if m else "selected features")
        axes.spines[:].set_visible(False)
        between = [None] if self.closest_names else []
        name_cells(axes, self.names, [*self.names, *between, *self.closest_names])
        for at, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True):
            label.set_color(QUIET if at > k else "black")
        return axes


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


def correlations_with(X: Any, columns: Index, units: ColumnScaling | None = None) -> Array:
    """Correlations of some columns with all, of shape (n_chosen, n_features).

    Constant columns count as uncorrelated.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Data.
    columns : array of int
        The chosen columns.
    units : ColumnScaling, optional
        Means and inverse standard deviations of all columns, where they are known already.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [3.0, 6.0, 3.0]])
    >>> correlations_with(X, np.array([0])).round(2)
    array([[1.  , 1.  , 0.87]])
    """
    if units is None:
        units = make_design(X, center=True, scale=True)[1]
    Z = (dense_columns(X, columns) - units.mean[columns]) * units.inv_scale[columns]
    # Z is centred, so that X need not be.
    products = np.asarray((X.T @ Z).T if sp.issparse(X) else Z.T @ X)
    return np.clip(products * units.inv_scale / Z.shape[0], -1.0, 1.0)


def closest_left_out(correlations: Array, taken: Index, n_closest: int) -> Index:
    """For each row of correlations the columns with the largest ones, without those taken.

    >>> closest_left_out(np.array([[1.0, 0.2, -0.9, 0.5]]), np.array([0]), 2)
    array([[2, 3]])
    """
    left = np.setdiff1d(np.arange(correlations.shape[1]), taken)
    order = np.argsort(-np.abs(correlations[:, left]), axis=1, kind="stable")
    return np.asarray(left[order[:, :n_closest]])
