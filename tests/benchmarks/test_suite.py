"""The tables of the benchmarks as CSV files, and those of the site."""

import csv
import re
from pathlib import Path

from benchmarks.__main__ import NAMES
from benchmarks.suite import COLUMNS, LIST, write_csv
from benchmarks.tables import MISS, PASS, Table

DOCS = Path(__file__).parents[2] / "docs"


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def table(title: str, *seconds: float) -> Table:
    rows = [{"data": "srbct", "s": s, "verdict": PASS if s < 1 else MISS} for s in seconds]
    return Table(title, {"data": "", "s": ".2f", "verdict": ""}, rows, "below 1 s", ["A", "B"])


def test_tables_are_written_and_those_of_an_earlier_run_replaced(tmp_path: Path) -> None:
    write_csv(tmp_path, "slow", [table("One, of two.", 0.5, 2), table("Two.", 3)], "v1")
    write_csv(tmp_path, "fast", [table("Other.", 0.25)], "v1")
    write_csv(tmp_path, "slow", [table("One.", 0.125, 4), Table("None.", {})], "v2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fast-1.csv", "slow-1.csv", LIST]
    assert read(tmp_path / "slow-1.csv") == [
        {"data": "srbct", "s": "0.12", "verdict": PASS},
        {"data": "srbct", "s": "4.00", "verdict": MISS},
    ]
    listed = read(tmp_path / LIST)
    assert tuple(listed[0]) == COLUMNS
    assert [tuple(row.values()) for row in listed] == [
        ("fast-1.csv", "fast", "Other.", "below 1 s", "1 of 1", "A B", "v1"),
        ("slow-1.csv", "slow", "One.", "below 1 s", "1 of 2", "A B", "v2"),
        ("", "slow", "None.", "", "", "", "v2"),
    ]


def test_every_table_of_the_site_is_listed_and_linked_and_of_a_benchmark() -> None:
    files = {path.name for path in (DOCS / "benchmarks").glob("*.csv")} - {LIST}
    listed = read(DOCS / "benchmarks" / LIST)
    assert {row["file"] for row in listed} - {""} == files
    assert {row["benchmark"] for row in listed} <= set(NAMES)
    page = (DOCS / "benchmarks.md").read_text("utf-8")
    sections = dict(re.findall(r"^### (\w+)$(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))
    for name, text in sections.items():
        linked = set(re.findall(r"\(benchmarks/([\w-]+\.csv)\)", text))
        assert linked == {row["file"] for row in listed if row["benchmark"] == name} - {""}
    assert set(sections) == {row["benchmark"] for row in listed}
