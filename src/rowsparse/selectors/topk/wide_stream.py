"""TopK on streamed samples with too many columns for X'X: a few passes over them.

The first pass has the norms of the columns and their products with Y. Candidates are the columns
that explain most alone; a second pass has X'X of these, and the search is made among them. A third
pass has the products of all columns with the chosen ones, from which the gain of every exchange
follows: columns outside the candidates that would gain join them, until there are none.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rowsparse._arrays import Array, Index
from rowsparse.design import DenseDesign
from rowsparse.moments import Moments
from rowsparse.moments.statistics import Statistics
from rowsparse.selectors.base.messages import warn_user
from rowsparse.selectors.base.moments import MomentsSample, column_scales, design_without_rows
from rowsparse.selectors.base.parameters import generator
from rowsparse.selectors.base.state import fitted_attributes, forget_last_fit
from rowsparse.selectors.topk.constraints import Constraints
from rowsparse.selectors.topk.losses import effective_alpha
from rowsparse.solvers.solution import scores_with_closeness
from rowsparse.solvers.subset.gram import GramProblem, GramRows
from rowsparse.solvers.subset.support import SupportState
from rowsparse.streams import RowBlocks
from rowsparse.streams.block import Block
from rowsparse.streams.passes import merged_pair

__all__ = ["WideProblem", "fit_wide", "gather_columns", "products_with"]

# Candidates to begin with, and most that join them after a search.
_CANDIDATES, _MORE = 2048, 1024
# Most searches, and the share of ||Y||^2 that an exchange must gain to call for another.
_MOST_SEARCHES, _LEAST_GAIN = 10, 1e-10
# What a search among candidates reports that is not the same for all columns.
_OF_COLUMNS = ("coef_", "scores_", "support_", "ranking_", "n_features_in_", "feature_names_in_")


def fit_wide(selector: Any, blocks: RowBlocks, sample: MomentsSample) -> None:
    """Fit a TopK with the squared loss; ``sample`` has the statistics of single columns."""
    if selector.certify or selector.feature_groups is not None:
        raise ValueError("certify and feature_groups need X'X: there are too many columns for it.")
    if not (selector.standardize or selector.fit_intercept):
        raise ValueError("So many columns must be centred: set standardize or fit_intercept.")
    found, names = sample.statistics, getattr(selector, "feature_names_in_", None)
    d = found.x_origin.size
    asked = Constraints.of(selector.include, selector.exclude, None, d, names)
    asked.check(sample.k)
    inv_scale, unit = column_scales(sample, selector.standardize, True)
    wide = WideProblem(
        found,
        inv_scale,
        effective_alpha(selector.alpha, "squared", sample.targets.task) * found.weight / unit**2,
    )
    strength = wide.strength()
    strength[asked.include], strength[asked.exclude] = np.inf, -np.inf
    size = max(_CANDIDATES, 4 * sample.k)
    candidates = np.sort(np.argsort(-strength, kind="stable")[: min(size, asked.n_left)])
    seed = int(generator(selector.random_state).integers(2**31))
    for search in range(_MOST_SEARCHES):
        inner = clone(selector).set_params(
            n_features_to_select=sample.k,
            include=np.searchsorted(candidates, asked.include).tolist(),
            exclude=None,
            task=sample.targets.task,
            class_weight=None,  # the blocks have it
            random_state=seed,
        )
        inner.fit_moments(gather_columns(blocks, sample.targets.task, candidates))
        support = candidates[np.flatnonzero(inner.support_)]
        gains = wide.gains(support, products_with(blocks, support, found))
        outside = gains.exchanges
        outside[candidates], outside[asked.exclude] = -np.inf, -np.inf
        better = np.flatnonzero(outside > _LEAST_GAIN * wide.total)
        if better.size == 0 or search == _MOST_SEARCHES - 1:
            break
        joining = better[np.argsort(-outside[better], kind="stable")[:_MORE]]
        candidates = np.union1d(candidates, joining)
    if better.size:
        warn_user(
            f"TopK did not converge in {_MOST_SEARCHES} searches among the candidates: other "
            "columns may be better still.",
            ConvergenceWarning,
        )
    _take_over(selector, inner, sample, candidates, support, gains, wide)


def _take_over(
    selector: Any,
    inner: Any,
    sample: MomentsSample,
    candidates: Index,
    support: Index,
    gains: _Gains,
    wide: WideProblem,
) -> None:
    """Set the fitted attributes for all columns, from the fit on the candidates."""
    d = wide.design.shape[1]
    costs = np.zeros((d, 1))
    costs[support, 0] = gains.costs
    scores = scores_with_closeness(costs, gains.additions, support)
    forget_last_fit(selector)
    for name, value in fitted_attributes(inner).items():
        if name not in _OF_COLUMNS:
            setattr(selector, name, value)
    selector.coef_ = np.zeros((*inner.coef_.shape[:-1], d))
    selector.coef_[..., candidates] = inner.coef_
    varies = wide.design.column_norms() > 0
    selector._set_choice(scores, support, varies, scores, sample.targets)


def gather_columns(blocks: RowBlocks, task: str, columns: Index) -> Moments:
    """The Moments of some columns, in one pass."""
    return blocks.aggregate(partial(_update, task=task, columns=columns), merged_pair)


def _update(moments: Moments | None, block: Block, _: int, *, task: str, columns: Index) -> Moments:
    moments = Moments(task) if moments is None else moments
    return moments.update(_columns(block.X, columns), block.y, block.sample_weight)


def products_with(blocks: RowBlocks, columns: Index, found: Statistics) -> Array:
    """Sums of products of the deviations of all columns with those of some, d x k, in one pass."""
    add = partial(_add_products, columns=columns, origin=found.x_origin)
    sums = blocks.aggregate(add, _added)
    # Of deviations from the origins, those from the means.
    return sums.products - np.outer(found.x_shift, sums.columns)


class _Sums(NamedTuple):
    """Of products of all columns with some, and of these, all less their origins."""

    products: Array
    columns: Array


def _add_products(
    sums: _Sums | None, block: Block, _: int, *, columns: Index, origin: Array
) -> _Sums:
    if sums is None:
        sums = _Sums(np.zeros((origin.size, columns.size)), np.zeros(columns.size))
    X, _, weights = block
    if X.shape[0] == 0:
        return sums
    w = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    Z = _columns(X, columns)
    Z = np.asarray(Z.toarray() if sp.issparse(Z) else Z, dtype=np.float64)
    Z = (Z - origin[columns]) * w[:, None]
    total = Z.sum(axis=0)
    if sp.issparse(X):
        added = X.T @ Z - np.outer(origin, total)
    else:
        added = (np.asarray(X, dtype=np.float64) - origin).T @ Z
    return _added(sums, _Sums(added, total))


def _added(first: _Sums, second: _Sums) -> _Sums:
    return _Sums(first.products + second.products, first.columns + second.columns)


def _columns(X: Any, columns: Index) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, columns].to_numpy()
    if hasattr(X, "columns"):
        return X.to_numpy()[:, columns]
    return X[:, columns] if sp.issparse(X) else np.asarray(X)[:, columns]


class _KnownRows(GramRows):
    """Rows of X'X that were computed before; there are no others."""

    def __init__(self, design: DenseDesign, rows: dict[int, Array]) -> None:
        super().__init__(design)
        self._rows = rows

    def prepare(self, features: Index) -> None:
        pass

    def row(self, p: int) -> Array:
        return self._rows[p]


