"""Axes, and names beside them."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from rowsparse.plotting import axes
from rowsparse.plotting.axes import axes_for, name_ticks, row_axes

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
    assert labels[0].get_text().endswith("_$money")


def test_the_first_row_is_at_the_top_and_many_rows_make_a_higher_figure() -> None:
    few, many, endless = (row_axes(None, n) for n in (3, 40, 4000))
    assert few.yaxis_inverted()
    heights = [ax.figure.get_figheight() for ax in (few, many, endless)]
    assert heights[0] < heights[1] < heights[2] < 20
