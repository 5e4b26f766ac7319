"""The k features with the least logistic loss with a ridge, by greedy growth and exchange.

    minimise sum_i w_i l(y_i, x_i W + b) + (ridge / 2) ||W||_F^2
    subject to at most k rows of W are non-zero

with l the sum of the binary logistic losses of the columns of Y.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.solvers.losses.logistic import LogisticLoss, NewtonFit
from rowsparse.solvers.solution import Monitor, silent
from rowsparse.solvers.subset.exchange import fill
from rowsparse.solvers.subset.local_search import LocalOptimum
from rowsparse.solvers.subset.logistic_descent import FIT_TOL, LogisticDescent, LogisticProblem
from rowsparse.solvers.subset.logistic_groups import LogisticGroupSearch
from rowsparse.solvers.subset.newton import AllColumns, ColumnPool, target_models
from rowsparse.solvers.subset.path import PathPoint, best_supports
from rowsparse.solvers.subset.rules import Rules
from rowsparse.solvers.subset.search import SearchResult
from rowsparse.solvers.subset.starts import MultiStartResult, best_optima, run_starts

# Exchanges end when none gains more than this share of the objective without features.
_TOL = 1e-10
# Tolerance of the last fit.
_FINAL_TOL = 1e-11
# If scoring one support on all columns takes no more multiplications than this, the pool has
# all columns; else it begins with as many as take that many, but at least some for each of the k.
_STEP_PRODUCTS, _PER_FEATURE, _LEAST_COLUMNS = 1 << 18, 2, 64
# From this share of the features on, a support is found by removing from all of them.
_NEARLY_ALL = 0.8


class LogisticSearch:
    """A :class:`~rowsparse.solvers.subset.local_search.LocalSearch` for the logistic loss.

    The first start collects columns that promise most in a pool; later ones start from that.
    """

    def __init__(self, problem: LogisticProblem, rules: Rules) -> None:
        self._problem, self._rules = problem, rules
        self._fixed = np.array(rules.include, dtype=np.intp)
        self._nothing = problem.fit(np.empty((problem.loss.Y.shape[0], 0)))
        self._strength = problem.growth_estimates(self._nothing)
        self._pool = self._first_pool()
        self.n_fixed = len(rules.include)
        self.size = rules.k - self.n_fixed
        self.units = np.flatnonzero(rules.allowed)
        self.total = problem.total

    def _first_pool(self) -> ColumnPool:
        n, d = self._problem.design.shape
        k, c = max(self._rules.k, 1), max(self._problem.loss.Y.shape[1], 1)
        size = max(_STEP_PRODUCTS // (n * k * c), _PER_FEATURE * k, _LEAST_COLUMNS)
        if size >= d:
            return ColumnPool(self._problem.design, np.arange(d))
        strength = np.where(self._rules.allowed, self._strength, -np.inf)
        return ColumnPool(self._problem.design, np.argsort(-strength, kind="stable")[:size])

    def run(self, kept: Sequence[int], removed: Sequence[int], exchange_every: int) -> LocalOptimum:
        if not kept and not removed and exchange_every == 0:
            return self._first().in_order()
        descent = self._grown(kept, removed, self.size, exchange_every)
        descent.exchange()
        return self._optimum(descent).in_order()

    def _first(self) -> LocalOptimum:
        if self.size >= _NEARLY_ALL * self.units.size:
            descent = self._descent(self.units.tolist())
            while descent.features.size > self.n_fixed + self.size:
                descent.remove()
        else:
            descent = self._descent(())
            growing, full = True, self.n_fixed + self.size
            while growing and descent.features.size < full:
                descent.widen_for_growth()
                growing = descent.add_block(self._rules.allowed, full - descent.features.size)
        descent.exchange()
        if descent.widen_for_exchange():
            descent.exchange()
        self._pool = descent.pool
        return self._optimum(descent)

    def run_beam(self) -> LocalOptimum:
        """Growth with exchanges at every size, which replaces a beam."""
        return self.run((), (), 1)

    def confirmed(self, optimum: LocalOptimum) -> tuple[LocalOptimum, bool]:
        """A selection improved until no exchange gains, and whether time sufficed for that."""
        descent = self._descent(optimum.units)
        while descent.confirm():
            descent.exchange()
        return self._optimum(descent).in_order(), not self._rules.deadline.expired()

    def greedy_path(self) -> Iterator[LocalOptimum]:
        descent = self._descent(())
        yield self._optimum(descent)
        for _ in range(self.size):
            descent.widen_for_growth()
            if not descent.add(self._rules.allowed):
                return
            if descent.features.size == self.n_fixed + self.size:
                descent.widen_for_exchange()
            self._pool = descent.pool
            yield self._exchanged(self._descent(descent.features[self.n_fixed :].tolist()))

    def regrow(self, kept: Sequence[int], removed: Sequence[int], size: int) -> LocalOptimum | None:
        descent = self._grown(kept, removed, size, 0)
        if descent.features.size < self.n_fixed + size:
            return None
        return self._exchanged(descent)

    def shrink(self, units: Sequence[int]) -> LocalOptimum:
        descent = self._descent(units)
        descent.remove()
        return self._exchanged(descent)

    def support(self, units: Sequence[int], k: int) -> Index:
        chosen = [*self._rules.include, *units]
        strength = np.where(self._rules.excluded, -np.inf, self._strength)
        return np.sort(fill(chosen, strength, self._rules.allowed, k))

    def _descent(self, units: Sequence[int]) -> LogisticDescent:
        features = np.append(self._fixed, np.array(units, dtype=np.intp))
        return LogisticDescent(self._problem, self._rules, self._pool, features, self.n_fixed)

    def _grown(
        self, kept: Sequence[int], removed: Sequence[int], size: int, exchange_every: int
    ) -> LogisticDescent:
        """``kept`` grown to a size, or as far as features gain."""
        full = self.n_fixed + size
        descent = self._descent(kept)
        allowed = self._rules.allowed.copy()
        allowed[list(removed)] = False
        growing = True
        while growing and (before := descent.features.size) < full:
            growing = descent.add_block(allowed, full - before)
            allowed = self._rules.allowed
            reached = descent.features.size
            due = exchange_every and reached // exchange_every > before // exchange_every
            if due and reached < full:
                descent.exchange()
        return descent

    def _exchanged(self, descent: LogisticDescent) -> LocalOptimum:
        descent.exchange()
        return self._optimum(descent)

    def _optimum(self, descent: LogisticDescent) -> LocalOptimum:
        return LocalOptimum(descent.objective, tuple(descent.features[self.n_fixed :].tolist()))


def _local_search(
    problem: LogisticProblem, rules: Rules, groups: Sequence[Index] | None
) -> LogisticSearch | LogisticGroupSearch:
    """The search over features, or over groups if any has more than one."""
    if groups is not None and any(len(group) > 1 for group in groups):
        return LogisticGroupSearch(problem, rules, groups)
    if groups is not None:
        rules.exclude_all_but(np.concatenate(groups))
    return LogisticSearch(problem, rules)


def search_logistic(
    loss: LogisticLoss,
    k: int,
    *,
    ridge: float,
    include: Sequence[int],
    exclude: Sequence[int],
    groups: Sequence[Index] | None,
    n_restarts: int,
    seed: int,
    n_jobs: int | None,
    deadline: Deadline,
    monitor: Monitor = silent,
) -> SearchResult:
    """Search for the k features with the least objective.

    Parameters
    ----------
    loss : LogisticLoss
        If it has an intercept, none of its labels is constant.
    k : int
        Number of features, or of groups, the included ones among them.
    ridge : float
        Weight of ||W||_F^2 / 2.
    include, exclude, groups, n_restarts, seed, n_jobs, deadline, monitor
        As in :func:`rowsparse.solvers.subset.search.search`.

    Returns
    -------
    SearchResult
        Unless time was up, no exchange of positive gain in the second-order model at the fit, nor
        another one of the most promising, lowers the objective.
    """
    problem = LogisticProblem.of(loss, ridge)
    local = _local_search(problem, Rules.of(problem, k, include, exclude, _TOL, deadline), groups)
    outcome = run_starts(
        local, n_restarts, seed=seed, n_jobs=n_jobs, deadline=deadline, monitor=monitor
    )
    best, settled = _settled(local, outcome, problem)
    support = local.support(best.units, k)
    X_S = loss.design.double_columns(support)
    fit = problem.fit(X_S, tol=_FINAL_TOL)
    return SearchResult(
        support=support,
        objective=fit.objective,
        V=fit.W,
        b=fit.b,
        costs=_removal_costs(problem, X_S, fit),
        gains=_addition_gains(problem, support, fit),
        n_starts=outcome.n_starts,
        history=_falling([*outcome.history[:-1], fit.objective]),
        stopped_early=outcome.stopped_early or not settled,
    )


def _settled(
    local: LogisticSearch | LogisticGroupSearch, outcome: MultiStartResult, problem: LogisticProblem
) -> tuple[LocalOptimum, bool]:
    """The best end of all starts, and whether no exchange of positive gain improves it."""
    if outcome.stopped_early:
        return outcome.best, True
    # The first start may lead further than a better one, and then restarts would do harm.
    ends = [local.confirmed(one) for one in {outcome.best, outcome.first}]
    best = best_optima([optimum for optimum, _ in ends], problem.total)[0]
    return best, all(is_settled for _, is_settled in ends)


def solve_logistic_path(
    loss: LogisticLoss,
    k_max: int,
    *,
    ridge: float,
    include: Sequence[int],
    exclude: Sequence[int],
    groups: Sequence[Index] | None,
    n_restarts: int,
    seed: int,
) -> list[PathPoint]:
    """Search for the best support of every size from 1, or that of ``include``, to ``k_max``.

    The parameters are those of :func:`search_logistic` and of
    :func:`rowsparse.solvers.subset.path.solve_path`. Objectives never increase.
    """
    problem = LogisticProblem.of(loss, ridge)
    local = _local_search(problem, Rules.of(problem, k_max, include, exclude, _TOL), groups)

    def alone(k: int) -> list[LocalOptimum]:
        own = _local_search(problem, Rules.of(problem, k, include, exclude, _TOL), groups)
        outcome = run_starts(
            own, n_restarts, seed=seed, n_jobs=None, deadline=NO_DEADLINE, monitor=silent
        )
        return [_settled(own, outcome, problem)[0]]

    points: list[PathPoint] = []
    for k, support in best_supports(local, k_max, alone).items():
        fit = problem.fit(loss.design.double_columns(support), tol=_FINAL_TOL)
        objective = fit.objective
        if points:  # one feature more cannot raise the objective but by rounding
            objective = min(objective, points[-1].objective)
        points.append(PathPoint(k, support, fit.W, fit.b, objective, loss.value(fit.P)))
    return points


def _falling(objectives: list[float]) -> Array:
    """The objectives without rises, which are rounding, and none below the last."""
    return np.maximum(np.minimum.accumulate(objectives), objectives[-1])


def _removal_costs(problem: LogisticProblem, X_S: Array, fit: NewtonFit) -> Array:
    """How much the objective rises without each feature of a support."""
    costs = np.empty(X_S.shape[1])
    for i in range(costs.size):
        start = np.delete(fit.W, i, axis=0), fit.b
        without = problem.fit(np.delete(X_S, i, axis=1), start=start, tol=FIT_TOL)
        costs[i] = max(without.objective - fit.objective, 0.0)
    return costs


def _addition_gains(problem: LogisticProblem, support: Index, fit: NewtonFit) -> Array:
    """What adding each feature gains in the second-order model; 0 on the support."""
    columns = AllColumns(problem.design)
    gains = np.zeros(columns.size)
    for models in target_models(problem.loss, problem.ridge, columns, support, fit):
        gains += models.addition_gains()
    gains[support] = 0.0
    return gains


def with_logistic_support(
    result: SearchResult, loss: LogisticLoss, support: Index, *, ridge: float
) -> SearchResult:
    """The result with another support in the place of the one that was found."""
    problem = LogisticProblem.of(loss, ridge)
    X_S = loss.design.double_columns(support)
    fit = problem.fit(X_S, tol=_FINAL_TOL)
    return replace(
        result,
        support=support,
        objective=fit.objective,
        V=fit.W,
        b=fit.b,
        costs=_removal_costs(problem, X_S, fit),
        gains=_addition_gains(problem, support, fit),
        history=_falling([*result.history, fit.objective]),
    )
