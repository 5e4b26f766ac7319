"""Axes, names beside them, and lines that can be told apart."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rowsparse.plotting import axes
from rowsparse.plotting.axes import COLOURS, axes_for, draw_line, name_ticks, row_axes

from .looking import overlapping

LONG = [f"a_column_with_a_rather_long_name_{i:03d}_$of_$money" for i in range(500)]


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(axes, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "rowsparse\[plot\]"'):
        axes_for(None)


def test_axes_are_those_given_or_new_ones() -> None:
    _, given = plt.subplots()
    assert axes_for(given) is given
    assert axes_for(None) is not axes_for(None)


@pytest.mark.parametrize("n", [3, 80, 500])
@pytest.mark.parametrize("side", ["x", "y"])
def test_names_do_not_overlap(n: int, side: str) -> None:
    _, ax = plt.subplots(figsize=(4, 4))
    ax.set(xlim=(-0.5, n - 0.5), ylim=(-0.5, n - 0.5))
    axis = getattr(ax, f"{side}axis")
    name_ticks(axis, LONG[:n])
    ax.tick_params("x", rotation=90)
    labels = axis.get_ticklabels()
    assert overlapping(labels) == []
    assert len(labels) == n if n < 50 else 20 < len(labels) < n
    assert all(len(label.get_text()) < 38 for label in labels)
    assert labels[0].get_text().endswith("$money")


def test_the_first_row_is_at_the_top_and_many_rows_make_a_higher_figure() -> None:
    few, many, endless = (row_axes(None, n) for n in (3, 40, 4000))
    assert few.yaxis_inverted()
    heights = [ax.figure.get_figheight() for ax in (few, many, endless)]
    assert heights[0] < heights[1] < heights[2] < 20


def test_twenty_four_lines_have_different_styles() -> None:
    _, ax = plt.subplots()
    lines = [draw_line(ax, [1, 2], [0, n], number=n).lines[0] for n in range(3 * len(COLOURS))]
    styles = {(line.get_color(), line.get_linestyle()) for line in lines}
    assert len(styles) == len(lines)


def test_points_and_error_bars_are_the_values() -> None:
    _, ax = plt.subplots()
    drawn = draw_line(ax, [1, 3], [5.0, 6.0], [0.5, 1.0], number=0)
    assert drawn.lines[0].get_xydata().tolist() == [[1, 5], [3, 6]]
    ends = np.array(drawn.lines[2][0].get_segments())[:, :, 1]
    assert ends.tolist() == [[4.5, 5.5], [5, 7]]
    assert not draw_line(ax, [1, 3], [5.0, 6.0], number=0).has_yerr


def test_a_highlighted_line_is_solid_thicker_and_on_top() -> None:
    _, ax = plt.subplots()
    plain, strong = (
        draw_line(ax, [1], [1], number=9, highlight=highlight).lines[0]
        for highlight in (False, True)
    )
    assert (plain.get_linestyle(), strong.get_linestyle()) == ("--", "-")
    assert strong.get_linewidth() > plain.get_linewidth()
    assert strong.get_zorder() > plain.get_zorder()
    assert draw_line(ax, [1], [1], number=0, color="red").lines[0].get_color() == "red"
