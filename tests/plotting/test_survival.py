"""The picture of survival has the curves of the groups."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from rowsparse import TopKRegressor
from rowsparse.evaluation.survival import KaplanMeier, log_rank
from rowsparse.plotting import SurvivalDisplay

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 6))
Y = np.empty(120, dtype=[("event", bool), ("time", float)])
Y["event"], Y["time"] = RNG.random(120) < 0.7, RNG.exponential(np.exp(-2 * X[:, 3]))
MODEL = TopKRegressor(1, loss="cox", random_state=0).fit(X[:60], Y[:60])


def test_halves_by_risk() -> None:
    _, ax = plt.subplots()
    display = SurvivalDisplay.from_estimator(MODEL, X[60:], Y[60:], time_name="months", ax=ax)
    assert display.ax_ is ax
    assert ax.get_xlabel() == "months"
    risks = MODEL.predict(X[60:])
    is_high = risks > np.median(risks)
    expected = KaplanMeier.of(Y[60:][is_high])
    line, _ = display.lines_
    assert display.curves[0].median < display.curves[1].median
    np.testing.assert_array_equal(line.get_xdata(), np.append(0, expected.times))
    np.testing.assert_array_equal(line.get_ydata(), np.append(1, expected.survival))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == display.names
    assert display.p_value == pytest.approx(log_rank(Y[60:], is_high))
    # Upright strokes where observation ends without an event.
    marked = np.append(0, expected.times)[line.get_markevery()]
    assert set(marked) == set(Y[60:][is_high & ~Y["event"][60:]]["time"])
    assert len(display.bands_) == 2


def test_groups_of_any_number() -> None:
    group = np.repeat(["a", "b", "c"], 40)
    columns = np.column_stack([Y["event"], Y["time"]])
    display = SurvivalDisplay.from_groups(columns, group, lw=3)
    assert display.names == ["a", "b", "c"]
    assert display.p_value is None
    assert display.lines_[0].get_linewidth() == 3
    assert SurvivalDisplay.from_groups(Y, group, names=["x", "y", "z"]).names == ["x", "y", "z"]


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(NotFittedError):
        SurvivalDisplay.from_estimator(TopKRegressor(), X, Y)
    with pytest.raises(ValueError, match="same risk for all samples"):
        SurvivalDisplay.from_estimator(MODEL, np.zeros((5, 6)), Y[:5])
    with pytest.raises(ValueError, match="names has 1 names for 2 groups"):
        SurvivalDisplay.from_groups(Y, np.arange(120) % 2, names=["a"])
    with pytest.raises(ValueError, match="two columns"):
        SurvivalDisplay.from_groups(np.ones((4, 3)), np.arange(4) % 2)
