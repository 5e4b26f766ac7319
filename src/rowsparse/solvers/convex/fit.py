"""Records of the convex solvers on a dense block of columns: problem, state to resume, result."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rowsparse._arrays import Array, Mask


@dataclass(frozen=True)
class JointProblem:
    """sum_i omega_i ||y_i - z_i W - b||_2 + gamma sum_j ||w_j||_2 on a block of columns.

    Attributes
    ----------
    Z, Y : arrays of shape (n, m) and (n, c)
        The columns and the targets.
    gamma : float
        Penalty of the row norms of W.
    omega : array of shape (n,)
        Positive weights of the samples.
    fit_intercept : bool
        Whether b is free (and unpenalised) or zero.
    tol : float
        Relative duality gap to reach.
    """

    Z: Array
    Y: Array
    gamma: float
    omega: Array
    fit_intercept: bool
    tol: float

    def centred(self, A: Array) -> Array:
        """A less its column means if there is an intercept, else A itself."""
        return A - A.mean(axis=0) if self.fit_intercept else A

    def intercept(self, b: Array, W: Array) -> Array:
        """The intercept for Z, from that for centred columns."""
        return b - self.Z.mean(axis=0) @ W if self.fit_intercept else b


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
