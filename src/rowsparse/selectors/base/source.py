"""Sources of samples: the checked input of fit, and the problems that are made from it.

There are three: :class:`Samples`, for arrays in host memory or on a device; :class:`Sums`, for the
statistics of samples that are not available; and :class:`Blocks`, which has these statistics and
reads the samples again where a method needs them. :func:`open_source` makes the right one.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, is_torch_array
from scipy.linalg.blas import dsyr
from sklearn.utils.validation import validate_data

from rowsparse._arrays import Array, Index, Mask, on_device, to_device, to_host, wide_dtype
from rowsparse._compat import iteration_monitor
from rowsparse._validation import (
    check_finite_columns,
    check_finite_device_columns,
    check_numeric_columns,
    one_sentence,
    resolve_count,
    warn_user,
)
from rowsparse.design import (
    ColumnScaling,
    DenseDesign,
    Design,
    make_design,
    power_of_two_unit,
)
from rowsparse.design.build import compressed_design
from rowsparse.selectors.base.linear_problem import (
    LinearProblem,
    ProblemSettings,
    check_objective,
)
from rowsparse.solvers.solution import Monitor
from rowsparse.targets import (
    Targets,
    check_sample_weight,
    combine_weights,
    declared_task,
    encode_targets,
    target_array,
)

if TYPE_CHECKING:
    from rowsparse.moments import Moments
    from rowsparse.moments.statistics import Statistics
    from rowsparse.streams import RowBlocks

ALL_CONSTANT = "Every column of X is constant: there is nothing to select from."
# Most columns for which X'X is gathered from a stream: it takes 3.2 GB.
MAX_PRODUCTS = 20_000

_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)


# ----------------------------------------------------------------------------------- rows
@dataclass
class Samples:
    """Samples in arrays, in host memory or on a device.

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
    def n_rows(self) -> float:
        """The number of samples in the arrays."""
        return int(self.X.shape[0])

    @property
    def n_entries(self) -> int:
        """The number of entries of X."""
        return int(self.X.shape[0]) * int(self.X.shape[1])

    @property
    def required_targets(self) -> Targets:
        """The targets, for a method that cannot do without them."""
        assert self.targets is not None
        return self.targets

    def design(
        self, *, center: bool, scale: bool, clip: float | None = None
    ) -> tuple[Design, ColumnScaling]:
        """X as solvers see it, and its scaling, which convert coefficients back."""
        design, scaling = make_design(
            self.X, center=center, scale=scale, weights=self.weights, clip=clip
        )
        if not design.column_norms().any():
            values = self.X.data if sp.issparse(self.X) else self.X
            largest = float(array_namespace(values).max(abs(values))) if values.shape[0] else 0.0
            if 0.0 < largest < _TINY:
                raise ValueError("X is too small to compute with: multiply it by a power of ten.")
            raise ValueError(ALL_CONSTANT)
        return design, scaling

    def problem(self, asked: ProblemSettings) -> LinearProblem:
        """The problem of a linear selector; refuses y if the objective would overflow."""
        design, scaling = self.design(
            center=asked.centred, scale=asked.standardize, clip=asked.clip
        )
        targets, weights = self.required_targets, self.weights
        check_objective(
            targets.Y, weights, asked.fit_intercept, targets.unit, asked.objective_power
        )
        return LinearProblem(
            design,
            scaling,
            targets.Y,
            targets,
            weights,
            self.k,
            bool(asked.fit_intercept),
            self.monitor,
            asked.dimensions,
            float(self.X.shape[0] if weights is None else weights.sum()),
            self,
        )


