"""What the page of the league table shows, computed from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.declare import Row
from reproduction.figures import Picture
from reproduction.league_figures import FAMILIES, critical_difference, place_map, time_and_score
from reproduction.league_scores import (
    JUDGES,
    OUR_METHOD,
    SQUARED,
    TIMED,
    VARIANTS,
    Scores,
    family,
    label,
    outcome,
)
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
# How a set was used for TopK's setting, and methods that are named on the sets that were not.
_USES, _SHOWN = ("chosen", "checked"), 8
# Errors that are told.
_TOLD, _LENGTH = 12, 200


def page_context(
    rows: Mapping[str, list[Row]],
    contenders: Mapping[str, Iterable[str]],
    uses: Sequence[Sequence[str]] = (),
) -> list[dict[str, Any]]:
    """The parts of the page, single-label sets first; ``contenders`` by experiment.

    ``uses`` are the sets by which TopK's setting was chosen, and those that checked it.
    """
    parts = []
    for experiment, (metric, word, prefix) in METRICS.items():
        scores = Scores.of(rows.get(experiment, []), metric)
        if scores.methods:
            name = f"league-{experiment}"
            part = {
                "name": experiment,
                "word": word,
                "prefix": prefix,
                "run": run_context(scores, contenders[experiment]),
                "troubles": troubles(scores),
                "ranks": ranks_context(scores, name),
                "against": against_context(scores),
                "time": _time_picture(scores, name, word),
                "data_table": _data_table(scores, uses),
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
        "by_k": rank_table(scores, overall, scores.ks),
        "sets": len(scores.complete),
        "unfinished": unfinished_ranks(scores),
        "variants": variant_ranks(scores),
        "picture": Picture(f"{name}-ranks", critical_difference(overall)),
    }


def untouched_context(scores: Scores, seen: Collection[str]) -> dict[str, Any] | None:
    """Mean ranks on the sets that no setting of TopK was chosen or checked on.

    Nor on another set of the same samples.
    """
    if not scores.methods:
        return None
    groups = [
        group for group in scores.blocks() if not {scores.datasets[at] for at in group} & {*seen}
    ]
    sets = [at for group in groups for at in group]
    ranks = scores.mean_ranks(scores.ranked, sets)
    if not ranks:
        return None
    best = sorted(ranks.items(), key=lambda item: item[1])[:_SHOWN]
    return {
        "sets": titles(scores.datasets[at] for at in sets),
        "blocks": len(groups),
        "methods": len(ranks),
        "lines": [[label(name), f"{rank:.1f}"] for name, rank in best],
    }


def variant_ranks(scores: Scores) -> list[list[Any]]:
    """The rank that each setting of TopK has in the place of the default among the rivals."""
    rivals = [at for at in scores.ranked if scores.methods[at] != OUR_METHOD]
    lines = []
    for name in (OUR_METHOD, *VARIANTS):
        if name in scores.methods and len(rivals) > 1:
            ranks = scores.mean_ranks([*rivals, scores.methods.index(name)])
            if name in ranks:
                lines.append([label(name), f"{ranks[name]:.1f}", len(ranks)])
    return lines


def rank_table(scores: Scores, overall: Comparison, ks: Sequence[int] = ()) -> str:
    """Mean ranks over all, by classifier and for some k."""
    columns = {
        "all": scores.mean_ranks(scores.ranked),
        **{judge: scores.mean_ranks(scores.ranked, judge=judge) for judge in JUDGES},
        **{f"k = {k}": scores.mean_ranks(scores.ranked, k=k) for k in ks},
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


def gains(scores: Scores, choice: Sequence[str], check: Sequence[str]) -> list[list[Any]]:
    """Points of TopK above its squared loss, by what the sets were used for."""
    if not {OUR_METHOD, SQUARED} <= set(scores.methods):
        return []
    pair = [scores.methods.index(name) for name in (OUR_METHOD, SQUARED)]
    found: dict[str, list[float]] = {"choice": [], "check": [], "neither": []}
    for block in scores.blocks():
        names = {scores.datasets[at] for at in block}
        use = "choice" if names & {*choice} else "check" if names & {*check} else "neither"
        ours, plain = scores.by_block(pair, [block])[0]
        found[use].append(100 * float(ours - plain))
    return [
        [
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
    """Geometric mean of the seconds and mean score in percent, by method.

    The seconds of TopK as it is ranked are from another run, and take no part.
    """
    if TIMED not in scores.methods:
        return {}
    own = scores.methods.index(TIMED)
    values, seconds = scores.mean(), np.log(np.maximum(scores.seconds(), 1e-6))
    points = {}
    for at, name in enumerate(scores.methods):
        if name == OUR_METHOD:
            continue
        both = ~np.isnan(values[:, at] + values[:, own] + seconds[:, at] + seconds[:, own])
        if both.any():
            time = np.mean(seconds[both, at] - seconds[both, own]) + np.nanmean(seconds[:, own])
            score = np.mean(values[both, at] - values[both, own]) + np.nanmean(values[:, own])
            points[name] = (float(np.exp(time)), 100 * float(score))
    return points


# ------------------------------------------------------------------------------ by data set
def _data_table(scores: Scores, uses: Sequence[Sequence[str]]) -> str:
    """Means over k in percent: all features, the best selection, and TopK with its place.

    ``uses`` are the sets by which TopK's setting was chosen, and those that checked it.
    """
    means = scores.mean()
    ranked = [at for at, name in enumerate(scores.methods) if name not in VARIANTS]
    lines = []
    for at, name in enumerate(scores.datasets):
        mark = next((f" ({use})" for use, own in zip(_USES, uses, strict=False) if name in own), "")
        reference = scores.reference(name)
        value = None if np.isnan(reference) else 100 * reference
        cells = [dataset_info(name).title + mark, shown(value, ".1f")]
        lines.append([*cells, *_best_and_own(scores, means[at], ranked)])
    return markdown_table(["data", "all features", "best selection", "TopK (place)"], lines)


def _best_and_own(scores: Scores, values: Array, ranked: Sequence[int]) -> list[str]:
    known = [at for at in ranked if not np.isnan(values[at])]
    if not known:
        return [DASH, DASH]
    best = max(known, key=lambda at: float(values[at]))
    first = f"{100 * values[best]:.1f} {label(scores.methods[best])}"
    own = next((at for at in known if scores.methods[at] == OUR_METHOD), None)
    if own is None:
        return [first, DASH]
    place = 1 + sum(bool(values[at] > values[own]) for at in known)
    return [first, f"{100 * values[own]:.1f} ({place})"]


def _place_picture(scores: Scores, name: str) -> Picture | None:
    """Places of all methods, the best first; a letter where one did not end well."""
    places, means = scores.places(), scores.mean()
    if len(scores.methods) < 2 or np.isnan(places).all():
        return None
    average = [np.inf if np.isnan(line).all() else np.nanmean(line) for line in places.T]
    order = [at for at in np.argsort(average, kind="stable") if scores.methods[at] not in VARIANTS]
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
