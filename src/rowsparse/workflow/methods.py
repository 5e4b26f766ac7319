"""The methods by name: the selectors of the registry, and models that users compare them with."""

from __future__ import annotations

import difflib
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import enet_path
from sklearn.preprocessing import scale

from rowsparse._arrays import Array, Mask
from rowsparse.selectors import list_selectors
from rowsparse.selectors.registry import SelectorInfo, selector_info
from rowsparse.targets import encode_targets

__all__ = ["find_method", "list_methods"]


class _Ranking(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """The features with the largest scores, ``scores_``; ``order_`` has all, the best first."""

    tasks: ClassVar[tuple[str, ...]] = ("classification", "multilabel", "regression")
    supervised: ClassVar[bool] = True

    n_features_to_select: int
    task: str

    def fit(self, X: Any, y: Any) -> Self:
        """Rank the features."""
        self.n_features_in_ = X.shape[1]
        self.scores_ = self._scores(X.toarray() if sp.issparse(X) else np.asarray(X), y)
        self.order_ = np.argsort(-self.scores_, kind="stable")
        return self

    @abstractmethod
    def _scores(self, X: Array, y: Any) -> Array: ...

    def _get_support_mask(self) -> Mask:
        return np.isin(np.arange(self.n_features_in_), self.order_[: self.n_features_to_select])


class Lasso(_Ranking):
    """The features in the order in which they enter the path of the lasso.

    Classes are their 0/1 indicators; several targets share their features (multi-task lasso).
    """

    l1_ratio: ClassVar[float] = 1.0

    def __init__(self, n_features_to_select: int = 10, *, task: str = "auto") -> None:
        self.n_features_to_select = n_features_to_select
        self.task = task

    def _scores(self, X: Array, y: Any) -> Array:
        Z, Y = scale(X.astype(np.float64)), scale(encode_targets(y, self.task).Y)
        if self.task == "classification" and Y.shape[1] == 2:
            Y = Y[:, 1:]
        goal = Y if Y.shape[1] > 1 else Y[:, 0]
        alphas, coefs, _ = enet_path(np.asfortranarray(Z), goal, l1_ratio=self.l1_ratio)
        sizes = np.linalg.norm(coefs, axis=0) if coefs.ndim == 3 else np.abs(coefs)
        first = np.argmax(sizes > 0, axis=1)
        has_entered = (sizes > 0).any(axis=1)
        # Of those that enter in one step, the one that is larger at its end came first; those that
        # never enter come last, in the order of their correlations with the targets.
        alphas = np.append(alphas, 0.5 * alphas[-1])
        size = sizes[np.arange(first.size), first]
        later = alphas[first + 1] - alphas[first]
        entered = alphas[first] + later / (1.0 + size / max(size.max(), 1e-300))
        relevance = np.linalg.norm(Z.T @ Y, axis=1) / len(Z)
        return np.where(has_entered, entered, alphas[-1] * relevance / (1.0 + relevance))


class ElasticNet(Lasso):
    """The features in the order in which they enter the path of the elastic net.

    Half of its penalty is that of the lasso, half that of the ridge.
    """

    l1_ratio: ClassVar[float] = 0.5


class RandomForest(_Ranking):
    """The features with the largest importances in a random forest of 300 trees."""

    def __init__(
        self,
        n_features_to_select: int = 10,
        *,
        task: str = "auto",
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.task = task
        self.class_weight = class_weight
        self.random_state = random_state

    def _scores(self, X: Array, y: Any) -> Array:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        if self.task == "regression":
            forest = RandomForestRegressor(300, random_state=self.random_state)
        else:
            forest = RandomForestClassifier(
                300, random_state=self.random_state, class_weight=self.class_weight
            )
        return np.asarray(forest.fit(X, y).feature_importances_)


_OTHERS = {
    info.name: info
    for info in (
        SelectorInfo("lasso", Lasso, "baseline", "Tibshirani 1996", None),
        SelectorInfo("elasticnet", ElasticNet, "baseline", "Zou & Hastie 2005", None),
        SelectorInfo("randomforest", RandomForest, "baseline", "Breiman 2001", None),
    )
}


def find_method(name: str) -> SelectorInfo:
    """What is known of a method, by its name or that of its class.

    >>> find_method("random_forest").reference
    'Breiman 2001'
    """
    plain = "".join(character for character in name.lower() if character.isalnum())
    close = difflib.get_close_matches(plain, _OTHERS, n=1, cutoff=0.8)
    if close and close[0] != plain:
        raise ValueError(f"There is no method {name!r}: did you mean {close[0]!r}?")
    return _OTHERS[plain] if close else selector_info(name)


def list_methods(task: str | None = None) -> list[str]:
    """The names of all methods, or of those for one task."""
    others = [info.name for info in _OTHERS.values() if task is None or task in info.tasks]
    return sorted([*list_selectors(task=task), *others])
