"""The tables of ``docs/datasets.md``, on the page and beside it, made from the catalogue.

``python -m tools.catalog_page docs/datasets.md`` brings both up to date.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rowsparse._files import write_whole
from rowsparse.datasets.catalog import DatasetInfo, list_datasets, papers

__all__ = ["BEGIN", "END", "origins", "tables", "updated"]

BEGIN, END = "<!-- catalogue -->", "<!-- end of the catalogue -->"
# Classes beyond which single sizes are not listed.
_MANY_CLASSES = 20
_ROLES = {
    "variant": "none; another form of a set that one uses",
    "stand-in": "none; a stand-in",
    "extra": "none",
}


def updated(page: str) -> str:
    """The page with fresh tables between its two marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no marks {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


def tables() -> str:
    """Sizes and papers, in Markdown."""
    sets = list_datasets()
    sizes = _table(
        ("Name", "Set", "Features", "Samples", "Columns", "Classes or labels", "Paper", "Download"),
        (_size_row(info) for info in sets),
    )
    references = "\n".join(f"- {short}: {full}." for short, full in papers().items())
    return f"{sizes}\n\n{references}"


def origins() -> str:
    """What differs from the papers and where the sets come from, as a CSV file."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        ("name", "differs from what is printed", "notes", "public copy (GitHub)", "cite", "licence")
    )
    writer.writerows(
        (info.name, info.differs, _notes(info), info.origin, info.citation, _licence(info))
        for info in list_datasets()
    )
    return file.getvalue()


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _licence(info: DatasetInfo) -> str:
    """Its licence, or that none is stated."""
    return info.licence.partition(";")[0]


def _size_row(info: DatasetInfo) -> tuple[str, ...]:
    return (
        _code(info.name),
        info.title,
        info.kind,
        str(info.n_samples),
        str(info.n_features),
        _classes(info),
        ", ".join(info.papers) or _ROLES[info.role],
        "yes" if info.downloadable else "by hand",
    )


def _classes(info: DatasetInfo) -> str:
    sizes = info.class_sizes
    if info.task == "multilabel":
        return f"{len(sizes)} labels, {sum(sizes) / info.n_samples:.2f} a sample"
    if len(set(sizes)) == 1:
        return f"{len(sizes)} × {sizes[0]}"
    if len(sizes) > _MANY_CLASSES:
        return f"{len(sizes)} of {min(sizes)} to {max(sizes)}"
    return f"{len(sizes)}: {', '.join(map(str, sizes))}"


def _notes(info: DatasetInfo) -> str:
    notes = [info.notes] if info.notes else []
    if info.same_samples:
        others = ", ".join(info.same_samples)
        notes.append(f"Same samples as {others}: not independent evidence.")
    if info.image_shape:
        height, width = info.image_shape
        order = "row by row" if info.image_order == "C" else "column by column"
        notes.append(f"Images of {height} × {width}, {order}.")
    return " ".join(notes)


def _code(name: str) -> str:
    return f"`{name}`"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    text = updated(path.read_text(encoding="utf-8"))
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    beside = path.with_suffix(".csv")
    write_whole(beside, lambda temporary: temporary.write_text(origins(), encoding="utf-8"))
