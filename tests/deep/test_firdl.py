"""FIRDL piece by piece: masks, both networks, losses, and the two phases of the training."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from rowsparse._deadline import Deadline
from rowsparse.deep.firdl_solver import (
    FirdlSettings,
    OperatorNetwork,
    Part,
    SelectorNetwork,
    _Training,
    best_mask,
    hold_out,
    pairwise_loss,
    perturbed,
    random_masks,
)
from rowsparse.deep.torch_tools import Backend, Rows
from rowsparse.solvers.solution import silent

from .cases import SHORT_FIRDL, best_mask_of, classes, dense_masks

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")


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
    assert training.run(Deadline(None), silent) == "max_iter"
    np.testing.assert_allclose(training.history, [expected], rtol=1e-4)
    for ours, theirs in zip(training.selector.parameters(), selector, strict=True):
        np.testing.assert_allclose(ours.detach(), theirs.detach(), rtol=1e-3, atol=1e-4)


def test_the_best_operator_is_restored(backend):
    training = make_training(backend, phase_two=16, max_iter=96)
    training.run(Deadline(None), silent)
    assert training.least == min(training.history)
    training.restore()
    for tensor, kept in zip(training.operator.parameters(), training.kept, strict=True):
        np.testing.assert_array_equal(tensor.detach(), kept)


@pytest.mark.parametrize("k", [1, 4, 10])
def test_every_mask_has_k_ones(backend, k):
    masks = random_masks(200, 10, k, backend)
    assert (dense_masks(masks, 10).sum(axis=1) == k).all()
    near = perturbed(masks[0], 200, 2, 10, backend)
    assert (dense_masks(near, 10).sum(axis=1) == k).all()
    changed = np.abs(dense_masks(near, 10) - dense_masks(masks[:1], 10)).sum(axis=1)
    assert set(changed) <= {0.0, 2.0, 4.0}
    if k == 4:
        # Every column is drawn alike, and two swaps seldom cancel.
        np.testing.assert_allclose(dense_masks(masks, 10).mean(axis=0), 0.4, atol=0.12)
        assert (changed == 4.0).mean() > 0.5


def test_gathered_columns_are_masked_inputs(backend, torch):
    d, k, operator = 9, 3, OperatorNetwork(9, (5, 4), 2, backend)
    first, bias, *rest = (p.detach().numpy() for p in operator.parameters())
    masks = random_masks(6, d, k, backend)
    x = np.random.default_rng(0).standard_normal((7, d)).astype(np.float32)
    outputs = operator(torch.tensor(x)[:, masks].transpose(0, 1), masks).detach().numpy()
    weights = np.vstack([first[:, :5], first[:, 5:]])
    for mask, output in zip(dense_masks(masks, d), outputs, strict=True):
        h = np.hstack([x * mask, np.tile(mask, (7, 1))]) @ weights + bias
        for layer in range(0, len(rest), 2):
            h = 1.0 / (1.0 + np.exp(-h)) @ rest[layer] + rest[layer + 1]
        np.testing.assert_allclose(output, h, rtol=1e-4, atol=1e-5)


def test_importances_are_minus_the_gradient(backend, torch):
    selector = SelectorNetwork(8, (6, 5), backend)
    mask = random_masks(1, 8, 3, backend)[0]
    m = torch.tensor(dense_masks(mask[None], 8)[0], dtype=torch.float32, requires_grad=True)
    value = selector.loss((m @ selector.first + selector.bias)[None])[0]
    np.testing.assert_allclose(
        selector.loss(selector.inputs(mask[None]))[0].item(), value.item(), rtol=1e-5
    )
    (gradient,) = torch.autograd.grad(value, m)
    np.testing.assert_allclose(
        selector.importances(selector.inputs(mask)), -gradient, rtol=1e-4, atol=1e-7
    )


def steep_selector(
    backend: Backend, d: int = 12, hidden: tuple[int, ...] = (10, 6)
) -> SelectorNetwork:
    """A selector far from linear, with much to gain from swaps."""
    selector = SelectorNetwork(d, hidden, backend)
    for parameter in selector.parameters():
        parameter.data.mul_(6.0)
    return selector


@pytest.mark.parametrize("seed", range(8))
def test_the_search_for_a_mask_never_raises_the_loss(torch, seed):
    backend = Backend.seeded(torch, "cpu", np.random.default_rng(seed))
    selector = steep_selector(backend)
    masks = [best_mask(selector, 4, steps) for steps in range(13)]
    losses = [selector.loss(selector.inputs(mask[None])).item() for mask in masks]
    assert (np.diff(losses) <= 1e-5).all()
    for mask in masks:
        assert len(set(mask.tolist())) == 4


@pytest.mark.parametrize("seed", range(8))
def test_the_search_tries_the_swaps_in_their_order(torch, seed):
    backend = Backend.seeded(torch, "cpu", np.random.default_rng(seed))
    selector = steep_selector(backend)

    def loss(m: Any) -> Any:
        return selector.loss((m @ selector.first + selector.bias)[None])[0]

    expected = best_mask_of(loss, 12, 4, torch)
    np.testing.assert_array_equal(best_mask(selector, 4, 5), np.flatnonzero(expected))


def test_a_linear_selector_gives_the_best_mask(backend):
    selector = SelectorNetwork(7, (), backend)
    found = best_mask(selector, 3, 12).tolist()
    weights = selector.first.detach().numpy()[:, 0]
    best = min(combinations(range(7), 3), key=lambda mask: weights[list(mask)].sum())
    assert tuple(found) == best


def test_losses_of_pairs(backend):
    rng = np.random.default_rng(0)
    outputs, labels = rng.standard_normal((3, 5, 4)), rng.integers(0, 2, (5, 4)).astype(float)
    one_hot = np.eye(4)[rng.integers(0, 4, 5)]

    def ours(task: str, Y: np.ndarray) -> np.ndarray:
        return pairwise_loss(task, backend.tensor(outputs), backend.tensor(Y), backend).numpy()

    softmax = np.exp(outputs) / np.exp(outputs).sum(axis=-1, keepdims=True)
    sigmoid = 1 / (1 + np.exp(-outputs))
    entropy = -(labels * np.log(sigmoid) + (1 - labels) * np.log(1 - sigmoid))
    expected = -(one_hot * np.log(softmax)).sum(axis=-1)
    np.testing.assert_allclose(ours("classification", one_hot), expected, rtol=1e-5)
    np.testing.assert_allclose(ours("multilabel", labels), entropy.mean(axis=-1), rtol=1e-5)
    squares = ((outputs - labels) ** 2).mean(axis=-1)
    np.testing.assert_allclose(ours("regression", labels), squares, rtol=1e-5)


@pytest.mark.parametrize("sizes", [(50, 30, 20), (7, 1, 2), (1, 1)])
def test_the_validation_part_has_its_share_of_every_class(sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    train, held = hold_out(groups, 0.2, np.random.default_rng(0))
    if max(sizes) == 1:
        np.testing.assert_array_equal(train, held)
        return
    np.testing.assert_array_equal(np.sort(np.append(train, held)), np.arange(groups.size))
    for group, size in enumerate(sizes):
        assert np.count_nonzero(groups[held] == group) == round(0.2 * size)
        assert np.any(groups[train] == group)
