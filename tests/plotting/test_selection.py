"""The picture of the selected features."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.linear_model import LinearRegression

from rowsparse import FStatistic, StabilitySelection, TopK
from rowsparse.plotting import SelectionDisplay

from .looking import overlapping

X, Y = load_iris(return_X_y=True, as_frame=True)
SELECTOR = TopK(3, random_state=0).fit(X, Y)
STABILITY = StabilitySelection(TopK(3, n_restarts=0), n_subsamples=10, random_state=0).fit(X, Y)


def test_bars_are_the_scores_of_the_selected_features_from_the_largest_down() -> None:
    display = SelectionDisplay.from_estimator(SELECTOR)
    lengths = [bar.get_width() for bar in display.bars_]
    assert lengths == sorted(SELECTOR.scores_[SELECTOR.get_support()], reverse=True)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    scores = dict(zip(X.columns, SELECTOR.scores_, strict=True))
    assert [scores[label] for label in labels] == lengths
    assert display.figure_ is display.ax_.figure
    assert display.frequency_texts_ == []
    assert "TopK" in display.ax_.get_xlabel()


def test_frequencies_stand_beside_the_bars_of_their_features() -> None:
    display = SelectionDisplay.from_estimator(SELECTOR, stability=STABILITY)
    known = dict(zip(X.columns, STABILITY.frequencies_, strict=True))
    written = [text.get_text() for text in display.frequency_texts_]
    assert written == [f"{known[name]:.0%}" for name in display.names]
    assert display.ax_.get_xlim()[1] > 1.1 * max(display.scores)


def test_it_draws_on_given_axes_again_and_passes_options_on() -> None:
    _, ax = plt.subplots()
    display = SelectionDisplay.from_estimator(SELECTOR, ax=ax, max_features=2, color="red")
    assert display.ax_ is ax
    assert len(display.bars_) == 2
    assert display.bars_[0].get_facecolor()[:3] == (1, 0, 0)
    assert display.plot() is display
    assert display.ax_ is not ax


def test_selectors_with_an_order_and_of_scikit_learn() -> None:
    ours = SelectionDisplay.from_estimator(FStatistic(3).fit(X, Y))
    theirs = SelectionDisplay.from_estimator(SelectKBest(k=3).fit(X, Y))
    assert ours.names == theirs.names
    assert np.allclose(ours.scores, theirs.scores)


def test_an_infinite_score_is_the_longest_bar() -> None:
    display = SelectionDisplay(["a", "b"], np.array([np.inf, 2.0])).plot()
    assert display.bars_[0].get_width() > 2.0


def test_eighty_long_names_do_not_overlap() -> None:
    names = [f"a_long_name_of_a_measurement_number_{i}" for i in range(80)]
    values = np.linspace(1.0, 0.1, 80)
    display = SelectionDisplay(names, values, frequencies=values).plot()
    texts = [*display.ax_.get_yticklabels(), *display.frequency_texts_]
    assert len(texts) == 160
    assert overlapping(texts) == []


def test_refused() -> None:
    with pytest.raises(NotFittedError):
        SelectionDisplay.from_estimator(TopK())
    with pytest.raises(TypeError, match="must be a selector with get_support; got LinearReg"):
        SelectionDisplay.from_estimator(LinearRegression())
    with pytest.raises(NotFittedError):
        SelectionDisplay.from_estimator(SELECTOR, stability=StabilitySelection())
    with pytest.raises(ValueError, match="RFE has no scores_"):
        SelectionDisplay.from_estimator(RFE(LinearRegression()).fit(X, Y))
    with pytest.raises(TypeError, match="stability must be a fitted StabilitySelection"):
        SelectionDisplay.from_estimator(SELECTOR, stability=SELECTOR)
    few = TopK(1).fit(X.iloc[:, :2], Y)
    with pytest.raises(ValueError, match="fitted to 4 columns, and estimator to 2"):
        SelectionDisplay.from_estimator(few, stability=STABILITY)
    with pytest.raises(ValueError, match="max_features"):
        SelectionDisplay.from_estimator(SELECTOR, max_features=0)
