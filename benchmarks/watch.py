"""Slow-downs between two revisions: ``python -m benchmarks.watch [--since REVISION]``.

Both revisions are checked out beside each other and take turns, a process each, at the tasks of
``benchmarks/watch_tasks.py``. The ratio of processor times is taken in every round: what else the
machine does meets both. Ends with 1 if the median of a ratio is above the limit, or if the new
revision cannot run a task.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.tables import MISS, VERDICT, Table, verdict

ROOT = Path(__file__).parents[1]
TASKS_FILE = Path(__file__).with_name("watch_tasks.py")
DEFAULT_OUT = Path(__file__).parent / "results" / "watch.md"
LIMIT, ROUNDS = 1.25, 7
DONT_COMPILE = "PYTHONDONTWRITEBYTECODE"
Times = dict[str, float | None]


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise ValueError(done.stderr.strip().splitlines()[-1])
    return done.stdout.strip()


def last_tag() -> str:
    try:
        return git("describe", "--tags", "--abbrev=0", "HEAD^")
    except ValueError:
        raise ValueError(
            "There is no tag before HEAD to compare with: name a revision, as in --since HEAD~30."
        ) from None


@contextmanager
def checked_out(revision: str, folder: Path) -> Iterator[Path]:
    """A work tree of a revision, which is removed afterwards."""
    git("worktree", "add", "--detach", "--force", str(folder), revision)
    try:
        yield folder
    finally:
        git("worktree", "remove", "--force", str(folder))


def run_in(tree: Path, file: Path, *arguments: str) -> Any:
    """What a file prints as JSON with the library of a work tree, in a process of its own."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(file), *arguments],
        # Compiled files are kept, so that the import is timed without compiling.
        env=os.environ | one_thread | {"PYTHONPATH": str(tree / "src"), DONT_COMPILE: ""},
        cwd=tree,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return json.loads(done.stdout)


def measure(tree: Path, parts: Sequence[str] = ()) -> Times:
    """The times of tasks with the library of a work tree."""
    times: Times = run_in(tree, TASKS_FILE, *parts)
    return times


def take_turns(
    trees: Sequence[Path], rounds: int, parts: Sequence[str] = ()
) -> list[tuple[Times, Times]]:
    """The times of both trees in every round; the other one begins in every second."""
    for tree in trees:
        measure(tree, parts)  # so that the compiled files are there
    pairs = []
    for i in range(rounds):
        order = trees if i % 2 == 0 else trees[::-1]
        measured = {tree: measure(tree, parts) for tree in order}
        pairs.append((measured[trees[0]], measured[trees[1]]))
        print(f"round {i + 1} of {rounds} done", file=sys.stderr, flush=True)
    return pairs


def compare(pairs: list[tuple[Times, Times]], names: tuple[str, str], limit: float) -> Table:
    """A row for each task: median times, and median and quartiles of the ratios of the rounds."""
    before, after = (f"{name} ms" for name in names)
    formats = {"task": "", before: ".1f", after: ".1f", "ratio": ".2f", "quartiles": ""}
    table = Table("Processor time of the same tasks.", {**formats, VERDICT: ""})
    table.target = f"median ratio of {len(pairs)} rounds no more than {limit:g}"
    for task in pairs[0][1]:
        both = [(old.get(task), new[task]) for old, new in pairs]
        known = [(old, new) for old, new in both if old is not None and new is not None]
        row: dict[str, object] = {"task": task}
        if known:
            ratios = [new / old for old, new in known]
            low, middle, high = quartiles(ratios)
            row[before] = 1e3 * statistics.median(old for old, _ in known)
            row["ratio"], row["quartiles"] = middle, f"{low:.2f} to {high:.2f}"
            row[VERDICT] = verdict(middle <= limit)
        times = [new for _, new in both if new is not None]
        if times:
            row[after] = 1e3 * statistics.median(times)
        else:
            row[VERDICT] = MISS
        table.rows.append(row)
    return table


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watch", description=__doc__)
    parser.add_argument("--since", help="revision to compare with; the last tag by default")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--limit", type=float, default=LIMIT, help="largest ratio that passes")
    parser.add_argument(
        "--only", action="append", default=[], help="part of the names of the tasks to run"
    )
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="file for the table")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.limit <= 0:
        parser.error("--rounds must be 1 or more, and --limit above 0")
    return options


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        since = options.since or last_tag()
        names = (
            git("rev-parse", "--short", f"{since}^{{commit}}"),
            git("rev-parse", "--short", "HEAD"),
        )
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    with (
        tempfile.TemporaryDirectory(prefix="rowsparse-watch-") as folder,
        checked_out(names[0], Path(folder) / "before") as old,
        checked_out(names[1], Path(folder) / "after") as new,
    ):
        pairs = take_turns([old, new], options.rounds, options.only)
    table = compare(pairs, names, options.limit)
    print(table.text())
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(f"{table.markdown()}\n", encoding="utf-8")
    print(f"The table is in {options.out}.")
    return 1 if MISS in table.verdicts() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
