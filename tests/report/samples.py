"""Results to make pages of: realistic ones, and ones whose names mean harm."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
from scipy.stats import false_discovery_control

from rowsparse.evaluation import Record, SelectionCurve
from rowsparse.workflow.results import (
    Certificate,
    ClassScore,
    CloseFeature,
    ComparisonResult,
    Confusion,
    DataSummary,
    Distribution,
    KCurve,
    PathResult,
    ProgressPoint,
    RankedFeature,
    SelectionResult,
)
from rowsparse.workflow.univariate import UnivariateTests

SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
VERSIONS = {"python": "3.11.7", "rowsparse": "0.1.0", "numpy": "2.4.6", "scikit-learn": "1.9.1"}
SECONDS = {"read": 0.21, "select": 1.37, "validate": 2.6}

# Each would do something if it were not shown as text: run, close a tag or an attribute, reorder
# the line, break XML or UTF-8, or blow up the layout.
HOSTILE = (
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    '"><img src=x onerror="window.hacked=3">',
    "' onmouseover='window.hacked=4",
    "</style><svg onload=window.hacked=5>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.hacked=6",
    "x" * 10_000,
    "👩‍🔬🧬 emoji 🏳️‍🌈",
    "שלום עולם",
    "\u202eetisoppo\u202c",
    "tab\tnewline\nnull\x00bell\x07",
    "]]><!-- -->&amp;&#60;",
    "half a pair \ud83d",
    "same name",
    "same name",
    "",
    "   ",
    "漢字の特徴量" * 10,
    "z\u0300\u0301\u0302\u0303\u0304",
)


@cache
def digits() -> SelectionResult:
    """Ten classes, a number of features that cross-validation chose, and a proof that went on."""
    ks = tuple(range(1, 21))
    mean = tuple((0.94 - 0.8 * np.exp(-np.array(ks) / 4.5)).tolist())
    full = genes(10, 64, 10)
    notes = (
        "The column “id” was left out: it has a different value in every row.",
        "3 constant columns were left out: pixel 0,0, pixel 4,0 and pixel 4,7.",
    )
    return dataclasses.replace(
        full,
        data=dataclasses.replace(full.data, source="digits.csv", notes=notes),
        k_was_chosen=True,
        settings={"k": "auto", "certify": True, "include": [], "exclude": None, "random_state": 0},
        certificate=Certificate("gap", 281.4, 280.3, 0.0039, 1234),
        curve=KCurve("accuracy", ks, mean, (0.03,) * 20, 20, 10, 10),
        stability=(0.71, 0.66, 0.76),
        progress=(
            ProgressPoint(0.01, 310.0, 150.0),
            ProgressPoint(0.08, 284.0, 262.0),
            ProgressPoint(0.4, 281.4, 274.0),
            ProgressPoint(9.0, 281.4, 280.3),
        ),
        warnings=(),
    )


def class_scores(names: tuple[str, ...]) -> tuple[ClassScore, ...]:
    """Each class is told from the rest a little worse than the one before it."""
    rate = np.linspace(0.0, 1.0, 30)
    return tuple(
        ClassScore(
            name,
            30,
            1 / len(names),
            0.95 - 0.05 * at,
            0.98,
            1 / (1 + 0.05 + 0.05 * at),
            0.97 - 0.05 * at,
            tuple(rate.tolist()),
            tuple((rate ** (0.05 + 0.05 * at)).tolist()),
            tuple(rate[::-1].tolist()),
            tuple((1 - (0.2 + 0.1 * at) * rate[::-1] ** 4).tolist()),
        )
        for at, name in enumerate(names)
    )


def tests_of(
    features: tuple[RankedFeature, ...], d: int, names: tuple[str, ...]
) -> UnivariateTests:
    """Most features do not differ, the selected ones do."""
    rng = np.random.default_rng(2)
    effects = rng.normal(size=d) * 0.3
    for feature in features:
        effects[feature.index] = 2.0 - 0.1 * feature.rank if feature.rank % 3 else -1.5
    p = np.minimum(np.exp(-4 * np.abs(effects) ** 2) * rng.random(d), 1.0)
    groups = np.arange(d) % len(names) if len(names) > 2 else np.ones(d, dtype=int)
    return UnivariateTests(
        "t test",
        "standardised mean difference",
        p,
        false_discovery_control(p),
        effects,
        groups,
        names,
    )


def with_tests(result: SelectionResult) -> SelectionResult:
    """The result with tests of its features."""
    d = max(result.data.n_features, 1 + max(feature.index for feature in result.features))
    tests = tests_of(result.features, d, result.data.classes)
    features = tuple(dataclasses.replace(f, **tests.of(f.index)) for f in result.features)
    return dataclasses.replace(result, features=features, tests=tests)


def genes(k: int = 20, n_features: int = 7129, n_classes: int = 2) -> SelectionResult:
    """A gene table: many columns, few samples, names as they are in such tables."""
    rng = np.random.default_rng(7)
    classes = ("ALL", "AML") if n_classes == 2 else tuple(f"class {c}" for c in range(n_classes))
    picked = rng.choice(n_features, k, replace=False)
    names = [f"{'XMLU'[j % 4]}{j:05d}_{'at' if j % 3 else 's_at'}" for j in picked]
    factors = rng.normal(size=(60, k)) + rng.normal(size=(60, 1)) * rng.normal(size=(1, k))
    scores = np.sort(rng.gamma(2.0, 0.4, k))[::-1]
    coefficients = rng.normal(size=(k, n_classes))
    if n_classes == 2:
        coefficients[:, 1] = -coefficients[:, 0]
    centres = rng.normal(size=(k, n_classes, 1)) * 900 + 1500
    counts = np.full((n_classes, n_classes), 1) + np.diag(np.full(n_classes, 30))
    ks = tuple(range(1, 31))
    return SelectionResult(
        data=DataSummary(
            "ALLAML.csv",
            SHA,
            72,
            n_features,
            "classification",
            ("leukaemia",),
            classes,
            (47, 25) if n_classes == 2 else (9,) * n_classes,
        ),
        method="TopK",
        method_reference="this library",
        k=k,
        k_was_chosen=False,
        settings={"target": "leukaemia", "k": k, "method": "topk", "certify": False, "cv": 5},
        versions=VERSIONS,
        features=tuple(
            RankedFeature(
                at + 1,
                names[at],
                int(picked[at]),
                float(scores[at]),
                float(max(0.05, 0.98 - 0.04 * at)),
                (max(0, 0.8 - 0.04 * at), 1.0),
                f"{classes[int(np.argmax(coefficients[at]))]} (more)",
                tuple(coefficients[at].tolist()),
            )
            for at in range(k)
        ),
        certificate=Certificate("heuristic", 1.93, 0.0, 1.0),
        metric="accuracy",
        score=0.958,
        score_sd=0.031,
        baseline_score=0.972,
        chance_score=0.653,
        curve=KCurve(
            "accuracy",
            ks,
            tuple((0.96 - 0.25 * np.exp(-np.array(ks) / 3)).tolist()),
            (0.03,) * 30,
            30,
            8,
            min(k, 30),
        ),
        correlation=np.corrcoef(factors, rowvar=False) if k > 1 else np.ones((1, 1)),
        closest=tuple(
            tuple(CloseFeature(f"U{j + o:05d}_at", 0.94 - 0.05 * o) for o in range(3))
            for j in picked.tolist()
        ),
        distributions=tuple(
            Distribution(names[at], classes, centres[at] + np.array([-700, -300, 0, 350, 900.0]))
            for at in range(min(k, 40))
        ),
        stability=(0.34, 0.27, 0.41),
        progress=(ProgressPoint(0.02, 4.2), ProgressPoint(0.3, 1.93)),
        confusion=Confusion(classes, counts, 0.958, 0.031),
        class_scores=class_scores(classes),
        seconds=SECONDS,
        warnings=("The search stopped after 60 s, before it had converged.",),
    )


def numbers_only() -> SelectionResult:
    """Regression by a method that cannot speak of optimality, as little measured as possible."""
    full = genes(6, 40)
    return dataclasses.replace(
        full,
        data=dataclasses.replace(
            full.data, task="regression", targets=("price",), classes=(), class_counts=()
        ),
        method="ReliefF",
        features=tuple(
            dataclasses.replace(
                f,
                frequency=None,
                frequency_interval=None,
                speaks_for="",
                coefficients=f.coefficients[:1],
            )
            for f in full.features
        ),
        certificate=None,
        metric="r2",
        score=0.842,
        baseline_score=float("nan"),
        chance_score=0.0,
        curve=None,
        closest=((),) * 6,
        distributions=tuple(
            dataclasses.replace(
                d,
                groups=("low", "middle", "high"),
                quantiles=np.vstack([d.quantiles, d.quantiles[:1] + 500]),
            )
            for d in full.distributions
        ),
        stability=None,
        progress=(),
        confusion=None,
        class_scores=(),
        warnings=(),
    )


def hostile() -> SelectionResult:
    """Every name in the result is an attack or a nuisance."""
    full = genes(len(HOSTILE), 100)
    nasty = HOSTILE[:2]
    return dataclasses.replace(
        full,
        data=DataSummary(
            HOSTILE[2],
            SHA,
            72,
            100,
            "classification",
            (HOSTILE[0],),
            nasty,
            (47, 25),
            (HOSTILE[1], HOSTILE[7]),
        ),
        method=HOSTILE[3],
        method_reference=HOSTILE[4],
        settings={HOSTILE[0]: HOSTILE[2], "target": list(HOSTILE)},
        versions={"python": HOSTILE[1]},
        features=tuple(
            dataclasses.replace(f, name=name, speaks_for=f"{name} (more)")
            for f, name in zip(full.features, HOSTILE, strict=True)
        ),
        closest=tuple(tuple(CloseFeature(n, 0.9) for n in HOSTILE[:3]) for _ in HOSTILE),
        distributions=tuple(
            dataclasses.replace(d, feature=name, groups=nasty)
            for d, name in zip(full.distributions, HOSTILE, strict=True)
        ),
        confusion=Confusion(nasty, np.array([[40, 7], [1, 24]]), 0.9, 0.02),
        class_scores=class_scores(nasty),
        warnings=(HOSTILE[0], HOSTILE[11]),
    )


def comparison(
    methods: tuple[str, ...] = ("TopK", "RFS", "ReliefF", "MRMR", "CDLSR"),
    protocol: str = "honest",
) -> ComparisonResult:
    """Methods that differ in score and in time; the last fails in one fold."""
    rng = np.random.default_rng(1)
    records = []
    for at, method in enumerate(methods):
        for split in range(5):
            for k in (5, 10, 20):
                others = rng.choice(np.arange(100, 200), k, replace=False)[: at + 1]
                support = (*range(k - at - 1), *sorted(others.tolist()))
                for judge, bonus in (("linear SVM", 0.02), ("1-NN", 0.0)):
                    score = 0.9 - 0.3 / k - 0.02 * at + bonus + 0.02 * rng.normal()
                    failed = at == len(methods) - 1 and split == 2 and k == 20
                    records.append(
                        Record(method, judge, protocol, k, split, error="ValueError: too few rows")
                        if failed
                        else Record(
                            method,
                            judge,
                            protocol,
                            k,
                            split,
                            k,
                            support,
                            {"accuracy": score, "macro_f1": score - 0.02},
                            3.0,
                            0.1 + 0.05 * at,
                            0.004 * 6**at,
                        )
                    )
    full = genes()
    curve = SelectionCurve(records, "classification", protocol, full.data.n_features)
    settings = {"methods": list(methods), "k": [5, 10, 20], "cv": 5}
    names = tuple(f"gene {j}" for j in range(full.data.n_features))
    return ComparisonResult(
        data=full.data,
        curve=curve,
        settings=settings,
        versions=VERSIONS,
        seconds=SECONDS,
        names=names,
        baseline_score=0.93,
        chance_score=0.41,
    )


def path(k_max: int = 30, names: tuple[str, ...] | None = None) -> PathResult:
    """Features that come, stay and sometimes leave."""
    rng = np.random.default_rng(5)
    order = rng.permutation(60)
    supports = []
    for k in range(1, k_max + 1):
        swapped = order.copy()
        if k % 4 == 0:
            swapped[[k - 1, 55]] = swapped[[55, k - 1]]
        supports.append(np.sort(swapped[:k]))
    ks = tuple(range(1, k_max + 1))
    full = genes(20, 60)
    mean = 0.95 - 0.5 * np.exp(-np.array(ks) / 5)
    return PathResult(
        data=full.data,
        ks=ks,
        supports=tuple(supports),
        names=names or tuple(f"gene_{j:03d}_at" for j in range(60)),
        objectives=tuple((100 / np.sqrt(np.array(ks))).tolist()),
        curve=KCurve("accuracy", ks, tuple(mean.tolist()), (0.03,) * k_max, k_max, 12, 12),
        settings={"target": "leukaemia", "k_max": k_max},
        versions=VERSIONS,
        seconds=SECONDS,
    )


def labels() -> SelectionResult:
    """Several labels at once, judged by their mean F1."""
    full = genes(8, 300, 3)
    return dataclasses.replace(
        full,
        data=dataclasses.replace(full.data, task="multilabel", targets=("a", "b", "c")),
        metric="macro_f1",
        score=0.81,
        confusion=None,
        certificate=Certificate("optimal", 2.5, 2.5, 0.0, 17),
        warnings=(),
    )
