"""Row operators against brute force, closed forms and the printed counter-examples."""

from __future__ import annotations

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
def test_row_norms_and_float32(A):
    np.testing.assert_allclose(row_norms(A), [math.hypot(*a) for a in A], rtol=1e-14)
    A32 = A.astype(np.float32)
    norms = row_norms(A32)
    assert norms.dtype == np.float32
    np.testing.assert_allclose(norms, [math.hypot(*a) for a in A32], rtol=1e-6, atol=1e-43)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-160, 1e-150, 1.0, 1e150, 1e200, 1e300])
def test_row_norms_extreme_scales(scale):
    A = np.array([[3.0, -4.0], [0.0, 0.0], [0.0, -2.0], [1.0, 1.0]]) * scale
    A = np.vstack([A, [[3.0, 4.0]]])
    expected = np.array([5 * scale, 0, 2 * scale, np.sqrt(2) * scale, 5])
    np.testing.assert_allclose(row_norms(A), expected, rtol=1e-14)
    np.testing.assert_allclose(row_norms(-A[:, 1:]), np.abs(A[:, 1]), rtol=1e-14)


@pytest.mark.parametrize("scale", [1e-37, 1e-30, 1e30, 1e37])
def test_row_norms_extreme_scales_float32(scale):
    A = (np.array([[3.0, -4.0], [0.0, 0.0]]) * scale).astype(np.float32)
    norms = row_norms(A)
    assert norms.dtype == np.float32
    np.testing.assert_allclose(norms, np.array([5 * scale, 0]), rtol=1e-6)


def test_row_norms_passes_on_nan_and_inf_and_takes_empty_and_integer():
    A = np.array([[np.nan, 1.0], [np.inf, 1.0], [3.0, 4.0]])
    np.testing.assert_array_equal(row_norms(A), [np.nan, np.inf, 5])
    assert row_norms(np.empty((0, 3))).shape == (0,)
    np.testing.assert_array_equal(row_norms(np.array([[3, 4]])), [5.0])


@many
@given(hnp.arrays(float, st.integers(1, 12), elements=st.integers(-3, 3)), st.integers(0, 14))
def test_top_rows_ties_to_lowest_index(scores, k):
    expected = sorted(range(scores.size), key=lambda i: (-scores[i], i))[:k]
    chosen = top_rows(scores, k)
    assert chosen.tolist() == expected
    assert chosen.dtype == np.intp


def test_top_rows_edges():
    assert top_rows(np.array([1.0, 1.0, 1.0]), 2).tolist() == [0, 1]
    assert top_rows(np.array([1.0, 2.0]), 0).tolist() == []
    assert top_rows(np.array([1.0, 2.0]), 9).tolist() == [1, 0]
    assert top_rows(np.array([True, False, True]), 1).tolist() == [0]
    assert top_rows(np.array([0.0, np.inf, 1.0]), 2).tolist() == [1, 2]
    with pytest.raises(ValueError, match="negative"):
        top_rows(np.ones(3), -1)


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


def test_cai_row_score_counterexample():
    """Sums of absolute values 1.8 > 1.5 pick row 1 (distance 1.29), the projection is row 2."""
    P = np.array([[0.6, 0.6, 0.6], [1.1, 0.2, 0.2]])
    printed, right = project_l20(P, 1, norm="l1"), project_l20(P, 1)
    np.testing.assert_array_equal(printed, [[0.6, 0.6, 0.6], [0, 0, 0]])
    np.testing.assert_array_equal(right, [[0, 0, 0], [1.1, 0.2, 0.2]])
    assert ((printed - P) ** 2).sum() == pytest.approx(1.29)
    assert ((right - P) ** 2).sum() == pytest.approx(1.08)


