"""Kong & Ding (AAAI 2014): the residue of 20 features, accuracy over k, and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.accuracy import accuracy_rows
from reproduction.declare import Experiment, Figure, Paper, Row, Section, Size
from reproduction.kong2014_runs import (
    CONVEX,
    DATASETS,
    ESTIMATORS,
    LABELS,
    MULTILABEL,
    N_FEATURES,
    PRINTED,
    PS,
    READINGS,
    SCALINGS,
    STARTS,
    TITLES,
    accuracy_tasks,
    label_tasks,
    settings_rows,
    settings_tasks,
    table_rows,
    table_tasks,
)
from reproduction.pages import curves, markdown_table, mean_and_sd, method_panels
from reproduction.standings import means_by_protocol, protocol_table, standings_text
from rowsparse.evaluation import PROTOCOLS

KINDS = ("refitted", "penalised")
# Relative distance from a printed residue that counts as agreement: no spread is printed.
NEAR = 0.05
_NEAR = f"{100 * NEAR:g} %"
# Settings that are named where many fit.
_LISTED = 4
_WATCHED = {"lpinf p = 0.1": "ℓp,∞ with p = 0.1", "lpinf p = 0.5": "ℓp,∞ with p = 0.5"}
_METRICS = {"accuracy": "Accuracy", "macro_f1": "Macro-F1"}
VARIANTS = {"lpinf published": "published", "lpinf": "corrected"}


def _value(rows: Sequence[Row], what: str, **where: Any) -> float | None:
    mean, _, n = mean_and_sd(rows, what, **where)
    return mean if n else None


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _cells(rows: Sequence[Row], variant: str, start: str, kind: str) -> list[float | None]:
    """The residues for p < 1 from one start, and for p = 1."""
    found = [_value(rows, kind, method=variant, p=p, start=start) for p in PS]
    return [*found, _value(rows, kind, method=variant, p=1.0)]


def _table(rows: Sequence[Row], dataset: str) -> str:
    """Printed, published and corrected, from both starts and in both readings."""
    header = ["residue", "start", *(f"p = {p:g}" for p in PS), "p = 1", "ℓ2,1", "TopK", "all"]
    printed = PRINTED[dataset]
    lines = [
        ["printed", label, *map(_shown, (*printed[start], *printed["convex"])), "–", "–"]
        for start, label in STARTS.items()
    ]
    for scaling, kind in READINGS.items():
        own = [row for row in rows if row.get("scaling") == scaling]
        last = [_value(own, kind, method=method) for method in ("mtfs", "topk")]
        last.append(_value(own, "floor"))
        for variant, name in VARIANTS.items():
            for start, label in STARTS.items():
                cells = _cells(own, variant, start, kind)
                if any(cell is not None for cell in cells):
                    title = f"{name}, {scaling}, {kind}"
                    shown = list(map(_shown, cells))
                    if kind == "penalised":
                        shown = _marked(shown, _cells(own, variant, start, "rows"))
                    lines.append([title, label, *shown, *map(_shown, last)])
    return markdown_table(header, lines)


def _marked(shown: list[str], rows: Sequence[float | None]) -> list[str]:
    """A star where the solution has more rows than there are features to select."""
    return [
        cell + "*" * (count is not None and count > N_FEATURES)
        for cell, count in zip(shown, rows, strict=True)
    ]


def _stars(rows: Sequence[Row]) -> str:
    """What the stars are about, if there are any."""
    own = [
        row
        for row in rows
        if READINGS.get(row.get("scaling", "")) == "penalised" and row["rows"] > N_FEATURES
    ]
    if not own:
        return ""
    text = f"\n- A star: more than {N_FEATURES} rows remain at the penalty that comes nearest"
    below = [row for row in own if row["p"] < 1]
    if below:
        most = max(below, key=lambda row: row["rows"])
        text += f", for p < 1 up to {most['rows']} ({DATASETS[most['dataset']]}, p = {most['p']:g})"
    return (
        f"{text}; the residue is that of all of them. For p = 1 the printed operator leaves no "
        "row at zero whatever the penalty."
    )


def _agreement(rows: Sequence[Row], scaling: str, variant: str) -> str:
    """In how many cells of each data set a variant is near what is printed."""
    parts = []
    for dataset, title in DATASETS.items():
        own = [r for r in rows if r.get("dataset") == dataset and r.get("scaling") == scaling]
        pairs = [
            (_value(own, READINGS[scaling], method=variant, p=p, start=start), wanted)
            for start in STARTS
            for p, wanted in zip(PS, PRINTED[dataset][start], strict=True)
        ]
        found = [(value, wanted) for value, wanted in pairs if value is not None]
        if found:
            hits = sum(abs(value / wanted - 1.0) <= NEAR for value, wanted in found)
            below = sum(value < wanted for value, wanted in found)
            parts.append(f"{title} {hits} of {len(found)} ({below} below the printed)")
    return ", ".join(parts) or "not run"


def _table_text(rows: Sequence[Row]) -> str:
    lines = [
        f"- {name}, {scaling}, {READINGS[scaling]}: within {_NEAR} of the printed residue for "
        f"p < 1: {_agreement(rows, scaling, variant)}."
        for scaling in READINGS
        for variant, name in VARIANTS.items()
    ]
    return "\n".join([*lines, _TABLE_REASON.strip()]) + _stars(rows)


def setting_deviations(
    rows: Sequence[Row],
) -> dict[tuple[str, str, str, bool], dict[str, dict[str, float]]]:
    """Relative distances from the printed convex residues.

    By kind of residue, scaling, labels and intercept; then by data set (``carcinom log2`` is CAR
    on a logarithmic scale) and method.
    """
    found: dict[tuple[str, str, str, bool], dict[str, dict[str, float]]] = {}
    for row in rows:
        if "scaling" not in row:
            continue
        at = list(CONVEX).index(row["method"])
        name = row["dataset"] + " log2" * bool(row["logarithms"])
        for kind in KINDS:
            key = (kind, row["scaling"], row["labels"], bool(row["intercept"]))
            own = found.setdefault(key, {}).setdefault(name, {})
            own[row["method"]] = row[kind] / PRINTED[row["dataset"]]["convex"][at] - 1.0
    return found


def _worst(of: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> float:
    """The largest distance over data sets and methods; infinite if one is missing."""
    complete = all(len(of.get(name, {})) == len(CONVEX) for name in names)
    return max(abs(d) for name in names for d in of[name].values()) if complete else np.inf


def _named(key: tuple[str, str, str, bool]) -> str:
    kind, scaling, labels, intercept = key
    coding = "labels 0/1" if labels == "one-hot" else "labels ±1"
    return f"{scaling}, {coding}, {'with' if intercept else 'no'} intercept, {kind}"


def _settings(rows: Sequence[Row]) -> str:
    found = setting_deviations(rows)
    names = [name for name in DATASETS if any(name in of for of in found.values())]
    if not found:
        return "Not run."
    ranked = sorted(found, key=lambda key: sorted(_worst(found[key], [n]) for n in names))
    ranked.sort(key=lambda key: -sum(_worst(found[key], [n]) <= NEAR for n in names))
    shown = [*names, *["carcinom log2"] * ("carcinom" in names)]
    titles = [DATASETS.get(name, "CAR, log2") for name in shown]
    header = ["setting", *(f"{t}, {m}" for t in titles for m in CONVEX.values()), "data sets"]
    lines = []
    for key in ranked[:8]:
        of = found[key]
        cells = [f"{100 * of[n][m]:+.1f}" if m in of.get(n, {}) else "–"
                 for n in shown for m in CONVEX]  # fmt: skip
        near = sum(_worst(of, [name]) <= NEAR for name in names)
        lines.append([_named(key), *cells, f"{near} of {len(names)}"])
    return f"{markdown_table(header, lines)}\n\n{_verdict(found, names, ranked[0], len(found))}"


def _verdict(
    found: Mapping[tuple[str, str, str, bool], Mapping[str, Mapping[str, float]]],
    names: Sequence[str],
    first: tuple[str, str, str, bool],
    number: int,
) -> str:
    """What the settings say, and of LUNG and CAR in particular."""
    everywhere = [key for key in found if _worst(found[key], names) <= NEAR]
    near = [name for name in names if _worst(found[first], [name]) <= NEAR]
    parts = [
        f"Settings within {_NEAR} of both printed convex residues on all data sets that were run "
        f"({', '.join(DATASETS[n] for n in names)}): {len(everywhere)} of {number}. On most data "
        f"sets: **{_named(first)}**, with {', '.join(DATASETS[n] for n in near) or 'none'}."
    ]
    for name in names:
        fits = [_named(key) for key in found if _worst(found[key], [name]) <= NEAR]
        best = min(found, key=lambda key: _worst(found[key], [name]))
        least = 100 * _worst(found[best], [name])
        nearest = f"none; the nearest is {_named(best)}, {least:.0f} % off"
        many = f"{len(fits)} settings, among them " * (len(fits) > _LISTED)
        parts.append(f"That fit {DATASETS[name]}: {many}{'; '.join(fits[:_LISTED]) or nearest}.")
    centred = [k for k in found if k[1] in ("standardised", "centred") and not k[3]]
    if "lung" in names and centred:
        least = min(_worst(found[key], ["lung"]) for key in centred)
        parts.append(
            "LUNG with centred columns and no intercept cannot fall below 10.05, the part of the "
            f"labels that such columns do not reach: the nearest is {100 * least:.0f} % off."
        )
    parts.append(
        f"With {number} settings tried, some fit by chance, and the columns for p < 1 take no "
        "part: a fit is a candidate, no proof."
    )
    return "\n".join(f"- {part}" for part in parts)


def _scores(rows: Sequence[Row], names: Mapping[str, str], what: str, judge: str) -> str:
    """Who stands where, and the means over k."""
    found = means_by_protocol(rows, names, TITLES, what=what, estimator=judge)
    return (
        f"{judge}. {_METRICS[what]} in percent, mean over k:\n\n"
        f"{protocol_table(found, names, TITLES)}\n\n"
        f"{standings_text(found, names, TITLES, _WATCHED)}"
    )


def _figures(
    rows: Sequence[Row], names: Mapping[str, str], figure: str, what: str, judge: str
) -> tuple[Figure, ...]:
    drawn = []
    for protocol in PROTOCOLS:
        panels = method_panels(rows, names, TITLES, what=what, estimator=judge, protocol=protocol)
        if panels:
            title = _METRICS[what]
            drawn.append(
                Figure(
                    f"kong2014-{figure}-{judge.lower().replace(' ', '-')}-{protocol}",
                    f"{title} of {judge} over the number of features, {protocol} protocol.",
                    curves(panels, x="features", y=f"{title}, %", columns=2),
                )
            )
    return tuple(drawn)


def sections(rows: Mapping[str, list[Row]]) -> list[Section]:
    """Table 2, what its settings were, Figure 2 and Figure 3."""
    table, settings = rows.get("table2", []), rows.get("settings", [])
    accuracy, labels = rows.get("figure2", []), rows.get("figure3", [])
    tables = "\n\n".join(
        f"**{title}**\n\n{_table([r for r in table if r.get('dataset') == name], name)}"
        for name, title in DATASETS.items()
    )
    scores = "\n\n".join(_scores(accuracy, DATASETS, "accuracy", judge) for judge in ESTIMATORS)
    pictures = [_figures(accuracy, DATASETS, "figure2", "accuracy", j) for j in ESTIMATORS]
    return [
        Section("Table 2", f"{_TABLE_TEXT.strip()}\n\n{tables}\n\n{_table_text(table)}"),
        Section("What Table 2 is", f"{_SETTINGS_TEXT.strip()}\n\n{_settings(settings)}"),
        Section(
            "Figure 2",
            f"{_FIGURE2_TEXT.strip()}\n\n{scores}",
            tuple(figure for drawn in pictures for figure in drawn),
        ),
        Section(
            "Figure 3",
            f"{_FIGURE3_TEXT.strip()}\n\n" + _scores(labels, MULTILABEL, "macro_f1", "linear SVM"),
            _figures(labels, MULTILABEL, "figure3", "macro_f1", "linear SVM"),
        ),
    ]


_TABLE_TEXT = """
The residue is the Frobenius norm of what 20 features leave of the label matrix. Two readings are
given, both with labels of 0 and 1 and no intercept: columns standardised and the residue refitted
by least squares; and columns of unit standard deviation that are not centred, with the residue of
the penalised solution, which was taken after seeing that it fits the convex columns best (next
section). p = 1 and ℓ2,1 are convex and have one answer; TopK minimises the refitted residue
itself. "all" is the residue of all features: no choice can be below it.
"""
_TABLE_REASON = """
- For p < 1 the answer depends on the penalty, on the stopping rule and on what is done where the
  printed operator is undefined, none of which is printed: a likely reason for what does not agree,
  but one that these runs do not prove. Only the convex columns have an answer of their own.
