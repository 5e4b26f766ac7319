"""The picture of the choices that are nearly as good as the best one."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError

from rowsparse import NearOptimal, TopK
from rowsparse.plotting import NearOptimalDisplay

from .looking import overlapping

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
NEAR = NearOptimal(TopK(4, loss="squared", random_state=0), tolerance=0.04).fit(X, Y)


def test_cells_are_the_choices_the_best_first_and_the_indispensable_features_at_the_left() -> None:
    display = NearOptimalDisplay.from_estimator(NEAR, max_choices=None)
    columns = [list(X.columns).index(name) for name in display.names]
    chosen = [np.sort(np.array(columns)[row]).tolist() for row in display.membership]
    assert chosen == [choice.tolist() for choice in NEAR.choices_]
    assert np.allclose(1 + display.increases, NEAR.objectives_ / NEAR.objective_)
    n_sure = NEAR.in_all_.sum()
    assert 0 < n_sure < len(columns)
    assert np.array_equal(display.in_all, np.arange(len(columns)) < n_sure)
    assert display.membership[:, :n_sure].all()
    shares = NEAR.share_[columns]
    assert (np.diff(shares) <= 0).all()
    drawn = display.image_.get_array().filled(np.nan)
    assert np.array_equal(np.isfinite(drawn), display.membership)
    assert (drawn[:, :n_sure] == 2).all()
    assert not (drawn[:, n_sure:] == 2).any()
    assert "green: in all" in display.ax_.get_xlabel()


def test_the_title_says_what_is_proven() -> None:
    count = len(NEAR.choices_)
    title = NearOptimalDisplay.from_estimator(NEAR, max_choices=None).title
    assert title == f"{count} choices within 4 % of the best: proven to be all"
    only = NearOptimal(TopK(4, loss="squared", random_state=0), tolerance=0.0).fit(X, Y)
    display = NearOptimalDisplay.from_estimator(only)
    assert display.title == "1 choice within 0 % of the best: proven to be all"
    assert display.membership.shape == (1, 4)
    capped = NearOptimal(TopK(4, loss="squared", random_state=0), tolerance=0.04, max_choices=2)
    display = NearOptimalDisplay.from_estimator(capped.fit(X, Y))
    assert display.title.startswith("Not complete: 2 choices found, no other is within 0.")
    capped.set_params(tolerance=0.5, time_limit=1e-9, max_choices=9).fit(X, Y)
    assert capped.tolerance_ < 0
    display = NearOptimalDisplay.from_estimator(capped)
    assert display.title.endswith("found; not even the best one is proven")
    assert not display.in_all.any()
    assert display.ax_.get_xlabel() == "features"


def test_what_is_left_out_of_the_picture_is_said() -> None:
    _, ax = plt.subplots()
    display = NearOptimalDisplay.from_estimator(NEAR, max_choices=3, ax=ax, alpha=0.5)
    assert display.ax_ is ax
    assert display.image_.get_alpha() == 0.5
    assert len(display.membership) == 3
    assert display.membership.any(axis=0).all()
    all_features = int((NEAR.share_ > 0).sum())
    drawn = f"drawn: 3 choices with {len(display.names)} features of {all_features}"
    assert drawn in display.title
    assert len(NearOptimalDisplay.from_estimator(NEAR, max_features=2).names) == 2


def test_groups_are_one_column_and_copies_are_named() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 6)), columns=list("abcdef"))
    y = X["a"] + X["d"] + rng.normal(size=60)
    groups = [[0, 1], [2], [3], [4, 5]]
    near = NearOptimal(TopK(2, feature_groups=groups, random_state=0), tolerance=1.0).fit(X, y)
    display = NearOptimalDisplay.from_estimator(near)
    assert set(display.names) == {"a (group of 2)", "c", "d", "e (group of 2)"}
    assert (display.membership.sum(axis=1) == 2).all()
    near = NearOptimal(TopK(2, random_state=0), tolerance=0.0).fit(X.assign(copy=X["d"]), y)
    assert set(NearOptimalDisplay.from_estimator(near).names) == {"a", "d or 1 like it"}


def test_eighty_choices_on_small_axes_do_not_overlap() -> None:
    member = np.eye(80, 40, dtype=bool)
    names = [f"a rather long name of a feature {i}" for i in range(40)]
    _, ax = plt.subplots(figsize=(4, 4), layout="constrained")
    none = np.zeros(40, dtype=bool)
    NearOptimalDisplay(names, member, np.linspace(0, 1, 80), none).plot(ax)
    for axis in (ax.xaxis, ax.yaxis):
        assert overlapping(axis.get_ticklabels()) == []
    assert ax.get_yticklabels()[0].get_text() == "best"


def test_refused() -> None:
    with pytest.raises(NotFittedError):
        NearOptimalDisplay.from_estimator(NearOptimal())
    with pytest.raises(ValueError, match="TopK has no choices_: fit NearOptimal with it"):
        NearOptimalDisplay.from_estimator(NEAR.selector_)
    with pytest.raises(ValueError, match="max_choices"):
        NearOptimalDisplay.from_estimator(NEAR, max_choices=0)
