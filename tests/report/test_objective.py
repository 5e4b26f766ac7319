"""What was minimised, in words."""

from __future__ import annotations

import pytest

from rowsparse.report.objective import minimised


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"loss": "squared", "alpha": 0.5}, "squared error of a linear model, with a ridge of 0.5"),
        ({"loss": "squared", "alpha": 0.0}, "squared error of a linear model, without a ridge."),
        ({"loss": "l21", "alpha": 0.0}, "norms of the residuals of a linear model, without"),
        ({"loss": "logistic", "alpha": 0.125}, "logistic loss of a linear model, with a ridge of"),
    ],
)
def test_every_loss_is_named_with_its_ridge(settings, words):
    assert words in minimised(settings).replace("\u00a0", " ")


def test_methods_without_such_a_loss_say_nothing():
    assert minimised({"method": "relieff"}) == ""
    assert minimised({"loss": None, "alpha": 1.0}) == ""
