"""ReliefF: features that differ between near samples of different classes (Kononenko, 1994)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rowsparse._arrays import Array, Mask
from rowsparse._parameters import Allowed, AnyValue, Number, OneOf
from rowsparse.selectors.base.selector import ScoredFeatures, ScoreSelector
from rowsparse.selectors.base.source import Samples
from rowsparse.selectors.registry import register
from rowsparse.solvers.filters.manhattan import UnitSamples
from rowsparse.solvers.filters.relevance import Aggregate, aggregate_labels, varying_labels
from rowsparse.solvers.filters.relief import relief_classes, relief_label_pairs, relief_numbers


@register("relieff", kind="filter", reference="Kononenko 1994")
class ReliefF(ScoreSelector):
    """Features in which neighbours of other classes differ more than those of the same class.

    With the columns scaled to [0, 1], diff_f(i, j) = |x_if - x_jf| and the distance of two samples
    the sum of their differences, every sample i adds to the weight of feature f::

        - mean of diff_f to its n_neighbors nearest of the same class
        + sum over the other classes c of P_c / (1 - P_own) * the mean to its nearest of class c

    and w_f is the mean over all samples; P are the frequencies of the classes. Neighbours are
    found jointly in all features, so that a feature can count that tells nothing alone. Weights
    may be negative. Equal distances go to the sample that comes first.

    Numbers as targets take the regression form RReliefF, which weighs pairs of neighbours by how
    much their targets differ. For labels see ``multilabel``.

    Time grows as n^2 d. The memory beyond a scaled copy of a dense X is that of a few hundred
    samples against all others; a sparse X is made dense in parts.

    Parameters
    ----------
    {n_features_to_select}
    n_neighbors : int, default=10
        Nearest samples of every class; a class with fewer gives all it has.
    sigma : float, optional
        Weighs the neighbour of rank r by exp(-(r/sigma)^2), as Robnik-Šikonja and Kononenko
        propose; None weighs all n_neighbors the same.
    categorical_features : array-like of bool or int, optional
        Mask or numbers of the columns whose values are names: their difference is 0 or 1.
    multilabel : {"pairwise", "binary_relevance"}, default="pairwise"
        "pairwise" compares, for each ordered pair of labels (p, q), the samples that carry p and
        not q with those that carry q and not p, with the weight P_q / (sum of all P - P_p). It
        is a reconstruction of the method of Kong et al. from its outline, and equals ReliefF for
        one label a sample. "binary_relevance" takes one label after another as two classes.
    aggregate : {"mean", "max", "mean_rank"}, default="mean"
        How the weights for single labels become one, for "binary_relevance" and for several
        columns of numbers.
    {task}
    n_jobs : int, optional
        Threads, as in joblib; they do not change the answer.

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        The weights w; 0 for constant columns.
    {order}

    References
    ----------
    I. Kononenko. Estimating attributes: analysis and extensions of RELIEF. ECML 1994.

    M. Robnik-Šikonja, I. Kononenko. Theoretical and empirical analysis of ReliefF and RReliefF.
    Machine Learning 53, 2003.

    D. Kong, C. Ding, H. Huang, H. Zhao. Multi-label ReliefF and F-statistic feature selections
    for image annotation. CVPR 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import ReliefF
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = ReliefF(2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([2, 3])
    >>> selector.scores_.round(2)
    array([0.14, 0.12, 0.36, 0.38])
    """

    allowed: ClassVar[Allowed] = {
        "n_neighbors": Number(low=1, integer=True),
        "categorical_features": AnyValue(),
        "sigma": Number(low=0.0, low_open=True, optional=True),
        "multilabel": OneOf(("pairwise", "binary_relevance")),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        n_neighbors: int = 10,
        sigma: float | None = None,
        categorical_features: Any = None,
        multilabel: str = "pairwise",
        aggregate: Aggregate = "mean",
        task: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.categorical_features = categorical_features
        self.multilabel = multilabel
        self.aggregate = aggregate
        self.task = task
        self.n_jobs = n_jobs

    def _score(self, source: Samples) -> ScoredFeatures:
        categorical = column_mask("categorical_features", self.categorical_features, source.X)
        samples = UnitSamples(source.X, categorical)
        targets = source.required_targets
        return ScoredFeatures(self._weights(samples, targets.Y, targets.task), samples.varies)

    def _weights(self, samples: UnitSamples, Y: Array, task: str) -> Array:
        options: dict[str, Any] = {
            # More neighbours than samples are all of them.
            "n_neighbors": min(self.n_neighbors, samples.shape[0]),
            "sigma": self.sigma,
            "n_jobs": self.n_jobs,
        }
        if task == "classification":
            return relief_classes(samples, Y.argmax(axis=1)[None], **options)[0]
        if task == "regression":
            return aggregate_labels(relief_numbers(samples, Y, **options), self.aggregate)
        if self.multilabel == "binary_relevance":
            labels = varying_labels(Y)
            if not labels.size:
                raise ValueError("y has no label that some samples carry and others do not.")
            codes = Y[:, labels].T.astype(np.intp)
            return aggregate_labels(relief_classes(samples, codes, **options), self.aggregate)
        only = Y.T @ (1.0 - Y)
        if not np.any((only > 0) & (only.T > 0)):
            raise ValueError(
                "y has no pair of labels with samples that carry only the first and samples that "
                "carry only the second: pass multilabel='binary_relevance'."
            )
        return relief_label_pairs(samples, Y, **options)


def column_mask(name: str, value: Any, X: Any) -> Mask:
    """A mask of the columns of X from a mask, from numbers of columns, or from None for none."""
    d = X.shape[1]
    mask = np.zeros(d, dtype=bool)
    if value is None:
        return mask
    given = np.asarray(value)
    if given.ndim == 1 and given.dtype.kind == "b" and given.size == d:
        return given.copy()
    whole = given.ndim == 1 and (given.dtype.kind in "iu" or given.size == 0)
    if not whole or np.any((given < 0) | (given >= d)):
        raise ValueError(
            f"{name} must be None, a mask of {d} entries or numbers of columns from 0 to {d - 1}; "
            f"got {value!r}."
        )
    mask[given.astype(np.intp)] = True
    return mask
