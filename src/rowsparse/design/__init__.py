"""The operations that solvers of coefficients have on the data matrix X.

Such a solver takes a :class:`Design`, not the user's X. A design stands for

    Z = diag(r) (X - 1 m') diag(1/s)

with column offsets m, column scales s and row scales r applied on the fly: a sparse X stays
sparse, a float32 X stays float32, and an X on a GPU stays there. Products come back as float64
NumPy arrays, whatever kind of array holds X; only the methods named ``held_*`` leave their result
where X is. A new kind of array is one subclass of :class:`ImplicitDesign`.

The filters (``solvers/filters``) take the validated array itself: they count and compare the
values of single columns, which needs neither centring nor products.

If asked for, the values of each column of X are limited before all that (``design/build.py``).
"""

from rowsparse.design.build import ColumnScaling, make_design, power_of_two_unit
from rowsparse.design.dense import DenseDesign
from rowsparse.design.device import DeviceDesign
from rowsparse.design.protocol import (
    Design,
    ImplicitDesign,
    WithColumn,
    design_dtype,
    direction_key,
    machine_eps,
)
from rowsparse.design.sparse import SparseDesign

__all__ = [
    "ColumnScaling",
    "DenseDesign",
    "Design",
    "DeviceDesign",
    "ImplicitDesign",
    "SparseDesign",
    "WithColumn",
    "design_dtype",
    "direction_key",
    "machine_eps",
    "make_design",
    "power_of_two_unit",
]
