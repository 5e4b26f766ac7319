"""Small problems, their best choice by enumeration, and a proof with the settings of a test."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from benchmarks.exact_logistic import LogisticProblem
from rowsparse._deadline import NO_DEADLINE
from rowsparse.design import make_design
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.proof.branch import BranchAndBound
from rowsparse.solvers.proof.candidates import Candidates
from rowsparse.solvers.proof.diagonal import uniform_diagonal
from rowsparse.solvers.proof.logistic_candidates import LogisticCandidates
from rowsparse.solvers.proof.nodes import ProofOptions

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


def candidates(X, Y, ridge, features=None):
    design, _ = make_design(X, center=False, scale=False)
    return Candidates.of(design, Y, ridge, features)


def random_labels(rng, n, c):
    """Labels of 0 and 1, all of which vary, and weights of the samples."""
    Y = (rng.random((n, c)) < rng.uniform(0.2, 0.8, c)).astype(float)
    Y[0], Y[1] = 0.0, 1.0
    omega = rng.uniform(0.2, 3.0, n) if rng.random() < 0.5 else np.ones(n)
    return Y, omega


def logistic_loss(X, Y, omega=None, fit_intercept=True):
    design, _ = make_design(X, center=False, scale=False)
    return LogisticLoss(design, Y, np.ones(len(Y)) if omega is None else omega, fit_intercept)


def logistic_candidates(X, Y, ridge, omega=None, fit_intercept=True):
    loss = logistic_loss(X, Y, omega, fit_intercept)
    return LogisticCandidates.of(loss, ridge, np.arange(X.shape[1]))


def logistic_oracle(X, Y, k, ridge, omega=None, fit_intercept=True, include=(), exclude=()):
    """The same problem in long doubles: the objective of any choice, and of the best."""
    weights = np.ones(len(Y)) if omega is None else omega
    wide = [np.asarray(part, dtype=np.longdouble) for part in (X, Y, weights)]
    rules = frozenset(include), frozenset(exclude)
    return LogisticProblem(*wide, np.longdouble(ridge), fit_intercept, k, *rules)


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
    monitor=lambda progress: False,
    n_jobs=None,
    search=None,
):
    """Branch and bound on X and Y as they are, with a search in between if one is given."""
    include = np.array(include, dtype=np.intp)
    keep = np.setdiff1d(np.arange(X.shape[1]), exclude)
    problem = candidates(X, Y, ridge, keep)
    diagonal = uniform_diagonal(problem, k, include)
    if diagonal is not None:
        problem = problem.with_diagonal(diagonal)
    if start is None:
        start = np.concatenate([include, np.setdiff1d(keep, include)])[:k]
    tree = BranchAndBound(
        problem,
        start,
        value_of(X, Y, start, ridge),
        include=include,
        options=ProofOptions(k, gap_tol),
        deadline=deadline,
        keep_on_interrupt=keep_on_interrupt,
        refit=lambda S: value_of(X, Y, S, ridge),
        monitor=monitor,
        n_jobs=n_jobs,
    )
    return tree.run() if search is None else tree.run_or_search(search)


def is_closed(proof, gap_tol=1e-6):
    return proof.objective - proof.lower_bound <= gap_tol * proof.objective
