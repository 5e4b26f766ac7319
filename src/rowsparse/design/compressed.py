"""A design from products alone: a few rows that have the same products as all samples."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpstrf

from rowsparse._arrays import Array
from rowsparse.design.dense import DenseDesign

__all__ = ["compressed_design"]

# Directions of Y below this share of the largest are rounding.
_NO_TARGET = 1e-14
_EPS = float(np.finfo(np.float64).eps)


def compressed_design(
    gram: Array, cross: Array, targets: Array, rounding: float = 0.0
) -> tuple[DenseDesign, Array]:
    """A design Z and targets Y of at most d + c rows with Z'Z, Z'Y and Y'Y as given.

    Squared losses depend on nothing else, so that their solvers find in these rows what they
    would find in all samples. Y comes first: with Y'Y = V diag(l) V' and P = diag(l)^-1/2 V' Y'Z,

        Y = [ diag(l)^1/2 V' ]          Z = [ P ]          R'R = Z'Z - P'P
            [ 0              ]              [ R ]

    where R is a Cholesky factor with pivots, without the rows that are rounding.

    Parameters
    ----------
    gram : array of shape (d, d), in Fortran order
        Z'Z; only its upper triangle is used, and it is overwritten.
    cross : array of shape (d, c)
        Z'Y.
    targets : array of shape (c, c)
        Y'Y.
    rounding : float
        Bound on the error of these, relative to the lengths of the columns. The
        ``product_rounding`` of the design is that of its own products.

    Examples
    --------
    >>> X, Y = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), np.array([[1.0], [0.0], [2.0]])
    >>> design, small = compressed_design(np.asfortranarray(X.T @ X), X.T @ Y, Y.T @ Y)
    >>> np.allclose(design.gram(), X.T @ X), np.allclose(design.rmatmul(small), X.T @ Y)
    (True, True)
    """
    d, c = cross.shape
    norms = np.sqrt(np.maximum(np.diag(gram), 0.0))
    inverse = np.divide(1.0, norms, out=np.zeros(d), where=norms > 0)
    values, vectors = np.linalg.eigh(targets)
    kept = values > _NO_TARGET * max(float(values[-1]), np.finfo(np.float64).tiny)
    roots = np.sqrt(values[kept])
    # Of columns scaled to unit length, so that small ones are not taken for rounding.
    P = np.asfortranarray(((vectors[:, kept] / roots).T @ cross.T) * inverse)
    gram *= inverse[:, None]
    gram *= inverse
    if P.size:
        gram = dsyrk(-1.0, P, beta=1.0, c=gram, trans=1, overwrite_c=1)
    factor, pivots, rank, _ = dpstrf(gram, lower=0, overwrite_a=1)
    Z = np.zeros((roots.size + rank, d))
    Z[: roots.size] = P
    order = pivots - 1
    for i in range(rank):
        Z[roots.size + i, order[i:]] = factor[i, i:]
    Z *= norms
    Y = np.zeros((Z.shape[0], targets.shape[0]))
    Y[: roots.size] = roots[:, None] * vectors[:, kept].T
    design = DenseDesign(Z, mean=None, inv_scale=np.ones(d))
    # Dividing by the roots makes the errors of P larger in small directions of Y.
    spread = float(roots.max() / roots.min()) if roots.size else 1.0
    design.has_stored_columns = False
    design.product_rounding = (1.0 + spread) * (rounding + 4.0 * (d + c + 16) * _EPS)
    return design, Y