class _Gains(NamedTuple):
    """What a support is worth: see :class:`SupportState`."""

    costs: Array
    additions: Array
    exchanges: Array


class WideProblem:
    """The squared loss on all columns, by the statistics of single columns.

    Parameters
    ----------
    found : Statistics
        Without X'X.
    inv_scale : array of shape (d,)
        The reciprocal scales of the columns.
    ridge : float
        Weight of ||W||_F^2, in units of the scaled columns.
    """

    def __init__(self, found: Statistics, inv_scale: Array, ridge: float) -> None:
        self._found, self._inv_scale, self._ridge = found, inv_scale, ridge
        self.design = design_without_rows(np.sqrt(found.x_square) * inv_scale)
        self._B = found.xy * inv_scale[:, None]
        self.total = float(np.trace(found.yy))

    def strength(self) -> Array:
        """What each column explains on its own."""
        diagonal = self.design.column_norms() ** 2 + self._ridge
        squares = np.einsum("jc,jc->j", self._B, self._B)
        return np.divide(squares, diagonal, out=np.zeros_like(squares), where=diagonal > 0)

    def gains(self, support: Index, products: Array) -> _Gains:
        """Of removing, adding and exchanging columns, from :func:`products_with` the support."""
        scaled = products * self._inv_scale[:, None] * self._inv_scale[support]
        rows = {int(p): np.ascontiguousarray(scaled[:, i]) for i, p in enumerate(support)}
        problem = GramProblem.of(self.design, np.zeros((0, self._B.shape[1])), ridge=self._ridge)
        vars(problem).update(gram=_KnownRows(self.design, rows), B=self._B, total=self.total)
        state = SupportState(problem, support)
        order = np.argsort(state.support)
        return _Gains(
            state.removal_costs()[order],
            np.maximum(state.addition_gains(), 0.0),
            state.exchange_gains().max(axis=0),
        )
