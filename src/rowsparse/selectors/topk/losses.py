"""The losses of TopK: which one "auto" stands for, and the default ridge of each."""

from __future__ import annotations

from rowsparse._parameters import Constraint, Either, Number, OneOf

LOSSES = ("auto", "squared", "l21", "logistic")
# Those that have paths over the number of features.
PATH_LOSSES = ("auto", "squared", "logistic")
# What alpha="auto" stands for; `python -m benchmarks losses` says how these were chosen.
DEFAULT_ALPHAS = {"squared": 0.5, "l21": 0.0, "logistic": 0.02}
# What alpha may be.
ALPHA: Constraint = Either(Number(low=0.0), OneOf(("auto",)))


def effective_loss(loss: str, task: str) -> str:
    """The loss for targets of some kind.

    >>> effective_loss("auto", "multilabel"), effective_loss("auto", "regression")
    ('logistic', 'squared')
    """
    if loss != "auto":
        return loss
    return "squared" if task == "regression" else "logistic"


def effective_alpha(alpha: float | str, loss: str) -> float:
    """The ridge, per sample, for a loss that is not "auto".

    >>> effective_alpha("auto", "squared"), effective_alpha(2, "squared")
    (0.5, 2.0)
    """
    return DEFAULT_ALPHAS[loss] if isinstance(alpha, str) else float(alpha)
