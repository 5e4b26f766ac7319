"""The fitted attributes of an estimator: set anew by each fit, and restored if it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# scikit-learn's check of X sets these, or removes them, itself.
SET_BY_VALIDATION = ("n_features_in_", "feature_names_in_")


def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """What fit has set: the attributes with a trailing and no leading underscore."""
    return {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_")
    }


def forget_last_fit(estimator: Any) -> None:
    """Delete the fitted attributes, except those that the check of X sets."""
    for name in fitted_attributes(estimator).keys() - SET_BY_VALIDATION:
        delattr(estimator, name)


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was if its fit fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        # scikit-learn cleans up the attributes of its callbacks itself.
        callbacks = {name: value for name, value in vars(estimator).items() if "callback" in name}
        vars(estimator).clear()
        vars(estimator).update(before | callbacks)
        raise
