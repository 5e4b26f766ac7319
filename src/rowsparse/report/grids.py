"""Charts of cells: correlations, coefficients, confusion, membership, pixels."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence

import numpy as np

from rowsparse._arrays import Array
from rowsparse.report.names import display_width, full
from rowsparse.report.numbers import number, percent
from rowsparse.report.svg import LETTER, Svg, join, label, picture, tag, words

__all__ = [
    "confusion_matrix",
    "membership",
    "pixel_picture",
    "png_uri",
    "signed_heat_map",
    "triangle_heat_map",
]

# The strongest fill under a number: text stays readable on it in both themes.
_STRONGEST = 0.7


def triangle_heat_map(
    correlation: Array,
    names: Sequence[str],
    *,
    name: str,
    title: str,
    desc: str,
    width: float,
) -> Svg:
    """Correlations of all pairs, the lower triangle of the matrix.

    Rows are named and numbered, columns numbered; on a narrow page there are numbers only.
    """
    count = len(names)
    room = 22.0 if width < 500 else min(260.0, _room(names) + 34)
    cell = min(34.0, (width - room - 4) / max(1, count))
    numbers = cell >= 32
    # Where cells are smaller than a number, every fifth row has one.
    every = 1 if cell >= 14 else 5
    rows = []
    for i in range(count):
        y = 4 + cell * i
        row = [
            _signed_cell(
                float(correlation[i, j]),
                1.0,
                (room + cell * j, y, cell, cell),
                f"{i + 1} and {j + 1}: r = {_two_places(float(correlation[i, j]))}",
                _two_places(float(correlation[i, j])).replace("0.", ".") if numbers else "",
            )
            for j in range(i)
        ]
        if (i + 1) % every == 0:
            middle = y + cell / 2 + 4
            row.append(words(room + cell * (i + 0.5), middle, str(i + 1), "tick", "middle"))
            row.append(_row_name(names, i, room, middle, width))
        rows.append(join(row))
    return picture(room + cell * count + 4, cell * count + 8, name, title, desc, *rows)


def _row_name(names: Sequence[str], at: int, room: float, y: float, width: float) -> Svg:
    number_ = words(room - 6, y, str(at + 1), "tick", "end")
    if width < 500:
        return number_
    return join([label(room - 30, y, names[at], room - 34, anchor="end"), number_])


def signed_heat_map(
    values: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    name: str,
    title: str,
    desc: str,
    width: float,
) -> Svg:
    """Numbers of both signs, as strong as they are large; each row named, each column too."""
    narrow = width < 500
    room = min(0.32 * width, _room(rows) + 30)
    cell = min(74.0, (width - room - 8) / max(1, len(columns)))
    high = 22.0 if narrow else 26.0
    top, headings = _column_names(columns, room, cell)
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0
    places = min(max(0, 1 - math.floor(math.log10(largest))), 6)
    drawn = []
    for i, text in enumerate(rows):
        y = top + high * i
        drawn.append(words(room - 6, y + high / 2 + 4, str(i + 1), "tick", "end"))
        drawn.append(label(room - 28, y + high / 2 + 4, text, room - 30, anchor="end"))
        drawn += [
            _signed_cell(
                float(values[i, j]),
                largest,
                (room + cell * j, y, cell, high),
                f"{full(text, 80)}, {full(columns[j], 80)}: {number(float(values[i, j]))}",
                f"{values[i, j]:.{places}f}".replace("-", "−") if cell >= 36 else "",
            )
            for j in range(len(columns))
        ]
    size = (max(room + cell * len(columns) + 8, 200.0), top + high * len(rows) + 4)
    return picture(*size, name, title, desc, headings, *drawn)


def confusion_matrix(
    classes: Sequence[str],
    counts: Array,
    *,
    name: str,
    title: str,
    desc: str,
    width: float,
) -> Svg:
    """Counts of true (rows) against predicted classes (columns), shaded by the share of the row."""
    counts = np.asarray(counts)
    totals = np.maximum(counts.sum(axis=1), 1)
    room = min(0.34 * width, _room(classes) + 8)
    cell = min(72.0, (width - room - 8) / max(1, len(classes)))
    high = min(cell, 44.0)
    top, headings = _column_names(classes, room, cell, above=20.0)
    drawn = [words(room, 13, "taken for", "axis")]
    for i, text in enumerate(classes):
        y = top + high * i
        drawn.append(label(room - 8, y + high / 2 + 4, text, room - 10, anchor="end"))
        for j, other in enumerate(classes):
            count, share = int(counts[i, j]), float(counts[i, j] / totals[i])
            hint = f"{full(text, 80)} taken for {full(other, 80)}: {count:,} ({percent(share)})"
            kind = "right" if i == j else "wrong"
            place = (room + cell * j, y, cell, high)
            shade = _STRONGEST * math.sqrt(share)
            drawn.append(_cell(place, kind, shade, hint, f"{count:,}" if cell >= 22 else ""))
    size = (max(room + cell * len(classes) + 8, 160.0), top + high * len(classes) + 4)
    return picture(*size, name, title, desc, headings, *drawn)


def membership(
    names: Sequence[str],
    ks: Sequence[int],
    member: Array,
    *,
    name: str,
    title: str,
    desc: str,
    width: float,
) -> Svg:
    """For each feature a bar over those numbers of features at which it is selected."""
    room = min(0.34 * width, _room(names) + 8)
    cell = (width - room - 10) / max(1, len(ks))
    high = 20.0
    bottom = 4 + high * len(names)
    drawn = []
    for i, text in enumerate(names):
        y = 4 + high * i
        drawn.append(label(room - 6, y + high / 2 + 4, text, room - 8, anchor="end"))
        drawn.append(
            tag(
                "line", x1=room, x2=room + cell * len(ks), y1=y + high / 2, y2=y + high / 2,
                class_="grid",
            )
        )  # fmt: skip
        for start, stop in _runs(member[i]):
            until = f" to {ks[stop - 1]}" if stop - start > 1 else ""
            drawn.append(
                tag(
                    "rect",
                    tag("title", f"{full(text, 80)}: k = {ks[start]}{until}"),
                    x=room + cell * start + 0.5,
                    y=y + 4,
                    width=max(1.0, cell * (stop - start) - 1),
                    height=high - 8,
                    rx=2,
                    class_="plus",
                )
            )
    every = max(1, math.ceil(30 / cell))
    drawn += [
        words(room + cell * (at + 0.5), bottom + 16, f"{ks[at]:,}", "tick", "middle")
        for at in range(0, len(ks), every)
    ]
    middle = room + cell * len(ks) / 2
    drawn.append(words(middle, bottom + 36, "number of features k", "axis", "middle"))
    return picture(width, bottom + 44, name, title, desc, *drawn)


def pixel_picture(
    image: Array,
    pixels: Sequence[int],
    *,
    low: float,
    high: float,
    name: str,
    title: str,
    desc: str,
    side: float = 132,
) -> Svg:
    """An image with some pixels outlined; more ink for values nearer to `high`."""
    rows, columns = image.shape
    unit = side / max(rows, columns)
    size = (columns * unit, rows * unit)
    picked = [
        tag(
            "rect",
            x=(at % columns) * unit,
            y=(at // columns) * unit,
            width=float(unit),
            height=float(unit),
            class_="pixel",
        )
        for at in pixels
    ]
    ink = tag(
        "image", href=png_uri((image - low) / ((high - low) or 1.0)), x=0, y=0,
        width=float(size[0]), height=float(size[1]), preserveAspectRatio="none", class_="ink",
    )  # fmt: skip
    frame = tag("rect", x=0, y=0, width=float(size[0]), height=float(size[1]), class_="frame")
    return picture(*size, name, title, desc, ink, frame, *picked)


def png_uri(ink: Array) -> str:
    """A PNG as a data address: black, as opaque as `ink` (from 0 to 1) says."""
    alpha = np.round(255 * np.clip(np.nan_to_num(ink), 0.0, 1.0)).astype(np.uint8)
    rows, columns = alpha.shape
    grey_alpha = np.zeros((rows, columns, 2), dtype=np.uint8)
    grey_alpha[:, :, 1] = alpha
    lines = np.zeros((rows, 1 + 2 * columns), dtype=np.uint8)
    lines[:, 1:] = grey_alpha.reshape(rows, -1)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 4, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, body)
        for kind, body in (
            (b"IHDR", header),
            (b"IDAT", zlib.compress(lines.tobytes(), 9)),
            (b"IEND", b""),
        )
    )
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")


def _chunk(kind: bytes, body: bytes) -> bytes:
    check = zlib.crc32(kind + body)
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)


def _room(names: Sequence[str]) -> float:
    """Width of the longest name."""
    return 10 + LETTER * max((display_width(full(name, 60)) for name in names), default=0)


def _column_names(
    names: Sequence[str], left: float, cell: float, above: float = 0.0
) -> tuple[float, Svg]:
    """Names over the columns, upright where they have no room side by side; and their height."""
    widest = _room(names)
    if widest <= cell:
        texts = [
            label(left + cell * (at + 0.5), above + 14, name, cell, anchor="middle")
            for at, name in enumerate(names)
        ]
        return above + 22, join(texts)
    height = min(widest, 96.0)
    places = [(left + cell * (at + 0.5) + 4, above + height) for at in range(len(names))]
    texts = [
        label(x, y, name, height, transform=f"rotate(-90 {x:.1f} {y:.1f})")
        for (x, y), name in zip(places, names, strict=True)
    ]
    return above + height + 8, join(texts)


def _signed_cell(
    value: float, largest: float, place: tuple[float, float, float, float], hint: str, text: str
) -> Svg:
    if not math.isfinite(value):
        return _cell(place, "none", 0.0, hint, "")
    return _cell(
        place, "plus" if value >= 0 else "minus", _STRONGEST * abs(value) / largest, hint, text
    )


def _cell(
    place: tuple[float, float, float, float], kind: str, shade: float, hint: str, text: str
) -> Svg:
    """A cell, its colour as strong as `shade`, with a number in it if there is room."""
    x, y, width, height = place
    box = {"x": x + 0.5, "y": y + 0.5, "width": width - 1, "height": height - 1}
    cell = tag("rect", tag("title", hint), **box, class_=kind, fill_opacity=float(shade))
    if not text or display_width(text) * 6.2 > width:
        return cell
    kind = "in zero" if text == "0" else "in"
    return join([cell, words(x + width / 2, y + height / 2 + 4, text, kind, "middle")])


def _two_places(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def _runs(mask: Array) -> list[tuple[int, int]]:
    """Where each run of True starts and stops."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(mask, dtype=int), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
