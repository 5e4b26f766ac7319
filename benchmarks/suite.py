"""Runs benchmarks, prints their tables, keeps them as JSON and as CSV files."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import environment
from benchmarks.tables import MISS, PASS, Table

Results = dict[str, list[Table]]
#: The file that says what the other CSV files of its folder are, and its columns.
LIST = "tables.csv"
COLUMNS = ("file", "benchmark", "table", "target", "met", "notes", "measured with")


def run_suite(names: Sequence[str], quick: bool, out: Path, folder: Path | None) -> None:
    """Run the benchmarks one after another; the JSON is written after each."""
    results: Results = {}
    described = environment.describe() | {"quick": quick}
    print(environment.summary(described), flush=True)
    with threadpool_limits(1):
        for name in names:
            print(f"\n== {name}", flush=True)
            results[name] = import_module(f"benchmarks.{name}").run(quick)
            _print(results[name])
            described["load after"] = environment.load()
            _write(out, described, results)
    _finish(results, described, folder)
    print(f"Everything is in {out}.")


def show_results(source: Path, names: Sequence[str], folder: Path | None) -> None:
    """The same from the JSON of an earlier run."""
    stored = json.loads(source.read_text())
    results = {
        name: [Table(**table) for table in tables]
        for name, tables in stored["results"].items()
        if name in names
    }
    print(environment.summary(stored["environment"]))
    for name, tables in results.items():
        print(f"\n== {name}")
        _print(tables)
    _finish(results, stored["environment"], folder)


def _print(tables: list[Table]) -> None:
    for table in tables:
        print(f"\n{table.text()}", flush=True)


def _write(out: Path, described: dict[str, Any], results: Results) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    plain = {name: [table.as_dict() for table in tables] for name, tables in results.items()}
    out.write_text(json.dumps({"environment": described, "results": plain}, indent=1) + "\n")


def _finish(results: Results, described: dict[str, Any], folder: Path | None) -> None:
    verdicts = [v for tables in results.values() for table in tables for v in table.verdicts()]
    print(f"\n{verdicts.count(PASS)} {PASS}, {verdicts.count(MISS)} {MISS}.")
    if folder:
        for name, tables in results.items():
            write_csv(folder, name, tables, environment.summary(described))
        print(f"The tables of {', '.join(results)} are in {folder}.")


def write_csv(folder: Path, name: str, tables: list[Table], measured_with: str) -> None:
    """Write a file for each table, ``name-1.csv`` and so on, and say in LIST what they are.

    Files of an earlier run of the same benchmark are replaced, those of others stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    others = [row for row in _listed(folder) if row["benchmark"] != name]
    for stale in folder.glob(f"{name}-*.csv"):
        stale.unlink()
    rows = []
    for number, table in enumerate(tables, 1):
        file = f"{name}-{number}.csv"
        verdicts = table.verdicts()
        if table.rows:
            write_rows(folder / file, [list(table.formats), *table.cells(missing="")])
        values = (
            file if table.rows else "",
            name,
            table.title,
            table.target,
            f"{verdicts.count(PASS)} of {len(verdicts)}" if verdicts else "",
            " ".join(table.notes),
            measured_with,
        )
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    # By benchmark; tables of one keep their order.
    every = sorted([*others, *rows], key=lambda row: row["benchmark"])
    write_rows(folder / LIST, [COLUMNS, *([row[c] for c in COLUMNS] for row in every)])


def _listed(folder: Path) -> list[dict[str, str]]:
    if not (folder / LIST).exists():
        return []
    with (folder / LIST).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def write_rows(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines, lineterminator="\n").writerows(rows)