# ----------------------------------------------------------------------------------- sums
@dataclass
class Sums:
    """Statistics of samples that are not available themselves.

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
    def n_rows(self) -> float:
        """Infinite: decisions by the number of samples are those for very many."""
        return np.inf

    @property
    def n_entries(self) -> int:
        """The number of entries of X'X."""
        return int(self.sd.size) ** 2

    @property
    def required_targets(self) -> Targets:
        """The targets."""
        return self.targets

    @property
    def sd(self) -> Array:
        """The standard deviations of the columns (ddof = 0)."""
        return np.sqrt(self.statistics.x_square / self.statistics.weight)

    @property
    def largest(self) -> Array:
        """The largest modulus of each column."""
        return np.maximum(np.abs(self.statistics.x_low), np.abs(self.statistics.x_high))

    @property
    def constant(self) -> Mask:
        """Columns whose spread is nothing but rounding error, or too small to divide by."""
        rounding = self.sd <= np.maximum(10.0 * _EPS * self.largest, _TINY)
        return np.asarray((self.statistics.x_low == self.statistics.x_high) | rounding)

    @property
    def is_unsure(self) -> bool:
        """Whether columns that may vary count as constant, or hardly do not."""
        found = self.statistics
        close = self.sd <= np.maximum(11.0 * _EPS * self.largest, _TINY)
        return bool(np.any(close & (found.x_low < found.x_high)))

    @property
    def rounding(self) -> float:
        """Bound on the error of products of columns and targets, relative to their lengths."""
        found, varies = self.statistics, ~self.constant
        of_x = float((found.x_error[varies] / found.x_square[varies]).max(initial=_EPS))
        error, square = float(found.y_error.sum()), float(np.trace(found.yy))
        # Twice: of the products, and of the lengths by which columns may be divided.
        return 2.0 * max(of_x, error / max(square, _TINY) if error else 0.0)

    def scaling(self, asked: ProblemSettings) -> ColumnScaling:
        """Means and scales of the columns."""
        constant = self.constant
        counts = ~constant if asked.centred else np.ones(constant.size, dtype=bool)
        largest = float(self.largest[counts].max(initial=0.0))
        x_unit = 1.0 if asked.standardize else power_of_two_unit(largest)
        inv_scale = np.full(constant.size, 1.0 / x_unit)
        if asked.standardize:
            inv_scale = 1.0 / np.where(constant, 1.0, self.sd)
        if asked.centred:
            inv_scale[constant] = 0.0
        if not inv_scale.any():
            raise ValueError(ALL_CONSTANT)
        mean = self.statistics.x_mean if asked.centred else np.zeros(inv_scale.size)
        return ColumnScaling(mean, inv_scale, x_unit)

    def problem(self, asked: ProblemSettings) -> LinearProblem:
        """The problem of a selector with a squared loss, on a few rows with the same products."""
        found, targets, scaling = self.statistics, self.targets, self.scaling(asked)
        assert found.xx is not None
        gram, cross, yy = found.xx.copy(order="F"), found.xy.copy(), found.yy.copy()
        if not asked.centred:
            gram = dsyr(found.weight, found.x_mean, a=gram, overwrite_a=1)
            cross += found.weight * np.outer(found.x_mean, found.y_mean)
        if not asked.fit_intercept:
            yy += found.weight * np.outer(found.y_mean, found.y_mean)
        else:
            # Constant columns become exactly zero, without rounding errors.
            constant = found.y_low == found.y_high
            cross[:, constant], yy[constant], yy[:, constant] = 0.0, 0.0, 0.0
        if np.trace(found.yy) < found.y_error.sum() and np.any(found.y_low < found.y_high):
            raise ValueError(
                "Subtracting left nothing but rounding errors of y: gather the Moments again, "
                "without the samples that were subtracted."
            )
        gram *= scaling.inv_scale[:, None]
        gram *= scaling.inv_scale
        cross *= scaling.inv_scale[:, None] / targets.unit
        design, Y = compressed_design(gram, cross, yy / targets.unit**2, self.rounding)
        design.is_unsure = self.is_unsure
        check_objective(Y, None, False, targets.unit, asked.objective_power)
        return self._problem(design, scaling, Y, asked)

    def _problem(
        self, design: Design, scaling: ColumnScaling, Y: Array, asked: ProblemSettings
    ) -> LinearProblem:
        found = self.statistics
        mean = found.y_mean if asked.fit_intercept else np.zeros(found.y_origin.size)
        return LinearProblem(
            design,
            scaling,
            Y,
            self.targets,
            None,
            self.k,
            bool(asked.fit_intercept),
            self.monitor,
            asked.dimensions,
            found.weight,
            self,
            target_mean=mean / self.targets.unit,
        )


