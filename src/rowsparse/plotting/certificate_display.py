"""The objective and its lower bound over the time of a proof."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from rowsparse._arrays import Array
from rowsparse.plotting.axes import COLOURS, Display, axes_for, fitted_support

# A time axis is logarithmic if the last point is this many times later than the first.
_LONG = 100.0
# Space above and below the lines, at least this share of the objective.
_LEAST_AIR = 0.002


@dataclass(eq=False, repr=False)
class CertificateDisplay(Display):
    """How the objective and its lower bound came together over time.

    The shaded gap is what another choice of as many features could still gain. Make it with
    :meth:`from_estimator`.

    Parameters
    ----------
    seconds : array of shape (m,)
        Times, rising.
    objectives : array of shape (m,)
        The best objective found by then.
    lower_bounds : array of shape (m,)
        What no choice was below, as far as it was proven by then; 0 before anything was. NaN if no
        proof was tried: no bound is drawn then.
    gap : float
        What was left between them at the end, as a share of the objective.
    proven : bool
        Whether that is small enough to call the choice optimal.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    objective_line_, bound_line_ : matplotlib Line2D
        The objective, and the bound from the time it says more than 0.
    gap_area_ : matplotlib PolyCollection
        What is between them.
    proven_mark_ : matplotlib Line2D or None
        A star where the choice was proven optimal.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import TopK
    >>> from rowsparse.plotting import CertificateDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = TopK(2, certify=True, random_state=0).fit(X, y)
    >>> display = CertificateDisplay.from_estimator(selector)
    >>> display.proven
    True
    """

    seconds: Array
    objectives: Array
    lower_bounds: Array
    gap: float = field(kw_only=True)
    proven: bool = field(kw_only=True)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **line_options: Any) -> Self:
        """Draw the proof of a fitted :class:`rowsparse.TopK`.

        Parameters
        ----------
        estimator : TopK
            Fitted with ``certify=True``.
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure.
        **line_options
            Passed to ``Axes.step``.

        Returns
        -------
        CertificateDisplay
        """
        fitted_support(estimator)
        history = getattr(estimator, "proof_history_", None)
        if history is None:
            raise ValueError(
                f"{type(estimator).__name__} was fitted without a proof: fit TopK with "
                "certify=True."
            )
        return cls(
            history["seconds"],
            history["objective"],
            history["lower_bound"],
            gap=estimator.gap_,
            proven=estimator.status_ == "optimal",
        ).plot(ax, **line_options)

    def _draw(self, ax: Any, options: dict[str, Any]) -> Any:
        axes = axes_for(ax)
        options = {"where": "post", "linewidth": 1.8} | options
        known = self._first_bound()
        times, bounds = self.seconds[known:], self.lower_bounds[known:]
        (self.objective_line_,) = axes.step(
            self.seconds, self.objectives, **{"color": COLOURS[0], "label": "objective"} | options
        )
        label = "lower bound" if np.isfinite(bounds).any() else None
        (self.bound_line_,) = axes.step(
            times, bounds, **{"color": COLOURS[1], "label": label} | options
        )
        self.gap_area_ = axes.fill_between(
            times, bounds, self.objectives[known:], step="post", color=COLOURS[1], alpha=0.15, lw=0
        )
        self.proven_mark_ = None
        if self.proven:
            (self.proven_mark_,) = axes.plot(
                self.seconds[-1], self.objectives[-1], "*", ms=13, color="black", label="proven"
            )
        self._set_limits(axes, bounds)
        axes.set(xlabel="seconds since the search began", ylabel="objective")
        axes.set_title(self._words(), fontsize="medium")
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right", fontsize="small")
        return axes

    def _set_limits(self, axes: Any, bounds: Array) -> None:
        if self.seconds[0] > 0 and self.seconds[-1] > _LONG * self.seconds[0]:
            axes.set_xscale("log")
        else:
            axes.set_xlim(0.0, 1.06 * self.seconds[-1])
            axes.locator_params(axis="x", nbins=5)
        shown = np.concatenate([bounds, self.objectives])
        low, high = float(np.nanmin(shown)), float(np.max(self.objectives))
        # A bound that is tight from the start would otherwise show nothing but rounding.
        air = max(0.06 * (high - low), _LEAST_AIR * abs(high))
        axes.set_ylim(low - air, high + air)

    def _first_bound(self) -> int:
        """Where the bound first says more than 0; the last point if it never does."""
        return int(np.argmax(np.append(self.lower_bounds[:-1] > 0, True)))

    def _words(self) -> str:
        time = f"{self.seconds[-1]:.2g} s"
        if self.proven:
            return f"proven optimal after {time}"
        if np.isnan(self.gap):
            return ""
        return f"gap of {100 * self.gap:.2g} % left after {time}"
