"""An, Dong & Qin (2021): redundancy, accuracy over k, convergence, and the objective itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.an2021_objective import convergence_section, objective_section
from reproduction.an2021_runs import (
    DATASETS,
    ESTIMATORS,
    LABELS,
    OTHER_LABELS,
    RFS_GAMMAS,
    accuracy_tasks,
    convergence_rows,
    convergence_tasks,
    curve_rows,
    objective_rows,
    objective_tasks,
    redundancy_rows,
    redundancy_tasks,
    settings_tasks,
)
from reproduction.declare import Experiment, Figure, Paper, Row, Section, Size
from reproduction.pages import curves, mean_and_sd, method_panels
from reproduction.standings import (
    listed,
    means_by_protocol,
    means_over_k,
    means_table,
    of_dataset,
    place,
    protocol_table,
    standings_text,
)
from rowsparse.evaluation import PROTOCOLS

OWN = "nmapg published"
RATES = {"published": "as printed", "absolute": "mean absolute correlation"}
# In the order of the colours: the methods of the paper get those that stand out.
_DRAWN = {
    method: LABELS[method]
    for method in (
        "nmapg published", "fisherscore", "nmapg", "ttest", "rfs gamma 1", "rpfs published",
        "informationgain", "relieff", "topk",
    )
}  # fmt: skip


def _redundancy_table(rows: Sequence[Row]) -> str:
    blocks = {name: means_over_k(rows, rate, DATASETS, LABELS) for rate, name in RATES.items()}
    return means_table(blocks, DATASETS, LABELS, what="rate", form=".3f")


def _redundancy_text(rows: Sequence[Row]) -> str:
    """Where NmAPG stands by either rate, and whether the rates agree on who is first."""
    means = {rate: means_over_k(rows, rate, DATASETS, LABELS) for rate in RATES}
    ran = [dataset for dataset in DATASETS if OWN in means["absolute"].get(dataset, {})]
    if not ran:
        return "Not run."
    parts = []
    for rate, name in RATES.items():
        places = {
            DATASETS[d]: f"{place(means[rate][d], OWN, sign=1)} of {len(means[rate][d])}"
            for d in ran
        }
        parts.append(
            f"Place of NmAPG as published by the rate {name} (1 repeats least) – {listed(places)}."
        )
    firsts = [{min(means[rate][d], key=means[rate][d].__getitem__) for rate in RATES} for d in ran]
    differ = sum(len(first) > 1 for first in firsts)
    pairs = [(means["published"][d][m], means["absolute"][d][m]) for d in ran for m in LABELS
             if m in means["published"][d]]  # fmt: skip
    below = sum(printed < 0.45 * true for printed, true in pairs)
    parts.append(
        f"The two rates name different methods as the least redundant in {differ} of {len(ran)} "
        f"data sets. If all correlations were positive the printed rate would be half of the "
        f"other; it is less than 0.45 of it in {below} of {len(pairs)} cells, where negative "
        f"correlations cancel positive ones."
    )
    for rate, name in RATES.items():
        inside, _, n = mean_and_sd(rows, rate, method=OWN)
        outside, _, _ = mean_and_sd(rows, f"{rate}_held_out", method=OWN)
        if n:
            parts.append(
                f"On the 30 % that were not selected on, the rate {name} of NmAPG as published is "
                f"{outside:.3f} on average, instead of {inside:.3f} on the 70 %."
            )
    return "\n".join(f"- {part}" for part in parts)


def _redundancy_section(rows: Sequence[Row]) -> Section:
    figures = []
    for rate, name in RATES.items():
        panels = method_panels(rows, DATASETS, _DRAWN, what=rate, factor=1.0)
        if panels:
            draw = curves(panels, x="features", y="redundancy", columns=4)
            caption = f"Redundancy of the selected features, {name}."
            figures.append(Figure(f"an2021-redundancy-{rate}", caption, draw))
    runs = {
        title: len({row["split"] for row in of_dataset(rows, dataset) if "split" in row})
        for dataset, title in DATASETS.items()
        if of_dataset(rows, dataset)
    }
    text = (
        f"{_REDUNDANCY_TEXT.strip()}\n\nSplits that were run, of 10 – {listed(runs) or 'none'}.\n\n"
        f"{_redundancy_text(rows)}\n\nMeans over k and splits:\n\n{_redundancy_table(rows)}"
    )
    return Section("Redundancy rate", text, tuple(figures))


def _accuracy_table(rows: Sequence[Row], methods: Mapping[str, str], estimator: str) -> str:
    found = means_by_protocol(rows, DATASETS, methods, estimator=estimator)
    return protocol_table(found, DATASETS, methods)


def _accuracy_text(rows: Sequence[Row], estimator: str) -> str:
    found = means_by_protocol(rows, DATASETS, LABELS, estimator=estimator)
    return standings_text(found, DATASETS, LABELS, {OWN: "NmAPG as published"})


def _accuracy_section(rows: Sequence[Row], estimator: str) -> Section:
    figures = []
    for protocol in PROTOCOLS:
        panels = method_panels(rows, DATASETS, _DRAWN, estimator=estimator, protocol=protocol)
        if panels:
            name = f"an2021-{estimator.lower().replace(' ', '-')}-{protocol}"
            caption = f"Accuracy of {estimator} over the number of features, {protocol} protocol."
            draw = curves(panels, x="features", y="accuracy, %", columns=4)
            figures.append(Figure(name, caption, draw))
    text = (
        f"{_accuracy_text(rows, estimator)}\n\nMean accuracy in percent over k:\n\n"
        f"{_accuracy_table(rows, LABELS, estimator)}"
    )
    if estimator == ESTIMATORS[0]:
        text = f"{_ACCURACY_TEXT.strip()}\n\n{text}"
    return Section(f"Accuracy: {estimator}", text, tuple(figures))


def best_setting(
    rows: Sequence[Row], methods: Sequence[str], **where: Any
) -> dict[str, tuple[str, float, float]]:
    """By data set: the method with the best mean accuracy, that mean, and that of the last one.

    Of several that are best the one nearest to the last is named.
    """
    means = means_over_k(rows, "accuracy", DATASETS, dict.fromkeys(reversed(methods), ""), **where)
    return {
        dataset: (max(own, key=own.__getitem__), max(own.values()), own[methods[-1]])
        for dataset, own in means.items()
        if methods[-1] in own and len(own) > 1
    }


def _settings_text(rows: Sequence[Row], estimator: str) -> str:
    """What is gained by choosing the penalty on the test folds."""
    gammas = [f"rfs gamma {gamma:g}" for gamma in RFS_GAMMAS]
    families = {
        "γ of RFS (instead of 1)": gammas,
        "ρ of NmAPG (instead of 0.01 ρmax)": ["nmapg rho 0.001", OWN],
    }
    parts = []
    for name, methods in families.items():
        for protocol in PROTOCOLS:
            best = best_setting(rows, methods, estimator=estimator, protocol=protocol)
            if best:
                gain = np.mean([100 * (top - usual) for _, top, usual in best.values()])
                named = {DATASETS[d]: found.rpartition(" ")[2] for d, (found, _, _) in best.items()}
                named = {d: "0.01" if v == "published" else v for d, v in named.items()}
                parts.append(
                    f"- {estimator}, {protocol}: the best {name} adds {gain:.1f} points on "
                    f"average ({listed(named)})."
                )
    return "\n".join(parts)


def _settings_section(rows: Sequence[Row]) -> Section:
    methods = {**OTHER_LABELS, **{m: LABELS[m] for m in ("rfs gamma 1", OWN)}}
    blocks = [
        f"{_settings_text(rows, estimator)}\n\n{estimator}, mean accuracy in percent over k:\n\n"
        f"{_accuracy_table(rows, methods, estimator)}"
        for estimator in ESTIMATORS
    ]
    return Section("Other settings", "\n\n".join([_SETTINGS_TEXT.strip(), *blocks]))


def sections(rows: Mapping[str, list[Row]]) -> list[Section]:
    """Redundancy, accuracies, other settings, convergence, and the objective."""
    accuracy, other = rows.get("accuracy", []), rows.get("settings", [])
    small = {row["dataset"] for row in other if "dataset" in row}
    both = [*other, *(row for row in accuracy if row.get("dataset") in small)]
    return [
        _redundancy_section(rows.get("redundancy", [])),
        *(_accuracy_section(accuracy, estimator) for estimator in ESTIMATORS),
        _settings_section(both),
        convergence_section(rows.get("convergence", [])),
        objective_section(rows.get("objective", [])),
    ]


_REDUNDANCY_TEXT = """
Printed as curves: 70 % of the samples, 10 splits, NmAPG with γ = 1, μ = 0.01, ρ = 0.01 and 1000
iterations. The printed rate is the sum of corr(f_i, f_j) over the pairs i > j divided by
k (k - 1): half of a mean, in which correlations of either sign cancel. The true rate is the mean
of |corr(f_i, f_j)|. On which samples it is taken is not printed: here on the 70 % that the
features were selected on. The corrected variant has γ = 1 and exactly k rows.
"""
_ACCURACY_TEXT = """
Printed as curves: five folds, k = 1 to 50. NmAPG runs Algorithm 2 with γ = 0.1, μ from 1 down by
0.1, 200 iterations each, and ρ = 0.01 ρmax. Whether features were selected inside the folds is not
printed: **honest** does so, **published** standardises and selects on all samples first.
"""
_SETTINGS_TEXT = """
The paper takes ρ from {0.001, 0.01} ρmax and γ of RFS from six values, and does not say how it
chose among them. Each is given here; the best of them by the accuracy of the test folds, which is
what one must not do, says how much could be gained by it. Small data sets only.
"""

PAPER = Paper(
    name="an2021",
    title="An et al. 2021: a difference of convex penalties",
    citation="An, Dong, Qin (2021), NmAPG. *J. Nonlinear Var. Anal.* 5, 59-77.",
    experiments=(
        Experiment("redundancy", "Redundancy rate", redundancy_tasks, redundancy_rows),
        Experiment("accuracy", "Accuracy over k", accuracy_tasks, curve_rows),
        Experiment("settings", "Accuracy, other settings", settings_tasks, curve_rows),
        Experiment("convergence", "Convergence", convergence_tasks, convergence_rows),
        Experiment("objective", "Objective at equal k", objective_tasks, objective_rows),
    ),
    standard=Size(repeats=10, options={"large_repeats": 2}),
    quick=Size(
        "quick",
        repeats=1,
        datasets=("yale", "leukemia"),
        options={
            "methods": (
                "fisherscore",
                "rfs gamma 1",
                "rfs gamma 0.1",
                "nmapg published",
                "nmapg",
                "topk",
            ),
            "ks": (5, 20),
            "redundancy_ks": (5, 20),
            "objective_ks": (10,),
            "folds": 2,
            "iterations": 200,
        },
    ),
    intro="""
