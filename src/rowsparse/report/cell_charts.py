"""Charts that are tables: coloured cells, and boxes of the samples of each group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array
from rowsparse._names import display_width, full, shown
from rowsparse.report.numbers import decimal, number, percent
from rowsparse.workflow.results import Distribution

# Width of an ordinary letter of the tables, in pixels.
_LETTER = 7.2
# The style sheet has shades from 0 (none) to this one, on which text stays readable.
N_SHADES = 10
# Groups of samples that can be told apart; marks of an axis below boxes, and the room beside them.
MOST_GROUPS = 16
_MARKS, _AIR = 3, 0.03


@dataclass(frozen=True)
class Cell:
    """A cell: the classes of its colour, a number to write into it, and a tooltip."""

    kind: str
    text: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Cells:
    """A table of cells, with the names of its rows and columns.

    ``numbered`` says whether the rows are those of ranked features; ``kind`` has the classes that
    say how large the cells are.
    """

    label: str
    rows: Sequence[str]
    cells: list[list[Cell]]
    kind: str
    columns: Sequence[str] = ()
    heading: str = ""
    numbered: bool = False


def triangle_cells(correlation: Array, names: Sequence[str], label: str) -> Cells:
    """Correlations of all pairs: the lower triangle, with the ranks on the diagonal."""
    with_numbers = len(names) <= 20
    rows = []
    for i in range(len(names)):
        row = []
        for j in range(i):
            r = float(correlation[i, j])
            text = decimal(r).replace("0.", ".") if with_numbers else ""
            row.append(Cell(_signed(r, 1.0), text, f"{i + 1} and {j + 1}: r = {decimal(r)}"))
        rows.append([*row, Cell("tick", str(i + 1))])
    kind = "square" if with_numbers else "square many"
    return Cells(label, names, rows, kind, numbered=True)


def signed_cells(values: Array, rows: Sequence[str], columns: Sequence[str], label: str) -> Cells:
    """Numbers of both signs, the colour as strong as they are large."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0
    places = min(max(0, 1 - math.floor(math.log10(largest))), 6)
    with_numbers = len(columns) <= 12
    cells = [
        [
            Cell(
                _signed(value, largest),
                decimal(value, places) if with_numbers else "",
                f"{full(row, 80)}, {full(column, 80)}: {number(value)}",
            )
            for column, value in zip(columns, line, strict=True)
        ]
        for row, line in zip(rows, np.asarray(values, dtype=np.float64).tolist(), strict=True)
    ]
    return Cells(label, rows, cells, _size(columns), columns, numbered=True)


def confusion_cells(classes: Sequence[str], counts: Array, label: str) -> Cells:
    """Counts of true (rows) against predicted classes (columns), shaded by the share of the row."""
    cells = []
    for i, row in enumerate(np.asarray(counts).tolist()):
        total = max(sum(row), 1)
        cells.append(
            [
                Cell(
                    _shaded("right" if i == j else "wrong", math.sqrt(count / total))
                    + ("" if count else " zero"),
                    f"{count:,}",
                    f"{full(classes[i], 80)} taken for {full(other, 80)}: {count:,} "
                    f"({percent(count / total)})",
                )
                for j, (other, count) in enumerate(zip(classes, row, strict=True))
            ]
        )
    return Cells(label, classes, cells, f"confusion {_size(classes)}", classes, "taken for")


def share_cells(shares: Array, rows: Sequence[str], columns: Sequence[str], label: str) -> Cells:
    """Shares from 0 to 1 as percentages, the colour as strong as they are large."""
    with_numbers = len(columns) <= 12
    cells = [
        [
            Cell(
                _shaded("right", share) + ("" if share else " zero"),
                percent(share, 0) if share and with_numbers else "",
                f"{full(row, 80)}, {full(column, 80)}: {percent(share, 0)}",
            )
            for column, share in zip(columns, line, strict=True)
        ]
        for row, line in zip(rows, np.asarray(shares, dtype=np.float64).tolist(), strict=True)
    ]
    return Cells(label, rows, cells, f"share {_size(columns)}", columns)


def _size(columns: Sequence[str]) -> str:
    """Classes for few, some or many columns, and for names too long to stand side by side."""
    count = len(columns)
    size = "few" if count <= 4 else "some" if count <= 12 else "many"
    widest = _LETTER * max(display_width(shown(column, 16)) for column in columns)
    room = 72 if size == "few" else 640 / count
    return size if widest <= room else f"{size} upright"


def _signed(value: float, largest: float) -> str:
    if not math.isfinite(value):
        return "none"
    return _shaded("plus" if value >= 0 else "minus", abs(value) / largest)


def _shaded(kind: str, share: float) -> str:
    return f"{kind} d{round(N_SHADES * min(share, 1.0))}"


@dataclass(frozen=True)
class Boxes:
    """How a feature is distributed in each group, above an axis.

    A row has the name of a group, five places from 0 to 1 along the axis (the 5, 25, 50, 75 and
    95 % points; NaN where they are not known) and words for them. Of a feature of 0 and 1 the only
    place is its share of ones. A mark is a place along the axis with its number.
    """

    feature: str
    rows: list[tuple[str, list[float], str]]
    marks: list[tuple[float, str]]


def boxes(one: Distribution) -> Boxes:
    """For each group a box at the quantiles, or a bar as long as its share of ones."""
    groups = one.groups[:MOST_GROUPS]
    if one.shares:
        rows = [(name, [it], percent(it, 0)) for name, it in zip(groups, one.shares, strict=False)]
        return Boxes(one.feature, rows, [])
    from matplotlib.ticker import MaxNLocator

    quantiles = np.asarray(one.quantiles, dtype=np.float64)[:MOST_GROUPS]
    known = quantiles[np.isfinite(quantiles)]
    low, high = known.min(initial=math.inf), known.max(initial=-math.inf)
    if not low < high:
        low, high = (low - 0.5, high + 0.5) if known.size else (0.0, 1.0)
    start, length = low - _AIR * (high - low), (1 + 2 * _AIR) * (high - low)
    marks = MaxNLocator(_MARKS, steps=(1, 2, 5, 10)).tick_values(low, high)
    hints = [
        f"median {number(row[2])}, middle half {number(row[1])} to {number(row[3])}"
        for row in quantiles.tolist()
    ]
    places = ((quantiles - start) / length).tolist()
    return Boxes(
        one.feature,
        list(zip(groups, places, hints, strict=True)),
        [((value - start) / length, number(value)) for value in marks if low <= value <= high],
    )
