"""The data that a linear selector passes to its solver, and results in the user's units.

Solvers compute in units in which nothing overflows. The :class:`Dimension` of a parameter or a
result holds the powers of the units of X and of y by which it is converted to them and back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import ColumnScaling, Design
from rowsparse.rows import row_norms
from rowsparse.solvers.solution import Monitor
from rowsparse.targets import Targets

if TYPE_CHECKING:
    from rowsparse.selectors.base.source import Source

_TINY = float(np.finfo(np.float64).tiny)
# A parameter beyond this, on data of an ordinary magnitude, leaves its solver no room.
_LARGEST = 1e302
# A larger ratio of the norms of two columns makes their products singular.
_MAX_SPREAD = 1e6


@dataclass(frozen=True)
class ProblemSettings:
    """The settings of a linear selector for its problem.

    Attributes
    ----------
    name : str
        The selector, for messages.
    standardize, fit_intercept, clip : bool, bool and float or None
        The parameters.
    dimensions : dict of str to Dimension
        How parameters and results, by name, grow with the units of X and y; "objective" among
        them.
    by_passes : bool
        Whether the solver can do without X'X where it can read the blocks of a stream again.
    """

    name: str
    standardize: bool
    fit_intercept: bool
    clip: float | None
    dimensions: dict[str, Dimension]
    by_passes: bool = False

    @property
    def objective_power(self) -> int:
        """With which power of the residuals the objective grows."""
        return int(self.dimensions["objective"].y)

    @property
    def centred(self) -> bool:
        """Whether columns are centred."""
        return bool(self.standardize or self.fit_intercept)


@dataclass
class LinearProblem:
    """The data of a solver; the loss is sum_i weights_i ||y_i - z_i W - b||, or with squares.

    Attributes
    ----------
    design : Design
        The columns z of X, centred and scaled as asked for.
    scaling : ColumnScaling
        How ``design`` was made from X.
    Y : array of shape (n, c)
        The target matrix.
    targets : Targets
        The targets of the user, before any centring.
    weights : array of shape (n,) or None
        Weights of the samples; None if all are 1.
    k : int
        Number of features (or groups) to select.
    fit_intercept : bool
        Whether b is free.
    monitor : Monitor
        Called after every iteration; returns True to stop the solver.
    dimensions : dict of str to Dimension
        How parameters and results, by name, grow with the units of X and y.
    n_samples : float
        The sum of the weights.
    target_mean : array of shape (c,) or None
        What was taken off Y already, where the intercept is projected out; None if nothing was.
    source : Source
        What it was made from.
    """

    design: Design
    scaling: ColumnScaling
    Y: Array
    targets: Targets
    weights: Array | None
    k: int
    fit_intercept: bool
    monitor: Monitor
    dimensions: dict[str, Dimension]
    n_samples: float
    source: Source
    target_mean: Array | None = None

    @property
    def x_unit(self) -> float:
        """The divisor of X: 1, or a power of two for data of an extreme magnitude."""
        return self.scaling.x_unit

    @property
    def y_unit(self) -> float:
        """The divisor of y: 1, or a power of two for data of an extreme magnitude."""
        return self.targets.unit

    @overload
    def scaled(self, name: str, value: float) -> float: ...
    @overload
    def scaled(self, name: str, value: None) -> None: ...
    def scaled(self, name: str, value: float | None) -> float | None:
        """The user's value of a parameter, in the units of the design.

        A positive value stays positive, even where the result would be smaller than any float.
        """
        if value is None or value == 0:
            return value
        return self.dimensions[name].to_design(name, float(value), self.x_unit, self.y_unit)

    def restored(self, name: str, value: Any) -> Any:
        """A result of the solver, in the units of the user's data."""
        return self.dimensions[name].from_design(name, value, self.x_unit, self.y_unit)

    def model(self, W: Array, b: Array, columns: Index | None = None) -> tuple[Array, Array]:
        """Coefficients (c x d) and intercepts for the user's data; d is that of ``columns``."""
        at = slice(None) if columns is None else columns
        with np.errstate(over="ignore", invalid="ignore"):
            # Samples of zeros stay zero even where their scale is infinite.
            inv_scale = np.where(W.any(axis=1), self.scaling.inv_scale[at] * self.y_unit, 0.0)
            scaling = ColumnScaling(self.scaling.mean[at], inv_scale, self.x_unit)
            coef, intercept = scaling.coefficients(W, b * self.y_unit)
        # A column that is constant in these samples has no coefficient to lose.
        matter = W[self.scaling.inv_scale[at] > 0].any()
        lost = matter and np.abs(coef).max() < np.finfo(np.float64).tiny
        if lost or not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "The coefficients are beyond the range of floats: multiply X or y by a power of "
                "ten that brings them closer together."
            )
        return coef, intercept

    def squared(self) -> tuple[LinearProblem, Array]:
        """The same problem for a squared loss, and the means of its targets.

        The rows are multiplied by the square roots of their weights and the intercept is
        projected out, so that the loss is ||Y - ZW||_F^2. The design is centred already if there
        is an intercept.
        """
        if self.target_mean is not None:
            return self, self.target_mean
        n, c = self.Y.shape
        weights = np.ones(n) if self.weights is None else self.weights
        Y, mean = self.Y, np.zeros(c)
        # Twice, because the first mean is rounded: for large means the rest is not negligible.
        for _ in range(2 if self.fit_intercept else 0):
            offset = weights @ Y / weights.sum()
            Y, mean = Y - offset, mean + offset
        if self.fit_intercept:
            # Constant columns become exactly zero, without rounding errors.
            Y[:, np.all(self.Y[:1] == self.Y, axis=0)] = 0.0
        if self.weights is None:
            return replace(self, Y=Y), mean
        design, _ = self.design.weighted(weights, center=False)
        return replace(self, design=design, Y=np.sqrt(weights)[:, None] * Y, weights=None), mean


