"""Growth, removals and exchanges of features for the logistic loss.

Second-order models propose changes of the support; the best few are fitted, and a change is made
if it lowers the objective itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import Design
from rowsparse.solvers.losses.logistic import LogisticLoss, NewtonFit
from rowsparse.solvers.subset.gram import machine_eps
from rowsparse.solvers.subset.newton import (
    AllColumns,
    ColumnPool,
    NewtonModel,
    summed_exchange_gains,
    target_models,
)
from rowsparse.solvers.subset.rules import Rules

# Additions and exchanges that are fitted in each step.
ADDITIONS, EXCHANGES = 2, 4
# Before a support counts as optimal, all exchanges of positive gain are fitted, and at least so
# many of the best.
CONFIRMED = 64
# Decrease at which fits stop, as a share of the objective without features, while searching and
# where a support is confirmed. The last step, which is made all the same, squares it.
_ROUGH_TOL, FIT_TOL = 1e-4, 1e-6
# Columns that a look at the whole design adds to a pool: while growing, and for exchanges.
_GROWTH_COLUMNS, _EXCHANGE_COLUMNS = 8, 64
# A support grows by one feature at a time, or by this part of itself.
_BLOCK_SHARE = 8


@dataclass(frozen=True)
class LogisticProblem:
    """The logistic loss with a ridge, shared by all supports; build it with :meth:`of`.

    Attributes
    ----------
    loss : LogisticLoss
        No column of its labels is constant.
    ridge : float
        Weight of ||W||_F^2 / 2.
    eps : float
        The relative rounding error of the data.
    total : float
        The objective of selecting nothing.
    norms : array of shape (d,)
        Squared column norms, with the weights of the samples.
    """

    loss: LogisticLoss
    ridge: float
    eps: float
    total: float
    norms: Array

    @classmethod
    def of(cls, loss: LogisticLoss, ridge: float) -> LogisticProblem:
        norms = AllColumns(loss.design).squares(loss.omega[:, None])[0]
        return cls(loss, ridge, machine_eps(loss.design), loss.at_zero, norms)

    @property
    def design(self) -> Design:
        """X."""
        return self.loss.design

    def fit(
        self,
        Z: Array,
        *,
        start: tuple[Array, Array] | None = None,
        limit: float = np.inf,
        tol: float = _ROUGH_TOL,
    ) -> NewtonFit:
        """The fit on columns Z, given up if its objective cannot be below a limit."""
        return self.loss.fit(Z, ridge=self.ridge, tol=tol, start=start, limit=limit)

    def growth_estimates(self, fit: NewtonFit) -> Array:
        """About what adding each feature gains: its own inner product is taken from ``norms``."""
        R = self.design.rmatmul(-self.loss.gradient(fit.P))
        share = self.loss.curvature(fit.P).sum(axis=0) / self.loss.omega.sum()
        own = self.norms[:, None] * share + self.ridge
        return np.asarray(np.sum(R**2 / np.where(own > 0, own, np.inf), axis=1) / 2.0)

    def best_exchanges(self, support: Index, fit: NewtonFit) -> Array:
        """What each feature of the design gains in the place of that for which it is best."""
        targets = target_models(self.loss, self.ridge, AllColumns(self.design), support, fit)
        gains = summed_exchange_gains(targets, support, self.design.shape[1])
        return np.asarray(gains.max(axis=0, initial=-np.inf))


class LogisticDescent:
    """A support with its fit, changed step by step.

    Attributes
    ----------
    features : array of int
        The support; the first ``n_fixed`` features stay.
    fit : NewtonFit
        The fit on it.
    pool : ColumnPool
        The columns from which features are taken.
    """

    def __init__(
        self,
        problem: LogisticProblem,
        rules: Rules,
        pool: ColumnPool,
        features: Index,
        n_fixed: int,
    ) -> None:
        self._problem, self._rules, self._n_fixed = problem, rules, n_fixed
        self.pool = pool.extended(features)
        self.features = features
        self.fit = problem.fit(self.pool.take(self.pool.places(features)))

    @property
    def objective(self) -> float:
        return self.fit.objective

    @property
    def complete(self) -> bool:
        """Whether the pool has every feature that may enter."""
        return self.pool.size >= self._rules.allowed.size

    def model(self) -> NewtonModel:
        """The second-order model at the fit, on the columns of the pool."""
        places = self.pool.places(self.features)
        return NewtonModel(self._problem.loss, self._problem.ridge, self.pool, places, self.fit)

    def widen_for_growth(self) -> None:
        """Add columns to the pool that promise most as further features."""
        if not self.complete:
            self._widen(self._problem.growth_estimates(self.fit), _GROWTH_COLUMNS * self.block)

    def widen_for_exchange(self) -> bool:
        """Add columns to the pool that promise most in an exchange; False if none promises."""
        if self.complete or self.features.size == self._n_fixed:
            return False
        # An exchange of a fixed feature may count here: it only widens the pool.
        return self._widen(
            self._problem.best_exchanges(self.features, self.fit), _EXCHANGE_COLUMNS, least=0.0
        )

    def _widen(self, gains: Array, most: int, least: float = -np.inf) -> bool:
        gains = np.where(self._rules.allowed, gains, -np.inf)
        gains[self.pool.features] = -np.inf
        best = np.argsort(-gains, kind="stable")[:most]
        best = best[gains[best] > least]
        self.pool = self.pool.extended(best)
        return best.size > 0

    def add(self, allowed: Mask) -> bool:
        """Add one of the best features; False if none of them gains."""
        model = self.model()
        gains = model.addition_gains()
        gains[~allowed[self.pool.features]] = -np.inf
        trials = _best(gains, ADDITIONS, 0.0)
        pairs: list[tuple[int | None, int]] = [(None, int(p)) for p in trials]
        return self._take_best(model, pairs, gains[trials])

    @property
    def block(self) -> int:
        """How many features may be added at a time: few change the model of many but little."""
        return max(1, self.features.size // _BLOCK_SHARE)

    def add_block(self, allowed: Mask, most: int) -> bool:
        """Add a block of features, no more than ``most``; False if none gains."""
        size = min(self.block, most)
        if size > 1:
            model = self.model()
            added = model.additions(size, allowed[self.pool.features])
            W = np.vstack([self.fit.W, np.zeros((added.size, self.fit.b.size))])
            places = np.append(model.support, added)
            limit = self.objective - self._rules.min_gain
            fit = self._problem.fit(self.pool.take(places), start=(W, self.fit.b), limit=limit)
            if fit.objective < limit:
                self.features, self.fit = self.pool.features[places], fit
                return True
        return self.add(allowed)

    def remove(self) -> None:
        """Remove the feature, not a fixed one, that costs least in the model."""
        model = self.model()
        out = self._n_fixed + int(np.argmin(model.removal_costs()[self._n_fixed :]))
        self.features, self.fit = self._fitted(model, out, None, np.inf)

    def exchange(self) -> None:
        """Exchange features while one of the best few exchanges gains."""
        while not self._is_done():
            model = self.model()
            gains = self._exchange_gains(model).ravel()
            trials = _best(gains, EXCHANGES, 0.0)
            if not self._take_best(model, self._pairs(trials), gains[trials]):
                return

    def confirm(self) -> bool:
        """Make one exchange that gains, of all that may; False if there is none."""
        X_S = self.pool.take(self.pool.places(self.features))
        self.fit = self._problem.fit(X_S, start=(self.fit.W, self.fit.b), tol=FIT_TOL)
        while not self._is_done():
            model = self.model()
            gains = self._exchange_gains(model).ravel()
            positive = int(np.count_nonzero(gains > 0))
            for pair in self._pairs(_best(gains, max(positive, CONFIRMED), -np.inf)):
                if self._take_best(model, [pair], tol=FIT_TOL):
                    return True
                if self._rules.deadline.expired():
                    return False
            if not self.widen_for_exchange():
                return False
        return False

    def _is_done(self) -> bool:
        """Whether time is up or the fit perfect, where the model has no curvature left."""
        perfect = self._problem.loss.is_perfect(self.fit.objective)
        return perfect or self._rules.deadline.expired()

    def _exchange_gains(self, model: NewtonModel) -> Array:
        gains = model.exchange_gains()
        gains[: self._n_fixed] = -np.inf
        gains[:, ~self._rules.allowed[self.pool.features]] = -np.inf
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
        limit, best = self.objective - self._rules.min_gain, None
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
        fit = self._problem.fit(self.pool.take(places), start=(W, b), limit=limit, tol=tol)
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
