"""The types of arrays that functions speak of."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Floating point; the precision is that of the data.
Array: TypeAlias = NDArray[Any]
Index: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
