"""The picture of selection frequencies."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError

from rowsparse import FStatistic, StabilitySelection
from rowsparse.plotting import StabilityDisplay

from .looking import overlapping

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
SELECTOR = StabilitySelection(
    FStatistic(4), n_subsamples=20, subsample=0.1, threshold=0.5, random_state=0
).fit(X, Y)


def test_points_and_intervals_are_those_of_the_selector() -> None:
    display = StabilityDisplay.from_estimator(SELECTOR, max_features=None)
    columns = [list(X.columns).index(name) for name in display.names]
    assert np.array_equal(display.frequencies, SELECTOR.frequencies_[columns])
    assert np.array_equal(display.selected, SELECTOR.get_support()[columns])
    assert set(columns) == set(np.flatnonzero(SELECTOR.frequencies_))
    assert (np.diff(display.frequencies) <= 0).all()
    chosen, others = (points.lines[0] for points in display.points_)
    drawn = np.r_[chosen.get_xdata(), others.get_xdata()]
    assert np.array_equal(drawn, display.frequencies)
    ends = np.array(display.points_[0].lines[2][0].get_segments())[:, :, 0]
    assert np.allclose(ends, SELECTOR.frequency_intervals_[columns][display.selected])


def test_threshold_and_stability_are_shown() -> None:
    display = StabilityDisplay.from_estimator(SELECTOR)
    assert display.threshold_line_.get_xdata()[0] == 0.5
    assert f"stability {SELECTOR.stability_:.2f}" in display.ax_.get_title()
    assert f"{SELECTOR.stability_interval_[0]:.2f} to" in display.ax_.get_title()
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert set(legend) == {"selected", "not selected", "threshold"}


def test_what_is_not_known_is_not_shown() -> None:
    half = np.array([0.5])
    display = StabilityDisplay(["a"], half, np.array([[0.4, 0.6]]), half > 0).plot()
    assert display.threshold_line_ is None
    assert display.ax_.get_title() == ""
    assert len(display.points_) == 1
    display.stability = 0.25
    assert display.plot().ax_.get_title() == "stability 0.25"


def test_it_draws_on_given_axes_the_most_frequent_first() -> None:
    _, ax = plt.subplots()
    display = StabilityDisplay.from_estimator(SELECTOR, max_features=3, ax=ax, color="red")
    assert display.ax_ is ax
    assert len(display.names) == 3
    assert display.points_[0].lines[0].get_color() == "red"


def test_eighty_features_on_small_axes_do_not_overlap() -> None:
    _, ax = plt.subplots(figsize=(4, 3))
    shares = np.linspace(1, 0, 80)
    interval = np.c_[shares, shares]
    display = StabilityDisplay([f"feature {i}" for i in range(80)], shares, interval, shares > 0.5)
    display.plot(ax)
    assert overlapping(ax.get_yticklabels()) == []
    assert display.points_[0].lines[0].get_markersize() < 2


def test_refused() -> None:
    with pytest.raises(NotFittedError):
        StabilityDisplay.from_estimator(StabilitySelection())
    with pytest.raises(ValueError, match="FStatistic has no frequencies_: fit StabilitySelection"):
        StabilityDisplay.from_estimator(FStatistic(2).fit(X, Y))
    with pytest.raises(ValueError, match="max_features"):
        StabilityDisplay.from_estimator(SELECTOR, max_features=0)
