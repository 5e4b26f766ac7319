"""Pages from stored rows: a template of Markdown, filled with numbers, tables and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

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
    ``table("data | k")`` for lines under a header, and ``picture(caption)``, which draws.
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
        caption = f"{caption} {item.note}".strip()
        return f"![{caption}]({path.name})\n\n*{caption}*"

    environment = Environment(  # Markdown is no HTML: nothing is to be escaped.
        loader=FileSystemLoader(paper.templates),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"fmt": format, "shown": shown, "spread": spread, "picture": picture}
    environment.filters |= {"listed": listed, "joined": joined, "table": _table, "median": median}
    text = environment.get_template(f"{paper.name}.md").render(paper.page(rows))
    # Parts that are left out leave their blank lines behind.
    text = re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
    if trial:
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n{_TRIAL}\n{rest}"
    page = folder / f"{paper.name}{ending}.md"
    write_whole(page, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    return page


def _table(lines: Iterable[Sequence[Any]], header: str) -> str:
    return markdown_table(header.split(" | "), lines)


def listed(values: Mapping[str, Any]) -> str:
    """Names and values in a sentence.

    >>> listed({"Yale": 1, "USPS": 2})
    'Yale: 1; USPS: 2'
    """
    return "; ".join(f"{name}: {value}" for name, value in values.items())
