"""Mean ranks and the critical difference."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rowsparse.evaluation import Comparison, compare_over_datasets
from rowsparse.plotting.comparison_display import draw_ranks

from .looking import overlapping


def compared(n_methods: int, n_datasets: int) -> Comparison:
    rng = np.random.default_rng(0)
    scores = rng.random((n_datasets, n_methods)) - 0.2 * np.arange(n_methods)
    return compare_over_datasets(scores, [f"method {i}" for i in range(n_methods)])


def drawn(comparison: Comparison, **options: Any) -> tuple[Any, Any]:
    _, (axes, bars) = plt.subplots(1, 2, sharey=True)
    draw_ranks(axes, bars, comparison, **options)
    return axes, bars


@pytest.mark.parametrize(("m", "n"), [(3, 4), (12, 30)])
def test_points_bars_and_difference_are_those_of_the_comparison(m: int, n: int) -> None:
    result = compared(m, n)
    axes, bars = drawn(result)
    points = [line.get_xydata()[0] for line in axes.lines if line.get_marker() == "o"]
    assert np.allclose(points, np.c_[result.mean_ranks, np.arange(m)])
    joined = [line.get_ydata() for line in bars.lines]
    assert [(round(a), round(b)) for a, b in joined] == result.cliques
    (start, end), _ = axes.lines[-1].get_data()
    assert end - start == pytest.approx(result.critical_difference)
    assert axes.get_xlim()[1] > end


def test_labels_colours_and_the_method_that_stands_out() -> None:
    result = compared(3, 5)
    axes, _ = drawn(result, labels=["A", "B", "C"], colours=["red", "green", "blue"])
    labels = axes.get_yticklabels()
    assert [label.get_text() for label in labels] == ["A", "B", "C"]
    assert [label.get_color() for label in labels] == ["red", "green", "blue"]
    axes, _ = drawn(result, highlight=result.methods[1])
    weights = [label.get_fontweight() for label in axes.get_yticklabels()]
    assert weights == ["normal", "bold", "normal"]


def test_many_methods_on_small_axes_do_not_overlap() -> None:
    axes, _ = drawn(compared(60, 10))
    assert overlapping([*axes.get_yticklabels(), *axes.texts[:-1]]) == []
