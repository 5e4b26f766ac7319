"""The candidates of a proof for the squared loss, by the products of their columns.

The problem is to choose S, k features, such that

    f(S) = min_W ||Y - XW||_F^2 + ridge ||W||_F^2   with w_j = 0 outside S

is least. For any W (its rows may all be non-zero), with u = X'(Y - XW) and q_j = ||u_j||^2/ridge,

    L(W) = ||Y||^2 - ||XW||^2 - (sum of the k largest q_j) <= f(S)   for every S.

In terms of the dual point a = Y - XW this is 2<a,Y> - ||a||^2 - (sum of the k largest q_j). Where
groups are chosen, the q of a group is the sum of those of its columns.

A larger ridge gives a tighter bound. Where X'X is positive definite (n > d), part of it can be
moved to the ridge: for a diagonal matrix D <= X'X + ridge I, the problem is the same with
X'X + ridge I - D instead of X'X and D_j instead of the ridge for feature j
(:mod:`rowsparse.solvers.proof.diagonal`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from rowsparse._arrays import Array, Index, Mask
from rowsparse._deadline import Deadline
from rowsparse._threads import one_blas_thread
from rowsparse.certificate.proof import Dual, Kind
from rowsparse.design import Design, design_dtype
from rowsparse.rows import row_norms
from rowsparse.solvers.choices import Choices, largest
from rowsparse.solvers.losses.squared import SquaredLoss, least_squares_objective
from rowsparse.solvers.problem import Listing
from rowsparse.solvers.proof.candidates import Completion, DualBound, Ways, listed
from rowsparse.solvers.proof.diagonal import best_diagonal, nodes_before_climbing, uniform_diagonal
from rowsparse.solvers.proof.exhaustive import enumerate_choices, few_choices
from rowsparse.solvers.proof.relaxation import GramPoint, GramRelaxation, Guess

# Entries of X that are held as float64 at a time.
_BLOCK_ENTRIES = 1 << 24
# The whole Gram matrix is kept for at most this many candidates (240 MB), and at most this many
# per sample: with more of them, products with the columns themselves are cheaper.
_MAX_GRAM, _MAX_GRAM_PER_SAMPLE = 5500, 4
# With two features left to choose and no more candidates than _MAX_PAIRED, all pairs are tried;
# with no more than _FEW_PAIRED, before any relaxation, because that takes less time.
_MAX_PAIRED, _FEW_PAIRED = 1200, 400
# With two features left to choose, pairs that are fewer than those that a better bound would leave
# take as long to try as its computation.
_CHEAP_PAIRS = 1 << 16
# Candidates whose pairs are scored at a time, at least and at most, and the pairs: few enough for
# the processor's cache.
_LEAST_CHUNK, _CHUNK, _CHUNK_ENTRIES = 8, 64, 1 << 14
# Products with that many vectors are computed one by one.
_FEW_COLUMNS = 4
# Entries of the columns of groups, and of their products, that are eliminated together.
_GROUP_ENTRIES = 1 << 22
_EPS = float(np.finfo(np.float64).eps)
# Directions of the targets that are shorter than this share of the longest are left out.
_NO_TARGET = 64 * _EPS


class GramCandidates:
    """The units that may still be chosen, by the products of their columns with one another and Y.

    Parameters
    ----------
    loss : SquaredLoss
        Of a centred design; None where it is no longer needed.
    choices : Choices
        Which sets of the candidates may be chosen.
    names, features : arrays of int
        The candidates as units of the problem, and their columns as columns of the design.
    B : array of shape (m, c)
        x_j' Y for the columns.
    norms : array of shape (m,)
        ||x_j||, to which the rounding errors of products are proportional.
    diagonal : array of shape (m,)
        The diagonal of their Gram matrix.
    total : float
        ||Y||^2.
    ridge : float
        Not negative.
    rounding : float
        Bound on the relative error of an inner product of two columns.
    scale : array of shape (m,), optional
        Factors of the columns; coefficients are multiplied by them, too. Default: ones.
    penalty : array of shape (m,), optional
        p_j with sum_j p_j ||w_j||^2 <= ||Y||^2 at the W of any choice. Default: the ridge.
    gram : array of shape (m, m), optional
        X'X of the candidates, if it was computed before.
    columns : array of shape (n, m), optional
        Their columns in float64, if they were computed before.
    axes : array of shape (c of the loss, c), optional
        The targets here are those of the loss in the coordinates of these axes. Default: the same.
    """

    def __init__(
        self,
        loss: SquaredLoss,
        choices: Choices,
        names: Index,
        features: Index,
        B: Array,
        norms: Array,
        diagonal: Array,
        total: float,
        ridge: float,
        rounding: float,
        scale: Array | None = None,
        penalty: Array | None = None,
        gram: Array | None = None,
        columns: Array | None = None,
        axes: Array | None = None,
    ) -> None:
        self.loss, self.choices, self.names, self.features = loss, choices, names, features
        self.B, self.norms, self.diagonal = B, norms, diagonal
        self.total, self.ridge, self.rounding = total, ridge, rounding
        self.scale = np.ones(features.size) if scale is None else scale
        self.penalty = np.full(features.size, ridge) if penalty is None else penalty
        n, m = (loss.design if columns is None else columns).shape[0], features.size
        self.n_samples = n
        if gram is None and m <= min(_MAX_GRAM, _MAX_GRAM_PER_SAMPLE * n):
            gram = _gram(loss.design, features) if columns is None else columns.T @ columns
        self._gram, self._columns = gram, columns if gram is None else None
        self._axes = np.eye(B.shape[1]) if axes is None else axes
        self._solve_error: float | None = None
        # With a diagonal D in place of the ridge: D, and the problem with the ridge itself.
        self._D: Array | None = None
        self._plain: GramCandidates | None = None

    @classmethod
    def from_loss(cls, loss: SquaredLoss, ridge: float, choices: Choices) -> GramCandidates:
        """The units of a problem that are not barred."""
        names = np.setdiff1d(np.arange(choices.n_units), choices.barred)
        features, design, n = choices.columns(names), loss.design, loss.design.shape[0]
        Y, axes, left_out = _in_own_axes(loss.Y)
        # The error of a sum of n products, of the means and scales that are sums of n terms too,
        # and of the few operations on each entry.
        rounding = (n + Y.shape[1] + 16) * 2.0 * _EPS + design.bound_rounding + left_out
        columns = None
        if n * features.size <= _BLOCK_ENTRIES:
            # Column by column: nodes take a few of them at a time.
            columns = np.asfortranarray(design.double_columns(features))
            B, squares = columns.T @ Y, np.einsum("ij,ij->j", columns, columns)
        else:
            B, squares = _products(design, features, Y)
        total, norms = float(np.vdot(Y, Y)), np.sqrt(squares)
        own = choices.among(names)
        return cls(
            *(loss, own, names, features, B, norms, squares, total, ridge, rounding),
            columns=columns,
            axes=axes,
        )

    def with_uniform_diagonal(self) -> GramCandidates:
        """The same problem with a multiple of I in place of the ridge, if that is larger."""
        with one_blas_thread():
            D = uniform_diagonal(self)
        return self if D is None else self.with_diagonal(D)

    def __len__(self) -> int:
        return int(self.names.size)

    @property
    def has_bounds(self) -> bool:
        """Whether there is a ridge or a diagonal in its place."""
        return self.ridge > 0

    @property
    def patience(self) -> float:
        """The number of nodes after which a better diagonal is worth its time."""
        return nodes_before_climbing(self._with_ridge)

    @property
    def shares(self) -> Array | None:
        """D as shares of the diagonal of X'X + ridge I, in the order of the design's columns."""
        if self._D is None:
            return None
        shares = self._D / (self._with_ridge.norms**2 + self._with_ridge.ridge)
        return np.asarray(shares[np.argsort(self.features)])

    @property
    def nbytes(self) -> int:
        """Memory for what was computed from the columns."""
        kept = self._gram if self._gram is not None else self._columns
        return self.B.nbytes + (0 if kept is None else int(kept.nbytes))

    def __getstate__(self) -> dict[str, Any]:
        """The state without the design, where that is no longer needed."""
        state = vars(self) | {"_D": None, "_plain": None}
        if self._gram is not None or self._columns is not None:
            state["loss"] = None
        return state

    @property
    def gram(self) -> Array | None:
        """X'X of all candidates, if it is kept."""
        return self._gram

    def with_diagonal(self, D: Array) -> GramCandidates:
        """The same problem with X'X + ridge I - D for X'X and D for ridge I, in units of 1/sqrt(D).

        D is positive, X'X + ridge I - D positive semi-definite, and the Gram matrix is known.
        """
        assert self._gram is not None
        scale = 1.0 / np.sqrt(D)
        gram = self._gram.copy()
        gram.flat[:: D.size + 1] += self.ridge - D
        gram *= scale
        gram *= scale[:, None]
        tighter = GramCandidates(
            self.loss,
            self.choices,
            self.names,
            self.features,
            self.B * scale[:, None],
            np.sqrt(self.norms**2 + self.ridge) * scale,
            gram.diagonal().copy(),
            self.total,
            1.0,
            self.rounding,
            scale,
            # The ridge and D both satisfy the condition on p, and so does half the larger one.
            0.5 * np.maximum(self.ridge / D, 1.0),
            gram,
            axes=self._axes,
        )
        tighter._D, tighter._plain = D, self
        return tighter

    def tightened(self, objective: float, deadline: Deadline) -> GramCandidates | None:
        """The problem with a better diagonal."""
        with one_blas_thread():
            D = best_diagonal(self._with_ridge, self._D, objective, deadline)
        return None if D is None else self._with_ridge.with_diagonal(D)

    @property
    def _with_ridge(self) -> GramCandidates:
        return self if self._plain is None else self._plain

    def cross(self, positions: Index, others: Index) -> Array:
        """Products of some candidates' columns with those of others."""
        if self._gram is not None:
            return self._gram[positions[:, None], others]
        if self._columns is not None:
            return self._rows(positions) @ self._rows(others).T
        block = self.loss.design.double_columns(self.features[positions])
        return _cross(self.loss.design, self.features[others], block).T

    def block(self, positions: Index) -> Array:
        """The Gram matrix of some candidates."""
        if self._gram is not None:
            return self._gram[positions[:, None], positions]
        if self._columns is not None:
            rows = self._rows(positions)
            return rows @ rows.T
        return _gram(self.loss.design, self.features[positions])

    def _rows(self, positions: Index) -> Array:
        """The columns of some candidates, as rows."""
        assert self._columns is not None
        return self._columns.T.take(positions, axis=0)

    def blocks(self, groups: Index) -> Array:
        """The Gram matrix of each row of candidates' columns."""
        if self._gram is not None:
            return self._gram[groups[:, :, None], groups[:, None, :]]
        if self._columns is not None:
            X = self._rows(groups)
        else:
            X = self.loss.design.double_columns(self.features[groups.ravel()])
            X = X.T.reshape(*groups.shape, -1)
        return np.asarray(X @ X.transpose(0, 2, 1))

    def products(self, active: Index, W: Array) -> Array:
        """The products of all candidates with XW, for a W with the rows of ``active``."""
        if self._gram is not None:
            return self._gram[active].T @ W
        if self._columns is not None:
            return _columnwise(self._columns.T, self._rows(active).T @ W)
        fitted = self.loss.design.double_columns(self.features[active]) @ W
        return _cross(self.loss.design, self.features, fitted)

    def restricted(self, keep: Index) -> GramCandidates:
        """The same problem with these candidates alone."""
        at = self.choices.columns(keep)
        return GramCandidates(
            self.loss,
            self.choices.among(keep),
            self.names[keep],
            self.features[at],
            self.B[at],
            self.norms[at],
            self.diagonal[at],
            self.total,
            self.ridge,
            self.rounding,
            self.scale[at],
            self.penalty[at],
            None if self._gram is None else self._gram[at[:, None], at],
            None if self._columns is None else self._rows(at).T,
            self._axes,
        )

    def with_k(self, k: int) -> GramCandidates:
        """The same problem of choosing k units."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.choices, other._solve_error = self.choices.with_k(k), None
        if self._plain is not None:
            other._plain = self._plain.with_k(k)
        return other

    def gains_alone(self) -> Array:
        """||X_g' Y||^2."""
        return self.choices.sums(np.asarray(np.einsum("jc,jc->j", self.B, self.B)))

    def relaxation(
        self, positions: Index, n_fixed: int, guess: Guess | None = None
    ) -> GramRelaxation:
        """The relaxation of the choice of some candidates, the first ``n_fixed`` among them."""
        choices, columns = self.choices, self.choices.columns(positions)
        G, B = self.block(columns), self.B[columns]
        owner = choices.owner_among(positions)
        return GramRelaxation(G, B, self.total, choices.k, self.ridge, n_fixed, owner)

    def guess(self, positions: Index, point: GramPoint) -> None:
        """A closed form needs no start."""

    def bound(self, active: Index, W: Array, chosen: Index, allowed: Mask) -> DualBound:
        """L(W) over the choices of ``chosen`` and others of ``allowed``.

        ``W`` has the rows of ``active``. The bound is lowered by the possible rounding error of
        the inner products.
        """
        u = self.B - self.products(active, W)
        size = float(self.norms[active] @ row_norms(W))
        rounding = self.rounding + 2.0 * _EPS * active.size
        # sqrt(q_j ridge) = ||u_j||, plus its possible rounding error.
        q = np.sqrt(np.einsum("jc,jc->j", u, u))
        q += rounding * (np.sqrt(self.total) + size) * self.norms
        q *= q
        q /= self.ridge
        q = self.choices.sums(q)
        explained = float(np.vdot(W, self.B[active] - u[active]))
        used = self.choices.largest(q, chosen, allowed)
        margin = rounding * (size * (size + np.sqrt(self.total)) + 8.0 * self.total)
        # Screening adds a q to the value, which may be most of what is used.
        margin += (rounding + 2.0 * _EPS * self.choices.most_columns) * used.total
        value = self.total - explained - used.total - margin
        # A W that overflows gives no bound.
        return DualBound(value if np.isfinite(value) else -np.inf, q, used)

    def dual(self, active: Index, W: Array) -> Dual:
        """The dual point of a W, in terms of the design and of the targets."""
        return Dual(self.features[active], (W * self.scale[active, None]) @ self._axes.T)

    def fit(self, positions: Index, limit: float = np.inf) -> tuple[Array, float]:
        """The coefficients of a set of candidates, and f(S); inf if they are dependent."""
        columns = self.choices.columns(positions)
        A = self.block(columns)
        A[np.diag_indices_from(A)] += self.ridge
        B = self.B[columns]
        try:
            factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return np.zeros_like(B), np.inf
        W = cho_solve(factor, B, check_finite=False)
        return W, self.total - float(np.vdot(B, W))

    def objective(self, features: Index) -> float:
        """f(S) of some columns of the design, from these columns themselves."""
        plain = self._with_ridge
        return least_squares_objective(plain.loss.design, plain.loss.Y, features, ridge=plain.ridge)

    # ------------------------------------------------------------------------ the last units
    def complete(
        self,
        chosen: Index,
        free: Index,
        threshold: float,
        bound: DualBound | None = None,
        most: int = 0,
    ) -> Completion | None:
        """The best last unit, or the best last two features if there are not too many of them."""
        count, grouped = self.choices.k - chosen.size, self.choices.groups is not None
        few = _FEW_PAIRED if bound is None else _MAX_PAIRED
        if count > 2 or (count == 2 and (grouped or free.size > few)):
            return None
        ends = None
        if count == 2 and bound is not None:
            free, ends = _within_reach(bound, chosen, free, threshold)
        try:
            rest = ResidualProblem(self, self.choices.columns(chosen), self.choices.columns(free))
        except np.linalg.LinAlgError:
            return Completion(Kind.LAST, -np.inf, None, np.inf)
        error = self.solve_error()
        if count == 1:
            gains = rest.group_gains(self.choices.sizes[free]) if grouped else rest.gains
            if most:
                values = rest.total - gains
                ways = Ways(free[:, None], values, values - error)
                return listed(Kind.LAST, ways, self.choices.copies, threshold, most)
            at = int(np.argmax(gains))
            value = rest.total - float(gains[at])
            return Completion(Kind.LAST, value - error, free[[at]], value)
        # More than are listed: one for the bound of the others, and pairs that differ by copies,
        # of which `free` has two.
        wanted = most + 1 if self.choices.copies is None else 4 * most + 1
        pairs, gains = rest.best_pairs(rest.total - threshold - 2.0 * error, wanted, ends)
        values = rest.total - gains
        if most:
            ways = Ways(free[pairs], values, values - error)
            skipped = float(ways.least[-1]) if len(pairs) == wanted else np.inf
            skipped = min(skipped, threshold)
            return listed(Kind.LAST, ways, self.choices.copies, threshold, most, skipped=skipped)
        if not len(pairs):
            return Completion(Kind.LAST, threshold, None, np.inf)
        least, value = min(float(values[0]) - error, threshold), float(values[0])
        return Completion(Kind.LAST, least, free[pairs[0]], value)

    def is_nearly_complete(
        self, chosen: Index, allowed: Mask, threshold: float, bound: DualBound
    ) -> bool:
        """Whether few pairs of the last two features are left, and few features."""
        if self.choices.k - chosen.size != 2 or self.choices.groups is not None:
            return False
        free, ends = _within_reach(bound, chosen, np.flatnonzero(allowed), threshold)
        pairs = int((ends - np.arange(free.size)).sum())
        return free.size <= _MAX_PAIRED and pairs <= _CHEAP_PAIRS

    def solve_error(self) -> float:
        """Bound on how far below its computed value f(S) may be, for any choice S.

        A computed value is the least ||Y||^2 - 2 <B, W> + <W, AW> for a B and an A with
        entries that are off by r ||x_j|| ||Y|| and r ||x_i|| ||x_j||. At the true W this is
        f(S) and at most r (z^2 + 2 z ||Y||) more, with z = sum_S ||x_j|| ||w_j||; and
        z^2 <= ||Y||^2 sum_S ||x_j||^2 / p_j, because sum_j p_j ||w_j||^2 <= ||Y||^2.
        """
        if self._solve_error is None:
            k = self.choices.k
            spread = self.choices.sums(1.0 + self.norms**2 / self.penalty)
            relative = self.rounding + 8.0 * (self.choices.most_columns + 2) * _EPS
            self._solve_error = 4.0 * relative * float(largest(spread, k).sum()) * self.total
        return self._solve_error

    def enumerated(self, deadline: Deadline, listing: Listing | None = None) -> Completion | None:
        """The best of all choices of features, if they are few and the columns known."""
        plain, choices = self._with_ridge, self.choices
        design, chosen = plain.loss.design, choices.fixed
        if choices.groups is not None or design.is_unsure or not design.has_stored_columns:
            return None
        free = np.setdiff1d(np.arange(len(self)), chosen)
        if not few_choices(design.shape[0], free.size, choices.n_free, choices.k):
            return None
        return enumerate_choices(
            design.double_columns(self.features),
            plain.loss.Y,
            plain.ridge,
            chosen,
            free,
            choices.n_free,
            rounding=design.bound_rounding,
            deadline=deadline,
            listing=listing,
            copies=choices.copies,
        )


