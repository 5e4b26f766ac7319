"""The proofs: min ||y - Xb||^2 + ridge ||b||^2 with k features, and who shows that it is that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.field.cases import ASSUMED, SYNTHETIC, Case
from benchmarks.field.contests import AS_GIVEN, Contest, Figures
from benchmarks.field.problems import Array, Problem, load_problem
from benchmarks.peers import require
from benchmarks.topk import refitted, search_design
from rowsparse import TopK
from rowsparse.design import make_design

# Of the objective, for all.
GAP_TOL = 1e-4


@dataclass(frozen=True)
class Setting:
    """The problem of a proof with what its rivals are told, which no one is timed for.

    ``best`` is the objective of a search, ``start`` its coefficients, ``penalty`` the price of a
    feature at which k of them minimise half the objective plus the price of all.
    """

    X: Array
    y: Array
    k: int
    ridge: float
    best: float
    start: Array
    penalty: float

    def scaled_gap(self, objective: float) -> float:
        """The tolerance relative to another objective that equals GAP_TOL of ours."""
        return GAP_TOL * self.best / objective

    def largest_coefficient(self) -> float:
        """A valid bound of every coefficient of every ridge solution as good as the best known.

        From the spectrum of the ridge solution, from its penalty, and from its normal equations.
        """
        norm = float(np.linalg.norm(self.X, axis=0).max())
        bounds = (
            float(np.linalg.norm(self.y)) / (2 * np.sqrt(self.ridge)),
            float(np.sqrt(self.best / self.ridge)),
            norm * float(np.sqrt(self.best)) / self.ridge,
        )
        return min(bounds) * (1 + 1e-9)


def make_setting(case: Case, problem: Problem) -> Setting:
    X, y, k = problem.X, problem.Y[:, 0], case.k
    given = (case.problem, k, case.parameter) in SYNTHETIC
    ridge = case.parameter * (1 if given else len(X))
    design, _ = make_design(X, center=False, scale=False)
    found = {j: search_design(design, problem.Y, j, ridge=ridge) for j in (k - 1, k, k + 1)}
    values = {j: one.objective for j, one in found.items()}
    # Between the prices at which k - 1 and k + 1 features become as good.
    penalty = (values[k - 1] - values[k + 1]) / 4
    start = np.zeros(X.shape[1])
    S = found[k].support
    start[S] = np.linalg.solve(X[:, S].T @ X[:, S] + ridge * np.eye(k), X[:, S].T @ y)
    return Setting(X, y, k, ridge, values[k], start, penalty)


Report = Callable[[Figures], None]
# The answer of a prover: support, lower bound (None: it gives none) and its own claim.
Answer = tuple[Array, float | None, bool]


def proof_contest(case: Case, problem: Problem, limit: float, report: Report) -> Contest:
    setting = make_setting(case, problem)

    def judge(answer: Answer) -> Figures:
        support, bound, claimed = answer
        figures: Figures = {"support": support, "bound": bound, "claimed": int(claimed)}
        if len(support):
            X, Y = setting.X, setting.y[:, None]
            figures["objective"] = refitted(X, Y, support, setting.ridge)
        return figures

    call = _PROVERS[case.method](setting, limit, lambda answer: report(judge(answer)))
    # A model that is solved stays solved.
    return Contest(call, judge, again=case.method != "SCIP")


# Compiled on first use, which is not timed, and once for all runs.
PREPARED = ("El0ps",)


@cache
def prepare(method: str) -> None:
    _warm_up(require(method.lower()).prove)


def _warm_up(prove: Callable[..., Any], **settings: float) -> None:
    tiny = load_problem("informative n=30 d=50")
    prove(tiny.X, tiny.Y[:, 0], l0=600.0, l2=0.1, gap_tol=0.1, time_limit=60.0, **settings)


def _topk(setting: Setting, limit: float, report: Any) -> Callable[[], Answer]:
    selector = TopK(
        setting.k,
        alpha=setting.ridge / len(setting.X),
        loss="squared",
        certify=True,
        gap_tol=GAP_TOL,
        time_limit=limit,
        random_state=0,
        **AS_GIVEN,
    )

    def call() -> Answer:
        selector.fit(setting.X, setting.y)
        support = selector.get_support(indices=True)
        return support, selector.lower_bound_, selector.status_ == "optimal"

    return call


def _okridge(setting: Setting, limit: float, report: Any) -> Callable[[], Answer]:
    prove = require("okridge").prove
    total = float(setting.y @ setting.y)
    gap_tol = setting.scaled_gap(total - setting.best)

    def call() -> Answer:
        coef, bound, gap = prove(
            setting.X, setting.y, setting.k, ridge=setting.ridge, gap_tol=gap_tol, time_limit=limit
        )
        return np.flatnonzero(coef), bound + total, gap <= gap_tol

    return call


def _l0bnb(assumed: bool, setting: Setting, limit: float, report: Any) -> Callable[[], Answer]:
    prove = require("l0bnb").prove
    price = setting.penalty * setting.k
    gap_tol = setting.scaled_gap(setting.best + 2 * price)
    # Its own rule: a fifth more than the largest coefficient that it begins with.
    valid = setting.largest_coefficient()
    big_m = 1.2 * float(np.abs(setting.start).max()) if assumed else valid
    _warm_up(prove, big_m=1e3)

    def call() -> Answer:
        coef, cost, gap, searched = prove(
            setting.X,
            setting.y,
            l0=setting.penalty,
            l2=setting.ridge / 2,
            big_m=big_m,
            gap_tol=gap_tol,
            time_limit=limit,
            start=setting.start,
        )
        bound = 2 * (cost * (1 - max(gap, 0.0)) - price) if gap < 1 else None
        return np.flatnonzero(coef), bound, searched or gap <= gap_tol

    return call


def _el0ps(setting: Setting, limit: float, report: Any) -> Callable[[], Answer]:
    prove = require("el0ps").prove
    gap_tol = setting.scaled_gap(setting.best + 2 * setting.penalty * setting.k)
    prepare("El0ps")

    def call() -> Answer:
        coef, optimal = prove(
            setting.X,
            setting.y,
            l0=setting.penalty,
            l2=setting.ridge / 2,
            gap_tol=gap_tol,
            time_limit=limit,
        )
        return np.flatnonzero(coef), None, optimal

    return call


def _scip(setting: Setting, limit: float, report: Any) -> Callable[[], Answer]:
    package = require("scip")
    built = package.build(setting.X, setting.y, setting.k, setting.ridge)
    return lambda: package.prove(built, GAP_TOL, limit)


def _highs(setting: Setting, limit: float, report: Any) -> Callable[[], Answer]:
    return lambda: require("highs").prove(
        setting.X,
        setting.y,
        setting.k,
        ridge=setting.ridge,
        gap_tol=GAP_TOL,
        time_limit=limit,
        report=lambda support, objective, bound: report((support, bound, False)),
    )


_PROVERS: dict[str, Callable[[Setting, float, Any], Callable[[], Answer]]] = {
    "TopK": _topk,
    "OKRidge": _okridge,
    "l0bnb": lambda *given: _l0bnb(False, *given),
    ASSUMED: lambda *given: _l0bnb(True, *given),
    "El0ps": _el0ps,
    "SCIP": _scip,
    "HiGHS": _highs,
}
