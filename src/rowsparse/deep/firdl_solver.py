"""FIRDL: one network predicts from masked inputs, another one predicts the loss of a mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._deadline import Deadline
from rowsparse.deep.torch_tools import Adam, Backend, Layers, Rows, Tensor
from rowsparse.solvers.solution import Monitor, silent

# The published schedule, in batches and in steps of the search for the best mask.
SELECTOR_EVERY = 8
VALIDATE_EVERY = 16
SEARCH_STEPS = 5
FINAL_SEARCH_STEPS = 12
# Weights of the best predicted and of the best observed mask in phase 2.
_OPTIMAL_WEIGHT, _OBSERVED_WEIGHT = 5.0, 10.0


@dataclass(frozen=True)
class FirdlSettings:
    """Sizes of both networks and settings of their training.

    Attributes
    ----------
    operator_hidden, selector_hidden : sequence of int
        Hidden units, layer by layer.
    learning_rate : float
        Of both optimisers.
    batch_size, n_masks : int
        Samples and masks a batch; every sample meets every mask.
    phase_two : int
        Batches before masks near the best one are trained on.
    perturbations : int
        Random swaps that make a neighbour of the best mask.
    max_iter : int
        Limit on the batches.
    patience : int
        Batches of phase 2 without a better validation loss after which training ends.
    """

    operator_hidden: Sequence[int]
    selector_hidden: Sequence[int]
    learning_rate: float
    batch_size: int
    n_masks: int
    phase_two: int
    perturbations: int
    max_iter: int
    patience: int


@dataclass(frozen=True)
class Part:
    """Some of the samples: their rows and their targets."""

    rows: Rows
    Y: Tensor


@dataclass
class FirdlFit:
    """Two trained networks.

    Attributes
    ----------
    chosen : array of int, shape (k,)
        The ones of the best mask, by falling importance.
    importances : array of shape (d,)
        Minus the gradient of the selector at that mask.
    validation_loss : float
        Loss of the operator on the validation part with that mask, the best weights restored.
    history : list of float
        Validation loss with the best mask of the time, every 16 batches.
    n_iter : int
        Number of batches.
    stopped : {"patience", "max_iter", "time_limit", "callback"}
        Why the training ended.
    """

    chosen: Index
    importances: Array
    validation_loss: float
    history: list[float]
    n_iter: int
    stopped: str


class OperatorNetwork:
    """Predicts from the columns of a mask and from the mask itself.

    The input is (x * m, m). Only its k columns in the mask count: their rows of the first weights
    are gathered, so that the cost does not depend on the number of columns.
    """

    def __init__(self, d: int, hidden: Sequence[int], outputs: int, backend: Backend) -> None:
        sizes = [*hidden, outputs]
        self._torch = backend.torch
        self._width = sizes[0]
        self._first = backend.glorot_uniform(2 * d, sizes[0], d, 2 * sizes[0])
        self._bias = backend.zeros(sizes[0]).requires_grad_()
        self._rest = backend.layers(sizes)

    def parameters(self) -> list[Tensor]:
        return [self._first, self._bias, *(tensor for layer in self._rest for tensor in layer)]

    def __call__(self, values: Tensor, masks: Tensor) -> Tensor:
        """Outputs (masks x samples x outputs) from the masks' columns (masks x samples x k)."""
        weights = self._torch.nn.functional.embedding(masks, self._first)
        of_masks = weights[..., self._width :].sum(dim=1) + self._bias
        z = self._torch.baddbmm(of_masks[:, None, :], values, weights[..., : self._width])
        outputs = _sigmoid_layers(self._rest, z.flatten(0, 1), self._torch)
        return outputs.unflatten(0, z.shape[:2])


class SelectorNetwork:
    """Predicts the operator's loss from a mask alone."""

    def __init__(self, d: int, hidden: Sequence[int], backend: Backend) -> None:
        sizes = [*hidden, 1]
        self.torch = backend.torch
        self.d = d
        self.first = backend.glorot_uniform(d, sizes[0], d, sizes[0])
        self.bias = backend.zeros(sizes[0]).requires_grad_()
        self._rest = backend.layers(sizes)

    def parameters(self) -> list[Tensor]:
        return [self.first, self.bias, *(tensor for layer in self._rest for tensor in layer)]

    def inputs(self, masks: Tensor) -> Tensor:
        """The inputs of the first hidden layer, from masks given by their columns."""
        return self.torch.nn.functional.embedding(masks, self.first).sum(dim=-2) + self.bias

    def loss(self, inputs: Tensor) -> Tensor:
        """The predicted loss, from the inputs of the first hidden layer."""
        return _sigmoid_layers(self._rest, inputs, self.torch)[:, 0]

    def importances(self, inputs: Tensor) -> Tensor:
        """Minus the gradient of the predicted loss with respect to the mask."""
        z = inputs.detach()[None].requires_grad_()
        (slope,) = self.torch.autograd.grad(self.loss(z), z)
        return -(self.first.detach() @ slope[0])