class ResidualProblem:
    """The residuals of the free columns and of Y after ridge regression on the chosen columns.

    Raises LinAlgError if the chosen columns are numerically dependent.
    """

    def __init__(self, problem: GramCandidates, chosen: Index, free: Index) -> None:
        self.B, self.total = problem.B[free], problem.total
        self._problem, self._free = problem, free
        self._explained = np.zeros((0, free.size))
        self.diagonal = problem.diagonal[free] + problem.ridge
        # The residual Gram matrix of two features is at least ridge I, which bounds their
        # correlation; computed values beyond that are rounding errors.
        self._max_correlation = 1.0 - max(problem.ridge / float(self.diagonal.max()), _EPS)
        if chosen.size:
            A = problem.block(chosen)
            A[np.diag_indices_from(A)] += problem.ridge
            L = np.linalg.cholesky(A)
            self._explained = solve_triangular(L, problem.cross(chosen, free), lower=True)
            fitted = solve_triangular(L, problem.B[chosen], lower=True)
            self.B = self.B - self._explained.T @ fitted
            self.total -= float(np.vdot(fitted, fitted))
            self.diagonal -= np.einsum("ij,ij->j", self._explained, self._explained)
            np.maximum(self.diagonal, problem.ridge, out=self.diagonal)
        self.gains = np.einsum("jc,jc->j", self.B, self.B) / self.diagonal

    def best_pairs(
        self, min_gain: float, most: int, ends: Index | None = None
    ) -> tuple[Index, Array]:
        """The ``most`` pairs of candidates that take most off the objective, and how much.

        Without those that take off less than ``min_gain``; with ``ends``, which do not rise, each
        candidate is paired only with those before its end. With a_i the gain of one candidate, g
        the correlation of the residuals of two, and f the product of their correlations with Y, a
        pair takes off (a_i + a_j - 2 g f) / (1 - g^2). That is at most (a_i + a_j) / (1 - |g|),
        which rules out most pairs.
        """
        scale = 1.0 / np.sqrt(self.diagonal)
        E, B = self._explained * scale, self.B * scale[:, None]
        best, gains = np.zeros((0, 2), dtype=np.intp), np.zeros(0)
        ends = np.full(scale.size, scale.size) if ends is None else ends
        start = stop = 0
        while stop < scale.size and ends[stop] > stop + 1:
            start, end = stop, int(ends[stop])
            stop = start + max(_LEAST_CHUNK, min(_CHUNK, _CHUNK_ENTRIES // (end - start)))
            rows, columns = slice(start, min(stop, end)), slice(start, end)
            g = self._problem.cross(self._free[rows], self._free[columns])
            g *= scale[columns]
            g *= scale[rows, None]
            g -= E[:, rows].T @ E[:, columns]
            np.clip(g, -self._max_correlation, self._max_correlation, out=g)
            share = np.full_like(self.gains, 2.0)  # every pair gains that much
            if min_gain > 0:
                least = max(min_gain * (1 - 1e-9), 1e-300)
                share = np.minimum(self.gains, 2.0 * least) / least
            reach = np.abs(g)
            reach += share[columns]
            i, j = np.nonzero(reach >= (1.0 - share[rows])[:, None])
            i, j = i[i < j], j[i < j]
            if i.size == 0:
                continue
            g_ij = g[i, j]
            i, j = i + start, j + start
            pair = np.einsum("pc,pc->p", B[i], B[j])
            pair *= -2.0 * g_ij
            pair += self.gains[i] + self.gains[j]
            pair /= 1.0 - g_ij * g_ij
            if pair.size > most:
                min_gain = max(min_gain, float(np.partition(pair, -most)[-most]))
            found = np.flatnonzero(pair >= min_gain)
            if found.size == 0:
                continue
            gains = np.concatenate([pair[found], gains])
            kept = np.argsort(-gains, kind="stable")[:most]
            best = np.concatenate([np.column_stack([i[found], j[found]]), best])[kept]
            gains = gains[kept]
            if gains.size == most:
                min_gain = float(gains[-1])
        return best, gains

    def group_gains(self, sizes: Index) -> Array:
        """What each group of the free columns takes off; their sizes are in order.

        By elimination of one column after another, of all groups of one size at a time.
        """
        gains, starts = np.zeros(sizes.size), np.cumsum(sizes) - sizes
        for size in np.unique(sizes).tolist():
            at = np.flatnonzero(sizes == size)
            held = self._problem.n_samples + size + len(self._explained)
            step = max(1, _GROUP_ENTRIES // (size * held))
            for begin in range(0, at.size, step):
                some = at[begin : begin + step]
                gains[some] = self._gains_of(starts[some, None] + np.arange(size))
        return gains

    def _gains_of(self, columns: Index) -> Array:
        """The same for groups of one size, each a row of columns."""
        E = self._explained[:, columns].transpose(1, 0, 2)
        S = self._problem.blocks(self._free[columns])
        S -= E.transpose(0, 2, 1) @ E
        B, gains = self.B[columns], np.zeros(len(columns))
        own = np.arange(columns.shape[1])
        S[:, own, own] = self.diagonal[columns]
        for i in own:
            # The residual Gram matrix of a group is at least ridge I.
            pivot = np.maximum(S[:, i, i], self._problem.ridge)
            gains += np.einsum("gc,gc->g", B[:, i], B[:, i]) / pivot
            share = S[:, i, i + 1 :] / pivot[:, None]
            B[:, i + 1 :] -= share[:, :, None] * B[:, None, i]
            S[:, i + 1 :, i + 1 :] -= share[:, :, None] * S[:, i, None, i + 1 :]
        return gains


def _within_reach(
    bound: DualBound, chosen: Index, free: Index, threshold: float
) -> tuple[Index, Index]:
    """The features that may be the last two below a threshold, by falling scores.

    And for each the number of those that may be the other one, counted from the first: a bound
    holds for a pair without the scores of the others.
    """
    if not np.isfinite(bound.value):
        return free, np.full(free.size, free.size)
    q = bound.q[free]
    needed = bound.value + bound.largest.total - float(bound.q[chosen].sum()) - threshold
    order = np.argsort(-q, kind="stable")
    q = q[order]
    ends = np.searchsorted(-q, q - needed)
    n_left = int(ends[0]) if ends.size else 0
    return free[order[:n_left]], np.maximum(ends[:n_left], np.arange(n_left))


def _columnwise(A: Array, M: Array) -> Array:
    """AM for an M of few columns: products with single vectors are faster than those with two."""
    if not 1 < M.shape[1] <= _FEW_COLUMNS:
        return np.asarray(A @ M)
    return np.stack([A @ column for column in M.T]).T


def _in_own_axes(Y: Array) -> tuple[Array, Array, float]:
    """Targets in the coordinates of the axes along which they vary, and these axes.

    And what that leaves out of them, as a share of ||Y||, doubled for rounding. Of c classes, with
    an intercept, c - 1 are left.
    """
    _, sizes, axes = np.linalg.svd(np.linalg.qr(Y, mode="r"))
    small = sizes <= _NO_TARGET * sizes[0]
    small[0] = False
    if not (small.any() and sizes[0] > 0):
        return Y, np.eye(Y.shape[1]), 0.0
    axes = axes[: sizes.size][~small].T
    return Y @ axes, axes, 2.0 * float(np.linalg.norm(sizes[small]) / np.linalg.norm(sizes))


def _blocks(design: Design, features: Index) -> Iterator[slice]:
    """Slices of the features whose columns may be held as float64 at one time."""
    step = max(1, _BLOCK_ENTRIES // design.shape[0])
    for start in range(0, features.size, step):
        yield slice(start, start + step)


def _products(design: Design, features: Index, Y: Array) -> tuple[Array, Array]:
    """X_features' Y and the squared norms of the columns, a block of them at a time."""
    B, squares = np.empty((features.size, Y.shape[1])), np.empty(features.size)
    for at in _blocks(design, features):
        columns = design.double_columns(features[at])
        B[at], squares[at] = columns.T @ Y, np.einsum("ij,ij->j", columns, columns)
    return B, squares


def _cross(design: Design, features: Index, M: Array) -> Array:
    """X_features' M, in float64 whatever the precision of the data."""
    parts = [design.double_columns(features[at]).T @ M for at in _blocks(design, features)]
    return np.concatenate(parts) if parts else np.zeros((0, M.shape[1]))


def _gram(design: Design, features: Index) -> Array:
    """X_features' X_features, likewise."""
    n, d = design.shape
    if n * features.size <= _BLOCK_ENTRIES:
        block = design.double_columns(features)
        return block.T @ block
    # Groups may have the columns in another order.
    in_order = np.array_equal(features, np.arange(d))
    if in_order and design.explicit_gram and design_dtype(design) == np.float64:
        return design.gram()
    parts = [
        _cross(design, features, design.double_columns(features[at]))
        for at in _blocks(design, features)
    ]
    return np.concatenate(parts, axis=1)
