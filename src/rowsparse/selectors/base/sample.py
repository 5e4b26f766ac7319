"""From the user's X, y and sample weights to checked data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace
from sklearn.utils.validation import validate_data

from rowsparse._arrays import Array, Index, on_device, to_device, to_host
from rowsparse._compat import iteration_monitor
from rowsparse._validation import (
    check_finite_columns,
    check_numeric_columns,
    one_sentence,
    resolve_count,
)
from rowsparse.design import Design, Units, make_design
from rowsparse.selectors.base.device import as_floats, checked_device_array
from rowsparse.selectors.base.messages import warn_user
from rowsparse.solvers.solution import Monitor
from rowsparse.targets import (
    Targets,
    check_sample_weight,
    combine_weights,
    declared_task,
    encode_targets,
    target_array,
)

ALL_CONSTANT = "Every column of X is constant: there is nothing to select from."


@dataclass
class Sample:
    """The user's data, checked.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
        As given, finite, float32 or float64; sparse data by rows or by columns; arrays of other
        libraries where they are.
    targets : Targets or None
        None where the method needs no targets and got none.
    weights : array of shape (n,) or None
        Sample weights times class weights; None if all are 1.
    k : int
        Number of features (or groups of features) to select, at most their number.
    monitor : Monitor
        Called after every iteration; returns True to stop the solver.
    sample_weight : array of shape (n,) or None
        The sample weights alone.
    """

    X: Any
    targets: Targets | None
    weights: Array | None
    k: int
    monitor: Monitor
    sample_weight: Array | None = None

    @property
    def required_targets(self) -> Targets:
        """The targets, for a method that cannot do without them."""
        assert self.targets is not None
        return self.targets

    def design(
        self, *, center: bool, scale: bool, clip: float | None = None
    ) -> tuple[Design, Units]:
        """X as solvers see it, and its units, which convert coefficients back."""
        design, units = make_design(
            self.X, center=center, scale=scale, weights=self.weights, clip=clip
        )
        if not design.column_norms().any():
            values = self.X.data if sp.issparse(self.X) else self.X
            largest = float(array_namespace(values).max(abs(values))) if values.shape[0] else 0.0
            if 0.0 < largest < np.finfo(np.float64).tiny:
                raise ValueError("X is too small to compute with: multiply it by a power of ten.")
            raise ValueError(ALL_CONSTANT)
        return design, units


def read_sample(selector: Any, X: Any, y: Any, sample_weight: Any = None) -> Sample:
    """Check the input of ``selector.fit`` and encode the targets."""
    if selector._requires_targets:
        require_targets(selector, y)
    X = validated_data(selector, X)
    declared = declared_task(y, "auto")
    if y is not None:
        y = target_array(y, X.shape[0])
    weights = check_sample_weight(sample_weight, X.shape[0])
    if weights is not None and np.any(weights == 0):
        # A weight of zero has to give the same result as dropping the sample.
        kept = np.flatnonzero(weights)
        X, weights = _rows(X, kept), weights[kept]
        y = None if y is None else y[kept]
    targets, sample_weight = None if y is None else _encoded(selector, y, declared), weights
    if targets is not None:
        weights = combine_weights(targets, weights, getattr(selector, "class_weight", None))
    k = selector._number_to_select(X.shape[1])
    return Sample(X, targets, weights, k, iteration_monitor(selector), sample_weight)


def _rows(X: Any, rows: Index) -> Any:
    if on_device(X):
        return array_namespace(X).take(X, to_device(rows, X), axis=0)
    return X[rows]


def require_targets(selector: Any, y: Any) -> None:
    """Raise an error if y is None."""
    if y is None:
        raise ValueError(
            f"This {type(selector).__name__} estimator requires y to be passed, but the target y "
            "is None."
        )


def validated_data(selector: Any, X: Any) -> Any:
    """X as a finite float array or sparse matrix; sets ``n_features_in_`` of the selector.

    An array on a device stays there; a tensor in host memory is read in place.
    """
    if on_device(X):
        return as_floats(checked_device_array(selector, X, reset=True))
    X = to_host(X)
    check_numeric_columns(X)
    try:
        validated = validate_data(
            selector,
            X,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=2,
        )
    except (TypeError, ValueError) as error:
        raise one_sentence("X", error) from None
    check_finite_columns(validated, X)
    return validated


def number_to_select(n_features_to_select: int | float, n: int, what: str = "features") -> int:
    """How many of n features (or groups) to select: all, with a warning, if n is too small."""
    k = resolve_count(n_features_to_select, n)
    if k > n:
        warn_user(f"n_features_to_select={k} is greater than n_{what}={n}: all {what} are kept.")
    return min(k, n)


def _encoded(selector: Any, y: Any, declared: str) -> Targets:
    task = selector._asked_task(y)
    targets = encode_targets(y, declared if task == "auto" else task, selector.tasks)
    if targets.doubt is not None and hasattr(selector, "task"):
        warn_user(targets.doubt)
    if targets.task not in selector.tasks:
        raise ValueError(
            f"{type(selector).__name__} takes targets for {' or '.join(selector.tasks)}; y is for "
            f"{targets.task}."
        )
    return targets