def _sigmoid_layers(layers: Layers, z: Tensor, torch: Any) -> Tensor:
    for weights, bias in layers:
        z = torch.addmm(bias, z.sigmoid(), weights)
    return z


# --------------------------------------------------------------------------------- masks
def random_masks(n_masks: int, d: int, k: int, backend: Backend) -> Tensor:
    """Masks of exactly k columns, as an array (n_masks x k) of their columns."""
    return backend.uniform(n_masks, d).topk(k, dim=1, sorted=False).indices


def perturbed(mask: Tensor, n_masks: int, swaps: int, d: int, backend: Backend) -> Tensor:
    """Neighbours of a mask, after ``swaps`` exchanges of a random column for another one."""
    masks = mask.repeat(n_masks, 1)
    if masks.shape[1] == d:
        return masks
    for _ in range(swaps):
        chance = backend.uniform(n_masks, d).scatter_(1, masks, -1.0)
        leaving = backend.integers(masks.shape[1], n_masks, 1)
        masks = masks.scatter(1, leaving, chance.argmax(dim=1, keepdim=True))
    return masks


def best_mask(selector: SelectorNetwork, k: int, steps: int) -> Tensor:
    """The mask of least predicted loss that gradients and single swaps find.

    It starts from the k steepest columns at the mask (1/2, ..., 1/2). A step swaps the most
    promising column outside for one inside and never raises the predicted loss.
    """
    weights, bias = selector.first.detach(), selector.bias.detach()
    steepest = selector.importances(0.5 * weights.sum(dim=0) + bias)
    mask = steepest.argsort(descending=True, stable=True)[:k].sort().values
    inputs = selector.inputs(mask).detach()
    for _ in range(steps if k < selector.d else 0):
        importances = selector.importances(inputs)
        outside = importances.clone()
        outside[mask] = -float("inf")
        entering = outside.argmax()
        inside = importances[mask]
        # The least important column is tried last, where no column inside has a negative one.
        places = [*(inside < 0).nonzero()[:, 0].tolist(), int(inside.argmin())]
        swapped = inputs + weights[entering] - weights[mask[places]]
        losses = selector.loss(selector.torch.vstack([inputs[None], swapped])).detach()
        lower = (losses[1:] < losses[0]).nonzero()[:, 0]
        if len(lower) == 0:
            break
        accepted = int(lower[0])
        mask[places[accepted]] = entering
        mask = mask.sort().values
        inputs = swapped[accepted].detach()
    return mask


# ------------------------------------------------------------------------------ the data
def hold_out(groups: Index, fraction: float, rng: np.random.Generator) -> tuple[Index, Index]:
    """Samples to train on and samples to validate with, that share of every group.

    Each group keeps a sample to train on. Where that leaves none to validate with, both parts
    are the whole sample.
    """
    held = np.zeros(groups.size, dtype=bool)
    for group in np.unique(groups):
        members = rng.permutation(np.flatnonzero(groups == group))
        held[members[: min(round(fraction * members.size), members.size - 1)]] = True
    if not held.any():
        return np.arange(groups.size), np.arange(groups.size)
    return np.flatnonzero(~held), np.flatnonzero(held)


def pairwise_loss(task: str, outputs: Tensor, Y: Tensor, backend: Backend) -> Tensor:
    """The loss of every mask with every sample (masks x samples)."""
    functional = backend.torch.nn.functional
    if task == "classification":
        return -(Y * functional.log_softmax(outputs, dim=-1)).sum(dim=-1)
    if task == "multilabel":
        every = functional.binary_cross_entropy_with_logits(
            outputs, Y.expand_as(outputs), reduction="none"
        )
        return every.mean(dim=-1)
    return (outputs - Y).square().mean(dim=-1)


# -------------------------------------------------------------------------- the training
def firdl(
    train: Part,
    validation: Part,
    task: str,
    k: int,
    settings: FirdlSettings,
    backend: Backend,
    deadline: Deadline,
    monitor: Monitor = silent,
) -> FirdlFit:
    """Train both networks and take the best mask of the selector network.

    Parameters
    ----------
    train, validation : Part
        The data to train on, and those that say when to stop.
    task : {"classification", "multilabel", "regression"}
        Cross-entropy, its mean over the labels, or the squared error.
    k : int
        Number of ones in every mask.
    settings : FirdlSettings
        Sizes and schedule.
    backend : Backend
        Device and random numbers.
    deadline : Deadline
        Ends the training when the time is up.
    monitor : callable
        Told the validation loss every 16 batches.
    """
    training = _Training(train, validation, task, k, settings, backend)
    stopped = training.run(deadline, monitor)
    training.restore()
    selector = training.selector
    mask = best_mask(selector, k, FINAL_SEARCH_STEPS)
    importances = selector.importances(selector.inputs(mask)).cpu().numpy().astype(np.float64)
    chosen = mask.cpu().numpy()
    return FirdlFit(
        chosen=chosen[np.argsort(-importances[chosen], kind="stable")],
        importances=importances,
        validation_loss=training.validation_loss(mask),
        history=training.history,
        n_iter=training.n_iter,
        stopped=stopped,
    )


