"""A new loss, the one of docs/inside/add_a_loss.md, goes through search, groups, path and proof.

The page has the loss and its checker in its blocks of code; they are run here.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from rowsparse import TopK
from rowsparse._parameters import OneOf
from rowsparse.certificate import checking, proof
from rowsparse.selectors.topk import topk_path as path_module
from rowsparse.selectors.topk import topk_problem

from .selectors.topk.losses import (
    ALPHA,
    Case,
    check_a_path_has_the_best_choice_of_every_size,
    check_bounds_are_below_every_choice,
    check_groups_are_chosen_and_proven,
    check_the_proven_choice_is_the_best_of_all,
    standardised,
)

PAGE = Path(__file__).parents[1] / "docs" / "inside" / "add_a_loss.md"
NAME = "pseudo_huber"


def blocks() -> dict[str, Any]:
    """What the blocks of code of the page define; its own assertions hold."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    return names


@pytest.fixture(scope="module", autouse=True)
def registered():
    """The loss is known to TopK and to the checker, as the page says."""
    defined = blocks()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(topk_problem.CURVED, NAME, defined["PseudoHuberLoss"])
        patch.setitem(checking.BOUNDS, NAME, defined["PseudoHuberBounds"])
        patch.setitem(proof.TASKS, "regression", ("numbers", ("squared", NAME)))
        patch.setitem(TopK.allowed, "loss", OneOf((NAME,)))
        patch.setattr(path_module, "PATH_LOSSES", (NAME,))
        yield


def data(seed: int, n: int = 40, d: int = 8, c: int = 1) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    Y = X[:, :3] @ rng.standard_normal((3, c)) + rng.standard_t(2, (n, c))
    return X, Y if c > 1 else Y[:, 0], rng.uniform(0.5, 2.0, n)


def least(X: Any, y: Any, w: Any, columns: Any, **settings: Any) -> float:
    """The least objective on some columns, by a general minimiser."""
    Z, Y = standardised(X, w, settings)[:, list(columns)], y if y.ndim == 2 else y[:, None]
    k, c, ridge = Z.shape[1], Y.shape[1], ALPHA * w.sum()

    def objective(v: Any) -> Any:
        W, b = v[: k * c].reshape(k, c), v[k * c :]
        R = Z @ W + b - Y
        root = np.sqrt(1 + R**2)
        slope = w[:, None] * R / root
        value = w @ (root - 1).sum(axis=1) + ridge / 2 * np.sum(W**2)
        return value, np.concatenate([(Z.T @ slope + ridge * W).ravel(), slope.sum(axis=0)])

    found = minimize(objective, np.zeros((k + 1) * c), jac=True, method="BFGS", tol=1e-10)
    return float(found.fun)


CASE = Case(NAME, data, least, checkers=(False,), rel=1e-6)


@pytest.mark.parametrize("c", [1, 2])
def test_the_proven_choice_is_the_best_of_all_and_the_checker_agrees(c: int) -> None:
    check_the_proven_choice_is_the_best_of_all(CASE, {"include": [7], "task": "regression"}, c=c)


def test_groups_are_chosen_and_proven() -> None:
    check_groups_are_chosen_and_proven(CASE)


def test_a_path_has_the_best_choice_of_every_size() -> None:
    check_a_path_has_the_best_choice_of_every_size(CASE, task="regression")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_bounds_are_below_every_choice(seed: int) -> None:
    check_bounds_are_below_every_choice(CASE, seed)
