"""The choices that are nearly as good as the best one, and the features in each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._text import counted
from rowsparse._validation import check_number
from rowsparse.plotting.axes import (
    COLOURS,
    NAME_WIDTH,
    Display,
    axes_for,
    feature_names,
    fitted_support,
    name_cells,
)

# Inches of a row, of a column, of a letter of a name below it, and of the rest.
_ROW, _COLUMN, _LETTER, _REST = 0.2, 0.24, 0.085, 1.2
# The greatest height and width; the narrowest picture has room for the title.
_HIGHEST, _WIDEST, _NARROWEST = 12.0, 14.0, 5.2
# Cells without a feature; rows that leave no room for a label; cells with narrow gaps.
_EMPTY, _FEW, _MANY = ("#777777", 0.12), 4, 80


@dataclass(eq=False, repr=False)
class NearOptimalDisplay(Display):
    """Choices as rows, the best at the top, and features as columns, the indispensable ones left.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    names : list of str
        Names of the features, or groups of features, from left to right.
    membership : array of bool of shape (n_choices, n_features)
        Which of them each choice has, the best choice first.
    increases : array of shape (n_choices,)
        By how much the objective of each exceeds that of the best, as a share.
    in_all : array of bool of shape (n_features,)
        Features that are proven to be in all choices within the tolerance.
    title : str, default=""
        What the list is, and whether it is complete.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    image_ : matplotlib AxesImage
        The cells.

    See Also
    --------
    StabilityDisplay : How often features are selected from subsamples, a question of its own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import NearOptimal, TopK
    >>> from rowsparse.plotting import NearOptimalDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> near = NearOptimal(TopK(2, random_state=0), tolerance=0.025).fit(X, y)
    >>> display = NearOptimalDisplay.from_estimator(near)
    >>> display.names
    ['petal width (cm)', 'sepal width (cm)', 'petal length (cm)']
    >>> display.title
    '2 choices within 2.5 % of the best: proven to be all'
    """

    names: list[str]
    membership: Mask
    increases: Array
    in_all: Mask
    title: str = field(default="", kw_only=True)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        max_choices: int | None = 60,
        max_features: int | None = 60,
        ax: Any = None,
        **image_options: Any,
    ) -> Self:
        """Draw the choices of a fitted :class:`rowsparse.NearOptimal`.

        Parameters
        ----------
        estimator : NearOptimal
            Fitted. Of features that are copies of each other the first is shown, and features
            that are selected as a group are one column.
        max_choices : int or None, default=60
            Draw the best choices only; None draws all.
        max_features : int or None, default=60
            Draw the features only that are in most choices; None draws all that the choices have.
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure.
        **image_options
            Passed to ``Axes.imshow``.

        Returns
        -------
        NearOptimalDisplay
        """
        support = fitted_support(estimator)
        for name, most in (("max_choices", max_choices), ("max_features", max_features)):
            check_number(name, most, low=1, integer=True, optional=True)
        if not hasattr(estimator, "choices_"):
            raise ValueError(
                f"{type(estimator).__name__} has no choices_: fit NearOptimal with it as selector."
            )
        member = np.zeros((len(estimator.choices_), support.size), dtype=bool)
        for row, choice in zip(member, estimator.choices_, strict=True):
            row[choice] = True
        first, names = _units(estimator, support.size)
        order = indispensable_first(member, estimator.in_all_)
        order = order[np.isin(order, first)]
        n_features = order.size
        order = order[member[:max_choices, order].any(axis=0)][:max_features]
        best = estimator.objective_
        display = cls(
            [names[j] for j in order.tolist()],
            member[:max_choices, order],
            np.maximum(estimator.objectives_ / best - 1.0, 0.0)[:max_choices]
            if best
            else np.zeros(len(member)),
            estimator.in_all_[order],
            title=_title(estimator, (len(member[:max_choices]), len(order)), n_features),
        )
        return display.plot(ax, **image_options)

    def _draw(self, ax: Any, options: dict[str, Any]) -> Any:
        rows, columns = self.membership.shape
        axes = axes_for(ax, *self.figure_size)
        cells = np.where(self.membership, 1.0 + self.in_all, np.nan)
        style = {"cmap": _colours(), "vmin": 1.0, "vmax": 2.0, "aspect": "auto"}
        self.image_ = axes.imshow(cells, **style | {"interpolation": "none"} | options)
        axes.axhspan(-0.5, rows - 0.5, color=_EMPTY, lw=0, zorder=-1)
        axes.spines[:].set_visible(False)
        for axis, count in ((axes.xaxis, columns), (axes.yaxis, rows)):
            axis.set_ticks(np.arange(0.5, count - 1), minor=True)
            axis.grid(which="minor", color="white", lw=1.0 if count <= _MANY else 0.3)
            axis.set_tick_params(which="minor", length=0)
        colours = " (green: in all, blue: in some)" if self.in_all.any() else ""
        axes.set(xlabel=f"features{colours}", ylabel="above the best" if rows > _FEW else "")
        axes.set_title(self.title, fontsize="small", loc="left")
        above = (f"{100 * more:.2g} %" for more in self.increases[1:])
        name_cells(axes, ["best", *above], self.names)
        return axes

    @property
    def figure_size(self) -> tuple[float, float]:
        """Width and height in inches of a figure of its own."""
        rows, columns = self.membership.shape
        width = np.clip(_REST + _COLUMN * columns, _NARROWEST, _WIDEST)
        below = _LETTER * min(max(map(len, self.names)), NAME_WIDTH)
        return float(width), min(_REST + below + _ROW * max(rows, 2), _HIGHEST)


def indispensable_first(member: Mask, in_all: Mask) -> Index:
    """The features that are in some choice: those in all first, then by the share of choices.

    ``member`` has a row for each choice and a column for each feature.

    >>> member = np.array([[True, True, False], [False, True, True], [False, True, True]])
    >>> indispensable_first(member, np.array([False, True, False]))
    array([1, 2, 0])
    """
    ever = np.flatnonzero(member.any(axis=0))
    inside = member[:, ever]
    keys = inside.argmax(axis=0), -inside.sum(axis=0), ~in_all[ever]
    return np.asarray(ever[np.lexsort(keys)])


def _units(near: Any, n_features: int) -> tuple[Index, list[str]]:
    """The columns that stand for what is chosen, and for each column the name of that."""
    names = feature_names(near, n_features)
    groups = near.proof_.statement.feature_groups or [[j] for j in range(n_features)]
    words = list(names)
    for group in groups:
        copies = near.copies_.get(group[0], ())
        more = f" (group of {len(group)})" if len(group) > 1 else ""
        more += f" or {len(copies)} like it" if len(copies) else ""
        words[group[0]] = names[group[0]] + more
    return np.array([group[0] for group in groups]), words


def _title(near: Any, drawn: tuple[int, int], n_features: int) -> str:
    """What the list is, whether it is complete, and how much of it is drawn."""
    count = len(near.choices_)
    listed = counted(count, "choice")
    if near.complete_:
        text = f"{listed} within {100 * near.tolerance:.3g} % of the best: proven to be all"
    elif near.tolerance_ >= 0:
        known = np.floor(1e4 * near.tolerance_) / 100
        text = f"Not complete: {listed} found, no other is within {known:.3g} % of the best"
    else:
        text = f"Not complete: {listed} found; not even the best one is proven"
    if drawn == (count, n_features):
        return text
    rows, columns = counted(drawn[0], "choice"), counted(drawn[1], "feature")
    return f"{text}\n(drawn: {rows} with {columns} of {n_features:,})"


def _colours() -> Any:
    """Of a feature in some choices, and of an indispensable one."""
    from matplotlib.colors import ListedColormap

    return ListedColormap([COLOURS[0], COLOURS[2]])
