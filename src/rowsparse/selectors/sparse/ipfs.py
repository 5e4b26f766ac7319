"""IPFS: a 0/1 vector of features between a box and a sphere (after Zhang et al., 2021)."""

from __future__ import annotations

from typing import Any, ClassVar

from rowsparse._parameters import Allowed, Number
from rowsparse.selectors.base.linear_problem import LinearProblem
from rowsparse.selectors.base.selector import SquaredLossSelector
from rowsparse.selectors.base.shared_parameters import generator
from rowsparse.selectors.registry import register
from rowsparse.solvers.solution import Solution
from rowsparse.solvers.sparse.ipfs_solver import ipfs


@register("ipfs", kind="sparse", reference="Zhang et al. 2021")
class IPFS(SquaredLossSelector):
    """Least squares on exactly k features, chosen by a relaxed integer programme.

    Minimises ||Y - X diag(v) W - 1b'||_F^2 over W and 0/1 vectors v that sum to k. The 0/1 vectors
    are those in the box [0, 1]^d and on the sphere ||v - 1/2||^2 = d/4; an augmented Lagrangian
    with a growing weight mu pulls v to the box, to the sphere and to its sum. The features with the
    k largest v are selected and W is refitted on them.

    This is a reconstruction, not a copy: of the paper the relaxation, the kind of algorithm and the
    growth of mu are known. The splitting, the first mu and the ridge in the step for W are not, and
    its robust loss is replaced by the squared one on which Xu et al. (2023) compare.

    Parameters
    ----------
    {n_features_to_select}
    mu : float, default=1e-4
        First weight of the constraints, as a share of ||Y||_F^2 of the centred targets.
    rho : float, default=1.05
        Factor by which the weight grows each iteration.
    ridge : float, default=0.1
        Weight of ||W||_F^2 in the step for W, as a share of the mean squared norm of the columns.
        It is what makes the loss prefer one feature to another: while W fits as well as it can, the
        derivative of the loss in v_j is -2 ridge ||w_j||^2 / v_j. With values as small as 1e-5 the
        choice is nearly arbitrary.
    n_restarts : int, default=0
        Starts after the first, which is v = k/d: the same with a little noise. The best answer is
        kept.
    {fit_intercept}
    {standardize}
    {task}
    {class_weight}
    tol : float, default=1e-4
        Largest violation of a constraint at which the iteration ends.
    max_iter : int, default=1000
        Limit on the iterations of one start. Each factors a matrix of the smaller of n and d.
    random_state : int, RandomState or None, default=None
        Draws the noise of the starts after the first.

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        Row norms of the coefficients; the features that were not chosen follow below, by their v.
    {model}
    objective_ : float
        Squared loss at ``coef_``, which is refitted on the support.
    objectives_ : array
        The same for every start.
    history_ : array
        Loss at (v, W) in each iteration of the best start, before v is a 0/1 vector.
    violation_ : float
        Largest violation of a constraint at the end of the best start.
    {convergence}

    References
    ----------
    X. Zhang, M. Fan, D. Wang, P. Zhou, D. Tao. Top-k feature selection framework using robust 0-1
    integer programming. IEEE Trans. Neural Networks and Learning Systems 32 (2021), 3005-3019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import IPFS
    >>> X, y = load_iris(return_X_y=True)
    >>> IPFS(2).fit(X, y).get_support(indices=True)
    array([1, 3])
    """

    objective_attributes = ("objectives_",)

    allowed: ClassVar[Allowed] = {
        "mu": Number(low=0.0, low_open=True),
        "rho": Number(low=1.0, low_open=True),
        "ridge": Number(low=0.0, low_open=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        mu: float = 1e-4,
        rho: float = 1.05,
        ridge: float = 0.1,
        n_restarts: int = 0,
        fit_intercept: bool = True,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.mu = mu
        self.rho = rho
        self.ridge = ridge
        self.n_restarts = n_restarts
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _solve_squared(self, problem: LinearProblem) -> Solution:
        return ipfs(
            problem.design,
            problem.Y,
            problem.k,
            mu=self.mu,
            rho=self.rho,
            ridge=self.ridge,
            n_restarts=self.n_restarts,
            tol=self.tol,
            max_iter=self.max_iter,
            rng=generator(self.random_state),
            monitor=problem.monitor,
        )
