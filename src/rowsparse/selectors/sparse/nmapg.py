"""NmAPG: an l2,0 constraint by a difference of convex penalties (An, Dong and Qin, 2021)."""

from __future__ import annotations

from typing import Any, ClassVar

from rowsparse._parameters import Allowed, Number, OneOf
from rowsparse.selectors.base.linear_problem import Dimension, LinearProblem
from rowsparse.selectors.base.selector import LinearSelector
from rowsparse.selectors.registry import register
from rowsparse.solvers.solution import Solution, Variant
from rowsparse.solvers.sparse.nmapg_solver import Init, nmapg


@register("nmapg", kind="sparse", reference="An et al. 2021")
class NmAPG(LinearSelector):
    """Joint l2,1 norms on exactly k features, by nonmonotone accelerated proximal gradients.

    Minimises sum_i ||y_i - x_i W - b||_2 + gamma * sum_j ||w_j||_2 over coefficient matrices
    with at most k non-zero rows. The constraint is a penalty, rho times the sum of all but the
    k largest row norms, and the loss is smoothed by mu.

    Parameters
    ----------
    {n_features_to_select}
    gamma : float, default=0.1
        Penalty of the row norms.
    rho : float, optional
        Weight of the constraint's penalty. None lets it grow until the constraint holds, in the
        published variant 0.01 times the printed bound.
    mu : float, optional
        Smoothing. None follows a falling schedule that ends at the promised accuracy; a number
        is one stage at that value.
    init : {"best", "rfs", "forward", "zero"}, optional
        Start: the solution of :class:`RFS`, a greedy forward selection, the better of the two,
        or zero. None is "best", in the published variant "zero".
    variant : {"corrected", "published"}, default="corrected"
        "corrected" puts both penalties into one exact proximal operator, takes the spectral
        Lipschitz constant, refits on the support and keeps the best support seen. "published"
        takes the printed operator, constant and schedule, and ranks the rows.
    fit_intercept : bool, default=True
        Whether b is free and unpenalised. In the published variant it is the coefficient of a
        constant feature, penalised like the others.
    {standardize}
    {task}
    {class_weight}
    tol : float, default=1e-7
        Relative duality gap of the last refit; in the published variant, the relative change of
        W at which a stage ends.
    max_iter : int, default=200
        Limit on the iterations of one stage.

    Attributes
    ----------
    {choice}
    {row_norms_model}
    objective_ : float
        Value of the problem at ``coef_``: refitted on the support unless published.
    refit_gap_ : float
        Certified duality gap of the refit on the support, relative; not if published.
    lower_bound_ : float
        Dual value of :class:`RFS` at the same gamma, where it was solved: no choice of features
        has a smaller objective.
    rho_, mu_ : float
        The last weight of the constraint's penalty, and the last smoothing; 0 if all features are
        selected.
    {iterations}

    References
    ----------
    N. T. An, P. D. Dong, X. Qin. Robust feature selection via nonconvex sparsity-based methods.
    J. Nonlinear Var. Anal. 5 (2021), 59-77.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import NmAPG
    >>> X, y = load_iris(return_X_y=True)
    >>> NmAPG(2).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    objective_attributes = ("lower_bound_",)
    gap_attributes = ("refit_gap_",)

    allowed: ClassVar[Allowed] = {
        "init": OneOf(("best", "rfs", "forward", "zero"), optional=True),
        "gamma": Number(low=0.0, low_open=True),
        "rho": Number(low=0.0, low_open=True, optional=True),
        "mu": Number(low=0.0, low_open=True, optional=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        gamma: float = 0.1,
        rho: float | None = None,
        mu: float | None = None,
        init: Init | None = None,
        variant: Variant = "corrected",
        fit_intercept: bool = True,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        tol: float = 1e-7,
        max_iter: int = 200,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.rho = rho
        self.mu = mu
        self.init = init
        self.variant = variant
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def _dimensions(self) -> dict[str, Dimension]:
        return {"gamma": Dimension(x=1), "rho": Dimension(x=1), "mu": Dimension(y=1)}

    def _solve(self, problem: LinearProblem) -> Solution:
        default_init: Init = "zero" if self.variant == "published" else "best"
        return nmapg(
            problem.design,
            problem.Y,
            problem.k,
            weights=problem.weights,
            gamma=problem.scaled("gamma", self.gamma),
            rho=problem.scaled("rho", self.rho),
            mu=problem.scaled("mu", self.mu),
            init=self.init or default_init,
            variant=self.variant,
            fit_intercept=problem.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            monitor=problem.monitor,
        )
