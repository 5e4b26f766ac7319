"""What a selection minimises, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rowsparse.report.numbers import number

__all__ = ["minimised"]

_LOSSES = {
    "squared": "the squared error of a linear model",
    "l21": "the sum of the norms of the residuals of a linear model",
    "logistic": "the logistic loss of a linear model",
}


def minimised(settings: Mapping[str, Any]) -> str:
    """The sentence on what TopK lowers, by the settings that took effect; empty for others.

    >>> minimised({"loss": "logistic", "alpha": 0.125}).replace("\\u00a0", " ")
    'The objective is the logistic loss of a linear model, with a ridge of 0.125 per sample.'
    """
    loss = _LOSSES.get(str(settings.get("loss")))
    if loss is None:
        return ""
    alpha = float(settings.get("alpha") or 0.0)
    ridge = f", with a ridge of {number(alpha)} per sample" if alpha > 0 else ", without a ridge"
    return f"The objective is {loss}{ridge}."
