"""FIRDL as a whole: its two phases, when it ends and what it finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rowsparse import FIRDL
from rowsparse.deep.firdl import FirdlSettings, Part, _Training, random_masks
from rowsparse.deep.torch_tools import Backend, Clock, Rows
from rowsparse.solvers.solution import silent

from .cases import PLANTED, SHORT_FIRDL, best_mask_of, classes, dense_masks, problem

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")


def xor(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Four classes in the eight corners of columns 0, 1, 2: no column says anything alone."""
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, 8, n)
    signs = 1 - 2 * ((corner[:, None] >> np.arange(3)) & 1)
    X = rng.standard_normal((n, 10))
    X[:, :3] += signs
    # Opposite corners share a class.
    return X, np.minimum(corner, 7 - corner)


def make_training(backend: Backend, **options: Any) -> _Training:
    X, y = classes()
    rows = Rows(X, X.mean(axis=0), 1.0 / X.std(axis=0), backend)
    part = Part(rows, backend.tensor(np.eye(3)[y]))
    usual = {name: SHORT_FIRDL[name] for name in SHORT_FIRDL if name != "random_state"}
    usual |= {"perturbations": 2, "patience": 600}
    return _Training(part, part, "classification", 3, FirdlSettings(**(usual | options)), backend)


def test_masks_of_the_second_phase(backend):
    training = make_training(backend)
    training.optimal, training.observed = backend.index([0, 1, 2]), backend.index([9, 10, 11])
    masks, weights = training._masks(second_phase=True)
    assert masks.shape == (16, 3)
    assert weights.tolist() == [1.0] * 8 + [5.0, 10.0] + [1.0] * 6
    assert masks[8].tolist() == [0, 1, 2]
    assert masks[9].tolist() == [9, 10, 11]
    near = dense_masks(masks[10:], 14)
    assert (near[:, :3].sum(axis=1) >= 1).all()
    first, weights = training._masks(second_phase=False)
    assert first.shape == (16, 3)
    assert (weights == 1.0).all()


def test_the_selector_remembers_the_mask_of_least_loss(backend):
    training = make_training(backend)
    masks, losses = random_masks(8, 14, 3, backend), backend.tensor(np.arange(8.0) % 5 + 1)
    losses[6] = 0.5
    training.seen = [(masks, losses, backend.zeros(8) + 1.0)]
    training._train_selector()
    assert training.observed.tolist() == masks[6].tolist()
    assert training.seen == []


def test_the_first_phase_is_the_published_one(torch, backend):
    # A second writing on full masks, with PyTorch's own optimisers and the same random numbers.
    training = make_training(backend, max_iter=16)
    draw = Backend.seeded(torch, "cpu", np.random.default_rng(0))
    draw.generator.set_state(backend.generator.get_state())
    operator, selector = (
        [p.detach().clone() for p in network.parameters()]
        for network in (training.operator, training.selector)
    )
    operator[0] = torch.cat(operator[0].split(8, dim=1))
    for parameter in [*operator, *selector]:
        parameter.requires_grad_()
    nadam = torch.optim.NAdam(operator, lr=0.05)
    adam = torch.optim.Adam(selector, lr=0.05)
    X, y = classes()
    Z = torch.tensor((X - X.mean(axis=0)) / X.std(axis=0), dtype=torch.float32)
    labels = torch.tensor(y)

    def network(parameters: Any, inputs: Any) -> Any:
        first, bias, second, offset = parameters
        return torch.sigmoid(inputs @ first + bias) @ second + offset

    def losses(x: Any, masks: Any, wanted: Any) -> Any:
        pairs = torch.cat([(x[:, None] * masks), masks.expand(len(x), -1, -1)], dim=2)
        outputs = network(operator, pairs).flatten(0, 1)
        wanted = wanted.repeat_interleave(len(masks))
        every = torch.nn.functional.cross_entropy(outputs, wanted, reduction="none")
        return every.reshape(len(x), len(masks))

    buffer = []
    for t in range(16):
        if t == 8:
            optimal = best_mask_of(lambda m: network(selector, m)[0], 14, 3, torch)
        masks = torch.tensor(dense_masks(random_masks(16, 14, 3, draw), 14), dtype=torch.float32)
        sample = draw.integers(60, 16)
        every = losses(Z[sample], masks, labels[sample])
        nadam.zero_grad()
        every.mean().backward()
        nadam.step()
        buffer.append((masks, every.detach().mean(dim=0)))
        if t % 8 == 0:
            masks, targets = (torch.cat(part) for part in zip(*buffer, strict=True))
            adam.zero_grad()
            (network(selector, masks)[:, 0] - targets).abs().mean().backward()
            adam.step()
            buffer = []
    expected = losses(Z, optimal[None], labels).mean().item()
    assert training.run(Clock(None), silent) == "max_iter"
    np.testing.assert_allclose(training.history, [expected], rtol=1e-4)
    for ours, theirs in zip(training.selector.parameters(), selector, strict=True):
        np.testing.assert_allclose(ours.detach(), theirs.detach(), rtol=1e-3, atol=1e-4)


