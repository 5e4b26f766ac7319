"""Targets in as few columns as their rank, for losses that rotations of the targets leave alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array

_RANK_TOL = 1e-10


@dataclass
class Reduction:
    """Y = offset + Y_r basis', with as few columns in Y_r as its rank allows.

    Both norms are invariant to rotations, so W = W_r basis' solves the problem for Y whenever
    W_r solves it for Y_r. One-hot labels lose one column to the intercept; two classes become
    one target, hence a linear programme.
    """

    offset: Array
    basis: Array
    reduced: Array

    @classmethod
    def of(cls, Y: Array, fit_intercept: bool) -> Reduction:
        offset = Y.mean(axis=0) if fit_intercept else np.zeros(Y.shape[1])
        centred_Y = Y - offset
        if Y.shape[1] == 1:
            return cls(offset, np.eye(1), centred_Y)
        covariance = centred_Y.T @ centred_Y
        values, vectors = np.linalg.eigh(covariance)
        keep = values > _RANK_TOL * max(float(values[-1]), 1e-300)
        if keep.all() or not keep.any():
            return cls(offset, np.eye(Y.shape[1]), centred_Y)
        basis = vectors[:, keep]
        return cls(offset, basis, centred_Y @ basis)

    def expand(self, W: Array, b: Array, Theta: Array) -> tuple[Array, Array, Array]:
        """(W, b, Theta) of the reduced problem for the targets as given."""
        return W @ self.basis.T, b @ self.basis.T + self.offset, Theta @ self.basis.T
