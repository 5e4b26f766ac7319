"""RidgeRanking: the features with the largest coefficients of a ridge regression on all."""

from __future__ import annotations

from typing import Any, ClassVar

from rowsparse._parameters import Allowed, Number
from rowsparse.selectors.base.linear_problem import Dimension, LinearProblem
from rowsparse.selectors.base.selector import FromMoments, SquaredLossSelector
from rowsparse.selectors.registry import register
from rowsparse.solvers.ridge import ridge_ranking
from rowsparse.solvers.solution import Solution


@register("ridgeranking", kind="baseline", reference="Hoerl & Kennard 1970")
class RidgeRanking(FromMoments, SquaredLossSelector):
    """Rank features by their coefficients in a ridge regression on all of them.

    Minimises ||Y - XW - 1b'||_F^2 + ridge ||W||_F^2 in closed form and keeps the k rows of W with
    the largest norms. Correlated features share their coefficients, so that a strong group of
    them can hide behind a weaker lone one: a baseline, and the start that Kong & Ding (2014) take.

    Parameters
    ----------
    {n_features_to_select}
    ridge : float, default=1.0
        Weight of the ridge; the papers do not print one.
    {fit_intercept}
    {standardize}
    {task}
    {class_weight}

    Attributes
    ----------
    {choice}
    {streamed}
    scores_ : array of shape (n_features,)
        Row norms of the coefficients.
    {model}
    objective_ : float
        Value of the problem at ``coef_``, which are the coefficients of all features.
    order_ : array of int of shape (n_features,)
        All features, the best first: its first k are the choice for k.
    {iterations}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import RidgeRanking
    >>> X, y = load_iris(return_X_y=True)
    >>> RidgeRanking(2).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    parameter_that_fixes_ranking = "ridge"

    allowed: ClassVar[Allowed] = {"ridge": Number(low=0.0, low_open=True)}

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        ridge: float = 1.0,
        fit_intercept: bool = True,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight

    def _dimensions(self) -> dict[str, Dimension]:
        return {"ridge": Dimension(x=2)}

    def _solve_squared(self, problem: LinearProblem) -> Solution:
        ridge = problem.scaled("ridge", self.ridge)
        return ridge_ranking(problem.design, problem.Y, ridge=ridge, monitor=problem.monitor)
