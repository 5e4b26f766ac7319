"""The picture of a path."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest

from rowsparse import TopK, TopKCV, topk_path
from rowsparse.plotting import PathDisplay
from rowsparse.plotting.path_display import entry_order

from .looking import overlapping

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :12]
PATH = topk_path(X, Y, 6, random_state=0)
CHOSEN = TopKCV(k_max=5, cv=4, random_state=0, alphas=[0.1, 0.5]).fit(X, Y)


def selected_at(display: PathDisplay, k: int) -> set[str]:
    """The features whose bars cover k."""
    found = set()
    for name, bar in zip(display.names, display.bars_, strict=True):
        spans = [path.vertices[:, 0] for path in bar.get_paths()]
        if any(span.min() < k < span.max() for span in spans):
            found.add(name)
    return found


def test_a_path_is_drawn_with_its_objectives_and_features() -> None:
    display = PathDisplay.from_path(PATH, X.columns)
    assert np.array_equal(display.line_.lines[0].get_ydata(), PATH.objectives)
    for k, support in zip(PATH.ks.tolist(), PATH.supports, strict=True):
        assert selected_at(display, k) == set(X.columns[support])
    entered = dict(zip(X.columns, PATH.entered, strict=True))
    assert (np.diff([entered[name] for name in display.names]) >= 0).all()
    labels = [label.get_text() for label in display.features_ax_.get_yticklabels()]
    assert labels == display.names
    assert display.chosen_lines_ == []
    few = PathDisplay.from_path(PATH, max_features=2)
    assert len(few.names) == 2
    assert few.names[0].startswith("x")


def test_scores_of_the_folds_have_standard_errors_and_the_chosen_number() -> None:
    display = PathDisplay.from_estimator(CHOSEN)
    results = CHOSEN.cv_results_
    at = results["alpha"] == CHOSEN.alpha_
    assert display.ks.tolist() == [1, 2, 3, 4, 5]
    assert np.array_equal(display.values, results["mean_test_score"][at])
    # A standard deviation without ddof, over 4 folds.
    assert np.allclose(display.errors, results["std_test_score"][at] / np.sqrt(3))
    assert [line.get_xdata()[0] for line in display.chosen_lines_] == [CHOSEN.n_features_]
    best = display.values.argmax()
    level = display.values[best] - display.errors[best]
    assert display.enough_line_.get_ydata()[0] == pytest.approx(level)
    assert display.chosen_k == display.ks[display.values >= level][0]
    assert display.features_ax_ is None
    assert display.ax_.get_ylabel() == "mean test score ± se"


def test_the_best_score_needs_no_level() -> None:
    selector = TopKCV(k_max=4, cv=3, rule="best", random_state=0).fit(X, Y)
    display = PathDisplay.from_estimator(selector)
    assert display.enough is None
    assert display.chosen_k == display.ks[display.values.argmax()]


def test_with_the_data_the_features_are_shown_too() -> None:
    display = PathDisplay.from_estimator(CHOSEN, X, Y)
    path = topk_path(X, Y, 5, alpha=CHOSEN.alpha_, random_state=0)
    assert selected_at(display, 4) == set(X.columns[path.supports[3]])
    assert display.errors is not None
    assert len(display.chosen_lines_) == 2


def test_the_rule_without_folds_has_its_criterion_and_path() -> None:
    selector = TopKCV(k_max=4, rule="ebic", random_state=0).fit(X, Y)
    display = PathDisplay.from_estimator(selector)
    assert np.array_equal(display.values, selector.cv_results_["ebic"])
    assert display.errors is None
    assert display.enough_line_ is None
    assert display.ax_.get_ylabel() == "EBIC"
    assert selected_at(display, 3) == set(X.columns[selector.path_.supports[2]])


def test_a_single_split_has_no_standard_error() -> None:
    train, test = np.arange(300), np.arange(300, 569)
    selector = TopKCV(k_max=2, cv=[(train, test)], random_state=0).fit(X, Y)
    assert PathDisplay.from_estimator(selector).errors is None


def test_a_selector_is_drawn_with_the_path_around_its_number() -> None:
    selector = TopK(3, random_state=0).fit(X, Y)
    display = PathDisplay.from_estimator(selector, X, Y)
    assert (display.chosen_k, display.ks[-1]) == (3, 12)
    assert selected_at(display, 3) == set(selector.get_feature_names_out())
    assert display.values[2] == pytest.approx(selector.objective_)
    assert PathDisplay.from_estimator(selector, X, Y, k_max=4).ks[-1] == 4


def test_groups_are_counted_in_groups() -> None:
    groups = np.repeat(range(6), 2)
    selector = TopK(2, feature_groups=groups, random_state=0).fit(X, Y)
    display = PathDisplay.from_estimator(selector, X, Y, k_max=3)
    assert display.chosen_k == 2
    assert len(selected_at(display, 2)) == 4


def test_it_draws_on_one_or_two_given_axes() -> None:
    _, pair = plt.subplots(2)
    display = PathDisplay.from_path(PATH, ax=pair[0], color="red")
    assert (display.ax_, display.features_ax_) == (pair[0], None)
    assert display.line_.lines[0].get_color() == "red"
    assert display.plot(pair) is display
    assert (display.ax_, display.features_ax_) == tuple(pair)


def test_eighty_features_do_not_overlap() -> None:
    ks = np.arange(1, 81)
    member = np.tri(80, dtype=bool).T
    names = [f"a long name of the feature number {i}" for i in range(80)]
    display = PathDisplay(ks, -ks, names=names, path_ks=ks, membership=member).plot()
    assert overlapping(display.features_ax_.get_yticklabels()) == []
    assert display.figure_.get_figheight() < 16


def test_features_enter_in_order_and_those_that_stay_come_first() -> None:
    member = np.array([[0, 0, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1]], dtype=bool)
    assert entry_order(member).tolist() == [3, 2, 1]


def test_refused() -> None:
    with pytest.raises(NotFittedError):
        PathDisplay.from_estimator(TopKCV())
    with pytest.raises(ValueError, match="TopK keeps no path: give the X and y"):
        PathDisplay.from_estimator(TopK(2, n_restarts=0).fit(X, Y))
    with pytest.raises(TypeError, match="must be a TopKCV or a TopK; got SelectKBest"):
        PathDisplay.from_estimator(SelectKBest())
    with pytest.raises(TypeError, match=r"path must be what rowsparse\.topk_path returns"):
        PathDisplay.from_path([1, 2])
    with pytest.raises(ValueError, match="feature_names has 2 names for 12 columns"):
        PathDisplay.from_path(PATH, ["a", "b"])
    with pytest.raises(ValueError, match="features at each k are not known: give one Axes"):
        PathDisplay.from_estimator(CHOSEN, ax=plt.subplots(2)[1])
