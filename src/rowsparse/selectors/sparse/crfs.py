"""CRFS: correntropy with an l2,1 penalty (He et al., 2012)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rowsparse._parameters import Allowed, Either, Number, OneOf
from rowsparse.selectors.base.linear_problem import Dimension, LinearProblem
from rowsparse.selectors.base.selector import LinearSelector
from rowsparse.selectors.registry import register
from rowsparse.solvers.solution import Solution
from rowsparse.solvers.sparse.crfs_solver import crfs


@register("crfs", kind="sparse", reference="He et al. 2012")
class CRFS(LinearSelector):
    """Maximum correntropy with an l2,1 penalty: samples that fit badly lose their weight.

    With e_i = ||y_i - x_i W - b||^2, minimises
    -2 sigma^2 sum_i exp(-e_i / (2 sigma^2)) + 4 gamma sum_j sqrt(||w_j||^2 + 1e-7) by
    half-quadratic rounds. Each solves a ridge problem in which sample i has the weight exp(-e_i /
    (2 sigma^2)) and row j the penalty 2 gamma / sqrt(||w_j||^2 + 1e-7) of the last round; the first
    is plain ridge regression. With a fixed sigma no round raises the objective. No row becomes
    zero: they are ranked by their norm.

    Parameters
    ----------
    {n_features_to_select}
    gamma : float, default=0.01
        Weight of the penalty; the default is that of the authors' demonstration. It applies to
        the columns as scaled, and to data of an extreme magnitude (below 1e-50 or above 1e50) once
        they are divided by a power of two.
    sigma : "adaptive" or float, default="adaptive"
        Width of the kernel. "adaptive" takes 2 sigma^2 = 4 mean(e) anew after each round, as the
        authors do.
    fit_intercept : bool, default=False
        Whether X and Y are centred, once; the authors do not.
    {standardize}
    {task}
    {class_weight}
    tol : float, optional
        Stop once a round changes W by less than this, relatively. None, as the authors do, makes
        ``max_iter`` rounds: their number is a parameter of the method and no shortfall.
    max_iter : int, default=5
        Number of rounds.

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        Row norms of the coefficients.
    {model}
    objective_ : float
        The objective at ``coef_`` and ``sigma_``; it is negative unless the penalty outweighs the
        fit. With an adaptive sigma the values of ``history_`` belong to different widths.
    sigma_ : float
        Width of the kernel in the last round.
    order_ : array of int of shape (n_features,)
        All features, the best first: its first k are the choice for k.
    {iterations}

    References
    ----------
    R. He, T. Tan, L. Wang, W.-S. Zheng. l2,1 regularized correntropy for robust feature selection.
    CVPR 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import CRFS
    >>> X, y = load_iris(return_X_y=True)
    >>> CRFS(2).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    parameter_that_fixes_ranking = "gamma"
    objective_power = 2

    allowed: ClassVar[Allowed] = {
        "gamma": Number(low=0.0, low_open=True),
        "sigma": Either(OneOf(("adaptive",)), Number(low=0.0, low_open=True)),
        "tol": Number(low=0.0, low_open=True, optional=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        gamma: float = 0.01,
        sigma: Any = "adaptive",
        fit_intercept: bool = False,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        tol: float | None = None,
        max_iter: int = 5,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.sigma = sigma
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def _dimensions(self) -> dict[str, Dimension]:
        return {"sigma": Dimension(y=1)}

    def _solve(self, problem: LinearProblem) -> Solution:
        mean = np.zeros(problem.Y.shape[1])
        if problem.fit_intercept:
            mean = np.average(problem.Y, axis=0, weights=problem.weights)
        solution = crfs(
            problem.design,
            problem.Y - mean,
            gamma=self.gamma,
            weights=problem.weights,
            sigma=problem.scaled("sigma", None if isinstance(self.sigma, str) else self.sigma),
            tol=self.tol,
            max_iter=self.max_iter,
            monitor=problem.monitor,
        )
        solution.b = mean
        return solution
