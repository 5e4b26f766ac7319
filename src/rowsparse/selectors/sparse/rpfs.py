"""RPFS: exact top-k feature selection with the l2,1 loss (Cai, Nie and Huang, 2013)."""

from __future__ import annotations

from typing import Any, ClassVar

from rowsparse._parameters import Allowed, Number, OneOf
from rowsparse.selectors.base.linear_problem import LinearProblem
from rowsparse.selectors.base.selector import LinearSelector
from rowsparse.selectors.base.shared_parameters import generator
from rowsparse.selectors.registry import register
from rowsparse.solvers.solution import Solution, Variant
from rowsparse.solvers.sparse.rpfs_solver import Init, rpfs


@register("rpfs", kind="sparse", reference="Cai et al. 2013")
class RPFS(LinearSelector):
    """The robust l2,1 loss on exactly k features, by an augmented Lagrangian.

    Minimises sum_i ||y_i - x_i W - b||_2 over coefficient matrices with at most k non-zero
    rows. The problem is not convex: what is certified is the fit on the chosen features
    (``refit_gap_``), not the choice.

    Parameters
    ----------
    {n_features_to_select}
    mu : float, default=0.1
        First penalty of the augmented Lagrangian.
    rho : float, default=1.02
        Factor above 1 by which it grows.
    max_iter : int, default=1000
        Limit on the iterations of one start.
    init : {"forward", "zero", "random"}, optional
        Start: the least-squares coefficients on the features of a greedy forward selection,
        zero, or random numbers. None is "forward", in the published variant "random".
    n_restarts : int, default=0
        Random starts after the first, with ``init="random"``.
    init_scale : float, optional
        Standard deviation of random starts, which the paper does not state. None is 0.03, in
        the published variant 1.
    variant : {"corrected", "published"}, default="corrected"
        "corrected" projects by the l2 norm of the rows, solves for W and b jointly, refits on
        the support and keeps the best support seen. "published" takes the printed steps: rows
        ranked by their l1 norm, no refit.
    {fit_intercept}
    {standardize}
    {task}
    {class_weight}
    tol : float, default=1e-6
        Relative size of the two splits' residuals at which the iteration ends.
    random_state : int, RandomState or None, default=None
        Draws random starts.

    Attributes
    ----------
    {choice}
    {row_norms_model}
    objective_ : float
        l2,1 loss at ``coef_``: refitted on the support unless published.
    refit_gap_ : float
        Certified duality gap of the refit on the support, relative; not if published.
    history_, n_iter_ : array and int
        The objective after each iteration of the best start, and their number.
    converged_ : bool
        Whether the refit is certified and no swap of the weakest feature against the strongest
        outsider improves it; if published, whether the augmented Lagrangian settled.
    alm_objective_, alm_converged_ : float and bool
        Loss where the augmented Lagrangian ended, before the refit, and whether it settled.
    objectives_, forward_objective_ : array and float
        Refitted loss of every start, and of the support of forward selection.

    References
    ----------
    X. Cai, F. Nie, H. Huang. Exact top-k feature selection via l2,0-norm constraint.
    IJCAI 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import RPFS
    >>> X, y = load_iris(return_X_y=True)
    >>> RPFS(2).fit(X, y).get_support(indices=True)
    array([1, 3])
    """

    objective_attributes = ("alm_objective_", "objectives_", "forward_objective_")
    gap_attributes = ("refit_gap_",)

    allowed: ClassVar[Allowed] = {
        "init": OneOf(("forward", "zero", "random"), optional=True),
        "mu": Number(low=0.0, low_open=True),
        "rho": Number(low=1.0, low_open=True),
        "init_scale": Number(low=0.0, low_open=True, optional=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        mu: float = 0.1,
        rho: float = 1.02,
        max_iter: int = 1000,
        init: Init | None = None,
        n_restarts: int = 0,
        init_scale: float | None = None,
        variant: Variant = "corrected",
        fit_intercept: bool = True,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.mu = mu
        self.rho = rho
        self.max_iter = max_iter
        self.init = init
        self.n_restarts = n_restarts
        self.init_scale = init_scale
        self.variant = variant
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.tol = tol
        self.random_state = random_state

    def _solve(self, problem: LinearProblem) -> Solution:
        return rpfs(
            problem.design,
            problem.Y,
            problem.k,
            weights=problem.weights,
            mu=self.mu,
            rho=self.rho,
            max_iter=self.max_iter,
            init=self.init,
            n_restarts=self.n_restarts,
            init_scale=self.init_scale,
            variant=self.variant,
            fit_intercept=problem.fit_intercept,
            tol=self.tol,
            rng=generator(self.random_state),
            monitor=problem.monitor,
        )
