"""PyTorch, a device, random numbers and rows of the data, for both networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array, Index

# A tensor of PyTorch, which may not be installed.
Tensor = Any
Layers = list[tuple[Tensor, Tensor]]

# Entries that are centred and scaled at a time: 8 MB of float64.
_BLOCK_ENTRIES = 1 << 20


def import_torch(method: str) -> Any:
    """PyTorch; an ImportError that names the extra where it is not installed."""
    try:
        return import_module("torch")
    except ImportError:
        raise ImportError(f'{method} needs PyTorch: pip install "rowsparse[deep]".') from None


def resolve_device(torch: Any, device: Any, X: Any) -> str:
    """The name of the device to train on.

    None is where X is, if X is a tensor, and the CPU otherwise; "auto" is a GPU if there is one.
    """
    if device is None:
        return str(X.device) if isinstance(X, torch.Tensor) else "cpu"
    if isinstance(device, str) and device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if not isinstance(device, (str, torch.device)):
        raise TypeError(
            f"device must be None, 'auto' or the name of a device of PyTorch; got {device!r}."
        )
    try:
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError, NotImplementedError):
        raise ValueError(
            f"device={str(device)!r} is not a device that PyTorch can use here: pass 'cpu' or "
            "'auto'."
        ) from None
    return str(device)


@dataclass(frozen=True)
class Backend:
    """Single precision on one device, with random numbers of its own.

    Nothing is left to PyTorch's global settings: neither the random state nor the default
    device and precision are read or changed.
    """

    torch: Any
    device: str
    generator: Any

    @classmethod
    def seeded(cls, torch: Any, device: str, rng: np.random.Generator) -> Backend:
        """A backend whose random numbers follow from ``rng``."""
        generator = torch.Generator(device=device)
        generator.manual_seed(int(rng.integers(2**62)))
        return cls(torch, device, generator)

    def tensor(self, array: Array) -> Tensor:
        """A copy of the array, in single precision."""
        return self.torch.tensor(array, dtype=self.torch.float32, device=self.device)

    def index(self, array: Any) -> Tensor:
        """A copy of the array, as positions."""
        return self.torch.tensor(array, dtype=self.torch.int64, device=self.device)

    def zeros(self, *shape: int) -> Tensor:
        return self.torch.zeros(shape, dtype=self.torch.float32, device=self.device)

    def empty(self, *shape: int) -> Tensor:
        return self.torch.empty(shape, dtype=self.torch.float32, device=self.device)

    def uniform(self, *shape: int) -> Tensor:
        """Uniform on [0, 1)."""
        return self.empty(*shape).uniform_(generator=self.generator)

    def normal(self, *shape: int) -> Tensor:
        """Standard normal."""
        return self.empty(*shape).normal_(generator=self.generator)

    def gumbel(self, *shape: int) -> Tensor:
        """Standard Gumbel, -log(-log u) for u uniform and kept away from 0 and 1: always finite."""
        uniform = self.uniform(*shape).clamp_(1e-7, 1.0 - 1e-7)
        return uniform.log_().neg_().log_().neg_()

    def integers(self, high: int, *shape: int) -> Tensor:
        """Uniform on 0, ..., high - 1."""
        return self.torch.randint(high, shape, generator=self.generator, device=self.device)

    def permutation(self, n: int) -> Tensor:
        return self.torch.randperm(n, generator=self.generator, device=self.device)

    def glorot_uniform(self, fan_in: int, fan_out: int, *shape: int) -> Tensor:
        """Weights to train, uniform on +-sqrt(6 / (fan_in + fan_out))."""
        limit = (6.0 / (fan_in + fan_out)) ** 0.5
        return self.uniform(*shape).mul_(2.0 * limit).sub_(limit).requires_grad_()

    def layers(self, sizes: Sequence[int]) -> Layers:
        """Dense layers between these sizes: Glorot-uniform weights, zero biases."""
        return [
            (self.glorot_uniform(a, b, a, b), self.zeros(b).requires_grad_())
            for a, b in pairwise(sizes)
        ]

    def dropout(self, h: Tensor, rate: float) -> Tensor:
        """Each entry zero with probability ``rate``, the others enlarged to make up for it."""
        if rate == 0.0:
            return h
        kept = self.uniform(*h.shape) >= rate
        return h * kept / (1.0 - rate)

    @contextmanager
    def training(self) -> Iterator[None]:
        """One thread, so that sums are the same on every machine, and gradients switched on."""
        threads = self.torch.get_num_threads()
        self.torch.set_num_threads(1)
        try:
            with self.torch.inference_mode(False), self.torch.enable_grad():
                yield
        finally:
            self.torch.set_num_threads(threads)


class Adam:
    """Adam, or with Nesterov momentum NAdam, on all parameters at once.

    The parameters and their gradients become views of two vectors, so a step is a handful of
    operations whatever the number of layers: small networks would otherwise spend most of their
    time in the optimiser. Same steps as ``torch.optim.Adam`` and ``NAdam``.
    """

    _first_decay, _second_decay, _floor = 0.9, 0.999, 1e-8
    _momentum_decay = 4e-3

    def __init__(
        self, parameters: Sequence[Tensor], learning_rate: float, *, nesterov: bool
    ) -> None:
        torch = import_module("torch")
        self._rate, self._nesterov = learning_rate, nesterov
        self._vector = torch.cat([p.detach().reshape(-1) for p in parameters])
        self._gradient = torch.zeros_like(self._vector)
        self._mean = torch.zeros_like(self._vector)
        self._square = torch.zeros_like(self._vector)
        self._steps, self._momentum = 0, 1.0
        start = 0
        for p in parameters:
            end = start + p.numel()
            p.data = self._vector[start:end].view(p.shape)
            p.grad = self._gradient[start:end].view(p.shape)
            start = end

    def minimize(self, loss: Tensor) -> None:
        """One step against the gradient of the loss."""
        self._gradient.zero_()
        loss.backward()
        self._steps += 1
        self._mean.lerp_(self._gradient, 1.0 - self._first_decay)
        self._square.mul_(self._second_decay)
        self._square.addcmul_(self._gradient, self._gradient, value=1.0 - self._second_decay)
        scale = self._square / (1.0 - self._second_decay**self._steps)
        scale.sqrt_().add_(self._floor)
        if not self._nesterov:
            size = self._rate / (1.0 - self._first_decay**self._steps)
            self._vector.addcdiv_(self._mean, scale, value=-size)
            return
        now, after = self._momentum_at(self._steps), self._momentum_at(self._steps + 1)
        self._momentum *= now
        of_gradient = self._rate * (1.0 - now) / (1.0 - self._momentum)
        of_mean = self._rate * after / (1.0 - self._momentum * after)
        self._vector.addcdiv_(self._gradient, scale, value=-of_gradient)
        self._vector.addcdiv_(self._mean, scale, value=-of_mean)

    def _momentum_at(self, step: int) -> float:
        return self._first_decay * (1.0 - 0.5 * 0.96 ** (step * self._momentum_decay))


class Rows:
    """Rows of Z = (X - 1 mean') diag(inv_scale), as tensors in single precision.

    A dense X is held as one tensor on the device. A sparse X stays sparse, and only the rows
    asked for are made dense. Both give the same numbers.
    """

    def __init__(self, X: Any, mean: Array, inv_scale: Array, backend: Backend) -> None:
        self._backend = backend
        self.shape = (int(X.shape[0]), int(X.shape[1]))
        self._Z: Tensor = None
        if sp.issparse(X):
            self._sparse = _transformed(X, mean, inv_scale)
            self._absent = ((0.0 - mean) * inv_scale).astype(np.float32)
        else:
            self._Z = backend.empty(*self.shape)
            step = max(1, _BLOCK_ENTRIES // max(self.shape[1], 1))
            for start in range(0, self.shape[0], step):
                block = np.asarray(X[start : start + step], dtype=np.float64)
                self._Z[start : start + step] = backend.tensor((block - mean) * inv_scale)

    def batch(self, rows: Tensor) -> Tensor:
        """Z[rows]."""
        if self._Z is not None:
            return self._Z.index_select(0, rows)
        return self._filled(self._sparse[rows.cpu().numpy()], self._absent)

    def columns(self, columns: Tensor) -> Tensor:
        """Z[:, columns]."""
        if self._Z is not None:
            return self._Z.index_select(1, columns)
        chosen = columns.cpu().numpy()
        return self._filled(self._sparse[:, chosen], self._absent[chosen])

    def _filled(self, part: Any, absent: Array) -> Tensor:
        block = np.tile(absent, (part.shape[0], 1))
        row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        block[row, part.indices] = part.data
        return self._backend.tensor(block)


def _transformed(X: Any, mean: Array, inv_scale: Array) -> Any:
    """A sparse X by rows, its stored entries centred and scaled."""
    stored = sp.csr_array(X, dtype=np.float64, copy=True)
    stored.sum_duplicates()
    column = stored.indices
    values = ((stored.data - mean[column]) * inv_scale[column]).astype(np.float32)
    return sp.csr_array((values, column, stored.indptr), shape=stored.shape)


def standardized(Y: Array) -> Array:
    """Columns of zero mean and unit standard deviation; constant ones become zero."""
    centred = Y - Y.mean(axis=0)
    sd = centred.std(axis=0)
    return centred / np.where(sd > 0, sd, 1.0)


def varying_columns(X: Any, varies: Index) -> Any:
    """X without its constant columns; X itself if it has none."""
    return X if varies.size == X.shape[1] else X[:, varies]
