"""RFS: robust feature selection by the joint l2,1 norm (Nie, Huang, Cai and Ding, 2010)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array
from rowsparse._parameters import Allowed, Number, OneOf
from rowsparse._validation import check_number
from rowsparse.moments.moments import GrowingTargets, checked_block
from rowsparse.selectors.base.linear_problem import Dimension, LinearProblem
from rowsparse.selectors.base.selector import LinearSelector
from rowsparse.selectors.base.shared_parameters import check_parameters, filled_docstring
from rowsparse.selectors.base.source import MAX_PRODUCTS, Blocks, open_source, refuse_blocks
from rowsparse.selectors.registry import register
from rowsparse.solvers.l21.irls import Iterate, RowSums, irls_from_sums, row_sums
from rowsparse.solvers.solution import Solution, relative_gap
from rowsparse.solvers.sparse.rfs_solver import rfs, rfs_path_fits, rfs_published
from rowsparse.streams.block import Block
from rowsparse.targets import check_sample_weight, target_array

_PUBLISHED_GAMMA = 1.0
_PUBLISHED_ITER = _STREAM_ITER = 1000


@register("rfs", kind="sparse", reference="Nie et al. 2010")
class RFS(LinearSelector):
    """Joint l2,1 norms on loss and coefficients, to a certified duality gap.

    Minimises sum_i ||y_i - x_i W - b||_2 + gamma * sum_j ||w_j||_2. The residuals are not
    squared, so that outlying samples pull less, and whole rows of W vanish.

    Parameters
    ----------
    {n_features_to_select}
    gamma : float, optional
        The penalty. None finds the one at which exactly ``n_features_to_select`` rows are
        active; a number solves there and ranks the rows by their norm.
    fit_intercept : bool, default=True
        Whether b is free and unpenalised. In the published variant it is the coefficient of a
        constant feature, penalised like the others, as the paper suggests.
    solver : {"auto", "admm", "irls", "lp"}, default="auto"
        "admm" works on a growing set of columns and gives exact zeros; "irls" is the paper's
        iteration in a stable form; "lp" is linear programming, for a single target or two
        classes with an intercept. "auto" takes "lp" where it applies, else "admm".
    variant : {"corrected", "published"}, default="corrected"
        "published" takes the printed iteration, stops when the objective changes by less than
        ``tol``, relatively, and ranks the rows; its ``gamma`` is 1 unless given.
    {standardize}
    {task}
    {class_weight}
    tol : float, default=1e-6
        Duality gap to reach, relative to the objective.
    max_iter : int, optional
        Limit on rounds of the working set (default 100), or on IRLS iterations (default 1000).

    Attributes
    ----------
    {choice}
    {row_norms_model}
    objective_ : float
        Value of the problem solved, with scaled columns if ``standardize``.
    gap_ : float
        Certified duality gap, as a share of the objective: the optimum is at least
        ``(1 - gap_) * objective_``.
    dual_coef_ : array of shape (n_samples, n_targets)
        The feasible dual point that proves it; not set by a fit from blocks.
    gamma_ : float
        The penalty used.
    {order_if_gamma}
    n_passes_ : int
        After a fit from :class:`RowBlocks` or a dask collection: how often it was read.
    {iterations}

    Notes
    -----
    :class:`RowBlocks` and dask collections, of up to 20,000 columns, are solved at a given
    ``gamma`` by "irls": each step is one pass, which gathers X'X with the weights of the samples
    that follow from the residuals of the last step.

    References
    ----------
    F. Nie, H. Huang, X. Cai, C. Ding. Efficient and robust feature selection via joint
    l2,1-norms minimization. NIPS 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import RFS
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = RFS(2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([2, 3])
    >>> bool(selector.gap_ <= 1e-6)
    True
    """

    takes_blocks = True
    needs_products = False
    works_by_passes = True
    may_have_fewer_rows = True
    parameter_that_fixes_ranking = "gamma"
    gap_attributes = ("gap_",)

    allowed: ClassVar[Allowed] = {
        "solver": OneOf(("auto", "admm", "irls", "lp")),
        "gamma": Number(low=0.0, low_open=True, optional=True),
        "max_iter": Number(low=1, integer=True, optional=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        gamma: float | None = None,
        fit_intercept: bool = True,
        solver: str = "auto",
        variant: str = "corrected",
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.variant = variant
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def _check_without_rows(self) -> None:
        if self.variant == "published" or self.solver not in ("auto", "irls"):
            raise ValueError(
                "Samples in blocks are for variant='corrected' with solver='auto' or 'irls': the "
                "others need all samples at once."
            )
        if self.gamma is None:
            raise ValueError(
                "gamma=None needs all samples at once: set gamma, such as gamma_ of a fit on some "
                "of the samples times the ratio of the sample sizes."
            )

    def _dimensions(self) -> dict[str, Dimension]:
        return {"gamma": Dimension(x=1)}

    def _solve(self, problem: LinearProblem) -> Solution:
        if isinstance(problem.source, Blocks):
            assert self.gamma is not None
            gamma = problem.scaled("gamma", self.gamma)
            return solve_stream(
                problem, problem.source, gamma, tol=self.tol, max_iter=self.max_iter or _STREAM_ITER
            )
        if self.variant == "published":
            gamma = _PUBLISHED_GAMMA if self.gamma is None else self.gamma
            return rfs_published(
                problem.design,
                problem.Y,
                gamma=problem.scaled("gamma", gamma),
                weights=problem.weights,
                fit_intercept=problem.fit_intercept,
                tol=self.tol,
                max_iter=self.max_iter or _PUBLISHED_ITER,
                monitor=problem.monitor,
            )
        return rfs(
            problem.design,
            problem.Y,
            gamma=problem.scaled("gamma", self.gamma),
            k=problem.k,
            weights=problem.weights,
            fit_intercept=problem.fit_intercept,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            monitor=problem.monitor,
        )


@dataclass(frozen=True)
class RFSPath:
    """The solutions of RFS over a grid of penalties, each with its certificate.

    Attributes
    ----------
    gammas : array of shape (m,)
        The penalties, falling.
    coefs, intercepts : arrays of shape (m, n_targets, n_features) and (m, n_targets)
        The models, in the units of the data.
    n_features : array of int of shape (m,)
        How many rows are not zero.
    objectives, gaps : arrays of shape (m,)
        Objective and certified duality gap (a share of the objective) at each penalty.
    """

    gammas: Array
    coefs: Array
    intercepts: Array
    n_features: Array
    objectives: Array
    gaps: Array


@filled_docstring
def rfs_path(
    X: Any,
    y: Any,
    *,
    gammas: Any = None,
    n_gammas: int = 30,
    eps: float = 1e-2,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    standardize: bool = True,
    task: str = "auto",
    class_weight: Any = None,
    tol: float = 1e-6,
) -> RFSPath:
    """Solve RFS for a whole grid of penalties, each warm-started from the one before.

    Parameters
    ----------
    X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
        Training data.
    {targets}
    gammas : array-like, optional
        The penalties. None takes ``n_gammas`` of them, evenly spaced on a logarithmic scale
        from the largest that selects nothing down to ``eps`` times that.
    n_gammas : int, default=30
        Length of the default grid.
    eps : float, default=1e-2
        Ratio of its ends.
    fit_intercept : bool, default=True
        Whether b is free and unpenalised.
    {standardize}
    {task}
    {class_weight}
    tol : float, default=1e-6
        Duality gap to reach at each penalty, relative to the objective.

    Returns
    -------
    RFSPath

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import rfs_path
    >>> path = rfs_path(*load_iris(return_X_y=True), n_gammas=4)
    >>> path.n_features
    array([0, 3, 3, 4])
    """
    check_number("n_gammas", n_gammas, low=1, integer=True)
    check_number("eps", eps, low=0.0, high=1.0, low_open=True)
    selector = RFS(
        1,
        fit_intercept=fit_intercept,
        standardize=standardize,
        task=task,
        class_weight=class_weight,
        tol=tol,
    )
    check_parameters(selector)
    refuse_blocks(selector, X)
    problem = open_source(selector, X, y, sample_weight).problem(selector._settings())
    grid = None
    if gammas is not None:
        grid = np.array([problem.scaled("gamma", gamma) for gamma in _checked_grid(gammas)])
    fits = rfs_path_fits(
        problem.design,
        problem.Y,
        gammas=grid,
        n_gammas=n_gammas,
        eps=eps,
        weights=problem.weights,
        fit_intercept=problem.fit_intercept,
        tol=tol,
    )
    models = [problem.model(fit.W, fit.b) for fit in fits]
    return RFSPath(
        problem.restored("gamma", np.array([fit.attributes["gamma_"] for fit in fits])),
        np.array([coef for coef, _ in models]),
        np.array([intercept for _, intercept in models]),
        np.array([np.count_nonzero(fit.W.any(axis=1)) for fit in fits]),
        problem.restored("objective", np.array([fit.objective for fit in fits])),
        np.array([relative_gap(fit.objective, fit.attributes["gap_"]) for fit in fits]),
    )


def _checked_grid(gammas: Any) -> Array:
    grid = np.sort(np.atleast_1d(np.asarray(gammas, dtype=np.float64)))[::-1]
    if grid.ndim != 1 or grid.size == 0 or not np.isfinite(grid).all() or grid[-1] <= 0:
        raise ValueError("gammas must be positive, finite numbers in a list.")
    return grid


# -------------------------------------------------------------------------------- samples in blocks
# Entries of a block that are centred and multiplied at a time.
_CHUNK_ENTRIES = 1 << 22


@dataclass
class _Rows:
    """Conversion of blocks to rows of the problem: Z, Y and the weights."""

    mean: Array
    inv_scale: Array
    targets: GrowingTargets
    y_unit: float

    def add(
        self,
        sums: RowSums | None,
        block: Block,
        _: int,
        *,
        gamma: float,
        before: Iterate | None,
        last: Iterate | None,
    ) -> RowSums:
        """Add the sums over a block."""
        X, _names = checked_block(block.X)
        n, d = X.shape
        Y, omega = np.empty((0, self.targets.width)), np.empty(0)
        if n:
            Y = self.targets.encoded(target_array(block.y, n))[1] / self.y_unit
            weights = check_sample_weight(block.sample_weight, n)
            omega = np.ones(n) if weights is None else weights
        if d != self.mean.size or Y.shape[1] != self.targets.width:
            raise ValueError("it is not as it was in the pass before: the data must not change.")
        kept = np.flatnonzero(omega)
        step = max(1, _CHUNK_ENTRIES // d)
        # One chunk at least: a block without rows has sums of zeros.
        for start in range(0, max(kept.size, 1), step):
            rows = kept[start : start + step]
            Z = X[rows].toarray() if sp.issparse(X) else X[rows]
            Z = (Z.astype(np.float64) - self.mean) * self.inv_scale
            found = row_sums(Z, Y[rows], omega[rows], gamma, before, last)
            sums = found if sums is None else sums.merged(found)
        assert sums is not None
        return sums


def solve_stream(
    problem: LinearProblem, source: Blocks, gamma: float, *, tol: float, max_iter: int
) -> Solution:
    """IRLS, a pass over the blocks for each step."""
    d = problem.design.shape[1]
    if d > MAX_PRODUCTS:
        raise ValueError(
            f"RFS needs X'X in memory, and the {d} columns are more than {MAX_PRODUCTS}: use "
            "FStatistic to choose some of them first."
        )
    units = problem.scaling
    rows = _Rows(units.mean, units.inv_scale, source.moments.targets, problem.y_unit)

    def one_pass(before: Iterate | None, last: Iterate | None) -> RowSums:
        add = partial(rows.add, gamma=gamma, before=before, last=last)
        return source.blocks.aggregate(add, RowSums.merged)

    return irls_from_sums(
        one_pass,
        gamma,
        fit_intercept=problem.fit_intercept,
        tol=tol,
        max_iter=max_iter,
        monitor=problem.monitor,
    )
