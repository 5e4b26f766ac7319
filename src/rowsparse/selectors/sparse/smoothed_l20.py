"""SmoothedL20: thresholded gradient steps from the l2,1 solution (Luo et al., 2010)."""

from __future__ import annotations

from typing import Any, ClassVar

from rowsparse._parameters import Allowed, Number
from rowsparse.selectors.base.linear_problem import Dimension, LinearProblem
from rowsparse.selectors.base.selector import SquaredLossSelector
from rowsparse.selectors.registry import register
from rowsparse.solvers.solution import Solution
from rowsparse.solvers.sparse.smoothed_l20_solver import smoothed_l20


@register("smoothedl20", kind="sparse", reference="Luo et al. 2010")
class SmoothedL20(SquaredLossSelector):
    """Least squares on exactly k features, by thresholded gradient steps (SFS).

    Minimises ||Y - XW - 1b'||_F^2 over coefficient matrices with at most k non-zero rows. Each step
    minimises a quadratic function that lies above the loss, exactly: W - X'(XW - Y) / L with
    L = ||X||_2^2, and all rows but the k of largest norm set to zero. The objective never rises.
    It begins at the solution of :class:`MTFS` with k rows, as Cai et al. (2013) do.

    Parameters
    ----------
    {n_features_to_select}
    gamma : float, optional
        Minimise ||Y - XW - 1b'||_F^2 + 2 gamma ||W||_{2,0} instead, ||W||_{2,0} being the number of
        non-zero rows: a step keeps those with ||v_j||^2 > 2 gamma / L, and the rows that are left
        are ranked by their norm.
    {fit_intercept}
    {standardize}
    {task}
    {class_weight}
    tol : float, default=1e-8
        Stop when a step changes the objective by less than this share of its first value.
    max_iter : int, default=1000
        Limit on the steps. They are short where many features are correlated, and may not have
        converged by then.

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        Row norms of the coefficients; the features that were not chosen follow below, by the
        length of the loss's gradient.
    {model}
    objective_ : float
        Value of the problem at ``coef_``, which the steps leave a little short of the least
        squares fit on its support.
    refitted_objective_ : float
        The same with the coefficients refitted on the non-zero rows.
    {iterations}

    Notes
    -----
    The name is that of the family: an auxiliary function smooths a problem with an explicit
    l2,0-norm. The paper's loss is half of that here. Where the features far outnumber the samples
    1/L is small, and the answer often has the features of its start.

    References
    ----------
    D. Luo, C. Ding, H. Huang. Towards structural sparsity: an explicit l2/l0 approach. ICDM 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import SmoothedL20
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = SmoothedL20(2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([2, 3])
    """

    may_have_fewer_rows = True
    objective_attributes = ("refitted_objective_",)

    allowed: ClassVar[Allowed] = {"gamma": Number(low=0.0, low_open=True, optional=True)}

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        gamma: float | None = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def _dimensions(self) -> dict[str, Dimension]:
        return {"gamma": Dimension(y=2)}

    def _solve_squared(self, problem: LinearProblem) -> Solution:
        return smoothed_l20(
            problem.design,
            problem.Y,
            problem.k,
            gamma=problem.scaled("gamma", self.gamma),
            tol=self.tol,
            max_iter=self.max_iter,
            monitor=problem.monitor,
        )
