"""mRMR: much relevance, little redundancy (Ding & Peng, 2003 and 2005)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._parameters import Allowed, Number, OneOf
from rowsparse.selectors.base.selector import ScoredFeatures, ScoreSelector
from rowsparse.selectors.base.source import Samples
from rowsparse.selectors.registry import register
from rowsparse.solvers.filters.class_statistics import group_statistics
from rowsparse.solvers.filters.correlation import varying_targets
from rowsparse.solvers.filters.discretize import BY_LABELS, DISCRETIZATIONS, Discretization
from rowsparse.solvers.filters.group_comparisons import varying
from rowsparse.solvers.filters.mrmr_solver import CRITERIA, Criterion, MrmrResult, mrmr
from rowsparse.solvers.filters.relevance import Aggregate, varying_labels


@register("mrmr", kind="filter", reference="Ding & Peng 2003")
class MRMR(ScoreSelector):
    """Features that tell much of the targets and repeat little of those chosen before.

    The first feature is the most relevant one; each next one maximises, with V its relevance and r
    the mean of its redundancies with those already chosen,

        mid  V - r           V mutual information with the classes, r with the features
        miq  V / (r + 0.01)  the same
        fcd  V - r           V the F-statistic, r the moduli of the correlations
        fcq  V / r           the same, correlations below 0.001 counting as 0.001

    Mutual information is in bits and that of discretised columns. The F-statistic of "fcd" is on
    another scale than the correlations and mostly decides alone: that is how it was published.

    Parameters
    ----------
    {n_features_to_select}
    criterion : {"auto", "mid", "miq", "fcd", "fcq"}, default="auto"
        See above. "auto" is "mid" for classes and labels, and "fcq" for numbers, which "mid" and
        "miq" do not take.
    discretize : {"mean_std", "mdl", "weka", "equal_width", "none"}, default="mean_std"
        For "mid" and "miq": three states, below, within and above mean -/+ ``bin_width`` standard
        deviations; cuts by minimum description length (Fayyad and Irani), at the paper's price of
        a cut ("mdl") or at Weka's ("weka", see :class:`InformationGain`); equal parts of the
        range; or the values as they are, for data that are discrete. "mdl" and "weka" cut for one
        target at a time: several labels need ``aggregate="mean_rank"``.
    bin_width : float, default=0.5
        Half the width of the middle state of "mean_std", in standard deviations.
    bins : int, default=10
        Number of parts of "equal_width".
    pool : int, optional
        Number of the most relevant features to choose from, at least the number of features to
        select; None chooses from all.
    aggregate : {"mean", "max", "mean_rank"}, default="mean"
        How relevances for several labels, or columns of numbers, become one. "mean_rank" instead
        chooses for each of them and ranks by the mean place, n_features_to_select + 1 for a
        feature not chosen.
    {task}

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        k for the first, k - 1 for the second, ...; the others below, by relevance.
    order_ : array of int of shape (n_features,)
        All features: the selected ones in the order of selection, then the others by relevance.
    selection_scores_ : array
        The criterion of each when it was selected, the relevance for the first; not with
        ``aggregate="mean_rank"`` and several labels.
    criterion_ : str
        The criterion, with "auto" resolved.
    relevance_ : array of shape (n_features,)
        The relevance V; +inf for a feature that separates the classes without any error.

    References
    ----------
    C. Ding, H. Peng. Minimum redundancy feature selection from microarray gene expression data.
    CSB 2003; Journal of Bioinformatics and Computational Biology 3, 2005.

    H. Peng, F. Long, C. Ding. Feature selection based on mutual information: criteria of
    max-dependency, max-relevance, and min-redundancy. IEEE TPAMI 27, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import MRMR
    >>> X, y = load_iris(return_X_y=True)
    >>> MRMR(3).fit(X, y).order_
    array([3, 2, 1, 0])
    """

    allowed: ClassVar[Allowed] = {
        "criterion": OneOf(("auto", *CRITERIA)),
        "discretize": OneOf(DISCRETIZATIONS),
        "bin_width": Number(low=0.0),
        "bins": Number(low=2, integer=True),
        "pool": Number(low=1, integer=True, optional=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        criterion: Criterion | Literal["auto"] = "auto",
        discretize: Discretization = "mean_std",
        bin_width: float = 0.5,
        bins: int = 10,
        pool: int | None = None,
        aggregate: Aggregate = "mean",
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.criterion = criterion
        self.discretize = discretize
        self.bin_width = bin_width
        self.bins = bins
        self.pool = pool
        self.aggregate = aggregate
        self.task = task

    def _score(self, source: Samples) -> ScoredFeatures:
        X, task = source.X, source.required_targets.task
        criterion = self._criterion(task)
        Y, d = self._varying_targets(source, criterion), X.shape[1]
        varies = varying(group_statistics(X, [np.arange(X.shape[0])], None))
        columns = np.flatnonzero(varies)
        if not columns.size:
            return ScoredFeatures(np.zeros(d), varies)
        found = mrmr(
            X if columns.size == d else X[:, columns],
            Y,
            task,
            source.k,
            criterion=criterion,
            discretization=self.discretize,
            bins=self.bins,
            bin_width=self.bin_width,
            pool=self.pool,
            aggregate=self.aggregate,
        )
        scored = _scored(found, columns, varies)
        scored.attributes["criterion_"] = criterion
        return scored

    def _criterion(self, task: str) -> Criterion:
        if self.criterion == "auto":
            return "fcq" if task == "regression" else "mid"
        if task == "regression" and self.criterion in ("mid", "miq"):
            raise ValueError(
                f"criterion={self.criterion!r} counts classes or labels and y is for regression: "
                "pass criterion='fcd' or 'fcq'."
            )
        return self.criterion

    def _varying_targets(self, source: Samples, criterion: Criterion) -> Array:
        """The targets that can tell anything."""
        Y, task = source.required_targets.Y, source.required_targets.task
        if task == "regression":
            Y = Y[:, varying_targets(Y, None)]
        elif task == "multilabel":
            Y = Y[:, varying_labels(Y)]
            cuts = criterion in ("mid", "miq") and self.discretize in BY_LABELS
            if cuts and self.aggregate != "mean_rank" and Y.shape[1] > 1:
                raise ValueError(
                    f"discretize={self.discretize!r} cuts for one target at a time: pass "
                    "aggregate='mean_rank', or another discretize, for several labels."
                )
        if not Y.shape[1]:
            raise ValueError("y is the same for all samples: there is nothing to tell.")
        return Y


def _scored(found: MrmrResult, columns: Index, varies: Mask) -> ScoredFeatures:
    """From the columns that vary to all columns."""
    scores, relevance = np.zeros(varies.size), np.zeros(varies.size)
    relevance[columns] = found.relevance
    # Features that were never chosen lie below the last of the others, by relevance.
    places, others = found.places.copy(), found.order[found.places[found.order] == 0]
    least = places[places > 0].min()
    places[others] = least * np.arange(others.size, 0, -1) / (others.size + 1)
    scores[columns] = places
    attributes: dict[str, Any] = {"relevance_": relevance}
    if found.scores is not None:
        attributes["selection_scores_"] = found.scores
    everything = np.append(columns[found.order], np.flatnonzero(~varies))
    return ScoredFeatures(scores, varies, order=everything, attributes=attributes)
