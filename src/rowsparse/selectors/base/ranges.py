"""Parameters and results in the units of the data, and the ends of the range of floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rowsparse._arrays import Array
from rowsparse.rows import row_norms

_TINY = float(np.finfo(np.float64).tiny)
# A parameter beyond this, on data of an ordinary magnitude, leaves its solver no room.
_LARGEST = 1e302


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
