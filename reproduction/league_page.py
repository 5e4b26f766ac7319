"""The page of the league table; whatever it says of results is computed from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from reproduction.declare import Figure, Row, Section
from reproduction.league_figures import (
    FAMILIES,
    critical_difference,
    place_map,
    time_and_score,
)
from reproduction.league_reasons import not_first
from reproduction.league_scores import (
    JUDGES,
    OUR_METHOD,
    Scores,
    family,
    label,
    outcome,
)
from reproduction.pages import markdown_table
from rowsparse.datasets import dataset_info

__all__ = ["sections"]

_METRICS = {"classes": ("accuracy", "accuracy"), "labels": ("f1", "macro-F1")}
_MARKS = {"failed": "F", "out of time": "T"}


def sections(rows: Mapping[str, list[Row]]) -> list[Section]:
    """The sections, single-label sets first."""
    parts = []
    for experiment, (metric, word) in _METRICS.items():
        scores = Scores.of(rows.get(experiment, []), metric)
        if scores.methods:
            parts += [_part(section, experiment) for section in _league(scores, experiment, word)]
    if not parts:
        return [Section("Results", "Nothing has been run yet.")]
    return parts


def _part(section: Section, experiment: str) -> Section:
    if experiment == "classes":
        return section
    return Section(f"Multi-label sets: {section.title}", section.text, section.figures)


def _league(scores: Scores, experiment: str, word: str) -> list[Section]:
    found = [Section("what was run", _what_was_run(scores))]
    result = scores.comparison()
    if result is None:
        text = "No two data sets have been run with all methods yet: there are no mean ranks."
        found.append(Section("mean ranks", text))
    else:
        name = f"league-{experiment}"
        diagram = Figure(
            f"{name}-ranks",
            f"Mean ranks by {word}; bars join methods that the Nemenyi test does not tell apart.",
            critical_difference(result),
        )
        found.append(Section("mean ranks", _ranks(scores, word), (diagram,)))
        found.append(Section("TopK against each", _against(scores)))
    found.append(Section("time against score", _time_text(word), _time_figures(scores, word)))
    found.append(Section("by data set", _by_data(scores, word), _place_figures(scores)))
    if OUR_METHOD in scores.methods:
        found.append(Section("where TopK is not first, and why", not_first(scores, word)))
    return [Section(s.title[0].upper() + s.title[1:], s.text, s.figures) for s in found]


# ------------------------------------------------------------------------------ what was run
def _what_was_run(scores: Scores) -> str:
    sizes = [dataset_info(name) for name in scores.datasets]
    repeats = _repeats(scores)
    most = max(repeats.values(), default=0)
    fewer = [label(name) for name, count in repeats.items() if count < most]
    lines = [
        f"{len(scores.methods)} methods on {len(sizes)} data sets of "
        f"{min(i.n_samples for i in sizes)} to {max(i.n_samples for i in sizes)} samples and "
        f"{min(i.n_features for i in sizes)} to {max(i.n_features for i in sizes)} features.",
        f"Repetitions of the five folds: {most}"
        + (f"; fewer of {_listed(fewer)}." if fewer else " of every method.")
        + _sets_with_fewer(scores, most)
        + _forest_repeats(scores),
        _judged_on(scores),
    ]
    lines += [f"{_listed(map(label, names))} have the same scores." for names in _twins(scores)]
    partial = [
        f"{label(name)} on {int(scores.seen[:, at].sum())} of {len(sizes)}"
        for at, name in enumerate(scores.methods)
        if not scores.seen[:, at].all()
    ]
    if partial:
        lines.append(f"Not run on all sets: {_listed(partial)}.")
    missing = dict.fromkeys(row["method"] for row in scores.rows if outcome(row) == "not installed")
    if missing:
        lines.append(
            f"Not installed, and therefore without a row: {_listed(map(label, missing))} "
            '(`pip install "rowsparse[league,deep]"`).'
        )
    return "\n".join(f"- {line}" for line in lines if line) + "\n\n" + _troubles(scores)


def _twins(scores: Scores) -> list[list[str]]:
    """Methods whose scores are the same wherever they have any."""
    groups: dict[bytes, list[str]] = {}
    for at, name in enumerate(scores.methods):
        if not np.isnan(scores.table[:, at]).all():
            groups.setdefault(scores.table[:, at].round(9).tobytes(), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def _repeats(scores: Scores) -> dict[str, int]:
    """The most repetitions of each method on any set."""
    splits: dict[str, set[int]] = {name: set() for name in scores.methods}
    for row in scores.rows:
        if row["method"] in splits:
            splits[row["method"]].add(row["split"])
    return {name: len(found) for name, found in splits.items()}


def _sets_with_fewer(scores: Scores, most: int) -> str:
    splits: dict[str, set[int]] = {}
    for row in scores.rows:
        splits.setdefault(row["dataset"], set()).add(row["split"])
    fewer = [dataset_info(name).title for name, found in splits.items() if len(found) < most]
    return f" Fewer of every method on {_listed(fewer)}." if fewer else ""


def _forest_repeats(scores: Scores) -> str:
    forest = f"{scores.metric}_{JUDGES['random forest']}"
    all_splits = {row["split"] for row in scores.rows}
    judged = {row["split"] for row in scores.rows if row.get(forest) is not None}
    if not judged or judged == all_splits:
        return ""
    return f" The random forest judges {len(judged)} of {len(all_splits)} repetitions."


def _judged_on(scores: Scores) -> str:
    """Sets that were cut, as their rows say."""
    cut = {}
    for row in scores.rows:
        n = row.get("samples")
        if n is not None and n < dataset_info(row["dataset"]).n_samples:
            cut[row["dataset"]] = n
    if not cut:
        return "All samples of every set were used."
    shown = [f"{dataset_info(name).title} {n}" for name, n in cut.items()]
    return f"Of large sets a sample was drawn anew for each repetition: {_listed(shown)}."


def _troubles(scores: Scores) -> str:
    """How many tasks did not end well, and where."""
    ended: dict[tuple[str, str], dict[str, None]] = {}
    tasks = {(r["dataset"], r["method"], r["split"]) for r in scores.rows}
    bad = [row for row in scores.rows if outcome(row) in _MARKS]
    for row in bad:
        ended.setdefault((row["method"], outcome(row)), {})[row["dataset"]] = None
    if not bad:
        return f"All {len(tasks)} tasks ended well."
    lines = [
        [label(method), how, str(len(sets)), ", ".join(sets)]
        for (method, how), sets in sorted(ended.items())
    ]
    reasons = Counter(
        f"{label(row['method'])}: {row['error']}" for row in bad if outcome(row) == "failed"
    )
    told = [f"- {text[:200]} ({count} times)" for text, count in reasons.most_common(12)]
    counted = Counter(outcome(row) for row in bad)
    numbers = _listed(f"{count} {how}" for how, count in counted.items())
    return "\n\n".join(
        [
            f"Of {len(tasks)} tasks (a method, a data set, a repetition) {numbers}. Where a method "
            "has no result it is ranked last.",
            markdown_table(["method", "how it ended", "sets", "which"], lines),
            "\n".join(told),
        ]
    )


# ------------------------------------------------------------------------------- mean ranks
def _ranks(scores: Scores, word: str) -> str:
    overall = scores.comparison()
    assert overall is not None
    columns = {"all": overall}
    for judge in JUDGES:
        if (found := scores.comparison(judge=judge)) is not None:
            columns[judge] = found
    for k in scores.ks:
        if (found := scores.comparison(k=k)) is not None:
            columns[f"k = {k}"] = found
    by_name = {
        title: dict(zip(result.methods, result.mean_ranks.tolist(), strict=True))
        for title, result in columns.items()
    }
    best = {title: min(ranks.values()) for title, ranks in by_name.items()}
    lines = [
        [
            f"**{label(name)}**" if name == OUR_METHOD else label(name),
            FAMILIES[family(name)][0],
            *(_marked(by_name[title][name], best[title], 1) for title in columns),
        ]
        for name in overall.methods
    ]
    groups = scores.blocks()
    shared = sum(len(group) > 1 for group in groups)
    text = (
        f"The {word} on a data set is the mean over k and classifiers, or over what a column names;"
        f" methods are ranked on each of {overall.n_datasets} sets, 1 the best, and the ranks "
        "averaged. "
        + (f"Sets with the same samples count once, as their mean ({shared} such groups). "
           if shared else "")
        + "A method with fewer repetitions is compared with the others on those folds that it has."
        f" Friedman's test of all methods being alike has p = {overall.friedman_p:.2g}; mean ranks "
        f"that differ by {overall.critical_difference:.1f} or less are not told apart (Nemenyi, "
        f"{100 * overall.confidence:.0f} %)."
    )  # fmt: skip
    deep = _deep(scores)
    table = markdown_table(["method", "family", *columns], lines)
    return "\n\n".join(part for part in (text, table, deep) if part)


def _deep(scores: Scores) -> str:
    """Methods that were run on some sets only: their mean rank among all on those."""
    lines = []
    for at, name in enumerate(scores.methods):
        if at not in scores.ranked:
            sets = [i for i in scores.complete if scores.seen[i, at]]
            result = scores.compared_on([*scores.ranked, at], sets)
            if result is not None:
                ranks = dict(zip(result.methods, result.mean_ranks, strict=True))
                cells = [f"{ranks[name]:.1f}", f"{ranks.get(OUR_METHOD, np.nan):.1f}"]
                lines.append([label(name), str(len(sets)), *cells, str(len(ranks))])
    if not lines:
        return ""
    return (
        "Networks are trained on the smaller sets only; among all methods on those:\n\n"
        + markdown_table(["method", "sets", "mean rank", "TopK's there", "methods"], lines)
    )


def _marked(value: float, best: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return f"**{text}**" if value <= best else text


def _against(scores: Scores) -> str:
    found = scores.against(OUR_METHOD)
    if not found:
        return "TopK was not run, or on one set only."
    clear = [rival for rival in found if rival.p < 0.05]
    ahead = [label(rival.name) for rival in clear if rival.better > rival.worse]
    behind = [rival for rival in clear if rival.better < rival.worse]
    lines = [
        [label(rival.name), *map(str, (rival.sets, rival.worse, rival.better)), f"{rival.p:.2g}"]
        for rival in sorted(found, key=lambda rival: rival.worse - rival.better)
    ]
    text = (
        "Wilcoxon's signed-rank test, exact, over the data sets on which both have a result, "
        f"corrected for {len(found)} rivals (Holm): TopK is ahead of {len(behind)} at the level of "
        "5 %, and "
        f"behind {_listed(ahead) if ahead else 'none'}."
    )
    # The least p of n sets is that of winning on all of them.
    if len(found) * 2.0 ** (1 - max(rival.sets for rival in found)) >= 0.05:
        text += " On so few sets this test cannot tell any two methods apart."
    header = ["rival", "sets", "where TopK is better", "where it is worse", "p"]
    return text + "\n\n" + markdown_table(header, lines)


# ------------------------------------------------------------------------------------- time
def _time_text(word: str) -> str:
    return (
        "Time is that of the selection alone, on one thread: all k of one fold, by one fit where a "
        f"ranking serves every k. Time and {word} are means over the data sets; a method without "
        "a result on some is placed by how it does against TopK on the sets that both have."
    )


def _time_figures(scores: Scores, word: str) -> tuple[Figure, ...]:
    points = time_points(scores)
    if len(points) < 2:
        return ()
    name = "league-classes-time" if scores.metric == "accuracy" else "league-labels-time"
    caption = f"Time of a selection against mean {word} over k, classifiers and data sets."
    return (Figure(name, caption, time_and_score(points, f"mean {word}, %")),)


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
def _by_data(scores: Scores, word: str) -> str:
    header = ["data", "all features"]
    for k in scores.ks:
        header += [f"best, k = {k}", f"TopK, k = {k}"]
    means = {k: scores.mean(k=k) for k in scores.ks}
    places = {k: scores.places(k=k) for k in scores.ks}
    lines = []
    for at, name in enumerate(scores.datasets):
        reference = scores.reference(name)
        cells = [dataset_info(name).title, "–" if np.isnan(reference) else f"{100 * reference:.1f}"]
        for k in scores.ks:
            cells += _best_and_own(scores, means[k][at], places[k][at])
        lines.append(cells)
    return (
        f"{word[0].upper()}{word[1:]} in percent, mean over the classifiers: of the best method for"
        " that k, and of TopK with its place. In the picture the place by the mean over k; F: "
        "failed, T: out of time, empty: not run.\n\n"
        f"{markdown_table(header, lines)}"
    )


def _best_and_own(scores: Scores, values: np.ndarray, places: np.ndarray) -> list[str]:
    if np.isnan(values).all():
        return ["–", "–"]
    best = int(np.nanargmax(values))
    shown = [f"{100 * values[best]:.1f} {label(scores.methods[best])}"]
    if OUR_METHOD not in scores.methods:
        return [*shown, "–"]
    own = scores.methods.index(OUR_METHOD)
    if np.isnan(values[own]):
        return [*shown, "–"]
    return [*shown, f"{100 * values[own]:.1f} ({places[own]:.0f})"]


def _place_figures(scores: Scores) -> tuple[Figure, ...]:
    places = scores.places()
    if len(scores.methods) < 2 or np.isnan(places).all():
        return ()
    with_result = np.array([np.nanmean(line) if not np.isnan(line).all() else np.inf
                            for line in places.T])  # fmt: skip
    order = np.argsort(with_result, kind="stable")
    names = [scores.methods[at] for at in order]
    marks = [
        [
            _mark(scores, dataset, method) if np.isnan(scores.mean()[at, scores_at]) else ""
            for at, dataset in enumerate(scores.datasets)
        ]
        for method, scores_at in zip(names, order, strict=True)
    ]
    name = "league-classes-places" if scores.metric == "accuracy" else "league-labels-places"
    titles = [dataset_info(dataset).title for dataset in scores.datasets]
    caption = "Place of every method on every data set, by the mean over k and classifiers."
    return (Figure(name, caption, place_map(places[:, order].T, marks, names, titles)),)


def _mark(scores: Scores, dataset: str, method: str) -> str:
    found = scores.outcomes(dataset, method)
    return _MARKS.get(found[0], "") if found else ""


def _listed(words: object) -> str:
    """Words in a row.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    items = [str(word) for word in words]  # type: ignore[attr-defined]
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)
