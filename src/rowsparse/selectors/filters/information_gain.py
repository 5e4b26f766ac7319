"""InformationGain: the bits that each feature, in few states, tells about the classes."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from rowsparse._parameters import Allowed, Number, OneOf
from rowsparse.selectors.base.selector import ScoredFeatures, ScoreSelector
from rowsparse.selectors.base.source import Samples
from rowsparse.selectors.registry import register
from rowsparse.solvers.filters.class_statistics import group_statistics
from rowsparse.solvers.filters.discretize import BY_LABELS, DISCRETIZATIONS, Discretization
from rowsparse.solvers.filters.group_comparisons import varying
from rowsparse.solvers.filters.information import information_gain
from rowsparse.solvers.filters.relevance import Aggregate, aggregate_labels, varying_labels


@register("informationgain", kind="filter", reference="Quinlan 1986; Fayyad and Irani 1993")
class InformationGain(ScoreSelector):
    """The entropy of the classes less their conditional entropy given the state of the feature.

    The values of a feature become states b = 0, 1, ..., and its score is, in bits,

        H(y) - sum_b (n_b / n) H(y | state b)

    Parameters
    ----------
    {n_features_to_select}
    discretize : {"mdl", "weka", "equal_width", "mean_std", "none"}, default="mdl"
        How values become states. "mdl" cuts where the classes separate best, again and again, as
        long as that shortens the description of the data (Fayyad and Irani 1993). "weka" does so
        with the price of a cut as in Weka's attribute evaluation, which is lower where values are
        tied. "equal_width" divides the range into ``bins`` equal parts, "mean_std" into three at
        the mean -/+ ``bin_width`` standard deviations. "none" makes every distinct value a state.
    bins : int, default=10
        Number of states for "equal_width".
    bin_width : float, default=0.5
        Half the width of the middle state for "mean_std", in standard deviations.
    tie_break : {"best_cut", "index"}, default="best_cut"
        What decides between equal scores, as of the many features without any accepted cut in
        small samples: the gain of their best single cut ("mdl" and "weka"), or their order.
    {aggregate}
    {task}

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        Bits; 0 for constant columns.
    best_cut_gains_ : array of shape (n_features,)
        Bits of the best single cut of each feature, accepted or not ("mdl" and "weka").
    {order}

    Notes
    -----
    It takes no sample weights: the cuts rest on counts. For numbers to predict, see
    :func:`sklearn.feature_selection.mutual_info_regression`.

    References
    ----------
    J. R. Quinlan. Induction of decision trees. Machine Learning 1 (1986).
    U. M. Fayyad, K. B. Irani. Multi-interval discretization of continuous-valued attributes for
    classification learning. IJCAI 1993.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import InformationGain
    >>> X, y = load_iris(return_X_y=True)
    >>> InformationGain(2).fit(X, y).scores_.round(3)
    array([0.652, 0.386, 1.357, 1.378])
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification", "multilabel")

    allowed: ClassVar[Allowed] = {
        "discretize": OneOf(DISCRETIZATIONS),
        "bins": Number(low=2, high=2**16, integer=True),
        "bin_width": Number(low=0.0),
        "tie_break": OneOf(("best_cut", "index")),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        discretize: Discretization = "mdl",
        bins: int = 10,
        bin_width: float = 0.5,
        tie_break: Literal["best_cut", "index"] = "best_cut",
        aggregate: Aggregate = "mean",
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.discretize = discretize
        self.bins = bins
        self.bin_width = bin_width
        self.tie_break = tie_break
        self.aggregate = aggregate
        self.task = task

    def _score(self, source: Samples) -> ScoredFeatures:
        Y = source.required_targets.Y
        several = source.required_targets.task == "multilabel"
        if several:
            labelings = [Y[:, label].astype(np.intp) for label in varying_labels(Y)]
            if not labelings:
                raise ValueError("Every label of y is constant: there is nothing to tell apart.")
        else:
            labelings = [Y.argmax(axis=1)]
        gains, best_cuts = information_gain(
            source.X,
            labelings,
            2 if several else Y.shape[1],
            discretization=self.discretize,
            bins=int(self.bins),
            bin_width=float(self.bin_width),
        )
        rule: Aggregate = self.aggregate if several else "mean"
        scores, cut_gains = aggregate_labels(gains, rule), aggregate_labels(best_cuts, rule)
        order = np.lexsort((-cut_gains, -scores)) if self.tie_break == "best_cut" else None
        varies = varying(group_statistics(source.X, [np.arange(Y.shape[0])], None))
        attributes = {"best_cut_gains_": cut_gains} if self.discretize in BY_LABELS else {}
        return ScoredFeatures(scores, varies, order=order, attributes=attributes)