@dataclass
class Blocks(Sums):
    """Samples in blocks of rows: their statistics, of X'X too if that is wanted and fits.

    Attributes
    ----------
    moments : Moments
        Whose statistics they are.
    blocks : RowBlocks
        With the class weights in the sample weights.
    passes_before : int
        How often the blocks had been read before this fit.
    """

    moments: Moments
    blocks: RowBlocks
    passes_before: int

    @property
    def n_passes(self) -> int:
        """Number of passes over the blocks for this fit so far."""
        return self.blocks.n_passes - self.passes_before

    @property
    def has_products(self) -> bool:
        """Whether X'X was gathered."""
        return self.statistics.xx is not None

    def problem(self, asked: ProblemSettings) -> LinearProblem:
        """As from sums; without X'X a problem of no rows, to be solved by further passes."""
        found = self.statistics
        if self.has_products:
            return super().problem(asked)
        if not asked.by_passes:
            raise ValueError(
                f"{asked.name} needs X'X in memory, and the {found.x_origin.size} columns are "
                f"more than {MAX_PRODUCTS}: use TopK, or FStatistic to choose some of them first."
            )
        scaling = self.scaling(asked)
        square = found.x_square + found.weight * (found.x_mean - scaling.mean) ** 2
        # Nothing is asked of it but the norms of its columns, and its type.
        no_rows, scale = np.empty((0, square.size)), np.ones(square.size)
        design = DenseDesign(no_rows, mean=None, inv_scale=scale)
        design.set_column_norms(np.sqrt(square) * scaling.inv_scale)
        return self._problem(design, scaling, self.targets.Y, asked)


Source = Samples | Sums


# -------------------------------------------------------------------------------- opening
def open_source(selector: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Source:
    """Check the arguments of ``selector.fit``: arrays, Moments, RowBlocks or dask collections."""
    if _is_of(X, "rowsparse.moments.moments", "Moments") and hasattr(selector, "fit_moments"):
        if y is not None or sample_weight is not None:
            raise ValueError("y and sample_weight come with the Moments: pass nothing else.")
        selector._check_without_rows()
        return sums_of(selector, X)
    if not selector.takes_blocks:
        refuse_blocks(selector, X)
    blocks = row_blocks(X, y, sample_weight)
    if blocks is None:
        return _samples_of(selector, X, y, sample_weight)
    selector._check_without_rows()
    return _blocks_of(selector, blocks)


def is_dask(value: Any) -> bool:
    """Whether a value is a dask collection; neither dask nor streams is loaded for others."""
    if not hasattr(value, "__dask_graph__"):
        return False
    from rowsparse.streams import dask_partitions

    return dask_partitions.is_dask(value)


def comes_in_blocks(X: Any) -> bool:
    """Whether X is RowBlocks or a dask collection."""
    return is_dask(X) or _is_of(X, "rowsparse.streams.row_blocks", "RowBlocks")


def row_blocks(X: Any, y: Any, sample_weight: Any, **others: Any) -> RowBlocks | None:
    """The arguments of a fit as blocks, if X is RowBlocks or a dask collection."""
    if not comes_in_blocks(X):
        return None
    from rowsparse.streams import RowBlocks

    if isinstance(X, RowBlocks):
        if any(value is not None for value in (y, sample_weight, *others.values())):
            raise ValueError("y and sample_weight come with the RowBlocks: pass nothing else.")
        return X
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name} cannot be used with dask collections: leave it out.")
    return RowBlocks.from_dask(X, y, sample_weight)


def refuse_blocks(selector: Any, X: Any) -> None:
    """Refuse X in blocks, for selectors that need all samples at once."""
    if comes_in_blocks(X):
        kind = "dask collections" if is_dask(X) else "RowBlocks"
        raise TypeError(
            f"{type(selector).__name__} needs all samples at once and cannot be fitted from "
            f"{kind}: use a selector with fit_moments, such as TopK."
        )


def dealt_to_parts(selector: Any, blocks: RowBlocks, n_parts: int) -> list[Moments]:
    """The Moments of parts of the samples, weighted by the class weights of a selector too."""
    from rowsparse.streams.passes import gather_parts, with_class_weights

    task = getattr(selector, "task", "auto")
    weighted = with_class_weights(blocks, getattr(selector, "class_weight", None), task)
    return gather_parts(weighted, task, n_parts)


