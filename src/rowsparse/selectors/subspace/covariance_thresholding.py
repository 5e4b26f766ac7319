"""Covariance thresholding (Krauthgamer, Nadler and Vilenchik, 2015)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rowsparse._parameters import Allowed, Flag, Number
from rowsparse._validation import warn_user
from rowsparse.selectors.base.selector import ScoredFeatures, ScoreSelector
from rowsparse.selectors.base.source import Samples
from rowsparse.selectors.registry import register
from rowsparse.solvers.subspace.covariance_thresholding_solver import covariance_thresholding
from rowsparse.solvers.subspace.subspace import mean_variance


@register("covariancethresholding", kind="subspace", reference="Krauthgamer et al. 2015")
class CovarianceThresholding(ScoreSelector):
    """The first principal component of the covariances that are not noise.

    Sets the entries of the covariance matrix C with |C_ij| <= t to zero, on the diagonal too,
    and ranks features by the modulus of the leading eigenvector of the result. Targets are not
    needed.

    That eigenvector lives on one connected component of the graph of surviving entries. If it
    reaches fewer than k features, those of the component with the next largest eigenvalue
    follow, and so on. If no entry off the diagonal survives, features are ranked by their
    variance, equal ones by the first principal component, with a warning. On standardised
    columns that is always so for n <= 25, where the default threshold is 1 or more.

    Parameters
    ----------
    {n_features_to_select}
    threshold : float, optional
        The threshold t >= 0, in the units of C; 0 is ordinary principal component analysis. By
        default 5/sqrt(n) times the mean variance, which is 1 on standardised columns.
    soft : bool, default=False
        Whether C less the mean variance on its diagonal is thresholded and the other entries are
        shrunk by t, as analysed by Deshpande and Montanari (without their splitting of the
        sample).
    {standardize_or_centre}
    {task}

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        Modulus of the leading eigenvector; the features that it does not reach follow below.
    {order}
    threshold_ : float
        The threshold that was used.
    n_pairs_ : int
        Number of pairs of features whose covariance survived.

    References
    ----------
    R. Krauthgamer, B. Nadler, D. Vilenchik. Do semidefinite relaxations solve sparse PCA up to
    the information limit? Annals of Statistics 43 (2015).

    Y. Deshpande, A. Montanari. Sparse PCA via covariance thresholding. Journal of Machine
    Learning Research 17 (2016).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from rowsparse import CovarianceThresholding
    >>> X, _ = load_wine(return_X_y=True)
    >>> CovarianceThresholding(4).fit(X).get_support(indices=True)
    array([ 5,  6, 10, 11])
    """

    supervised: ClassVar[bool] = False

    allowed: ClassVar[Allowed] = {
        "threshold": Number(low=0.0, optional=True),
        "soft": Flag(),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        threshold: float | None = None,
        soft: bool = False,
        standardize: bool = True,
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.soft = soft
        self.standardize = standardize
        self.task = task

    def _score(self, source: Samples) -> ScoredFeatures:
        design, units = source.design(center=True, scale=self.standardize)
        n, d = design.shape
        if self.threshold is None:
            threshold = 5.0 / np.sqrt(n) * mean_variance(design)
        else:
            threshold = float(self.threshold) / units.x_unit / units.x_unit
        found = covariance_thresholding(design, threshold, soft=bool(self.soft))
        shown = threshold * units.x_unit * units.x_unit
        if found.n_pairs == 0 and d > 1:
            warn_user(
                f"No covariance is above the threshold {shown:.3g}: features are ranked by their "
                "variance. Lower the threshold."
            )
        return ScoredFeatures(
            scores=found.scores,
            varies=design.column_norms() > 0,
            attributes={"threshold_": float(shown), "n_pairs_": found.n_pairs},
        )
