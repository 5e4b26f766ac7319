"""Statistics of row blocks that add up: what many selectors need, without the rows."""

from rowsparse.moments.moments import Moments

__all__ = ["Moments"]