def _is_of(value: Any, module: str, name: str) -> bool:
    """Whether a value is of a class of a module, which need not be loaded: then it is not."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, getattr(loaded, name))


def _samples_of(selector: Any, X: Any, y: Any, sample_weight: Any) -> Samples:
    """Check arrays and encode the targets."""
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
        X, weights = _taken(X, kept), weights[kept]
        y = None if y is None else y[kept]
    targets, sample_weight = None if y is None else _encoded(selector, y, declared), weights
    if targets is not None:
        weights = combine_weights(targets, weights, getattr(selector, "class_weight", None))
    k = selector._number_to_select(X.shape[1])
    return Samples(X, targets, weights, k, iteration_monitor(selector), sample_weight)


def _taken(X: Any, rows: Index) -> Any:
    if on_device(X):
        return array_namespace(X).take(X, to_device(rows, X), axis=0)
    return X[rows]


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


def sums_of(selector: Any, moments: Moments, *, complete: bool = True) -> Sums:
    """Check that a selector can be fitted from Moments.

    ``complete`` says that there is nothing but these Moments: what they lack is then refused.
    """
    name, asked, task = type(selector).__name__, getattr(selector, "task", "auto"), moments.task
    if moments.n_samples < 2:
        raise ValueError(f"The Moments have n_samples = {moments.n_samples}: {name} needs 2.")
    if asked not in ("auto", task):
        raise ValueError(f"task={asked!r}, but the Moments are for {task}: gather them again.")
    if task not in selector.tasks:
        raise ValueError(
            f"{name} takes targets for {' or '.join(selector.tasks)}; the Moments are for {task}."
        )
    if complete and getattr(selector, "class_weight", None) is not None:
        raise ValueError(
            "class_weight cannot be applied to Moments: update them with sample_weight instead."
        )
    if getattr(selector, "clip", None) is not None:
        raise ValueError("clip needs the samples themselves: leave it out for Moments.")
    if complete and selector.needs_products and not moments.has_products:
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
    return Sums(found, targets, k, iteration_monitor(selector))


def _blocks_of(selector: Any, blocks: RowBlocks) -> Blocks:
    """The first pass over blocks; with class weights, the first two."""
    from rowsparse.streams.passes import gather, with_class_weights

    before, task = blocks.n_passes, selector._asked_task()
    weighted = with_class_weights(blocks, getattr(selector, "class_weight", None), task)
    most = MAX_PRODUCTS if selector.needs_products else 0
    moments = gather(weighted, task, most_products=most)
    sums = sums_of(selector, moments, complete=False)
    return Blocks(**vars(sums), moments=moments, blocks=weighted, passes_before=before)


def number_to_select(n_features_to_select: int | float, n: int, what: str = "features") -> int:
    """Number of features (or groups) to select: all n, with a warning, if n is too small."""
    k = resolve_count(n_features_to_select, n)
    if k > n:
        warn_user(f"n_features_to_select={k} is greater than n_{what}={n}: all {what} are kept.")
    return min(k, n)


# --------------------------------------------------------------------------- checks of arrays
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


def is_foreign(X: Any) -> bool:
    """Whether X is an array that scikit-learn takes only with its global switch."""
    return on_device(X) or is_torch_array(X)


def refuse_device_arrays(selector: Any, X: Any) -> None:
    """Refuse an X that the selector would have to copy to the host."""
    if on_device(X) and not selector.takes_device_arrays:
        raise TypeError(
            f"{type(selector).__name__} works in host memory, but X is a {type(X).__name__} on "
            "another device: pass it as a NumPy array."
        )


def checked_device_array(selector: Any, X: Any, *, reset: bool) -> Any:
    """X on its device, checked as scikit-learn checks a NumPy array; ``reset`` is that of a fit."""
    if reset:
        refuse_device_arrays(selector, X)
    if X.ndim != 2:
        raise ValueError(
            f"X: Expected 2D array, got {X.ndim}D array instead: pass a row for each sample."
        )
    xp = array_namespace(X)
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError("Complex data not supported in X: it must hold real numbers.")
    n, least = X.shape[0], 2 if reset else 1
    if n < least:
        raise ValueError(
            f"X: Found array with {n} sample(s) (shape={tuple(X.shape)}) while a minimum of "
            f"{least} is required."
        )
    if X.shape[1] == 0:
        raise ValueError(
            f"X: Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
            "required."
        )
    try:
        validate_data(selector, X, skip_check_array=True, reset=reset)
    except ValueError as error:
        raise one_sentence("X", error) from None
    if xp.isdtype(X.dtype, "real floating"):
        check_finite_device_columns(X)
    return X


def as_floats(X: Any) -> Any:
    """X on its device without gradients, in single or double precision."""
    xp = array_namespace(X)
    X = X.detach() if is_torch_array(X) else X
    if X.dtype in (xp.float32, xp.float64):
        return X
    narrow = xp.isdtype(X.dtype, "real floating")
    return xp.astype(X, xp.float32 if narrow else getattr(xp, wide_dtype(X).name))
