"""CDLSR: coordinate descent on the selection matrix (Xu et al., 2023)."""

from __future__ import annotations

from typing import Any

from rowsparse.selectors.base.linear_problem import LinearProblem
from rowsparse.selectors.base.selector import FromMoments, SquaredLossSelector
from rowsparse.selectors.base.shared_parameters import generator
from rowsparse.selectors.registry import register
from rowsparse.solvers.solution import Solution, Variant
from rowsparse.solvers.sparse.cdlsr_solver import cdlsr


@register("cdlsr", kind="sparse", reference="Xu et al. 2023")
class CDLSR(FromMoments, SquaredLossSelector):
    """Least squares on exactly k features, by moving one feature at a time.

    Minimises ||Y - XW - 1b'||_F^2 over coefficient matrices with at most k non-zero rows. From
    k random features, each is moved in turn to the place where it fits best while the
    coefficients are held, then the coefficients are fitted again; the best of
    ``n_restarts + 1`` random starts is kept.

    Parameters
    ----------
    {n_features_to_select}
    n_restarts : int, default=39
        Random starts after the first; the paper has 40 starts in all.
    variant : {"corrected", "published"}, default="corrected"
        "corrected" sweeps until no feature moves and refits the coefficients. "published" stops
        by the authors' rule on the relative change of the objective and leaves the coefficients
        as they were before the last moves.
    {fit_intercept}
    {standardize}
    {task}
    {class_weight}
    tol : float, default=1e-4
        Relative change of the objective at which the published variant stops.
    max_iter : int, default=1000
        Limit on the sweeps of one start.
    random_state : int, RandomState or None, default=None
        Draws the starts.

    Attributes
    ----------
    {choice}
    {streamed}
    {row_norms_model}
    objective_ : float
        Squared loss at ``coef_``.
    refitted_objective_, published_objective_ : float
        The same with the coefficients refitted on the support, and as the published algorithm
        leaves them; ``objective_`` is one of the two.
    objectives_ : array of shape (n_restarts + 1,)
        Refitted objective of every start.
    history_, n_iter_ : array and int
        The objective after each sweep of the best start, and their number.
    converged_ : bool
        Whether no feature moves any more; if published, whether the authors' rule was met.

    References
    ----------
    L. Xu, R. Wang, F. Nie, X. Li. Efficient top-k feature selection using coordinate descent
    method. AAAI 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import CDLSR
    >>> X, y = load_iris(return_X_y=True)
    >>> CDLSR(2, random_state=0).fit(X, y).get_support(indices=True)
    array([1, 3])
    """

    objective_attributes = ("refitted_objective_", "published_objective_", "objectives_")

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        n_restarts: int = 39,
        variant: Variant = "corrected",
        fit_intercept: bool = True,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_restarts = n_restarts
        self.variant = variant
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _solve_squared(self, problem: LinearProblem) -> Solution:
        return cdlsr(
            problem.design,
            problem.Y,
            problem.k,
            n_restarts=self.n_restarts,
            variant=self.variant,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=generator(self.random_state),
            monitor=problem.monitor,
        )
