"""The base class of selectors that train a network, and the data of its training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rowsparse._arrays import Array, Index, Mask, to_host
from rowsparse._deadline import Deadline
from rowsparse._parameters import Allowed, AnyValue, Number, Several
from rowsparse.deep.torch_tools import (
    Backend,
    import_torch,
    resolve_device,
    varying_columns,
)
from rowsparse.selectors.base.selector import ScoreSelector
from rowsparse.selectors.base.shared_parameters import generator
from rowsparse.selectors.base.source import Samples, Source

# Sizes of the hidden layers of a network.
LAYERS = Several(Number(low=1, integer=True))


@dataclass(frozen=True)
class NetworkData:
    """The columns that vary, and how to centre and scale them.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, v)
        The columns of X that vary.
    mean, inv_scale : array of shape (v,)
        Their offsets and the reciprocals of their scales.
    varies : array of bool, shape (d,)
        Which columns these are.
    """

    X: Any
    mean: Array
    inv_scale: Array
    varies: Mask

    @property
    def columns(self) -> Index:
        """The places of the columns in the user's data."""
        return np.flatnonzero(self.varies)

    def scores(self, values: Array, loss: float) -> Array:
        """Values of the columns that vary, with 0 for the others."""
        if not np.isfinite(values).all() or not np.isfinite(loss):
            raise ValueError(
                "The training diverged: lower learning_rate, or pass standardize=True."
            )
        scores = np.zeros(self.varies.size)
        scores[self.varies] = values
        return scores


class DeepSelector(ScoreSelector):
    """A selector that trains a network with PyTorch."""

    allowed: ClassVar[Allowed] = {
        "learning_rate": Number(low=0.0, low_open=True),
        "device": AnyValue(),  # PyTorch knows
    }

    # What max_iter counts, and what to do when it was too few.
    _counted: ClassVar[str]
    _advice: ClassVar[str]

    batch_size: Any
    learning_rate: Any
    max_iter: Any
    time_limit: Any
    standardize: Any
    device: Any
    random_state: Any

    def _source(self, X: Any, y: Any = None, sample_weight: Any = None) -> Source:
        torch = import_torch(type(self).__name__)
        self.device_ = resolve_device(torch, self.device, X)
        return super()._source(to_host(X), y, sample_weight)

    def _network_data(self, source: Samples) -> NetworkData:
        _, units = source.design(center=True, scale=bool(self.standardize))
        varies = units.inv_scale > 0
        X = varying_columns(source.X, np.flatnonzero(varies))
        return NetworkData(X, units.mean[varies], units.inv_scale[varies], varies)

    @contextmanager
    def _training(self) -> Iterator[tuple[Backend, np.random.Generator, Deadline]]:
        """The device, two sources of random numbers and a deadline."""
        rng = generator(self.random_state)
        torch = import_torch(type(self).__name__)
        backend = Backend.seeded(torch, self.device_, rng)
        with backend.training():
            yield backend, rng, Deadline(self.time_limit)

    def _convergence_warning(self) -> str | None:
        if self.converged_:
            return None
        name, done = type(self).__name__, f"{self.n_iter_} {self._counted}"
        if getattr(self, "stopped_", None) == "time_limit":
            return f"{name} did not converge: time_limit={self.time_limit} ended it after {done}."
        return f"{name} did not converge in {done}: {self._advice}."
