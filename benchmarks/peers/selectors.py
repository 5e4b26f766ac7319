"""Other packages as selectors for scikit-learn, each with one fit for every k where it can."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, SelectorMixin, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from benchmarks.peers import require
from benchmarks.peers.scikit_learn import mutual_information
from rowsparse import MRMR
from rowsparse._arrays import Array, Index, Mask
from rowsparse.targets import encode_targets

__all__ = ["PEERS", "make_peer"]

# Beyond this, liblinear takes minutes and adds nothing.
_LARGEST_C = 4.0**5


class Peer(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """A selector of k features by another package."""

    support_: Mask

    def _get_support_mask(self) -> Mask:
        return self.support_

    def _keep(self, chosen: Index, d: int) -> Self:
        self.support_ = np.zeros(d, dtype=bool)
        self.support_[chosen] = True
        return self


class RankingPeer(Peer):
    """One whose ``order_`` begins with its choice for any k."""

    def __init__(self, n_features_to_select: int = 10, *, random_state: int | None = None) -> None:
        self.n_features_to_select = n_features_to_select
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
        """Rank the features."""
        self.order_ = self._ranked(X, y)
        return self._keep(self.order_[: self.n_features_to_select], X.shape[1])

    @abstractmethod
    def _ranked(self, X: Array, y: Array) -> Index:
        """The features, the best first: all of them, or as many as are to be selected."""


class MutualInformation(RankingPeer):
    """``SelectKBest(mutual_info_classif)``, which takes no seed of its own."""

    def _ranked(self, X: Array, y: Array) -> Index:
        return _best_first(mutual_information(X, y, self.random_state))


class L1LogisticRanking(RankingPeer):
    """``SelectFromModel`` on logistic regression with an l1 penalty, one class against the rest.

    With C = 1, as long as that leaves k features. After those come the features that C = 4 adds,
    then those of C = 16 and so on, each by the size of its coefficients.
    """

    def _ranked(self, X: Array, y: Array) -> Index:
        order = np.empty(0, dtype=np.intp)
        wanted = min(self.n_features_to_select, int(np.count_nonzero(np.ptp(X, axis=0))))
        C = 1.0
        while order.size < wanted and C <= _LARGEST_C:
            sizes = self._sizes(X, y, C)
            sizes[order] = 0.0
            order = np.concatenate([order, _best_first(sizes)[: np.count_nonzero(sizes)]])
            C *= 4
        rest = np.setdiff1d(np.arange(X.shape[1]), order)
        return np.concatenate([order, rest])

    def _sizes(self, X: Array, y: Array, C: float) -> Array:
        """Sums of the absolute coefficients over the classes."""
        # From scikit-learn 1.8 on the penalty is given by its ratio, not by its name.
        ratio = signature(LogisticRegression).parameters["l1_ratio"].default is not None
        penalty = {"l1_ratio": 1.0} if ratio else {"penalty": "l1"}
        machine = LogisticRegression(
            solver="liblinear", C=C, random_state=self.random_state, **penalty
        )
        models = OneVsRestClassifier(machine).fit(X, y).estimators_
        return np.sum([np.abs(model.coef_[0]) for model in models], axis=0)


class ForestRanking(RankingPeer):
    """``SelectFromModel`` on a random forest of 100 trees."""

    def _ranked(self, X: Array, y: Array) -> Index:
        forest = RandomForestClassifier(100, random_state=self.random_state)
        return _best_first(forest.fit(X, y).feature_importances_)


class RecursiveElimination(RankingPeer):
    """RFE with ``LinearSVC()``: each step drops a tenth of the features that are left.

    ``RFE(step=0.1)`` would drop a tenth of all, ten thousand features in ten steps.
    """

    def _ranked(self, X: Array, y: Array) -> Index:
        kept = np.arange(X.shape[1])
        dropped: list[Index] = []
        while kept.size:
            machine = LinearSVC(dual="auto", random_state=self.random_state)
            importance = np.sum(np.square(machine.fit(X[:, kept], y).coef_), axis=0)
            worst = np.argsort(importance, kind="stable")
            step = max(1, kept.size // 10)
            dropped.append(kept[worst[:step]])
            kept = kept[np.sort(worst[step:])]
        return np.concatenate(dropped)[::-1]


class FastCanRanking(RankingPeer):
    """``FastCan``: greedy forward selection by canonical correlation."""

    def _ranked(self, X: Array, y: Array) -> Index:
        targets = encode_targets(y, "auto")
        Y = np.ascontiguousarray(targets.Y * targets.unit, dtype=np.float64)
        return require("fastcan").select(X, Y, self.n_features_to_select)


class MRMRSelection(RankingPeer):
    """``mrmr_classif`` of mrmr-selection: F-statistics over mean correlations.

    By ``MRMR(criterion="fcq")``, which has the same picks (a test compares) in a thousandth of the
    time.
    """

    def _ranked(self, X: Array, y: Array) -> Index:
        return MRMR(self.n_features_to_select, criterion="fcq").fit(X, y).order_


class Abess(Peer):
    """Best subsets by splicing: (multinomial) logistic regression, or least squares for labels."""

    def __init__(self, n_features_to_select: int = 10) -> None:
        self.n_features_to_select = n_features_to_select

    def fit(self, X: Array, y: Array) -> Self:
        """Select for this k alone."""
        package = require("abess")
        # It refuses constant columns.
        varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
        chosen = package.select(X[:, varying], y, self.n_features_to_select)
        return self._keep(varying[chosen], X.shape[1])


# By the name of a row: what makes it, and the tasks that it takes.
PEERS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "sklearn-f": (lambda: SelectKBest(f_classif), ("classification",)),
    "sklearn-mi": (MutualInformation, ("classification",)),
    "sklearn-rfe": (RecursiveElimination, ("classification",)),
    "sklearn-l1": (L1LogisticRanking, ("classification",)),
    "sklearn-forest": (ForestRanking, ("classification", "multilabel")),
    "abess": (Abess, ("classification", "multilabel")),
    "fastcan": (FastCanRanking, ("classification", "multilabel")),
    "mrmr-selection": (MRMRSelection, ("classification",)),
}


def make_peer(name: str) -> Any:
    """A peer by its name, not fitted."""
    return PEERS[name][0]()


def _best_first(scores: Array) -> Index:
    """The features by falling scores; ties in the order of the columns, as in SelectFromModel."""
    return np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