def test_the_best_operator_is_restored(backend):
    training = make_training(backend, phase_two=16, max_iter=96)
    training.run(Clock(None), silent)
    assert training.least == min(training.history)
    training.restore()
    for tensor, kept in zip(training.operator.parameters(), training.kept, strict=True):
        np.testing.assert_array_equal(tensor.detach(), kept)


def test_training_ends_when_patience_does(torch):
    X, _ = classes()
    noise = np.random.default_rng(1).integers(0, 2, 60)
    options = SHORT_FIRDL | {"phase_two": 16, "patience": 32, "max_iter": 5000}
    selector = FIRDL(3, **options).fit(X, noise)
    assert selector.converged_
    assert selector.stopped_ == "patience"
    assert selector.n_iter_ % 16 == 0
    assert selector.history_.size == selector.n_iter_ // 16
    # The best validation loss is the last but patience / 16 checks, and one that was too many.
    assert np.argmin(selector.history_) == selector.history_.size - 4


@pytest.mark.parametrize("task", ["classification", "multilabel", "regression"])
def test_firdl_finds_what_matters(torch, task):
    X, y = problem(task)
    selector = FIRDL(4, **SHORT_FIRDL).fit(X, y)
    assert selector.task_ == task
    assert len(set(PLANTED) & set(selector.get_support(indices=True))) >= 2
    assert np.isfinite(selector.validation_loss_)


def test_golden_losses_of_firdl(torch):
    X, y = classes()
    selector = FIRDL(3, **(SHORT_FIRDL | {"max_iter": 32, "phase_two": 16})).fit(X, y)
    np.testing.assert_allclose(selector.history_, [1.115190, 1.114396], rtol=1e-3)
    numbers = FIRDL(3, **(SHORT_FIRDL | {"max_iter": 32, "phase_two": 16})).fit(X, X[:, 1])
    np.testing.assert_allclose(numbers.history_, [1.312628, 1.621151], rtol=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"operator_hidden": ()},
        {"selector_hidden": ()},
        {"batch_size": 5},
        {"n_masks": 4},
        {"phase_two": 0},
        {"perturbations": 1},
        {"validation_fraction": 0.5},
        {"learning_rate": 0.1},
    ],
    ids=str,
)
def test_every_setting_of_firdl_counts(torch, options):
    X, y = classes()
    short = SHORT_FIRDL | {"max_iter": 32, "phase_two": 8}
    usual = FIRDL(3, **short).fit(X, y)
    changed = FIRDL(3, **(short | options)).fit(X, y)
    assert changed.support_.sum() == 3
    assert not np.array_equal(usual.scores_, changed.scores_)


@pytest.mark.slow
def test_firdl_finds_the_columns_of_an_exclusive_or(torch):
    X, y = xor(512, seed=1)
    selector = FIRDL(5, random_state=1).fit(X, y)
    assert selector.support_[:3].all()
    assert selector.scores_[:3].min() > 0 > selector.scores_[3:].max()
    # Chance is log(4) = 1.386.
    assert selector.validation_loss_ < 1.25
