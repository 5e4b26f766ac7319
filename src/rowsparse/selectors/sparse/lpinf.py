"""LpInf: the l_{p,inf} penalty (Kong and Ding, 2014)."""

from __future__ import annotations

from typing import Any, ClassVar

from rowsparse._parameters import Allowed, Number, OneOf
from rowsparse.selectors.base.linear_problem import Dimension, LinearProblem
from rowsparse.selectors.base.selector import FromMoments, SquaredLossSelector
from rowsparse.selectors.registry import register
from rowsparse.solvers.solution import Solution, Variant
from rowsparse.solvers.sparse.lpinf_solver import Init, lpinf


@register("lpinf", kind="sparse", reference="Kong & Ding 2014")
class LpInf(FromMoments, SquaredLossSelector):
    """Least squares with the p-th power of each row's largest coefficient as the penalty.

    Minimises 1/2 ||Y - XW - 1b'||_F^2 + gamma * sum_j (max_k |w_jk|)^p with 0 <= p <= 1. For
    p = 1 the problem is convex and the answer carries a duality gap; below, the answer is a
    stationary point that depends on the start.

    Parameters
    ----------
    {n_features_to_select}
    p : float, default=0.5
        Exponent, from 0 (the number of rows counts) to 1 (convex).
    gamma : float, optional
        Weight of the penalty. None searches for the one that leaves exactly
        ``n_features_to_select`` rows.
    init : {"best", "ridge", "continuation", "zero"}, default="best"
        Where the descent begins for p < 1: the ridge solution, the solution for p = 1 followed
        down to p, or zero. "best" keeps the better of the first two.
    variant : {"corrected", "published"}, default="corrected"
        "corrected" uses the exact proximal operator and a monotone accelerated descent;
        "published" the printed operator, which may be wrong or undefined, in plain FISTA.
    {fit_intercept}
    {standardize}
    {task}
    {class_weight}
    tol : float, default=1e-6
        For p = 1 the relative duality gap, else the relative change of W in a proximal step.
    max_iter : int, default=2000
        Limit on the iterations of one descent.

    Attributes
    ----------
    {choice}
    {streamed}
    {row_norms_model}
    objective_ : float
        Value of the penalised problem.
    gamma_ : float
        The weight used.
    gap_, dual_coef_ : float and array
        For p = 1: duality gap, relative to the objective, and the dual point that proves it.
    {order_if_gamma}
    {iterations}

    References
    ----------
    D. Kong, C. Ding. Non-convex feature learning via l_{p,inf} operator. AAAI 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import LpInf
    >>> X, y = load_iris(return_X_y=True)
    >>> LpInf(2).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    may_have_fewer_rows = True
    parameter_that_fixes_ranking = "gamma"
    gap_attributes = ("gap_",)

    allowed: ClassVar[Allowed] = {
        "init": OneOf(("best", "ridge", "continuation", "zero")),
        "p": Number(low=0.0, high=1.0),
        "gamma": Number(low=0.0, low_open=True, optional=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        p: float = 0.5,
        gamma: float | None = None,
        init: Init = "best",
        variant: Variant = "corrected",
        fit_intercept: bool = True,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 2000,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.p = p
        self.gamma = gamma
        self.init = init
        self.variant = variant
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def _dimensions(self) -> dict[str, Dimension]:
        # W has the unit of y over that of X.
        return {"gamma": Dimension(x=self.p, y=2 - self.p), "dual_coef": Dimension(y=1)}

    def _solve_squared(self, problem: LinearProblem) -> Solution:
        return lpinf(
            problem.design,
            problem.Y,
            problem.k,
            p=self.p,
            gamma=problem.scaled("gamma", self.gamma),
            init=self.init,
            variant=self.variant,
            n_samples=problem.n_samples,
            tol=self.tol,
            max_iter=self.max_iter,
            monitor=problem.monitor,
        )
