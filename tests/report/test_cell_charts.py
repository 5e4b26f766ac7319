"""Cells are as strongly coloured as their numbers, and say what they are."""

from __future__ import annotations

import numpy as np

from rowsparse.report.cell_charts import (
    boxes,
    confusion_cells,
    share_cells,
    signed_cells,
    triangle_cells,
)
from rowsparse.workflow.results import Distribution

from .reading import plain


def test_a_heat_map_is_as_strong_as_its_numbers() -> None:
    values = np.array([[1.0, -0.5, 0.0], [0.2, np.nan, np.inf]])
    chart = signed_cells(values, ["a", "b"], ["x", "y", "z"], "Numbers")
    kinds = [[cell.kind for cell in row] for row in chart.cells]
    assert kinds == [["plus d10", "minus d5", "plus d0"], ["plus d2", "none", "none"]]
    assert [cell.text for cell in chart.cells[0]] == ["1.0", "−0.5", "0.0"]
    assert chart.cells[0][1].hint == "a, y: −0.5"


def test_numbers_have_as_many_places_as_the_largest_needs() -> None:
    chart = signed_cells(np.array([[0.0123, -0.004]]), ["a"], ["x", "y"], "Numbers")
    assert [cell.text for cell in chart.cells[0]] == ["0.012", "−0.004"]


def test_correlations_are_drawn_once_for_each_pair() -> None:
    r = np.array([[1.0, 0.5, -0.8], [0.5, 1.0, 0.0], [-0.8, 0.0, 1.0]])
    chart = triangle_cells(r, ["a", "b", "c"], "Correlations")
    hints = [cell.hint for row in chart.cells for cell in row if cell.hint]
    assert hints == ["2 and 1: r = 0.50", "3 and 1: r = −0.80", "3 and 2: r = 0.00"]
    assert [cell.text for cell in chart.cells[2]] == ["−.80", ".00", "3"]
    assert [cell.kind for cell in chart.cells[2]] == ["minus d8", "plus d0", "tick"]


def test_a_confusion_matrix_counts() -> None:
    chart = confusion_cells(["cat", "dog"], np.array([[8, 2], [0, 5]]), "Mistakes")
    cells = [cell for row in chart.cells for cell in row]
    assert [cell.text for cell in cells] == ["8", "2", "0", "5"]
    assert [cell.kind.split()[0] for cell in cells] == ["right", "wrong", "wrong", "right"]
    assert cells[2].kind == "wrong d0 zero"
    assert plain(cells[0].hint) == "cat taken for cat: 8 (80.0 %)"
    # The square root of the share of the row: few mistakes are still seen.
    assert [cell.kind for cell in cells[:2]] == ["right d9", "wrong d4"]
    assert cells[3].kind == "right d10"


def test_large_tables_have_no_numbers_and_smaller_cells() -> None:
    r = np.eye(30)
    names = [f"x{at}" for at in range(30)]
    chart = triangle_cells(r, names, "Correlations")
    assert chart.kind == "square many"
    assert {cell.text for row in chart.cells for cell in row[:-1]} == {""}
    assert signed_cells(r, names, names, "Numbers").kind == "many upright"
    assert signed_cells(r[:, :2], names, names[:2], "Numbers").kind == "few"
    long = ["a rather long name", "b"]
    assert signed_cells(r[:, :2], names, long, "Numbers").kind == "few upright"


def test_shares_are_percentages_and_none_is_blank() -> None:
    chart = share_cells(np.array([[1.0, 0.0]]), ["a"], ["x", "y"], "shares")
    full, nothing = chart.cells[0]
    assert (plain(full.text), nothing.text) == ("100 %", "")
    assert "d10" in full.kind
    assert "zero" in nothing.kind


def test_boxes_are_at_their_quantiles_along_the_axis() -> None:
    quantiles = np.array([[0, 1, 2, 3, 4], [6, 7, 8, 9, 10.0], [np.nan] * 5])
    found = boxes(Distribution("a", ("yes", "no", "none"), quantiles))
    assert [name for name, _, _ in found.rows] == ["yes", "no", "none"]
    (_, first, hint), (_, second, _), (_, third, _) = found.rows
    assert hint == "median 2, middle half 1 to 3"
    unit = first[1] - first[0]
    np.testing.assert_allclose(np.diff(first), unit)
    np.testing.assert_allclose(np.subtract(second, first), 6 * unit)
    assert 0 < first[0] < second[4] < 1
    assert np.isnan(third).all()
    assert [text for _, text in found.marks] == ["0", "5", "10"]
    np.testing.assert_allclose(
        [at for at, _ in found.marks], [first[0], first[0] + 5 * unit, second[4]]
    )


def test_boxes_of_a_constant_and_of_nothing_have_an_axis() -> None:
    constant = boxes(Distribution("a", ("yes",), np.full((1, 5), 3.0)))
    np.testing.assert_allclose(constant.rows[0][1], 0.5)
    assert "3" in [text for _, text in constant.marks]
    nothing = boxes(Distribution("a", ("yes",), np.full((1, 5), np.nan)))
    assert np.isnan(nothing.rows[0][1]).all()


def test_shares_of_ones_are_bars() -> None:
    found = boxes(Distribution("b", ("yes", "no"), np.zeros((2, 5)), (0.25, np.nan)))
    (yes, [quarter], words), (_, [unknown], nothing) = found.rows
    assert (yes, quarter, plain(words), nothing) == ("yes", 0.25, "25 %", "–")
    assert np.isnan(unknown)
    assert found.marks == []
