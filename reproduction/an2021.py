"""An, Dong & Qin (2021): redundancy, accuracy over k, convergence, and the objective itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.an2021_convergence import convergence_rows, convergence_tasks
from reproduction.an2021_objective import convergence_context, objective_context
from reproduction.an2021_runs import (
    CONTENDERS,
    DATASETS,
    ESTIMATORS,
    LARGER_RHO,
    OTHER_SETTINGS,
    RFS_GAMMAS,
    SMALLER_RHO,
    curve_rows,
    curve_tasks,
    objective_rows,
    objective_tasks,
    redundancy_rows,
    redundancy_tasks,
    settings_tasks,
)
from reproduction.declare import Experiment, Paper, Row, Size, labels
from reproduction.figures import Picture, curves, method_panels, protocol_pictures
from reproduction.summaries import (
    matching,
    mean_and_sd,
    means_by_protocol,
    means_over_k,
    place,
    standings,
)
from reproduction.tables import means_table
from rowsparse.evaluation import PROTOCOLS

LABELS = labels(CONTENDERS)
OWN = LARGER_RHO
RATES = {"published": "as printed", "absolute": "mean absolute correlation"}
# In the order of the colours: the methods of the paper get those that stand out.
DRAWN = {
    method: LABELS[method]
    for method in (
        *(OWN, "fisherscore", "nmapg", "ttest", "rfs gamma 1", "rpfs published"),
        *("informationgain", "relieff", "topk"),
    )
}
# Penalties by method; the last one is the usual.
PENALTIES = {
    "γ of RFS (instead of 1)": {f"rfs gamma {gamma:g}": f"{gamma:g}" for gamma in RFS_GAMMAS},
    "ρ of NmAPG (instead of 0.01 ρmax)": {SMALLER_RHO: "0.001", LARGER_RHO: "0.01"},
}


def redundancy_claims(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Where NmAPG stands by either rate, and whether the rates agree on who is first."""
    means = {rate: means_over_k(rows, rate, DATASETS, LABELS) for rate in RATES}
    ran = [dataset for dataset in DATASETS if OWN in means["absolute"].get(dataset, {})]
    if not ran:
        return None
    firsts = [{min(means[rate][d], key=means[rate][d].__getitem__) for rate in RATES} for d in ran]
    pairs = [
        (value, means["absolute"][d][method])
        for d in ran
        for method, value in means["published"][d].items()
    ]
    return {
        "places": {
            name: {
                DATASETS[d]: f"{place(means[rate][d], OWN, sign=1)} of {len(means[rate][d])}"
                for d in ran
            }
            for rate, name in RATES.items()
        },
        "differ": sum(len(first) > 1 for first in firsts),
        "sets": len(ran),
        "below": sum(printed < 0.45 * true for printed, true in pairs),
        "cells": len(pairs),
        "held_out": {
            name: (
                mean_and_sd(rows, f"{rate}_held_out", method=OWN)[0],
                mean_and_sd(rows, rate, method=OWN)[0],
            )
            for rate, name in RATES.items()
        },
    }


def _redundancy(rows: Sequence[Row]) -> dict[str, Any]:
    pictures = {}
    for rate, name in RATES.items():
        panels = method_panels(rows, DATASETS, DRAWN, what=rate, factor=1.0)
        if panels:
            draw = curves(panels, x="features", y="redundancy", columns=4)
            pictures[name] = Picture(f"an2021-redundancy-{rate}", draw)
    blocks = {name: means_over_k(rows, rate, DATASETS, LABELS) for rate, name in RATES.items()}
    return {
        "runs": {
            title: len({row["split"] for row in own if "split" in row})
            for dataset, title in DATASETS.items()
            if (own := matching(rows, dataset=dataset))
        },
        "claims": redundancy_claims(rows),
        "table": means_table(blocks, DATASETS, LABELS, what="rate", form=".3f"),
        "pictures": pictures,
    }


def _accuracy(rows: Sequence[Row], estimator: str) -> dict[str, Any]:
    found = means_by_protocol(rows, DATASETS, LABELS, estimator=estimator)
    return {
        "estimator": estimator,
        "standings": standings(found, DATASETS, LABELS, {OWN: "NmAPG as published"}),
        "table": means_table(found, DATASETS, LABELS),
        "pictures": protocol_pictures(
            f"an2021-{estimator.lower().replace(' ', '-')}",
            lambda p: method_panels(rows, DATASETS, DRAWN, estimator=estimator, protocol=p),
            columns=4,
        ),
    }


def best_penalty(
    rows: Sequence[Row], penalties: Mapping[str, str], **where: Any
) -> dict[str, Any] | None:
    """What the penalty with the best mean accuracy adds to the last one, and which it is.

    Of several that are best the one nearest to the last is named.
    """
    *_, usual = penalties
    means = means_over_k(rows, "accuracy", DATASETS, list(penalties)[::-1], **where)
    ran = {d: own for d, own in means.items() if usual in own and len(own) > 1}
    if not ran:
        return None
    return {
        "gain": float(np.mean([100 * (max(own.values()) - own[usual]) for own in ran.values()])),
        "best": {DATASETS[d]: penalties[max(own, key=own.__getitem__)] for d, own in ran.items()},
    }


def _settings(rows: Sequence[Row], estimator: str) -> dict[str, Any]:
    """What is gained by choosing the penalty on the test folds."""
    shown = labels(OTHER_SETTINGS) | {m: LABELS[m] for m in ("rfs gamma 1", OWN)}
    found = means_by_protocol(rows, DATASETS, shown, estimator=estimator)
    return {
        "estimator": estimator,
        "gains": [
            {"penalty": name, "protocol": protocol, **best}
            for name, penalties in PENALTIES.items()
            for protocol in PROTOCOLS
            if (best := best_penalty(rows, penalties, estimator=estimator, protocol=protocol))
        ],
        "table": means_table(found, DATASETS, shown),
    }


def page(rows: Mapping[str, list[Row]]) -> dict[str, Any]:
    """Redundancy, accuracies, other settings, convergence, and the objective."""
    accuracy, other = rows.get("accuracy", []), rows.get("settings", [])
    small = {row["dataset"] for row in other if "dataset" in row}
    both = [*other, *(row for row in accuracy if row.get("dataset") in small)]
    return {
        "redundancy": _redundancy(rows.get("redundancy", [])),
        "accuracy": [_accuracy(accuracy, estimator) for estimator in ESTIMATORS],
        "settings": [_settings(both, estimator) for estimator in ESTIMATORS],
        "convergence": convergence_context(rows.get("convergence", [])),
        "objective": objective_context(rows.get("objective", [])),
    }


_QUICK = ("fisherscore", "rfs gamma 0.1", "nmapg published", "nmapg", "topk")
PAPER = Paper(
    name="an2021",
    experiments=(
        Experiment("redundancy", redundancy_tasks, redundancy_rows),
        Experiment("accuracy", curve_tasks, curve_rows),
        Experiment("settings", settings_tasks, curve_rows),
        Experiment("convergence", convergence_tasks, convergence_rows),
        Experiment("objective", objective_tasks, objective_rows),
    ),
    standard=Size(repeats=10, options={"large_repeats": 2}),
    quick=Size(
        "quick",
        datasets=("yale", "leukemia"),
        options={
            "methods": (*_QUICK, "rfs gamma 1"),
            "objective_methods": (*_QUICK, "nmapg rho 0.001", "topk l21"),
            "ks": (5, 20),
            "redundancy_ks": (5, 20),
            "objective_ks": (10,),
            "folds": 2,
            "iterations": 200,
        },
    ),
    page=page,
)