"""
_SETTINGS_TEXT = f"""
Neither scaling nor labels nor intercept are printed, nor whether coefficients are refitted. The
two convex columns have one answer for each setting, so they can tell: every combination of
{len(SCALINGS)} scalings, {len(LABELS)} codings of the labels, an intercept or none, and a refit or
none. Entries are distances from the printed residue in percent. The genes of CAR are an
approximation, and its scale in the paper is not known: it is given as distributed and as log2 of
intensities cut to 100 to 16000. ALLAML is distributed standardised, so that it cannot tell
standardised columns from those that are as distributed.
"""
_FIGURE2_TEXT = """
Printed as curves only: nothing to compare digit by digit. Not printed: the k of kNN (1 and 3 are
given), p, and whether features were selected inside the folds (both are given). The number of
features ends at 40, since from the number of training samples on, 40 in GLIOMA, any choice fits
the training data.
"""
_FIGURE3_TEXT = """
The three image sets of the paper are not to be had; these four take their place, so that only the
order of the methods can be compared. Rivals score each label by itself and average (binary
relevance); the F-statistic of all labels at once is given too. Five folds, linear SVM with C = 1
for each label.
"""

PAPER = Paper(
    name="kong2014",
    title="Kong & Ding 2014: the ℓp,∞ operator",
    citation=("D. Kong, C. Ding. *Non-Convex Feature Learning via ℓp,∞ Operator.* AAAI 2014."),
    experiments=(
        Experiment("table2", "Table 2: residue", table_tasks, table_rows),
        Experiment("settings", "Table 2: settings", settings_tasks, settings_rows),
        Experiment("figure2", "Figure 2: accuracy", accuracy_tasks, accuracy_rows),
        Experiment("figure3", "Figure 3: macro-F1", label_tasks, accuracy_rows),
    ),
    standard=Size(repeats=5),
    quick=Size(
        "quick",
        repeats=1,
        datasets=("glioma", "allaml", "emotions"),
        options={
            "methods": ("fstatistic", "mtfs", "lpinf", "topk"),
            "scalings": ("standardised", "unit sd"),
            "ks": (5, 10),
            "label_ks": (5, 10),
        },
    ),
    intro="""
Printed: residues of 20 features, p from 0.1 to 1, two starts for p < 1 (the ridge solution, and
the solution for p = 1 followed down), and ℓ2,1; accuracies of kNN and SVM by five folds, five
times, and macro-F1 on labels, as curves. Not printed: the penalty, the scale of the loss and the
stopping rule. The penalty is searched for 20 rows. **published** is FISTA with the printed
operator, stopped after 100 iterations, since it has no fixed point; **corrected** has the exact
operator and a monotone descent.

Reduced: Figure 2 repeats the five folds five times, as printed, for the fast methods, and once for
ℓp,∞ and for selections on all samples; Figure 3 has one repetition; the published variant is run
in Figure 2 on all samples only. `repeat_all` in the options of the size repeats everything. In
both figures ℓp,∞ starts from the solution for p = 1 only, as the ridge start takes longer;
`"init": "best"` in `METHODS` takes the better of both.
""",
    sections=sections,
)
