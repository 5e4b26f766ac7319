"""Small problems, and what they are compared with."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from rowsparse._deadline import Deadline
from rowsparse.design import make_design
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.solution import silent
from rowsparse.solvers.subset.gram import GramProblem, reduced_targets
from rowsparse.solvers.subset.logistic import search_logistic
from rowsparse.solvers.subset.path import solve_path
from rowsparse.solvers.subset.rules import Rules
from rowsparse.solvers.subset.search import search

GROUPS = [np.array(group) for group in ([0, 5], [1], [2, 7, 11], [3, 4], [6], [8, 9], [10])]


def data(seed, n=25, d=10, c=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.5 * rng.standard_normal((d, d)))
    Y = X[:, :4] @ rng.standard_normal((4, c)) + 2.0 * rng.standard_normal((n, c))
    return X - X.mean(0), Y - Y.mean(0)


def design_of(X):
    return make_design(X, center=True, scale=False)[0]


def problem_of(X, Y, ridge=0.0):
    return GramProblem.of(design_of(X), Y, ridge=ridge)


def rules_for(problem, k, include=(), exclude=()):
    return Rules.of(problem, k, include, exclude, 1e-12)


def objective_of(X, Y, S, ridge=0.0):
    S = list(S)
    X_S = np.vstack([X[:, S], np.sqrt(ridge) * np.eye(len(S))])
    target = np.vstack([Y, np.zeros((len(S), Y.shape[1]))])
    W = np.linalg.lstsq(X_S, target, rcond=1e-10)[0]
    return float(np.sum((target - X_S @ W) ** 2))


def best_of_all(X, Y, k, ridge=0.0, include=(), exclude=()):
    free = [j for j in range(X.shape[1]) if j not in include and j not in exclude]
    choices = combinations(free, k - len(include))
    return min(objective_of(X, Y, [*include, *S], ridge) for S in choices)


def best_of_groups(X, Y, groups, k, ridge=0.0, fixed=(), barred=()):
    free = [g for g in range(len(groups)) if g not in fixed and g not in barred]
    return min(
        objective_of(X, Y, np.concatenate([groups[g] for g in (*fixed, *chosen)]), ridge)
        for chosen in combinations(free, k - len(fixed))
    )


def searched(
    X,
    Y,
    k,
    *,
    ridge=0.0,
    include=(),
    exclude=(),
    groups=None,
    n_restarts=20,
    seed=0,
    n_jobs=None,
    time_limit=None,
    monitor=silent,
):
    """``search`` with the settings of a test filled up."""
    return search(
        design_of(X),
        Y,
        k,
        ridge=ridge,
        include=include,
        exclude=exclude,
        groups=groups,
        n_restarts=n_restarts,
        seed=seed,
        n_jobs=n_jobs,
        deadline=Deadline(time_limit),
        monitor=monitor,
    )


def path_of(X, Y, k_max, ridge=0.5, *, include=(), exclude=(), groups=None, n_restarts=2, seed=0):
    """``solve_path`` with the settings of a test filled up."""
    return solve_path(
        problem_of(X, reduced_targets(Y), ridge),
        Y,
        k_max,
        include=include,
        exclude=exclude,
        groups=groups,
        n_restarts=n_restarts,
        seed=seed,
    )


def logistic_loss(seed, n=30, d=10, c=1, fit_intercept=True, weighted=False):
    """Labels that depend on the first columns, and the loss on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    Y = (X[:, :4] @ rng.standard_normal((4, c)) + rng.standard_normal((n, c)) > 0.2).astype(float)
    Y[:2] = [[0.0], [1.0]]  # no constant column
    omega = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    return LogisticLoss(design_of(X), Y, omega, fit_intercept)


def logistic_objective(loss, S, ridge):
    return loss.refit(np.array(sorted(S), dtype=np.intp), penalty=ridge, tol=1e-10).objective


def logistic_rules(problem, k, include=(), exclude=()):
    return Rules.of(problem, k, include, exclude, 1e-10)


def searched_logistic(
    loss,
    k,
    *,
    ridge=1.0,
    include=(),
    exclude=(),
    groups=None,
    n_restarts=20,
    seed=0,
    n_jobs=None,
    **options,
):
    """``search_logistic`` with the settings of a test filled up."""
    options = {"deadline": Deadline(None), **options}
    return search_logistic(
        loss,
        k,
        ridge=ridge,
        include=include,
        exclude=exclude,
        groups=groups,
        n_restarts=n_restarts,
        seed=seed,
        n_jobs=n_jobs,
        **options,
    )