def why_singular(name: str, problem: LinearProblem) -> str:
    """The likely reason for a singular matrix in a solver."""
    norms = problem.design.column_norms()
    norms = norms[norms > 0]
    if norms.max() > _MAX_SPREAD * norms.min():
        return (
            f"The columns of X are of magnitudes too different for {name}: rescale them, or set "
            "standardize=True."
        )
    return (
        f"{name} met a singular matrix: drop columns of X that depend on others, or penalise more."
    )


@dataclass(frozen=True)
class Dimension:
    """The powers of the units of X and of y with which a quantity grows.

    The weight of ||W||_F^2 beside ||Y - XW||_F^2 grows with the square of X, for one.

    >>> Dimension(x=2).to_design("alpha", 3.0, 2.0**200, 1.0) * 2.0**400
    3.0
    """

    x: float = 0.0
    y: float = 0.0

    def to_design(self, name: str, value: float, x_unit: float, y_unit: float) -> float:
        """The user's positive value of a parameter for data divided by these units."""
        scaled = float(shifted(value, -self._exponent(x_unit, y_unit)))
        if scaled <= _LARGEST:
            return max(scaled, _TINY)
        data = self._extreme(x_unit, y_unit)
        if not data:
            raise ValueError(f"{name}={value:g} is too large to compute with: lower it.")
        advice = " or set standardize=True" if "X" in data else ""
        raise ValueError(
            f"{name}={value:g} dwarfs {data} beyond the range of floats: rescale {data}{advice}."
        )

    def from_design(self, name: str, value: Any, x_unit: float, y_unit: float) -> Any:
        """A result on data divided by these units, in those of the user."""
        exponent = self._exponent(x_unit, y_unit)
        if exponent == 0.0:
            return value
        restored = shifted(value, exponent)
        if np.isfinite(value).all() and not np.isfinite(restored).all():
            data = self._extreme(x_unit, y_unit)
            raise ValueError(
                f"{name}_ is beyond the range of floats for {data} of this magnitude: rescale "
                f"{data}{' or set standardize=True' if 'X' in data else ''}."
            )
        return restored if isinstance(value, np.ndarray) else float(restored)

    def _exponent(self, x_unit: float, y_unit: float) -> float:
        return self.x * math.log2(x_unit) + self.y * math.log2(y_unit)

    def _extreme(self, x_unit: float, y_unit: float) -> str:
        """Which of the data have a unit that matters here."""
        names = (("X", self.x, x_unit), ("y", self.y, y_unit))
        return " and ".join(name for name, power, unit in names if power and unit != 1.0)


def shifted(value: Any, exponent: float) -> Any:
    """value * 2**exponent, infinite or zero where that is beyond the range of floats."""
    whole = math.floor(exponent)
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(np.multiply(value, 2.0 ** (exponent - whole)), whole)


def check_objective(
    Y: Array, weights: Array | None, fit_intercept: bool, y_unit: float, power: int
) -> None:
    """Refuse targets whose weighted sum of norms, to a power, is not a float."""
    if y_unit == 1.0:
        return
    norms = row_norms(Y - np.average(Y, axis=0, weights=weights) if fit_intercept else Y)
    total = float(np.sum(norms**power if weights is None else weights * norms**power))
    size = float(shifted(total, power * math.log2(y_unit)))
    if total == 0.0 or _TINY <= size < np.inf:
        return
    what, do = ("large", "divide") if size == np.inf else ("small", "multiply")
    raise ValueError(
        f"y is too {what}: the objective is beyond the range of floats; {do} y by a power of ten."
    )
