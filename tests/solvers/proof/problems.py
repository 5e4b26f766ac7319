"""Small problems, their best choice by enumeration, and a proof with the settings of a test."""

from itertools import combinations

import numpy as np

from benchmarks.exact import ColumnSets
from benchmarks.exact_curved import LogisticProblem
from rowsparse._deadline import NO_DEADLINE
from rowsparse.design import make_design
from rowsparse.solvers.choices import Choices
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.problem import Fit, Options, Outcome, Problem
from rowsparse.solvers.proof.column_candidates import ColumnCandidates
from rowsparse.solvers.proof.gram_candidates import GramCandidates
from rowsparse.solvers.proof.tree import Tree
from rowsparse.solvers.solution import silent

NONE = np.zeros(0, dtype=np.intp)


def value_of(X, Y, S, ridge):
    X_S = X[:, list(S)].astype(np.float64)
    A = X_S.T @ X_S + ridge * np.eye(len(S))
    B = X_S.T @ Y
    return np.vdot(Y, Y) - np.vdot(B, np.linalg.solve(A, B))


def best_choice(X, Y, k, ridge, include=(), exclude=()):
    supports = [
        S
        for S in combinations(range(X.shape[1]), k)
        if set(include) <= set(S) and not set(exclude) & set(S)
    ]
    values = [value_of(X, Y, S, ridge) for S in supports]
    best = int(np.argmin(values))
    return values[best], supports[best]


def random_problem(rng, n=None, d=None, c=None):
    """X and Y of any size and scale, at times with equal or zero columns."""
    n = n or int(rng.integers(3, 12))
    d = d or int(rng.integers(2, 9))
    c = c or int(rng.integers(1, 4))
    X = rng.standard_normal((n, d))
    if rng.random() < 0.5:
        X += rng.uniform(0, 3) * rng.standard_normal((n, 1))
    if rng.random() < 0.2:
        X[:, -1] = X[:, 0]
    if rng.random() < 0.1:
        X[:, 0] = 0.0
    return X * 10.0 ** rng.uniform(-2, 2), rng.standard_normal((n, c)) * 10.0 ** rng.uniform(-2, 2)


def random_ridge(rng, X):
    return 10.0 ** rng.uniform(-3, 2) * max(np.linalg.norm(X) ** 2 / X.shape[1], 1e-6)


def squared_loss(X, Y):
    return SquaredLoss(make_design(X, center=False, scale=False)[0], Y)


def candidates(X, Y, ridge, k=1, **rules):
    choices = Choices.from_columns(X.shape[1], k, **rules)
    return GramCandidates.from_loss(squared_loss(X, Y), ridge, choices)


def random_labels(rng, n, c):
    """Labels of 0 and 1, all of which vary, and weights of the samples."""
    Y = (rng.random((n, c)) < rng.uniform(0.2, 0.8, c)).astype(float)
    Y[0], Y[1] = 0.0, 1.0
    omega = rng.uniform(0.2, 3.0, n) if rng.random() < 0.5 else np.ones(n)
    return Y, omega


def logistic_loss(X, Y, omega=None, fit_intercept=True):
    design, _ = make_design(X, center=False, scale=False)
    return LogisticLoss(design, Y, np.ones(len(Y)) if omega is None else omega, fit_intercept)


def logistic_candidates(X, Y, ridge, k, omega=None, fit_intercept=True, **rules):
    loss = logistic_loss(X, Y, omega, fit_intercept)
    return ColumnCandidates.from_loss(loss, ridge, Choices.from_columns(X.shape[1], k, **rules))


def logistic_oracle(X, Y, k, ridge, omega=None, fit_intercept=True, *rules, **others):
    """The same problem in long doubles: the objective of any choice, and of the best."""
    weights = np.ones(len(Y)) if omega is None else omega
    wide = [np.asarray(part, dtype=np.longdouble) for part in (X, Y, weights)]
    sets = ColumnSets.of(X.shape[1], k, *rules, **others)
    return LogisticProblem(*wide, np.longdouble(ridge), fit_intercept, sets)


def prove(
    X,
    Y,
    k,
    ridge,
    *,
    include=(),
    exclude=(),
    start=None,
    gap_tol=1e-6,
    deadline=NO_DEADLINE,
    keep_on_interrupt=False,
    monitor=silent,
    n_jobs=None,
    search=None,
):
    """Branch and bound on X and Y as they are, with a search in between if one is given."""
    problem = candidates(X, Y, ridge, k, include=include, exclude=exclude)
    if start is None:
        others = np.setdiff1d(np.arange(X.shape[1]), [*include, *exclude])
        start = np.array([*include, *others][:k], dtype=np.intp)
    options = Options(
        n_jobs=n_jobs,
        deadline=deadline,
        monitor=monitor,
        gap_tol=gap_tol,
        keep_on_interrupt=keep_on_interrupt,
    )
    tree = Tree(
        problem.with_uniform_diagonal(),
        start,
        value_of(X, Y, start, ridge),
        options,
        refit=lambda S: value_of(X, Y, S, ridge),
    )
    if search is None:
        tree.run()
    else:
        tree.run_or_search(search)
    return tree


def is_closed(proof, gap_tol=1e-6):
    return proof.objective - proof.lower_bound <= gap_tol * proof.objective


def asked(loss, k, ridge, start, objective, *, include=(), exclude=(), groups=None):
    """The problem, and an outcome that knows this choice."""
    d = loss.design.shape[1]
    choices = Choices.from_columns(d, k, include=include, exclude=exclude, groups=groups)
    fit = Fit(np.sort(start), NONE, NONE, objective)
    known = Outcome(fit, NONE, NONE, 1, np.array([objective]), False)
    return Problem(loss, ridge, choices), known


def after(n_nodes):
    """A monitor that ends a proof after some nodes."""
    return lambda objective, *, lower_bound, nodes: nodes >= n_nodes
