"""MTFS: least squares with an l2,1 penalty (Argyriou et al., 2007; Obozinski et al., 2010)."""

from __future__ import annotations

from typing import Any, ClassVar

from rowsparse._parameters import Allowed, Number, OneOf
from rowsparse.selectors.base.linear_problem import Dimension, LinearProblem
from rowsparse.selectors.base.selector import FromMoments, SquaredLossSelector
from rowsparse.selectors.registry import register
from rowsparse.solvers.solution import Solution
from rowsparse.solvers.sparse.mtfs_solver import Penalty, mtfs


@register("mtfs", kind="sparse", reference="Argyriou et al. 2007, Obozinski et al. 2010")
class MTFS(FromMoments, SquaredLossSelector):
    """Least squares with an l2,1 penalty, to a certified duality gap.

    Minimises 1/2 ||Y - XW - 1b'||_F^2 + gamma ||W||_{2,1}, where ||W||_{2,1} = sum_j ||w_j||_2.
    That is scikit-learn's ``MultiTaskLasso`` with alpha = gamma / n_samples, and multi-task feature
    selection with the squared loss.

    Parameters
    ----------
    {n_features_to_select}
    gamma : float, optional
        The penalty. None finds the one at which exactly ``n_features_to_select`` rows are
        active; a number solves there and ranks the rows by their norm.
    penalty : {"l21", "l21_squared"}, default="l21"
        "l21_squared" has gamma/2 ||W||_{2,1}^2 for the penalty, which makes the objective half of
        that of Argyriou et al. with the rotation fixed. The path is the same: the
        solution at gamma is that of "l21" at gamma ||W||_{2,1}, so that with ``gamma=None``
        both choose the same features.
    {fit_intercept}
    {standardize}
    {task}
    {class_weight}
    tol : float, default=1e-6
        Duality gap to reach, relative to the objective.
    max_iter : int, default=100
        Limit on the rounds of the working set.

    Attributes
    ----------
    {choice}
    {streamed}
    {row_norms_model}
    objective_ : float
        Value of the problem solved, with scaled columns if ``standardize``.
    gap_ : float
        Certified duality gap, as a share of the objective: the optimum is at least
        ``(1 - gap_) * objective_``.
    dual_coef_ : array of shape (n_samples, n_targets)
        The dual point that proves it; rows carry the square roots of their weights.
    gamma_ : float
        The penalty used.
    n_active_ : int
        Non-zero rows of ``coef_``. Where rows enter together no penalty may leave exactly k of
        them: then it is above k, and the k rows of largest norm are selected.
    {order_if_gamma}
    {iterations}

    References
    ----------
    A. Argyriou, T. Evgeniou, M. Pontil. Multi-task feature learning. NIPS 19, 2007.

    G. Obozinski, B. Taskar, M. I. Jordan. Joint covariate selection and joint subspace selection
    for multiple classification problems. Statistics and Computing 20 (2010), 231-252.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import MTFS
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = MTFS(2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([2, 3])
    >>> selector.n_active_, bool(selector.gap_ <= 1e-6)
    (2, True)
    """

    may_have_fewer_rows = True
    parameter_that_fixes_ranking = "gamma"
    gap_attributes = ("gap_",)

    allowed: ClassVar[Allowed] = {
        "penalty": OneOf(("l21", "l21_squared")),
        "gamma": Number(low=0.0, low_open=True, optional=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        gamma: float | None = None,
        penalty: Penalty = "l21",
        fit_intercept: bool = True,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def _dimensions(self) -> dict[str, Dimension]:
        # W has the unit of y over that of X.
        gamma = Dimension(x=1, y=1) if self.penalty == "l21" else Dimension(x=2)
        return {"gamma": gamma, "dual_coef": Dimension(y=1)}

    def _solve_squared(self, problem: LinearProblem) -> Solution:
        return mtfs(
            problem.design,
            problem.Y,
            gamma=problem.scaled("gamma", self.gamma),
            k=problem.k,
            penalty=self.penalty,
            tol=self.tol,
            max_iter=self.max_iter,
            monitor=problem.monitor,
        )
