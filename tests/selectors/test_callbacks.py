"""Callbacks of scikit-learn hear of every iteration, fold, path, subsample, start and proof."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from rowsparse import RFS, Moments, RowBlocks, StabilitySelection, TopK, TopKCV
from rowsparse._compat import HAS_CALLBACKS
from tests.selectors.cases import Listener, all_selectors, numbers_of_three

pytestmark = pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks")
X, Y = numbers_of_three(n=60)
PARTS = [Moments("regression").update(X[i::6], Y[i::6]) for i in range(6)]
LINEAR = all_selectors(3, linear=True)
HARD = make_classification(80, 60, n_informative=8, n_redundant=10, n_classes=3, random_state=0)


@pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:.*non-zero rows at this penalty")
@pytest.mark.parametrize("name", LINEAR)
def test_every_iteration_is_told(name):
    listener = Listener()
    selector = LINEAR[name]().set_callbacks(listener).fit(*HARD)
    assert listener.begun[:2] == ["setup", "fit"]
    assert listener.ended[-2:] == ["fit", "teardown"]
    assert len(listener.objectives) >= 1
    assert np.isfinite(listener.objectives).all()
    silent = LINEAR[name]().fit(*HARD)
    np.testing.assert_array_equal(selector.coef_, silent.coef_)
    np.testing.assert_array_equal(selector.support_, silent.support_)


@pytest.mark.parametrize("options", [{"solver": "admm", "gamma": 1.0}, {"solver": "irls"}])
def test_a_callback_can_stop_rfs(options):
    selector = RFS(5, tol=1e-9, **options).set_callbacks(Listener(stop_after=1))
    with pytest.warns(ConvergenceWarning):
        selector.fit(*HARD)
    assert selector.converged_ is False
    assert selector.support_.sum() == 5
    assert selector.n_iter_ < RFS(5, tol=1e-9, **options).fit(*HARD).n_iter_


def test_a_failing_fit_with_callbacks_sets_nothing():
    failing = RFS(0).set_callbacks(Listener())
    with pytest.raises(ValueError, match="n_features_to_select"):
        failing.fit(X, Y)
    assert not [v for v in vars(failing) if v.endswith("_") and not v.startswith("_")]
    assert failing.set_params(n_features_to_select=3).fit(X, Y).support_.sum() == 3


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

    for selector in (STEADY, CHOOSER, RFS(3)):
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


def test_a_callback_can_stop_a_proof_whose_bounds_rise():
    class Stopper(Listener):
        def on_fit_task_end(self, estimator, context, *, metadata=None):
            super().on_fit_task_end(estimator, context, metadata=metadata)
            return metadata is not None and metadata.get("nodes", 0) >= 5

    rng = np.random.default_rng(4)
    noise, target = rng.standard_normal((60, 200)), rng.integers(0, 3, 60)
    listener = Stopper()
    selector = TopK(6, alpha=0.1, certify=True, random_state=0).set_callbacks(listener)
    selector.fit(noise, target)
    bounds = [told["lower_bound"] for told in listener.metadata if told and "nodes" in told]
    assert (selector.status_, selector.n_nodes_) == ("gap", 5)
    assert np.all(np.diff(bounds) >= 0)
    assert selector.lower_bound_ == pytest.approx(bounds[-1])
