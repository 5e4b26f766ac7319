"""The parameters that selectors share, and the check of all parameters before a fit."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from rowsparse._parameters import Allowed, Anything, Constraint, Flag, Number, OneOf, Such
from rowsparse.targets import TASKS

__all__ = ["COUNT", "VARIANTS", "allowed_values", "check_parameters", "generator", "with_task"]

VARIANTS = ("corrected", "published")


def _is_count(value: Any) -> bool:
    if isinstance(value, numbers.Integral):
        return value is not True and int(value) >= 1
    return Number(low=0, low_open=True, high=1).accepts(value)


def _is_class_weight(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, str) and value == "balanced")


def _is_number_of_workers(value: Any) -> bool:
    return Number(integer=True).accepts(value) and value != 0


def _is_random_state(value: Any) -> bool:
    try:
        check_random_state(value)
    except (TypeError, ValueError):
        return False
    return True


COUNT = Such("an integer of at least 1, or a fraction above 0 and at most 1", _is_count)

# A class overrides these and adds its own parameters in its class attribute ``allowed``.
_SHARED: Allowed = {
    "n_features_to_select": COUNT,
    "variant": OneOf(VARIANTS),
    "fit_intercept": Flag(),
    "standardize": Flag(),
    "clip": Number(low=0.0, low_open=True, optional=True),
    "task": OneOf(TASKS),
    "class_weight": Such("'balanced', a dict", _is_class_weight, optional=True),
    "n_restarts": Number(low=0, integer=True),
    "tol": Number(low=0.0, low_open=True),
    "max_iter": Number(low=1, integer=True),
    "time_limit": Number(low=0.0, low_open=True, optional=True),
    "n_jobs": Such(
        "an integer other than 0, with -1 for all processors", _is_number_of_workers, optional=True
    ),
    "random_state": Such(
        "an integer from 0 to 2**32 - 1, a RandomState", _is_random_state, optional=True
    ),
    "include": Anything(),
    "exclude": Anything(),
    "feature_groups": Anything(),
}


def allowed_values(cls: type) -> dict[str, Constraint]:
    """The constraint of each parameter: shared ones, overridden along the class hierarchy."""
    table = dict(_SHARED)
    for base in reversed(cls.__mro__):
        table |= vars(base).get("allowed", {})
    return table


def check_parameters(estimator: Any) -> None:
    """Raise an error of one sentence for the first parameter with a wrong value."""
    table = allowed_values(type(estimator))
    for name, value in estimator.get_params(deep=False).items():
        if name in table:
            table[name].check(name, value)


def with_task(selector: Any, task: str) -> Any:
    """A clone whose parameters ``task``, also those of selectors within it, are no longer "auto".

    What y holds is a property of all samples: some of them may look like something else.
    """
    fresh = clone(selector)
    params = fresh.get_params(deep=True)
    for name, value in params.items():
        outer, _, last = name.rpartition("__")
        owner = params[outer] if outer else fresh
        if last == "task" and value == "auto" and task in getattr(owner, "tasks", ()):
            owner.set_params(task=task)
    return fresh


def generator(random_state: Any) -> np.random.Generator:
    """A NumPy generator from what scikit-learn accepts as ``random_state``."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
