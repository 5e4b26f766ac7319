"""The concrete autoencoder: its temperature, its choices and what they are good for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rowsparse import ConcreteAutoencoder
from rowsparse._deadline import Deadline
from rowsparse.deep.concrete import ConcreteSettings, _Try, temperature
from rowsparse.deep.torch_tools import Backend, Rows
from rowsparse.solvers.solution import silent

from .cases import SHORT_CONCRETE, classes, low_rank

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
    assert attempt.run(5, Deadline(None), silent) == "max_iter"
    np.testing.assert_allclose(attempt.history, losses, rtol=1e-4)
    np.testing.assert_allclose(attempt.logits.detach(), logits.detach(), rtol=1e-3, atol=1e-5)


def test_the_loss_is_that_of_the_chosen_columns(backend):
    X = low_rank(n=40, d=6)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = Rows(X, X.mean(axis=0), 1.0 / X.std(axis=0), backend)
    attempt = _Try(rows, None, 2, settings(), backend)
    attempt.run(5, Deadline(None), silent)
    (first, bias), (second, offset) = (
        (weights.detach().numpy(), bias.detach().numpy()) for weights, bias in attempt.decoder
    )
    hidden = Z[:, attempt.logits.detach().numpy().argmax(axis=1)] @ first + bias
    output = np.maximum(hidden, 0.2 * hidden) @ second + offset
    np.testing.assert_allclose(attempt.discrete_loss(), ((output - Z) ** 2).mean(), rtol=1e-5)
