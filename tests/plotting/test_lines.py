"""Lines that can be told apart."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from rowsparse.plotting.axes import COLOURS
from rowsparse.plotting.lines import draw_line


def test_sixteen_lines_have_different_styles() -> None:
    _, ax = plt.subplots()
    lines = [draw_line(ax, [1, 2], [0, n], number=n).lines[0] for n in range(2 * len(COLOURS))]
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
