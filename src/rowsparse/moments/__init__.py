"""Statistics of blocks of rows that add up, from which many selectors can be fitted."""

from rowsparse.moments.moments import Moments

__all__ = ["Moments"]
