"""Fits from Moments: the sample that they stand for, and the problem of a squared loss on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyr

from rowsparse._arrays import Array, Mask
from rowsparse._compat import iteration_monitor
from rowsparse.design import DenseDesign, Units, power_of_two_unit
from rowsparse.design.compressed import compressed_design
from rowsparse.moments import Moments
from rowsparse.moments.statistics import Statistics
from rowsparse.selectors.base.messages import warn_user
from rowsparse.selectors.base.problem import LinearProblem
from rowsparse.selectors.base.ranges import Dimension, check_objective
from rowsparse.selectors.base.sample import ALL_CONSTANT
from rowsparse.solvers.solution import Monitor
from rowsparse.targets import Targets

_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)


@dataclass
class MomentsSample:
    """What Moments know of a sample: a counterpart of :class:`Sample` without its rows.

    Attributes
    ----------
    statistics : Statistics
        The numbers.
    targets : Targets
        Its ``Y`` has no rows.
    k : int
        Number of features (or groups of features) to select, at most their number.
    monitor : Monitor
        Called after every iteration; returns True to stop the solver.
    """

    statistics: Statistics
    targets: Targets
    k: int
    monitor: Monitor

    @property
    def required_targets(self) -> Targets:
        """The targets."""
        return self.targets

    @property
    def sd(self) -> Array:
        """The standard deviations of the columns (ddof = 0)."""
        return np.sqrt(self.statistics.x_square / self.statistics.weight)

    @property
    def constant(self) -> Mask:
        """Columns whose spread is nothing but rounding error, or too small to divide by."""
        rounding = self.sd <= np.maximum(10.0 * _EPS * self.largest, _TINY)
        return np.asarray((self.statistics.x_low == self.statistics.x_high) | rounding)

    @property
    def rounding(self) -> float:
        """Bound on the error of products of columns and targets, relative to their lengths."""
        found, varies = self.statistics, ~self.constant
        of_x = float((found.x_error[varies] / found.x_square[varies]).max(initial=_EPS))
        error, square = float(found.y_error.sum()), float(np.trace(found.yy))
        # Twice: of the products, and of the lengths by which columns may be divided.
        return 2.0 * max(of_x, error / max(square, _TINY) if error else 0.0)

    @property
    def is_unsure(self) -> bool:
        """Whether columns that may vary count as constant, or hardly do not."""
        found = self.statistics
        close = self.sd <= np.maximum(11.0 * _EPS * self.largest, _TINY)
        return bool(np.any(close & (found.x_low < found.x_high)))

    @property
    def largest(self) -> Array:
        """The largest modulus of each column."""
        return np.maximum(np.abs(self.statistics.x_low), np.abs(self.statistics.x_high))


def read_moments(
    selector: Any,
    moments: Moments,
    *,
    needs_products: bool | None = None,
    weighted: bool = False,
) -> MomentsSample:
    """Check that Moments are what the selector can be fitted from.

    ``weighted`` says that they have the class weights already.
    """
    if needs_products is None:
        needs_products = selector.needs_products
    if not isinstance(moments, Moments):
        raise TypeError(f"moments must be rowsparse.Moments; got {type(moments).__name__}.")
    name, asked, task = type(selector).__name__, getattr(selector, "task", "auto"), moments.task
    if moments.n_samples < 2:
        raise ValueError(f"The Moments have n_samples = {moments.n_samples}: {name} needs 2.")
    if asked not in ("auto", task):
        raise ValueError(f"task={asked!r}, but the Moments are for {task}: gather them again.")
    if task not in selector.tasks:
        raise ValueError(
            f"{name} takes targets for {' or '.join(selector.tasks)}; the Moments are for {task}."
        )
    if getattr(selector, "class_weight", None) is not None and not weighted:
        raise ValueError(
            "class_weight cannot be applied to Moments: update them with sample_weight instead."
        )
    if getattr(selector, "clip", None) is not None:
        raise ValueError("clip needs the samples themselves: leave it out for Moments.")
    if needs_products and not moments.has_products:
        raise ValueError(f"{name} needs Moments with products=True.")
    classes, found, unit = moments.classes, moments.statistics, 1.0
    if classes is not None and np.count_nonzero(found.group_weight) < 2:
        only = classes[found.group_weight > 0].tolist()[0]
        raise ValueError(
            f"y has only one class, {only!r}: at least two are needed for classification."
        )
    if asked == "auto" and classes is not None:
        counts = found.group_weight * (moments.n_samples / moments.weight)
        doubt = moments.targets.doubt(counts)
        if doubt is not None:
            warn_user(doubt)
    if task == "regression":
        unit = power_of_two_unit(float(np.abs([found.y_low, found.y_high]).max()))
    targets = Targets(
        np.empty((0, found.y_origin.size)), task, classes, unit, moments.targets.single_output
    )
    selector.n_features_in_ = moments.n_features
    vars(selector).pop("feature_names_in_", None)
    if moments.feature_names is not None:
        selector.feature_names_in_ = moments.feature_names
    k = selector._number_to_select(moments.n_features)
    return MomentsSample(found, targets, k, iteration_monitor(selector))


def moments_problem(
    sample: MomentsSample,
    *,
    standardize: bool,
    fit_intercept: bool,
    objective_power: int,
    dimensions: dict[str, Dimension],
) -> LinearProblem:
    """The problem of a selector with a squared loss; see :func:`linear_problem`."""
    found, targets = sample.statistics, sample.targets
    center = bool(standardize or fit_intercept)
    inv_scale, x_unit = column_scales(sample, standardize, center)
    if not inv_scale.any():
        raise ValueError(ALL_CONSTANT)
    mean = found.y_mean if fit_intercept else np.zeros(found.y_origin.size)
    assert found.xx is not None
    gram, cross, yy = found.xx.copy(order="F"), found.xy.copy(), found.yy.copy()
    if not center:
        gram = dsyr(found.weight, found.x_mean, a=gram, overwrite_a=1)
        cross += found.weight * np.outer(found.x_mean, found.y_mean)
    if not fit_intercept:
        yy += found.weight * np.outer(found.y_mean, found.y_mean)
    else:
        # Constant columns become exactly zero, without rounding errors.
        constant = found.y_low == found.y_high
        cross[:, constant], yy[constant], yy[:, constant] = 0.0, 0.0, 0.0
    if np.trace(found.yy) < found.y_error.sum() and np.any(found.y_low < found.y_high):
        raise ValueError(
            "Subtracting left nothing but rounding errors of y: gather the Moments again, without "
            "the samples that were subtracted."
        )
    gram *= inv_scale[:, None]
    gram *= inv_scale
    cross *= inv_scale[:, None] / targets.unit
    design, Y = compressed_design(gram, cross, yy / targets.unit**2, sample.rounding)
    design.is_unsure = sample.is_unsure
    check_objective(Y, None, False, targets.unit, objective_power)
    return LinearProblem(
        design,
        Units(found.x_mean if center else np.zeros(inv_scale.size), inv_scale, x_unit),
        Y,
        targets,
        None,
        sample.k,
        bool(fit_intercept),
        sample.monitor,
        {"objective": Dimension(y=objective_power), **dimensions},
        found.weight,
        target_mean=mean / targets.unit,
    )


def column_scales(sample: MomentsSample, standardize: bool, center: bool) -> tuple[Array, float]:
    """The reciprocal scales of the columns, and the unit of X."""
    constant = sample.constant
    counts = ~constant if center else np.ones(constant.size, dtype=bool)
    largest = float(sample.largest[counts].max(initial=0.0))
    unit = 1.0 if standardize else power_of_two_unit(largest)
    inv_scale = np.full(constant.size, 1.0 / unit)
    if standardize:
        inv_scale = 1.0 / np.where(constant, 1.0, sample.sd)
    if center:
        inv_scale[constant] = 0.0
    return inv_scale, unit


def design_without_rows(norms: Array) -> DenseDesign:
    """A design of which nothing is asked but the norms of its columns, and its type."""
    design = DenseDesign(np.empty((0, norms.size)), mean=None, inv_scale=np.ones(norms.size))
    design.set_column_norms(norms)
    return design
