"""The pictures of a comparison."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris

from rowsparse.evaluation import compare_over_datasets, selection_curve
from rowsparse.plotting import ComparisonDisplay

CURVE = selection_curve(["fstatistic", "ttest"], *load_iris(return_X_y=True), ks=[1, 3], cv=3)
RANKS = compare_over_datasets(np.random.default_rng(0).random((6, 4)), list("abcd"))


def test_lines_are_the_means_of_the_curve() -> None:
    display = ComparisonDisplay.from_curve(CURVE)
    drawn = np.array([line.lines[0].get_ydata() for line in display.lines_])
    assert np.array_equal(drawn, CURVE.mean("accuracy"))
    assert display.lines_[0].lines[0].get_xdata().tolist() == [1, 3]
    ends = np.array([line.lines[2][0].get_segments() for line in display.lines_])[..., 1]
    assert np.allclose(np.diff(ends, axis=2)[..., 0], 2 * CURVE.sd("accuracy"))
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["FStatistic", "TTest"]
    assert display.ax_.get_ylabel() == "accuracy of linear SVM ± sd"


@pytest.mark.parametrize("metric", ["macro_f1", "seconds", "redundancy"])
def test_other_figures_of_the_curve(metric: str) -> None:
    display = ComparisonDisplay.from_curve(CURVE, metric=metric, estimator="1-NN", show_sd=False)
    assert np.array_equal(display.means, CURVE.mean(metric, "1-NN"))
    assert not display.lines_[0].has_yerr
    assert ("1-NN" in display.ax_.get_ylabel()) == (metric == "macro_f1")


def test_ranks_are_drawn_on_given_axes_with_bars_beside_them() -> None:
    _, ax = plt.subplots()
    display = ComparisonDisplay.from_comparison(RANKS, ax=ax, highlight="b")
    assert display.ax_ is ax
    assert display.bars_ax_ in ax.figure.axes
    assert len(display.bars_ax_.lines) == len(RANKS.cliques)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(RANKS.methods)


def test_lines_on_given_axes_with_options_and_one_that_stands_out() -> None:
    _, ax = plt.subplots()
    display = ComparisonDisplay.from_curve(CURVE, ax=ax, highlight="TTest", marker="s")
    assert display.ax_ is ax
    widths = [line.lines[0].get_linewidth() for line in display.lines_]
    assert widths[1] > widths[0]
    assert display.lines_[0].lines[0].get_marker() == "s"
    assert display.plot() is display
    assert display.bars_ax_ is None


def test_the_legend_of_many_lines_stands_beside_them() -> None:
    names = [f"a selector with a rather long name, number {i}" for i in range(12)]
    display = ComparisonDisplay(names, ks=[1, 2], means=np.ones((12, 2))).plot()
    display.figure_.draw_without_rendering()
    legend = display.ax_.get_legend()
    assert legend.get_window_extent().x0 >= display.ax_.get_window_extent().x1
    assert legend.get_window_extent().x1 <= display.figure_.bbox.x1
    assert all(len(text.get_text()) <= 31 for text in legend.get_texts())


def test_refused() -> None:
    with pytest.raises(TypeError, match=r"curve must be what .*selection_curve returns; got list"):
        ComparisonDisplay.from_curve([])
    with pytest.raises(TypeError, match=r"comparison must be what .* returns; got SelectionCurve"):
        ComparisonDisplay.from_comparison(CURVE)
    with pytest.raises(ValueError, match="metric must be one of"):
        ComparisonDisplay.from_curve(CURVE, metric="r2")
    with pytest.raises(ValueError, match="estimator must be one of"):
        ComparisonDisplay.from_curve(CURVE, estimator="forest")
    with pytest.raises(ValueError, match="highlight must be one of"):
        ComparisonDisplay.from_comparison(RANKS, highlight="TopK")
    with pytest.raises(ValueError, match="Give ks and means, or comparison"):
        ComparisonDisplay(["a"]).plot()


@pytest.mark.parametrize(("metric", "is_low"), [("accuracy", False), ("seconds", True)])
def test_of_a_single_number_of_features_the_best_selector_comes_first(
    metric: str, is_low: bool
) -> None:
    curve = selection_curve(
        ["fstatistic", "ttest", "mrmr"], *load_iris(return_X_y=True), ks=[1], cv=3
    )
    display = ComparisonDisplay.from_curve(curve, metric=metric, highlight="TTest")
    drawn = [line.lines[0].get_xdata()[0] for line in display.lines_]
    assert drawn == sorted(curve.mean(metric).ravel().tolist(), reverse=not is_low)
    rows = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert sorted(rows) == ["FStatistic", "MRMR", "TTest"]
    means = dict(zip(curve.selectors, curve.mean(metric).ravel().tolist(), strict=True))
    assert [means[name] for name in rows] == drawn
    assert display.ax_.yaxis_inverted()
    ends = [line.lines[2][0].get_segments()[0][:, 0] for line in display.lines_]
    assert np.allclose(
        np.ptp(ends, axis=1),
        [2 * dict(zip(curve.selectors, curve.sd(metric).ravel(), strict=True))[n] for n in rows],
    )