def test_project_l20_edges():
    P = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]], dtype=np.float32)
    assert project_l20(P, 1).dtype == np.float32
    np.testing.assert_array_equal(project_l20(P, 1), [[1, 1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(project_l20(P, 5), P)
    assert not project_l20(P, 0).any()
    with pytest.raises(ValueError, match="norm"):
        project_l20(P, 1, norm="max")
    big = np.array([[1e200, 0.0], [2e200, 0.0], [3.0, 0.0]])
    np.testing.assert_array_equal(project_l20(big, 1), [[0, 0], [2e200, 0], [0, 0]])


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


def test_huber_rows_edges():
    r = np.array([0.0, 1e-200, 1e200])
    np.testing.assert_array_equal(huber_rows(r, 0.0), r)
    np.testing.assert_array_equal(huber_rows(r, 0.5)[[0, 2]], [0, 1e200])
    assert huber_rows(r[:2].astype(np.float32), 0.1).dtype == np.float32
    with pytest.raises(ValueError, match="mu"):
        huber_rows(r, -1.0)


# ---------------------------------------------------------------- shrink


@many
@given(matrices(), thresholds)
def test_shrink_is_the_formula(A, t):
    out = shrink(A, t)
    for a, w in zip(A, out, strict=True):
        r = np.sqrt(a @ a)
        expected = max(0.0, 1 - t / r) * a if r > 0 else 0 * a
        np.testing.assert_allclose(w, expected, atol=1e-13)
    np.testing.assert_allclose(shrink(A, np.full(len(A), t)), out, atol=1e-14)
    np.testing.assert_allclose(shrink(np.asfortranarray(A), np.float64(t)), out, atol=1e-14)


@many
@given(pairs(), thresholds)
def test_shrink_minimises_its_objective(data, t):
    A, other = data
    W = shrink(A, t)

    def value(V):
        return 0.5 * ((V - A) ** 2).sum() + t * np.sqrt((V**2).sum(axis=1)).sum()

    for V in (other, W + 1e-3 * other, A, 0 * A):
        assert value(W) <= value(V) + 1e-11


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shrink_one_threshold_a_row(dtype):
    A = np.array([[3.0, 4.0], [3.0, 4.0], [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]], dtype=dtype)
    out = shrink(A, np.array([0.0, 1.0, 9.0, 0.0, 1.0]))
    assert out.dtype == dtype
    np.testing.assert_allclose(out, [[3, 4], [2.4, 3.2], [0, 0], [0, 0], [0, 0]], rtol=1e-6)
    assert shrink(A, 1.0).dtype == dtype
    assert shrink(A, np.float64(1.0)).dtype == dtype


def test_shrink_leaves_its_argument_alone():
    A = np.array([[3.0, 4.0], [0.0, 0.0]])
    for t in (0.0, 1.0, 1e-20, np.array([1.0, 0.0])):
        out = shrink(A, t)
        out += 1
        np.testing.assert_array_equal(A, [[3, 4], [0, 0]])


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e-150, 1e-14, 1e9, 1e150, 1e200])
@pytest.mark.parametrize("t", [0.0, 1e-3, 1.0, 2.5, 7.0])
def test_shrink_extreme_scales(scale, t):
    A = np.array([[3.0, 4.0], [0.6, -0.8], [0.0, 0.0]])
    np.testing.assert_allclose(shrink(A * scale, t * scale) / scale, shrink(A, t), atol=1e-14)
    rows = np.full(3, t * scale)
    np.testing.assert_allclose(shrink(A * scale, rows) / scale, shrink(A, t), atol=1e-14)


def test_shrink_mixes_scales():
    A = np.array([[3e200, 4e200], [3e-200, 4e-200], [3.0, 4.0]])
    np.testing.assert_allclose(shrink(A, 1.0), [[3e200, 4e200], [0, 0], [2.4, 3.2]])
    B = np.array([[3e30, 4e30], [3e-30, 4e-30], [3.0, 4.0]], dtype=np.float32)
    np.testing.assert_allclose(shrink(B, 1.0), [[3e30, 4e30], [0, 0], [2.4, 3.2]], rtol=1e-6)


@fast
@given(pairs(), thresholds)
def test_convex_operators_are_nonexpansive(data, t):
    A, B = data
    gap = np.linalg.norm(A - B) + 1e-12
    assert np.linalg.norm(shrink(A, t) - shrink(B, t)) <= gap
    assert np.linalg.norm(prox_lpinf(A, t, 1.0) - prox_lpinf(B, t, 1.0)) <= gap
    assert np.linalg.norm(unit_ball_rows(A) - unit_ball_rows(B)) <= gap


# ---------------------------------------------------------------- prox of sum_j max^p


@pytest.mark.parametrize("p", POWERS)
@settings(max_examples=15, deadline=None)
@given(A=matrices(max_d=5, max_c=6), t=thresholds)
def test_prox_lpinf_beats_the_grid(p, A, t):
    assert_lpinf_optimal(A, t, p)


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("c", [1, 2, 3, 7])
def test_prox_lpinf_beats_the_grid_on_random_rows(p, c):
    rng = np.random.default_rng([int(100 * p), c])
    A = rng.normal(size=(40, c)) * rng.choice([0.1, 1.0, 5.0], size=(40, 1))
    for t in (0.05, 0.5, 2.0, 10.0):
        assert_lpinf_optimal(A, t, p)


@pytest.mark.parametrize("p", POWERS)
def test_prox_lpinf_beats_the_grid_on_two_level_rows(p):
    """One large entry and many equal small ones: several local minima."""
    rng = np.random.default_rng(int(1000 * p))
    A = np.ones((50, 9)) * (1 + 0.01 * rng.random((50, 9)))
    A[:, 3] = rng.uniform(2, 20, 50)
    for t in (1.0, 4.0, 8.0, 16.0, 40.0):
        assert_lpinf_optimal(A, t, p, points=1001)


@many
@given(A=matrices(max_d=4, max_c=5), t=thresholds, p=st.floats(0, 1))
def test_prox_lpinf_beats_the_grid_for_any_power(A, t, p):
    assert_lpinf_optimal(A, t, p, points=501)


@pytest.mark.parametrize(
    "p", [5e-324, 1e-300, 1e-12, 1 - 1e-6, 1 - 1e-12, float(np.nextafter(1, 0))]
)
def test_prox_lpinf_powers_next_to_the_ends(p):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(60, 4))
    A[:10, 1:] = 0
    for t in (0.1, 1.0, 3.0):
        assert_lpinf_optimal(A, t, p)


