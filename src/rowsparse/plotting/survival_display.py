"""Survival of groups of samples over time, as after a split by the risk that a model predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rowsparse.evaluation.survival import KaplanMeier, log_rank
from rowsparse.plotting.axes import COLOURS, Display, axes_for
from rowsparse.targets import survival_times, target_array


@dataclass(eq=False, repr=False)
class SurvivalDisplay(Display):
    """Kaplan-Meier curves: the share of samples without the event, over time, for each group.

    Make it with :meth:`from_groups` or with :meth:`from_estimator`.

    Parameters
    ----------
    curves : list of KaplanMeier
        One for each group.
    names : list of str
        Names of the groups.
    p_value : float, optional
        Of the log-rank test of two groups.
    time_name : str, default="time"
        What the times are.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib Line2D
        The curves; upright strokes are censored times.
    bands_ : list of matplotlib PolyCollection
        Their 95 % intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from rowsparse import TopKRegressor
    >>> from rowsparse.plotting import SurvivalDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 10))
    >>> y = np.empty(100, dtype=[("event", bool), ("time", float)])
    >>> y["event"], y["time"] = rng.random(100) < 0.7, rng.exponential(np.exp(-X[:, 3]))
    >>> model = TopKRegressor(1, loss="cox", random_state=0).fit(X[:60], y[:60])
    >>> display = SurvivalDisplay.from_estimator(model, X[60:], y[60:])
    >>> display.names
    ['higher risk', 'lower risk']
    >>> display.p_value < 0.05
    True
    """

    curves: list[KaplanMeier]
    names: list[str]
    _: KW_ONLY
    p_value: float | None = None
    time_name: str = "time"

    @classmethod
    def from_groups(
        cls,
        y: Any,
        groups: Any,
        *,
        names: Sequence[str] | None = None,
        time_name: str = "time",
        ax: Any = None,
        **line_options: Any,
    ) -> Self:
        """Draw the survival of groups.

        Parameters
        ----------
        y : array of shape (n_samples,) or (n_samples, 2)
            Events and times, as :class:`rowsparse.TopK` takes them.
        groups : array-like of shape (n_samples,)
            The group of each sample.
        names : list of str, optional
            Names of the groups, in the order of their values.
        time_name : str, default="time"
            What the times are.
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure.
        **line_options
            Passed to ``Axes.plot``.

        Returns
        -------
        SurvivalDisplay
        """
        groups = np.asarray(groups)
        y = target_array(y, groups.size)
        survival_times(y)
        values = np.unique(groups)
        if names is not None and len(names) != values.size:
            raise ValueError(f"names has {len(names)} names for {values.size} groups.")
        curves = [KaplanMeier.of(y[groups == value]) for value in values]
        shown = [str(value) for value in values.tolist()] if names is None else list(names)
        p = log_rank(y, groups == values[0]) if values.size == 2 else None
        return cls(curves, shown, p_value=p, time_name=time_name).plot(ax, **line_options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        time_name: str = "time",
        ax: Any = None,
        **line_options: Any,
    ) -> Self:
        """Draw the survival of the halves of samples by the risk that an estimator predicts.

        Samples that the estimator was fitted to make the halves differ more than new ones would.

        Parameters
        ----------
        estimator : estimator
            Fitted; what it predicts is a risk, as with ``TopKRegressor(loss="cox")``.
        X, y : array-like
            Samples, with events and times.
        time_name : str, default="time"
            What the times are.
        ax, **line_options
            As in :meth:`from_groups`.

        Returns
        -------
        SurvivalDisplay
        """
        check_is_fitted(estimator)
        risks = np.asarray(estimator.predict(X))
        is_low = risks <= np.median(risks)
        names = ["higher risk", "lower risk"]
        if is_low.all():
            raise ValueError("The estimator predicts the same risk for all samples: no halves.")
        return cls.from_groups(y, is_low, names=names, time_name=time_name, ax=ax, **line_options)

    def _draw(self, ax: Any, options: dict[str, Any]) -> Any:
        axes = axes_for(ax)
        self.lines_, self.bands_ = [], []
        for at, (name, curve) in enumerate(zip(self.names, self.curves, strict=True)):
            # Orange for the first, the higher risk; blue for the second.
            colour = COLOURS[(1, 0, *range(2, len(COLOURS)))[at % len(COLOURS)]]
            x = np.append(0.0, curve.times)
            band = (np.append(1.0, curve.low), np.append(1.0, curve.high))
            style = {"color": colour, "lw": 2.0, "drawstyle": "steps-post"} | options
            ends = np.diff(np.append(curve.at_risk, 0.0)) != 0
            events = np.diff(np.append(1.0, curve.survival)) != 0
            censored = np.append(False, ends & ~events)
            marks = {"marker": "|", "markersize": 7, "markevery": censored, "mew": 1.0}
            self.lines_ += axes.plot(x, np.append(1.0, curve.survival), label=name, **marks | style)
            self.bands_.append(
                axes.fill_between(x, *band, step="post", color=colour, alpha=0.15, lw=0)
            )
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlim(left=0.0)
        axes.set_xlabel(self.time_name)
        axes.set_ylabel("share without the event")
        axes.grid(alpha=0.3)
        axes.legend()
        return axes
