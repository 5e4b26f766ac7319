"""What the page of the league table shows, computed from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.declare import Row
from reproduction.figures import Picture
from reproduction.league_figures import FAMILIES, critical_difference, place_map, time_and_score
from reproduction.league_scores import JUDGES, OUR_METHOD, Scores, family, label, outcome
from reproduction.tables import DASH, markdown_table, shown
from rowsparse._arrays import Array
from rowsparse.datasets import dataset_info
from rowsparse.evaluation import Comparison

# By experiment: the metric of the rows, what the page calls it, and what its headings begin with.
METRICS = {
    "classes": ("accuracy", "accuracy", ""),
    "labels": ("f1", "macro-F1", "Multi-label sets: "),
}
_MARKS = {"failed": "F", "out of time": "T"}
# Errors that are told.
_TOLD, _LENGTH = 12, 200


def page_context(
    rows: Mapping[str, list[Row]], contenders: Mapping[str, Iterable[str]]
) -> list[dict[str, Any]]:
    """The parts of the page, single-label sets first; ``contenders`` by experiment."""
    parts = []
    for experiment, (metric, word, prefix) in METRICS.items():
        scores = Scores.of(rows.get(experiment, []), metric)
        if scores.methods:
            name = f"league-{experiment}"
            part = {
                "word": word,
                "prefix": prefix,
                "run": run_context(scores, contenders[experiment]),
                "troubles": troubles(scores),
                "ranks": ranks_context(scores, name),
                "against": against_context(scores),
                "time": _time_picture(scores, name, word),
                "data_table": _data_table(scores),
                "places": _place_picture(scores, name),
            }
            parts.append(part)
    return parts


def titles(datasets: Iterable[str]) -> list[str]:
    """Titles without commas, to be joined by them."""
    parts = (dataset_info(name).title.partition(", ") for name in datasets)
    return [f"{name} ({rest})" if rest else name for name, _, rest in parts]


# ------------------------------------------------------------------------------ what was run
def run_context(scores: Scores, contenders: Iterable[str] = ()) -> dict[str, Any]:
    """Numbers of sets, methods and repetitions, and what was run less often."""
    sizes = [dataset_info(name) for name in scores.datasets]
    splits: dict[str, set[int]] = {name: set() for name in scores.methods}
    by_set: dict[str, set[int]] = {}
    by_pair: dict[tuple[str, str], set[int]] = {}
    cut: dict[str, int] = {}
    absent: dict[str, None] = {}
    for row in scores.rows:
        method, dataset = row["method"], row["dataset"]
        splits.get(method, set()).add(row["split"])
        by_set.setdefault(dataset, set()).add(row["split"])
        by_pair.setdefault((method, dataset), set()).add(row["split"])
        n = row.get("samples")
        if n is not None and n < dataset_info(dataset).n_samples:
            cut[dataset] = n
        if outcome(row) == "not installed":
            absent[label(method)] = None
    most = max(map(len, splits.values()), default=0)
    forest = f"{scores.metric}_{JUDGES['random forest']}"
    repetitions = {row["split"] for row in scores.rows}
    seen = {row["method"] for row in scores.rows}
    judged = {row["split"] for row in scores.rows if row.get(forest) is not None}
    return {
        "methods": len(scores.methods),
        "sets": len(sizes),
        "samples": [f(info.n_samples for info in sizes) for f in (min, max)],
        "features": [f(info.n_features for info in sizes) for f in (min, max)],
        "most": most,
        "fewer": [label(name) for name, found in splits.items() if len(found) < most],
        "fewer_sets": titles(d for d, found in by_set.items() if len(found) < most),
        "fewer_pairs": [
            f"{label(method)} on {titles([dataset])[0]}"
            for (method, dataset), found in by_pair.items()
            if method in splits and len(found) < min(len(splits[method]), len(by_set[dataset]))
        ],
        "forest": len(judged) if judged and judged != repetitions else None,
        "repetitions": len(repetitions),
        "cut": [f"{title} {n}" for title, n in zip(titles(cut), cut.values(), strict=True)],
        "twins": [[label(scores.methods[at]) for at in group] for group in scores.twins],
        "partial": [
            f"{label(name)} on {int(where.sum())} of {len(sizes)}"
            for name, where in zip(scores.methods, scores.seen.T, strict=True)
            if not where.all()
        ],
        "never": [label(name) for name in contenders if name not in seen],
        "absent": list(absent),
    }


def troubles(scores: Scores) -> dict[str, Any]:
    """How many tasks did not end well, and where."""
    tasks = {(r["dataset"], r["method"], r["split"]) for r in scores.rows}
    bad = [row for row in scores.rows if outcome(row) in _MARKS]
    ended: dict[tuple[str, str], dict[str, None]] = {}
    for row in bad:
        ended.setdefault((row["method"], outcome(row)), {})[row["dataset"]] = None
    lines = [
        [label(method), how, len(sets), ", ".join(sets)]
        for (method, how), sets in sorted(ended.items())
    ]
    errors = Counter(
        f"{label(row['method'])}: {row['error']}" for row in bad if outcome(row) == "failed"
    )
    return {
        "tasks": len(tasks),
        "counts": [f"{count} {how}" for how, count in Counter(map(outcome, bad)).items()],
        "lines": lines,
        "errors": [(text[:_LENGTH], count) for text, count in errors.most_common(_TOLD)],
    }


# ------------------------------------------------------------------------------- mean ranks
def ranks_context(scores: Scores, name: str) -> dict[str, Any] | None:
    """Mean ranks, and what they are of; None if no two sets are complete."""
    overall = scores.comparison()
    if overall is None:
        return None
    return {
        "result": overall,
        "shared": sum(len(group) > 1 for group in scores.blocks()),
        "table": rank_table(scores, overall),
        "sets": len(scores.complete),
        "unfinished": unfinished_ranks(scores),
        "common": common_ranks(scores),
        "picture": Picture(f"{name}-ranks", critical_difference(overall)),
    }


def common_ranks(scores: Scores) -> dict[str, Any] | None:
    """Mean ranks of slow methods too, on the sets that all have; None if there are few."""
    common = scores.common()
    overall = common.comparison()
    if overall is None or len(common.ranked) == len(scores.ranked):
        return None
    return {
        "result": overall,
        "sets": titles(common.datasets),
        "table": rank_table(common, overall),
    }


def rank_table(scores: Scores, overall: Comparison) -> str:
    """Mean ranks over all, by classifier and by k."""
    columns = {
        "all": scores.mean_ranks(scores.ranked),
        **{judge: scores.mean_ranks(scores.ranked, judge=judge) for judge in JUDGES},
        **{f"k = {k}": scores.mean_ranks(scores.ranked, k=k) for k in scores.ks},
    }
    ranks = {title: own for title, own in columns.items() if own}
    lines = []
    for method in overall.methods:
        cells = [
            f"**{own[method]:.1f}**" if own[method] <= min(own.values()) else f"{own[method]:.1f}"
            for own in ranks.values()
        ]
        title = f"**{label(method)}**" if method == OUR_METHOD else label(method)
        lines.append([title, FAMILIES[family(method)][0], *cells])
    return markdown_table(["method", "family", *ranks], lines)


def unfinished_ranks(scores: Scores) -> list[list[Any]]:
    """Each method without a result on some sets: its mean rank on those that it has."""
    known = ~np.isnan(scores.mean())
    lines = []
    for at in scores.unfinished:
        name, sets = scores.methods[at], [i for i in scores.complete if known[i, at]]
        ranks = scores.mean_ranks([*scores.ranked, at], sets)
        if ranks:
            cells = [f"{ranks[name]:.1f}", f"{ranks.get(OUR_METHOD, np.nan):.1f}"]
            lines.append([label(name), len(sets), *cells, len(ranks)])
    return sorted(lines, key=lambda line: float(line[2]) - float(line[3]))


def gains(
    scores: Scores, variant: str, choice: Sequence[str], check: Sequence[str]
) -> list[list[Any]]:
    """Points that a variant of TopK gains, by what the sets were used for; nothing without it."""
    if not {variant, OUR_METHOD} <= set(scores.methods):
        return []
    pair = [scores.methods.index(name) for name in (variant, OUR_METHOD)]
    found: dict[str, list[float]] = {"choice": [], "check": [], "neither": []}
    for block in scores.blocks():
        names = {scores.datasets[at] for at in block}
        use = "choice" if names & {*choice} else "check" if names & {*check} else "neither"
        ours, plain = scores.by_block(pair, [block])[0]
        found[use].append(100 * float(ours - plain))
    return [
        [
            label(variant),
            use,
            len(own),
            f"{np.mean(own):+.1f}",
            f"{np.std(own, ddof=1) / len(own) ** 0.5:.1f}",
        ]
        for use, own in found.items()
        if len(own) > 1
    ]


def against_context(scores: Scores) -> dict[str, Any] | None:
    """TopK against each other method, by Wilcoxon's test."""
    found = scores.against(OUR_METHOD)
    if not found:
        return None
    clear = [rival for rival in found if rival.p < 0.05]
    lines = [
        [label(rival.name), rival.sets, rival.worse, rival.better, f"{rival.p:.2g}"]
        for rival in sorted(found, key=lambda rival: rival.worse - rival.better)
    ]
    return {
        "rivals": len(found),
        "behind": sum(rival.better < rival.worse for rival in clear),
        "ahead": [label(rival.name) for rival in clear if rival.better > rival.worse],
        # The least p of n sets is that of winning on all of them.
        "few": len(found) * 2.0 ** (1 - max(rival.sets for rival in found)) >= 0.05,
        "lines": lines,
    }