@pytest.mark.parametrize("p", POWERS)
def test_prox_lpinf_no_full_vector_is_better(p):
    rng = np.random.default_rng(7)
    A = rng.normal(size=(40, 3)) * 2
    for t in (0.3, 1.5):
        W = prox_lpinf(A, t, p)
        value = lpinf_value(W, A, t, p)
        for spread in (1e-4, 1e-2, 0.3, 2.0):
            for _ in range(10):
                V = W + spread * rng.normal(size=A.shape)
                assert (value <= lpinf_value(V, A, t, p) + 1e-12).all()


@pytest.mark.parametrize("p", POWERS)
def test_prox_lpinf_zero_weight_and_zero_rows(p):
    A = np.array([[1.0, -2.0], [0.0, 0.0], [1e-9, 0.0]])
    out = prox_lpinf(A, 0.0, p)
    np.testing.assert_array_equal(out, A)
    assert not np.shares_memory(out, A)
    assert not prox_lpinf(np.zeros((3, 2)), 0.7, p).any()
    assert not prox_lpinf(np.zeros((3, 2)), 0.0, p).any()
    assert prox_lpinf(np.empty((0, 2)), 1.0, p).shape == (0, 2)


@many
@given(matrices(max_c=5), st.floats(1e-3, 30))
def test_prox_lpinf_convex_case_is_a_minus_l1_ball_projection(A, t):
    """Moreau: A - prox lies in the l1 ball of radius t, in the normal cone at its dual."""
    W = prox_lpinf(A, t, 1.0)
    Z = A - W
    assert (np.abs(Z).sum(axis=1) <= t + 1e-12).all()
    np.testing.assert_allclose((Z * W).sum(axis=1), t * np.abs(W).max(axis=1), atol=1e-11)


@fast
@given(hnp.arrays(float, (8, 1), elements=st.floats(-10, 10)), thresholds)
def test_prox_lpinf_one_column_p1_is_soft_threshold(a, t):
    soft = np.sign(a) * np.maximum(np.abs(a) - t, 0)
    np.testing.assert_allclose(prox_lpinf(a, t, 1.0), soft, atol=1e-14)


@pytest.mark.parametrize("p", POWERS[:-1])
@pytest.mark.parametrize("t", [1e-6, 0.3, 1.0, 2.0, 50.0])
def test_prox_lpinf_one_column_closed_threshold(p, t):
    """|a| <= (2-p)/(2(1-p)) (2 t (1-p))^(1/(2-p)) gives 0; above, the jump is explicit."""
    jump = (2 * t * (1 - p)) ** (1 / (2 - p))
    edge = (2 - p) / (2 * (1 - p)) * jump
    a = np.array([[edge * (1 - 1e-9)], [-edge * (1 + 1e-9)]])
    out = prox_lpinf(a, t, p)
    assert out[0, 0] == 0
    assert out[1, 0] == pytest.approx(-jump, rel=1e-6)


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_prox_lpinf_tie_prefers_zero(p):
    """At the closed threshold (p = 0: 1/2||a||^2 = t) both 0 and the other minimum are best."""
    t = 4.5 if p == 0 else 1.0
    a = np.array([[1.0, 2.0, 2.0]]) if p == 0 else np.array([[1.5, 0.0]])
    assert not prox_lpinf(a, t, p).any()
    assert prox_lpinf(a * (1 + 1e-12), t, p).any()


