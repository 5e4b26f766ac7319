"""ILFS: infinite latent feature selection (Roffo et al., 2017)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rowsparse._parameters import Allowed, Number, OneOf
from rowsparse.selectors.base.selector import ScoredFeatures, ScoreSelector
from rowsparse.selectors.base.source import Samples
from rowsparse.selectors.registry import register
from rowsparse.solvers.subspace.ilfs_solver import ilfs


@register("ilfs", kind="subspace", reference="Roffo et al. 2017")
class ILFS(ScoreSelector):
    """Features by the probability that a latent factor calls them relevant.

    For sample i and feature f, r_if = (x_if - mu_{y_i f})^2 / sum_j (x_if - mu_jf)^2 says how
    near the sample is to the mean of its own class, compared with all classes. The r of a
    feature are cut into T tokens, whose counts N_tf come from a mixture of two factors,

        p(t|f) = g_f p(t|1) + (1 - g_f) p(t|2),

    where the tokens of factor 1 are near their class. Features are ranked by g_f, of largest
    likelihood.

    The published score sums the weights of all paths in a graph whose edges weigh g_f g_h. That
    matrix has rank one, and the sums are proportional to g: nothing else is computed here.

    Parameters
    ----------
    {n_features_to_select}
    tokens : {"fixed", "plsa"}, default="fixed"
        "fixed" leaves p(t|factor) at its start, linear from 5000 to 1 and back, as the code in
        circulation does; the problem is then concave for each feature and solved exactly.
        "plsa" learns them too, by expectation-maximisation, as the paper describes.
    n_tokens : int, default=6
        Number of tokens T, at least 2; published code has 3, 4 and 6.
    {task}
    max_iter : int, default=1000
        Limit on the rounds of "plsa".
    tol : float, default=1e-8
        Gain of the log-likelihood, as a share of its modulus, at which "plsa" stops.

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        g, between 0 and 1. Scaling a column does not change it.
    {order}
    n_iter_, converged_, history_ : int, bool, array
        Rounds of "plsa" (1 for "fixed"), whether they converged, and the log-likelihood in each.

    References
    ----------
    G. Roffo, S. Melzi, U. Castellani, A. Vinciarelli. Infinite latent feature selection: a
    probabilistic latent graph-based ranking approach. ICCV 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import ILFS
    >>> X, y = load_iris(return_X_y=True)
    >>> ILFS(2).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    allowed: ClassVar[Allowed] = {
        "tokens": OneOf(("fixed", "plsa")),
        "n_tokens": Number(low=2, integer=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        tokens: str = "fixed",
        n_tokens: int = 6,
        task: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-8,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.tokens = tokens
        self.n_tokens = n_tokens
        self.task = task
        self.max_iter = max_iter
        self.tol = tol

    def _score(self, source: Samples) -> ScoredFeatures:
        design, _ = source.design(center=True, scale=True)
        found = ilfs(
            design,
            source.required_targets.Y,
            n_tokens=self.n_tokens,
            update_tokens=self.tokens == "plsa",
            max_iter=self.max_iter,
            tol=self.tol,
            monitor=source.monitor,
        )
        return ScoredFeatures(
            scores=found.probability,
            varies=design.column_norms() > 0,
            order=np.lexsort((-found.slope, -found.probability)),
            n_iter=len(found.history),
            converged=found.converged,
            attributes={"history_": np.array(found.history)},
        )
