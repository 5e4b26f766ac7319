"""TopK on streamed samples with too many columns for X'X: a few passes over them.

The first pass gathers the norms of the columns and their products with Y. Candidates are the
columns that explain most alone; a second pass gathers X'X of these, and the search is made among
them. A third pass gathers the products of all columns with the chosen ones, from which the gain of
every exchange follows: other columns whose exchange would gain become candidates, until there are
no such columns.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from rowsparse._arrays import Array, Index
from rowsparse._validation import warn_user
from rowsparse.design import Design
from rowsparse.moments import Moments
from rowsparse.moments.statistics import Statistics
from rowsparse.selectors.base.linear_problem import LinearProblem, ProblemSettings
from rowsparse.selectors.base.shared_parameters import generator
from rowsparse.selectors.base.source import Blocks, Sums
from rowsparse.selectors.topk.search_report import no_proof, solution_of
from rowsparse.selectors.topk.topk_problem import Constraints, TopKProblem, pose
from rowsparse.solvers.problem import Options
from rowsparse.solvers.search.gram import GramProblem, GramRows, univariate_gains
from rowsparse.solvers.search.gram_state import GramState
from rowsparse.solvers.search.search import search
from rowsparse.solvers.solution import Solution
from rowsparse.streams import RowBlocks
from rowsparse.streams.block import Block
from rowsparse.streams.passes import merged_pair

__all__ = ["products_with", "solve_wide"]

# Candidates to begin with, and most that join them after a search.
_CANDIDATES, _MORE = 2048, 1024
# Most searches, and the share of ||Y||^2 that an exchange must gain to call for another.
_MOST_SEARCHES, _LEAST_GAIN = 10, 1e-10


def solve_wide(
    data: LinearProblem,
    source: Blocks,
    settings: ProblemSettings,
    asked: Constraints,
    alpha: float,
    options: Options,
) -> Solution:
    """The best k of all columns; ``source`` has the statistics of single columns."""
    if not settings.centred:
        raise ValueError(
            f"{asked.n_columns} columns, too many for X'X, must be centred: set standardize or "
            "fit_intercept."
        )
    # The searches among candidates have a seed of their own.
    options = replace(options, seed=int(generator(options.seed).integers(2**31)))
    wide = WideProblem(data, source.statistics, float(data.scaled("alpha", alpha) * data.n_samples))
    alone = wide.gains_alone()
    alone[asked.include], alone[asked.exclude] = np.inf, -np.inf
    size = max(_CANDIDATES, 4 * data.k)
    candidates = np.sort(np.argsort(-alone, kind="stable")[: min(size, asked.n_left)])
    for round_ in range(_MOST_SEARCHES):
        posed = _among(candidates, source, settings, asked)
        found = search(posed.problem(alpha, data.k), options)
        support = candidates[found.support]
        gains = wide.gains(support, products_with(source.blocks, support, source.statistics))
        outside = gains.exchanges
        outside[candidates], outside[asked.exclude] = -np.inf, -np.inf
        better = np.flatnonzero(outside > _LEAST_GAIN * wide.total)
        if better.size == 0 or round_ == _MOST_SEARCHES - 1:
            break
        joining = better[np.argsort(-outside[better], kind="stable")[:_MORE]]
        candidates = np.union1d(candidates, joining)
    if better.size:
        warn_user(
            f"TopK did not converge in {_MOST_SEARCHES} searches among the candidates: other "
            "columns may be better still.",
            ConvergenceWarning,
        )
    posed.warn_if_arbitrary(found, wide.ridge)
    fit = replace(found.fit, support=support)
    found = replace(found, fit=fit, costs=gains.costs, gains=gains.additions)
    return solution_of(found, posed, no_proof(found.objective))


def _among(
    candidates: Index, source: Blocks, settings: ProblemSettings, asked: Constraints
) -> TopKProblem:
    """The problem on some of the columns, in one pass."""
    moments = gather_columns(source.blocks, source.targets.task, candidates)
    part = Sums(moments.statistics, source.targets, source.k, source.monitor)
    include = np.searchsorted(candidates, asked.include).tolist()
    return pose("squared", part.problem(settings), Constraints(include, [], None, candidates.size))


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
    """Samples of X'X that were computed before; there are no others."""

    def __init__(self, design: Design, rows: dict[int, Array]) -> None:
        super().__init__(design)
        self._rows = rows

    def prepare(self, features: Index) -> None:
        pass

    def row(self, p: int) -> Array:
        return self._rows[p]


class _Gains(NamedTuple):
    """Costs and gains of changes of a support: see :class:`GramState`."""

    costs: Array
    additions: Array
    exchanges: Array


class WideProblem:
    """The squared loss on all columns, by the statistics of single columns.

    Parameters
    ----------
    data : LinearProblem
        Its design has the norms of the columns.
    found : Statistics
        Without X'X.
    ridge : float
        Weight of ||W||_F^2, in units of the design.
    """

    def __init__(self, data: LinearProblem, found: Statistics, ridge: float) -> None:
        self.ridge = ridge
        self._design, self._inv_scale = data.design, data.scaling.inv_scale
        self._B = found.xy * (self._inv_scale[:, None] / data.y_unit)
        self.total = float(np.trace(found.yy)) / data.y_unit**2

    def gains_alone(self) -> Array:
        """Gains of each column on its own."""
        return univariate_gains(self._B, self._design.column_norms() ** 2 + self.ridge)

    def gains(self, support: Index, products: Array) -> _Gains:
        """Of removing, adding and exchanging columns, from :func:`products_with` the support."""
        scaled = products * self._inv_scale[:, None] * self._inv_scale[support]
        rows = {int(p): np.ascontiguousarray(scaled[:, i]) for i, p in enumerate(support)}
        known = _KnownRows(self._design, rows)
        problem = GramProblem.from_products(
            self._design, known, self._B, self.total, ridge=self.ridge
        )
        state = GramState(problem, support)
        order = np.argsort(state.support)
        return _Gains(
            state.removal_costs()[order],
            np.maximum(state.addition_gains(), 0.0),
            state.exchange_gains().max(axis=0),
        )
