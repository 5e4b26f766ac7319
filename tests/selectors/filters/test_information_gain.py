"""InformationGain: the bits of columns in states."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics import mutual_info_score

from rowsparse import InformationGain
from rowsparse.solvers.filters.discretize import discretize

METHODS = ("mdl", "weka", "equal_width", "mean_std", "none")


def problem(seed: int = 0, n: int = 90, d: int = 12):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d)) + rng.standard_normal((3, d))[y] * np.linspace(0, 2, d)
    return np.round(X, 1), y


def mutual_information(codes, y):
    return np.array([mutual_info_score(code, y) for code in codes.T]) / np.log(2)


@pytest.mark.parametrize("method", METHODS)
def test_scores_are_the_mutual_information_of_the_states(method):
    X, y = problem()
    selector = InformationGain(3, discretize=method, bins=6, bin_width=0.8).fit(X, y)
    codes = discretize(X, method, labels=y, bins=6, bin_width=0.8)
    np.testing.assert_allclose(selector.scores_, mutual_information(codes, y), atol=1e-9)
    assert hasattr(selector, "best_cut_gains_") == (method in ("mdl", "weka"))


def test_bins_and_width_matter():
    X, y = problem()

    def scores(**options):
        return InformationGain(3, **options).fit(X, y).scores_

    assert not np.allclose(
        scores(discretize="equal_width", bins=3), scores(discretize="equal_width")
    )
    assert not np.allclose(
        scores(discretize="mean_std", bin_width=1), scores(discretize="mean_std")
    )
    assert not np.allclose(scores(discretize="weka"), scores())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [np.asfortranarray, sp.csr_array, sp.csc_matrix])
def test_sparse_data_give_the_same(method, kind):
    X, y = problem()
    X[np.abs(X) < 0.8] = 0.0
    dense = InformationGain(3, discretize=method).fit(X, y)
    other = InformationGain(3, discretize=method).fit(kind(X), y)
    np.testing.assert_array_equal(other.scores_, dense.scores_)
    np.testing.assert_array_equal(other.ranking_, dense.ranking_)


def test_ties_go_to_the_better_single_cut():
    _, y = problem()
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((90, 8))
    noise[:, 5] += 0.3 * y  # too little for a cut to pay, more than nothing
    selector = InformationGain(1).fit(noise, y)
    assert not selector.scores_.any()
    best = int(selector.best_cut_gains_.argmax())
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), [best])
    assert best > 0
    by_index = InformationGain(1, tie_break="index").fit(noise, y)
    np.testing.assert_array_equal(np.flatnonzero(by_index.support_), [0])


@pytest.mark.parametrize("aggregate", ["mean", "max", "mean_rank"])
def test_each_label_is_a_problem_of_two_classes(aggregate):
    X, y = problem()
    Y = np.column_stack([y == 0, y == 2, y != 1, np.ones(90)]).astype(int)
    each = np.array([InformationGain(3).fit(X, label).scores_ for label in Y.T[:3]])
    found = InformationGain(3, aggregate=aggregate).fit(X, Y).scores_
    if aggregate == "mean_rank":
        better = (each[:, None, :] > each[:, :, None]).sum(axis=2)
        np.testing.assert_allclose(found, 1 / (1 + better.mean(axis=0)))
    else:
        np.testing.assert_allclose(found, getattr(each, aggregate)(axis=0))


def test_labels_that_are_all_constant_are_refused():
    X, _ = problem()
    with pytest.raises(ValueError, match="Every label of y is constant"):
        InformationGain(2, task="multilabel").fit(X, np.ones((90, 2)))


def test_permuted_duplicated_and_constant_columns():
    X, y = problem()
    plain = InformationGain(3).fit(X, y)
    order = np.random.default_rng(0).permutation(12)
    permuted = InformationGain(3).fit(X[:, order], y)
    np.testing.assert_array_equal(permuted.scores_, plain.scores_[order])
    wider = InformationGain(3).fit(np.column_stack([X, X[:, 8], np.full(90, 0.1)]), y)
    np.testing.assert_array_equal(wider.scores_, [*plain.scores_, plain.scores_[8], 0.0])


@pytest.mark.parametrize("method", ["mdl", "weka", "mean_std", "equal_width"])
def test_rescaling_a_column_changes_nothing(method):
    X, y = problem()
    X = X + 0.03  # no value on an edge
    plain = InformationGain(3, discretize=method).fit(X, y)
    rescaled = InformationGain(3, discretize=method).fit(X * 2.0 ** np.arange(-300, 300, 50), y)
    np.testing.assert_array_equal(rescaled.scores_, plain.scores_)


def test_permuted_labels_leave_almost_nothing(benchmark_data):
    X, y = benchmark_data("glioma")
    X, rng = X[:, :1000], np.random.default_rng(0)
    assert (InformationGain(5).fit(X, y).scores_ > 0).sum() > 500
    assert (InformationGain(5).fit(X, rng.permutation(y)).scores_ > 0).sum() < 20


def test_reference_values_on_iris():
    # Weka prints 0.698, 0.376, 1.418 and 1.378 for its copy of these data, which has two samples
    # other than scikit-learn's.
    X, y = load_iris(return_X_y=True)
    X[34], X[37] = [4.9, 3.1, 1.5, 0.1], [4.9, 3.1, 1.5, 0.1]
    weka = InformationGain(2, discretize="weka").fit(X, y)
    np.testing.assert_allclose(weka.scores_, [0.698, 0.376, 1.418, 1.378], atol=5e-4)
    # By hand, petal length: cuts at 2.45 and 4.75 leave classes (50), (44, 1) and (6, 49).
    counts = [np.array([50.0]), np.array([44.0, 1.0]), np.array([6.0, 49.0])]
    left = sum(-(c * np.log2(c / c.sum())).sum() for c in counts) / 150
    np.testing.assert_allclose(
        InformationGain(2).fit(X, y).scores_[2], np.log2(3) - left, rtol=1e-9
    )


def test_number_of_columns_with_cuts_on_data(benchmark_data):
    X, y = benchmark_data("srbct")
    selector = InformationGain(20).fit(X, y)
    assert (selector.scores_ > 0).sum() == 667


@pytest.mark.parametrize(
    ("option", "value", "error", "message"),
    [
        ("discretize", "bins", ValueError, "discretize must be one of 'mdl'"),
        ("bins", 1, ValueError, "bins must be an integer of at least 2"),
        ("bins", 2.5, ValueError, "bins must be an integer"),
        ("bin_width", -1, ValueError, "bin_width must be a number of at least 0"),
        ("bin_width", "wide", TypeError, "bin_width must be a number"),
        ("tie_break", "random", ValueError, "tie_break must be one of 'best_cut'"),
        ("aggregate", "sum", ValueError, "aggregate must be one of 'mean'"),
    ],
)
def test_wrong_options_are_refused(option, value, error, message):
    X, y = problem()
    with pytest.raises(error, match=message):
        InformationGain(2, **{option: value}).fit(X, y)
