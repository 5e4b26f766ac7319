"""The solution that every solver returns, its scores, and the monitor of its iterations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.rows import row_norms

# As corrected here, or to the letter of the paper.
Variant = Literal["corrected", "published"]


class Monitor(Protocol):
    """Called once an iteration with the current objective; True asks the solver to stop there.

    A solver that knows more says so by name: ``lower_bound``, ``nodes``.
    """

    def __call__(self, objective: float, /, **details: float) -> bool: ...


def silent(objective: float, /, **details: float) -> bool:
    """The monitor that watches nothing and never stops a solver."""
    return False


@dataclass
class Solution:
    """A row-sparse coefficient matrix and how it was reached.

    Attributes
    ----------
    W : array of shape (d, c)
        Coefficients, in the units of the design.
    b : array of shape (c,)
        Intercepts; zeros where the problem has none.
    objective : float
        Value of the problem solved, at (W, b).
    history : array
        Objective after each iteration.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the solver's own criterion was met.
    scores : array of shape (d,)
        Strength of each feature; the row norms of W unless the method ranks otherwise.
    support : array of int, optional
        The chosen features, where the method chooses a set and not only a ranking.
    attributes : dict
        What else the method reports, by the name of the fitted attribute.
    """

    W: Array
    b: Array
    objective: float
    history: Array
    n_iter: int
    converged: bool
    scores: Array = field(default_factory=lambda: np.empty(0))
    support: Index | None = None
    attributes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.history = np.asarray(self.history, dtype=np.float64)
        if self.scores.size == 0:
            self.scores = row_norms(self.W)


def relative_gap(objective: float, gap: float) -> float:
    """A duality gap as a share of the objective: 0 is optimal, and so is a perfect fit."""
    return max(gap, 0.0) / objective if objective > 0 else 0.0


def scores_with_closeness(W: Array, closeness: Array, support: Index | None = None) -> Array:
    """Row norms of W; the other features by how close they are to entering, below all of these.

    The others are those outside ``support``, or without one those whose row is zero.

    >>> scores_with_closeness(np.array([[3.0], [0.0], [0.0]]), np.array([9.0, 1.0, 2.0]))
    array([3.  , 0.75, 1.5 ])
    """
    norms = np.asarray(row_norms(W), dtype=np.float64)
    others = norms == 0
    if support is not None:
        others[support] = False
    least = float(norms[norms > 0].min(initial=np.inf))
    least = least if np.isfinite(least) else 1.0
    share = np.where(others, closeness, 0.0)
    share /= max(float(share.max(initial=0.0)), np.finfo(np.float64).tiny)
    return np.where(others, 0.5 * least * share, np.maximum(norms, least))


def ranking_from_scores(scores: Array, support: Index) -> Index:
    """1 for the features of the support, then 2, 3, ... by falling score.

    >>> ranking_from_scores(np.array([0.1, 3.0, 2.0]), np.array([1])).tolist()
    [3, 1, 2]
    """
    ranking = np.ones(scores.size, dtype=np.intp)
    selected = np.zeros(scores.size, dtype=bool)
    selected[support] = True
    outside = np.flatnonzero(~selected)
    order = outside[np.argsort(-scores[outside], kind="stable")]
    ranking[order] = np.arange(2, order.size + 2)
    return ranking
