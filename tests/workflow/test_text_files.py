"""Rows of text files, and how the files are written."""

from __future__ import annotations

from pathlib import Path

from rowsparse.workflow.text_files import is_blank, line_of, numbered_rows, sniff


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