@many
@given(matrices(max_c=3), thresholds)
def test_prox_lpinf_p0_keeps_or_removes(A, t):
    W = prox_lpinf(A, t, 0)
    half = 0.5 * (A**2).sum(axis=1)
    clear = np.abs(half - t) > 1e-12 * (1 + t)
    np.testing.assert_array_equal(W[clear], np.where(half > t, 1, 0)[clear, None] * A[clear])


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150])
def test_prox_lpinf_extreme_scales(p, scale):
    """prox(s A, t s^(2-p)) = s prox(A, t); with t out of proportion, all or nothing."""
    A = np.array([[3.0, -1.0, 0.5], [0.2, 0.1, 0.0], [0.0, 0.0, 0.0], [6.0, 1.0, 1.0]])
    t = 1.3
    matched = t * scale ** (1 - p) * scale
    if 0 < matched < np.inf:
        out = prox_lpinf(A * scale, matched, p) / scale
        np.testing.assert_allclose(out, prox_lpinf(A, t, p), rtol=1e-10, atol=1e-13)
    out = prox_lpinf(A * scale, 1.0, p)
    expected = A * scale if scale > 1 else 0 * A
    np.testing.assert_allclose(out, expected, rtol=1e-15)
    big = prox_lpinf(A * scale, 1e300, p)
    tiny = prox_lpinf(A * scale, 1e-320, p)
    assert np.isfinite(big).all()
    assert np.isfinite(tiny).all()
    np.testing.assert_allclose(tiny, A * scale, rtol=1e-10)


def test_prox_lpinf_mixes_scales_in_one_row_and_matrix():
    A = np.array([[1e150, 1e-150], [1e-150, 1e-150], [1.0, 1e-300], [5e-324, 0.0]])
    for p in POWERS:
        out = prox_lpinf(A, 0.01, p)
        np.testing.assert_array_equal(out[0], A[0])
        assert not out[1].any()
        assert 0.9 < out[2, 0] <= 1
        assert not out[3].any()


@pytest.mark.parametrize("p", POWERS)
def test_prox_lpinf_one_weight_a_row(p):
    rng = np.random.default_rng(3)
    A = rng.normal(size=(50, 3))
    t = rng.choice([0.0, 0.1, 1.0, 3.0], size=50)
    out = prox_lpinf(A, t, p)
    for j in range(50):
        np.testing.assert_allclose(out[j], prox_lpinf(A[j : j + 1], t[j], p)[0], atol=1e-14)


@pytest.mark.parametrize("p", POWERS)
def test_prox_lpinf_float32(p):
    rng = np.random.default_rng(4)
    A = rng.normal(size=(100, 4)).astype(np.float32)
    out = prox_lpinf(A, 0.7, p)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, prox_lpinf(A.astype(float), 0.7, p), atol=1e-6)
    np.testing.assert_array_equal(prox_lpinf(A, 1e-30, p), A)


def test_prox_lpinf_equivariance():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(60, 5))
    columns, signs = rng.permutation(5), rng.choice([-1.0, 1.0], size=A.shape)
    for p in POWERS:
        W = prox_lpinf(A, 0.8, p)
        np.testing.assert_allclose(prox_lpinf(A[:, columns], 0.8, p), W[:, columns], atol=1e-14)
        np.testing.assert_array_equal(prox_lpinf(A * signs, 0.8, p), W * signs)
        np.testing.assert_array_equal(prox_lpinf(np.asfortranarray(A), 0.8, p), W)


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


def test_lpinf_penalty():
    W = np.array([[1.0, -4.0], [0.0, 0.0], [9.0, 2.0]])
    assert lpinf_penalty(W, 0) == 2
    assert lpinf_penalty(W, 0.5) == 5
    assert lpinf_penalty(W, 1) == 13
    assert lpinf_penalty(W.astype(np.float32), 0.5) == 5


