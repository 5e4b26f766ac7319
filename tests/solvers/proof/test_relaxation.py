"""The set of the relaxed choices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.solvers.proof.relaxation import project_capped_simplex


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_capped_simplex_projection_satisfies_its_optimality_condition(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 12))
    k = int(rng.integers(0, m + 1))
    v = rng.standard_normal(m) * 10.0 ** rng.uniform(-2, 2)
    s = project_capped_simplex(v, k)
    assert s.sum() == pytest.approx(k, abs=1e-9)
    assert np.all((s >= 0) & (s <= 1))
    # v - s is constant inside, at most that at 0 and at least that at 1.
    shift = v - s
    inside = (s > 1e-9) & (s < 1 - 1e-9)
    low = shift[s <= 1e-9].max(initial=-np.inf)
    high = shift[s >= 1 - 1e-9].min(initial=np.inf)
    assert low <= high + 1e-9
    if inside.any():
        assert np.ptp(shift[inside]) <= 1e-9 * max(1.0, np.abs(v).max())
        assert low - 1e-9 <= shift[inside].mean() <= high + 1e-9
