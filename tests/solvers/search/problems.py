"""Small problems of four kinds, and what they are compared with."""

from itertools import combinations

import numpy as np
import pytest

from rowsparse._deadline import Deadline
from rowsparse.design import make_design
from rowsparse.solvers.choices import Choices
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.problem import Options, Problem
from rowsparse.solvers.search.gram import GramProblem
from rowsparse.solvers.search.local import LocalSearch
from rowsparse.solvers.search.search import path, search, states_of
from rowsparse.solvers.solution import silent

GROUPS = [np.array(group) for group in ([0, 5], [1], [2, 7, 11], [3, 4], [6], [8, 9], [10])]
# A loss, and whether the units are groups of columns.
KINDS = [(loss, grouped) for loss in ("squared", "logistic") for grouped in (False, True)]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=[f"{a}-{b}" for a, b in KINDS])


def data(seed, n=25, d=10, c=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.5 * rng.standard_normal((d, d)))
    Y = X[:, :4] @ rng.standard_normal((4, c)) + 2.0 * rng.standard_normal((n, c))
    return X - X.mean(0), Y - Y.mean(0)


def design_of(X):
    return make_design(X, center=True, scale=False)[0]


def problem_of(X, Y, ridge=0.0):
    return GramProblem.from_design(design_of(X), Y, ridge=ridge)


def logistic_loss(seed, n=30, d=10, c=1, fit_intercept=True, weighted=False):
    """Labels that depend on the first columns, and the loss on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    Y = (X[:, :4] @ rng.standard_normal((4, c)) + rng.standard_normal((n, c)) > 0.2).astype(float)
    Y[:2] = [[0.0], [1.0]]  # no constant column
    omega = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    return LogisticLoss(design_of(X), Y, omega, fit_intercept)


def posed(loss, k, *, ridge=0.0, include=(), exclude=(), groups=None):
    """The problem of choosing k units."""
    d = loss.design.shape[1]
    choices = Choices.from_columns(d, k, include=include, exclude=exclude, groups=groups)
    return Problem(loss, ridge, choices)


def squared(X, Y):
    return SquaredLoss(design_of(X), Y)


def small(kind, seed, k, *, n=25, c=2, ridge=0.5, **constraints):
    """A problem of one of the ``KINDS``: nine columns, or twelve in seven groups."""
    name, grouped = kind
    d, groups = (12, GROUPS) if grouped else (9, None)
    if name == "squared":
        loss = squared(*data(seed, n, d, c))
    else:
        loss = logistic_loss(seed, n, d, c, weighted=seed % 2 == 1)
    return posed(loss, k, ridge=ridge, groups=groups, **constraints)


def grow_to(state, size, allowed):
    """Whether a state reaches a size by growth."""
    while state.size < size:
        if not state.grow(allowed):
            return False
    return True


def local_of(problem, deadline=None):
    return LocalSearch(states_of(problem), deadline or Deadline(None))


# ----------------------------------------------------------------------------- what is compared
def objective_of(X, Y, S, ridge=0.0):
    S = list(S)
    X_S = np.vstack([X[:, S], np.sqrt(ridge) * np.eye(len(S))])
    target = np.vstack([Y, np.zeros((len(S), Y.shape[1]))])
    W = np.linalg.lstsq(X_S, target, rcond=1e-10)[0]
    return float(np.sum((target - X_S @ W) ** 2))


def value_of(problem, units):
    """The least objective on some units."""
    S = np.sort(problem.choices.columns(sorted(units)))
    if isinstance(problem.loss, SquaredLoss):
        X = problem.loss.design.double_columns(np.arange(problem.loss.design.shape[1]))
        return objective_of(X, problem.loss.Y, S, problem.ridge)
    return problem.loss.refit(S, penalty=problem.ridge, tol=1e-10).objective


def best_of(problem):
    """The least objective of all choices."""
    choices = problem.choices
    others = np.setdiff1d(np.arange(choices.n_units), [*choices.fixed, *choices.barred])
    sets = combinations(others.tolist(), choices.n_free)
    return min(value_of(problem, [*choices.fixed, *chosen]) for chosen in sets)


def best_exchange_of(problem, units):
    """The least objective after an exchange of one unit that is not fixed."""
    choices = problem.choices
    entering = set(range(choices.n_units)) - {*units, *choices.barred.tolist()}
    leaving = set(units) - set(choices.fixed.tolist())
    values = [value_of(problem, (set(units) - {out}) | {p}) for out in leaving for p in entering]
    return min(values, default=np.inf)


def units_of(problem, support):
    """The units that make up a support, which must be whole ones."""
    units = np.unique(problem.choices.owner[support])
    assert np.array_equal(np.sort(problem.choices.columns(units)), support)
    return units.tolist()


def best_of_all(X, Y, k, ridge=0.0, include=(), exclude=()):
    return best_of(posed(squared(X, Y), k, ridge=ridge, include=include, exclude=exclude))


# ----------------------------------------------------------------------------------- searches
def found_in(problem, *, n_restarts=20, time_limit=None, monitor=silent, seed=0, n_jobs=None):
    """``search`` with the settings of a test filled up."""
    return search(problem, Options(n_restarts, seed, n_jobs, Deadline(time_limit), monitor))


def searched(X, Y, k, *, ridge=0.0, include=(), exclude=(), groups=None, **options):
    """``search`` for the squared loss."""
    constraints = {"include": include, "exclude": exclude, "groups": groups}
    return found_in(posed(squared(X, Y), k, ridge=ridge, **constraints), **options)


def path_of(X, Y, k_max, ridge=0.5, *, n_restarts=2, seed=0, **of):
    """``path`` for the squared loss."""
    problem = posed(squared(X, Y), k_max, ridge=ridge, **of)
    return path(problem, Options(n_restarts=n_restarts, seed=seed))
