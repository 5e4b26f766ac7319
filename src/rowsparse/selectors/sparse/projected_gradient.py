"""ProjectedGradient: gradient steps projected on k rows (Pang et al., 2019)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rowsparse._parameters import Allowed, Number, OneOf
from rowsparse.selectors.base.linear_problem import Dimension, LinearProblem
from rowsparse.selectors.base.selector import SquaredLossSelector
from rowsparse.selectors.base.shared_parameters import generator
from rowsparse.selectors.registry import register
from rowsparse.solvers.solution import Solution
from rowsparse.solvers.sparse.projected_gradient_solver import Init, projected_gradient


@register("projectedgradient", kind="sparse", reference="Pang et al. 2019")
class ProjectedGradient(SquaredLossSelector):
    """Least squares on exactly k features, by projected gradient descent.

    Minimises ||Y - XW - 1b'||_F^2 over coefficient matrices with at most k non-zero rows by
    W <- W - step X'(XW - Y), all rows but the k of largest norm set to zero after each step.

    Parameters
    ----------
    {n_features_to_select}
    init : {"pang", "random"}, default="pang"
        "pang" starts at the least squares fit on the k features with the largest ratio
        ||x_j'Y||^2 / ||x_j||^2, as the paper does. For classes its targets are
        Y (Y'Y)^{-1/2} in place of the 0/1 ones: the ratio is then that of the scatter between the
        classes to the total scatter, the loss that of linear discriminant analysis, and the
        start exact for uncorrelated features. Labels and numbers are used as they are.
        "random" is the baseline of Xu et al. (2023): ``n_restarts + 1`` starts with coefficients
        uniform in [0, 1], plain 0/1 targets, and the best answer kept.
    step : float, optional
        Length of a step. None is 1 / ||X||_2^2, with which the objective never rises; much longer
        steps diverge. Xu et al. search 1e-8, ..., 1e2 by five-fold cross-validation: put this
        selector in a pipeline with a classifier and search ``step`` by ``GridSearchCV``.
    n_restarts : int, default=39
        Starts after the first with ``init="random"``.
    {fit_intercept}
    {standardize}
    {task}
    {class_weight}
    tol : float, default=1e-4
        Stop when a step changes the objective by less than this, relatively.
    max_iter : int, default=1000
        Limit on the steps from one start.
    random_state : int, RandomState or None, default=None
        Draws the starts of ``init="random"``.

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        Row norms of the coefficients; the features that were not chosen follow below, by the
        length of the loss's gradient.
    {model}
    objective_ : float
        Squared loss at ``coef_``, the best of all steps. With classes and ``init="pang"`` it is
        that of the coded targets, which the model then predicts.
    refitted_objective_ : float
        The same with the coefficients refitted on the support.
    objectives_ : array
        Objective of every start.
    step_ : float
        The step used.
    diverged_ : bool
        Whether the steps were given up because the objective grew a thousandfold.
    {iterations}

    References
    ----------
    T. Pang, F. Nie, J. Han, X. Li. Efficient feature selection via l2,0-norm constrained sparse
    regression. IEEE Trans. Knowledge and Data Engineering 31 (2019), 880-893.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import ProjectedGradient
    >>> X, y = load_iris(return_X_y=True)
    >>> ProjectedGradient(2).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    objective_attributes = ("refitted_objective_", "objectives_")

    allowed: ClassVar[Allowed] = {
        "init": OneOf(("pang", "random")),
        "step": Number(low=0.0, low_open=True, optional=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        init: Init = "pang",
        step: float | None = None,
        n_restarts: int = 39,
        fit_intercept: bool = True,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.init = init
        self.step = step
        self.n_restarts = n_restarts
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _solve(self, problem: LinearProblem) -> Solution:
        if self.init == "pang" and problem.targets.task == "classification":
            weights = np.ones(len(problem.Y)) if problem.weights is None else problem.weights
            problem = replace(problem, Y=problem.Y / np.sqrt(weights @ problem.Y))
        return super()._solve(problem)

    def _dimensions(self) -> dict[str, Dimension]:
        return {"step": Dimension(x=-2)}

    def _solve_squared(self, problem: LinearProblem) -> Solution:
        return projected_gradient(
            problem.design,
            problem.Y,
            problem.k,
            init=self.init,
            step=problem.scaled("step", self.step),
            n_restarts=self.n_restarts,
            tol=self.tol,
            max_iter=self.max_iter,
            rng=generator(self.random_state),
            monitor=problem.monitor,
        )

    def _convergence_warning(self) -> str | None:
        if not self.diverged_:
            return super()._convergence_warning()
        return (
            f"ProjectedGradient diverged with steps of {self.step_:g}, and the best coefficients "
            "on the way were kept: pass a shorter step, or None for a safe one."
        )