@dataclass
class _Training:
    """Both networks and the state of their training."""

    train: Part
    validation: Part
    task: str
    k: int
    settings: FirdlSettings
    backend: Backend
    history: list[float] = field(default_factory=list)
    n_iter: int = 0

    def __post_init__(self) -> None:
        d = self.train.rows.shape[1]
        rate = self.settings.learning_rate
        outputs = int(self.train.Y.shape[1])
        self.operator = OperatorNetwork(d, self.settings.operator_hidden, outputs, self.backend)
        self.selector = SelectorNetwork(d, self.settings.selector_hidden, self.backend)
        self.nadam = Adam(self.operator.parameters(), rate, nesterov=True)
        self.adam = Adam(self.selector.parameters(), rate, nesterov=False)
        self.optimal = self.observed = random_masks(1, d, self.k, self.backend)[0]
        self.seen: list[tuple[Tensor, Tensor, Tensor]] = []
        self.least, self.least_at = np.inf, self.settings.phase_two
        self.kept: list[Tensor] | None = None

    def run(self, deadline: Deadline, monitor: Monitor) -> str:
        """Train both networks; return why the training ended."""
        for t in range(self.settings.max_iter):
            self.n_iter = t + 1
            turn = t % SELECTOR_EVERY == 0
            if turn:
                self.optimal = best_mask(self.selector, self.k, SEARCH_STEPS)
            self._train_operator(second_phase=t >= self.settings.phase_two)
            if turn:
                self._train_selector()
            if self.n_iter % VALIDATE_EVERY == 0 or self.n_iter == self.settings.max_iter:
                stopped = self._validate(monitor)
                if stopped:
                    return stopped
            if deadline.expired():
                return "time_limit"
        return "max_iter"

    def _train_operator(self, *, second_phase: bool) -> None:
        masks, weights = self._masks(second_phase)
        sample = self.backend.integers(self.train.rows.shape[0], self.settings.batch_size)
        x, Y = self.train.rows.batch(sample), self.train.Y[sample]
        values = x[:, masks].transpose(0, 1)
        losses = pairwise_loss(self.task, self.operator(values, masks), Y, self.backend)
        self.nadam.minimize(losses.mean())
        self.seen.append((masks, losses.detach().mean(dim=1), weights))

    def _masks(self, second_phase: bool) -> tuple[Tensor, Tensor]:
        """The masks of a batch and their weights in the selector's loss."""
        d, n_masks = self.train.rows.shape[1], self.settings.n_masks
        weights = self.backend.zeros(n_masks) + 1.0
        if not second_phase:
            return random_masks(n_masks, d, self.k, self.backend), weights
        half = n_masks // 2
        weights[half], weights[half + 1] = _OPTIMAL_WEIGHT, _OBSERVED_WEIGHT
        swaps, others = self.settings.perturbations, n_masks - half - 2
        parts = [
            random_masks(half, d, self.k, self.backend),
            self.optimal[None],
            self.observed[None],
            perturbed(self.optimal, others, swaps, d, self.backend),
        ]
        return self.backend.torch.vstack(parts), weights

    def _train_selector(self) -> None:
        cat = self.backend.torch.cat
        masks, losses, weights = (cat(part) for part in zip(*self.seen, strict=True))
        self.seen = []
        predicted = self.selector.loss(self.selector.inputs(masks))
        self.adam.minimize((weights * (predicted - losses).abs()).mean())
        self.observed = masks[losses.argmin()]

    def _validate(self, monitor: Monitor) -> str | None:
        """Keep the best operator of phase 2; return why the training ends, or None."""
        self.history.append(self.validation_loss(self.optimal))
        if monitor(self.history[-1]):
            return "callback"
        if self.n_iter < self.settings.phase_two:
            return None
        if self.history[-1] < self.least:
            self.least, self.least_at = self.history[-1], self.n_iter
            self.kept = [tensor.detach().clone() for tensor in self.operator.parameters()]
        return "patience" if self.n_iter - self.least_at > self.settings.patience else None

    def validation_loss(self, mask: Tensor) -> float:
        """Mean loss of the operator on the validation part with one mask."""
        with self.backend.torch.no_grad():
            outputs = self.operator(self.validation.rows.columns(mask)[None], mask[None])
            return float(pairwise_loss(self.task, outputs, self.validation.Y, self.backend).mean())

    def restore(self) -> None:
        """Give the operator the weights of its least validation loss."""
        with self.backend.torch.no_grad():
            for tensor, kept in zip(self.operator.parameters(), self.kept or [], strict=False):
                tensor.copy_(kept)
