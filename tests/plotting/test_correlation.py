"""The picture of correlations."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE
from sklearn.linear_model import LinearRegression

from rowsparse import AllFeatures, TopK
from rowsparse.plotting import CorrelationDisplay

from .looking import overlapping

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
SELECTOR = TopK(3, random_state=0).fit(X, Y)


def test_colours_are_the_correlations() -> None:
    display = CorrelationDisplay.from_estimator(SELECTOR, X, n_closest=2)
    table = X.corr()
    assert np.allclose(display.correlations, table.loc[display.names, display.names])
    others = table.loc[display.names, display.closest_names]
    assert np.allclose(display.closest_correlations, others)
    drawn = display.image_.get_array()
    assert np.array_equal(drawn[:, :3], display.correlations)
    assert drawn.mask[:, 3].all()
    assert np.array_equal(drawn[:, 4:], display.closest_correlations)
    numbers = [text.get_text() for text in display.texts_]
    assert numbers[:3] == [f"{value:.2f}" for value in drawn[0, :3]]


def test_every_selected_feature_has_its_closest_one() -> None:
    display = CorrelationDisplay.from_estimator(SELECTOR, X)
    table = X.corr().abs().drop(columns=display.names)
    assert set(display.closest_names) == set(table.loc[display.names].idxmax(axis=1))
    labels = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert labels == [*display.names, "", *display.closest_names]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == display.names


def test_without_features_left_out_there_is_one_part() -> None:
    shown = [
        CorrelationDisplay.from_estimator(SELECTOR, X, n_closest=0),
        CorrelationDisplay.from_estimator(AllFeatures().fit(X, Y), X, max_features=3),
    ]
    for display in shown:
        assert display.closest_names == []
        assert display.image_.get_array().shape == (3, 3)
        assert "left out" not in display.ax_.get_xlabel()


def test_sparse_data_and_selectors_without_scores() -> None:
    selector = RFE(LinearRegression(), n_features_to_select=4).fit(X.to_numpy(), Y)
    display = CorrelationDisplay.from_estimator(selector, sp.csr_array(X.to_numpy()))
    chosen = selector.get_support(indices=True)
    assert display.names == [f"x{j}" for j in chosen]
    assert np.allclose(display.correlations, np.corrcoef(X.to_numpy().T)[np.ix_(chosen, chosen)])


def test_it_draws_on_given_axes_and_passes_options_on() -> None:
    _, ax = plt.subplots()
    display = CorrelationDisplay.from_estimator(SELECTOR, X, ax=ax, cmap="PuOr")
    assert display.ax_ is ax
    assert display.image_.get_cmap().name == "PuOr"
    assert display.plot() is display


@pytest.mark.parametrize("figsize", [None, (5, 4)])
def test_eighty_features_do_not_overlap(figsize: tuple[int, int] | None) -> None:
    names = [f"a_long_name_of_a_measurement_number_{i}" for i in range(160)]
    display = CorrelationDisplay(names[:80], np.eye(80), names[80:], np.eye(80))
    ax = None if figsize is None else plt.subplots(figsize=figsize, layout="constrained")[1]
    display.plot(ax)
    assert display.texts_ == []
    assert overlapping(display.ax_.get_yticklabels()) == []
    assert overlapping(display.ax_.get_xticklabels()) == []


def test_refused() -> None:
    with pytest.raises(NotFittedError):
        CorrelationDisplay.from_estimator(TopK(), X)
    with pytest.raises(ValueError, match="X has 2 columns, but estimator was fitted to 30"):
        CorrelationDisplay.from_estimator(SELECTOR, X.iloc[:, :2])
    with pytest.raises(ValueError, match="n_closest"):
        CorrelationDisplay.from_estimator(SELECTOR, X, n_closest=-1)
    with pytest.raises(ValueError, match="max_features"):
        CorrelationDisplay.from_estimator(SELECTOR, X, max_features=0)
