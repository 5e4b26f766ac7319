"""SLAP: similarities and a row-sparse projection (after Chen et al., 2018)."""

from __future__ import annotations

from typing import ClassVar

from rowsparse._parameters import Allowed, Number
from rowsparse.selectors.base.selector import ScoredFeatures, ScoreSelector
from rowsparse.selectors.base.source import Samples
from rowsparse.selectors.registry import register
from rowsparse.selectors.subspace.components import scored_features
from rowsparse.solvers.subspace.slap_solver import slap


@register("slap", kind="subspace", reference="Chen et al. 2018")
class SLAP(ScoreSelector):
    """Similarities within classes and a row-sparse projection, learnt in turn.

    Minimises

        sum_ij s_ij ||W'(x_i - x_j)||^2 + sum_i alpha_i sum_j s_ij^2 + gamma ||W||_21

    over similarities s_ij >= 0 that sum to 1 over the other samples of i's class, and over
    projections with W'X'XW = I_m (columns centred). Features are ranked by the row norms of W.

    This is a reconstruction. What is published is the alternation, the similarities within
    classes, m, the number of neighbours and the range of gamma; the constraint on W, the closed
    form of the similarities, the power of the norm and the rule to stop are those of related
    methods by the same group. A round costs O(n^2 d + n^3) for n < d; else O(n d^2 + d^3), and a
    sparse X is made dense.

    Parameters
    ----------
    {n_features_to_select}
    gamma : float, default=1.0
        Weight of the penalty, > 0; the papers search 1e-3 to 1e3. Without ``standardize`` it is
        multiplied by the root of the mean variance, so that units do not matter.
    n_components : int, optional
        Dimension m of the projection; by default the number of classes. No more than the rank
        of X is used.
    n_neighbors : int, default=5
        Number of similar samples that each has, or all others of its class but one if these are
        fewer. It chooses alpha_i, for each sample and in each round.
    similarity_weight : float, optional
        One fixed alpha_i > 0 for all samples instead. Then the objective never rises, and
        ``n_neighbors`` is not used.
    {standardize_or_centre}
    {task}
    max_iter : int, default=30
        Limit on the rounds.
    tol : float, default=0.02
        Relative change of the row norms, taken together, at which it stops. Without a fixed
        ``similarity_weight`` later rounds go on exchanging neighbours, and much smaller changes may
        never come.

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        Row norms of W.
    {order}
    components_ : array of shape (n_components, n_features)
        W', which acts on the standardised columns.
    objective_ : float
        The objective at W, with the last alpha_i.
    history_ : array
        The same after each round.
    {convergence}

    References
    ----------
    X. Chen, G. Yuan, W. Wang, F. Nie, X. Chang, J. Z. Huang. Local adaptive projection framework
    for feature selection of labeled and unlabeled data. IEEE Transactions on Neural Networks and
    Learning Systems 29 (2018).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from rowsparse import SLAP
    >>> X, y = load_wine(return_X_y=True)
    >>> SLAP(4, n_components=2).fit(X, y).get_support(indices=True)
    array([ 0,  6,  9, 12])
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    allowed: ClassVar[Allowed] = {
        "gamma": Number(low=0.0, low_open=True),
        "n_components": Number(low=1, integer=True, optional=True),
        "n_neighbors": Number(low=1, integer=True),
        "similarity_weight": Number(low=0.0, low_open=True, optional=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        gamma: float = 1.0,
        n_components: int | None = None,
        n_neighbors: int = 5,
        similarity_weight: float | None = None,
        standardize: bool = True,
        task: str = "auto",
        max_iter: int = 30,
        tol: float = 0.02,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.similarity_weight = similarity_weight
        self.standardize = standardize
        self.task = task
        self.max_iter = max_iter
        self.tol = tol

    def _score(self, source: Samples) -> ScoredFeatures:
        design, units = source.design(center=True, scale=self.standardize)
        Y = source.required_targets.Y
        solution = slap(
            design,
            Y,
            Y.shape[1] if self.n_components is None else self.n_components,
            gamma=self.gamma,
            n_neighbors=self.n_neighbors,
            similarity_weight=self.similarity_weight,
            max_iter=self.max_iter,
            tol=self.tol,
            monitor=source.monitor,
        )
        solution.W /= units.x_unit
        return scored_features(solution, design.column_norms() > 0)
