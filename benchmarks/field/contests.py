"""What each run calls, and how its answer becomes figures: all parts but the proofs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_selection import f_classif

from benchmarks.certificate import (
    least_squares_dual,
    least_squares_objective,
    n_rows,
    rfs_objective,
)
from benchmarks.field.cases import FILTERS, PLAIN, TOPK, Case
from benchmarks.field.problems import Array, Problem
from benchmarks.peers import require
from benchmarks.topk import refitted
from rowsparse import CDLSR, MRMR, MTFS, RFS, FStatistic, InformationGain, ReliefF, TopK

Figures = dict[str, Any]
NEIGHBORS = 10
TOL = 1e-6
BEAM = 10
# The data are standardised and centred before.
AS_GIVEN: dict[str, Any] = {"standardize": False, "fit_intercept": False, "task": "regression"}


@dataclass(frozen=True)
class Contest:
    """``call`` is timed, ``again`` if it is brief; ``judge`` makes figures of what it returns."""

    call: Callable[[], Any]
    judge: Callable[[Any], Figures]
    again: bool = True


def subset_contest(case: Case, problem: Problem) -> Contest:
    """k features without a ridge: parts ``objective`` and ``growth``."""
    X, Y, k = problem.X, problem.Y, case.k

    def judge(support: Array) -> Figures:
        return {"objective": refitted(X, Y, support), "support": support}

    ours = {
        TOPK: TopK(k, alpha=0.0, loss="squared", random_state=0, **AS_GIVEN),
        PLAIN: TopK(k, alpha=0.0, loss="squared", n_restarts=0, random_state=0, **AS_GIVEN),
        "CD-LSR": CDLSR(k, random_state=0, **AS_GIVEN),
    }
    if case.method in ours:
        selector = ours[case.method]
        return Contest(lambda: selector.fit(X, Y).get_support(indices=True), judge)
    if case.method == "abess":
        return Contest(partial(require("abess").select, X, Y, k), judge)
    by_column, scaled = np.asfortranarray(X), Y / Y.std(axis=0, ddof=1)
    width = BEAM if "beam" in case.method else 1
    return Contest(partial(require("fastcan").select, by_column, scaled, k, width), judge)


def l21_contest(case: Case, problem: Problem) -> Contest:
    """1/2 ||Y - XW||^2 + penalty ||W||_21."""
    X, Y = problem.X, problem.Y
    penalty = case.parameter * float(np.linalg.norm(X.T @ Y, axis=1).max())

    def judge(W: Array) -> Figures:
        objective = least_squares_objective(X, Y, W, penalty)
        bound = least_squares_dual(X, Y, W, penalty)
        return {"objective": objective, "bound": bound, "features": n_rows(W)}

    if case.method == "MTFS":
        selector = MTFS(1, gamma=penalty, tol=TOL, **AS_GIVEN)
        return Contest(lambda: selector.fit(X, Y).coef_.T, judge)
    package = require(case.method.replace("-", "_"))
    by_column = np.asfortranarray(X)
    package.warm_up(by_column, Y)
    alpha = penalty / len(X)
    return Contest(partial(package.fit_multitask_lasso, by_column, Y, alpha, TOL), judge)


def rfs_contest(case: Case, problem: Problem) -> Contest:
    """||Y - XW||_21 + gamma ||W||_21 with labels +1 and -1."""
    package = require("scikit_feature")
    X, y = problem.X, problem.y
    Y, gamma = package.targets(y), case.parameter

    def judge(W: Array) -> Figures:
        return {"objective": rfs_objective(X, Y, W, 0.0, gamma), "features": n_rows(W)}

    if case.method == "RFS":
        selector = RFS(1, gamma=gamma, tol=TOL, **AS_GIVEN)
        return Contest(lambda: selector.fit(X, Y).coef_.T, judge)
    return Contest(partial(package.fit_rfs, X, y, gamma), judge)


def filter_contest(case: Case, problem: Problem) -> Contest:
    """The same filter: ours, or a peer's compared with ours."""
    kind = list(FILTERS)[int(case.parameter)]
    X, y, k = problem.X, np.asarray(problem.y), case.k
    ours = partial(_ours, kind, X, y, k)
    if case.method == FILTERS[kind][0]:
        return Contest(ours, lambda scores: {"features": k})
    expected = ours()
    # Orders of features, where a package gives no scores.
    ordered = kind == "mRMR" or case.method == "skfeature-chappers"

    def judge(answer: Array) -> Figures:
        picks = _picks(answer, k, ordered)
        figures: Figures = {"same": int(picks == _picks(expected, k, kind == "mRMR"))}
        if not ordered:
            largest = float(np.abs(expected).max())
            figures["difference"] = float(np.abs(answer - expected).max()) / largest
        return figures

    return Contest(_theirs(kind, case.method, X, y, k), judge)


def _picks(answer: Array, k: int, ordered: bool) -> list[int]:
    """The first k features of an order, or of scores."""
    order = answer if ordered else np.argsort(-answer, kind="stable")
    return sorted(int(j) for j in order[:k])


def _ours(kind: str, X: Array, y: Array, k: int) -> Array:
    if kind == "mRMR":
        return MRMR(k, criterion="fcq").fit(X, y).order_[:k]
    if kind == "ReliefF":
        return ReliefF(k, n_neighbors=NEIGHBORS).fit(X, y).scores_
    return {"F": FStatistic, "information gain": InformationGain}[kind](k).fit(X, y).scores_


def _theirs(kind: str, method: str, X: Array, y: Array, k: int) -> Callable[[], Array]:
    if kind == "mRMR":
        package = require("mrmr_selection")
        return partial(package.select, *package.frames(X, y), k)
    if method == "skrebate":
        return partial(require("skrebate").weights, X, y, NEIGHBORS)
    if method == "skfeature-chappers":
        package = require("scikit_feature")
        if kind == "ReliefF":
            return partial(package.relieff_order, X, y, NEIGHBORS)
        return partial(package.fisher_order, X, y)
    if kind == "F":
        return lambda: np.nan_to_num(f_classif(X, y)[0])
    return partial(require("scikit_learn").mutual_information, X, y)


CONTESTS: dict[str, Callable[[Case, Problem], Contest]] = {
    "objective": subset_contest,
    "growth": subset_contest,
    "l21": l21_contest,
    "rfs": rfs_contest,
    "filters": filter_contest,
}
