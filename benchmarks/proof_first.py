"""Whether a short proof after the first start costs less than the restarts that it saves."""

from __future__ import annotations

import warnings
from functools import partial
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_diabetes

from benchmarks.data import Data, for_each
from benchmarks.restarts import LOADERS, MOST_SAMPLES, standardised
from benchmarks.tables import Table
from rowsparse import TopK
from rowsparse.selectors.topk import search_report

SETS = ("allaml", "glioma", "jaffe", "leu", "lung_discrete", "lymphoma", "pcmac", "prostate_ge")
QUICK = ("leu",)
SIZES = (3, 5, 10)
LOSSES = ("squared", "logistic")
ROUNDS = 3


class _ProofTooLong(Exception):
    """The first nodes did not close the gap."""


def _give_up(_: Any) -> Any:
    raise _ProofTooLong


def seconds_of_proof(selector: TopK, X: Any, y: Any) -> tuple[float, bool]:
    """Processor time of the first start and the first nodes, and whether they prove it."""
    with patch.object(search_report._BestSearch, "__call__", _give_up):
        start = process_time()
        try:
            proven = selector.set_params(certify=True).fit(X, y).status_ == "optimal"
        except _ProofTooLong:
            proven = False
        return process_time() - start, proven


def seconds_of_restarts(selector: TopK, X: Any, y: Any) -> float:
    start = process_time()
    selector.set_params(certify=False).fit(X, y)
    return process_time() - start


def _measure(data: Data, table: Table, *, losses: tuple[str, ...], task: str) -> None:
    rows = np.random.default_rng(0).permutation(len(data.y))[:MOST_SAMPLES]
    X, y = data.X[rows], data.y[rows]
    for loss in losses:
        for k in SIZES:
            selector = TopK(k, loss=loss, task=task, random_state=0)
            tries = [seconds_of_proof(selector, X, y) for _ in range(ROUNDS)]
            restarts = min(seconds_of_restarts(selector, X, y) for _ in range(ROUNDS))
            trial, proven = min(tries)
            row = {"data": data.name, "loss": loss, "k": k, "proven": "yes" if proven else "no"}
            row |= {"today": 1e3 * restarts, "proof": 1e3 * trial}
            # Where the proof is not done, the restarts follow.
            table.rows.append(row | {"ratio": (trial + (0.0 if proven else restarts)) / restarts})


def run(quick: bool) -> list[Table]:
    formats = {"data": "", "loss": "", "k": "d", "proven": "", "today": ".1f", "proof": ".1f"}
    table = Table("A short proof in the place of restarts.", formats | {"ratio": ".2f"})
    table.notes.append(
        "Milliseconds of processor time: today, the search with its restarts; proof, the first "
        "start and the first 32 nodes of a proof. Ratio: proof, then restarts if it is not done, "
        "to today."
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classes = partial(_measure, losses=LOSSES, task="classification")
        for_each(QUICK if quick else SETS, table, classes)
        for name, load in list(LOADERS.items())[: 1 if quick else None]:
            classes(standardised(name, *load(return_X_y=True)), table)
        X, y = load_diabetes(return_X_y=True)
        numbers = Data("diabetes", X, y, y[:, None])
        _measure(numbers, table, losses=("squared",), task="regression")
    return [_summary(table), table]


def _summary(table: Table) -> Table:
    formats = {"loss": "", "cases": "d", "proven": "d", "median ratio": ".2f", "worst ratio": ".2f"}
    summary = Table("A short proof in the place of restarts, by loss.", formats)
    summary.target = "a median ratio of at most 1, and never more than 1.1"
    for loss in LOSSES:
        rows = [row for row in table.rows if row["loss"] == loss]
        ratios = [row["ratio"] for row in rows]
        found: dict[str, Any] = {"loss": loss, "cases": len(rows)}
        found["proven"] = sum(row["proven"] == "yes" for row in rows)
        found |= {"median ratio": float(np.median(ratios)), "worst ratio": max(ratios)}
        summary.rows.append(found)
    return summary