# ------------------------------------------------------------------------------------- time
def _time_picture(scores: Scores, name: str, word: str) -> Picture | None:
    points = time_points(scores)
    if len(points) < 2:
        return None
    return Picture(f"{name}-time", time_and_score(points, f"mean {word}, %"))


def time_points(scores: Scores) -> dict[str, tuple[float, float]]:
    """Geometric mean of the seconds and mean score in percent, by method."""
    if OUR_METHOD not in scores.methods:
        return {}
    own = scores.methods.index(OUR_METHOD)
    values, seconds = scores.mean(), np.log(np.maximum(scores.seconds(), 1e-6))
    points = {}
    for at, name in enumerate(scores.methods):
        both = ~np.isnan(values[:, at] + values[:, own] + seconds[:, at] + seconds[:, own])
        if both.any():
            time = np.mean(seconds[both, at] - seconds[both, own]) + np.nanmean(seconds[:, own])
            score = np.mean(values[both, at] - values[both, own]) + np.nanmean(values[:, own])
            points[name] = (float(np.exp(time)), 100 * float(score))
    return points


# ------------------------------------------------------------------------------ by data set
def _data_table(scores: Scores) -> str:
    """The best method for each k and TopK with its place, in percent."""
    header = ["data", "all features"]
    for k in scores.ks:
        header += [f"best, k = {k}", f"TopK, k = {k}"]
    by_k = [(scores.mean(k=k), scores.places(k=k)) for k in scores.ks]
    lines = []
    for at, name in enumerate(scores.datasets):
        reference = scores.reference(name)
        value = None if np.isnan(reference) else 100 * reference
        cells = [dataset_info(name).title, shown(value, ".1f")]
        for means, places in by_k:
            cells += _best_and_own(scores, means[at], places[at])
        lines.append(cells)
    return markdown_table(header, lines)


