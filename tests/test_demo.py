"""The digits demonstration: as many pixels as asked for, and the same figures as by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from rowsparse import demo

QUICK = {label: demo.METHODS[label] for label in ("CDLSR", "TopK, α=0", "TopK")}


@pytest.fixture(scope="module")
def quick() -> demo.DigitsDemo:
    """The demonstration with its two fastest methods."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "METHODS", QUICK)
        return demo.run_digits(10)


def check_rows(result: demo.DigitsDemo, labels: list[str]) -> None:
    assert [row.method for row in result.rows] == [*labels, "All pixels"]
    assert [row.n_selected for row in result.rows] == [10] * len(labels) + [64]
    *selected, whole = result.rows
    for row in selected:
        assert not row.support[[0, 32, 39]].any(), "a constant pixel tells nothing"
        assert row.objective >= whole.objective
        assert 0.7 < row.accuracy < whole.accuracy
        assert len(row.fold_accuracies) == 5


def test_rows_are_exact(quick: demo.DigitsDemo) -> None:
    check_rows(quick, list(QUICK))


@pytest.mark.long
def test_rows_of_every_method() -> None:
    result = demo.run_digits(10)
    check_rows(result, list(demo.METHODS))
    best = min(result.rows[:-1], key=lambda row: row.objective)
    assert best.method == "TopK, α=0", "it alone minimises what the column shows"


def test_objective_of_all_pixels_against_plain_least_squares(quick: demo.DigitsDemo) -> None:
    X, y = load_digits(return_X_y=True)
    design = np.column_stack([np.ones(len(X)), X])
    Y = np.eye(10)[y]
    residual = Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    assert quick.rows[-1].objective == pytest.approx(float(np.sum(residual**2)), rel=1e-9)


def test_mean_digits_are_the_means_of_their_images(quick: demo.DigitsDemo) -> None:
    X, y = load_digits(return_X_y=True)
    np.testing.assert_allclose(quick.mean_digits[3].ravel(), X[y == 3].mean(axis=0))


@pytest.mark.parametrize("k", [0, 65])
def test_a_number_of_pixels_that_the_digits_do_not_have_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=f"between 1 and 64, the number of pixels; got {k}"):
        demo.check_k(k)
