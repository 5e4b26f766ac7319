"""An, Dong & Qin (2021): redundancy, accuracy over k, convergence, and the objective itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.an2021_convergence import (
    SPARSITY,
    convergence_context,
    convergence_rows,
    convergence_tasks,
    sparsity_context,
    sparsity_rows,
    sparsity_tasks,
)
from reproduction.an2021_runs import (
    CONTENDERS,
    DATASETS,
    DECLARED,
    ESTIMATORS,
    LARGER_RHO,
    OBJECTIVE_CONTENDERS,
    OTHER_SETTINGS,
    SMALLER_RHO,
    curve_rows,
    curve_tasks,
    objective_rows,
    objective_tasks,
    redundancy_rows,
    redundancy_tasks,
    settings_tasks,
)
from reproduction.claims import Claim, counted, share, split, verdict
from reproduction.declare import Experiment, Paper, Row, labels
from reproduction.figures import curve_picture, method_panels
from reproduction.sections import accuracy_section
from reproduction.summaries import (
    best_setting_rows,
    matching,
    mean_and_sd,
    means_by_protocol,
    means_over_k,
    place,
    values_by,
)
from reproduction.tables import DASH, markdown_table, means_table, shown
from rowsparse.evaluation.curve import PROTOCOLS

LABELS = labels(CONTENDERS)
OBJECTIVE_LABELS = labels(OBJECTIVE_CONTENDERS)
# The seven of the paper; what it calls TopK is RPFS.
PAPERS_SEVEN = {
    method: label for method, label in LABELS.items() if method not in ("nmapg", "topk")
}
RIVAL = "rpfs published"
LARGE_K = 20
# Values that differ by a smaller share count as equal.
TIE = 1e-4
OWN = LARGER_RHO
RATES = {"published": "as printed", "absolute": "mean absolute correlation"}
# The best γ of RFS on the test folds, which is what the paper reports.
BEST_RFS = "rfs best"
ACCURACY_LABELS = {**LABELS, BEST_RFS: "RFS, published, best γ (small sets)"}
# In the order of the colours: the methods of the paper get those that stand out.
DRAWN = {
    method: LABELS[method]
    for method in (
        *(OWN, "fisherscore", "nmapg", "ttest", "rfs gamma 1", "rpfs published"),
        *("informationgain", "relieff", "topk"),
    )
}
# Penalties by method; the last one is the usual.
RFS_GAMMAS = {
    method: f"{contender.params['gamma']:g}"
    for method, contender in (OTHER_SETTINGS | CONTENDERS).items()
    if contender.selector == "rfs" and contender.params
}
PENALTIES = {
    "γ of RFS (instead of 1)": RFS_GAMMAS,
    "ρ of NmAPG (instead of 0.01 ρmax)": {SMALLER_RHO: "0.001", LARGER_RHO: "0.01"},
}


def claims(rows: Mapping[str, list[Row]]) -> list[Claim]:
    """What the paper says of its method, judged by NmAPG as published among the paper's seven."""
    rates = {
        name: means_over_k(rows.get("redundancy", []), rate, DATASETS, PAPERS_SEVEN)
        for rate, name in RATES.items()
    }
    accuracy = rows.get("accuracy", [])
    places: dict[str, list[int]] = {
        name: [place(own, OWN, sign=1) for own in means.values() if OWN in own]
        for name, means in rates.items()
    }
    first: dict[str, list[int]] = {}
    large: dict[str, list[bool]] = {}
    for estimator in ESTIMATORS:
        found = means_by_protocol(accuracy, DATASETS, PAPERS_SEVEN, estimator=estimator)
        beyond = [row for row in accuracy if row.get("k", 0) > LARGE_K]
        second = means_by_protocol(beyond, DATASETS, (OWN, RIVAL), estimator=estimator)
        for protocol in PROTOCOLS:
            first.setdefault(protocol, []).extend(
                place(own, OWN) for own in found[protocol].values() if OWN in own
            )
            large.setdefault(protocol, []).extend(
                own[OWN] > own[RIVAL] for own in second[protocol].values() if len(own) == 2
            )
    convergence = convergence_context(rows.get("convergence", []))["claims"] or {"faster": {}}
    sparsity = sparsity_context(rows.get("sparsity", []))
    falls = sparsity["falls"]
    return [
        split(
            '"lower redundancy rate in almost all cases": least of the seven methods',
            "curves",
            _leads(places),
        ),
        split(
            '"outperforms the compared FS methods on both classifiers": first of the seven',
            "curves",
            _leads(first),
        ),
        split(
            '"accuracy curves of RFS and nmAPG are much more stable than that of TopK" (RPFS): '
            "fewer points lost from one k to the next",
            "curves",
            {
                PAPERS_SEVEN[method]: [
                    own[method] < own[RIVAL]
                    for own in drops(accuracy).values()
                    if {method, RIVAL} <= set(own)
                ]
                for method in ("rfs gamma 1", OWN)
            },
        ),
        split(
            f'"outperforms TopK (RPFS) in the cases where K is quite large, e.g., K > {LARGE_K}"',
            "curves",
            large,
        ),
        split(
            '"the sparsity level of nmAPG is nearly the same as the number of features": rows '
            "above 0.001 within a tenth of K",
            "curve",
            sparsity["near"],
            (SPARSITY[OWN],),
        ),
        Claim(
            '"the sparsity curve of TopK (RPFS) is not linearly increasing"',
            "curve",
            f"W has fewer rows above 0.001 after {share(falls)} steps of K" if falls else DASH,
            verdict([any(falls)] if falls else []),
        ),
        counted(
            '"Algorithm 2 converges much faster than Algorithm 1": as low in half the iterations',
            "curves of 2 data sets",
            "data sets",
            convergence.get("twice", []),
        ),
    ]


