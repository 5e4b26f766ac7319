"""The features that a selector picks for each of several k, with as few fits as that takes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import RFE, SelectKBest

from rowsparse._arrays import Index
from rowsparse.selectors import TopK, TopKPath, topk_path
from rowsparse.selectors.base.shared_parameters import check_parameters
from rowsparse.selectors.topk.loss_defaults import PATH_LOSSES
from rowsparse.selectors.topk.topk_path import FEW_RESTARTS
from rowsparse.selectors.topk.topk_problem import open_problem

# Names of the parameter that is the number of features; the first one that a selector has.
_COUNT_NAMES = ("n_features_to_select", "k", "max_features")
# For more k than this, the path of TopK, which goes through all k, costs less than single fits.
_PATH_FROM = 8


@dataclass(frozen=True)
class Selection:
    """What a selector picked for one k: the features, sorted.

    ``seconds`` is the time of the fit that picked them, and ``shared`` says whether the same fit
    gave the selections of other k.
    """

    k: int
    support: Index
    seconds: float
    shared: bool


def selecting_k(selector: Any, k: int, seed: int | None = None) -> Any:
    """A clone of a selector that picks k features; ``seed`` replaces a ``random_state`` of None.

    Examples
    --------
    >>> from sklearn.feature_selection import SelectKBest
    >>> selecting_k(SelectKBest(), 3)
    SelectKBest(k=3)
    """
    fresh = clone(selector)
    params = fresh.get_params(deep=False)
    name = next((name for name in _COUNT_NAMES if name in params), None)
    if name is None:
        raise TypeError(
            f"{type(selector).__name__} does not say how many features to select: it has none of "
            f"the parameters {', '.join(_COUNT_NAMES)}."
        )
    fresh.set_params(**{name: k})
    if seed is not None and "random_state" in params and params["random_state"] is None:
        fresh.set_params(random_state=seed)
    return fresh


def select_for_each(
    selector: Any,
    X: Any,
    y: Any,
    ks: Iterable[int],
    *,
    seed: int | None = None,
    along_path: bool | None = None,
) -> dict[int, Selection]:
    """Pick k features for every k, in rising order; a k beyond the number of columns counts as it.

    One fit serves all k where the method allows it: :class:`~rowsparse.TopK` by its path or by
    single searches in data that are prepared once; others if the fitted selector has an ``order_``
    whose beginnings are its choices (filters, and methods with a fixed penalty), and scikit-learn's
    ``SelectKBest`` and ``RFE`` likewise. Otherwise it is fitted once for each k. A clone is given
    each k as ``n_features_to_select``, ``k`` or ``max_features``, and ``seed`` if its
    ``random_state`` is None.

    ``along_path`` says whether :class:`~rowsparse.TopK` goes along its path, where the features for
    one k depend on the other k; single searches are more thorough. By default it does for more than
    eight k.
    """
    wanted = sorted({int(k) for k in ks})
    d = X.shape[1]
    if along_path is None:
        along_path = len(wanted) > _PATH_FROM
    if _has_path(selector) and along_path:
        return _along_path(selecting_k(selector, 1, seed), X, y, wanted)
    if _has_path(selector) and selector.loss != "logistic":
        found = _with_one_design(selecting_k(selector, 1, seed), X, y, wanted)
        if found is not None:
            return found

    def fitted(k: int) -> tuple[Any, float]:
        fresh = selecting_k(selector, min(k, d), seed)
        start = time.perf_counter()
        fresh.fit(X, y)
        return fresh, time.perf_counter() - start

    # RFE ranks the features it eliminated, so fit the least k; the others rank those they chose.
    lead = wanted[0] if isinstance(selector, RFE) else wanted[-1]
    first, seconds = fitted(lead)
    order = _order(first)
    if order is not None:
        shared = len(wanted) > 1
        return {k: Selection(k, np.sort(order[: min(k, d)]), seconds, shared) for k in wanted}
    fits = {lead: (first, seconds)} | {k: fitted(k) for k in wanted if k != lead}
    return {k: Selection(k, np.flatnonzero(_mask(fits[k][0])), fits[k][1], False) for k in wanted}


def path_of(selector: Any, X: Any, y: Any, k_max: int, **changes: Any) -> TopKPath:
    """The path with the parameters of a TopK or TopKCV, except for the changes."""
    accepted = signature(topk_path).parameters
    params = selector.get_params(deep=False) | changes
    options = {name: value for name, value in params.items() if name in accepted}
    # A path is warm-started from both sides, so it needs fewer restarts at each k.
    asked = options["n_restarts"]
    fewer = min(asked, FEW_RESTARTS) if isinstance(asked, int) else FEW_RESTARTS
    return topk_path(X, y, **options | {"k_max": k_max, "n_restarts": fewer})


def strongest_first(selector: Any) -> Index:
    """The features that a fitted selector with ``scores_`` selected, the strongest first."""
    chosen = np.flatnonzero(selector.get_support())
    order = getattr(selector, "order_", None)
    if order is not None:
        return np.asarray(order[np.isin(order, chosen)])
    scores = np.asarray(selector.scores_)[chosen]
    return np.asarray(chosen[np.argsort(-scores, kind="stable")])


def _has_path(selector: Any) -> bool:
    """Whether one path gives the supports of all sizes."""
    if not isinstance(selector, TopK) or selector.loss not in PATH_LOSSES:
        return False
    return not selector.certify and selector.time_limit is None


def _with_one_design(selector: TopK, X: Any, y: Any, ks: list[int]) -> dict[int, Selection] | None:
    """A search for each k; the data are prepared once, which counts for every one of them.

    None if the loss is not the squared one.
    """
    start = time.perf_counter()
    check_parameters(selector)
    prepared = open_problem(selector, X, y)
    if prepared.loss_name != "squared":
        return None
    preparation = time.perf_counter() - start
    found = {}
    for k in ks:
        start = time.perf_counter()
        support = prepared.best(selector, k)
        found[k] = Selection(k, support, preparation + time.perf_counter() - start, False)
    return found


def _along_path(selector: TopK, X: Any, y: Any, ks: list[int]) -> dict[int, Selection]:
    start = time.perf_counter()
    path = path_of(selector, X, y, min(ks[-1], X.shape[1]))
    seconds = time.perf_counter() - start
    supports = dict(zip(path.ks.tolist(), path.supports, strict=True))
    largest, shared = int(path.ks[-1]), len(ks) > 1
    return {k: Selection(k, np.sort(supports[min(k, largest)]), seconds, shared) for k in ks}


def _order(fitted: Any) -> Index | None:
    """An order whose first k features are the selection for every k, or None."""
    if isinstance(fitted, SelectKBest):
        # Ties as scikit-learn breaks them: the last comes first.
        scores = np.where(np.isnan(fitted.scores_), -np.inf, fitted.scores_)
        return np.argsort(scores, kind="stable")[::-1]
    if isinstance(fitted, RFE):
        return np.argsort(fitted.ranking_, kind="stable") if fitted.step == 1 else None
    order: Index | None = getattr(fitted, "order_", None)
    return order


def _mask(fitted: Any) -> Any:
    return np.asarray(fitted.get_support(), dtype=bool)
