"""What the runner of the experiments costs on top of a paper's tasks."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

from benchmarks.data import Data, for_each
from benchmarks.tables import VERDICT, Table, verdict
from benchmarks.timing import race
from reproduction.declare import Paper, Row, Size
from reproduction.nie2010 import PAPER
from reproduction.runner import pending, run_paper
from reproduction.store import ResultStore

MOST_PERCENT = 2.0
DATASETS = ("glioma", "allaml")


@contextmanager
def empty_store(size: Size) -> Iterator[ResultStore]:
    with (
        tempfile.TemporaryDirectory() as folder,
        ResultStore(Path(folder) / "results.db", size.name) as store,
    ):
        yield store


def plain_loop(size: Size) -> dict[str, list[Row]]:
    """All tasks, one after another: the rows of each."""
    with empty_store(size) as store:
        work = pending(PAPER, store, size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {task.key: run(task) for run, task in work}


def known(answers: dict[str, list[Row]]) -> Paper:
    """The paper with tasks that are done at once, as their rows are known."""
    experiments = tuple(
        replace(experiment, run=lambda task: answers[task.key]) for experiment in PAPER.experiments
    )
    return replace(PAPER, experiments=experiments)


def by_runner(paper: Paper, size: Size) -> None:
    with empty_store(size) as store:
        run_paper(paper, store, size)


def measure(data: Data, table: Table) -> None:
    size = replace(PAPER.quick, datasets=(data.name,))
    start = perf_counter()
    answers = plain_loop(size)
    tasks = perf_counter() - start
    added = race({"runner": partial(by_runner, known(answers), size)}, rounds=20)["runner"].best
    table.rows.append(
        {
            "data": data.name,
            "tasks": len(answers),
            "tasks s": tasks,
            "runner s": added,
            "cost %": 100.0 * added / tasks,
            VERDICT: verdict(100.0 * added / tasks < MOST_PERCENT),
        }
    )


def run(quick: bool) -> list[Table]:
    formats = {"data": "", "tasks": "d", "tasks s": ".2f", "runner s": ".4f", "cost %": ".3f"}
    table = Table("The tasks of nie2010 --quick, and the runner without them.", formats)
    table.formats[VERDICT] = ""
    table.target = f"the runner costs less than {MOST_PERCENT:g} %"
    table.notes.append(
        "One process. The tasks are timed in a plain loop; the runner is timed with tasks whose "
        "rows are known, so that what remains is its own: it keeps every result in an SQLite file "
        "as soon as it is there."
    )
    return [for_each(DATASETS[: 1 if quick else None], table, measure)]
