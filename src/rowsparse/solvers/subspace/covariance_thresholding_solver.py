"""Covariance thresholding (Krauthgamer, Nadler & Vilenchik 2015).

Small entries of C = Z'Z/n are noise: with these set to zero, the leading eigenvector of C is
sparse. C is computed in blocks of columns and only the entries that survive are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator

from rowsparse._arrays import Array, Index
from rowsparse.design import Design, machine_eps
from rowsparse.solvers.solution import scores_with_closeness
from rowsparse.solvers.subspace.subspace import (
    by_variance,
    leading_eigenvector,
    leading_spectrum,
    mean_variance,
)

# Numbers in one block of columns of Z, and in one block of C: 16 MB of float64.
_BLOCK_ENTRIES = 1 << 21
# Entries of an eigenvector below this are zero.
_ZERO = 1e-10


@dataclass
class ThresholdedCovariance:
    """Scores from the covariances above the threshold.

    ``scores`` rank all of them; ``n_pairs`` is the number of entries above the diagonal that
    survived and ``eigenvalue`` the largest one. Without a pair the scores are the variances'.
    """

    scores: Array
    n_pairs: int
    eigenvalue: float


def covariance_thresholding(
    design: Design, threshold: float, *, soft: bool
) -> ThresholdedCovariance:
    """Rank features by the leading eigenvectors of the thresholded covariance.

    Parameters
    ----------
    design : Design
        Centred.
    threshold : float
        Entries of at most this modulus become zero, on the diagonal too.
    soft : bool
        Instead threshold C less the mean variance on its diagonal, and shrink the entries that
        survive by the threshold.

    Notes
    -----
    An eigenvector lives on one connected component of the graph of survivors. The features of
    the component with the largest eigenvalue come first, then those of the next one, and so on;
    features outside of all eigenvectors follow by variance.
    """
    variances = design.column_norms() ** 2 / design.shape[0]
    values, vectors = leading_spectrum(design, 1)
    principal = vectors[:, 0]
    fallback = by_variance(variances, np.abs(principal), machine_eps(design))
    if threshold == 0.0 and not soft:
        n_pairs = variances.size * (variances.size - 1) // 2
        order = [np.argsort(-np.abs(principal), kind="stable")]
        return _ranked(principal, order, fallback, n_pairs, float(values[0]) / design.shape[0])
    upper = surviving(design, threshold, soft=soft)
    n_pairs = int(upper.nnz - np.count_nonzero(upper.diagonal()))
    if n_pairs == 0:
        return _ranked(np.zeros(variances.size), [], fallback, 0, float(upper.diagonal().max()))
    value, leading, order = _by_component(upper, fallback, machine_eps(design))
    return _ranked(leading, order, fallback, n_pairs, value)


def surviving(design: Design, threshold: float, *, soft: bool) -> sp.csr_array:
    """The upper triangle of the thresholded covariance, diagonal included."""
    n, d = design.shape
    identity = mean_variance(design) if soft else 0.0
    step = int(np.clip(_BLOCK_ENTRIES // max(n, 1), 1, np.sqrt(_BLOCK_ENTRIES)))
    rows = []
    for start in range(0, d, step):
        own = design.columns(np.arange(start, min(start + step, d)))
        blocks = []
        for other in range(start, d, step):
            columns = np.arange(other, min(other + step, d))
            same = other == start
            C = np.asarray(own.T @ (own if same else design.columns(columns)), dtype=np.float64) / n
            if same:
                C[np.diag_indices_from(C)] -= identity
                C = np.triu(C)
            kept = np.abs(C) > threshold
            values = C[kept] - (np.sign(C[kept]) * threshold if soft else 0.0)
            blocks.append(sp.coo_array((values, np.nonzero(kept)), shape=C.shape))
        rows.append(sp.hstack([sp.coo_array((blocks[0].shape[0], start)), *blocks], format="csr"))
    return sp.csr_array(sp.vstack(rows, format="csr"))


def _by_component(
    upper: sp.csr_array, fallback: Index, eps: float
) -> tuple[float, Array, list[Index]]:
    """The leading eigenpair, and the features that eigenvectors reach, component by component.

    Among equal eigenvalues the component comes first that has the first feature of the fallback.
    """
    diagonal = upper.diagonal()
    count, label = connected_components(upper, directed=False)
    size = np.bincount(label, minlength=count)
    # A feature without partners is its own component, and 1 its eigenvector.
    value = np.full(count, -np.inf)
    np.maximum.at(value, label, diagonal)
    v = (size[label] == 1).astype(np.float64)
    by_label = np.argsort(label, kind="stable")
    ends = np.cumsum(size)
    members = {c: by_label[ends[c] - size[c] : ends[c]] for c in np.flatnonzero(size > 1)}
    for c, features in members.items():
        value[c], v[features] = _leading(upper[features][:, features])
    # A single feature of eigenvalue 0 has no eigenvector to rank by.
    ranked = np.flatnonzero((size > 1) | (value > 0))
    place = np.full(count, fallback.size)
    np.minimum.at(place, label[fallback], np.arange(fallback.size))
    first, *others = ranked[by_variance(value[ranked], -place[ranked], eps)]
    order = []
    for c in (first, *others):
        features = members[c] if c in members else np.flatnonzero(label == c)
        features = features[np.abs(v[features]) > _ZERO]
        order.append(features[np.argsort(-np.abs(v[features]), kind="stable")])
    return float(value[first]), np.where(label == first, v, 0.0), order


def _leading(upper: sp.csr_array) -> tuple[float, Array]:
    diagonal = upper.diagonal()
    size = diagonal.size

    def apply(v: Array) -> Array:
        v = v.ravel()
        return np.asarray(upper @ v + upper.T @ v - diagonal * v)

    def dense() -> Array:
        half = upper.toarray()
        return np.asarray(half + half.T - np.diag(diagonal))

    operator = LinearOperator((size, size), matvec=apply, dtype=np.float64)
    return leading_eigenvector(operator, dense)


def _ranked(
    leading: Array, order: list[Index], fallback: Index, n_pairs: int, eigenvalue: float
) -> ThresholdedCovariance:
    """Scores that fall along the components, then along the fallback."""
    reached = np.concatenate([*order, np.empty(0, dtype=np.intp)]).astype(np.intp)
    missing = np.ones(fallback.size, dtype=bool)
    missing[reached] = False
    everything = np.concatenate([reached, fallback[missing[fallback]]])
    closeness = np.empty(fallback.size)
    closeness[everything] = np.arange(fallback.size, 0, -1) / fallback.size
    leading = np.where(np.abs(leading) > _ZERO, leading, 0.0)
    scores = scores_with_closeness(leading[:, None], closeness)
    return ThresholdedCovariance(scores, n_pairs, eigenvalue)
