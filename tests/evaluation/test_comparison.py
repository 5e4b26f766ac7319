"""Ranks and tests over data sets."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from rowsparse.evaluation import compare_over_datasets
from rowsparse.evaluation.dataset_comparison import signed_rank_p

# Table 6 of Demsar (2006): AUC of C4.5 with and without two parameters, on 14 data sets.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)
NAMES = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]


def test_the_example_of_demsar():
    result = compare_over_datasets(DEMSAR, NAMES)
    ranks = dict(zip(result.methods, result.mean_ranks, strict=True))
    assert ranks == pytest.approx(
        {"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}, abs=6e-4
    )
    # He prints 2.569 for the quantile and 1.25 for the difference.
    assert result.critical_difference == pytest.approx(1.25, abs=5e-3)
    at_90 = compare_over_datasets(DEMSAR, NAMES, confidence=0.9)
    assert at_90.critical_difference == pytest.approx(1.12, abs=5e-3)
    assert result.friedman_p == pytest.approx(friedmanchisquare(*DEMSAR.T).pvalue)
    assert result.n_datasets == 14
    assert result.alike.all()
    assert result.cliques == [(0, 3)]


def test_clear_differences_make_several_cliques():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((40, 4)) * 0.3 + [0.0, 0.1, 5.0, 10.0]
    result = compare_over_datasets(scores, list("abcd"))
    assert result.methods[:2] == ("d", "c")
    assert result.cliques == [(2, 3)]
    assert not result.alike[0, 1]
    assert result.wins[0, 3] == 40


def test_wilcoxon_with_holms_correction():
    rng = np.random.default_rng(1)
    scores = rng.standard_normal((12, 3)) + np.array([0.0, 0.5, 1.5])
    result = compare_over_datasets(scores, ["a", "b", "c"])
    columns = {name: scores[:, "abc".index(name)] for name in "abc"}
    raw = {}
    for i in range(3):
        for j in range(i + 1, 3):
            first, second = columns[result.methods[i]], columns[result.methods[j]]
            raw[i, j] = wilcoxon(first - second, method="exact").pvalue
    ordered = sorted(raw, key=raw.__getitem__)
    running = 0.0
    for factor, pair in zip((3, 2, 1), ordered, strict=True):
        running = max(running, min(1.0, factor * raw[pair]))
        assert result.wilcoxon_p[pair] == pytest.approx(running)


@pytest.mark.parametrize("n", [2, 5, 10, 28, 50])
def test_the_signed_rank_test_is_that_of_scipy(n):
    differences = np.random.default_rng(n).standard_normal(n) + 0.3
    expected = wilcoxon(differences, method="exact").pvalue
    assert signed_rank_p(differences) == pytest.approx(expected, rel=1e-10)
    assert signed_rank_p(-differences) == pytest.approx(expected, rel=1e-10)
    many = np.random.default_rng(n).standard_normal(60) + 0.3
    approximate = wilcoxon(many, method="approx").pvalue
    assert signed_rank_p(many) == pytest.approx(approximate, rel=1e-10)


def test_ties_and_zeros_are_counted_sign_by_sign():
    differences = np.array([0.0, 1.0, 1.0, -1.0, 2.0, 0.0, 3.0, 3.0])
    ranks = rankdata(np.abs(differences))[differences != 0]
    signs = np.array(list(product((-1, 1), repeat=ranks.size)))
    observed = abs(ranks @ np.sign(differences[differences != 0]))
    expected = np.mean(np.abs(signs @ ranks) >= observed)
    assert signed_rank_p(differences) == pytest.approx(expected)
    assert signed_rank_p(np.zeros(4)) == 1.0


def test_errors_rank_the_other_way_and_gaps_are_left_out():
    scores = np.array([[1.0, 2.0], [1.0, 3.0], [np.nan, 0.0], [1.0, 5.0]])
    result = compare_over_datasets(scores, ["a", "b"], higher_is_better=False)
    assert result.methods == ("a", "b")
    assert result.n_datasets == 3
    assert result.mean_ranks.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("scores", "methods", "message"),
    [
        (np.ones((3, 2)), ["a"], "one column for each of the 1 methods"),
        (np.ones((1, 2)), ["a", "b"], "At least two methods"),
        (np.full((4, 2), np.nan), ["a", "b"], "0 data sets without gaps"),
    ],
)
def test_wrong_input(scores, methods, message):
    with pytest.raises(ValueError, match=message):
        compare_over_datasets(scores, methods)
