"""Tables of results: as aligned text, as Markdown, and as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

PASS, MISS = "PASS", "MISS"
VERDICT = "verdict"


@dataclass
class Table:
    """Rows of one kind; ``formats`` names the columns shown, in order, with their format specs.

    A row may hold more than is shown: all of it goes into the JSON.
    """

    title: str
    formats: dict[str, str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    target: str = ""
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def cells(self, missing: str = "-") -> list[list[str]]:
        columns = self.formats.items()
        return [[_cell(row.get(c), spec, missing) for c, spec in columns] for row in self.rows]

    def text(self) -> str:
        """Title, target, aligned columns and notes."""
        lines = [self.title] + ([f"target: {self.target}"] if self.target else [])
        if self.rows:
            lines += _aligned([list(self.formats), *self.cells()], list(self.formats.values()))
        return "\n".join(lines + [f"note: {note}" for note in self.notes])

    def markdown(self) -> str:
        """The same for a Markdown page."""
        parts = [f"**{self.title}**" + (f" Target: {self.target}." if self.target else "")]
        if self.rows:
            rule = ["---:" if spec else "---" for spec in self.formats.values()]
            grid = [list(self.formats), rule, *self.cells()]
            parts.append("\n".join(f"| {' | '.join(line)} |" for line in grid))
        parts += self.notes
        return "\n\n".join(parts)

    def verdicts(self) -> list[str]:
        return [row[VERDICT] for row in self.rows if row.get(VERDICT)]


def verdict(passed: bool) -> str:
    return PASS if passed else MISS


def _cell(value: Any, spec: str, missing: str) -> str:
    if value is None or value == "":
        return missing
    return format(value, spec)


def _aligned(grid: list[list[str]], specs: list[str]) -> Iterable[str]:
    """Numbers to the right, words to the left, a rule below the headings."""
    widths = [max(len(line[i]) for line in grid) for i in range(len(specs))]
    lines = [
        "  ".join(
            cell.rjust(width) if spec else cell.ljust(width)
            for cell, width, spec in zip(line, widths, specs, strict=True)
        ).rstrip()
        for line in grid
    ]
    return [lines[0], "-" * (sum(widths) + 2 * (len(widths) - 1)), *lines[1:]]
