"""Growth, removals and exchanges of features or groups for losses with a curvature.

Second-order models propose changes of the support; the best few are fitted, and a change is made
if it lowers the objective itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.design import machine_eps
from rowsparse.solvers.losses.newton import Curvature, NewtonFit, NewtonLoss
from rowsparse.solvers.problem import Fit, Problem
from rowsparse.solvers.search.groups import GroupBlocks
from rowsparse.solvers.search.local import States, SupportState
from rowsparse.solvers.search.residuals import Effort
from rowsparse.solvers.search.second_order import (
    NOTHING_LEFT,
    AllColumns,
    ColumnPool,
    NewtonModel,
    TargetModels,
    summed_exchange_gains,
    target_models,
)

# An exchange must gain more than this share of the objective without features, and than this
# number of its rounding errors.
_TOL, _ROUNDING = 1e-10, 16
# Numbers in the columns of supports that are fitted together.
_FITTED_ENTRIES = 1 << 18
# Additions and exchanges that are fitted in each step.
_ADDITIONS, _EXCHANGES = 2, 4
# Before a support counts as optimal, all exchanges of positive gain are fitted; of the others the
# best of this number in all, if the gain of what comes in is no less than this share of the cost of
# what leaves.
_CONFIRMED, _CLOSE = 64, 0.75
# Decrease at which fits stop, as a share of the objective without features: while searching, where
# a support is confirmed, and in the end. The last step, which is made all the same, squares it.
_ROUGH_TOL, _FIT_TOL, _FINAL_TOL = 1e-4, 1e-6, 1e-11
# If scoring one support on all columns takes no more multiplications than this, the pool has
# all columns; else it begins with as many as take that many, but at least some for each of the k.
_STEP_PRODUCTS, _PER_FEATURE, _LEAST_COLUMNS = 1 << 18, 2, 128
# Columns that a look at the whole design adds to a pool: while growing, and for exchanges.
_GROWTH_COLUMNS, _EXCHANGE_COLUMNS = 8, 64
# A support grows by one feature at a time, or by this part of itself; beyond the size that is asked
# for, by the second part.
_BLOCK_SHARE, _SURPLUS_SHARE = 8, 2


class NewtonStates(States):
    """Supports of a loss with a curvature, of columns or of groups."""

    exact: ClassVar[bool] = False

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.loss, NewtonLoss)
        super().__init__(problem, problem.loss.at_zero)
        self.loss, self.ridge = problem.loss, problem.ridge
        self.min_gain = max(_TOL, _ROUNDING * machine_eps(self.design)) * self.total

    def with_size(self, k: int) -> Self:
        return type(self)(replace(self._problem, choices=self.choices.with_k(k)))

    def fitted(
        self,
        Z: Array,
        *,
        start: tuple[Array, Array] | None = None,
        limit: float = np.inf,
        tol: float = _ROUGH_TOL,
    ) -> NewtonFit:
        """The fit on columns Z, given up if its objective cannot be below a limit."""
        return self.loss.fit(Z, ridge=self.ridge, tol=tol, start=start, limit=limit)

    def models(self, support: Index, W: Array, P: Array) -> Iterator[TargetModels]:
        """Second-order models at a fit, on all columns."""
        return target_models(self.loss, self.ridge, AllColumns(self.design), support, W, P)

    def is_done(self, objective: float, deadline: Deadline) -> bool:
        """Whether time is up or the fit perfect, where the model has no curvature left."""
        return self.loss.is_perfect(objective) or deadline.expired()

    def fit(self, support: Index) -> Fit:
        fit = self.fitted(self.design.double_columns(support), tol=_FINAL_TOL)
        return Fit(support, fit.W, fit.b, fit.objective, fit.P)

    def changes(self, fit: Fit, known: SupportState | None = None) -> tuple[Array, Array]:
        """The costs by refits, the gains in the second-order model at the fit."""
        assert fit.P is not None
        X_S = self.design.double_columns(fit.support)
        k, c = fit.W.shape
        gains = np.zeros(self.design.shape[1])
        # W and b without each column, as the model has them.
        W, b, begin = np.empty((k, max(k - 1, 0), c)), np.empty((k, c)), 0
        for models in self.models(fit.support, fit.W, fit.P):
            gains += models.addition_gains()
            part = slice(begin, begin + len(models.M))
            for j in range(k):
                W[j, :, part], b[j, part] = models.start(j, None, fit.b[part])
            begin = part.stop
        gains[fit.support] = 0.0
        costs, size = np.empty(k), max(1, _FITTED_ENTRIES // max(1, X_S.size * c))
        for i in range(0, k, size):
            out = np.arange(i, min(i + size, k))
            kept = np.array([np.delete(np.arange(k), j) for j in out])
            Z, start = X_S.T[kept].swapaxes(1, 2), (W[out], b[out])
            without, _ = self.loss.fit_many(Z, ridge=self.ridge, start=start)
            costs[out] = np.maximum(without - fit.objective, 0.0)
        return costs, gains


# ------------------------------------------------------------------------------- single features
class NewtonColumns(NewtonStates):
    """Supports of a loss with a curvature, made of single features.

    They look at the columns of a pool, which the first start widens by those that promise most.
    """

    @cached_property
    def _gains_alone(self) -> Array:
        return self.growth_estimates(self.fitted(np.empty((self.design.shape[0], 0))))

    @cached_property
    def _norms(self) -> Array:
        """Squared column norms, with the weights of the samples."""
        return self.design.weighted_squares(self.loss.omega[:, None])[0]

    @cached_property
    def pool(self) -> ColumnPool:
        """The columns that states look at."""
        (n, d), c = self.design.shape, max(self.loss.Y.shape[1], 1)
        k = max(self.choices.k, 1)
        size = max(_STEP_PRODUCTS // (n * k * c), _PER_FEATURE * k, _LEAST_COLUMNS)
        if size >= d:
            return ColumnPool(self.design, np.arange(d))
        gains = np.where(self.allowed, self._gains_alone, -np.inf)
        return ColumnPool(self.design, np.argsort(-gains, kind="stable")[:size])

    def start(self, units: Sequence[int], size: int, *, widen: bool = False) -> NewtonState:
        features = np.append(self.choices.fixed, np.array(units, dtype=np.intp))
        return NewtonState(self, features, widen)

    def known(self, features: Index) -> tuple[Array, Array] | None:
        """W and b of some features where the first start ended."""
        if not isinstance(self.first, NewtonState):
            return None
        fit = self.first.fit
        W = np.zeros((self.design.shape[1], fit.b.size))
        W[self.first.features] = fit.W
        return W[features], fit.b

    def gains_alone(self) -> Array:
        return self._gains_alone

    def growth_estimates(self, fit: NewtonFit) -> Array:
        """About what adding each feature gains: its own inner product is taken from its norm."""
        R = self.design.rmatmul(-self.loss.gradient(fit.P))
        share = self.loss.curvature(fit.P).sum(axis=0) / self.loss.omega.sum()
        own = self._norms[:, None] * share + self.ridge
        return np.asarray(np.sum(R**2 / np.where(own > 0, own, np.inf), axis=1) / 2.0)

    def best_exchanges(self, support: Index, fit: NewtonFit) -> Array:
        """The largest gain of each feature of the design in the place of a selected one."""
        models = self.models(support, fit.W, fit.P)
        gains = summed_exchange_gains(models, support, self.design.shape[1])
        return np.asarray(gains.max(axis=0, initial=-np.inf))


class NewtonState(SupportState):
    """A support of single features with its fit.

    Attributes
    ----------
    features : array of int
        The support; the first ``n_fixed`` features stay.
    fit : NewtonFit
        The fit on it.
    pool : ColumnPool
        The columns from which features are taken.
    """

    def __init__(self, states: NewtonColumns, features: Index, widens: bool = False) -> None:
        self._states, self._widens = states, widens
        self.n_fixed = states.choices.fixed.size
        self.pool = states.pool
        self._extend(features)
        self.features = features
        X_S = self.pool.take(self.pool.places(features))
        self.fit = states.fitted(X_S, start=states.known(features))
        self._last_model: NewtonModel | None = None

    def _extend(self, features: Index) -> None:
        self.pool = self.pool.extended(features)
        if self._widens:
            self._states.pool = self.pool

    @property
    def units(self) -> list[int]:
        units: list[int] = self.features.tolist()
        return units

    @property
    def objective(self) -> float:
        return self.fit.objective

    def _model(self) -> NewtonModel:
        """The second-order model at the fit, on the columns of the pool."""
        known = self._last_model
        if known is None or known.fit is not self.fit or known.columns is not self.pool:
            places, states = self.pool.places(self.features), self._states
            known = NewtonModel(states.loss, states.ridge, self.pool, places, self.fit)
            self._last_model = known
        return known

    # --------------------------------------------------------------------------- the pool
    @property
    def _is_complete(self) -> bool:
        """Whether the pool has every feature that may enter."""
        return self.pool.size >= self._states.allowed.size

    def widen(self) -> bool:
        """Add columns to the pool that promise most in an exchange; False if none promises."""
        if self._is_complete or not self.size:
            return False
        # An exchange of a fixed feature may count here: it only widens the pool.
        gains = self._states.best_exchanges(self.features, self.fit)
        return self._widen(gains, _EXCHANGE_COLUMNS, least=0.0)

    def _widen(self, gains: Array, most: int, least: float = -np.inf) -> bool:
        gains = np.where(self._states.allowed, gains, -np.inf)
        gains[self.pool.features] = -np.inf
        best = _best(gains, most, least)
        self._extend(best)
        return best.size > 0

    # ------------------------------------------------------------------------------ growth
    def grow(self, allowed: Mask, room: int = 1) -> bool:
        """Add the best feature, or a block of them to many; False if none gains."""
        states = self._states
        # A few more features change the model of many but little.
        share = _BLOCK_SHARE if self.size < states.choices.n_free else _SURPLUS_SHARE
        block = max(1, self.features.size // share)
        if self._widens and not self._is_complete:
            self._widen(states.growth_estimates(self.fit), _GROWTH_COLUMNS * block)
        if min(block, room) > 1:
            model, self._last_model = self._model(), None
            added = model.additions(min(block, room), allowed[self.pool.features])
            W = np.vstack([self.fit.W, np.zeros((added.size, self.fit.b.size))])
            places = np.append(model.support, added)
            limit = self.objective - states.min_gain
            fit = states.fitted(self.pool.take(places), start=(W, self.fit.b), limit=limit)
            if fit.objective < limit:
                self.features, self.fit = self.pool.features[places], fit
                return True
        return self._add(allowed)

    def _add(self, allowed: Mask) -> bool:
        """Add one of the best features; False if none of them gains."""
        model = self._model()
        gains = model.addition_gains()
        gains[~allowed[self.pool.features]] = -np.inf
        trials = _best(gains, _ADDITIONS, 0.0)
        pairs: list[tuple[int | None, int]] = [(None, int(p)) for p in trials]
        return self._take_best(model, pairs, gains[trials])

    def shrink(self, most: int = 1) -> None:
        """Remove the ``most`` features, no fixed ones, that cost least in the model."""
        model, self._last_model = self._model(), None
        places, W, b = model.removals(most, self.n_fixed)
        self.fit = self._states.fitted(self.pool.take(places), start=(W, b))
        self.features = self.pool.features[places]

    # --------------------------------------------------------------------------- exchanges
    def descend(
        self, allowed: Mask, *, effort: Effort = "best", deadline: Deadline = NO_DEADLINE
    ) -> None:
        """Exchange features while one of the best few exchanges gains."""
        while not self._states.is_done(self.objective, deadline):
            model = self._model()
            gains = self._exchange_gains(model, allowed).ravel()
            trials = _best(gains, _EXCHANGES, 0.0)
            if not self._take_best(model, self._pairs(trials), gains[trials]):
                return

    def confirm(self, allowed: Mask, deadline: Deadline = NO_DEADLINE) -> bool:
        """Make one exchange that gains, of all that may; False if there is none."""
        X_S = self.pool.take(self.pool.places(self.features))
        self.fit = self._states.fitted(X_S, start=(self.fit.W, self.fit.b), tol=_FIT_TOL)
        while not self._states.is_done(self.objective, deadline):
            model = self._model()
            gains = self._exchange_gains(model, allowed)
            gains[gains < (_CLOSE - 1.0) * model.removal_costs()[:, None]] = -np.inf
            gains = gains.ravel()
            positive = int(np.count_nonzero(gains > 0))
            for pair in self._pairs(_best(gains, max(positive, _CONFIRMED), -np.inf)):
                if self._take_best(model, [pair], tol=_FIT_TOL):
                    return True
                if deadline.expired():
                    return False
            if not self.widen():
                return False
        return False

    def _exchange_gains(self, model: NewtonModel, allowed: Mask) -> Array:
        gains = model.exchange_gains()
        gains[: self.n_fixed] = -np.inf
        gains[:, ~allowed[self.pool.features]] = -np.inf
        return gains

    def _pairs(self, places: Index) -> list[tuple[int | None, int]]:
        return [divmod(int(at), self.pool.size) for at in places]

    def _take_best(
        self,
        model: NewtonModel,
        trials: list[tuple[int | None, int]],
        promised: Array | None = None,
        tol: float = _ROUGH_TOL,
    ) -> bool:
        """Make the best of some changes if it gains.

        With what they have ``promised``, the largest first, trials end at one that promises less
        than the best before it has gained.
        """
        limit, best = self.objective - self._states.min_gain, None
        for i, (out, into) in enumerate(trials):
            gained = self.objective - limit
            if best is not None and promised is not None and gained >= promised[i]:
                break
            features, fit = self._fitted(model, out, into, limit, tol)
            if fit.objective < limit:
                limit, best = fit.objective, (features, fit)
        if best is not None:
            self.features, self.fit = best
        return best is not None

    def _fitted(
        self,
        model: NewtonModel,
        out: int | None,
        into: int | None,
        limit: float,
        tol: float = _ROUGH_TOL,
    ) -> tuple[Index, NewtonFit]:
        places, W, b = model.start(out, into)
        fit = self._states.fitted(self.pool.take(places), start=(W, b), limit=limit, tol=tol)
        return self.pool.features[places], fit


def _best(gains: Array, most: int, least: float) -> Index:
    """The places of the largest gains above ``least``, the best first; ties to low places."""
    if gains.size > 4 * most:
        cut = np.partition(gains, gains.size - most)[gains.size - most]
        places = np.flatnonzero(gains >= cut)
    else:
        places = np.arange(gains.size)
    places = places[np.isfinite(gains[places]) & (gains[places] > least)]
    return places[np.argsort(-gains[places], kind="stable")][:most]


# -------------------------------------------------------------------------------- whole groups
class _Columns(NamedTuple):
    """The groups of one size, their features, and these as (group, place, sample).

    Single features have no such array: their inner products are in the models.
    """

    groups: Index
    features: Index
    Z: Array


class _TargetState(NamedTuple):
    """The second-order model of one column of the targets, for the gains of groups."""

    A_S: Array
    T: Array
    R: Array


class NewtonGroups(NewtonStates):
    """Supports of a loss with a curvature, made of whole groups of features.

    Adding the group g takes about sum_c R_g' S_g^+ R_g / 2 off the objective, with R and S of the
    second-order model of each column c of the targets.
    """

    @cached_property
    def _grouped(self) -> list[_Columns]:
        groups = self.choices.groups or ()
        n, sizes = self.design.shape[0], np.array([group.size for group in groups])
        found = []
        for size in np.unique(sizes).tolist():
            which = np.flatnonzero(sizes == size)
            features = np.array([groups[g] for g in which.tolist()])
            Z = np.empty((0, size, n))
            if size > 1:
                Z = self.design.double_columns(features.ravel()).T.reshape(-1, size, n)
            found.append(_Columns(which, features, Z))
        return found

    def start(self, units: Sequence[int], size: int, *, widen: bool = False) -> NewtonGroupState:
        return NewtonGroupState(self, [*self.choices.fixed.tolist(), *units])

    def gains_alone(self) -> Array:
        return self.gains(NewtonGroupState(self, []))

    def gains(self, state: NewtonGroupState) -> Array:
        """Second-order gains of adding each group."""
        fit, support = state.fit, self.choices.columns(state.units)
        gains = np.zeros(self.choices.n_units)
        for models in self.models(support, fit.W, fit.P):
            for i in range(len(models.M)):
                target = _TargetState(models.C[i], models.T[i], models.R[i][:, None])
                own = models.curvature.for_targets(slice(i, i + 1))
                blocks = self._blocks(models.mean[i], models.diagonal[i], own)
                gains += 0.5 * blocks.gains(target)
        return gains

    def _blocks(self, mean: Array, diagonal: Array, curvature: Curvature) -> GroupBlocks:
        """The weighted inner products within the groups."""
        parts, total = [], float(curvature.h.sum())
        for which, features, Z in self._grouped:
            if features.shape[1] == 1:
                parts.append((which, features, diagonal[features][..., None]))
                continue
            A_gg = curvature.products(Z.swapaxes(1, 2))[:, 0]
            m = mean[features]
            A_gg -= total * m[:, :, None] * m[:, None, :]
            size = features.shape[1]
            A_gg[:, np.arange(size), np.arange(size)] += self.ridge
            parts.append((which, features, A_gg))
        return GroupBlocks(NOTHING_LEFT, self.choices.n_units, parts)


class NewtonGroupState(SupportState):
    """Some groups and the fit on their features.

    An exchange is a removal, refitted, and then an addition.
    """

    def __init__(
        self,
        states: NewtonGroups,
        groups: Sequence[int],
        start: tuple[Array, Array] | None = None,
        limit: float = np.inf,
    ) -> None:
        self._states, self.n_fixed = states, states.choices.fixed.size
        self._groups = list(groups)
        Z = states.design.double_columns(states.choices.columns(groups))
        self.fit = states.fitted(Z, start=start, limit=limit, tol=_FIT_TOL)

    @property
    def units(self) -> list[int]:
        return self._groups

    @property
    def objective(self) -> float:
        return self.fit.objective

    def grow(self, allowed: Mask, room: int = 1) -> bool:
        """Add one of the best groups; False if none of them gains."""
        gains = self._gains(allowed)
        best = np.argsort(-gains, kind="stable")[:_ADDITIONS]
        return self._take_best([(self, g) for g in best.tolist() if gains[g] > 0])

    def shrink(self, most: int = 1) -> None:
        """Remove the group, not a fixed one, that costs least."""
        self._become(min(self._smaller(), key=lambda one: one.objective))

    def descend(
        self, allowed: Mask, *, effort: Effort = "best", deadline: Deadline = NO_DEADLINE
    ) -> None:
        """Exchange groups while one of the best few exchanges gains."""
        while not self._states.is_done(self.objective, deadline):
            if not self._take_best(self._exchanges(allowed, _EXCHANGES, 0.0)):
                return

    def confirm(self, allowed: Mask, deadline: Deadline = NO_DEADLINE) -> bool:
        """Make one exchange that gains, of all that may; False if there is none."""
        if self._states.is_done(self.objective, deadline):
            return False
        for trial in self._exchanges(allowed, _CONFIRMED, -np.inf):
            if deadline.expired():
                return False
            if self._take_best([trial]):
                return True
        return False

    def _exchanges(
        self, allowed: Mask, most: int, least: float
    ) -> list[tuple[NewtonGroupState, int]]:
        """The best exchanges that gain more than ``least``, as fewer groups and one to add.

        With a least gain of -inf there are ``most``, or all of positive gain if these are more.
        """
        fewer = self._smaller()
        if not fewer:
            return []
        gains = np.array([one._gains(allowed) - (one.objective - self.objective) for one in fewer])
        gains[:, self._groups] = -np.inf
        if least == -np.inf:
            most = max(most, int(np.count_nonzero(gains > 0)))
        best = np.argsort(-gains, axis=None, kind="stable")[:most]
        pairs = [divmod(at, gains.shape[1]) for at in best[gains.ravel()[best] > least].tolist()]
        return [(fewer[i], g) for i, g in pairs]

    def _take_best(self, trials: list[tuple[NewtonGroupState, int]]) -> bool:
        """Make the best of some additions to states if it gains."""
        limit, best = self.objective - self._states.min_gain, None
        for state, g in trials:
            trial = state._with(g, limit)
            if trial.objective < limit:
                limit, best = trial.objective, trial
        if best is not None:
            self._become(best)
        return best is not None

    def _become(self, other: NewtonGroupState) -> None:
        self._groups, self.fit = other._groups, other.fit

    def _gains(self, allowed: Mask) -> Array:
        """About what adding each group gains; -inf for those that may not be added."""
        gains = self._states.gains(self)
        gains[~allowed] = -np.inf
        gains[self._groups] = -np.inf
        return gains

    def _with(self, g: int, limit: float) -> NewtonGroupState:
        new = np.zeros((self._states.choices.columns([g]).size, self.fit.W.shape[1]))
        start = np.vstack([self.fit.W, new]), self.fit.b
        return NewtonGroupState(self._states, [*self._groups, g], start, limit)

    def _smaller(self) -> list[NewtonGroupState]:
        """The states with one group removed, for each group that is not fixed."""
        bounds = self._states.choices.bounds(self._groups)
        fewer = []
        for i in range(self.n_fixed, len(self._groups)):
            W = np.delete(self.fit.W, np.s_[bounds[i] : bounds[i + 1]], axis=0)
            groups = [*self._groups[:i], *self._groups[i + 1 :]]
            fewer.append(NewtonGroupState(self._states, groups, (W, self.fit.b)))
        return fewer
