"""FIRDL piece by piece: masks, both networks, losses, and the part held out."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from rowsparse.deep.firdl import (
    Operator,
    Selector,
    best_mask,
    hold_out,
    pairwise_loss,
    perturbed,
    random_masks,
)
from rowsparse.deep.torch_tools import Backend

from .cases import best_mask_of, dense_masks


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
    d, k, operator = 9, 3, Operator(9, (5, 4), 2, backend)
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
    selector = Selector(8, (6, 5), backend)
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


def steep_selector(backend: Backend, d: int = 12, hidden: tuple[int, ...] = (10, 6)) -> Selector:
    """A selector far from linear, with much to gain from swaps."""
    selector = Selector(d, hidden, backend)
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
    selector = Selector(7, (), backend)
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
