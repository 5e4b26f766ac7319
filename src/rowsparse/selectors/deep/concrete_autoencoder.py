"""ConcreteAutoencoder: k columns that reconstruct the others (Abid, Balin and Zou, 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from rowsparse._arrays import Array
from rowsparse._parameters import Allowed, Number, OneOf, Several
from rowsparse.deep.concrete import ConcreteFit, ConcreteSettings, concrete_autoencoder
from rowsparse.deep.torch_tools import Rows, standardized
from rowsparse.selectors.base.selector import ScoredFeatures
from rowsparse.selectors.base.source import Samples
from rowsparse.selectors.deep.network import LAYERS, DeepSelector, NetworkData
from rowsparse.selectors.registry import register


@register("concreteautoencoder", kind="deep", reference="Abid et al. 2019", extra="deep")
class ConcreteAutoencoder(DeepSelector):
    """Columns from which a neural network reconstructs all columns, or predicts the targets.

    The encoder draws k soft choices of a column, M = softmax((A + G) / tau) row by row with
    trained logits A (k x d), fresh Gumbel noise G and a temperature tau; the decoder maps X M'
    to X. Both are trained together on the mean squared error while tau falls geometrically, so
    that soft choices harden to single columns. Needs PyTorch (the extra ``deep``).

    Parameters
    ----------
    {n_features_to_select}
    target : {"X", "y"}, default="X"
        What the decoder has to produce: the data, and y is ignored, or the targets: one-hot
        classes, 0/1 labels, or standardised numbers.
    hidden : sequence of int or None, default=None
        Hidden units of the decoder, layer by layer; ``()`` is a linear decoder. None is one
        layer of 3k/2 units.
    dropout : float, default=0.1
        Share of hidden units left out in each training pass.
    temperature : tuple of two floats, default=(10.0, 0.1)
        First and last temperature.
    max_iter : int, default=300
        Epochs of the first try. A try that ends before the choices are hard is followed by one
        with twice the epochs, from new random weights.
    max_tries : int, default=5
        Limit on the tries.
    max_steps : int or None, default=100000
        A further try is made only if its number of steps (batches) is at most this: a minute or two
        on a CPU. None makes all ``max_tries``, as the authors do, which for 2000 samples may take a
        quarter of an hour.
    tol : float, default=0.002
        Training ends once the largest probability of a choice is at least 1 - tol in the mean.
    learning_rate : float, default=0.001
        Of Adam.
    batch_size : int or None, default=None
        Samples a step; None is max(n // 256, 16).
    {network}
    {task}
    random_state : int, RandomState or None, default=None
        Draws the weights, the noise, the dropout and the order of the samples.

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        Largest probability of each column in any of the k choices.
    n_distinct_ : int
        Number of different columns among the k choices. Choices may coincide: the columns of the
        next largest probabilities then fill up to k.
    mean_max_ : float
        Largest probability of a choice, mean over the k choices; 1 where all are hard.
    loss_ : float
        Mean squared error of the decoder fed with the chosen columns alone.
    n_iter_, history_ : int and array
        Number of epochs of all tries, and the mean training loss of each.
    converged_ : bool
        Whether ``tol`` was reached; if not, a ``ConvergenceWarning`` says so.
    n_tries_ : int
        Number of tries; the one with the largest ``mean_max_`` counts.
    temperature_ : float
        Temperature at its last step.
    stopped_ : {"tol", "max_iter", "time_limit", "callback"}
        What ended the training.
    device_ : str
        Where it was trained.

    Notes
    -----
    On the CPU one thread is used, so that the same ``random_state`` gives the same answer however
    many there are. A dense X is copied once in single precision; a sparse X is made dense batch
    by batch. Constant columns take no part.

    References
    ----------
    A. Abid, M. F. Balin, J. Zou. Concrete autoencoders: differentiable feature selection and
    reconstruction. ICML 2019.

    Examples
    --------
    >>> from rowsparse import ConcreteAutoencoder
    >>> ConcreteAutoencoder(5, hidden=(), time_limit=60)
    ConcreteAutoencoder(hidden=(), n_features_to_select=5, time_limit=60)
    """

    supervised = False
    _counted = "epochs"
    _advice = "raise max_steps, max_tries or max_iter, or loosen tol"

    allowed: ClassVar[Allowed] = {
        "target": OneOf(("X", "y")),
        "hidden": replace(LAYERS, optional=True),
        "dropout": Number(low=0.0, high=0.95),
        "temperature": Several(Number(low=0.0, low_open=True), length=2),
        "max_tries": Number(low=1, integer=True),
        "max_steps": Number(low=1, integer=True, optional=True),
        "tol": Number(low=0.0, low_open=True, high=1.0),
        "batch_size": Number(low=1, integer=True, optional=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        target: Literal["X", "y"] = "X",
        hidden: Sequence[int] | None = None,
        dropout: float = 0.1,
        temperature: tuple[float, float] = (10.0, 0.1),
        max_iter: int = 300,
        max_tries: int = 5,
        max_steps: int | None = 100_000,
        tol: float = 0.002,
        time_limit: float | None = None,
        learning_rate: float = 1e-3,
        batch_size: int | None = None,
        standardize: bool = True,
        device: Any = None,
        task: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.target = target
        self.hidden = hidden
        self.dropout = dropout
        self.temperature = temperature
        self.max_iter = max_iter
        self.max_tries = max_tries
        self.max_steps = max_steps
        self.tol = tol
        self.time_limit = time_limit
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.standardize = standardize
        self.device = device
        self.task = task
        self.random_state = random_state

    @property
    def _requires_targets(self) -> bool:
        return bool(self.target == "y")

    def _check_combinations(self) -> None:
        if self.temperature[0] < self.temperature[1]:
            raise ValueError(f"temperature must not rise; got {self.temperature!r}.")

    def _score(self, source: Samples) -> ScoredFeatures:
        data = self._network_data(source)
        fit = self._trained(source, data)
        chosen = np.unique(fit.probabilities.argmax(axis=1))
        return ScoredFeatures(
            scores=data.scores(fit.probabilities.max(axis=0), fit.loss),
            varies=data.varies,
            support=data.columns[chosen],
            n_iter=len(fit.history),
            converged=fit.stopped == "tol",
            attributes={
                "n_distinct_": chosen.size,
                "mean_max_": fit.mean_max,
                "loss_": fit.loss,
                "history_": np.array(fit.history),
                "n_tries_": fit.n_tries,
                "temperature_": fit.temperature,
                "stopped_": fit.stopped,
                "device_": self.device_,
            },
        )

    def _trained(self, source: Samples, data: NetworkData) -> ConcreteFit:
        k = min(source.k, data.columns.size)
        settings = ConcreteSettings(
            hidden=(max(1, 3 * k // 2),) if self.hidden is None else tuple(self.hidden),
            dropout=self.dropout,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size or max(data.X.shape[0] // 256, 16),
            temperature=(self.temperature[0], self.temperature[1]),
            max_iter=self.max_iter,
            max_tries=self.max_tries,
            max_steps=self.max_steps,
            tol=self.tol,
        )
        with self._training() as (backend, _, clock):
            rows = Rows(data.X, data.mean, data.inv_scale, backend)
            targets = None if self.target == "X" else backend.tensor(_numbers(source))
            return concrete_autoencoder(rows, targets, k, settings, backend, clock, source.monitor)


def _numbers(source: Samples) -> Array:
    """The targets as the decoder sees them."""
    Y = source.required_targets.Y
    return standardized(Y) if source.required_targets.task == "regression" else Y
