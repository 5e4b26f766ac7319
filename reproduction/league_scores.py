"""The numbers of the league table, from its rows: scores, places, ranks, times and tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from reproduction.declare import Declaration, Row
from rowsparse._arrays import Array
from rowsparse.datasets import dataset_info
from rowsparse.evaluation import Comparison, compare_over_datasets
from rowsparse.evaluation.dataset_comparison import holm
from rowsparse.selectors import list_selectors
from rowsparse.selectors.registry import selector_info

# Classifiers by the names that are shown, and as they are called in the rows.
JUDGES = {"1-NN": "nn", "linear SVM": "svm", "random forest": "forest"}
OUR_METHOD, SQUARED = "topk", "topk-squared"
# What stands for TopK where seconds are compared: of the same run as the other methods.
TIMED = "topk-one-start"
# What selects nothing, and has therefore no rank among those that do.
REFERENCE = "allfeatures"
DEEP = tuple(list_selectors(kind="deep"))
PEER_LABELS = {
    "sklearn-f": "SelectKBest (F)",
    "sklearn-mi": "SelectKBest (MI)",
    "sklearn-rfe": "RFE (linear SVM)",
    "sklearn-l1": "SelectFromModel (ℓ1 logistic)",
    "sklearn-forest": "SelectFromModel (forest)",
    "abess": "abess",
    "fastcan": "fastcan",
    "mrmr-selection": "mrmr-selection",
}
DECLARED = Declaration("league")
VARIANTS = DECLARED.contenders("variants")
# Methods that have less time than the others.
BRIEF: tuple[str, ...] = tuple(DECLARED.table("brief")["methods"])
# What is not ranked with the others: they, and further settings of TopK, of which rivals have one.
UNRANKED = (*BRIEF, *VARIANTS)
# Methods that a run may leave out on some sets.
SLOW: tuple[str, ...] = tuple(DECLARED.table("slow")["methods"])
# Worse than any score: the place of a method that has none.
_NONE = -1.0


def label(method: str) -> str:
    """What a method is called on the page."""
    if method in VARIANTS:
        return VARIANTS[method].label
    return PEER_LABELS.get(method) or selector_info(method).cls.__name__


def family(method: str) -> str:
    """Its kind in the registry; ``unsupervised`` without targets, and ``package`` for a peer."""
    if method in PEER_LABELS:
        return "package"
    info = selector_info(VARIANTS[method].selector if method in VARIANTS else method)
    return info.kind if info.supervised or info.kind in ("baseline", "deep") else "unsupervised"


def outcome(row: Row) -> str:
    """How a task ended: nothing if well."""
    error = str(row.get("error", ""))
    if not error:
        return ""
    kind = error.partition(":")[0]
    known = {
        "TimeoutError": "out of time",
        "ImportError": "not installed",
        "ModuleNotFoundError": "not installed",
    }
    return known.get(kind, "failed")


class Rival(NamedTuple):
    """On how many sets a method and another both have a result, it is better, worse; and p."""

    name: str
    sets: int
    better: int
    worse: int
    p: float


@dataclass(frozen=True)
class Scores:
    """Scores of methods on data sets.

    Attributes
    ----------
    rows : list of Row
        What was run.
    metric : {"accuracy", "f1"}
        What counts.
    datasets, methods : tuple of str
        Those with rows; methods without the reference and without what is not installed.
    ks : tuple of int
        Numbers of features.
    table : array of shape (n_datasets, n_methods, n_judges, n_ks)
        NaN where there is no result.
    """

    rows: list[Row]
    metric: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    ks: tuple[int, ...]
    table: Array

    @classmethod
    def of(cls, rows: list[Row], metric: str) -> Scores:
        """The scores that rows hold."""
        absent = {row["method"] for row in rows if outcome(row) == "not installed"}
        kept = [row for row in rows if row["method"] not in {REFERENCE, *absent}]
        datasets = tuple(dict.fromkeys(row["dataset"] for row in kept))
        methods = tuple(dict.fromkeys(row["method"] for row in kept))
        ks = tuple(sorted({row["k"] for row in kept if "k" in row}))
        table = np.full((len(datasets), len(methods), len(JUDGES), len(ks)), np.nan)
        cells: dict[tuple[int, int, int], dict[tuple[int, int], float]] = {}
        for row in kept:
            for at, code in enumerate(JUDGES.values()):
                value = row.get(f"{metric}_{code}")
                if value is not None:
                    cell = (datasets.index(row["dataset"]), at, ks.index(row["k"]))
                    place = (methods.index(row["method"]), row["split"])
                    cells.setdefault(cell, {})[place] = value
        for (dataset, judge, k), found in cells.items():
            for method, value in _means(found).items():
                table[dataset, method, judge, k] = value
        return cls(rows, metric, datasets, methods, ks, table)

    # ------------------------------------------------------------------ what took part
    @property
    def seen(self) -> Array:
        """Whether a method was run on a data set, with a result or without; sets x methods."""
        pairs = {(row["dataset"], row["method"]) for row in self.rows}
        return np.array([[(d, m) in pairs for m in self.methods] for d in self.datasets])

    @property
    def complete(self) -> tuple[int, ...]:
        """The data sets on which all methods were run, but for slow ones."""
        everywhere = [at for at, name in enumerate(self.methods) if name not in SLOW]
        if not everywhere:
            return ()
        return tuple(np.flatnonzero(self.seen[:, everywhere].all(axis=1)).tolist())

    @property
    def twins(self) -> list[list[int]]:
        """Groups of methods whose scores are the same wherever they have any."""
        groups: dict[bytes, list[int]] = {}
        for at in range(len(self.methods)):
            if not np.isnan(self.table[:, at]).all():
                groups.setdefault(self.table[:, at].round(9).tobytes(), []).append(at)
        return [group for group in groups.values() if len(group) > 1]

    @property
    def distinct(self) -> tuple[int, ...]:
        """The methods, of twins the first only."""
        again = {at for group in self.twins for at in group[1:]}
        return tuple(at for at in range(len(self.methods)) if at not in again)

    @property
    def ranked(self) -> tuple[int, ...]:
        """The distinct methods that have a result on every complete set."""
        finished = np.asarray(~np.isnan(self.mean()[list(self.complete)]).any(axis=0))
        return tuple(
            at for at in self.distinct if finished[at] and self.methods[at] not in UNRANKED
        )

    @property
    def unfinished(self) -> tuple[int, ...]:
        """The other distinct methods that had the same time: no result on some sets."""
        return tuple(
            at for at in self.distinct if at not in self.ranked and self.methods[at] not in UNRANKED
        )

    def blocks(self, datasets: Iterable[int] | None = None) -> list[list[int]]:
        """Data sets in groups that share no samples."""
        groups: list[list[int]] = []
        for at in self.complete if datasets is None else datasets:
            same = dataset_info(self.datasets[at]).same_samples
            home = next((g for g in groups if any(self.datasets[i] in same for i in g)), None)
            if home is None:
                groups.append([at])
            else:
                home.append(at)
        return groups

    def outcomes(self, dataset: str, method: str) -> list[str]:
        """How the repetitions ended that did not end well."""
        own = [r for r in self.rows if r["dataset"] == dataset and r["method"] == method]
        return [outcome(row) for row in own if outcome(row)]

    # ----------------------------------------------------------------- means and ranks
    def mean(self, judge: str | None = None, k: int | None = None) -> Array:
        """Mean scores over judges and k, of shape (n_datasets, n_methods)."""
        judges = slice(None) if judge is None else [list(JUDGES).index(judge)]
        part = self.table[:, :, judges]
        part = part if k is None else part[..., [self.ks.index(k)]]
        return _mean_of_known(part.reshape(*part.shape[:2], -1))

    def by_block(self, methods: Sequence[int], groups: list[list[int]], **which: Any) -> Array:
        """Mean scores of groups of data sets; -1 for a method without any."""
        scores = self.mean(**which)[:, list(methods)]
        table = np.array([_mean_of_known(scores[group].T) for group in groups])
        # Labels of few features leave no result for anyone at large k.
        table = table.reshape(len(groups), len(methods))
        table = table[~np.isnan(table).all(axis=1)]
        return np.where(np.isnan(table), _NONE, table)

    def comparison(self) -> Comparison | None:
        """The ranked methods over the groups of complete sets; None if there is too little."""
        if not self.mean_ranks(self.ranked):
            return None
        table = self.by_block(self.ranked, self.blocks())
        return compare_over_datasets(table, [self.methods[at] for at in self.ranked])

    def mean_ranks(
        self, methods: Sequence[int], datasets: Sequence[int] | None = None, **which: Any
    ) -> dict[str, float]:
        """Mean ranks over groups of data sets; empty if there is too little to compare."""
        groups = self.blocks(datasets)
        if len(methods) < 2 or not groups:
            return {}
        table = self.by_block(methods, groups, **which)
        if len(table) < 2:
            return {}
        ranks = rankdata(-table, axis=1).mean(axis=0).tolist()
        return dict(zip((self.methods[at] for at in methods), ranks, strict=True))

    def places(self, **which: Any) -> Array:
        """Place of every method on every data set, 1 the best; NaN where it has no result.

        Variants of TopK have no place.
        """
        scores = self.mean(**which)
        found = np.full(scores.shape, np.nan)
        ranked = np.array([name not in VARIANTS for name in self.methods])
        for at, line in enumerate(scores):
            known = ~np.isnan(line) & ranked
            if known.any():
                found[at, known] = rankdata(-line[known], method="min")
        return found

    def against(self, method: str, **which: Any) -> list[Rival]:
        """Every other distinct method, where both have a result; p is Holm's.

        Those that had less time take no part, nor variants of TopK.
        """
        rivals = [at for at in self.distinct if self.methods[at] not in UNRANKED]
        names = [self.methods[at] for at in rivals]
        groups = self.blocks()
        if method not in names or not groups:
            return []
        table = self.by_block(rivals, groups, **which)
        own = table[:, names.index(method)]
        found = []
        for at, name in enumerate(names):
            both = (table[:, at] > _NONE) & (own > _NONE)
            if name != method and len(table) > 1:
                found.append(_rival(name, table[both, at], own[both]))
        corrected = holm([rival.p for rival in found])
        return [rival._replace(p=float(p)) for rival, p in zip(found, corrected, strict=True)]

    # ----------------------------------------------------------------- time, all features
    def seconds(self) -> Array:
        """Mean seconds to select for all k in one fold, of shape (n_datasets, n_methods)."""
        times: dict[tuple[str, str, int], list[Row]] = {}
        for row in self.rows:
            if row.get("seconds") is not None and row["method"] in self.methods:
                times.setdefault((row["dataset"], row["method"], row["split"]), []).append(row)
        found: dict[tuple[str, str], list[float]] = {}
        for (dataset, method, _), rows in times.items():
            own = [row["seconds"] for row in rows]
            found.setdefault((dataset, method), []).append(
                max(own) if rows[0].get("shared") else sum(own)
            )
        return np.array(
            [
                [np.mean(found[d, m]) if (d, m) in found else np.nan for m in self.methods]
                for d in self.datasets
            ]
        )

    def reference(self, dataset: str) -> float:
        """Mean score of all features."""
        own = [r for r in self.rows if (r["dataset"], r["method"]) == (dataset, REFERENCE)]
        names = [f"{self.metric}_{code}" for code in JUDGES.values()]
        found = [[row[name] for row in own if row.get(name) is not None] for name in names]
        means = [np.mean(values) for values in found if values]
        return float(np.mean(means)) if means else float("nan")


def _rival(name: str, scores: Array, own: Array) -> Rival:
    """A method by its scores and those of another on the same sets."""
    p = 1.0
    if scores.size > 1:
        pair = compare_over_datasets(np.column_stack([scores, own]), ["a", "b"])
        p = float(pair.wilcoxon_p[0, 1])
    return Rival(name, scores.size, int((scores > own).sum()), int((scores < own).sum()), p)


def _means(found: dict[tuple[int, int], float]) -> dict[int, float]:
    """Mean of every method over its repetitions, by (method, repetition).

    Some repetitions are easier than others. What a method with fewer of them is above or below
    those that have all, on the same folds, is added to their mean.

    >>> {m: round(v, 3) for m, v in _means({(0, 0): 0.5, (0, 1): 0.7, (1, 0): 0.6}).items()}
    {0: 0.6, 1: 0.7}
    """
    methods, splits = (sorted({key[at] for key in found}) for at in (0, 1))
    full = [m for m in methods if all((m, s) in found for s in splits)]
    ease = {s: float(np.mean([found[m, s] for m in full])) if full else 0.0 for s in splits}
    middle = float(np.mean(list(ease.values())))
    return {
        m: float(np.mean([found[m, s] - ease[s] for s in splits if (m, s) in found])) + middle
        for m in methods
    }


def _mean_of_known(values: Array) -> Array:
    """Mean over the last axis of what is not NaN; NaN if all is."""
    known = ~np.isnan(values)
    count = known.sum(axis=-1)
    total = np.where(known, values, 0.0).sum(axis=-1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
