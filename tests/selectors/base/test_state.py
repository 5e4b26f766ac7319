"""Fitted attributes go with the next fit, and come back if it fails."""

from __future__ import annotations

import pytest

from rowsparse.selectors.base.state import fitted_attributes, forget_last_fit, unchanged_on_error


class Fitted:
    def __init__(self) -> None:
        self.alpha = 1.0
        self.coef_ = 2.0
        self.n_features_in_ = 3
        self._private_ = 4


def test_fitted_attributes_end_with_an_underscore_and_begin_without():
    assert fitted_attributes(Fitted()) == {"coef_": 2.0, "n_features_in_": 3}


def test_the_last_fit_is_forgotten_except_what_validation_sets():
    estimator = Fitted()
    forget_last_fit(estimator)
    assert vars(estimator) == {"alpha": 1.0, "n_features_in_": 3, "_private_": 4}


def fail(estimator: Fitted) -> None:
    with unchanged_on_error(estimator):
        estimator.coef_ = 0.0
        estimator.new_ = 5
        del estimator.n_features_in_
        estimator._callback_context = "theirs"
        raise KeyboardInterrupt


def test_an_error_leaves_the_estimator_as_it_was_but_for_callbacks():
    estimator = Fitted()
    before = dict(vars(estimator))
    with pytest.raises(KeyboardInterrupt):
        fail(estimator)
    assert vars(estimator) == before | {"_callback_context": "theirs"}


def test_without_an_error_changes_stay():
    estimator = Fitted()
    with unchanged_on_error(estimator):
        estimator.coef_ = 0.0
    assert estimator.coef_ == 0.0
