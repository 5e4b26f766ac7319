"""The logistic loss for TopK: which labels it takes, and the search on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rowsparse._arrays import Array
from rowsparse.selectors.base.messages import warn_user
from rowsparse.selectors.base.problem import LinearProblem
from rowsparse.selectors.topk.certification import Certification
from rowsparse.selectors.topk.constraints import Constraints
from rowsparse.selectors.topk.solution import solution_of
from rowsparse.solvers.losses.logistic import LogisticLoss, VaryingLabels
from rowsparse.solvers.solution import Solution
from rowsparse.solvers.subset.logistic import search_logistic
from rowsparse.solvers.subset.search import SearchResult

# Share of the objective of no features below which labels are separated.
_SEPARATED = 1e-6


def binary_labels(problem: LinearProblem) -> Array:
    """The labels, one column each: of two classes the second, of several each against the rest."""
    if problem.targets.task == "regression":
        raise ValueError(
            "loss='logistic' is for classes and labels, but y holds numbers: take loss='squared', "
            "or task='classification' if they are classes."
        )
    if problem.targets.task == "classification" and problem.Y.shape[1] == 2:
        return problem.Y[:, 1:]
    return problem.Y


def logistic_loss(problem: LinearProblem) -> tuple[LogisticLoss, VaryingLabels]:
    """The loss of the labels that vary, and which these are."""
    Y = binary_labels(problem)
    labels = VaryingLabels.of(Y, problem.fit_intercept)
    weights = np.ones(Y.shape[0]) if problem.weights is None else problem.weights
    loss = LogisticLoss(problem.design, Y[:, labels.varying], weights, problem.fit_intercept)
    return loss, labels


def solve_logistic(
    problem: LinearProblem,
    asked: Constraints,
    *,
    alpha: float,
    seed: int,
    certification: Certification,
) -> Solution:
    """The search with the logistic loss, and its proof; ``alpha`` is that of the user."""
    loss, labels = logistic_loss(problem)
    ridge = float(problem.scaled("alpha", alpha) * problem.n_samples)

    def searched(n_restarts: int) -> SearchResult:
        return search_logistic(
            loss,
            problem.k,
            ridge=ridge,
            include=asked.include,
            exclude=asked.exclude,
            groups=asked.groups,
            n_restarts=n_restarts,
            seed=seed,
            n_jobs=certification.n_jobs,
            deadline=certification.deadline,
            monitor=problem.monitor,
        )

    result, proven = certification.of_logistic(problem, asked, loss, ridge, searched)
    if alpha == 0 and result.objective <= _SEPARATED * loss.at_zero:
        warn_user(
            f"{problem.k} features separate the classes perfectly with alpha=0, and so may "
            "others: the coefficients have no limit and the choice is arbitrary; take alpha > 0."
        )
    V, b = labels.expand(result.V, result.b)
    return solution_of(replace(result, V=V, b=b), proven)
