"""TopK with the Poisson and the Cox loss: objective and seconds against abess."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import peers
from benchmarks.tables import VERDICT, Table, verdict
from benchmarks.timing import race
from rowsparse import TopK
from rowsparse.design import make_design
from rowsparse.solvers.losses.cox import CoxLoss
from rowsparse.solvers.losses.newton import NewtonLoss
from rowsparse.solvers.losses.poisson import PoissonLoss

Array = NDArray[np.float64]

# Samples, columns and the correlation of neighbouring ones; the last one of the Cox loss is a case
# in which abess is known to choose nothing.
MADE = ((100, 500, 0.0), (200, 1000, 0.5), (500, 200, 0.8))
FAILS = (240, 7000, 0.5)
SIZES, QUICK_SIZES = (5, 10, 20), (5,)
ALPHAS = (0.2, 0.02)
# Objectives closer than this share are equal.
SAME = 1e-7
OURS, PLAIN, ABESS = "TopK", "no restarts", "abess"
LOSSES: dict[str, type[NewtonLoss]] = {"poisson": PoissonLoss, "cox": CoxLoss}
TASKS = {"poisson": "counts", "cox": "survival"}


@dataclass(frozen=True)
class Case:
    """Standardised columns, and counts or a column of events and one of times."""

    name: str
    loss: str
    X: Array
    Y: Array

    @property
    def size(self) -> str:
        return f"{self.X.shape[0]} x {self.X.shape[1]}"


def run(quick: bool) -> list[Table]:
    package, reason = peers.find("abess")
    formats = {"data": "", "loss": "", "n x d": "", "alpha": "g", "k": "d"}
    names = [OURS, PLAIN, *([ABESS] if package else [])]
    formats |= dict.fromkeys(names, ".6g") | {"excess %": "+.3f"}
    formats |= {f"{name} s": ".3f" for name in names} | {"ratio": ".2f", VERDICT: ""}
    table = Table("TopK with the Poisson and the Cox loss against abess.", formats)
    table.target = "an objective at or below that of abess within twice its time"
    table.notes += [reason] if reason else []
    table.notes.append(
        "Objective: loss + (alpha n / 2) ||W||^2 on standardised columns, refitted here on every "
        "support; both minimise it. Seconds of the processor. abess may return fewer than k "
        "features, or none."
    )
    for case in _cases(quick, table):
        for alpha in ALPHAS[1:] if quick else ALPHAS:
            for k in QUICK_SIZES if quick else SIZES:
                if k < case.X.shape[1]:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        table.rows.append(_measured(case, alpha, k, package))
    return [_summary(table), table]


def _measured(case: Case, alpha: float, k: int, package: Any) -> dict[str, Any]:
    n = len(case.X)
    calls = {OURS: partial(_ours, case, k, alpha), PLAIN: partial(_ours, case, k, alpha, 0)}
    if package:
        model = {"ridge": alpha * n, "model": case.loss}
        calls[ABESS] = partial(package.select, case.X, case.Y, k, **model)
    timed = race(calls, rounds=2, budget=5.0, clock=process_time)
    loss = LOSSES[case.loss].from_targets(
        make_design(case.X, center=False, scale=False)[0],
        case.Y,
        np.ones(n),
        True,
        TASKS[case.loss],
    )
    reached = {
        name: loss.refit(one.value, penalty=alpha * n, tol=1e-11).objective
        for name, one in timed.items()
    }
    row: dict[str, Any] = {"data": case.name, "loss": case.loss, "n x d": case.size}
    row |= {"alpha": alpha, "k": k, **reached}
    row |= {f"{name} s": one.best for name, one in timed.items()}
    if package:
        excess = reached[OURS] / reached[ABESS] - 1.0
        row |= {"excess %": 100.0 * excess, "ratio": timed[OURS].best / timed[ABESS].best}
        row[VERDICT] = verdict(excess <= SAME and row["ratio"] <= 2.0)
    return row


def _ours(case: Case, k: int, alpha: float, n_restarts: int | str = "auto") -> NDArray[np.intp]:
    selector = TopK(k, loss=case.loss, alpha=alpha, n_restarts=n_restarts, random_state=0)
    return np.asarray(selector.fit(case.X, case.Y).get_support(indices=True))


def _summary(pairs: Table) -> Table:
    formats = {"loss": "", "pairs": "d", "at or below": "d", "within": "d"}
    formats |= {"median ratio": ".2f", "most": ".2f", VERDICT: ""}
    table = Table("The same, over all pairs.", formats)
    table.target = "every objective at or below that of abess, within twice its time"
    for loss in LOSSES:
        rows = [row for row in pairs.rows if row["loss"] == loss and ABESS in row]
        if rows:
            below = sum(row["excess %"] <= 100.0 * SAME for row in rows)
            ratios = np.array([row["ratio"] for row in rows])
            within = int(np.sum(ratios <= 2.0))
            row = {"loss": loss, "pairs": len(rows), "at or below": below, "within": within}
            row |= {"median ratio": float(np.median(ratios)), "most": float(ratios.max())}
            table.rows.append(row | {VERDICT: verdict(below == within == len(rows))})
    return table


# ----------------------------------------------------------------------------------- the data
def _cases(quick: bool, table: Table) -> Iterator[Case]:
    for n, d, rho in MADE[:1] if quick else MADE:
        for loss in LOSSES:
            yield made(loss, n, d, rho)
    if not quick:
        yield made("cox", *FAILS)
    for name, packaged in (("sksurv", _breast_cancer), ("statsmodels", _visits)):
        try:
            yield packaged()
        except ImportError:
            table.notes.append(f"Data of {name} are left out: it is not installed.")


def made(loss: str, n: int, d: int, rho: float) -> Case:
    """Ten columns matter, spread over all; times are exponential, a third of them censored."""
    rng = np.random.default_rng([n, d])
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * X[:, j]
    slopes = np.zeros(d)
    slopes[:: max(d // 10, 1)] = rng.choice([-0.4, 0.4], slopes[:: max(d // 10, 1)].size)
    X = _standardised(X)
    if loss == "poisson":
        Y = rng.poisson(np.exp(np.clip(0.5 + X @ slopes, -10, 5))).astype(np.float64)[:, None]
    else:
        times, ends = rng.exponential(np.exp(-X @ slopes)), rng.exponential(2.0, n)
        Y = np.column_stack([times <= ends, np.minimum(times, ends)])
    return Case(f"made, correlation {rho:g}", loss, X, Y)


def _breast_cancer() -> Case:
    """Times to metastasis, and the expression of 76 genes."""
    X, y = import_module("sksurv.datasets").load_breast_cancer()
    genes = X.select_dtypes("number").to_numpy(dtype=np.float64)
    event, time = y.dtype.names
    Y = np.column_stack([y[event], y[time]]).astype(np.float64)
    return Case("breast cancer", "cox", _standardised(genes), Y)


def _visits() -> Case:
    """Visits to a doctor, and nine facts about the insured."""
    data = import_module("statsmodels.datasets").randhie.load_pandas()
    X = data.exog.to_numpy(dtype=np.float64)
    return Case("visits", "poisson", _standardised(X), data.endog.to_numpy(float)[:, None])


def _standardised(X: Array) -> Array:
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))