def _leads(places: Mapping[str, Sequence[int]]) -> dict[str, list[bool]]:
    """Where a method is first, under names that say which places it has."""
    return {
        f"{name} (places {min(found)} to {max(found)})": [at == 1 for at in found]
        for name, found in places.items()
        if found
    }


def drops(rows: Sequence[Row]) -> dict[tuple[Any, ...], dict[str, float]]:
    """Accuracy lost from one k to the next, summed, by curve and method; inside the folds."""
    found: dict[tuple[Any, ...], dict[str, float]] = {}
    means: dict[tuple[Any, ...], dict[int, float]] = {}
    for (dataset, estimator, method, k), values in values_by(
        rows, "accuracy", "dataset", "estimator", "method", "k", protocol="honest"
    ).items():
        means.setdefault((dataset, estimator, method), {})[k] = float(np.mean(values))
    for (*curve, method), own in means.items():
        steps = np.diff([own[k] for k in sorted(own)])
        found.setdefault(tuple(curve), {})[method] = float(-steps[steps < 0].sum())
    return found


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
            title = f"an2021-redundancy-{rate}"
            pictures[name] = curve_picture(
                title, panels, x="features", y="redundancy", columns=4, subject=LABELS[OWN]
            )
    blocks = {name: means_over_k(rows, rate, DATASETS, LABELS) for rate, name in RATES.items()}
    return {
        "runs": {
            title: len({row["split"] for row in own if "split" in row})
            for dataset, title in DATASETS.items()
            if (own := matching(rows, dataset=dataset))
        },
        "claims": redundancy_claims(rows),
        "table": means_table(blocks, DATASETS, LABELS, form=".3f"),
        "pictures": pictures,
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
    return {
        "estimator": estimator,
        "gains": [
            {"penalty": name, "protocol": protocol, **best}
            for name, penalties in PENALTIES.items()
            for protocol in PROTOCOLS
            if (best := best_penalty(rows, penalties, estimator=estimator, protocol=protocol))
        ],
    }


def objective_context(rows: Sequence[Row]) -> dict[str, Any]:
    """The objective of the paper at equal k, with all samples."""
    means = {
        cell: float(np.mean(values))
        for cell, values in values_by(rows, "objective", "dataset", "k", "method").items()
    }
    ks = sorted({k for _, k, _ in means})
    cells = {
        (d, k): {m: means[d, k, m] for m in OBJECTIVE_LABELS if (d, k, m) in means}
        for d in DATASETS
        for k in ks
        if any((d, k, m) in means for m in OBJECTIVE_LABELS)
    }
    lines = []
    for (dataset, k), values in cells.items():
        bound, _, n = mean_and_sd(rows, "bound", dataset=dataset, k=k)
        numbers = [bound if n else None, *(values.get(method) for method in OBJECTIVE_LABELS)]
        lines.append([DATASETS[dataset], k, *(shown(number, ".2f") for number in numbers)])
    return {
        "table": markdown_table(["data", "k", "bound", *OBJECTIVE_LABELS.values()], lines),
        "number": len(cells),
        **_objective_counts(list(cells.values())),
        "steps": [
            found
            for method in (LARGER_RHO, SMALLER_RHO)
            if (found := _first_step(matching(rows, method=method), OBJECTIVE_LABELS[method]))
        ],
    }


def _objective_counts(cells: list[dict[str, float]]) -> dict[str, Any]:
    """How often a method is best, below the published one, and that one is worth Fisher's."""
    ran = [method for method in OBJECTIVE_LABELS if any(method in values for values in cells)]
    return {
        "best": {
            OBJECTIVE_LABELS[m]: sum(
                v.get(m, np.inf) <= min(v.values()) * (1.0 + TIE) for v in cells
            )
            for m in ran
        },
        "below": {
            OBJECTIVE_LABELS[m]: sum(
                v.get(m, np.inf) < v.get(LARGER_RHO, -np.inf) * (1.0 - TIE) for v in cells
            )
            for m in ran
            if m != LARGER_RHO
        },
        "same": sum(
            {"fisherscore", LARGER_RHO} <= set(v)
            and abs(v["fisherscore"] - v[LARGER_RHO]) <= TIE * v["fisherscore"]
            for v in cells
        ),
    }


def _first_step(rows: Sequence[Row], label: str) -> dict[str, Any] | None:
    """How many of the features are those of the first step, and how often k rows are kept."""
    own = [row for row in rows if "kept" in row]
    if not own:
        return None
    return {
        "label": label,
        "share": 100 * sum(row["kept"] for row in own) / sum(row["k"] for row in own),
        "still": sum(row["kept"] == row["k"] for row in own),
        "feasible": sum(row["rows"] <= row["k"] for row in own),
        "number": len(own),
    }


def page(rows: Mapping[str, list[Row]]) -> dict[str, Any]:
    """Redundancy, accuracies, other settings, convergence, and the objective."""
    accuracy, other = rows.get("accuracy", []), rows.get("settings", [])
    small = {row["dataset"] for row in other if "dataset" in row}
    both = [*other, *(row for row in accuracy if row.get("dataset") in small)]
    with_best = [*accuracy, *best_setting_rows(both, RFS_GAMMAS, BEST_RFS)]
    return {
        "claims": claims(rows),
        "redundancy": _redundancy(rows.get("redundancy", [])),
        "accuracy": [
            accuracy_section(
                f"an2021-{estimator.lower().replace(' ', '-')}",
                with_best,
                DATASETS,
                ACCURACY_LABELS,
                estimator=estimator,
                drawn=DRAWN,
                columns=4,
                subject=LABELS[OWN],
            )
            for estimator in ESTIMATORS
        ],
        "settings": [_settings(both, estimator) for estimator in ESTIMATORS],
        "sparsity": sparsity_context(rows.get("sparsity", [])),
        "convergence": convergence_context(rows.get("convergence", [])),
        "objective": objective_context(rows.get("objective", [])),
    }


PAPER = Paper(
    name="an2021",
    experiments=(
        Experiment("redundancy", redundancy_tasks, redundancy_rows),
        Experiment("accuracy", curve_tasks, curve_rows),
        Experiment("settings", settings_tasks, curve_rows),
        Experiment("sparsity", sparsity_tasks, sparsity_rows),
        Experiment("convergence", convergence_tasks, convergence_rows),
        Experiment("objective", objective_tasks, objective_rows),
    ),
    standard=DECLARED.size("standard"),
    quick=DECLARED.size("quick"),
    page=page,
)
