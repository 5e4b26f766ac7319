"""Passes over blocks, with class weights too, and errors that name a block."""

from typing import Any

import numpy as np
import pytest

from rowsparse import Moments, RowBlocks, StabilitySelection, TopK, TopKCV, topk_path
from rowsparse.moments.parts import merged
from rowsparse.streams.passes import gather, gather_parts, with_class_weights
from rowsparse.targets import combine_weights, encode_targets

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 5))


def test_a_pass_tells_how_far_it_is() -> None:
    blocks, told = RowBlocks.from_arrays(X, X[:, 0], rows=20), list[int]()
    found = gather(blocks, "auto", most_products=5)
    expected = Moments().update(X, X[:, 0]).statistics
    np.testing.assert_allclose(found.statistics.full_xx(), expected.full_xx())
    parts = gather_parts(blocks, "auto", 3, told.append)
    np.testing.assert_allclose(merged(parts).statistics.full_xx(), expected.full_xx())
    assert told == [1, 2, 3]
    assert not gather(blocks, "auto", most_products=4).has_products
    # Parts without samples are left out.
    assert len(gather_parts(RowBlocks.from_arrays(X[:2], X[:2, 0]), "auto", 5)) == 2


# ------------------------------------------------------------------------- class weights
y = np.array(["b"] * 40 + ["a"] * 15 + ["c"] * 5)  # some classes appear late
W = rng.random(60)


@pytest.mark.parametrize("class_weight", ["balanced", {"c": 7.0}])
@pytest.mark.parametrize("given", [None, W])
def test_weights_are_those_of_all_samples(class_weight: Any, given: Any) -> None:
    blocks = RowBlocks.from_arrays(X, y, given, rows=25)
    weighted = with_class_weights(blocks, class_weight, "auto")
    found = np.concatenate([block.sample_weight for _, block in weighted.blocks()])
    expected = combine_weights(encode_targets(y, "auto"), given, class_weight)
    np.testing.assert_allclose(found, expected)
    assert blocks.n_passes == weighted.n_passes == 2


@pytest.mark.parametrize("class_weight", ["balanced", {"a": 0.2, "c": 3.0}])
def test_what_searches_several_sizes_has_them_as_topk_does(class_weight: Any) -> None:
    blocks = RowBlocks.from_arrays(X, y, W, rows=25)
    options: dict[str, Any] = {"class_weight": class_weight, "random_state": 0}
    path = topk_path(blocks, None, 3, **options)
    whole = topk_path(X, y, 3, sample_weight=W, loss="squared", **options)
    np.testing.assert_allclose(path.objectives, whole.objectives)
    np.testing.assert_allclose(path.coef(3), whole.coef(3), atol=1e-9)
    by_ebic = TopKCV(k_max=3, rule="ebic", **options).fit(blocks)
    expected = TopKCV(k_max=3, rule="ebic", loss="squared", **options).fit(X, y, W)
    np.testing.assert_allclose(by_ebic.cv_results_["ebic"], expected.cv_results_["ebic"])
    np.testing.assert_allclose(by_ebic.coef_, expected.coef_, atol=1e-9)
    # They are sample weights, of the fits and of the scores.
    weights = combine_weights(encode_targets(y, "auto"), W, class_weight)
    for chooser, plain in (
        (TopKCV(k_max=3, cv=3, **options), TopKCV(k_max=3, cv=3, random_state=0)),
        (
            StabilitySelection(TopK(2, class_weight=class_weight), n_subsamples=6, random_state=0),
            StabilitySelection(TopK(2), n_subsamples=6, random_state=0),
        ),
    ):
        found = chooser.fit(blocks)
        weighted = plain.fit(RowBlocks.from_arrays(X, y, weights, rows=25))
        np.testing.assert_array_equal(found.support_, weighted.support_)
        assert (found.n_passes_, weighted.n_passes_) == (2, 1)
        if isinstance(found, TopKCV):
            final = TopK(found.n_features_, loss="squared", **options).fit(X, y, W)
            np.testing.assert_allclose(found.objective_, final.objective_)
            scores = [one.cv_results_["mean_test_score"] for one in (found, weighted)]
            np.testing.assert_allclose(*scores)


def test_a_class_that_appears_in_the_second_pass_names_its_block() -> None:
    passes = []

    def read() -> Any:
        passes.append(1)
        labels = y.copy()
        labels[-1] = "c" if len(passes) == 1 else "d"
        return [(X[:30], labels[:30]), (X[30:], labels[30:])]

    selector = TopK(2, class_weight="balanced")
    with pytest.raises(ValueError, match=r"^Block 1: y has the class 'd'.*must not change"):
        selector.fit(RowBlocks(read))
    assert not hasattr(selector, "support_")
