"""Prove that a choice of k features has the least logistic loss, or bound what is missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rowsparse._arrays import Index
from rowsparse._deadline import Deadline
from rowsparse.certificate.proof import Kind, Step
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.proof.branch import BranchAndBound, ProofProgress
from rowsparse.solvers.proof.logistic_candidates import LogisticCandidates
from rowsparse.solvers.proof.nodes import ProofOptions
from rowsparse.solvers.proof.prover import ProverResult, SelectionProblem

# Tolerance of the fit that decides which of two choices is better.
_REFIT_TOL = 1e-11


def certify_logistic(
    loss: LogisticLoss,
    k: int,
    support: Index,
    objective: float,
    *,
    ridge: float,
    include: Index,
    exclude: Index,
    gap_tol: float,
    deadline: Deadline,
    keep_on_interrupt: bool,
    monitor: Callable[[ProofProgress], bool],
    search: Callable[[], tuple[Index, float]],
    n_jobs: int | None,
) -> ProverResult:
    """Prove that a support is the best one, find a better one, or bound what is missing.

    Parameters
    ----------
    loss : LogisticLoss
        If it has an intercept, none of its labels is constant.
    ridge : float
        Weight of ||W||_F^2 / 2. Without one nothing can be proven.
    k, support, objective, include, exclude, gap_tol, deadline, keep_on_interrupt
        As in :func:`rowsparse.solvers.proof.prover.certify`.
    monitor, search, n_jobs
        Likewise.

    Returns
    -------
    ProverResult
        With a bound of 0 where nothing can be proven.
    """
    d = loss.design.shape[1]
    problem = SelectionProblem(np.setdiff1d(np.arange(d), exclude), k, include, include[:0])
    if ridge == 0 or loss.Y.shape[1] == 0:
        support, objective = search()
        nothing = [Step(Kind.OPEN)]
        return ProverResult(np.sort(support), objective, 0.0, 0.0, 0, nothing, problem, None)

    def refit(choice: Index) -> float:
        columns = loss.design.double_columns(choice)
        return loss.fit(columns, ridge=ridge, tol=_REFIT_TOL).objective

    # A bound that overflows is discarded where it is computed.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = BranchAndBound(
            LogisticCandidates.of(loss, ridge, problem.pool),
            support,
            objective,
            include=include,
            options=ProofOptions(k, gap_tol),
            deadline=deadline,
            keep_on_interrupt=keep_on_interrupt,
            refit=refit,
            monitor=monitor,
            n_jobs=n_jobs,
        ).run_or_search(search)
    return ProverResult(
        found.support,
        found.objective,
        found.lower_bound,
        found.root_bound,
        found.nodes,
        found.steps,
        problem,
        None,
    )
