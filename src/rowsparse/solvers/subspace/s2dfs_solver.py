"""S2DFS: a discriminative subspace of few features (Wang et al. 2020).

    max tr(W' S_b W) / tr(W' S_w W)   over W'W = I_m with at most k non-zero rows

S_b and S_w are the scatter matrices between and within classes. With Q = Y diag(n_j^-1/2) they
are S_b = Z'QQ'Z and S_w = Z'Z - S_b, so that S_b - lam S_w = Z'TZ with T = (1 + lam)QQ' - lam I.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from rowsparse._arrays import Array, Index
from rowsparse.design import DenseDesign, Design, machine_eps
from rowsparse.rows import top_rows
from rowsparse.solvers.solution import Monitor, Solution, silent
from rowsparse.solvers.subspace.subspace import (
    improved_rows,
    matrix_from_rows,
    same_set,
    subspace_solution,
    with_fixed_signs,
)

# Rounds of the inner step for one value of lam, as the authors run it.
_INNER_ROUNDS = 30
# Limit on the rounds of the choice of features that a start is made of; a handful is enough.
_FEATURE_ROUNDS = 100
# Up to this size the least eigenvalue comes from a dense matrix.
_DENSE_SIZE = 300


@dataclass
class ClassScatter:
    """The scatter between and within classes of a centred design.

    ``Q`` holds the class indicators, each of unit length; ``between`` and ``within`` are the
    diagonals of the two matrices.
    """

    design: Design
    Q: Array
    between: Array
    within: Array
    floor: float

    @classmethod
    def from_classes(cls, design: Design, Y: Array) -> ClassScatter:
        """From the one-hot classes Y."""
        Q = Y / np.sqrt(Y.sum(axis=0))
        total = design.column_norms() ** 2
        between = np.minimum((design.rmatmul(Q) ** 2).sum(axis=1), total)
        within = total - between
        # If the classes explain a column, the rest of its scatter is rounding error.
        within[within <= 1e3 * machine_eps(design) * total] = 0.0
        scale = within.sum() or total.sum()
        return cls(design, Q, between, within, 1e-12 * float(scale) / total.size)

    def ratio_of(self, rows: Index) -> float:
        """The ratio of the coordinate subspace of these features."""
        return self._ratio(float(self.between[rows].sum()), float(self.within[rows].sum()))

    def ratio(self, W: Array, rows: Index | None = None) -> float:
        """tr(W' S_b W) / tr(W' S_w W)."""
        ZW = self.design.matmul(W) if rows is None else self.design.columns(rows) @ W[rows]
        between = float(np.sum((self.Q.T @ ZW) ** 2))
        return self._ratio(between, float(np.sum(ZW**2)) - between)

    def _ratio(self, between: float, within: float) -> float:
        return between / max(within, self.floor)

    def middle(self, lam: float, ZW: Array) -> Array:
        """T ZW."""
        return (1.0 + lam) * (self.Q @ (self.Q.T @ ZW)) - lam * ZW


def trace_ratio_features(
    scatter: ClassScatter, k: int, *, max_iter: int
) -> tuple[Index, list[float], bool]:
    """The k features of largest sum S_b / sum S_w: the global maximum for m = k.

    By lam <- ratio of the k largest S_b - lam S_w, which rises to the maximum (Nie et al. 2008).
    """
    varies = scatter.design.column_norms() > 0
    history: list[float] = []
    rows, lam = np.empty(0, dtype=np.intp), 0.0
    for _ in range(max_iter):
        margin = scatter.between - lam * scatter.within
        new = top_rows(np.where(varies, margin, -np.inf), k)
        value = scatter.ratio_of(new)
        if history and value <= history[-1]:
            return rows, history, True
        rows, lam = new, value
        history.append(value)
    return rows, history, False


def trace_ratio_exact(
    design: Design, Y: Array, k: int, *, max_iter: int, monitor: Monitor = silent
) -> Solution:
    """Solve the problem with m = k components, where W only says which features are chosen.

    Parameters
    ----------
    design : Design
        Centred.
    Y : array of shape (n, c)
        One-hot classes.
    k : int
        Number of features and of components.
    max_iter : int
        Limit on the rounds; a handful is enough.
    monitor : Monitor
        Told of the ratio once.

    Returns
    -------
    Solution
        W holds the unit vectors of the chosen features.
    """
    scatter = ClassScatter.from_classes(design, Y)
    rows, history, converged = trace_ratio_features(scatter, k, max_iter=max_iter)
    monitor(history[-1])
    rows = np.sort(rows)
    W = matrix_from_rows(rows, np.eye(k), design.shape[1])
    margin = scatter.between - history[-1] * scatter.within
    return subspace_solution(W, rows, history, margin - margin.min(), len(history), converged)


def trace_ratio(
    design: Design,
    Y: Array,
    k: int,
    *,
    start: Array,
    max_iter: int,
    tol: float,
    monitor: Monitor = silent,
) -> Solution:
    """Raise the ratio as published: A = S_b - lam S_w, shifted, and its inner step.

    Parameters
    ----------
    design : Design
        Centred.
    Y : array of shape (n, c)
        One-hot classes.
    k : int
        Number of features.
    start : array of shape (d, m)
        For m <= k components, with orthonormal columns; see :func:`random_start` and
        :func:`start_at_features`.
    max_iter, tol : int, float
        Limit on the values of lam, and the relative change at which it stops.
    monitor : Monitor
        Told of the ratio after each round.

    Returns
    -------
    Solution
        The ratio never falls from the first round on: its start is not sparse.
    """
    d = design.shape[1]
    scatter, spectrum, b = _reduced(ClassScatter.from_classes(design, Y))
    W, rows, p = start, None, np.zeros(d)
    lam, converged = scatter.ratio(W), False
    history: list[float] = []
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        shift = max(0.0, -_least_eigenvalue(spectrum, b, lam))
        W, rows, p = _inner(scatter, W, rows, k, lam, shift)
        new = scatter.ratio(W, rows)
        converged = bool(history) and abs(new - lam) <= tol * abs(lam)
        lam = new
        history.append(lam)
        if converged or monitor(lam):
            break
    assert rows is not None
    W = with_fixed_signs(W)
    return subspace_solution(W, rows, history, np.maximum(p, 0.0), n_iter, converged)


def random_start(d: int, m: int, rng: np.random.Generator) -> Array:
    """An orthonormal basis (d x m) of the columns of a matrix of uniform numbers."""
    return np.asarray(np.linalg.qr(rng.random((d, m)))[0])


def start_at_features(design: Design, Y: Array, k: int, m: int) -> Array:
    """A start at the exact choice for m = k: the m best directions among these features."""
    scatter = ClassScatter.from_classes(design, Y)
    rows, history, _ = trace_ratio_features(scatter, k, max_iter=_FEATURE_ROUNDS)
    block = design.columns(rows).astype(np.float64, copy=False)
    A = block.T @ scatter.middle(history[-1], block)
    vectors = eigh((A + A.T) / 2.0, subset_by_index=(k - m, k - 1))[1]
    return matrix_from_rows(rows, vectors[:, ::-1], design.shape[1])


def _inner(
    scatter: ClassScatter, W: Array, rows: Index | None, k: int, lam: float, shift: float
) -> tuple[Array, Index, Array]:
    """Raise tr(W'AW) for A = S_b - lam S_w + shift I, until the rows stay the same."""
    value = -np.inf
    for _ in range(_INNER_ROUNDS):
        G, p, new = improved_rows(
            scatter.design,
            W,
            k,
            middle=lambda ZW: scatter.middle(lam, ZW),
            shift=shift,
            rows=rows,
        )
        last, value = value, float(np.sum(W * G))
        stays = rows is not None and same_set(rows, new)
        if stays and value - last <= 1e-14 * abs(value):
            break
        # A singular G_I is completed by the SVD to an orthonormal basis.
        rows = np.sort(new)
        W = matrix_from_rows(rows, np.linalg.svd(G[rows], full_matrices=False)[0], W.shape[0])
    assert rows is not None
    return W, rows, p


def _reduced(scatter: ClassScatter) -> tuple[ClassScatter, Array, Array]:
    """The same problem with at most d samples; Z'Z and S_b in the eigenvectors of Z'Z.

    These are diag(spectrum) and bb', of size min(n, d). Only Z'Z and S_b matter, and with
    Z'Z = V diag(s^2) V' the rows of diag(s) V' have them as well as those of Z.
    """
    n, d = scatter.design.shape
    if n <= d:
        values, vectors = eigh(scatter.design.outer(np.ones(d)))
        values = np.maximum(values, 0.0)
        return scatter, values, np.sqrt(values)[:, None] * (vectors.T @ scatter.Q)
    values, vectors = eigh(scatter.design.gram())
    kept = values > values[-1] * n * machine_eps(scatter.design)
    values, vectors = values[kept], vectors[:, kept]
    root = np.sqrt(values)[:, None]
    b = vectors.T @ scatter.design.rmatmul(scatter.Q)
    varies = (scatter.design.column_norms() > 0).astype(np.float64)
    design = DenseDesign(root * vectors.T, mean=None, inv_scale=varies)
    return replace(scatter, design=design, Q=b / root), values, b


def _least_eigenvalue(spectrum: Array, b: Array, lam: float) -> float:
    """The least eigenvalue of S_b - lam S_w, from slightly below."""
    size = spectrum.size
    if size <= _DENSE_SIZE:
        A = (1.0 + lam) * (b @ b.T) - lam * np.diag(spectrum)
        return float(eigh(A, eigvals_only=True, subset_by_index=(0, 0))[0])

    def apply(v: Array) -> Array:
        v = v.ravel()
        return (1.0 + lam) * (b @ (b.T @ v)) - lam * spectrum * v

    operator = LinearOperator((size, size), matvec=apply, dtype=np.float64)
    # A fixed, generic start: the answer must not depend on a global random state.
    start = np.random.default_rng(0).standard_normal(size)
    least = eigsh(operator, k=1, which="SA", v0=start, tol=1e-8, return_eigenvectors=False)[0]
    return float(least) * (1 + 1e-6 * np.sign(-least))
