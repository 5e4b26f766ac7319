"""Every selector there is, from the registry, with settings that keep the tests fast."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from inspect import getdoc
from typing import Any

import numpy as np

from rowsparse import get_selector, list_selectors
from rowsparse.selectors.base.selector import LinearSelector
from rowsparse.selectors.registry import selector_info

Factory = Callable[..., Any]

# The module that an extra brings, and whether it is here.
EXTRA_MODULES = {"deep": "torch"}

# Settings that make a method fast on small problems, by its name in the registry.
FAST: dict[str, dict[str, Any]] = {
    "rpfs": {"rho": 1.5, "max_iter": 100},
    "cdlsr": {"n_restarts": 4},
    "ipfs": {"rho": 1.2},
    "fspca": {"n_components": 2},
    "concreteautoencoder": {"max_iter": 5, "max_tries": 1},
    "firdl": {
        "operator_hidden": (8,),
        "selector_hidden": (16,),
        "batch_size": 16,
        "n_masks": 16,
        "max_iter": 160,
        "phase_two": 120,
        "learning_rate": 0.05,
    },
}


def installed(name: str) -> bool:
    """Whether the extra that a selector needs is here."""
    extra = selector_info(name).extra
    return extra is None or find_spec(EXTRA_MODULES[extra]) is not None


def factory(name: str, k: Any, **defaults: Any) -> Factory:
    """A function that makes the selector; it takes further parameters by keyword."""
    fixed = {"random_state": 0} if selector_info(name).random else {}
    fixed |= defaults
    return lambda **options: get_selector(name, options.pop("k", k), **(fixed | options))


def all_selectors(k: Any, *, linear: bool = False) -> dict[str, Factory]:
    """Factories of all selectors that can run here, or of those with coefficients, by class."""
    return {
        selector_info(name).cls.__name__: factory(name, k, **FAST.get(name, {}))
        for name in list_selectors()
        if installed(name) and (not linear or issubclass(selector_info(name).cls, LinearSelector))
    }


def one_of_each(k: Any, *, linear: bool = False) -> dict[str, Factory]:
    """A selector of each base class, for what the base classes do for all of them."""
    names = (
        ("TopK", "MTFS")
        if linear
        else ("TopK", "MTFS", "FisherScore", "SLAP", "ConcreteAutoencoder")
    )
    found = all_selectors(k, linear=linear)
    return {name: found[name] for name in names if name in found}


class Listener:
    """A callback that hears of the tasks of a fit, in order, and may ask to stop."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after = stop_after
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.metadata: list[Any] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.begun.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.ended.append("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any = None) -> bool:
        self.ended.append(context.task_name)
        self.metadata.append(metadata)
        return self.stop_after is not None and self.ended.count("iteration") >= self.stop_after

    @property
    def objectives(self) -> list[float]:
        """What the iterations told."""
        tasks = zip(self.ended, self.metadata, strict=False)
        return [told["objective"] for name, told in tasks if name == "iteration"]


def documented(cls: type, section: str) -> dict[str, str]:
    """The names that a section of a numpydoc docstring explains, each with its type."""
    found = re.search(rf"^{section}\n-+\n(.*?)(?=\n\n|\Z)", getdoc(cls) or "", re.M | re.S)
    assert found is not None
    headers = [line for line in found[1].split("\n") if not line.startswith(" ")]
    split = [header.partition(" : ") for header in headers]
    return {name: kind for names, _, kind in split for name in names.split(", ")}


def numbers_of_three(
    seed: int = 0, n: int = 120, d: int = 15, noise: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that depend on columns 2, 7 and 11."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.linspace(0.5, 3, d) + 1.0
    y = 2 * X[:, 2] - 1.5 * X[:, 7] + X[:, 11] + noise * rng.standard_normal(n)
    return X, y


def classes_of_two(seed: int = 0, n: int = 120, d: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Three classes that columns 1 and 4 tell apart."""
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b", "c"])[rng.permutation(np.arange(n) % 3)]
    X = rng.standard_normal((n, d))
    X[:, 1] += 3 * (y == "a")
    X[:, 4] += 3 * (y == "b")
    return X, y


def planted_classes(n: int = 60, d: int = 14, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three classes that columns 1, 5 and 8 tell apart, clearly."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d))
    X[:, [1, 5, 8]] *= 0.4
    X[:, [1, 5, 8]] += 3.0 * np.array([[1, 0, -0.2], [0, 1, -1], [-1, -0.5, 1]])[y]
    return X, y


def three_classes(n: int = 60, d: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three classes that the first two columns tell apart, in columns of different units."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d))
    X[:, :2] += 2.0 * np.array([[1, 0], [0, 1], [-1, -1]])[y]
    return X * np.linspace(0.5, 2.0, d) + 1.0, y


def unequal_classes(
    classes: int = 3, n: int = 60, d: int = 8, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Classes of different means and scatters; later columns tell them apart better."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, (classes, d))[y]
    return X + rng.standard_normal((classes, d))[y] * np.linspace(0, 1, d), y


def labels_of_columns(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four labels, rare to frequent; each shifts a column of its own."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 4)) < [0.1, 0.3, 0.5, 0.8]).astype(int)
    X = rng.standard_normal((n, 8))
    X[:, :4] += Y
    return X, Y


def residuals(selector: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What the model of a selector leaves of the 0/1 targets of the classes."""
    return np.eye(y.max() + 1)[y] - X @ selector.coef_.T - selector.intercept_


def scaled_rows(selector: Any, X: np.ndarray) -> np.ndarray:
    """The coefficients (d x c) of the standardised columns."""
    return np.asarray(selector.coef_.T * X.std(axis=0)[:, None])
