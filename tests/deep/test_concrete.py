"""The concrete autoencoder: its temperature, its choices and what they are good for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rowsparse import ConcreteAutoencoder
from rowsparse.deep.concrete import ConcreteSettings, _Try, temperature
from rowsparse.deep.torch_tools import Backend, Clock, Rows
from rowsparse.solvers.solution import silent

from .cases import PLANTED, SHORT_CONCRETE, classes, low_rank, problem, unexplained

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")


def settings(**options: Any) -> ConcreteSettings:
    usual = {
        "hidden": (4,),
        "dropout": 0.1,
        "learning_rate": 0.01,
        "batch_size": 16,
        "temperature": (10.0, 0.1),
        "max_iter": 5,
        "max_tries": 1,
        "max_steps": None,
        "tol": 0.002,
    }
    return ConcreteSettings(**(usual | options))


def test_the_temperature_falls_geometrically_to_its_end():
    taus = [temperature(step, 40, 10.0, 0.1) for step in range(1, 41)]
    np.testing.assert_allclose(taus[-1], 0.1)
    np.testing.assert_allclose(np.diff(np.log(taus)), np.log(0.01) / 40)
    assert min(taus) >= 0.1


@pytest.mark.parametrize("end", [0.1, 0.01])
def test_the_last_temperature_is_reached(torch, end):
    selector = ConcreteAutoencoder(3, temperature=(5.0, end), **SHORT_CONCRETE).fit(classes()[0])
    np.testing.assert_allclose(selector.temperature_, end)


def test_choices_are_probabilities_that_harden(backend):
    X = classes()[0]
    attempt = _Try(Rows(X, X.mean(axis=0), np.ones(14), backend), None, 3, settings(), backend)
    sharpness = []
    for tau in (10.0, 1.0, 1e-4):
        attempt.temperature = tau
        M = attempt.choices().detach().numpy()
        assert M.shape == (3, 14)
        assert (M >= 0).all()
        np.testing.assert_allclose(M.sum(axis=1), 1.0, rtol=1e-5)
        sharpness.append(M.max(axis=1).mean())
    assert sharpness == sorted(sharpness)
    assert sharpness[-1] > 0.99


def test_the_training_is_the_published_one(torch):
    # A second writing, with PyTorch's own optimiser, that draws the same random numbers.
    X = low_rank(n=40, d=6)
    Z = torch.tensor((X - X.mean(axis=0)) / X.std(axis=0), dtype=torch.float32)
    draw = Backend.seeded(torch, "cpu", np.random.default_rng(3))
    logits = (draw.normal(2, 6) * np.sqrt(2 / 8)).requires_grad_()
    weights = ((2 * draw.uniform(2, 6) - 1) * np.sqrt(6 / 8)).requires_grad_()
    bias = torch.zeros(6, requires_grad=True)
    adam = torch.optim.Adam([logits, weights, bias], lr=0.01)
    losses, tau = [], 10.0
    for _ in range(5):
        total = 0.0
        for batch in draw.permutation(40).split(16):
            tau = max(0.1, tau * (0.1 / 10.0) ** (1 / 15))
            noise = -torch.log(-torch.log(draw.uniform(2, 6)))
            M = torch.softmax((logits + noise) / tau, dim=1)
            loss = torch.nn.functional.mse_loss(Z[batch] @ M.T @ weights + bias, Z[batch])
            adam.zero_grad()
            loss.backward()
            adam.step()
            total += loss.item() * len(batch)
        losses.append(total / 40)
    backend = Backend.seeded(torch, "cpu", np.random.default_rng(3))
    rows = Rows(X, X.mean(axis=0), 1.0 / X.std(axis=0), backend)
    attempt = _Try(rows, None, 2, settings(hidden=()), backend)
    assert attempt.run(5, Clock(None), silent) == "max_iter"
    np.testing.assert_allclose(attempt.history, losses, rtol=1e-4)
    np.testing.assert_allclose(attempt.logits.detach(), logits.detach(), rtol=1e-3, atol=1e-5)


def test_the_loss_is_that_of_the_chosen_columns(backend):
    X = low_rank(n=40, d=6)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = Rows(X, X.mean(axis=0), 1.0 / X.std(axis=0), backend)
    attempt = _Try(rows, None, 2, settings(), backend)
    attempt.run(5, Clock(None), silent)
    (first, bias), (second, offset) = (
        (weights.detach().numpy(), bias.detach().numpy()) for weights, bias in attempt.decoder
    )
    hidden = Z[:, attempt.logits.detach().numpy().argmax(axis=1)] @ first + bias
    output = np.maximum(hidden, 0.2 * hidden) @ second + offset
    np.testing.assert_allclose(attempt.discrete_loss(), ((output - Z) ** 2).mean(), rtol=1e-5)


def test_golden_losses_of_the_concrete_autoencoder(torch):
    X, y = classes()
    plain = ConcreteAutoencoder(3, max_iter=20, max_tries=1, random_state=0).fit(X)
    np.testing.assert_allclose(plain.history_[[0, -1]], [1.003393, 1.086751], rtol=1e-3)
    target = ConcreteAutoencoder(3, target="y", max_iter=20, max_tries=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(target.history_[[0, -1]], [0.314152, 0.356997], rtol=1e-3)


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
