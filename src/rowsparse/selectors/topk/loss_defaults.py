"""The losses of TopK: the default ridge and restarts of each, and the rule behind "auto"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rowsparse._parameters import Constraint, Either, Number, OneOf


@dataclass(frozen=True)
class LossDefaults:
    """Values of "auto" with a loss, and the targets and paths that the loss is for.

    Attributes
    ----------
    alpha : float
        The ridge; `python -m benchmarks losses ridge` says how they were chosen.
    n_restarts : int
        Starts after the first; see `python -m benchmarks restarts`.
    own_task : str or None
        The task whose targets are for this loss and no other.
    has_path : bool
        Whether it has paths over the number of features.
    """

    alpha: float
    n_restarts: int
    own_task: str | None = None
    has_path: bool = True


DEFAULTS = {
    "squared": LossDefaults(alpha=0.5, n_restarts=20),
    "l21": LossDefaults(alpha=0.0, n_restarts=20, has_path=False),
    "logistic": LossDefaults(alpha=0.02, n_restarts=2),
    "poisson": LossDefaults(alpha=0.1, n_restarts=2, own_task="counts"),
    "cox": LossDefaults(alpha=0.02, n_restarts=5, own_task="survival"),
}
# The ridge of the squared loss for numbers; the one above is for classes and labels.
NUMBERS_ALPHA = 0.1
LOSSES = ("auto", *DEFAULTS)
PATH_LOSSES = ("auto", *(name for name, of_loss in DEFAULTS.items() if of_loss.has_path))
OWN_TASKS = {name: of_loss.own_task for name, of_loss in DEFAULTS.items() if of_loss.own_task}
# From more samples than this, "auto" is the squared loss for classes too: see the same benchmark.
MANY_SAMPLES = 100_000
# Constraints of alpha and n_restarts.
_AUTO = OneOf(("auto",))
ALPHA: Constraint = Either(Number(low=0.0), _AUTO)
RESTARTS: Constraint = Either(Number(low=0, integer=True), _AUTO)


def effective_loss(loss: str, task: str, n_rows: float) -> str:
    """The loss for targets of some kind, and a number of samples: infinite for Moments.

    Refuses losses for targets that have one of their own.

    >>> effective_loss("auto", "multilabel", 100), effective_loss("auto", "regression", 100)
    ('logistic', 'squared')
    >>> effective_loss("auto", "classification", 1_000_000)
    'squared'
    """
    own = [name for name, of_loss in OWN_TASKS.items() if of_loss == task]
    if own and loss not in ("auto", *own):
        raise ValueError(f"task={task!r} is for loss={own[0]!r}: set loss to it.")
    if own or loss != "auto":
        return own[0] if own else loss
    return "squared" if task == "regression" or n_rows > MANY_SAMPLES else "logistic"


def own_task(selector: Any) -> str | None:
    """The task of the loss of a selector, or of one within it, if it is for targets of one kind."""
    params = selector.get_params(deep=True).items()
    losses = [value for name, value in params if name.rpartition("__")[2] == "loss"]
    return next((OWN_TASKS[x] for x in losses if isinstance(x, str) and x in OWN_TASKS), None)


def effective_alpha(alpha: float | str, loss: str, task: str) -> float:
    """The ridge, per sample, for a loss that is not "auto".

    >>> effective_alpha("auto", "squared", "regression")
    0.1
    >>> effective_alpha("auto", "squared", "multilabel")
    0.5
    """
    if not isinstance(alpha, str):
        return float(alpha)
    return NUMBERS_ALPHA if (loss, task) == ("squared", "regression") else DEFAULTS[loss].alpha


def effective_restarts(n_restarts: int | str, loss: str) -> int:
    """The number of restarts for a loss that is not "auto".

    >>> effective_restarts("auto", "logistic"), effective_restarts(7, "logistic")
    (2, 7)
    """
    return DEFAULTS[loss].n_restarts if isinstance(n_restarts, str) else int(n_restarts)
