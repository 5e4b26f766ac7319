"""Callbacks of scikit-learn, where it has them."""

from __future__ import annotations

import pytest
from sklearn.base import BaseEstimator

from rowsparse._compat import (
    HAS_CALLBACKS,
    CallbackSupportMixin,
    finish_callbacks,
    has_callbacks,
    iteration_monitor,
    with_callbacks,
)


class Counter(CallbackSupportMixin, BaseEstimator):
    """Counts to five, or until a callback asks it to stop."""

    @with_callbacks
    def fit(self):
        monitor = iteration_monitor(self)
        for self.count_ in range(1, 6):
            if monitor(float(self.count_), half=self.count_ / 2):
                break
        finish_callbacks(self)
        return self


def test_without_callbacks_nobody_stops_the_fit():
    assert not has_callbacks(Counter())
    assert Counter().fit().count_ == 5


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks")
def test_a_callback_is_told_of_every_iteration_and_may_stop_the_fit():
    told, ends = [], []

    class StopAtThree:
        def setup(self, estimator, context): ...

        def teardown(self, estimator, context): ...

        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context, *, metadata=None):
            if context.task_name != "iteration":
                ends.append(context.task_name)
                return False
            told.append(metadata)
            return metadata["objective"] == 3.0

    counter = Counter()
    counter.set_callbacks(StopAtThree())
    assert has_callbacks(counter)
    assert counter.fit().count_ == 3
    assert told == [{"objective": float(i), "half": i / 2} for i in (1, 2, 3)]
    assert len(ends) == 1
