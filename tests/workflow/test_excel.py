"""Sheets of Excel workbooks."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow.loading import read_excel
from rowsparse.workflow.messages import InputError, required
from rowsparse.workflow.writing import write_excel, write_reduced

from .files import N, X, csv, frame, read, refusal
from .planted import selected

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def cell(value: object) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, float):
        return f"<c><v>{value!r}</v></c>"
    return f'<c t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'


def write(path: Path, *sheets: list[list[object]]) -> Path:
    """A workbook with nothing but values, its sheets called one, two and so on."""
    names = ["one", "two", "three"][: len(sheets)]
    listed = "".join(
        f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>' for i, name in enumerate(names, 1)
    )
    links = "".join(
        f'<Relationship Id="r{i}" Type="{RELATED}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in range(1, len(sheets) + 1)
    )
    with ZipFile(path, "w") as archive:
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{RELATED}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{RELATED}"><sheets>{listed}</sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships">{links}</Relationships>',
        )
        for i, rows in enumerate(sheets, 1):
            lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            archive.writestr(
                f"xl/worksheets/sheet{i}.xml",
                f'<worksheet xmlns="{MAIN}"><sheetData>{lines}</sheetData></worksheet>',
            )
    return path


def rows_of(table: pl.DataFrame) -> list[list[object]]:
    return [list(table.columns), *map(list, table.rows())]


def test_a_sheet_is_read_like_a_text_file(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    day = [f"2024-01-{1 + i % 28:02d}" for i in range(N)]
    path = write(tmp_path / "a.xlsx", rows_of(frame(day=day)), [["other"]])
    table = read(path, "outcome")
    np.testing.assert_array_equal(table.X, X)
    assert table.names == [f"f{j}" for j in range(10)]
    assert table.notes[0] == "Read: the sheet 'one'. Not read: 'two'."
    assert "'day', which holds dates" in table.notes[1]


def test_a_word_among_numbers_is_found_in_its_row(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    rows = rows_of(frame())
    rows[7][2] = "<LOD"
    rows.insert(4, [None] * 11)
    path = write(tmp_path / "a.xlsx", rows)
    assert "Column 'f2' holds numbers, but '<LOD' in row 9:" in refusal(path)
    table = read(path, "outcome", na_values="<LOD", impute="median")
    assert table.X[6, 2] == np.median(np.delete(X[:, 2], 6))


def test_numbers_keep_all_their_digits(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    values = [0.1257302210933933, -1e-12, 12345678901.0, 1e300, 3.0]
    rows = [["a"], *[[value] for value in values]]
    table, _, _ = read_excel(write(tmp_path / "a.xlsx", rows))
    assert [float(text) for text in table["a"]] == values
    assert table["a"][2] == "12345678901"


def test_rows_and_columns_without_anything_are_left_out(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    rows = [["a", None, None], [None, None, None], ["x", 1.5, None], ["y", None, None]]
    table, places, notes = read_excel(write(tmp_path / "a.xlsx", rows))
    assert table.to_dict(as_series=False) == {"a": ["x", "y"], "column 2": ["1.5", None]}
    assert places == [3, 4]
    assert notes == []


def test_refusals(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    assert "several columns of the name 'a'" in refusal(write(tmp_path / "a.xlsx", [["a", "a"]]))
    assert refusal(write(tmp_path / "b.xlsx", [])) == "The sheet 'one' of 'b.xlsx' is empty."
    (tmp_path / "c.xlsx").write_bytes(b"PK no workbook")
    assert refusal(tmp_path / "c.xlsx").startswith("'c.xlsx' cannot be read as Excel and has to be")


def test_another_sheet_with_its_header_further_down(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    title: list[list[object]] = [["Study 7"], [None]]
    path = write(tmp_path / "a.xlsx", [["notes"], ["none"]], [*title, *rows_of(frame())])
    for sheet in ("two", "2"):
        table = read(path, "outcome", sheet=sheet, header_row=3)
        np.testing.assert_array_equal(table.X, X)
        assert table.notes[0] == "Read: the sheet 'two'. Not read: 'one'."
    for settings, sentence in (
        ({}, "it has 'notes'. Read: the sheet 'one'. Not read: 'two'. Choose one with --sheet."),
        ({"sheet": "three"}, "--sheet: there is no sheet 'three' in 'a.xlsx'; it has 'one' and"),
        ({"sheet": "3"}, "--sheet: there is no sheet '3' in 'a.xlsx'; it has 'one' and 'two'."),
        ({"sheet": "two", "header_row": 2}, "--header-row 2: that row of the sheet 'two' is empty"),
        ({"sheet": "two", "header_row": 200}, "The sheet 'two' of 'a.xlsx' is empty."),
    ):
        assert sentence in refusal(path, **settings)
    text = csv(tmp_path / "a.csv", frame())
    assert refusal(text, sheet="one") == "--sheet is for Excel files, not for 'a.csv'."
    frame().write_parquet(tmp_path / "a.parquet")
    assert "is for text and Excel files" in refusal(tmp_path / "a.parquet", header_row=2)


def test_the_reduced_table_is_a_workbook_too(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    table = read(write(tmp_path / "a.xlsx", rows_of(frame())), "outcome")
    (tmp_path / "out").mkdir()
    result = selected(table, 3, cv=0, stability=0)
    path = write_reduced(tmp_path / "out", table, result)
    assert path.name == "reduced.xlsx"
    kept = frame().select("f1", "f4", "f6", "outcome")
    again = read(path, "outcome")
    np.testing.assert_allclose(again.X, kept.drop("outcome").to_numpy(), rtol=1e-15)
    path = write_reduced(tmp_path / "out", table, result, "csv")
    assert pl.read_csv(path).equals(kept)


def test_text_stays_text_and_numbers_keep_16_digits(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    path = tmp_path / "a.xlsx"
    words = ["=1+1", "007", "https://x.org", "a\ud800b", "1e5", ""]
    rows = [(word, 0.1 + j / 3, None if j else np.nan, j > 2) for j, word in enumerate(words)]
    write_excel(path, ["=name", "number", "gap", "flag"], rows)
    sheet = ZipFile(path).read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet
    found = read_excel(path)[0]
    assert found.columns == ["=name", "number", "gap", "flag"]
    assert found["=name"].to_list()[:5] == ["=1+1", "007", "https://x.org", r"a\ud800b", "1e5"]
    numbers = [float(value) for value in found["number"]]
    np.testing.assert_allclose(numbers, [row[1] for row in rows], rtol=1e-15)
    assert found["gap"].null_count() == len(words)


def test_more_columns_than_a_sheet_holds(tmp_path: Path) -> None:
    pytest.importorskip("xlsxwriter")
    with pytest.raises(InputError, match="16,384 columns, fewer than the 1 and 20,000 of"):
        write_excel(tmp_path / "a.xlsx", ["x"] * 20_000, [])
    assert not (tmp_path / "a.xlsx").exists()


def test_without_xlsxwriter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(ImportError, match=r'xlsxwriter: pip install "rowsparse\[excel\]"'):
        required("xlsxwriter")


def test_without_fastexcel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(ImportError, match=r'fastexcel: pip install "rowsparse\[excel\]"'):
        required("fastexcel")
