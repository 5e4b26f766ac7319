"""Products in blocks against the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rowsparse.design import products


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_the_gram_matrix_of_blocks_is_that_of_all_rows(
    order: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_PART_ENTRIES", 50)
    rng = np.random.default_rng(0)
    X = np.asarray(1e4 * rng.standard_normal((33, 7)), dtype=dtype, order=order)
    mean, inv_scale = X.mean(axis=0), rng.random(7)
    off = rng.standard_normal(7)
    Z = (X - mean) * inv_scale
    found = products.centred_gram([X[:20], X[20:]], mean + off, -off, inv_scale)
    np.testing.assert_allclose(found, Z.T @ Z, rtol=1e-10, atol=1e-4)
    np.testing.assert_array_equal(found, found.T)
