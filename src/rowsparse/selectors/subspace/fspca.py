"""FSPCA: principal components of few features (Tian et al., 2020)."""

from __future__ import annotations

from typing import ClassVar

from rowsparse._parameters import Allowed, Number
from rowsparse._validation import warn_user
from rowsparse.selectors.base.selector import ScoredFeatures, ScoreSelector
from rowsparse.selectors.base.source import Samples
from rowsparse.selectors.registry import register
from rowsparse.selectors.subspace.components import resolve_components, scored_features
from rowsparse.solvers.subspace.fspca_solver import fspca

_COMPONENTS = 10


@register("fspca", kind="subspace", reference="Tian et al. 2020")
class FSPCA(ScoreSelector):
    """The k features whose leading principal components have the most variance.

    Maximises tr(W'CW) over W'W = I_m with at most k non-zero rows, C the covariance of the
    columns. It starts at the features that carry most of the rank-m part of C and in each round
    takes those that the subspace explains best; the variance never falls. That is a local
    maximum, and the global one where C has no more than m dimensions. Targets are not needed.

    Parameters
    ----------
    {n_features_to_select}
    n_components : int, optional
        Number of components m, at most k. By default the number of classes if y holds classes,
        else 10, and no more than k. With m = k any k features carry the whole of their own
        variance, so that the answer is the k largest variances: meaningless on standardised
        columns. That is solved exactly, equal variances are ordered by their part in the m
        leading components of all features, and a warning is given.
    ridge : float, default=0.1
        Share of the mean variance that the inner step adds to the diagonal of C. It moves the
        objective by a constant only, but holds on to the current features the more, the larger
        it is.
    {standardize_or_centre}
    {task}
    max_iter : int, default=100
        Limit on the rounds; the authors run 20.

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        Row norms of W; the features that were not chosen follow below, by how well the subspace
        explains them.
    components_ : array of shape (n_components, n_features)
        W', orthonormal rows that act on the standardised columns; zero outside the support.
    objective_ : float
        Variance tr(W'CW) of the components.
    history_ : array
        The same at the start and after every change of the features.
    n_iter_, converged_ : int and bool
        Number of rounds, and whether the last one left the features as they were.

    References
    ----------
    L. Tian, F. Nie, R. Wang, X. Li. Learning feature sparse principal subspace. NeurIPS 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from rowsparse import FSPCA
    >>> X, _ = load_wine(return_X_y=True)
    >>> FSPCA(4, n_components=2).fit(X).get_support(indices=True)
    array([ 5,  6,  9, 11])
    """

    supervised: ClassVar[bool] = False

    allowed: ClassVar[Allowed] = {
        "n_components": Number(low=1, integer=True, optional=True),
        "ridge": Number(low=0.0),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        n_components: int | None = None,
        ridge: float = 0.1,
        standardize: bool = True,
        task: str = "auto",
        max_iter: int = 100,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_components = n_components
        self.ridge = ridge
        self.standardize = standardize
        self.task = task
        self.max_iter = max_iter

    def _score(self, source: Samples) -> ScoredFeatures:
        design, units = source.design(center=True, scale=self.standardize)
        classes = None if source.targets is None else source.targets.classes
        default = _COMPONENTS if classes is None else classes.size
        m = resolve_components(self.n_components, default, self, source)
        if m == source.k < design.shape[1]:
            warn_user(
                f"FSPCA with n_components={m} for {source.k} features only takes the largest "
                "variances, which says nothing on standardised columns: pass fewer n_components."
            )
        solution = fspca(
            design,
            source.k,
            m,
            ridge=self.ridge,
            max_iter=self.max_iter,
            monitor=source.monitor,
        )
        scale = units.x_unit * units.x_unit
        return scored_features(solution, design.column_norms() > 0, scale=scale)
