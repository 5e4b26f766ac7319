"""Row operators against brute force, closed forms and the printed counter-examples."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rowsparse.rows import (
    huber_rows,
    lpinf_penalty,
    project_l20,
    prox_dc,
    prox_dc_published,
    prox_lpinf,
    prox_lpinf_published,
    row_norms,
    shrink,
    tail_norm,
    top_rows,
    unit_ball_rows,
)

POWERS = [0.0, 0.1, 0.25, 0.5, 2 / 3, 0.75, 0.9, 1.0]
NEXT_TO_THE_ENDS = [5e-324, 1e-300, 1e-12, 1 - 1e-6, 1 - 1e-12, float(np.nextafter(1, 0))]
fast = settings(max_examples=25, deadline=None)
many = settings(max_examples=40, deadline=None)


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def matrices(max_d=6, max_c=4, min_d=1):
    """Small matrices: general numbers, or few values so that ties and zeros are common."""
    shape = st.tuples(st.integers(min_d, max_d), st.integers(1, max_c))
    general = st.floats(-10, 10, allow_subnormal=False)
    few = st.sampled_from([0.0, 0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 3.0])
    return shape.flatmap(
        lambda s: st.one_of(hnp.arrays(float, s, elements=e) for e in (general, few))
    )


def pairs(max_d=6, max_c=4):
    """Two matrices of one shape."""
    shape = st.tuples(st.integers(1, max_d), st.integers(1, max_c))
    value = st.floats(-10, 10, allow_subnormal=False)
    return shape.flatmap(lambda s: st.tuples(*[hnp.arrays(float, s, elements=value)] * 2))


thresholds = st.one_of(st.just(0.0), st.sampled_from([0.5, 1.0, 2.0]), st.floats(1e-6, 30))


def lpinf_value(W, A, t, p):
    """Objective of every row."""
    peak = np.abs(W).max(axis=1)
    penalty = (peak > 0).astype(float) if p == 0 else peak**p
    return 0.5 * ((W - A) ** 2).sum(axis=1) + t * penalty


def lpinf_oracle(A, t, p, points=2001):
    """Least phi of every row on a grid of levels, all |a_i| and 0."""
    b = np.abs(A)
    grid = np.linspace(0, 1, points)[None, :] * b.max(axis=1, keepdims=True)
    level = np.concatenate([grid, b], axis=1)
    penalty = (level > 0).astype(float) if p == 0 else level**p
    over = np.maximum(b[:, :, None] - level[:, None, :], 0)
    return (0.5 * (over**2).sum(axis=1) + t * penalty).min(axis=1)


def assert_lpinf_optimal(A, t, p, points=2001):
    W = prox_lpinf(A, t, p)
    assert W.shape == A.shape
    assert np.isfinite(W).all()
    value, least = lpinf_value(W, A, t, p), lpinf_oracle(A, t, p, points)
    assert (value <= least + 1e-12 * (1 + 0.5 * (A**2).sum(axis=1))).all()
    # the answer has the form sign(a_i) min(|a_i|, s)
    peak = np.abs(W).max(axis=1, keepdims=True)
    np.testing.assert_array_equal(W, np.sign(A) * np.minimum(np.abs(A), peak))


# ---------------------------------------------------------------- norms, ranks, projections
@many
@given(matrices())
def test_row_norms_are_euclidean(A):
    np.testing.assert_allclose(row_norms(A), [math.hypot(*a) for a in A], rtol=1e-14)


def test_row_norms_extreme_scales():
    for scale in (1e-300, 1e-200, 1e-160, 1e-150, 1.0, 1e150, 1e200, 1e300):
        A = np.array([[3.0, -4.0], [0.0, 0.0], [0.0, -2.0], [1.0, 1.0]]) * scale
        A = np.vstack([A, [[3.0, 4.0]]])
        expected = np.array([5 * scale, 0, 2 * scale, np.sqrt(2) * scale, 5])
        np.testing.assert_allclose(row_norms(A), expected, rtol=1e-14)
        np.testing.assert_allclose(row_norms(-A[:, 1:]), np.abs(A[:, 1]), rtol=1e-14)
    for scale in (1e-37, 1e-30, 1e30, 1e37):
        A = (np.array([[3.0, -4.0], [0.0, 0.0]]) * scale).astype(np.float32)
        assert row_norms(A).dtype == np.float32
        np.testing.assert_allclose(row_norms(A), np.array([5 * scale, 0]), rtol=1e-6)


# ---------------------------------------------------------------- what all operators keep
# Operators that take the rows of W to the multiple of them when W and the weights are multiplied:
# prox(s A, s^(2-p) t) = s prox(A, t).
OPERATORS = {
    "shrink": (1.0, lambda A, t: shrink(A, t)),
    "dc": (1.0, lambda A, t: prox_dc(A, 1, 0.5 * t, 1.5 * t)),
    "dc published": (1.0, lambda A, t: prox_dc_published(A, 1, t)),
    **{f"lpinf {p}": (p, lambda A, t, p=p: prox_lpinf(A, t, p)) for p in POWERS},
}


@pytest.mark.parametrize("name", OPERATORS)
def test_units_storage_signs_and_order_of_columns_change_nothing_else(name):
    p, operator = OPERATORS[name]
    rng = np.random.default_rng(5)
    A = rng.normal(size=(60, 5)) * 2
    A[::7] = 0.0
    W = operator(A, 0.8)
    assert W.any()
    for scale in (1e-150, 1e-14, 1e9, 1e150):
        weight = 0.8 * scale ** (1 - p) * scale
        if 0 < weight < np.inf:
            np.testing.assert_allclose(operator(A * scale, weight) / scale, W, atol=1e-12)
    columns, signs = rng.permutation(5), rng.choice([-1.0, 1.0], size=A.shape)
    np.testing.assert_allclose(operator(A[:, columns], 0.8), W[:, columns], atol=1e-14)
    np.testing.assert_allclose(operator(A * signs, 0.8), W * signs, atol=1e-14)
    np.testing.assert_allclose(operator(np.asfortranarray(A), 0.8), W, atol=1e-14)
    single = operator(A.astype(np.float32), 0.8)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, W, atol=1e-5)
    # Without a weight a new array has the same values.
    same = operator(A, 0.0)
    np.testing.assert_array_equal(same, A)
    assert not np.shares_memory(same, A)
    assert not operator(np.zeros((3, 2)), 0.7).any()
    assert operator(np.empty((0, 2)), 1.0).shape == (0, 2)
    if not name.startswith("dc"):
        weights = rng.choice([0.0, 0.1, 1.0, 3.0], size=60)
        one_by_one = [operator(A[j : j + 1], weights[j])[0] for j in range(60)]
        np.testing.assert_allclose(operator(A, weights), one_by_one, atol=1e-14)


@many
@given(hnp.arrays(float, st.integers(1, 12), elements=st.integers(-3, 3)), st.integers(0, 14))
def test_top_rows_ties_to_lowest_index(scores, k):
    expected = sorted(range(scores.size), key=lambda i: (-scores[i], i))[:k]
    chosen = top_rows(scores, k)
    assert chosen.tolist() == expected
    assert chosen.dtype == np.intp
    assert top_rows(np.append(scores, np.inf), 1).tolist() == [scores.size]
    with pytest.raises(ValueError, match="negative"):
        top_rows(scores, -1)


@many
@given(matrices(), st.integers(0, 7))
def test_project_l20_is_the_nearest(P, k):
    V = project_l20(P, k)
    d = P.shape[0]
    assert np.count_nonzero(V.any(axis=1)) <= k
    nearest = min(
        sum(float((P[i] ** 2).sum()) for i in range(d) if i not in kept)
        for kept in itertools.combinations(range(d), min(k, d))
    )
    assert ((V - P) ** 2).sum() <= nearest + 1e-12 * (1 + nearest)


@many
@given(matrices(), st.integers(0, 8))
def test_tail_norm(W, k):
    norms = np.sort(np.sqrt((W**2).sum(axis=1)))
    assert tail_norm(W, k) == pytest.approx(norms[: max(0, W.shape[0] - k)].sum(), abs=1e-13)


@many
@given(matrices())
def test_unit_ball_rows_is_the_projection(A):
    B = unit_ball_rows(A)
    norms = np.linalg.norm(A, axis=1)
    assert (np.linalg.norm(B, axis=1) <= 1 + 1e-15).all()
    np.testing.assert_array_equal(B[norms < 0.999], A[norms < 0.999])
    # A - B points along B, so B is the nearest point of the ball
    outside = norms >= 1
    gap = ((A - B) * B).sum(axis=1)[outside]
    np.testing.assert_allclose(gap, norms[outside] - 1, atol=1e-12)
    np.testing.assert_allclose(unit_ball_rows(A * 1e200 + 0.0)[outside], B[outside], atol=1e-14)


@fast
@given(hnp.arrays(float, 8, elements=st.floats(0, 10)), st.floats(1e-3, 5))
def test_huber_rows(r, mu):
    expected = np.where(r <= mu, r**2 / (2 * mu), r - mu / 2)
    np.testing.assert_allclose(huber_rows(r, mu), expected, rtol=1e-13, atol=1e-300)
    gap = r - huber_rows(r, mu)
    assert (gap >= -1e-14).all()
    assert (gap <= mu / 2 + 1e-14).all()
    np.testing.assert_array_equal(huber_rows(r, 0.0), r)
    assert huber_rows(r.astype(np.float32), 0.1).dtype == np.float32
    with pytest.raises(ValueError, match="mu"):
        huber_rows(r, -1.0)


# ---------------------------------------------------------------- shrink
@many
@given(pairs(), thresholds)
def test_shrink_minimises_its_objective(data, t):
    A, other = data
    W = shrink(A, t)

    def value(V):
        return 0.5 * ((V - A) ** 2).sum() + t * np.sqrt((V**2).sum(axis=1)).sum()

    for V in (other, W + 1e-3 * other, A, 0 * A):
        assert value(W) <= value(V) + 1e-11


# ---------------------------------------------------------------- prox of sum_j max^p
@settings(max_examples=100, deadline=None)
@given(
    A=matrices(max_d=5, max_c=6),
    t=thresholds,
    p=st.one_of(st.sampled_from(POWERS), st.floats(0, 1), st.sampled_from(NEXT_TO_THE_ENDS)),
)
def test_prox_lpinf_beats_the_grid(A, t, p):
    assert_lpinf_optimal(A, t, p, points=1001)


@many
@given(matrices(max_c=5), st.floats(1e-3, 30))
def test_prox_lpinf_convex_case_is_a_minus_l1_ball_projection(A, t):
    """Moreau: A - prox lies in the l1 ball of radius t, in the normal cone at its dual."""
    W = prox_lpinf(A, t, 1.0)
    Z = A - W
    assert (np.abs(Z).sum(axis=1) <= t + 1e-12).all()
    np.testing.assert_allclose((Z * W).sum(axis=1), t * np.abs(W).max(axis=1), atol=1e-11)


def test_prox_lpinf_one_column_closed_threshold():
    """|a| <= (2-p)/(2(1-p)) (2 t (1-p))^(1/(2-p)) gives 0; above, the jump is explicit."""
    for p, t in itertools.product(POWERS[:-1], [1e-6, 0.3, 1.0, 2.0, 50.0]):
        jump = (2 * t * (1 - p)) ** (1 / (2 - p))
        edge = (2 - p) / (2 * (1 - p)) * jump
        a = np.array([[edge * (1 - 1e-9)], [-edge * (1 + 1e-9)]])
        out = prox_lpinf(a, t, p)
        assert out[0, 0] == 0, (p, t)
        assert out[1, 0] == pytest.approx(-jump, rel=1e-6), (p, t)


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_prox_lpinf_tie_prefers_zero(p):
    """At the closed threshold (p = 0: 1/2||a||^2 = t) both 0 and the other minimum are best."""
    t = 4.5 if p == 0 else 1.0
    a = np.array([[1.0, 2.0, 2.0]]) if p == 0 else np.array([[1.5, 0.0]])
    assert not prox_lpinf(a, t, p).any()
    assert prox_lpinf(a * (1 + 1e-12), t, p).any()


@pytest.mark.parametrize("p", [-0.1, 1.1, np.nan])
def test_lpinf_rejects_bad_power(p):
    for call in (
        lambda: prox_lpinf(np.ones((1, 1)), 1.0, p),
        lambda: prox_lpinf_published(np.ones((1, 1)), 1.0, p),
        lambda: lpinf_penalty(np.ones((1, 1)), p),
    ):
        with pytest.raises(ValueError, match="p must"):
            call()
    with pytest.raises(ValueError, match="negative"):
        prox_lpinf(np.ones((1, 1)), -1.0, 0.5)


# One large entry among equal small ones has several local minima.
@pytest.mark.parametrize("p", [*POWERS, *NEXT_TO_THE_ENDS])
def test_prox_lpinf_beats_the_grid_on_rows_of_two_levels(p):
    rng = np.random.default_rng(int(1000 * p))
    A = np.ones((50, 9)) * (1 + 0.01 * rng.random((50, 9)))
    A[:, 3] = rng.uniform(2, 20, 50)
    for t in (1.0, 4.0, 8.0, 16.0, 40.0):
        assert_lpinf_optimal(A, t, p, points=1001)


# ------------------------------------------------ printed errors of Kong and Ding (2014)
@pytest.mark.parametrize(
    ("a", "t", "p", "printed", "right", "values"),
    [
        ([1.0], 2, 1, -1.0, 0.0, (4.0, 0.5)),  # 1: not clipped at zero
        ([1.0], 2, 0.5, np.nan, 0.0, (np.nan, 0.5)),  # 2: a negative start
        ([1.25], 1, 0.5, 0.25, 0.0, (1.0, 0.78125)),  # 3: a local maximum
        ([1.4], 1, 0.5, 0.8612, 0.0, (1.0732, 0.98)),  # 4: no comparison with zero
        # 5: the first piece is not the best, or worse than zero
        ([6.0, 1, 1, 1], 6.6701, 0.75, 0.999, 1.4056, (19.1701, 19.1648)),
        ([10.5, 1, 1, 1, 1], 19.0015, 0.5, np.nan, 6.877, (np.nan, 56.39)),
        ([100.0, *[1.0] * 1000], 400, 0.5, 0.887, 77.24, (5294.8, 3774.5)),
    ],
)
def test_kong_ding_the_printed_step_is_no_minimum(a, t, p, printed, right, values):
    rows = [operator([a], t, p) for operator in (prox_lpinf_published, prox_lpinf)]
    for row, level, value in zip(rows, (printed, right), values, strict=True):
        assert row.max() == pytest.approx(level, rel=1e-3, nan_ok=True)
        found = lpinf_value(row, np.array([a]), t, p)[0]
        assert found == pytest.approx(value, rel=1e-3, nan_ok=True)
    assert_lpinf_optimal(np.array([a]), t, p, points=501)


@pytest.mark.parametrize("p", POWERS[1:])
def test_published_agrees_where_it_is_right_and_is_never_better(p):
    rng = np.random.default_rng(11)
    A = rng.normal(size=(400, 3)) * 2
    A[:20] *= 0.01  # rows to be removed, which the printed one never does
    t = 0.4
    printed, right = prox_lpinf_published(A, t, p), prox_lpinf(A, t, p)
    ours, theirs = lpinf_value(right, A, t, p), lpinf_value(printed, A, t, p)
    same = np.isclose(printed, right, atol=1e-9).all(axis=1)
    assert same.mean() > 0.6
    assert not same[:20].any()
    assert not (theirs < ours - 1e-12).any()


# ---------------------------------------------------------------- prox of the DC penalty
def dc_value(W, U, k, inner, outer):
    norms = np.sort(np.sqrt((W**2).sum(axis=1)))
    tail = norms[: max(0, len(norms) - k)].sum()
    return 0.5 * ((W - U) ** 2).sum() + inner * norms.sum() + (outer - inner) * tail


def dc_oracle(U, k, inner, outer):
    """Least value over all sets S of k rows, each solved exactly."""
    d = U.shape[0]
    least = np.inf
    for kept in itertools.combinations(range(d), min(k, d)):
        W = np.empty_like(U)
        for j in range(d):
            r, t = np.sqrt(U[j] @ U[j]), inner if j in kept else outer
            W[j] = max(0.0, 1 - t / r) * U[j] if r > 0 else 0
        least = min(least, dc_value(W, U, k, inner, outer))
    return least


@many
@given(matrices(max_d=6, max_c=3), st.integers(0, 8), thresholds, thresholds)
def test_prox_dc_beats_every_subset(U, k, inner, more):
    W = prox_dc(U, k, inner, inner + more)
    value = dc_value(W, U, k, inner, inner + more)
    least = dc_oracle(U, k, inner, inner + more)
    assert value <= least + 1e-12 * (1 + 0.5 * (U**2).sum())
    assert not W[~U.any(axis=1)].any()


def test_prox_dc_ends_are_shrink():
    U = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_array_equal(prox_dc(U, 0, 0.2, 0.9), shrink(U, 0.9))
    np.testing.assert_array_equal(prox_dc(U, 20, 0.2, 0.9), shrink(U, 0.2))
    np.testing.assert_array_equal(prox_dc(U, 99, 0.0, 0.9), U)
    np.testing.assert_array_equal(prox_dc(U, 7, 0.5, 0.5), shrink(U, 0.5))
    np.testing.assert_array_equal(prox_dc(U, 7, 0.0, 1e9), project_l20(U, 7))
    assert prox_dc(U.astype(np.float32), 7, 0.1, 0.5).dtype == np.float32


@pytest.mark.parametrize(("inner", "outer"), [(1.0, 0.5), (-1.0, 0.5), (np.nan, 1.0)])
def test_prox_dc_rejects_bad_weights(inner, outer):
    with pytest.raises(ValueError, match="inner"):
        prox_dc(np.ones((2, 2)), 1, inner, outer)


@many
@given(matrices(), st.integers(0, 7), thresholds)
def test_an_dong_qin_printed_prox_is_right_without_short_rows(U, k, alpha):
    norms = np.sqrt((U**2).sum(axis=1))
    U = U[(norms > alpha) | ~U.any(axis=1)]
    np.testing.assert_allclose(
        prox_dc_published(U, k, alpha), prox_dc(U, k, 0.0, alpha), atol=1e-13
    )


def _printed_row(a, t, p):
    """One row as the page prints it."""
    b = np.sort(np.abs(a))[::-1]
    order = np.argsort(-np.abs(a), kind="stable")
    S = np.cumsum(b)
    with np.errstate(all="ignore"):
        for k in range(b.size, 0, -1):
            s = (S[k - 1] - t) / k
            for _ in range(20 if p < 1 else 0):
                g = k * s - S[k - 1] + t * p * s ** (p - 1)
                s = s - g / (k + t * p * (p - 1) * s ** (p - 2))
            if not s > b[k - 1]:
                break
    v = np.abs(a)
    v[order[:k]] = s  # line 7: the others stay, even those above s
    return np.sign(a) * v


def test_published_prox_equals_the_printed_page_row_by_row():
    A = np.random.default_rng(0).standard_normal((300, 4)) * 2
    for p, t in itertools.product([0.1, 0.5, 0.9, 1.0], [0.1, 1.0, 4.0]):
        row_by_row = np.array([_printed_row(a, t, p) for a in A])
        np.testing.assert_allclose(prox_lpinf_published(A, t, p), row_by_row, rtol=1e-6, atol=1e-9)
    # Only the largest entry has the level; the others stay, even above it.
    np.testing.assert_allclose(
        prox_lpinf_published([[2.29, 0.95, -0.83, 0.01]], 2.0, 0.5),
        [[0.2373, 0.95, -0.83, 0.01]],
        atol=1e-4,
    )
