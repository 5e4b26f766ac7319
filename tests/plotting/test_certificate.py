"""The picture of a proof."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError

from rowsparse import FStatistic, TopK
from rowsparse.plotting import CertificateDisplay

from .looking import overlapping

X, Y = load_breast_cancer(return_X_y=True)
SELECTOR = TopK(3, certify=True, random_state=0).fit(X, Y)
SECONDS = np.array([0.5, 1.0, 2.0])


def test_lines_are_the_history_of_the_proof() -> None:
    display = CertificateDisplay.from_estimator(SELECTOR)
    history = SELECTOR.proof_history_
    assert display.proven
    assert np.array_equal(display.objective_line_.get_xdata(), history["seconds"])
    assert np.array_equal(display.objective_line_.get_ydata(), history["objective"])
    positive = history["lower_bound"] > 0
    assert np.array_equal(display.bound_line_.get_ydata(), history["lower_bound"][positive])
    assert display.proven_mark_.get_ydata()[0] == SELECTOR.objective_
    assert display.ax_.get_title().startswith("proven optimal after")


def test_what_is_left_is_said_and_shaded() -> None:
    display = CertificateDisplay(
        SECONDS, np.full(3, 10.0), np.array([0.0, 6.0, 8.0]), gap=0.2, proven=False
    ).plot()
    assert display.proven_mark_ is None
    assert display.ax_.get_title() == "gap of 20 % left after 2 s"
    corners = display.gap_area_.get_paths()[0].vertices
    assert corners[:, 0].min() == 1.0
    assert (corners[:, 1].min(), corners[:, 1].max()) == (6.0, 10.0)
    low, high = display.ax_.get_ylim()
    assert 5 < low < 6 < 10 < high < 11


def test_nothing_proven_is_drawn_as_a_bound_of_zero() -> None:
    display = CertificateDisplay(SECONDS, np.full(3, 10.0), np.zeros(3), gap=1.0, proven=False)
    assert display.plot().bound_line_.get_ydata().tolist() == [0.0]


@pytest.mark.parametrize(("first", "scale"), [(0.001, "log"), (0.5, "linear"), (0.0, "linear")])
def test_a_long_proof_has_a_logarithmic_axis(first: float, scale: str) -> None:
    times = np.array([first, 1.0, 2.0])
    display = CertificateDisplay(times, np.ones(3), np.ones(3), gap=0.0, proven=True).plot()
    assert display.ax_.get_xscale() == scale
    low, high = display.ax_.get_ylim()
    assert high - low > 1e-3


def test_times_on_small_axes_do_not_overlap() -> None:
    _, ax = plt.subplots(figsize=(3, 3))
    times = np.array([0.105, 0.18, 0.207])
    CertificateDisplay(times, np.ones(3), np.ones(3), gap=0.0, proven=True).plot(ax)
    assert len(ax.get_xticklabels()) > 2
    assert overlapping(ax.get_xticklabels()) == []


def test_it_draws_on_given_axes_and_passes_options_on() -> None:
    _, ax = plt.subplots()
    display = CertificateDisplay.from_estimator(SELECTOR, ax=ax, linewidth=5.0)
    assert display.ax_ is ax
    assert display.bound_line_.get_linewidth() == 5.0


def test_refused() -> None:
    with pytest.raises(NotFittedError):
        CertificateDisplay.from_estimator(TopK())
    for selector in (TopK(2, n_restarts=0), FStatistic(2)):
        with pytest.raises(ValueError, match=r"without a proof: fit TopK with certify=True\."):
            CertificateDisplay.from_estimator(selector.fit(X, Y))


def test_without_a_bound_the_objective_is_drawn_alone() -> None:
    display = CertificateDisplay(
        SECONDS, np.array([3.0, 2.0, 1.0]), np.full(3, np.nan), gap=np.nan, proven=False
    ).plot()
    assert display.ax_.get_legend_handles_labels()[1] == ["objective"]
    assert display.ax_.get_ylim() == pytest.approx((0.88, 3.12))
