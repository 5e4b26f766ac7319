"""Kong & Ding (AAAI 2014): the residue of 20 features, accuracy over k, and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from reproduction.accuracy import accuracy_rows
from reproduction.claims import Claim, share, split
from reproduction.declare import Experiment, Paper, Row, labels
from reproduction.kong2014_runs import (
    CONTENDERS,
    CONVEX,
    DATASETS,
    DECLARED,
    ESTIMATORS,
    LABEL_CODES,
    LABEL_CONTENDERS,
    MULTILABEL,
    N_FEATURES,
    PS,
    READINGS,
    SCALINGS,
    STARTS,
    figure_tasks,
    label_tasks,
    settings_rows,
    settings_tasks,
    table_rows,
    table_tasks,
)
from reproduction.sections import accuracy_section
from reproduction.summaries import Means, matching, mean_and_sd, means_by_protocol
from reproduction.tables import DASH, markdown_table, shown

TABLE: dict[str, dict[str, list[float]]] = DECLARED.table("printed")
VARIANTS = {"lpinf published": "published", "lpinf": "corrected"}
_JUDGED = tuple(f"{name}, {READINGS[0]}" for name in VARIANTS.values())
# Relative distance from a printed residue that counts as agreement: no spread is printed.
NEAR = 0.05
RESIDUE_HEADER = ["columns", "start", *(f"p = {p:g}" for p in PS), "p = 1", "ℓ2,1", "TopK", "all"]
# Settings in the table.
_SHOWN = 8
# The printed operator in Figure 2, by p: from both starts, of which the paper takes the better.
OWN = {
    "lpinf p = 0.25": ("lpinf published p = 0.25", "lpinf published p = 0.25 from p = 1"),
    "lpinf p = 0.5": ("lpinf published", "lpinf published from p = 1"),
    "lpinf p = 1": ("lpinf published p = 1",),
}
BEST_START = "as printed, better start"
# Those of Figure 2; CAR is added here.
PRINTED_SETS = ("allaml", "glioma", "lung")
# Residues by least squares on the selected features, as printed, and of the penalised solution.
PRINTED_KIND, PENALISED = "refitted", "penalised"


class Setting(NamedTuple):
    """A reading of Table 2; kind and intercept are printed, scaling and labels are not."""

    kind: str
    scaling: str
    labels: str
    intercept: bool

    @property
    def as_printed(self) -> bool:
        """Whether the residue is the one that the paper defines."""
        return self.kind == PRINTED_KIND and not self.intercept

    def __str__(self) -> str:
        coding = "labels 0/1" if self.labels == "one-hot" else "labels ±1"
        intercept = "with" if self.intercept else "no"
        return f"{self.scaling}, {coding}, {intercept} intercept, {self.kind}"


# Relative distances from the printed convex residues, by data set and method.
Deviations = Mapping[str, Mapping[str, float]]


# ------------------------------------------------------------------------------- Table 2
def _value(rows: Sequence[Row], what: str, **where: Any) -> float | None:
    mean, _, n = mean_and_sd(rows, what, **where)
    return mean if n else None


def _cells(rows: Sequence[Row], variant: str, start: str, what: str) -> list[float | None]:
    """A value for p < 1 from one start, and for p = 1."""
    found = [_value(rows, what, method=variant, p=p, start=start) for p in PS]
    return [*found, _value(rows, what, method=variant, p=1.0)]


def residue_lines(
    rows: Sequence[Row], dataset: str, scalings: Sequence[str] = READINGS
) -> list[list[str]]:
    """Printed, published and corrected, from both starts."""
    printed = TABLE[dataset]
    lines = []
    for start, label in STARTS.items():
        numbers = [f"{value:.4f}" for value in (*printed[start], *printed["convex"])]
        lines.append(["printed", label, *numbers, DASH, DASH])
    for scaling in scalings:
        own = matching(rows, dataset=dataset, scaling=scaling)
        last = [_value(own, PRINTED_KIND, method=method) for method in ("mtfs", "topk")]
        last.append(_value(own, "floor"))
        for variant, name in VARIANTS.items():
            for start, label in STARTS.items():
                cells = _cells(own, variant, start, PRINTED_KIND)
                if any(cell is not None for cell in cells):
                    numbers = [shown(value, ".4f") for value in (*cells, *last)]
                    lines.append([f"{name}, {scaling}", label, *numbers])
    return lines


def table_claims(rows: Sequence[Row]) -> list[Claim]:
    """What the paper says of Table 2, counted in the printed numbers and in ours.

    Judged on standardised columns.
    """
    told = _counts(lambda d, start: [*TABLE[d][start], *TABLE[d]["convex"]])
    ours = {
        f"{name}, {scaling}": _counts(partial(_line, rows, variant, scaling))
        for scaling in READINGS
        for variant, name in VARIANTS.items()
    }
    sentences = (
        'Table 2: the ridge start "gives slightly better results" than the start at p = 1',
        'Table 2: "smaller p values give much smaller residues ... not always consistent"',
        'Table 2: residues for p < 1 "generally better" than those of ℓ2,1',
        "Table 2: those for p = 1 too",
    )
    return [
        split(
            sentence,
            share(told[at]),
            {name: counts[at] for name, counts in ours.items()},
            _JUDGED,
        )
        for at, sentence in enumerate(sentences)
    ]


def figure_claims(figure2: Sequence[Row], figure3: Sequence[Row]) -> list[Claim]:
    """What the paper says of Figures 2 and 3, by the means over k.

    Figure 2 is judged by the published variant from the better of both starts, selected on all
    samples, and by the corrected one inside the folds; Figure 3, on other data than the paper's,
    by the corrected one.
    """
    filters = ("fstatistic", "relieff", "mrmr")
    corrected = {"published": "corrected, published", "honest": "corrected, honest"}
    second: dict[str, Means] = {}
    for estimator in ESTIMATORS:
        found = means_by_protocol(figure2, PRINTED_SETS, CONTENDERS, estimator=estimator)
        for protocol, means in found.items():
            for dataset, own in means.items():
                where = f"{estimator} {dataset}"
                second.setdefault(corrected[protocol], {})[where] = own
                if protocol == "published":
                    as_printed = own | {
                        p: max(own.get(m, 0.0) for m in ms) for p, ms in OWN.items()
                    }
                    second.setdefault(BEST_START, {})[where] = as_printed
    third = means_by_protocol(
        figure3, MULTILABEL, LABEL_CONTENDERS, what="macro_f1", estimator="linear SVM"
    )
    small, one = ("lpinf p = 0.25", "lpinf p = 0.5"), "lpinf p = 1"
    judged = (BEST_START, corrected["honest"])
    return [
        split(
            'Figure 2 (1): "better results as compared to F-statistics, ReliefF and mRmR"',
            "curves",
            _above(second, (*small, one), filters),
            judged,
        ),
        split(
            'Figure 2 (2): "slightly better when p is small (say p = 0.25, 0.5)" than p = 1',
            "curves",
            _above(second, small, (one,)),
            judged,
        ),
        split(
            'Figure 2 (3): smaller p "generally better than ℓ2,1"',
            "curves",
            _above(second, small, ("mtfs",)),
            judged,
        ),
        split(
            'Figure 3: "much better than the other three feature selection methods" (labels)',
            "curves, other data",
            _above(third, (*small, one), filters),
        ),
        split(
            'Figure 3: "when p is small, the feature selection results are generally better than '
            'p = 1"',
            "curves, other data",
            _above(third, small, (one,)),
        ),
    ]


def _above(
    blocks: Mapping[str, Means], methods: Sequence[str], rivals: Sequence[str]
) -> dict[str, list[bool]]:
    """By block: whether each method is above all of the rivals, where all of them were run."""
    return {
        name: [
            own[method] > max(own[rival] for rival in rivals)
            for own in means.values()
            if {*methods, *rivals} <= set(own)
            for method in methods
        ]
        for name, means in blocks.items()
    }


def _line(
    rows: Sequence[Row], variant: str, scaling: str, dataset: str, start: str
) -> list[float | None]:
    """Residues for the p < 1, for p = 1, and of ℓ2,1."""
    own = matching(rows, dataset=dataset, scaling=scaling)
    return [
        *_cells(own, variant, start, PRINTED_KIND),
        _value(own, PRINTED_KIND, method="mtfs"),
    ]


def _counts(line: Callable[[str, str], Sequence[float | None]]) -> list[list[bool]]:
    """Ridge start better; smaller p better; p < 1 and p = 1 below ℓ2,1."""
    ridge, smaller, below, convex = [], [], [], []
    for dataset in DATASETS:
        lines = {start: line(dataset, start) for start in STARTS}
        if None in [value for values in lines.values() for value in values]:
            continue
        values = {start: [v for v in found if v is not None] for start, found in lines.items()}
        ends = values["ridge"], values["continuation"]
        ridge += [a < b for a, b in zip(*ends, strict=True)][: len(PS)]
        for *found, norm in ends:
            smaller += [a < b for a, b in pairwise(found)]
            below += [value < norm for value in found[: len(PS)]]
        convex.append(ends[0][-2] < ends[0][-1])
    return [ridge, smaller, below, convex]


def agreement(rows: Sequence[Row], scaling: str, variant: str) -> dict[str, list[bool]]:
    """By data set: in which cells for p < 1 a variant is near what is printed."""
    parts = {}
    for dataset, title in DATASETS.items():
        own = matching(rows, dataset=dataset, scaling=scaling, method=variant)
        pairs = [
            (value, wanted)
            for start in STARTS
            for p, wanted in zip(PS, TABLE[dataset][start], strict=True)
            if (value := _value(own, PRINTED_KIND, p=p, start=start)) is not None
        ]
        if pairs:
            parts[title] = [abs(value / wanted - 1.0) <= NEAR for value, wanted in pairs]
    return parts


# ---------------------------------------------------------------- the settings of Table 2
def setting_deviations(rows: Sequence[Row]) -> dict[Setting, dict[str, dict[str, float]]]:
    """Relative distances from the printed convex residues, by setting, data set and method.

    ``carcinom log2`` is CAR on a logarithmic scale.
    """
    found: dict[Setting, dict[str, dict[str, float]]] = {}
    for row in rows:
        if "scaling" not in row:
            continue
        at = list(CONVEX).index(row["method"])
        name = row["dataset"] + " log2" * bool(row["logarithms"])
        for kind in (PRINTED_KIND, PENALISED):
            key = Setting(kind, row["scaling"], row["labels"], bool(row["intercept"]))
            own = found.setdefault(key, {}).setdefault(name, {})
            own[row["method"]] = row[kind] / TABLE[row["dataset"]]["convex"][at] - 1.0
    return found


def _worst(of: Deviations, names: Sequence[str]) -> float:
    """The largest distance over data sets and methods; infinite if one is missing."""
    complete = all(len(of.get(name, {})) == len(CONVEX) for name in names)
    return max(abs(d) for name in names for d in of[name].values()) if complete else np.inf


def settings_context(rows: Sequence[Row]) -> dict[str, Any] | None:
    """The settings that come nearest to the printed convex residues, and what fits where."""
    every = setting_deviations(rows)
    found = {key: of for key, of in every.items() if key.as_printed}
    if not found:
        return None
    names = [name for name in DATASETS if any(name in of for of in found.values())]

    def near(key: Setting) -> list[str]:
        return [name for name in names if _worst(every[key], [name]) <= NEAR]

    ranked = sorted(found, key=lambda key: sorted(_worst(found[key], [n]) for n in names))
    ranked.sort(key=lambda key: -len(near(key)))
    columns = [*names, *["carcinom log2"] * ("carcinom" in names)]
    titles = [DATASETS.get(name, "CAR, log2") for name in columns]
    header = [f"{title}, {c.label}" for title in titles for c in CONVEX.values()]
    lines = [
        [
            key,
            *(
                f"{100 * found[key][n][m]:+.1f}" if m in found[key].get(n, {}) else DASH
                for n in columns
                for m in CONVEX
            ),
            f"{len(near(key))} of {len(names)}",
        ]
        for key in ranked[:_SHOWN]
    ]
    fits = {}
    for name in names:
        best = min(found, key=lambda key: _worst(found[key], [name]))
        fits[DATASETS[name]] = {
            "settings": [str(key) for key in found if _worst(found[key], [name]) <= NEAR],
            "nearest": best,
            "off": 100 * _worst(found[best], [name]),
        }
    centred = [k for k in found if k.scaling in ("standardised", "centred")]
    lung = [100 * _worst(found[key], ["lung"]) for key in centred if "lung" in names]
    return {
        "table": markdown_table(["setting", *header, "data sets"], lines),
        "names": [DATASETS[name] for name in names],
        "everywhere": sum(_worst(of, names) <= NEAR for of in found.values()),
        "number": len(found),
        "first": ranked[0],
        "first_near": [DATASETS[name] for name in near(ranked[0])],
        "fits": fits,
        "lung_off": min(lung, default=None),
        "other": max((key for key in every if not key.as_printed), key=lambda k: len(near(k))),
        "other_near": max(
            ([DATASETS[n] for n in near(key)] for key in every if not key.as_printed), key=len
        ),
    }


# ------------------------------------------------------------------------------- the page
def page(rows: Mapping[str, list[Row]]) -> dict[str, Any]:
    """Table 2, what its settings were, Figure 2 and Figure 3."""
    table = rows.get("table2", [])
    near = {
        (name, scaling): agreement(table, scaling, variant)
        for scaling in READINGS
        for variant, name in VARIANTS.items()
    }
    return {
        "near": f"{100 * NEAR:g} %",
        "n_features": N_FEATURES,
        "tables": {
            title: markdown_table(RESIDUE_HEADER, residue_lines(table, name, READINGS[:1]))
            for name, title in DATASETS.items()
        },
        "residues": markdown_table(
            ["data", *RESIDUE_HEADER],
            [
                [title, *line]
                for name, title in DATASETS.items()
                for line in residue_lines(table, name)
            ],
        ),
        "agreement": [
            [f"{name}, {scaling}", *(share(found.get(title, [])) for title in DATASETS.values())]
            for (name, scaling), found in near.items()
        ],
        "datasets": DATASETS,
        "claims": [
            split(
                f"Table 2: residues for p < 1, within {100 * NEAR:g} %",
                "32 cells",
                {
                    f"{name}, {scaling}": [hit for own in found.values() for hit in own]
                    for (name, scaling), found in near.items()
                },
                _JUDGED,
            ),
            *table_claims(table),
            *figure_claims(rows.get("figure2", []), rows.get("figure3", [])),
        ],
        "n_scalings": len(SCALINGS),
        "n_codings": len(LABEL_CODES),
        "settings": settings_context(rows.get("settings", [])),
        "figure2": [
            accuracy_section(
                f"kong2014-figure2-{judge.lower().replace(' ', '-')}",
                rows.get("figure2", []),
                DATASETS,
                labels(CONTENDERS),
                estimator=judge,
                y="Accuracy, %",
                subject=CONTENDERS["lpinf p = 0.25"].label,
            )
            for judge in ESTIMATORS
        ],
        "figure3": [
            accuracy_section(
                "kong2014-figure3-linear-svm",
                rows.get("figure3", []),
                MULTILABEL,
                labels(LABEL_CONTENDERS),
                estimator="linear SVM",
                what="macro_f1",
                y="Macro-F1, %",
                subject=CONTENDERS["lpinf p = 0.25"].label,
            )
        ],
    }


PAPER = Paper(
    name="kong2014",
    experiments=(
        Experiment("table2", table_tasks, table_rows),
        Experiment("settings", settings_tasks, settings_rows),
        Experiment("figure2", figure_tasks, accuracy_rows),
        Experiment("figure3", label_tasks, accuracy_rows),
    ),
    standard=DECLARED.size("standard"),
    quick=DECLARED.size("quick"),
    page=page,
)
