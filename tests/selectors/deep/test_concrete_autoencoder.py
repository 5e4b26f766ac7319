"""ConcreteAutoencoder: when its training ends and what it finds."""

import numpy as np
import pytest

from rowsparse import ConcreteAutoencoder

from ...deep.cases import PLANTED, SHORT_CONCRETE, classes, low_rank, problem, unexplained

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")


def test_each_try_has_twice_the_epochs(torch):
    selector = ConcreteAutoencoder(3, max_iter=2, max_tries=3, random_state=0).fit(classes()[0])
    assert (selector.n_tries_, selector.n_iter_, selector.history_.size) == (3, 2 + 4 + 8, 14)
    assert selector.stopped_ == "max_iter"


@pytest.mark.parametrize(("max_steps", "tries"), [(15, 1), (16, 2), (31, 2), (32, 3), (None, 3)])
def test_no_further_try_has_too_many_steps(torch, max_steps, tries):
    # Sixty samples are four batches: tries of 8, 16 and 32 steps.
    options = {"max_iter": 2, "max_tries": 3, "max_steps": max_steps, "random_state": 0}
    assert ConcreteAutoencoder(3, **options).fit(classes()[0]).n_tries_ == tries


def test_training_stops_once_the_choices_are_hard(torch):
    X = low_rank(d=8)
    selector = ConcreteAutoencoder(
        2, hidden=(), learning_rate=0.1, max_iter=200, max_tries=2, tol=0.01, random_state=0
    ).fit(X)
    assert selector.converged_
    assert selector.stopped_ == "tol"
    assert selector.mean_max_ >= 0.99
    assert selector.n_iter_ < 200
    np.testing.assert_allclose(np.sort(selector.scores_)[-selector.n_distinct_ :], 1.0, atol=0.03)


def test_choices_that_coincide_are_filled_up(torch):
    # One column carries everything: all the others are noise of no weight.
    rng = np.random.default_rng(0)
    X = 1e-3 * rng.standard_normal((80, 6))
    X[:, 2] = rng.standard_normal(80)
    options = {"hidden": (), "learning_rate": 0.05, "max_iter": 60, "max_tries": 1}
    selector = ConcreteAutoencoder(3, standardize=False, random_state=0, **options).fit(X)
    assert selector.n_distinct_ < 3
    assert selector.support_.sum() == 3
    assert selector.support_[2]
    assert selector.support_[np.argsort(-selector.scores_)[:3]].all()


def test_reconstruction_beats_random_columns(torch):
    X = low_rank()
    selector = ConcreteAutoencoder(
        3, hidden=(), learning_rate=0.03, max_iter=80, max_tries=1, random_state=0
    ).fit(X)
    rng = np.random.default_rng(0)
    random = [unexplained(X, rng.choice(30, 3, replace=False)) for _ in range(200)]
    assert unexplained(X, selector.support_) < np.quantile(random, 0.05)


@pytest.mark.parametrize("task", ["classification", "multilabel", "regression"])
def test_a_supervised_autoencoder_finds_what_matters(torch, task):
    X, y = problem(task)
    options = {"learning_rate": 0.02, "max_iter": 60, "max_tries": 1, "random_state": 0}
    selector = ConcreteAutoencoder(4, target="y", **options).fit(X, y)
    assert selector.task_ == task
    assert len(set(PLANTED) & set(selector.get_support(indices=True))) >= 2
    unsupervised = ConcreteAutoencoder(4, **options).fit(X, y)
    assert not np.array_equal(unsupervised.scores_, selector.scores_)


def test_targets_are_ignored_unless_asked_for(torch):
    X, y = classes()
    make = lambda **options: ConcreteAutoencoder(3, **SHORT_CONCRETE, **options)  # noqa: E731
    np.testing.assert_array_equal(make().fit(X).scores_, make().fit(X, y).scores_)
    with pytest.raises(ValueError, match="requires y to be passed"):
        make(target="y").fit(X)
    assert make(target="y").__sklearn_tags__().target_tags.required
    assert not make().__sklearn_tags__().target_tags.required


@pytest.mark.parametrize(
    "options",
    [{"hidden": (2,)}, {"dropout": 0.5}, {"batch_size": 7}, {"learning_rate": 0.1}],
    ids=str,
)
def test_every_setting_of_the_autoencoder_counts(torch, options):
    X = classes()[0]
    usual = ConcreteAutoencoder(3, **SHORT_CONCRETE).fit(X)
    changed = ConcreteAutoencoder(3, **SHORT_CONCRETE, **options).fit(X)
    assert not np.array_equal(usual.history_, changed.history_)


def test_a_temperature_that_rises_is_refused():
    with pytest.raises(ValueError, match="temperature must not rise"):
        ConcreteAutoencoder(3, temperature=(0.1, 1.0)).fit(*classes())
