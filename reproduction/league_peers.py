"""What users of scikit-learn pick today, as selectors that one fit makes ready for every k."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, SelectorMixin, f_classif, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from rowsparse._arrays import Array, Index, Mask
from rowsparse.targets import encode_targets

__all__ = [
    "PEERS",
    "Abess",
    "FastCanRanking",
    "ForestRanking",
    "L1LogisticRanking",
    "MRMRSelection",
    "MutualInformation",
    "RecursiveElimination",
    "make_peer",
]


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
        return _best_first(mutual_info_classif(X, y, random_state=self.random_state))


class L1LogisticRanking(RankingPeer):
    """``SelectFromModel`` on logistic regression with an l1 penalty, one class against the rest."""

    def _ranked(self, X: Array, y: Array) -> Index:
        # In scikit-learn 1.8 the name of a penalty gave way to its ratio.
        ratio = signature(LogisticRegression).parameters["l1_ratio"].default is not None
        penalty = {"l1_ratio": 1.0} if ratio else {"penalty": "l1"}
        machine = LogisticRegression(
            solver="liblinear", C=1.0, random_state=self.random_state, **penalty
        )
        models = OneVsRestClassifier(machine).fit(X, y).estimators_
        return _best_first(np.sum([np.abs(model.coef_[0]) for model in models], axis=0))


class ForestRanking(RankingPeer):
    """``SelectFromModel`` on a random forest of 100 trees."""

    def _ranked(self, X: Array, y: Array) -> Index:
        forest = RandomForestClassifier(100, random_state=self.random_state)
        return _best_first(forest.fit(X, y).feature_importances_)


class RecursiveElimination(RankingPeer):
    """``RFE(LinearSVC(), step=0.1)``: a tenth of the features goes at each step."""

    def _ranked(self, X: Array, y: Array) -> Index:
        kept = np.arange(X.shape[1])
        step = max(1, X.shape[1] // 10)
        gone: list[Index] = []
        while kept.size:
            machine = LinearSVC(dual="auto", random_state=self.random_state)
            importance = np.sum(np.square(machine.fit(X[:, kept], y).coef_), axis=0)
            worst = np.argsort(importance, kind="stable")
            gone.append(kept[worst[:step]])
            kept = kept[np.sort(worst[step:])]
        return np.concatenate(gone)[::-1]


class FastCanRanking(RankingPeer):
    """``FastCan``: greedy forward selection by canonical correlation."""

    def _ranked(self, X: Array, y: Array) -> Index:
        FastCan = _package("fastcan", "fastcan").FastCan
        model = FastCan(n_features_to_select=self.n_features_to_select, verbose=0)
        return np.asarray(model.fit(X, _columns(y)).indices_, dtype=np.intp)


class MRMRSelection(RankingPeer):
    """``mrmr_classif``: F-statistics over mean correlations, one feature after another."""

    def _ranked(self, X: Array, y: Array) -> Index:
        mrmr_classif = _package("mrmr", "mrmr-selection").mrmr_classif
        pandas = _package("pandas", "pandas")
        chosen = mrmr_classif(
            pandas.DataFrame(X), pandas.Series(y), self.n_features_to_select,
            n_jobs=1, show_progress=False,
        )  # fmt: skip
        return np.asarray(chosen, dtype=np.intp)


class Abess(Peer):
    """Best subsets by splicing: (multinomial) logistic regression, or least squares for labels."""

    def __init__(self, n_features_to_select: int = 10) -> None:
        self.n_features_to_select = n_features_to_select

    def fit(self, X: Array, y: Array) -> Self:
        """Select for this k alone."""
        abess = _package("abess", "abess")
        # Constant columns it refuses. Asked for more features than there are, it does not raise:
        # it ends the process.
        varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
        size = min(self.n_features_to_select, X.shape[0], varying.size)
        if y.ndim == 2:
            kind, y = abess.MultiTaskRegression, y.astype(np.float64)
        else:
            two = np.unique(y).size == 2
            kind = abess.LogisticRegression if two else abess.MultinomialRegression
        coef = np.asarray(kind(support_size=size).fit(X[:, varying], y).coef_)
        used = coef != 0 if coef.ndim == 1 else np.any(coef != 0, axis=1)
        return self._keep(varying[used], X.shape[1])


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
    """A peer by the name of its row, not fitted."""
    return PEERS[name][0]()


def _package(module: str, distribution: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            f'{distribution} is not installed: pip install "rowsparse[league]".'
        ) from None


def _best_first(scores: Array) -> Index:
    """The features by falling scores; ties in the order of the columns, as in SelectFromModel."""
    return np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")


def _columns(y: Array) -> Array:
    """One column for each class or label."""
    targets = encode_targets(y, "auto")
    return np.ascontiguousarray(targets.Y * targets.unit, dtype=np.float64)