The paper has five figures and no tables of numbers: redundancy rates, accuracies of 1-NN and of a
linear SVM with C = 1, and convergence. There is no printed number to compare with, so the columns
are those of the published variant, the corrected one, and TopK. The sections go by what is shown,
not by the numbers of the figures. Of nine data sets GLI-85 is not to be had. What the paper calls
TopK is the method of Cai et al. (2013), here **RPFS**; **TopK** on this page is this library's.

Printed: W = 0 as start, τ = 2L, δ = 0.1 (τ - L), η = 0.9; RFS with γ in 0.001, 0.01, 0.1, 0.2, 0.8
and 1; RPFS with μ = 0.1, ρ = 1.02 and 1000 iterations; the filters without parameters. Not printed,
and taken: standardised columns, and no constant feature in the published variant; the random start
of RPFS, N(0, 0.03²) as on the page of Cai et al.; RFS with γ = 1 (the others are below); for
ReliefF ten neighbours, for the t-test all pairs of classes. **published** has the
printed proximal operator and Lipschitz constant and ranks rows; **corrected** has the exact
operator and the spectral constant, starts from RFS and forward selection, and refits.

Reduced: k in six steps for the accuracies (`ks`) and in four for the redundancy
(`redundancy_ks`); the folds are shuffled once (`shuffles`), and of USPS there is one split into
80 and 20 %; two splits instead of ten for the redundancy on Isolet, COIL20 and USPS
(`large_repeats`); other settings on the five small sets; on the three large ones the corrected
NmAPG starts from forward selection only, and TopK with the ℓ2,1 loss has no restarts. RFS as
published ends after 100 iterations.
""",
    sections=sections,
)
