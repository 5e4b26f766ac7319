"""What the data prove with the squared loss, in plain NumPy.

With A = Z'Z + diag(c), B = Z'Y and T = ||Y||^2, a choice S has the objective

    f(S) = min_W T - 2 <B, W> + <W, A W>   over the W with rows in S.

For a diagonal matrix D with A - D positive semi-definite, and any W of all columns, the square
<V - W, (A - D)(V - W)> is not negative; with u = B - (A - D) W, for every V with rows in S

    T - 2 <B, V> + <V, A V>  >=  T - <W, (A - D) W> - 2 <u, V> + <V, D V>
                             >=  T - <W, (A - D) W> - sum_{j in S} ||u_j||^2 / D_j.

D = diag(c) is always possible. Computed products of columns and of targets are off by at most
``rounding`` times their norms: (n + c + 16) eps for a sum of n products in any order, and of those
of c targets, and the errors of both factors (``data.Scaled``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.certificate.data import EPS, Scaled, Table, centred_targets
from rowsparse.certificate.proof import does_not_hold
from rowsparse.certificate.step_choices import Choices, stacked

# Entries of the columns, or of pairs of them, that are tried together.
_BATCH_ENTRIES = 1 << 20
# Singular value of columns of unit norm from which on they count as independent.
_INDEPENDENT = 1e-12
# The most choices of a LAST step that are tried one by one.
_MOST_CLOSE = 1 << 10


class SquaredBounds:
    """Bounds from the data of a pool; ``shares`` are D as shares of the diagonal of A."""

    def __init__(self, table: Table, data: Scaled, pool: Index, shares: Array | None) -> None:
        self.Y, error, exponent = centred_targets(
            table.labels, data.share, centre=table.statement.fit_intercept
        )
        self.factor = data.trust, data.weight, data.exponent + 2 * exponent
        self.Z, self.c = data.Z[:, pool], data.penalty[pool]
        self.unit = np.ldexp(data.unit[pool], -exponent)
        (n, m), self.n_targets = self.Z.shape, self.Y.shape[1]
        self.total = _inner(self.Y, self.Y)
        self.root = float(np.sqrt(self.total))
        self.column_error = data.error + (error / self.root if error else 0.0)
        self.rounding = 2.0 * (n + self.n_targets + 16) * EPS + 2.0 * self.column_error
        self.B = self.Z.T @ self.Y
        # For a diagonal of a pool that is not much larger, too: memory is limited by the data's.
        self.gram = self.Z.T @ self.Z if m <= (n if shares is None else 2 * n) else None
        squares = np.einsum("ij,ij->j", self.Z, self.Z)
        self.norms = np.sqrt(squares + self.c)
        D = None if shares is None else self._admissible(shares)
        self.D, self.has_diagonal = self.c if D is None else D, D is not None

    def _admissible(self, shares: Array) -> Array | None:
        """D, if A - D is positive semi-definite; None if rounding is larger than D.

        Divided by the norms it has a diagonal of at most 1 and entries that are off by
        ``rounding``, so its eigenvalues are off by m times that; Cholesky's factors are exact for
        a matrix with entries that are off by (m + 2) eps. A D that passes only when it is lowered
        by twice that slack is lowered: whoever made it may have had less rounding to count.
        """
        m, gram = self.norms.size, self.gram
        if gram is None:
            raise does_not_hold("it has a diagonal with more than twice as many columns as samples")
        is_array = isinstance(shares, np.ndarray) and shares.dtype.kind == "f"
        if not is_array or shares.shape != (m,) or not np.all((shares > 0) & (shares <= 1)):
            raise does_not_hold("its diagonal is no share of that of the products")
        norms = np.where(self.norms > 0, self.norms, 1.0)
        P = gram / norms / norms[:, None]
        slack = m * (self.rounding + 4.0 * (m + 2) * EPS)
        for lowered in (shares, shares - 2.0 * slack):
            if not lowered.min() > 0:
                return None
            P.flat[:: m + 1] = 1.0 - lowered - slack
            if _factor(P) is not None:
                return np.asarray(lowered * self.norms**2)
        raise does_not_hold("its diagonal is too large")

    def bounds(self, at: Index, V: Array, choices: Choices) -> Iterator[tuple[float, Array]]:
        """Bounds of coefficients of the columns ``at`` over some choices, and their scores q.

        First the one above. With size = sum_j ||a_j|| ||w_j||, where ||a_j||^2 is the diagonal of
        A, each u_j is off by at most rounding (||Y|| + size) ||a_j||, and <W, (A - D) W> by
        rounding size^2. The last part of the margins is for the sums of q, and for screening, which
        adds a q to the value.
        """
        W = V * self.unit[at, None]
        moved = (self.c - self.D)[at, None] * W
        gram, Z = self.gram, self.Z
        products = Z.T @ (Z[:, at] @ W) if gram is None else gram[:, at] @ W
        u = self.B - products
        u[at] -= moved
        explained = _inner(W, products[at]) + _inner(W, moved)
        size = float(self.norms[at] @ np.linalg.norm(W, axis=1))
        rounding = self.rounding + 2.0 * EPS * at.size
        error = rounding * (self.root + size)
        margin = rounding * ((self.root + size) ** 2 + 8.0 * self.total)
        yield self._scored(self.total - explained - margin, u, error, choices)
        if not self.has_diagonal:
            yield self._of_residuals(self.Y - Z[:, at] @ W, choices)

    def _of_residuals(self, R: Array, choices: Choices) -> tuple[float, Array]:
        """The bound of any R, as computed: its rounding does not matter, but takes longer.

        For D = diag(c) and R = Y - ZW it is the same, without the error of W: as
        ||Y - ZV||^2 >= 2 <R, Y - ZV> - ||R||^2, f(S) is at least

            2 <R, Y> - ||R||^2 - sum_{j in S} ||z_j' R||^2 / c_j.
        """
        length = float(np.linalg.norm(R))
        margin = 8.0 * self.rounding * length * (length + self.root)
        value = 2.0 * _inner(R, self.Y) - _inner(R, R) - margin
        return self._scored(value, self.Z.T @ R, self.rounding * length, choices)

    def _scored(
        self, value: float, u: Array, error: float, choices: Choices
    ) -> tuple[float, Array]:
        """A value less the largest scores of vectors that are off by ``error`` times norms."""
        q = (np.linalg.norm(u, axis=1) + error * self.norms) ** 2 / self.D
        used = choices.largest(q) * (1.0 + self.rounding + 2.0 * EPS * choices.k)
        return float(value - used), q

    # ------------------------------------------------------------------------- the last columns
    def last(self, choices: Choices, enough: float) -> float:
        """The least objective with one or two more columns, or one group, of all ways.

        By Cholesky's method without pivoting. Whatever the scales of the columns, its result is
        exact for an A and a B with entries that are off by (k + 2) eps ||a_i|| ||a_j|| and
        (k + 2) eps ||a_j|| ||Y||. At the W of the true minimum the perturbed objective exceeds f(S)
        by at most r (||Y|| + z)^2 with z = sum_S ||a_j|| ||w_j||, and so does its minimum. Here
        z^2 <= T sum_S ||a_j||^2 / p_j for any p with sum_S p_j ||w_j||^2 <= T; as <W, A W> <= T,
        p = c and p = D are possible, and so is their mean.

        With hardly a ridge this margin is wide. So if the bound is less than ``enough``, the
        choices within the margin of the best one are tried one by one. Others are no better.
        """
        grouped, count, free = choices.groups is not None, choices.count, choices.allowed
        if count not in ((1,) if grouped else (1, 2)):
            raise does_not_hold("more than two columns, or one group, are left to choose")
        last = [choices.columns(unit) for unit in np.flatnonzero(free)[:, None]]
        C, F = choices.columns(choices.chosen), np.concatenate(last)
        A = self._products(C, C)
        A.flat[:: C.size + 1] += self.c[C]
        L = _factor(A)
        if L is None:
            return 0.0
        E, fitted = _forward(L, self._products(C, F)), _forward(L, self.B[C])
        B = self.B[F] - E.T @ fitted
        s = self.norms[F] ** 2 - np.einsum("ij,ij->j", E, E)
        if np.any(s <= 0):
            return 0.0
        sizes, (listed, kinds) = np.array([*map(len, last)]), choices.listed_rest

        def gains() -> Iterator[tuple[Index, Array]]:
            parts = (
                self._group_gains(F, E, B, s, sizes) if grouped else self._gains(F, E, B, s, count)
            )
            start = 0
            for first, gain in parts:
                end = start + len(gain)
                for way in (*listed, *listed[:, ::-1]):
                    rows = kinds[start:end] == way[0] if count == 2 else [True]
                    gain[np.ix_(rows, kinds == way[-1])] = -np.inf
                start = end
                yield first, gain

        best = max(float(gain.max()) for _, gain in gains())
        k, p = choices.k, (self.D + self.c) / 2.0
        spread = choices.largest(1.0 + self.norms**2 / p)
        error = 4.0 * (self.rounding + 8.0 * (k + 2) * EPS) * spread * self.total
        least = self.total - _inner(fitted, fitted) - best
        if least - error >= enough or best == np.inf:
            return least - error
        close: list[Index] = []
        for first, gain in gains():
            i, j = np.nonzero((gain >= best - error) & (gain > -np.inf))
            if len(close) + i.size > _MOST_CLOSE:
                return least - error
            close += [np.concatenate([C, first[a], last[b]]) for a, b in zip(i, j, strict=True)]
        return min(least, self._tried(stacked(close, self.batch(k))))

    def _gains(
        self, F: Index, E: Array, B: Array, s: Array, count: int
    ) -> Iterator[tuple[Index, Array]]:
        """What columns or pairs take off: first columns (if pairs), and rows of gains of the last.

        Of a pair, the second column does after the first is eliminated.
        """
        alone = np.einsum("jc,jc->j", B, B) / s
        if count == 1:
            yield np.zeros((1, 0), dtype=np.intp), alone[None]
            return
        step = max(1, _BATCH_ENTRIES // (F.size * max(B.shape[1], 1)))
        for start in range(0, F.size - 1, step):
            i = np.arange(start, min(start + step, F.size - 1))
            g = self._products(F[i], F) - E[:, i].T @ E
            share = g / s[i, None]
            rest = s - share * g
            residual = B - share[:, :, None] * B[i, None]
            pair = np.einsum("ijc,ijc->ij", residual, residual) / rest + alone[i, None]
            pair[~(rest > 0)] = np.inf
            pair[np.arange(F.size) <= i[:, None]] = -np.inf
            yield F[i, None], pair

    def _group_gains(
        self, F: Index, E: Array, B: Array, s: Array, sizes: Index
    ) -> Iterator[tuple[Index, Array]]:
        """The same for groups of columns F of these sizes."""
        gains, ends = np.full(sizes.size, np.inf), np.cumsum(sizes)
        for g, (end, size) in enumerate(zip(ends, sizes, strict=True)):
            at = slice(end - size, end)
            S = self._products(F[at], F[at]) - E[:, at].T @ E[:, at]
            S.flat[:: size + 1] = s[at]
            L = _factor(S)
            if L is not None:
                gains[g] = (_forward(L, B[at]) ** 2).sum()
        yield np.zeros((1, 0), dtype=np.intp), gains[None]

    def _products(self, one: Index, other: Index) -> Array:
        if self.gram is not None:
            return self.gram[np.ix_(one, other)]
        return self.Z[:, one].T @ self.Z[:, other]

    # ------------------------------------------------------------------------------ all choices
    def every(self, choices: Choices) -> float:
        """The least objective of all choices, each from its own columns."""
        if choices.k == 0:
            left = any(True for _ in choices.batches(1))
            return self.total * (1.0 - self.rounding) if left else np.inf
        return self._tried(choices.batches(self.batch(choices.k)))

    def batch(self, k: int) -> int:
        """How many choices of k columns are tried together."""
        return max(1, _BATCH_ENTRIES // ((self.Z.shape[0] + k) * k))

    def _tried(self, batches: Iterable[Index]) -> float:
        return min((float(self.fitted(S)[0].min()) for S in batches), default=np.inf)

    def fitted(self, sets: Index) -> tuple[Array, Array]:
        """What the objective of each set of columns is at least, and at most: squared distances.

        Below the columns are the roots of their penalties. Divided by their norms they are X, and
        s is their least singular value. With any W, the computed r = Y - X W differs from the
        exact one by ``error``; the squared distance of r from the columns is at least
        ||r||^2 - ||X'r||^2 / s^2, and that of Y differs from it by no more than r does.
        """
        (N, k), n = sets.shape, self.Z.shape[0]
        X = np.zeros((N, n + k, k))
        X[:, :n] = self.Z[:, sets].transpose(1, 0, 2)
        X[:, n + np.arange(k), np.arange(k)] = np.sqrt(self.c[sets])
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(float).tiny)
        Y = np.concatenate([self.Y, np.zeros((k, self.n_targets))])
        Q, R = np.linalg.qr(X)
        s = np.linalg.svd(R, compute_uv=False)[:, -1]
        rounding = 2.0 * (n + 2 * k + self.n_targets + 16) * EPS + 2.0 * self.column_error
        # Of X as it is, not as QR leaves it.
        s -= rounding * k + 8.0 * k * (n + k) * EPS
        sound = s > _INDEPENDENT
        R[~sound] = np.eye(k)
        W = np.linalg.solve(R, Q.transpose(0, 2, 1) @ Y)
        W[~sound] = 0.0
        r = Y - X @ W
        squares = np.einsum("sic,sic->sc", r, r).sum(axis=1)
        products = np.einsum("skc,skc->sc", *2 * [X.transpose(0, 2, 1) @ r]).sum(axis=1)
        slope = np.sqrt(products) * (1.0 + rounding) + rounding * np.sqrt(k * squares)
        reach = slope / np.where(sound, s, 1.0)
        error = rounding * (self.root + np.linalg.norm(W, axis=2).sum(axis=1))
        least = np.sqrt(np.maximum(squares * (1.0 - rounding) - reach**2, 0.0)) - error
        lower = np.where(sound, np.maximum(least, 0.0) ** 2, 0.0)
        return lower, (np.sqrt(squares * (1.0 + rounding)) + error) ** 2


def _inner(A: Array, B: Array) -> float:
    """<A, B>, first of each column."""
    return float(np.einsum("ij,ij->j", A, B).sum())


def _factor(P: Array) -> Array | None:
    """Cholesky's factor; None of a matrix that is not positive definite."""
    try:
        return np.linalg.cholesky(P)
    except np.linalg.LinAlgError:
        return None


def _forward(L: Array, M: Array) -> Array:
    """L^-1 M, row by row: a solver that exchanges rows would not keep the error of each small."""
    X = np.empty_like(M)
    for i, row in enumerate(L):
        X[i] = (M[i] - row[:i] @ X[:i]) / row[i]
    return X
