"""Runs benchmarks, prints their tables, keeps them as JSON and in a Markdown page."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import environment
from benchmarks.tables import MISS, PASS, Table

Results = dict[str, list[Table]]


def run_suite(names: Sequence[str], quick: bool, out: Path, markdown: Path | None) -> None:
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
    _finish(results, described, markdown)
    print(f"Everything is in {out}.")


def show_results(source: Path, names: Sequence[str], markdown: Path | None) -> None:
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
    _finish(results, stored["environment"], markdown)


def _print(tables: list[Table]) -> None:
    for table in tables:
        print(f"\n{table.text()}", flush=True)


def _write(out: Path, described: dict[str, Any], results: Results) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    plain = {name: [table.as_dict() for table in tables] for name, tables in results.items()}
    out.write_text(json.dumps({"environment": described, "results": plain}, indent=1) + "\n")


def _finish(results: Results, described: dict[str, Any], markdown: Path | None) -> None:
    verdicts = [v for tables in results.values() for table in tables for v in table.verdicts()]
    print(f"\n{verdicts.count(PASS)} {PASS}, {verdicts.count(MISS)} {MISS}.")
    if markdown:
        page = markdown.read_text()
        for name, tables in results.items():
            figures = "\n\n".join(table.markdown() for table in tables)
            page = fill(page, name, f"{figures}\n\nMeasured with {environment.summary(described)}")
        markdown.write_text(page)
        print(f"The figures of {', '.join(results)} are in {markdown}.")


def fill(page: str, name: str, figures: str) -> str:
    """Replace what stands between the two marks of ``name``."""
    begin, end = f"<!-- figures: {name} -->", f"<!-- end: {name} -->"
    if begin not in page or end not in page:
        raise ValueError(f"the page has no marks '{begin}' and '{end}'")
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n\n{figures}\n\n{end}", page)
