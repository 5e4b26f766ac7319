"""S2DFS: a discriminative subspace of few features (Wang et al., 2020)."""

from __future__ import annotations

from typing import Any, ClassVar

from rowsparse._parameters import Allowed, Number, OneOf
from rowsparse.design import Design
from rowsparse.selectors.base.selector import ScoredFeatures, ScoreSelector
from rowsparse.selectors.base.shared_parameters import generator
from rowsparse.selectors.base.source import Samples
from rowsparse.selectors.registry import register
from rowsparse.selectors.subspace.components import resolve_components, scored_features
from rowsparse.solvers.solution import Solution, Variant
from rowsparse.solvers.subspace.s2dfs_solver import (
    random_start,
    start_at_features,
    trace_ratio,
    trace_ratio_exact,
)


@register("s2dfs", kind="subspace", reference="Wang et al. 2020")
class S2DFS(ScoreSelector):
    """The k features with the subspace that keeps classes apart and tight.

    Maximises tr(W'S_bW) / tr(W'S_wW) over W'W = I_m with at most k non-zero rows, S_b and S_w
    the scatter matrices between and within classes.

    With m = k, the setting of Xu et al. (2023) and the default, W does no more than to name the
    features: the problem is max sum S_b,f / sum S_w,f over sets of k features, the trace ratio
    of Fisher scores (Nie et al. 2008), and has an exact solution. With m < k the published
    algorithm is run. It shifts S_b - lam S_w until it is positive semi-definite, which ties it
    to its start: from a random one it often stays far below the maximum, so try several seeds,
    or ``init="exact"``.

    Parameters
    ----------
    {n_features_to_select}
    n_components : int, optional
        Dimension m of the subspace, at most k; by default k.
    variant : {"corrected", "published"}, default="corrected"
        "corrected" finds the global maximum where m = k, and runs the authors' algorithm
        where m < k; "published" runs it for any m.
    init : {"random", "exact"}, default="random"
        Where the published algorithm starts: at the basis of a matrix of uniform random numbers,
        or at the exact choice for m = k, with its m best directions.
    {standardize_or_centre}
    {task}
    max_iter : int, default=50
        Limit on the number of values of lam.
    tol : float, default=1e-10
        Relative change of the ratio at which the published algorithm stops.
    random_state : int, RandomState or None, default=None
        Draws the random start.

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        Row norms of W, all 1 where m = k; the features that were not chosen follow below: by
        S_b - lam S_w for the global maximum, else by how well the subspace explains them.
    components_ : array of shape (n_components, n_features)
        W', orthonormal rows that act on the standardised columns; zero outside the support.
    objective_ : float
        The ratio at W.
    history_ : array
        The ratio after each round; it never falls.
    {convergence}

    References
    ----------
    Z. Wang, F. Nie, L. Tian, R. Wang, X. Li. Discriminative feature selection via a structured
    sparse subspace learning module. IJCAI 2020.

    F. Nie, S. Xiang, Y. Jia, C. Zhang, S. Yan. Trace ratio criterion for feature selection.
    AAAI 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import S2DFS
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = S2DFS(2).fit(X, y)
    >>> selector.get_support(indices=True), round(selector.objective_, 2)
    (array([2, 3]), 14.41)
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    allowed: ClassVar[Allowed] = {
        "n_components": Number(low=1, integer=True, optional=True),
        "init": OneOf(("random", "exact")),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        n_components: int | None = None,
        variant: Variant = "corrected",
        init: str = "random",
        standardize: bool = True,
        task: str = "auto",
        max_iter: int = 50,
        tol: float = 1e-10,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_components = n_components
        self.variant = variant
        self.init = init
        self.standardize = standardize
        self.task = task
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _score(self, source: Samples) -> ScoredFeatures:
        design, _ = source.design(center=True, scale=self.standardize)
        m = resolve_components(self.n_components, source.k, self, source)
        exact = self.variant == "corrected" and m == source.k
        solution = self._exact(design, source) if exact else self._published(design, source, m)
        return scored_features(solution, design.column_norms() > 0)

    def _exact(self, design: Design, source: Samples) -> Solution:
        Y = source.required_targets.Y
        return trace_ratio_exact(
            design, Y, source.k, max_iter=self.max_iter, monitor=source.monitor
        )

    def _published(self, design: Design, source: Samples, m: int) -> Solution:
        Y, k = source.required_targets.Y, source.k
        if self.init == "exact":
            start = start_at_features(design, Y, k, m)
        else:
            start = random_start(design.shape[1], m, generator(self.random_state))
        return trace_ratio(
            design,
            Y,
            k,
            start=start,
            max_iter=self.max_iter,
            tol=self.tol,
            monitor=source.monitor,
        )
