"""What a solver on a dense block of columns returns, and where it can be resumed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rowsparse._arrays import Array, Mask


@dataclass
class BlockState:
    """Iterates of a splitting on a block: the sparse rows V and their multipliers Lambda.

    The residuals E, their multipliers Theta and the step rho are used by the l2,1 loss only.
    """

    V: Array
    Lambda: Array
    E: Array
    Theta: Array
    rho: float

    def moved_to(self, keep: Mask, entering: Array) -> BlockState:
        """The iterates for the kept columns, followed by new ones with multipliers given."""
        V = np.concatenate([self.V[keep], np.zeros_like(entering)])
        return replace(self, V=V, Lambda=np.concatenate([self.Lambda[keep], entering]))


@dataclass
class BlockFit:
    """A solution on a block of columns, with its best dual point.

    ``gap`` is the duality gap of the block; ``state`` resumes the iteration where it ended.
    """

    W: Array
    b: Array
    objective: float
    Theta: Array
    gap: float
    n_iter: int
    converged: bool
    state: BlockState | None = None
