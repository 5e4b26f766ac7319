"""A paper of many small tasks, and a process that runs it until it is done or killed."""

import os
import sys
import time
from pathlib import Path

from reproduction.declare import Experiment, Paper, Row, RunTask, Size
from reproduction.runner import run_paper
from reproduction.store import ResultStore


def tasks(size: Size) -> list[RunTask]:
    return [
        RunTask("table", f"data{i % 3}", "method", i, {"log": size.options.get("log")})
        for i in range(size.repeats)
    ]


def run(task: RunTask) -> list[Row]:
    time.sleep(0.005)
    if task.options["log"]:
        with Path(task.options["log"]).open("a") as log:
            log.write(f"{task.split}\n")
    return [{"split": task.split, "k": k, "value": task.split * k} for k in (1, 2)]


def fails(task: RunTask) -> list[Row]:
    if task.split % 2:
        raise ValueError("odd")
    return [{"split": task.split}]


def sleeps(task: RunTask) -> list[Row]:
    time.sleep(0.05 if task.split else 5.0)
    return [{"split": task.split}]


def paper(run=run) -> Paper:
    return Paper(
        name="toy",
        experiments=(Experiment("table", tasks, run),),
        standard=Size(repeats=40),
        quick=Size("quick"),
        page=lambda rows: {"rows": len(rows["table"])},
        templates=Path(__file__).parent,
    )


if __name__ == "__main__":
    folder, n_jobs = Path(sys.argv[1]), int(sys.argv[2])
    size = Size(repeats=40, options={"log": str(folder / "log")})
    (folder / "pid").write_text(str(os.getpid()))
    with ResultStore(folder / "results.db") as store:
        run_paper(paper(), store, size, n_jobs=n_jobs)
