"""Local search over whole groups of features for the logistic loss.

Adding the group g takes about sum_c R_g' S_g^+ R_g / 2 off the objective, with R and S of the
second-order model of each column c of the targets. An exchange is a removal, refitted, and then an
addition. The best few are fitted, and a change is made if it lowers the objective itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.solvers.losses.logistic import NewtonFit
from rowsparse.solvers.subset.groups import GroupBlocks, GroupRules
from rowsparse.solvers.subset.local_search import LocalOptimum
from rowsparse.solvers.subset.logistic_descent import (
    ADDITIONS,
    CONFIRMED,
    EXCHANGES,
    FIT_TOL,
    LogisticProblem,
)
from rowsparse.solvers.subset.newton import NOTHING_LEFT, AllColumns, target_models
from rowsparse.solvers.subset.rules import Rules


@dataclass(frozen=True)
class _Choice:
    """Some groups, those that must be selected first, and the fit on their features."""

    groups: tuple[int, ...]
    fit: NewtonFit

    @property
    def objective(self) -> float:
        return self.fit.objective


@dataclass(frozen=True)
class _TargetState:
    """The second-order model of one column of the targets, for the gains of groups."""

    A_S: Array
    T: Array
    R: Array


class LogisticGroupSearch:
    """A :class:`~rowsparse.solvers.subset.local_search.LocalSearch` over whole groups.

    Features to include and to exclude stand for their groups.
    """

    def __init__(self, problem: LogisticProblem, rules: Rules, groups: Sequence[Index]) -> None:
        self._problem, self._rules = problem, rules
        self._groups = GroupRules.of(rules, groups)
        self._columns = _grouped_columns(problem, self._groups.groups)
        self.n_fixed = len(self._groups.fixed)
        self.size = rules.k - self.n_fixed
        self.units = np.flatnonzero(self._groups.allowed)
        self.total = problem.total
        self._start = self._fitted(self._groups.fixed)

    def run(self, kept: Sequence[int], removed: Sequence[int], exchange_every: int) -> LocalOptimum:
        return self._optimum(self._grown(kept, removed, self.size, exchange_every)).in_order()

    def run_beam(self) -> LocalOptimum:
        """Growth with exchanges at every size, which replaces a beam."""
        return self.run((), (), 1)

    def confirmed(self, optimum: LocalOptimum) -> tuple[LocalOptimum, bool]:
        """A selection improved until no exchange gains, and whether time sufficed for that."""
        choice = self._fitted((*self._groups.fixed, *optimum.units))
        better: _Choice | None = choice
        while better is not None:
            choice = self._exchanged(better)
            better = self._confirm(choice)
        return self._optimum(choice).in_order(), not self._rules.deadline.expired()

    def greedy_path(self) -> Iterator[LocalOptimum]:
        choice: _Choice | None = self._start
        while choice is not None:
            yield self._optimum(self._exchanged(choice))
            full = len(choice.groups) >= self.n_fixed + self.size
            choice = None if full else self._added(choice, ())

    def regrow(self, kept: Sequence[int], removed: Sequence[int], size: int) -> LocalOptimum | None:
        choice = self._grown(kept, removed, size, 0)
        return self._optimum(choice) if len(choice.groups) == self.n_fixed + size else None

    def shrink(self, units: Sequence[int]) -> LocalOptimum:
        choice = self._fitted((*self._groups.fixed, *units))
        fewer = [self._without(choice, i) for i in range(self.n_fixed, len(choice.groups))]
        return self._optimum(self._exchanged(min(fewer, key=lambda one: one.objective)))

    def support(self, units: Sequence[int], k: int) -> Index:
        chosen = [*self._groups.fixed, *units]
        strength = self._gains(self._fitted(()))
        strength[chosen] = -np.inf
        others = np.argsort(-strength, kind="stable")[: k - len(chosen)].tolist()
        return np.sort(self._groups.features([*chosen, *others]))

    # ------------------------------------------------------------------------------ changes
    def _optimum(self, choice: _Choice) -> LocalOptimum:
        return LocalOptimum(choice.objective, choice.groups[self.n_fixed :])

    def _grown(
        self, kept: Sequence[int], removed: Sequence[int], size: int, exchange_every: int
    ) -> _Choice:
        """``kept`` grown to a size, or as far as groups gain, and then exchanged."""
        choice, full = self._fitted((*self._groups.fixed, *kept)), self.n_fixed + size
        while len(choice.groups) < full:
            larger = self._added(choice, removed)
            if larger is None and not removed:
                break
            choice, removed = larger or choice, ()
            reached = len(choice.groups)
            if exchange_every and reached % exchange_every == 0 and reached < full:
                choice = self._exchanged(choice)
        return self._exchanged(choice)

    def _added(self, choice: _Choice, barred: Sequence[int]) -> _Choice | None:
        """One group more, none of ``barred``; None if none of the best gains."""
        gains = self._gains(choice)
        gains[list(barred)] = -np.inf
        best = np.argsort(-gains, kind="stable")[:ADDITIONS]
        trials = [(choice, g) for g in best.tolist() if gains[g] > 0]
        return self._best(trials, choice.objective)

    def _exchanged(self, choice: _Choice) -> _Choice:
        """Exchanges of one group for another while one of the best few gains."""
        better: _Choice | None = choice
        while better is not None:
            choice = better
            better = self._best(self._exchanges(choice, EXCHANGES, 0.0), choice.objective)
        return choice

    def _confirm(self, choice: _Choice) -> _Choice | None:
        """One exchange that gains, of all that may; None if there is none."""
        for trial in self._exchanges(choice, CONFIRMED, -np.inf):
            if self._rules.deadline.expired():
                return None
            better = self._best([trial], choice.objective)
            if better is not None:
                return better
        return None

    def _exchanges(self, choice: _Choice, most: int, least: float) -> list[tuple[_Choice, int]]:
        """The best exchanges that gain more than ``least``, as a smaller choice and a group.

        With a least gain of -inf there are ``most``, or all of positive gain if these are more.
        """
        places = range(self.n_fixed, len(choice.groups))
        if not places or self._is_done(choice):
            return []
        fewer = [self._without(choice, i) for i in places]
        gains = np.array([self._gains(one) - (one.objective - choice.objective) for one in fewer])
        gains[:, list(choice.groups)] = -np.inf
        if least == -np.inf:
            most = max(most, int(np.count_nonzero(gains > 0)))
        best = np.argsort(-gains, axis=None, kind="stable")[:most]
        pairs = [divmod(at, gains.shape[1]) for at in best[gains.ravel()[best] > least].tolist()]
        return [(fewer[i], g) for i, g in pairs]

    def _best(self, trials: list[tuple[_Choice, int]], objective: float) -> _Choice | None:
        """The best of some additions if it is below an objective."""
        limit, best = objective - self._rules.min_gain, None
        for choice, g in trials:
            trial = self._with(choice, g, limit)
            if trial.objective < limit:
                limit, best = trial.objective, trial
        return best

    def _is_done(self, choice: _Choice) -> bool:
        """Whether time is up or the fit perfect, where the model has no curvature left."""
        perfect = self._problem.loss.is_perfect(choice.objective)
        return perfect or self._rules.deadline.expired()

    # --------------------------------------------------------------------------------- fits
    def _fitted(
        self,
        groups: tuple[int, ...],
        start: tuple[Array, Array] | None = None,
        limit: float = np.inf,
    ) -> _Choice:
        Z = self._problem.design.double_columns(self._groups.features(groups))
        return _Choice(tuple(groups), self._problem.fit(Z, start=start, limit=limit, tol=FIT_TOL))

    def _with(self, choice: _Choice, g: int, limit: float) -> _Choice:
        fit = choice.fit
        new = np.zeros((self._groups.groups[g].size, fit.W.shape[1]))
        return self._fitted((*choice.groups, g), (np.vstack([fit.W, new]), fit.b), limit)

    def _without(self, choice: _Choice, i: int) -> _Choice:
        begin, end = self._groups.starts(choice.groups)[i : i + 2]
        W = np.delete(choice.fit.W, np.s_[begin:end], axis=0)
        return self._fitted((*choice.groups[:i], *choice.groups[i + 1 :]), (W, choice.fit.b))

    def _gains(self, choice: _Choice) -> Array:
        """About what adding each group gains; -inf for those that may not be added."""
        problem, support = self._problem, self._groups.features(choice.groups)
        columns = AllColumns(problem.design)
        curvature = iter(problem.loss.curvature(choice.fit.P).T)
        gains = np.zeros(len(self._groups.groups))
        for models in target_models(problem.loss, problem.ridge, columns, support, choice.fit):
            for i, h in zip(range(len(models.M)), curvature, strict=False):
                state = _TargetState(models.C[i], models.T[i], models.R[i][:, None])
                blocks = self._blocks(models.mean[i], models.diagonal[i], h)
                gains += 0.5 * blocks.gains(state)
        gains[~self._groups.allowed] = -np.inf
        gains[list(choice.groups)] = -np.inf
        return gains

    def _blocks(self, mean: Array, diagonal: Array, h: Array) -> GroupBlocks:
        """The weighted inner products within the groups."""
        parts, total = [], float(h.sum())
        for which, features, Z in self._columns:
            if features.shape[1] == 1:
                parts.append((which, features, diagonal[features][..., None]))
                continue
            A_gg = np.matmul(Z * h, Z.swapaxes(1, 2))
            m = mean[features]
            A_gg -= total * m[:, :, None] * m[:, None, :]
            size = features.shape[1]
            A_gg[:, np.arange(size), np.arange(size)] += self._problem.ridge
            parts.append((which, features, A_gg))
        return GroupBlocks(NOTHING_LEFT, len(self._groups.groups), parts)


def _grouped_columns(
    problem: LogisticProblem, groups: list[Index]
) -> list[tuple[Index, Index, Array]]:
    """For each size of group: the groups, their features, and these as (group, place, sample).

    Single features have no such columns: their inner products are in the models.
    """
    n, sizes = problem.design.shape[0], np.array([group.size for group in groups])
    found = []
    for size in np.unique(sizes).tolist():
        which = np.flatnonzero(sizes == size)
        features = np.array([groups[g] for g in which.tolist()])
        Z = np.empty((0, size, n))
        if size > 1:
            Z = problem.design.double_columns(features.ravel()).T.reshape(-1, size, n)
        found.append((which, features, Z))
    return found