def _best_and_own(scores: Scores, values: Array, places: Array) -> list[str]:
    if np.isnan(values).all():
        return [DASH, DASH]
    best = int(np.nanargmax(values))
    first = f"{100 * values[best]:.1f} {label(scores.methods[best])}"
    own = scores.methods.index(OUR_METHOD) if OUR_METHOD in scores.methods else None
    if own is None or np.isnan(values[own]):
        return [first, DASH]
    return [first, f"{100 * values[own]:.1f} ({places[own]:.0f})"]


def _place_picture(scores: Scores, name: str) -> Picture | None:
    """Places of all methods, the best first; a letter where one did not end well."""
    places, means = scores.places(), scores.mean()
    if len(scores.methods) < 2 or np.isnan(places).all():
        return None
    average = [np.inf if np.isnan(line).all() else np.nanmean(line) for line in places.T]
    order = np.argsort(average, kind="stable")
    marks = [
        [
            _mark(scores, dataset, scores.methods[at]) if np.isnan(means[row, at]) else ""
            for row, dataset in enumerate(scores.datasets)
        ]
        for at in order
    ]
    titles = [dataset_info(dataset).title for dataset in scores.datasets]
    methods = [scores.methods[at] for at in order]
    return Picture(f"{name}-places", place_map(places[:, order].T, marks, methods, titles))


def _mark(scores: Scores, dataset: str, method: str) -> str:
    found = scores.outcomes(dataset, method)
    return _MARKS.get(found[0], "") if found else ""
