"""Pages from stored rows: a template of Markdown, filled with numbers, tables and pictures."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from reproduction.claims import MOSTLY, Claim
from reproduction.declare import Paper, Row
from reproduction.figures import Picture
from reproduction.tables import markdown_table, shown, spread
from rowsparse._files import write_whole
from rowsparse._text import joined

_TRIAL = (
    "> **A trial** of a few data sets, methods and repetitions (`--quick`): it shows that the runs "
    "work and says nothing about the paper. What the text says about sizes holds for the full run."
)


def write_page(
    paper: Paper, rows: Mapping[str, list[Row]], folder: Path, *, trial: bool = False
) -> Path:
    """Write the page of a paper and its pictures, from rows by experiment; the page's path.

    The page of a ``trial`` says so under its title, and its files are named ``*-quick``.

    Templates see, beside what ``paper.page`` returns, these filters: ``fmt(".1f")`` as Python's
    format, ``shown(".1f")`` with a dash for none, ``spread`` for mean ± standard deviation,
    ``median``, ``listed`` for names with values, ``joined`` for words in a sentence,
    ``table("data | k")`` for lines under a header, ``claims`` for the table that a page opens with,
    ``saved("name", "text")`` for a table in a CSV file, to which the text links, and
    ``picture(caption)``, which draws.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise ImportError('Pages need jinja2: pip install "rowsparse[report]".') from None
    folder.mkdir(parents=True, exist_ok=True)
    ending = "-quick" if trial else ""

    def picture(item: Picture, caption: str) -> str:
        path = folder / f"{item.name}{ending}.png"
        write_whole(path, item.draw)
        return f"![{caption}]({path.name})\n\n*{' '.join([caption, item.note]).strip()}*"

    def saved(table: str, name: str, text: str) -> str:
        path = folder / f"{paper.name}-{name}{ending}.csv"
        write_whole(path, lambda temporary: _write_csv(temporary, table))
        return f"[{text}]({path.name})"

    environment = Environment(  # Markdown is no HTML: nothing is to be escaped.
        loader=FileSystemLoader(paper.templates),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"fmt": format, "shown": shown, "spread": spread, "picture": picture}
    environment.filters |= {
        "claims": _claims_table,
        "saved": saved,
        "listed": listed,
        "joined": joined,
        "table": _table,
        "median": median,
    }
    text = environment.get_template(f"{paper.name}.md").render(paper.page(rows))
    if failed := failures(rows):
        text += "\n## What failed\n\n" + "\n".join(f"- {line}" for line in failed) + "\n"
    # Parts that are left out leave their blank lines behind.
    text = re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
    if trial:
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n{_TRIAL}\n{rest}"
    page = folder / f"{paper.name}{ending}.md"
    write_whole(page, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    return page


def failures(rows: Mapping[str, list[Row]]) -> list[str]:
    """Methods, data sets and reasons of the runs that ended in an error."""
    every = (row for own in rows.values() for row in own if row.get("error"))
    return sorted({f"{row['method']} on {row['dataset']} ({row['error']})" for row in every})


def _claims_table(claims: Iterable[Claim]) -> str:
    rows = ((c.claim, c.printed, c.here, f"**{c.verdict}**") for c in claims)
    table = markdown_table(["The paper says", "printed", "here", "verdict"], rows, numbers=False)
    return f'{table}\n\n"{MOSTLY}" means more than half of the cases.'


def _table(lines: Iterable[Sequence[Any]], header: str) -> str:
    return markdown_table(header.split(" | "), lines)


def _write_csv(path: Path, table: str) -> None:
    """The cells of a table in Markdown."""
    header, _, *lines = table.strip().splitlines()
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = (line[1:-1].split("|") for line in (header, *lines))
        csv.writer(file, lineterminator="\n").writerows(
            [c.strip(" *") for c in row] for row in rows
        )


def listed(values: Mapping[str, Any]) -> str:
    """Names and values in a sentence.

    >>> listed({"Yale": 1, "USPS": 2})
    'Yale: 1; USPS: 2'
    """
    return "; ".join(f"{name}: {value}" for name, value in values.items())
