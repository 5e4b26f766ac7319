"""The concrete autoencoder: k soft choices of a column that become hard during the training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rowsparse._arrays import Array
from rowsparse._deadline import Deadline
from rowsparse.deep.torch_tools import Adam, Backend, Rows, Tensor
from rowsparse.solvers.solution import Monitor, silent

_LEAKY_SLOPE = 0.2
# Rows that are decoded at a time when the trained network is evaluated.
_EVALUATED_ROWS = 4096


@dataclass(frozen=True)
class ConcreteSettings:
    """Sizes of a concrete autoencoder and settings of its training.

    Attributes
    ----------
    hidden : sequence of int
        Hidden units of the decoder, layer by layer; empty for a linear decoder.
    dropout : float
        Share of hidden units left out in each training pass.
    learning_rate : float
        Of Adam.
    batch_size : int
        Samples a step.
    temperature : (float, float)
        Before the first and at the last step.
    max_iter : int
        Epochs of the first try; each further try has twice as many.
    max_tries : int
        Limit on the tries.
    max_steps : int or None
        Limit on the steps of any try but the first.
    tol : float
        A try succeeds once the mean over rows of the largest probability is at least 1 - tol.
    """

    hidden: Sequence[int]
    dropout: float
    learning_rate: float
    batch_size: int
    temperature: tuple[float, float]
    max_iter: int
    max_tries: int
    max_steps: int | None
    tol: float

    def steps_of_epoch(self, n: int) -> int:
        """Number of batches that n samples make."""
        return -(-n // self.batch_size)


@dataclass
class ConcreteFit:
    """A trained concrete autoencoder.

    Attributes
    ----------
    probabilities : array of shape (k, d)
        Softmax of the logits, row by row.
    loss : float
        Mean squared error with the k columns of largest probability as the decoder's input.
    mean_max : float
        Mean over rows of the largest probability.
    temperature : float
        At the last step.
    history : list of float
        Mean training loss of every epoch, one try after the other.
    n_tries : int
        Number of tries.
    stopped : {"tol", "max_iter", "time_limit", "callback"}
        Why the training ended.
    """

    probabilities: Array
    loss: float
    mean_max: float
    temperature: float
    history: list[float]
    n_tries: int
    stopped: str


def temperature(step: int, steps: int, start: float, end: float) -> float:
    """Geometric cooling: the temperature of step 1, ..., steps.

    >>> [round(temperature(step, 2, 10.0, 0.1), 3) for step in (1, 2)]
    [1.0, 0.1]
    """
    return float(max(end, start * (end / start) ** (step / steps)))


def concrete_autoencoder(
    rows: Rows,
    targets: Tensor | None,
    k: int,
    settings: ConcreteSettings,
    backend: Backend,
    deadline: Deadline,
    monitor: Monitor = silent,
) -> ConcreteFit:
    """Train a concrete autoencoder; retrain with twice the epochs until the choices are hard.

    Parameters
    ----------
    rows : Rows
        The data.
    targets : tensor of shape (n, c) or None
        What the decoder has to produce; None for the data themselves.
    k : int
        Number of choices, at most the number of columns.
    settings : ConcreteSettings
        Sizes and schedule.
    backend : Backend
        Device and random numbers.
    deadline : Deadline
        Ends the training when the time is up.
    monitor : callable
        Told the mean loss of every epoch.

    Returns
    -------
    ConcreteFit
        Of the try with the largest ``mean_max``: the last one, unless it was cut short.
    """
    best: _Try | None = None
    history: list[float] = []
    tries = 0
    stopped = "max_iter"
    while stopped == "max_iter" and tries < settings.max_tries:
        epochs = settings.max_iter * 2**tries
        steps = epochs * settings.steps_of_epoch(rows.shape[0])
        if tries and settings.max_steps is not None and steps > settings.max_steps:
            break
        current = _Try(rows, targets, k, settings, backend)
        stopped = current.run(epochs, deadline, monitor)
        history += current.history
        tries += 1
        if best is None or current.mean_max >= best.mean_max:
            best = current
    assert best is not None
    return ConcreteFit(
        probabilities=best.probabilities().cpu().numpy().astype(np.float64),
        loss=best.discrete_loss(),
        mean_max=best.mean_max,
        temperature=best.temperature,
        history=history,
        n_tries=tries,
        stopped=stopped,
    )


@dataclass
class _Try:
    """One training from random weights."""

    rows: Rows
    targets: Tensor | None
    k: int
    settings: ConcreteSettings
    backend: Backend
    history: list[float] = field(default_factory=list)
    mean_max: float = 0.0

    def __post_init__(self) -> None:
        d = self.rows.shape[1]
        outputs = d if self.targets is None else int(self.targets.shape[1])
        spread = (2.0 / (self.k + d)) ** 0.5
        self.logits = self.backend.normal(self.k, d).mul_(spread).requires_grad_()
        self.decoder = self.backend.layers([self.k, *self.settings.hidden, outputs])
        self.temperature = self.settings.temperature[0]

    def probabilities(self) -> Tensor:
        return self.backend.torch.softmax(self.logits.detach(), dim=1)

    def choices(self) -> Tensor:
        """A sample of the concrete distribution: k rows that sum to 1."""
        noise = self.backend.gumbel(*self.logits.shape)
        return self.backend.torch.softmax((self.logits + noise) / self.temperature, dim=1)

    def run(self, epochs: int, deadline: Deadline, monitor: Monitor) -> str:
        """Train for at most ``epochs`` epochs; return why the training ended."""
        n = self.rows.shape[0]
        parameters = [self.logits, *(tensor for layer in self.decoder for tensor in layer)]
        adam = Adam(parameters, self.settings.learning_rate, nesterov=False)
        steps = epochs * self.settings.steps_of_epoch(n)
        step = 0
        for _ in range(epochs):
            total, seen = self.backend.zeros(), 0
            for batch in self.backend.permutation(n).split(self.settings.batch_size):
                step += 1
                self.temperature = temperature(step, steps, *self.settings.temperature)
                loss = self._loss(batch)
                adam.minimize(loss)
                total += loss.detach() * len(batch)
                seen += len(batch)
                if deadline.expired():
                    break
            self.history.append(float(total) / seen)
            self.mean_max = float(self.probabilities().amax(dim=1).mean())
            stop = monitor(self.history[-1])
            if self.mean_max >= 1.0 - self.settings.tol:
                return "tol"
            if stop or deadline.expired():
                return "callback" if stop else "time_limit"
        return "max_iter"

    def _loss(self, batch: Tensor) -> Tensor:
        x = self.rows.batch(batch)
        target = x if self.targets is None else self.targets[batch]
        output = self._decode(x @ self.choices().T, self.settings.dropout)
        return self.backend.torch.nn.functional.mse_loss(output, target)

    def _decode(self, h: Tensor, dropout: float) -> Tensor:
        torch = self.backend.torch
        for weights, bias in self.decoder[:-1]:
            h = torch.nn.functional.leaky_relu(torch.addmm(bias, h, weights), _LEAKY_SLOPE)
            h = self.backend.dropout(h, dropout)
        weights, bias = self.decoder[-1]
        return torch.addmm(bias, h, weights)

    def discrete_loss(self) -> float:
        """Mean squared error with the k chosen columns as input and without dropout."""
        torch, n = self.backend.torch, self.rows.shape[0]
        chosen = self.logits.detach().argmax(dim=1)
        total, entries = 0.0, 0
        with torch.no_grad():
            for batch in torch.arange(n, device=self.backend.device).split(_EVALUATED_ROWS):
                x = self.rows.batch(batch)
                target = x if self.targets is None else self.targets[batch]
                error = self._decode(x.index_select(1, chosen), 0.0) - target
                total += float(error.square().sum())
                entries += error.numel()
        return total / entries