# ------------------------------------------------ printed errors of Kong and Ding (2014)


def value_of(W, a, t, p):
    return float(lpinf_value(np.atleast_2d(W), np.atleast_2d(a), t, p)[0])


def test_kong_ding_1_no_clipping_at_zero():
    a = np.array([[1.0]])
    printed, right = prox_lpinf_published(a, 2, 1), prox_lpinf(a, 2, 1)
    assert printed[0, 0] == -1
    assert value_of(printed, a, 2, 1) == 4.0
    assert right[0, 0] == 0
    assert value_of(right, a, 2, 1) == 0.5


def test_kong_ding_1_every_row_to_be_removed():
    rng = np.random.default_rng(0)
    A = rng.uniform(0.01, 0.3, size=(200, 3))
    assert (prox_lpinf_published(A, 1.0, 1.0) < 0).all()
    assert not prox_lpinf(A, 1.0, 1.0).any()


def test_kong_ding_2_negative_start():
    a = np.array([[1.0]])
    assert np.isnan(prox_lpinf_published(a, 2, 0.5)).all()
    assert prox_lpinf(a, 2, 0.5)[0, 0] == 0


def test_kong_ding_3_local_maximum():
    a = np.array([[1.25]])
    printed, right = prox_lpinf_published(a, 1, 0.5), prox_lpinf(a, 1, 0.5)
    assert printed[0, 0] == 0.25
    assert value_of(printed, a, 1, 0.5) == 1.0
    assert right[0, 0] == 0
    assert value_of(right, a, 1, 0.5) == 0.78125


def test_kong_ding_4_no_comparison_with_zero():
    a = np.array([[1.4]])
    printed, right = prox_lpinf_published(a, 1, 0.5), prox_lpinf(a, 1, 0.5)
    assert printed[0, 0] == pytest.approx(0.8612, abs=5e-5)
    assert value_of(printed, a, 1, 0.5) == pytest.approx(1.0732, abs=5e-5)
    assert right[0, 0] == 0
    assert value_of(right, a, 1, 0.5) == pytest.approx(0.98)


def test_kong_ding_5_first_piece_is_not_the_best():
    a, t, p = np.array([[6.0, 1.0, 1.0, 1.0]]), 6.6701, 0.75
    printed, right = prox_lpinf_published(a, t, p), prox_lpinf(a, t, p)
    assert printed.max() == pytest.approx(0.999, abs=5e-4)
    assert value_of(printed, a, t, p) == pytest.approx(19.1701, abs=5e-5)
    assert right.max() == pytest.approx(1.4056, abs=5e-5)
    assert value_of(right, a, t, p) == pytest.approx(19.1648, abs=5e-5)
    assert value_of(0 * a, a, t, p) == 19.5


def test_kong_ding_5_first_piece_is_worse_than_zero():
    a, t, p = np.array([[10.5, 1.0, 1.0, 1.0, 1.0]]), 19.0015, 0.5
    printed, right = prox_lpinf_published(a, t, p), prox_lpinf(a, t, p)
    assert np.isnan(printed).all()  # the start (14.5 - 19.0015)/5 is negative
    level = 0.99685  # where Newton from b_5 = 1 ends, a local minimum
    assert 5 * level - a.sum() + t * p / level**0.5 == pytest.approx(0, abs=1e-4)
    first = np.minimum(a, level)
    assert value_of(first, a, t, p) == pytest.approx(64.13, abs=5e-3)
    assert right.max() == pytest.approx(6.877, abs=5e-4)
    assert value_of(right, a, t, p) == pytest.approx(56.39, abs=5e-3)
    assert value_of(0 * a, a, t, p) == pytest.approx(57.13, abs=6e-3)


def test_kong_ding_5_a_thousand_small_entries():
    a, t, p = np.ones((1, 1001)), 400.0, 0.5
    a[0, 0] = 100
    printed, right = prox_lpinf_published(a, t, p), prox_lpinf(a, t, p)
    assert printed.max() == pytest.approx(0.887, abs=5e-4)
    assert right.max() == pytest.approx(77.24, abs=5e-3)
    assert value_of(right, a, t, p) < value_of(printed, a, t, p)
    assert_lpinf_optimal(a, t, p, points=501)


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


def test_published_keeps_dtype_and_zero_weight():
    A = np.array([[3.0, -1.0], [2.0, 2.0]], dtype=np.float32)
    out = prox_lpinf_published(A, 0.0, 0.5)
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, A)


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


