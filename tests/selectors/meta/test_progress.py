"""Callbacks of scikit-learn hear of every fold, path and subsample, and of starts and proof."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rowsparse import Moments, RowBlocks, StabilitySelection, TopK, TopKCV
from rowsparse._compat import HAS_CALLBACKS
from tests.selectors.cases import numbers_of_three

pytestmark = pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks")
X, Y = numbers_of_three(n=60)
PARTS = [Moments("regression").update(X[i::6], Y[i::6]) for i in range(6)]


class Listener:
    """The names of the tasks that began and ended, in order."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.metadata: list[Any] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.begun.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.ended.append("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any = None) -> bool:
        self.ended.append(context.task_name)
        self.metadata.append(metadata)
        return False


STEADY = StabilitySelection(TopK(3), n_subsamples=4, random_state=0)
CHOOSER = TopKCV(k_max=3, cv=3, n_restarts=0, random_state=0)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize(
    ("selector", "tasks"),
    [
        (STEADY, ["subsample"] * 4),
        (CHOOSER, ["fold"] * 3),
        (TopKCV(k_max=3, rule="ebic", alphas=[0.1, 0.5], random_state=0), ["path"] * 2),
    ],
)
def test_every_task_is_told_and_the_answer_is_the_same(selector, tasks, n_jobs):
    silent = selector.set_params(n_jobs=n_jobs).set_callbacks().fit(X, Y).support_
    listener = Listener()
    heard = selector.set_callbacks(listener).fit(X, Y)
    np.testing.assert_array_equal(heard.support_, silent)
    assert listener.begun == ["setup", "fit", *tasks]
    assert listener.ended == [*tasks, "fit", "teardown"]


@pytest.mark.parametrize(
    ("selector", "tasks"), [(STEADY, ["subsample"] * 4), (CHOOSER, ["fold"] * 3)]
)
def test_fits_from_moments_are_told_too(selector, tasks):
    listener = Listener()
    selector.set_callbacks(listener).fit_moments(PARTS)
    assert listener.ended == [*tasks, "fit", "teardown"]
    streamed = Listener()
    selector.set_callbacks(streamed).fit(RowBlocks.from_arrays(X, Y, rows=10))
    assert streamed.ended == listener.ended


def test_progress_bars_are_shown():
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    for selector in (STEADY, CHOOSER):
        assert selector.set_callbacks(ProgressBar()).fit(X, Y).support_.sum() == 3
        selector.set_callbacks()


def test_starts_come_first_and_then_the_proof_with_its_bound_and_nodes():
    rng = np.random.default_rng(0)
    noise, target = rng.normal(size=(60, 80)), rng.normal(size=60)
    listener = Listener()
    selector = TopK(5, alpha=0.5, certify=True, n_restarts=4, time_limit=2.0, random_state=0)
    selector.set_callbacks(listener).fit(noise, target)
    assert {"iteration", "proof"} <= set(listener.ended)
    assert listener.ended.index("iteration") < listener.ended.index("proof")
    for name, told in zip(listener.ended, [*listener.metadata, None], strict=True):
        if name == "proof":
            assert told["lower_bound"] <= told["objective"]
            assert told["nodes"] >= 0
