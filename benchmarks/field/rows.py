"""The rows of field.csv."""

from __future__ import annotations

import csv
from pathlib import Path

Row = dict[str, str]
FIELDS: tuple[str, ...] = ("part", "problem", "k", "parameter", "method", "outcome", "seconds")
FIELDS += ("objective", "bound", "features", "same", "difference", "n", "d", "c", "memory")
FIELDS += ("support", "note")
# What the runs were made with is a row of this part.
ENVIRONMENT = "environment"


def key_of(row: Row) -> tuple[str, str, int, float, str]:
    """The key of the case of a row."""
    return (row["part"], row["problem"], int(row["k"]), float(row["parameter"]), row["method"])


def read_rows(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