@fast
@given(pairs(max_d=4, max_c=2), st.integers(0, 5), thresholds, thresholds)
def test_prox_dc_beats_other_points(data, k, inner, more):
    U, other = data
    W = prox_dc(U, k, inner, inner + more)
    value = dc_value(W, U, k, inner, inner + more)
    for V in (other, W + 1e-3 * other, W + 0.1 * other, U, 0 * U):
        assert value <= dc_value(V, U, k, inner, inner + more) + 1e-11


def test_prox_dc_ends_are_shrink():
    U = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_array_equal(prox_dc(U, 0, 0.2, 0.9), shrink(U, 0.9))
    np.testing.assert_array_equal(prox_dc(U, 20, 0.2, 0.9), shrink(U, 0.2))
    np.testing.assert_array_equal(prox_dc(U, 99, 0.0, 0.9), U)
    np.testing.assert_array_equal(prox_dc(U, 7, 0.5, 0.5), shrink(U, 0.5))
    np.testing.assert_array_equal(prox_dc(U, 7, 0.0, 1e9), project_l20(U, 7))
    assert prox_dc(U.astype(np.float32), 7, 0.1, 0.5).dtype == np.float32


def test_prox_dc_ties_and_zero_rows():
    U = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    np.testing.assert_array_equal(prox_dc(U, 1, 0.0, 1.0), [[0, 0], [2, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(prox_dc(U, 3, 0.0, 1.0), U)
    np.testing.assert_array_equal(prox_dc(U, 3, 0.0, 0.0), U)


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e150, 1e200])
def test_prox_dc_extreme_scales(scale):
    U = np.array([[3.0, 4.0], [0.6, 0.8], [0.0, 0.0], [2.0, 0.0]])
    out = prox_dc(U * scale, 1, 0.5 * scale, 1.5 * scale) / scale
    np.testing.assert_allclose(out, prox_dc(U, 1, 0.5, 1.5), atol=1e-14)


@pytest.mark.parametrize(("inner", "outer"), [(1.0, 0.5), (-1.0, 0.5), (np.nan, 1.0)])
def test_prox_dc_rejects_bad_weights(inner, outer):
    with pytest.raises(ValueError, match="inner"):
        prox_dc(np.ones((2, 2)), 1, inner, outer)


def test_an_dong_qin_prox_without_positive_part():
    """U = (2, 0.3), K = 1, alpha = 1: printed (2, -0.7) has value 1.2, right (2, 0) 0.045."""
    U = np.array([[2.0], [0.3]])
    printed, right = prox_dc_published(U, 1, 1.0), prox_dc(U, 1, 0.0, 1.0)
    np.testing.assert_allclose(printed, [[2], [-0.7]])
    np.testing.assert_array_equal(right, [[2], [0]])
    assert dc_value(printed, U, 1, 0, 1) == pytest.approx(1.2)
    assert dc_value(right, U, 1, 0, 1) == pytest.approx(0.045)


def test_an_dong_qin_printed_prox_never_makes_a_zero_row():
    rng = np.random.default_rng(2)
    U = rng.normal(size=(300, 4))
    U[5] = 0
    printed, right = prox_dc_published(U, 10, 3.0), prox_dc(U, 10, 0.0, 3.0)
    assert np.count_nonzero(printed.any(axis=1)) == 299
    assert np.count_nonzero(right.any(axis=1)) < 150
    assert dc_value(right, U, 10, 0, 3.0) < dc_value(printed, U, 10, 0, 3.0)


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
    S = np.cumsum(b)
    with np.errstate(all="ignore"):
        for k in range(b.size, 0, -1):
            s = (S[k - 1] - t) / k
            for _ in range(20 if p < 1 else 0):
                g = k * s - S[k - 1] + t * p * s ** (p - 1)
                s = s - g / (k + t * p * (p - 1) * s ** (p - 2))
            if not s > b[k - 1]:
                break
        return np.sign(a) * np.minimum(np.abs(a), s)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("t", [0.1, 1.0, 4.0])
def test_published_prox_equals_the_printed_page_row_by_row(p, t):
    A = np.random.default_rng(0).standard_normal((80, 4)) * 2
    row_by_row = np.array([_printed_row(a, t, p) for a in A])
    np.testing.assert_allclose(prox_lpinf_published(A, t, p), row_by_row, rtol=1e-6, atol=1e-9)
