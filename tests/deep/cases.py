"""Small problems and short schedules for the networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.selectors.cases import FAST
from tests.selectors.cases import planted_classes as classes

__all__ = ["classes"]

PLANTED = [1, 5, 8]
# Small networks that learn fast.
SHORT_CONCRETE: dict[str, Any] = {"max_iter": 3, "max_tries": 1, "random_state": 0}
SHORT_FIRDL: dict[str, Any] = FAST["firdl"] | {"random_state": 0}


def low_rank(n: int = 120, d: int = 30, rank: int = 3) -> np.ndarray:
    """Columns that are mixtures of three, each column with noise of its own, most of it strong."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return X + np.linspace(0.05, 3.0, d) * rng.standard_normal((n, d))


def unexplained(X: np.ndarray, columns: Any) -> float:
    """Share of the variance of X that no linear function of the columns explains."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    fitted = Z[:, columns] @ np.linalg.lstsq(Z[:, columns], Z, rcond=None)[0]
    return float(((Z - fitted) ** 2).mean())


def problem(task: str) -> tuple[np.ndarray, np.ndarray]:
    """Targets of every kind that hang on columns 1, 5 and 8."""
    X, y = classes(n=150)
    if task == "multilabel":
        return X, (y[:, None] == np.arange(3)).astype(int) | (y[:, None] == 2)
    if task == "regression":
        return X, 1e6 * (X[:, PLANTED] @ [2.0, -1.5, 1.0])
    return X, y


def dense_masks(masks: Any, d: int) -> np.ndarray:
    dense = np.zeros((len(masks), d))
    np.put_along_axis(dense, np.asarray(masks), 1.0, axis=1)
    return dense


def best_mask_of(loss: Any, d: int, k: int, torch: Any, steps: int = 5) -> Any:
    """The search as it is published, one swap at a time, on full masks."""

    def value(mask: Any) -> tuple[float, np.ndarray]:
        m = mask.clone().requires_grad_()
        return loss(m).item(), -torch.autograd.grad(loss(m), m)[0].numpy()

    def step(mask: Any) -> Any:
        now, h = value(mask)
        inside, outside = np.flatnonzero(mask), np.flatnonzero(mask == 0)
        enters = outside[np.argmax(h[outside])]
        for leaves in [*inside[h[inside] < 0], inside[np.argmin(h[inside])]]:
            swapped = mask.clone()
            swapped[enters], swapped[leaves] = 1.0, 0.0
            if value(swapped)[0] < now:
                return swapped
        return mask

    mask = torch.zeros(d)
    mask[np.argsort(-value(torch.full((d,), 0.5))[1], kind="stable")[:k].tolist()] = 1.0
    for _ in range(steps):
        mask = step(mask)
    return mask
