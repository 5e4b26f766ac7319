"""Subsamples keep the shares of classes, and groups whole."""

from __future__ import annotations

import numpy as np

from rowsparse.selectors.meta.subsamples import draw, draw_groups


def test_classes_keep_their_shares_and_none_goes_missing() -> None:
    strata = np.repeat([0, 1, 2], [50, 30, 3])
    rows = draw(83, 0.5, strata, np.random.RandomState(0))
    assert rows.tolist() == sorted(set(rows.tolist()))
    assert np.abs(np.bincount(strata[rows]) - [25, 15, 1.5]).max() <= 1.0
    few = draw(83, 0.05, strata, np.random.RandomState(0))
    assert set(strata[few].tolist()) == {0, 1, 2}


def test_groups_are_drawn_together() -> None:
    groups = np.repeat(np.arange(12), 5)
    strata = np.repeat(np.arange(12) % 3, 5)
    rng = np.random.RandomState(0)
    for classes in (None, strata):
        rows = draw_groups(groups, 0.5, classes, rng)
        assert rows.size == 30
        taken = np.bincount(groups[rows], minlength=12)
        assert set(taken.tolist()) == {0, 5}
        if classes is not None:
            assert set(np.bincount(classes[rows]).tolist()) == {10}
