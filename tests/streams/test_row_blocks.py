"""Sources of blocks, and what is said when one is not as it should be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse import RPFS, RowBlocks, StabilitySelection, TopK, TopKCV

rng = np.random.default_rng(0)
X = rng.standard_normal((100, 8))
Y = X[:, 0] - X[:, 3] + 0.3 * rng.standard_normal(100)
CLASSES = np.sort(np.digitize(Y, [-1.0, 1.0]))


def blocks_of(parts: list[tuple[Any, ...]]) -> RowBlocks:
    return RowBlocks(lambda: iter(parts))


@pytest.mark.parametrize("kind", ["array", "memmap", "sparse"])
def test_arrays_by_slices_give_the_answer_of_all_samples(kind: str, tmp_path: Path) -> None:
    stored: Any = sp.csc_array(X) if kind == "sparse" else X
    if kind == "memmap":
        np.save(tmp_path / "X.npy", X)
        stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    w = rng.random(100) + 0.1
    blocks = RowBlocks.from_arrays(stored, CLASSES, w, rows=30)
    found = TopK(3, random_state=0, loss="squared").fit(blocks)
    expected = TopK(3, random_state=0, loss="squared").fit(X, CLASSES, w)
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_allclose(found.objective_, expected.objective_)
    assert (found.n_passes_, blocks.n_blocks) == (1, 4)


def test_the_choice_of_k_and_the_stability_take_one_pass() -> None:
    blocks = RowBlocks.from_arrays(X, Y, rows=17)
    chosen = TopKCV(k_max=4, random_state=0).fit(blocks)
    assert (chosen.n_features_, chosen.n_passes_, blocks.n_passes) == (2, 1, 1)
    by_ebic = TopKCV(k_max=4, cv=None, rule="ebic", random_state=0).fit(blocks)
    assert by_ebic.get_support(indices=True).tolist() == [0, 3]
    stable = StabilitySelection(TopK(2), n_subsamples=10, random_state=0).fit(blocks)
    assert stable.get_support(indices=True).tolist() == [0, 3]
    assert blocks.n_passes == 3


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((X[:5, :3], Y[:5]), "Block 37: X has 3 columns"),
        ((np.full((5, 8), np.nan), Y[:5]), "Block 37: X contains NaN in column 'f0'"),
        ((X[:5], Y[:4]), "Block 37: y has 4 samples"),
        ((X[:5],), "Block 37: "),
    ],
)
def test_a_bad_block_is_named_and_nothing_is_fitted(bad: tuple[Any, ...], message: str) -> None:
    parts = [*([(X[:5], Y[:5])] * 37), bad]
    names = [f"f{j}" for j in range(8)]
    selector = TopK(2, random_state=0)
    with pytest.raises((TypeError, ValueError), match=message):
        selector.fit(RowBlocks(lambda: iter(parts), feature_names=names))
    assert not hasattr(selector, "support_")
    assert not hasattr(selector, "n_features_in_")


def test_a_source_that_changes_is_refused() -> None:
    parts = [(X[:50], Y[:50]), (X[50:], Y[50:])]
    blocks = blocks_of(parts)
    TopK(2, random_state=0).fit(blocks)
    last = parts.pop()
    with pytest.raises(ValueError, match="Block 1 is not as it was in the pass before"):
        TopK(2).fit(blocks)
    parts.append((last[0][:9], last[1][:9]))
    with pytest.raises(ValueError, match="Block 1 is not as it was in the pass before"):
        TopK(2).fit(blocks)


def test_a_mapped_file_that_shrinks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "X.npy"
    np.save(path, X)
    blocks = RowBlocks.from_arrays(np.load(path, mmap_mode="r"), Y, rows=50)
    with path.open("r+b") as file:
        file.truncate(200)
    with pytest.raises(ValueError, match=r"Block 0: .*X\.npy has become shorter"):
        TopK(2).fit(blocks)


def test_what_is_no_source_is_refused() -> None:
    with pytest.raises(TypeError, match="must be a function"):
        RowBlocks([(X, Y)])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no blocks"):
        TopK(2).fit(blocks_of([]))
    with pytest.raises(ValueError, match="y has 3 samples"):
        RowBlocks.from_arrays(X, Y[:3])
    with pytest.raises(ValueError, match="come with the RowBlocks"):
        TopK(2).fit(blocks_of([(X, Y)]), Y)
    with pytest.raises(ValueError, match="come with the RowBlocks"):
        StabilitySelection().fit(blocks_of([(X, Y)]), sample_weight=Y)
    with pytest.raises(ValueError, match="come with the RowBlocks"):
        TopKCV(k_max=3).fit(blocks_of([(X, Y)]), groups=Y)
    with pytest.raises(TypeError, match="RPFS needs all samples at once"):
        RPFS(2).fit(blocks_of([(X, Y)]), Y)
    assert repr(blocks_of([])) == "RowBlocks(n_blocks=None, n_passes=0)"
