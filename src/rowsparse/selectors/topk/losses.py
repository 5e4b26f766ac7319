"""The losses of TopK: which one "auto" stands for, and the default ridge and restarts of each."""

from __future__ import annotations

from rowsparse._parameters import Constraint, Either, Number, OneOf

LOSSES = ("auto", "squared", "l21", "logistic")
# Those that have paths over the number of features.
PATH_LOSSES = ("auto", "squared", "logistic")
# What alpha="auto" stands for, with the squared loss for classes and labels and for numbers;
# `python -m benchmarks losses ridge` says how these were chosen.
DEFAULT_ALPHAS = {"squared": 0.5, "l21": 0.0, "logistic": 0.02}
NUMBERS_ALPHA = 0.1
# What n_restarts="auto" stands for; see `python -m benchmarks restarts`.
DEFAULT_RESTARTS = {"squared": 20, "l21": 20, "logistic": 2}
# From more samples than this, "auto" is the squared loss for classes too: see the same benchmark.
MANY_SAMPLES = 100_000
# What alpha and n_restarts may be.
_AUTO = OneOf(("auto",))
ALPHA: Constraint = Either(Number(low=0.0), _AUTO)
RESTARTS: Constraint = Either(Number(low=0, integer=True), _AUTO)


def effective_loss(loss: str, task: str, n_rows: float) -> str:
    """The loss for targets of some kind, and a number of samples: infinite for Moments.

    >>> effective_loss("auto", "multilabel", 100), effective_loss("auto", "regression", 100)
    ('logistic', 'squared')
    >>> effective_loss("auto", "classification", 1_000_000)
    'squared'
    """
    if loss != "auto":
        return loss
    return "squared" if task == "regression" or n_rows > MANY_SAMPLES else "logistic"


def effective_alpha(alpha: float | str, loss: str, task: str) -> float:
    """The ridge, per sample, for a loss that is not "auto".

    >>> effective_alpha("auto", "squared", "regression")
    0.1
    >>> effective_alpha("auto", "squared", "multilabel")
    0.5
    """
    if not isinstance(alpha, str):
        return float(alpha)
    return NUMBERS_ALPHA if (loss, task) == ("squared", "regression") else DEFAULT_ALPHAS[loss]


def effective_restarts(n_restarts: int | str, loss: str) -> int:
    """The number of restarts for a loss that is not "auto".

    >>> effective_restarts("auto", "logistic"), effective_restarts(7, "logistic")
    (2, 7)
    """
    return DEFAULT_RESTARTS[loss] if isinstance(n_restarts, str) else int(n_restarts)
