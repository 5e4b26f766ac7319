"""RFS on blocks and dask collections equals RFS in memory."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse import RFS, RowBlocks
from rowsparse.selectors.sparse import rfs as module

rng = np.random.default_rng(0)
X = rng.standard_normal((90, 6)) * [1, 1, 1, 1, 10, 0.1] + 5.0
X = X[np.argsort(X[:, 0] - 2 * X[:, 3])]  # so that one class appears late
LABELS = np.array(["a", "b", "late"])[np.digitize(X[:, 0] - 2 * X[:, 3], [-7.0, -3.0])]
NUMBERS = X[:, 0] - X[:, 3] + rng.standard_t(2, 90)
WEIGHTS = np.where(np.arange(90) % 7, rng.random(90) + 0.5, 0.0)


def assert_same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found.support_, expected.support_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=2e-5)
    np.testing.assert_allclose(
        found.coef_, expected.coef_, atol=0.01 * np.abs(expected.coef_).max()
    )
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=0.05)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_weight": "balanced"},
        {"fit_intercept": False},
        {"standardize": False},
        {"standardize": False, "fit_intercept": False},
    ],
)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_blocks_give_the_answer_of_memory(options: dict[str, Any], weights: Any) -> None:
    selector = RFS(2, gamma=5.0, tol=1e-5, **options)
    found = selector.fit(RowBlocks.from_arrays(X, LABELS, weights, rows=40))
    assert found.n_passes_ == found.n_iter_ + 2 + ("class_weight" in options)
    assert found.gap_ <= 1e-5
    assert not hasattr(found, "dual_coef_")
    assert_same(found, RFS(2, gamma=5.0, tol=1e-5, **options).fit(X, LABELS, weights))


@pytest.mark.parametrize("scale", [1.0, 2.0**200])
def test_numbers_in_sparse_blocks_with_an_empty_one(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK_ENTRIES", 100)  # several chunks in a block
    y = scale * NUMBERS
    sparse = sp.csr_array(X)
    blocks = [(sparse[:30], y[:30]), (sparse[:0], y[:0]), (sparse[30:], y[30:])]
    found = RFS(2, gamma=20.0, tol=1e-5).fit(RowBlocks(lambda: iter(blocks)))
    expected = RFS(2, gamma=20.0, tol=1e-5).fit(X, y)
    np.testing.assert_array_equal(found.support_, expected.support_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=2e-5)


def test_dask_arrays_in_chunks_along_both_axes() -> None:
    da = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")
    lazy = da.from_array(X, chunks=(35, 4))
    with dask.config.set(scheduler="synchronous"):
        found = RFS(2, gamma=5.0, tol=1e-2).fit(
            lazy, da.from_array(LABELS, chunks=50), da.from_array(WEIGHTS, chunks=90)
        )
    blocks = RowBlocks.from_arrays(X, LABELS, WEIGHTS, rows=35)
    expected = RFS(2, gamma=5.0, tol=1e-2).fit(blocks)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8, atol=1e-10)
    assert found.n_passes_ == expected.n_passes_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "gamma=None needs all samples at once"),
        ({"gamma": 1.0, "solver": "admm"}, "solver='auto' or 'irls'"),
        ({"gamma": 1.0, "variant": "published"}, "variant='corrected'"),
    ],
)
def test_what_needs_all_samples_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RFS(2, **options).fit(RowBlocks.from_arrays(X, LABELS))


def test_too_many_columns_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PRODUCTS", 5)
    with pytest.raises(ValueError, match="the 6 columns are more than 5"):
        RFS(2, gamma=1.0).fit(RowBlocks.from_arrays(X, LABELS))


def test_a_block_that_changes_between_passes_is_named() -> None:
    passes = list[int]()

    def read() -> Any:
        passes.append(1)
        width = 6 if len(passes) < 3 else 5
        return [(X[:40], LABELS[:40]), (X[40:, :width], LABELS[40:])]

    selector = RFS(2, gamma=5.0)
    with pytest.raises(ValueError, match="Block 1: it is not as it was in the pass before"):
        selector.fit(RowBlocks(read))
    assert not hasattr(selector, "support_")
