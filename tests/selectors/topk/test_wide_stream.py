"""Streamed samples with too many columns for X'X: a few passes, and the answer of all at once."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse import CDLSR, RowBlocks, TopK, topk_path
from rowsparse.selectors.base import source
from rowsparse.selectors.topk import wide_stream

rng = np.random.default_rng(0)
X = rng.standard_normal((150, 60)) + 3.0 * rng.random(60)
# Column 40 explains next to nothing alone, and much beside column 1.
X[:, 40] = X[:, 1] + rng.standard_normal(150)
Y = X[:, 0] + 2.0 * X[:, 1] - X[:, 40] + 0.2 * rng.standard_normal(150)


@pytest.fixture(autouse=True)
def few_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_PRODUCTS", 30)
    monkeypatch.setattr(wide_stream, "_CANDIDATES", 8)
    monkeypatch.setattr(wide_stream, "_MORE", 6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("options", [{}, {"include": [50], "exclude": [0]}, {"standardize": False}])
def test_the_answer_is_that_of_all_samples(
    sparse: bool, classes: bool, options: dict[str, Any]
) -> None:
    y = (Y.mean() < Y).astype(int) if classes else Y
    w = rng.random(150) + 0.2
    blocks = RowBlocks.from_arrays(sp.csr_array(X) if sparse else X, y, w, rows=40)
    found = TopK(3, random_state=0, alpha=0.01, **options, loss="squared").fit(blocks)
    whole = TopK(3, random_state=0, alpha=0.01, **options, loss="squared").fit(X, y, w)
    np.testing.assert_array_equal(found.support_, whole.support_)
    np.testing.assert_array_equal(found.ranking_, whole.ranking_)
    np.testing.assert_allclose(found.objective_, whole.objective_, rtol=1e-9)
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.scores_, whole.scores_, rtol=1e-6, atol=1e-9)
    assert found.n_features_in_ == 60
    assert 3 <= found.n_passes_ == blocks.n_passes <= 21


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (TopK(2, certify=True), "too many columns"),
        (TopK(2, standardize=False, fit_intercept=False), "must be centred"),
        (CDLSR(2), "more than 30: use TopK"),
    ],
)
def test_what_cannot_be_done_is_said(selector: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        selector.fit(RowBlocks.from_arrays(X, Y))
    assert not hasattr(selector, "n_features_in_")


def test_a_path_needs_all_products() -> None:
    with pytest.raises(ValueError, match="A path needs X'X in memory, and the 60 columns"):
        topk_path(RowBlocks.from_arrays(X, Y), None, 3)
