"""The best features for every k: the objective or score, and which features they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rowsparse._arrays import Array, Index, Mask
from rowsparse._validation import check_number
from rowsparse.evaluation.supports import path_of
from rowsparse.plotting.axes import (
    COLOURS,
    QUIET,
    Display,
    axes_for,
    feature_names,
    k_ticks,
    name_ticks,
    row_axes,
)
from rowsparse.selectors import TopK, TopKCV, TopKPath

# Number of features by which the path of TopK goes beyond its own number.
_BEYOND = 10
# Inches of the curve and of a row below it, and the greatest height of all rows.
_CURVE, _ROW, _HIGHEST = 3.2, 0.2, 12.0


@dataclass(eq=False, repr=False)
class PathDisplay(Display):
    """A curve over the number of features k, and below it which features are selected at each k.

    Make it with :meth:`from_path` or with :meth:`from_estimator`.

    Parameters
    ----------
    ks : array of int of shape (m,)
        The numbers of features.
    values : array of shape (m,)
        The objective, score or criterion of each.
    errors : array of shape (m,) or (2, m), optional
        Standard errors of the values; two rows are those below and above.
    chosen_k : int, optional
        The number that was chosen.
    enough : float, optional
        The least value that the rule by which it was chosen accepts.
    value_name : str, default="objective"
        What the values are.
    error_name : str, default="se"
        What the errors are; empty if the name of the values says it.
    names : list of str, optional
        Names of the features that are selected at some k, in the order in which they enter.
    path_ks : array of int of shape (p,), optional
        The numbers of features at which their selection is known.
    membership : array of bool of shape (n_shown, p), optional
        Whether each of them is selected at each of these k.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the curve was drawn.
    features_ax_ : matplotlib Axes or None
        Where the features were drawn.
    line_ : matplotlib ErrorbarContainer
        The curve.
    chosen_lines_ : list of matplotlib Line2D
        The number that was chosen, over the curve and the features.
    enough_line_ : matplotlib Line2D or None
        The least value that the rule accepts.
    bars_ : list of matplotlib PolyCollection
        For each feature, the numbers k at which it is selected.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import TopKCV, topk_path
    >>> from rowsparse.plotting import PathDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = PathDisplay.from_path(topk_path(X, y, 3, random_state=0), X.columns)
    >>> display.names
    ['petal width (cm)', 'sepal width (cm)', 'petal length (cm)']
    >>> PathDisplay.from_estimator(TopKCV(random_state=0).fit(X, y)).chosen_k
    3
    """

    ks: Index
    values: Array
    _: KW_ONLY
    errors: Array | None = None
    chosen_k: int | None = None
    enough: float | None = None
    value_name: str = "objective"
    error_name: str = "se"
    names: list[str] | None = None
    path_ks: Index | None = None
    membership: Mask | None = None

    @classmethod
    def from_path(
        cls,
        path: TopKPath,
        feature_names: Sequence[str] | None = None,
        *,
        max_features: int | None = 30,
        ax: Any = None,
        **line_options: Any,
    ) -> Self:
        """Draw what :func:`rowsparse.topk_path` found.

        Parameters
        ----------
        path : TopKPath
            The best features for each k.
        feature_names : sequence of str, optional
            Names of all columns; None is x0, x1, ...
        max_features : int or None, default=30
            Draw the features that enter first only; None draws all.
        ax : matplotlib Axes, or a pair of them, optional
            Where to draw the curve, and the features if there are two; None makes a figure.
        **line_options
            Passed to ``Axes.errorbar``, which draws the curve.

        Returns
        -------
        PathDisplay
        """
        if not isinstance(path, TopKPath):
            raise TypeError(
                f"path must be what rowsparse.topk_path returns; got {type(path).__name__}."
            )
        every = _all_names(feature_names, path.n_features_in)
        features = _entering(path, every, max_features)
        if path.lower_bounds is not None:
            below = path.objectives - path.lower_bounds
            features |= {"errors": np.array([below, np.zeros_like(below)])}
            features |= {"value_name": "objective, and the bound below it", "error_name": ""}
        return cls(path.ks, path.objectives, **features).plot(ax, **line_options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        k_max: int | None = None,
        max_features: int | None = 30,
        ax: Any = None,
        **line_options: Any,
    ) -> Self:
        """Draw the scores of a fitted :class:`rowsparse.TopKCV`, or the path of a TopK.

        Parameters
        ----------
        estimator : TopKCV or TopK
            Fitted. TopKCV has the scores of the folds, or the values of EBIC, for each k.
        X, y : array-like, optional
            What it was fitted to: the path of the best features is computed from them. TopK
            needs them; TopKCV needs them to show the features, unless its rule is "ebic".
        k_max : int, optional
            The largest number of features of the path; None is that of TopKCV, and ten more
            features than TopK has selected.
        max_features : int or None, default=30
            Draw the features that enter first only; None draws all.
        ax, **line_options
            As in :meth:`from_path`.

        Returns
        -------
        PathDisplay
        """
        if not isinstance(estimator, TopK | TopKCV):
            raise TypeError(f"estimator must be a TopKCV or a TopK; got {estimator!r}.")
        check_is_fitted(estimator)
        is_cv = isinstance(estimator, TopKCV)
        if X is None and not is_cv:
            raise ValueError("TopK keeps no path: give the X and y that it was fitted to.")
        curve = _cv_curve(estimator) if is_cv else {}
        path = _path(estimator, X, y, k_max)
        if path is None:
            return cls(**curve).plot(ax, **line_options)
        if not is_cv:
            chosen = _own_count(estimator)
            curve = {"ks": path.ks, "values": path.objectives, "chosen_k": chosen}
        every = feature_names(estimator, path.n_features_in)
        return cls(**curve, **_entering(path, every, max_features)).plot(ax, **line_options)

    def _draw(self, ax: Any, options: dict[str, Any]) -> Any:
        axes, below = self._axes(ax)
        few = len(self.ks) <= 40
        style = {"color": COLOURS[0], "marker": "o", "ms": 4 if few else 2, "capsize": 2}
        self.line_ = axes.errorbar(self.ks, self.values, yerr=self.errors, **style | options)
        self.bars_ = [] if below is None else self._draw_features(below)
        self._mark_choice(axes, below)
        spread = f" ± {self.error_name}" if self.errors is not None and self.error_name else ""
        words = f"{self.value_name}{spread}"
        axes.set(ylabel=words, xlabel="number of features k" if below is None else "")
        axes.grid(alpha=0.3)
        k_ticks(axes.xaxis)
        self.features_ax_ = below
        return axes

    def _mark_choice(self, axes: Any, below: Any) -> None:
        """Draw the number that was chosen, and the least value that the rule accepts."""
        self.chosen_lines_, self.enough_line_ = [], None
        if self.chosen_k is None:
            return
        style = {"color": COLOURS[5], "ls": "--", "lw": 1.2, "label": f"k = {self.chosen_k}"}
        drawn = [axes] if below is None else [axes, below]
        self.chosen_lines_ = [one.axvline(self.chosen_k, **style) for one in drawn]
        if self.enough is not None:
            style = {"color": QUIET, "ls": ":", "lw": 1.2, "label": "one se below the best"}
            self.enough_line_ = axes.axhline(self.enough, **style)
        axes.legend(fontsize="small")

    def _axes(self, ax: Any) -> tuple[Any, Any]:
        """Axes for the curve and for the features, None if these are not drawn."""
        if np.size(ax) == 2:
            return tuple(np.ravel(ax))
        if ax is not None or not self.names:
            return axes_for(ax), None
        rows = min(0.6 + _ROW * max(len(self.names), 3), _HIGHEST)
        figure = axes_for(None, 6.4, _CURVE + rows).figure
        figure.clear()
        pair = figure.subplots(2, 1, sharex=True, height_ratios=(_CURVE, rows))
        return pair[0], pair[1]

    def _draw_features(self, axes: Any) -> list[Any]:
        """For each feature a bar over the numbers k at which it is selected."""
        if self.names is None or self.path_ks is None or self.membership is None:
            raise ValueError(
                "The features at each k are not known: give one Axes, or X and y to from_estimator."
            )
        return draw_stays(axes, self.names, self.path_ks, self.membership)


def draw_stays(axes: Any, names: Sequence[str], ks: Index, membership: Mask) -> list[Any]:
    """For each feature a bar over the numbers k at which it is selected."""
    row_axes(axes, len(names))
    bars = [
        axes.broken_barh(
            [(run[0] - 0.5, len(run)) for run in _runs(ks[inside])],
            (row - 0.36, 0.72),
            color=COLOURS[0],
            lw=0,
        )
        for row, inside in enumerate(membership)
    ]
    axes.set_xlabel("number of features k")
    k_ticks(axes.xaxis)
    name_ticks(axes.yaxis, names)
    return bars


def _runs(ks: Index) -> list[Index]:
    """The numbers that follow each other, in pieces."""
    return [run for run in np.split(ks, np.flatnonzero(np.diff(ks) > 1) + 1) if run.size]


def entry_order(membership: Mask) -> Index:
    """The features that are ever selected: those that enter first and stay longest first.

    ``membership`` has a row for each k and a column for each feature.

    >>> entry_order(np.array([[False, True, False], [True, True, False]]))
    array([1, 0])
    """
    ever = np.flatnonzero(membership.any(axis=0))
    member = membership[:, ever]
    return np.asarray(ever[np.lexsort((-member.sum(axis=0), member.argmax(axis=0)))])


def _all_names(names: Sequence[str] | None, n_features: int) -> list[str]:
    if names is None:
        return feature_names(None, n_features)
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names for {n_features} columns.")
    return [str(name) for name in names]


def _entering(path: TopKPath, names: list[str], max_features: int | None) -> dict[str, Any]:
    check_number("max_features", max_features, low=1, integer=True, optional=True)
    membership = path.membership
    order = entry_order(membership)[:max_features]
    return {
        "names": [names[j] for j in order.tolist()],
        "path_ks": path.ks,
        "membership": membership[:, order].T,
    }


def _cv_curve(estimator: TopKCV) -> dict[str, Any]:
    """The values of each k at the chosen alpha."""
    results = estimator.cv_results_
    at = np.flatnonzero(results["alpha"] == estimator.alpha_)
    curve: dict[str, Any] = {"ks": results["n_features"][at], "chosen_k": estimator.n_features_}
    if "ebic" in results:
        return {**curve, "values": results["ebic"][at], "value_name": "EBIC"}
    splits = [v[at] for name, v in results.items() if name.startswith("split")]
    errors = np.std(splits, axis=0, ddof=1) / np.sqrt(len(splits)) if len(splits) > 1 else None
    mean = results["mean_test_score"][at]
    curve |= {"values": mean, "errors": errors, "value_name": "mean test score"}
    best = int(np.nanargmax(mean))
    is_best_of_all = mean[best] >= np.nanmax(results["mean_test_score"])
    if estimator.rule == "one_std_err" and errors is not None and is_best_of_all:
        curve["enough"] = mean[best] - errors[best]
    return curve


def _path(estimator: Any, X: Any, y: Any, k_max: int | None) -> TopKPath | None:
    """The path that the estimator has, or that of the data; None without both."""
    if X is None:
        return getattr(estimator, "path_", None)
    if isinstance(estimator, TopKCV):
        largest = int(estimator.cv_results_["n_features"].max())
        return path_of(estimator, X, y, k_max or largest, alpha=estimator.alpha_)
    d = estimator.n_features_in_
    return path_of(estimator, X, y, k_max or min(_own_count(estimator) + _BEYOND, d))


def _own_count(selector: TopK) -> int:
    """The number of features, or of groups, that a fitted TopK has selected."""
    return selector._number_to_select(selector.n_features_in_)
