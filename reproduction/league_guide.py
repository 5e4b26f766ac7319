"""The tables of ``docs/guide/which_method.md``, from the rows of the league table.

``python -m reproduction.league_guide docs`` brings the page up to date with ``docs/league.csv``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from benchmarks.losses import CHOICE
from reproduction.declare import Row
from reproduction.league_page import time_points
from reproduction.league_scores import TIMED, UNRANKED, Scores, label
from reproduction.store import read_rows
from reproduction.tables import markdown_table
from rowsparse._files import write_whole
from rowsparse.datasets import dataset_info

__all__ = ["BEGIN", "END", "tables", "updated"]

BEGIN, END = "<!-- league -->", "<!-- end of the league -->"
PAGE = Path("guide", "which_method.md")
_HEADER = (
    "features",
    "sets",
    "methods",
    "the best mean ranks",
    "sets TopK's penalty was chosen by",
)
# Methods named in a cell.
_NAMED = 4


def updated(page: str, rows: Mapping[str, list[Row]]) -> str:
    """The page with fresh tables between its two marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no marks {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{tables(rows)}\n\n{END}{after}"


def tables(rows: Mapping[str, list[Row]]) -> str:
    """Mean ranks by kind of data and by k, and the methods that are not beaten in time."""
    classes = Scores.of(rows["classes"], "accuracy")
    labels = Scores.of(rows["labels"], "f1")
    several: list[str | int] = ["several labels, any", *_kind(labels, labels.complete), 0]
    lines = [*_by_kind(classes), several]
    by_k = [[k, _first(classes.mean_ranks(classes.ranked, k=k))] for k in classes.ks]
    return "\n\n".join(
        (
            "### By kind of data",
            markdown_table(_HEADER, lines),
            "### By number of features",
            markdown_table(["k", "the best mean ranks, all kinds of data"], by_k),
            "### By time",
            markdown_table(["method", "seconds", "mean accuracy, %"], _not_beaten(classes)),
        )
    )


def _by_kind(scores: Scores) -> list[list[str | int]]:
    """The kinds of data, those of most sets first."""
    kinds: dict[str, list[int]] = {}
    for at in scores.complete:
        kinds.setdefault(dataset_info(scores.datasets[at]).kind, []).append(at)
    falling = sorted(kinds.items(), key=lambda item: -len(item[1]))
    return [
        [kind, *_kind(scores, sets), sum(scores.datasets[at] in CHOICE for at in sets)]
        for kind, sets in falling
    ]


def _kind(scores: Scores, sets: Sequence[int]) -> tuple[int, int, str]:
    """Number of sets, of methods with a result on all of them, and the best of these."""
    finished = np.asarray(~np.isnan(scores.mean()[list(sets)]).any(axis=0))
    methods = [at for at in scores.distinct if finished[at] and scores.methods[at] not in UNRANKED]
    table = scores.by_block(methods, scores.blocks(sets))
    ranks = rankdata(-table, axis=1).mean(axis=0).tolist()
    names = [scores.methods[at] for at in methods]
    return len(sets), len(methods), _first(dict(zip(names, ranks, strict=True)))


def _first(ranks: Mapping[str, float]) -> str:
    """The methods with the least mean ranks.

    >>> _first({"topk": 1.5, "mrmr": 2.25})
    'TopK 1.5, MRMR 2.2'
    """
    best = sorted(ranks.items(), key=lambda item: item[1])[:_NAMED]
    return ", ".join(f"{label(name)} {rank:.1f}" for name, rank in best)


def _not_beaten(scores: Scores) -> list[list[str]]:
    """The methods than which none is both faster and more accurate, the fastest first."""
    points = time_points(scores)
    names = [TIMED, *(scores.methods[at] for at in scores.ranked)]
    kept = [(name, points[name]) for name in names if name in points]
    lines: list[list[str]] = []
    best = float("-inf")
    for name, (seconds, accuracy) in sorted(kept, key=lambda item: (item[1][0], -item[1][1])):
        if accuracy > best:
            best = accuracy
            lines.append([label(name), f"{seconds:.2g}", f"{accuracy:.1f}"])
    return lines


def main(folder: Path) -> None:
    """Write the tables of the rows in a folder into its page."""
    page = folder / PAGE
    text = updated(page.read_text(encoding="utf-8"), read_rows(folder / "league.csv"))
    write_whole(page, lambda temporary: temporary.write_text(text, encoding="utf-8"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
