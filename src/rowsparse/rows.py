"""Row-wise norms, projections and proximal operators.

Rows are features: ``W`` is d x c and ``w_j`` is its row j. Every function is pure, works on all
rows at once and keeps ``float32`` input in ``float32``. The functions named ``*_published`` do
what the papers print, errors included, and exist for comparison only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rowsparse._arrays import Array, Index

__all__ = [
    "huber_rows",
    "lpinf_penalty",
    "project_l20",
    "prox_dc",
    "prox_dc_published",
    "prox_lpinf",
    "prox_lpinf_published",
    "row_norms",
    "shrink",
    "shrink_ordinary",
    "tail_norm",
    "top_rows",
    "unit_ball_rows",
]

# Differences of objective values below this fraction of the value are ties.
_TIE = 4 * float(np.finfo(np.float64).eps)
# Thresholds of ordinary size: squared norms that overflow or underflow (in float32 too) belong
# to rows that such a threshold leaves unchanged or removes anyway.
_SMALL_T, _LARGE_T = 1e-15, 1e10


def _floating(A: npt.ArrayLike) -> Array:
    """Return ``A`` as a floating array, without a copy if it is one."""
    out = np.asarray(A)
    return out if out.dtype.kind == "f" else out.astype(np.float64)


def row_norms(A: npt.ArrayLike) -> Array:
    """Return the l2 norm of every row, in the dtype of ``A``.

    Squares that overflow or underflow are noticed, and those rows computed again safely.

    Examples
    --------
    >>> import numpy as np
    >>> row_norms(np.array([[3.0, 4.0], [0.0, 0.0], [3e200, 4e200]]))
    array([5.e+000, 0.e+000, 5.e+200])
    """
    A = _floating(A)
    norms: Array = np.einsum("ij,ij->i", A, A)
    info = np.finfo(A.dtype)
    # Squares are exact enough in [tiny/eps, max]; NaN fails both comparisons.
    suspect = np.flatnonzero(~((norms >= info.tiny / info.eps) & (norms <= info.max)))
    np.sqrt(norms, out=norms)
    if suspect.size:
        rows = A[suspect]
        if rows.any():  # else they are zero rows
            with np.errstate(over="ignore"):
                norms[suspect] = np.hypot.reduce(np.abs(rows), axis=1)
    return norms


def _shrink_by(A: Array, norms: Array, t: float | Array) -> Array:
    """Multiply every row by max(0, 1 - t/norm); ``norms`` are overwritten."""
    bound = np.maximum(norms, t, out=norms)
    bound[bound == 0] = 1
    return A * (1 - t / bound)[:, None]


def shrink(A: npt.ArrayLike, t: float | Array) -> Array:
    """Multiply every row by max(0, 1 - t/||row||): the prox of t*||W||_21.

    Parameters
    ----------
    A : array of shape (d, c)
    t : float or array of shape (d,)
        Threshold >= 0, one for all rows or one for each.

    Examples
    --------
    >>> import numpy as np
    >>> shrink(np.array([[3.0, 4.0], [0.6, 0.8], [0.0, 0.0]]), 2.5)
    array([[1.5, 2. ],
           [0. , 0. ],
           [0. , 0. ]])
    """
    A = _floating(A)
    if isinstance(t, np.ndarray) and t.ndim:
        return _shrink_by(A, row_norms(A), t.astype(A.dtype, copy=False))
    t = float(t)
    if not _SMALL_T < t < _LARGE_T:
        return A.copy() if t == 0 else _shrink_by(A, row_norms(A), t)
    return shrink_ordinary(A, t)


def shrink_ordinary(A: Array, t: float | Array) -> Array:
    """:func:`shrink` without checks, for thresholds of ordinary size, in inner loops."""
    factor: Array = np.einsum("ij,ij->i", A, A)
    np.sqrt(factor, out=factor)
    np.maximum(factor, t, out=factor)
    np.divide(t, factor, out=factor)
    np.subtract(1, factor, out=factor)
    return A * factor[:, None]


def unit_ball_rows(A: npt.ArrayLike) -> Array:
    """Project every row on the l2 unit ball (the operator Pi).

    Examples
    --------
    >>> import numpy as np
    >>> unit_ball_rows(np.array([[3.0, 4.0], [0.3, 0.4]]))
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """
    A = _floating(A)
    norms = row_norms(A)
    np.maximum(norms, 1, out=norms)
    return A / norms[:, None]


def huber_rows(norms: npt.ArrayLike, mu: float) -> Array:
    """Return h_mu of every row norm: r^2/(2 mu) if r <= mu, else r - mu/2.

    ``mu = 0`` gives the norms themselves. The error of the smoothing is between 0 and mu/2.

    Examples
    --------
    >>> import numpy as np
    >>> huber_rows(np.array([0.0, 1.0, 3.0]), 2.0)
    array([0.  , 0.25, 2.  ])
    """
    r = _floating(norms)
    mu = float(mu)
    if mu < 0:
        raise ValueError(f"mu must not be negative, got {mu}")
    if mu == 0:
        return r.copy()
    low = np.minimum(r, mu)
    return low / mu * (r - low / 2)


def top_rows(scores: npt.ArrayLike, k: int) -> Index:
    """Return the indices of the ``k`` largest scores, the largest first.

    Ties go to the lowest index; ``k >= d`` gives all indices.

    Examples
    --------
    >>> import numpy as np
    >>> top_rows(np.array([1.0, 5.0, 2.0, 5.0, 2.0]), 3)
    array([1, 3, 2])
    """
    if k < 0:
        raise ValueError(f"k must not be negative, got {k}")
    s = _floating(scores)
    d = s.shape[0]
    if k == 0:
        return np.empty(0, dtype=np.intp)
    if k < d:
        kth = np.partition(s, d - k)[d - k]
        above = np.flatnonzero(s > kth)
        level = np.flatnonzero(s == kth)[: k - above.size]
        chosen: Index = np.concatenate([above, level])
    else:
        chosen = np.arange(d, dtype=np.intp)
    return chosen[np.argsort(-s[chosen], kind="stable")]


def tail_norm(W: npt.ArrayLike, k: int) -> float:
    """Return H_K(W) = ||W||_21 - ||W||_{K,21}, the sum of the d - k smallest row norms.

    Examples
    --------
    >>> import numpy as np
    >>> tail_norm(np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]]), 1)
    3.0
    """
    if k < 0:
        raise ValueError(f"k must not be negative, got {k}")
    norms = row_norms(W)
    rest = norms.shape[0] - k
    if rest <= 0:
        return 0.0
    return float(norms.sum() if k == 0 else np.partition(norms, rest)[:rest].sum())


def project_l20(P: npt.ArrayLike, k: int) -> Array:
    """The projection on ||W||_20 <= k: the k rows of the largest norms, ties to the lowest index.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.6, 0.6, 0.6], [1.1, 0.2, 0.2]])
    >>> project_l20(P, 1)
    array([[0. , 0. , 0. ],
           [1.1, 0.2, 0.2]])
    """
    P = _floating(P)
    kept = top_rows(row_norms(P), k)
    V = np.zeros_like(P)
    V[kept] = P[kept]
    return V


def prox_dc(U: npt.ArrayLike, k: int, inner: float, outer: float) -> Array:
    """Return the prox of inner*||W||_21 + (outer - inner)*H_K(W).

    The ``k`` rows of largest norm get ``shrink(., inner)``, the others ``shrink(., outer)``,
    0 <= inner <= outer. Exact: H_K is a minimum over the sets S of k rows, the rows separate once
    S is fixed, and a row outside S costs huber_outer - huber_inner more, increasing in its norm.

    Examples
    --------
    >>> import numpy as np
    >>> prox_dc(np.array([[2.0], [0.3]]), 1, 0.0, 1.0)
    array([[2.],
           [0.]])
    """
    if not 0 <= inner <= outer:
        raise ValueError(f"0 <= inner <= outer is needed, got {inner} and {outer}")
    U = _floating(U)
    norms = row_norms(U)
    t = np.full_like(norms, outer)
    t[top_rows(norms, k)] = inner
    return _shrink_by(U, norms, t)


def prox_dc_published(U: npt.ArrayLike, k: int, alpha: float) -> Array:
    """Return the prox of alpha*H_K as printed by An et al. (2021): no positive part.

    Rows outside the top ``k`` are multiplied by 1 - alpha/||u||, which turns the short ones
    round. A zero row stays zero. Use `prox_dc` with ``inner=0`` instead.
    """
    U = _floating(U)
    norms = row_norms(U)
    t = np.full_like(norms, alpha)
    t[norms == 0] = 0
    t[top_rows(norms, k)] = 0
    norms[norms == 0] = 1
    return U * (1 - t / norms)[:, None]


def lpinf_penalty(W: npt.ArrayLike, p: float) -> float:
    """Return sum_j (max_k |w_jk|)^p; ``p = 0`` counts the nonzero rows.

    Examples
    --------
    >>> import numpy as np
    >>> W = np.array([[1.0, -4.0], [0.0, 0.0], [9.0, 2.0]])
    >>> lpinf_penalty(W, 0.5), lpinf_penalty(W, 0)
    (5.0, 2.0)
    """
    _check_p(p)
    peak = np.abs(_floating(W)).max(axis=1, initial=0)
    return float(np.count_nonzero(peak)) if p == 0 else float((peak**p).sum())


def _check_p(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"p must be between 0 and 1, got {p}")


def prox_lpinf(A: npt.ArrayLike, t: float | Array, p: float) -> Array:
    """Return the global minimiser of 1/2||W - A||_F^2 + t * sum_j (max_k |w_jk|)^p.

    With b = |a| a row of the answer is sign(a_i) min(b_i, s), where s in [0, b_1] minimises
    phi(s) = 1/2 sum_i (b_i - s)_+^2 + t s^p. For p < 1 phi may have several local minima: all
    of them are computed and compared with s = 0, and a tie goes to 0.

    Parameters
    ----------
    A : array of shape (d, c)
    t : float or array of shape (d,)
        Weight >= 0, one for all rows or one for each; 0 returns the row.
    p : float
        0 <= p <= 1. With ``p = 0`` the penalty counts the nonzero rows.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[3.0, -1.0], [1.0, 1.0]])
    >>> prox_lpinf(A, 2.0, 1.0)
    array([[ 1., -1.],
           [ 0.,  0.]])
    """
    _check_p(p)
    A = _floating(A)
    if np.any(np.less(t, 0)):
        raise ValueError(f"t must not be negative, got {np.min(t)}")
    b = np.abs(A.T).astype(np.float64, order="C")  # c x d: reductions over c are fast
    peak: Array = b.max(axis=0, initial=0)
    scale = np.where(peak > 0, peak, 1.0)
    # Divide the row by its peak: phi(s) = peak^2 phi'(s/peak) with t' = t peak^(p-2).
    with np.errstate(all="ignore"):  # t' = inf removes the row, t' = 0 keeps it
        weight: Array = np.asarray(t, dtype=np.float64) * scale ** (p - 1) / scale
        mass: Array = b.sum(axis=0) / scale
    # phi(s) - phi(0) >= s^p (t' - s^(1-p) (mass - s/2)); the bracket is least at s = worst.
    worst = np.minimum(1, (2 - 2 * p) / (2 - p) * mass)
    removed = worst ** (1 - p) * (mass - worst / 2) <= weight * (1 + _TIE)
    kept = ~(weight > 1e-17)  # the change would be below the rounding of the row
    level = np.where(kept & ~removed, 1.0, 0.0)
    live = np.flatnonzero(~kept & ~removed)
    if live.size:
        u = np.sort(np.abs(A[live]).astype(np.float64) / scale[live, None], axis=1)
        level[live] = _levels(np.ascontiguousarray(u.T[::-1]), weight[live], p)
    cap = (level * peak).astype(A.dtype)[:, None]
    return np.clip(A, 0 - cap, cap)


def _levels(b: Array, t: Array, p: float) -> Array:
    """Return argmin phi for every column of ``b`` (c x m, decreasing, b_1 = 1)."""
    k = np.arange(1.0, b.shape[0] + 1)[:, None]
    S = np.cumsum(b, axis=0)
    if p == 0:  # all or nothing
        return np.where(np.einsum("ij,ij->j", b, b) / 2 > t * (1 + _TIE), 1.0, 0.0)
    if p == 1:  # sum_i (b_i - s)_+ = t, that is s = max_k (S_k - t)/k
        rise: Array = ((S - t) / k).max(axis=0)
        return np.maximum(rise, 0)
    # On [b_{k+1}, b_k]: g_k(s) = k s - S_k + t p s^(p-1), convex, least at tau_k with
    # g_k(tau_k) = k tau_k (2-p)/(1-p) - S_k.
    tau = (t * (p * (1 - p))) ** (1 / (2 - p)) * k ** (-1 / (2 - p))
    mask = (b >= tau) & (b > 0) & (k * tau * ((2 - p) / (1 - p)) <= S)
    # g[k] = g_k(b_k) = g_{k-1}(b_k); where not computed, it is positive or not needed.
    g = np.full((b.shape[0] + 1, b.shape[1]), np.inf)
    piece, row = np.nonzero(mask)
    b_k = b[piece, row]
    g[piece, row] = (piece + 1) * b_k - S[piece, row] + t[row] * p * b_k ** (p - 1)
    b_next = np.concatenate([b[1:], np.zeros_like(b[:1])])
    mask &= (g[:-1] >= 0) & ((b_next <= tau) | (g[1:] <= 0))
    piece, row = np.nonzero(mask)
    n, S_k, t_k = (piece + 1).astype(np.float64), S[piece, row], t[row]
    s = _larger_root(n, S_k, t_k, p, np.maximum(b_next, tau)[piece, row], b[piece, row])
    # psi = phi(s) - phi(0) = k s^2/2 - s S_k - 1/2 sum_{i>k} b_i^2 + t s^p
    squares = np.cumsum(b * b, axis=0)
    tail = squares[-1, row] - squares[piece, row]
    psi = s * (n * s / 2 - S_k) - tail / 2 + t_k * s**p
    best = -_TIE * squares[-1]  # 0 wins ties
    np.minimum.at(best, row, psi)
    won = psi == best[row]
    level = np.zeros(b.shape[1])
    level[row[won]] = s[won]
    return level


def _larger_root(k: Array, S: Array, t: Array, p: float, lo: Array, hi: Array) -> Array:
    """Solve g_k(s) = 0 in [lo, hi] by Newton from hi, monotone as g_k is convex there."""
    s = hi
    for _ in range(100):
        bend = t * p * s ** (p - 1)
        slope = k - (1 - p) * bend / s
        step = np.maximum(k * s - S + bend, 0) / np.maximum(slope, 1e-200)
        new = np.maximum(s - step, lo)
        if np.all(s - new <= _TIE * s):
            return new
        s = new
    return s


def prox_lpinf_published(A: npt.ArrayLike, t: float, p: float) -> Array:
    """Return the prox of `prox_lpinf` as printed by Kong and Ding (2014).

    Linear search for k from c down, 20 Newton steps from (S_k - t)/k for g_k(s) = 0, first k
    with s <= b_k taken: its k largest entries become s, whatever s is, and the others are left
    (line 7 of Algorithm 1). There is no clipping at 0 and no comparison with 0 nor with the
    other pieces: it returns negative levels, NaN and local optima; use `prox_lpinf` instead.
    """
    _check_p(p)
    A = _floating(A)
    b = np.abs(A).astype(np.float64)
    order = np.argsort(-b, axis=1, kind="stable")
    b = np.take_along_axis(b, order, axis=1)
    S = np.cumsum(b, axis=1)
    level, size = np.zeros(A.shape[0]), np.ones(A.shape[0], dtype=np.intp)
    searching = np.arange(A.shape[0])
    with np.errstate(all="ignore"):
        for k in range(A.shape[1], 0, -1):
            S_k = S[searching, k - 1]
            s = (S_k - t) / k
            for step in range(20 if p < 1 else 0):
                bend = t * p * s ** (p - 1)
                last, s = s, s - (k * s - S_k + bend) / (k + (p - 1) * bend / s)
                if step % 5 == 4 and np.all((s == last) | np.isnan(s)):  # no step changes more
                    break
            level[searching], size[searching] = s, k
            searching = searching[s > b[searching, k - 1]]
        largest = np.arange(A.shape[1]) < size[:, None]
        W: Array = np.empty_like(b)
        np.put_along_axis(W, order, np.where(largest, level[:, None], b), axis=1)
        W *= np.sign(A)
    return W.astype(A.dtype, copy=False)
