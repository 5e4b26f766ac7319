"""Delimited text in all the ways that people write it, and its cells as numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow.table import Table
from rowsparse.workflow.text_files import (
    is_blank,
    is_grouped,
    line_of,
    looks_numeric,
    numbered_rows,
    parse_cells,
    sniff,
)

from .files import X, csv, frame, read, refusal


# -------------------------------------------------------------------------- how a file is written
def test_rows_know_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('u,v\n1,"two\nlines"\n\n3,4\n')
    dialect = sniff(path)
    assert list(numbered_rows(path, dialect)) == [
        (1, ["u", "v"]),
        (2, ["1", "two\nlines"]),
        (4, []),
        (5, ["3", "4"]),
    ]
    assert [line_of(path, dialect, row) for row in (0, 1)] == [2, 5]


def test_blank_rows() -> None:
    assert is_blank([])
    assert is_blank([" "])
    assert not is_blank(["", ""])
    assert not is_blank(["x"])


def test_a_dialect(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("größe;;z\n1,5;x;<LOD\n".encode("cp1252"))
    dialect = sniff(path, missing=["<LOD"])
    assert (dialect.separator, dialect.encoding, dialect.decimal_comma) == (";", "cp1252", True)
    assert dialect.header == ("größe", "column 2", "z")
    assert dialect.is_text == (False, True, False)


# ------------------------------------------------------------------------------------------ cells
def test_columns_become_what_all_their_cells_are() -> None:
    frame = pl.DataFrame(
        {
            "number": ["1", " 2.5 ", "-", None],
            "truth": ["TRUE", "false", " ", None],
            "text": ["1", "x", "2", "-"],
            "nothing": ["", "-", " ", None],
        }
    )
    parsed, notes = parse_cells(frame, ["-"])
    assert parsed.to_dict(as_series=False) == {
        "number": [1.0, 2.5, None, None],
        "truth": [True, False, None, None],
        "text": ["1", "x", "2", None],
        "nothing": [None] * 4,
    }
    assert parsed.dtypes == [pl.Float64, pl.Boolean, pl.String, pl.String]
    assert notes == []


def test_groups_of_other_than_three_digits_are_no_numbers() -> None:
    frame = pl.DataFrame({"u": ["1,234", "12,34,567"], "v": ["1,234", "x"]})
    parsed, notes = parse_cells(frame, [])
    assert parsed.equals(frame)
    assert notes == []


@pytest.mark.parametrize("text", ["1", "-1.5", "1,234.5", "2e-3", "inf", "1 234,5", "1.", ".5"])
def test_what_looks_like_a_number(text: str) -> None:
    assert looks_numeric(text)
    assert not looks_numeric(f"<{text}")
    assert not looks_numeric(f"{text} mg")


def test_grouped_digits() -> None:
    assert is_grouped("999,000")
    assert not is_grouped("0,500")
    assert not is_grouped("1000,000")


# ----------------------------------------------------------------------------------------- tables
ROWS = "\n".join(f"{i % 7 + 0.5},{(i * 3) % 5 + 0.25},{'ab'[i % 2]}" for i in range(20))


def read_text(tmp_path: Path, text: str | bytes, target: str = "y", name: str = "a.csv") -> Table:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path, target)


def test_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    rows = ROWS.replace(",", ";").replace(".", ",")
    table = read_text(tmp_path, f"u;v;y\n{rows}\n")
    assert table.X[:2].tolist() == [[0.5, 0.25], [1.5, 3.25]]


def test_blanks_around_cells_and_names(tmp_path: Path) -> None:
    table = read_text(tmp_path, "u, v, y\n" + ROWS.replace(",", ", "))
    assert table.names == ["u", "v"]
    assert table.X[:2].tolist() == [[0.5, 0.25], [1.5, 3.25]]
    assert table.target.classes == ("a", "b")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    text = "größe,v,y\n" + ROWS.replace(",a", ",für").replace(",b", ",naïf")
    table = read_text(tmp_path, text.encode(encoding))
    assert table.names == ["größe", "v"]
    assert table.target.classes == ("für", "naïf")
    assert any("Windows-1252" in note for note in table.notes) == (encoding == "cp1252")


def test_windows_text_that_shows_only_far_down(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7}.5,{i % 5}.25,{'ab'[i % 2]}" for i in range(20000))
    table = read_text(tmp_path, f"u,v,y\n{rows}\n1.5,2.5,é\n".encode("cp1252"))
    assert table.target.classes == ("a", "b", "é")
    assert "Windows-1252" in table.notes[0]


def test_line_ends_of_windows_and_quoted_cells(tmp_path: Path) -> None:
    rows = "\r\n".join(
        f'{i % 7 + 0.5},"{(i * 3) % 5 + 0.25}","{"ab"[i % 2]}, or so"' for i in range(20)
    )
    table = read_text(tmp_path, f'"u, the first","v\r\nin two lines",y\r\n{rows}\r\n')
    assert table.names == ["u, the first", "v\r\nin two lines"]
    assert table.target.classes == ("a, or so", "b, or so")


def test_numbers_that_begin_with_a_gap(tmp_path: Path) -> None:
    rows = "\n".join(f"{'' if i < 8 else i % 5},{i % 3}.5,{'ab'[i % 2]}" for i in range(40))
    path = tmp_path / "a.csv"
    path.write_text(f"u,v,y\n{rows}\n")
    assert "8 missing values in 1 of 2 columns" in refusal(path, "y")
    table = read(path, "y", impute="median")
    assert table.X[0, 0] == np.median([i % 5 for i in range(8, 40)])


def test_true_and_false_are_numbers(tmp_path: Path) -> None:
    rows = "\n".join(f"{'TRUE' if i % 3 else 'FALSE'},{i % 5}.5,{'ab'[i % 2]}" for i in range(30))
    table = read_text(tmp_path, f"u,v,y\n{rows}\n")
    assert table.names == ["u", "v"]
    assert set(table.X[:, 0].tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("mark", ["NA", "nan", "?", "N/A", "null"])
def test_words_for_nothing(mark: str, tmp_path: Path) -> None:
    text = frame().write_csv().splitlines()
    cells = text[3].split(",")
    text[3] = ",".join([mark, *cells[1:]])
    path = tmp_path / "a.csv"
    path.write_text("\n".join(text))
    assert "1 missing value in 1 of 10 columns, most in 'f0' (1)" in refusal(path)


def test_hostile_names_survive(tmp_path: Path) -> None:
    names = [
        "<script>alert(1)</script>",
        'quo"te',
        "new\nline",
        "🧬",
        "עברית",
        "n" * 10_000,
        "=1+1",
    ]
    table = frame().rename({f"f{j}": name for j, name in enumerate(names)})
    again = read(csv(tmp_path / "a.csv", table), "outcome")
    assert again.names[: len(names)] == names
    np.testing.assert_array_equal(again.X, X)


def test_a_wide_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 1000, (20, 3000))
    path = tmp_path / "wide.csv"
    head = ",".join([*[f"g{j}" for j in range(3000)], "outcome"])
    rows = [",".join(map(str, row)) + f",{'ab'[i % 2]}" for i, row in enumerate(wide.tolist())]
    path.write_text("\n".join([head, *rows]))
    table = read(path, "outcome")
    np.testing.assert_array_equal(table.X, wide)


@pytest.mark.parametrize(
    ("separator", "cells", "values", "note"),
    [
        (",", ("950", '"1,234"', '"1,234,567.5"'), (950, 1234, 1234567.5), "thousands"),
        ("\t", ("950", "1,234", "2,000"), (950, 1234, 2000), "thousands"),
        (";", ("0,5", "1.234,5", "1.000"), (0.5, 1234.5, 1000), "thousands"),
        (";", ("1.5", "1,234", "2,000"), (1.5, 1234, 2000), "thousands"),
        (";", ("5,123", "1,234", "2,000"), (5.123, 1.234, 2), None),
        (",", ("950", "1'234.5", "12'000"), (950, 1234.5, 12000), "thousands"),
        (";", ("950", "1 234,5", "1\u00a0234\u00a0567"), (950, 1234.5, 1234567), "thousands"),
        (",", ('"1,5"', '"2,25"', '"3"'), (1.5, 2.25, 3), "decimal commas"),
        ("\t", ("0,123", "1,234", "2,000"), (0.123, 1.234, 2), None),
    ],
)
def test_thousands_separators_and_decimal_commas(
    separator: str,
    cells: tuple[str, ...],
    values: tuple[float, ...],
    note: str | None,
    tmp_path: Path,
) -> None:
    rows = [[cell, "ab"[i % 2]] for i in range(4) for cell in cells]
    lines = [["u", "y"], *rows]
    table = read_text(tmp_path, "\n".join(separator.join(line) for line in lines), name="a.txt")
    assert table.X[:3, 0].tolist() == list(values)
    sentences = {
        "thousands": ("Numbers with thousands separators: 'u'.",),
        "decimal commas": ("Commas in 'u' were read as decimal commas.",),
        None: (),
    }
    assert table.notes == sentences[note]


def test_a_comma_that_may_be_either_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("u\ty\n" + "1,234\ta\n5,678\tb\n" * 4)
    assert refusal(path, "y") == (
        "Column 'u' holds '1,234', which may be 1234 or 1.234: save the table without thousands "
        "separators and with decimal points."
    )


def test_row_names_that_the_header_has_no_cell_for(tmp_path: Path) -> None:
    rows = [f'"s{i}" {i % 7 + 0.5}  {i % 5} "{"ab"[i % 2]} b"' for i in range(20)]
    text = "\n".join(['"u" "v" "y"', *rows])
    for written in (text, text.replace("  ", " ").replace("b b", "c").replace(" ", "\t")):
        table = read_text(tmp_path, written, name="a.txt")
        assert table.names == ["u", "v"]
        assert table.identifiers == ("column 1",)
        assert table.X[:2].tolist() == [[0.5, 0.0], [1.5, 1.0]]


def test_a_separator_at_the_end_of_each_row_is_no_row_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("u,v,y\n" + ROWS.replace("\n", ",\n") + ",")
    assert "Line 2 of 'a.csv' has 4 cells, and the header has 3:" in refusal(path, "y")


def test_comments_before_the_header(tmp_path: Path) -> None:
    table = read_text(tmp_path, f'# made by "hand, 2024\n\n## v2\nu,v,y\n{ROWS}\n')
    assert table.names == ["u", "v"]
    assert table.X.shape == (20, 2)
    assert table.notes == ("Skipped: 3 lines before the header, blank or beginning with '#'.",)


@pytest.mark.parametrize("comments", ["", "##one\n##two\n"])
def test_a_header_that_begins_with_a_comment_sign(comments: str, tmp_path: Path) -> None:
    table = read_text(tmp_path, f"{comments}#u,v,y\n{ROWS}\n")
    assert table.names == ["#u", "v"]
    assert table.X.shape == (20, 2)


def test_nothing_but_comments(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("# one\n# two, three\n")
    assert refusal(path, "y") == "'a.csv' holds nothing but lines that begin with '#'."


@pytest.mark.parametrize(("line", "count"), [("1.5,2", "2 cells"), ("# remark", "1 cell")])
def test_a_row_that_is_too_short_is_named(line: str, count: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"u,v,y\n{ROWS}\n{line}\n{ROWS}\n")
    assert refusal(path, "y") == (
        f"Line 22 of 'a.csv' has {count}, and the header has 3: correct the line, or remove it if "
        "it is no row of the table."
    )


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    table = read_text(tmp_path, f"u,v,y\n{ROWS}\n\n{ROWS}\n  \n")
    assert table.X.shape == (40, 2)
    path = tmp_path / "a.csv"
    path.write_text(path.read_text() + "oops,2,a\n")
    assert "'oops' in line 44:" in refusal(path, "y")


def test_windows_text_far_down_below_comments(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7}.5,{i % 5}.25,{'ab'[i % 2]}" for i in range(20000))
    table = read_text(tmp_path, f"# one\nu,v,y\n{rows}\n1.5,2.5,é\n".encode("cp1252"))
    assert table.target.classes == ("a", "b", "é")
