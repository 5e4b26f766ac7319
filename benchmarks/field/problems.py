"""The problems: real tables, and synthetic data as the other packages make them for themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, make_regression
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.topk import standardised

Array = NDArray[Any]


@dataclass(frozen=True)
class Problem:
    """X standardised with ddof = 1, Y (n x c) centred, y the classes where there are any."""

    name: str
    X: Array
    Y: Array
    y: Array | None = None


def load_problem(name: str) -> Problem:
    """A problem by its name: ``set``, ``set class i``, or ``maker key=value ...``."""
    maker, *words = name.split()
    if maker in MAKERS:
        X, Y = MAKERS[maker](**{key: float(value) for key, _, value in map(_pair, words)})
        return _standard(name, X, Y)
    data = standardised(maker)
    if words:
        target = (data.y == int(words[-1])).astype(float)
        return Problem(name, data.X, (target - target.mean())[:, None])
    return Problem(name, data.X, data.Y, data.y)


def _pair(word: str) -> tuple[str, str, str]:
    return word.partition("=")


def _standard(name: str, X: Array, Y: Array) -> Problem:
    X = X - X.mean(axis=0)
    Y = Y.reshape(len(X), -1)
    return Problem(name, X / X.std(axis=0, ddof=1), Y - Y.mean(axis=0))


def _planted(X: Array, rng: Any, *, k: int, snr: float) -> Array:
    """y = Xb + noise, b = 1 in k places at equal distances."""
    d = X.shape[1]
    signal = X[:, [int(i * d / k) for i in range(k)]].sum(axis=1)
    return np.asarray(signal + rng.normal(scale=signal.std(ddof=1) / np.sqrt(snr), size=len(X)))


def decaying(n: float, d: float, rho: float, snr: float) -> tuple[Array, Array]:
    """Correlation rho^|i - j| between columns i and j, ten planted: the data of OKRidge."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((int(n), int(d)))
    for j in range(1, int(d)):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return X, _planted(X, rng, k=10, snr=snr)


def shared(n: float, d: float, rho: float, snr: float) -> tuple[Array, Array]:
    """One common factor in all columns, ten planted: the data of l0bnb."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((int(n), int(d)))
    X += np.sqrt(rho / (1 - rho)) * rng.standard_normal((int(n), 1))
    return X, _planted(X, rng, k=10, snr=snr)


def informative(n: float, d: float) -> tuple[Array, Array]:
    """``make_regression`` of scikit-learn with five features: the data of El0ps."""
    X, y = make_regression(int(n), int(d), n_informative=5, random_state=0)
    return X, y


def diabetes() -> tuple[Array, Array]:
    """The diabetes data with interactions and squares."""
    X, y = load_diabetes(return_X_y=True)
    X = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    # The square of a column of two values is that column again.
    return np.delete(X, 20, axis=1), y


def growing(n: float, d: float) -> tuple[Array, Array]:
    """Five targets of twenty features each, with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((int(n), int(d)))
    B = rng.standard_normal((100, 5)) * (rng.random((100, 5)) < 0.2)
    return X, X[:, :100] @ B + rng.standard_normal((int(n), 5))


MAKERS: dict[str, Callable[..., tuple[Array, Array]]] = {
    "decaying": decaying,
    "shared": shared,
    "informative": informative,
    "diabetes": diabetes,
    "growing": growing,
}
