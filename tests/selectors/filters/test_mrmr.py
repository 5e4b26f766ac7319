"""MRMR as a selector: options, invariances, reference values and another package."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from rowsparse import MRMR

Array = np.ndarray
CRITERIA = ("mid", "miq", "fcd", "fcq")


def planted(seed: int = 0, n: int = 90, d: int = 30) -> tuple[Array, Array]:
    """Three classes told apart by columns 0 to 4; column 5 repeats column 0."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d))
    X[:, :5] += 1.5 * rng.standard_normal((3, 5))[y]
    X[:, 5] = X[:, 0] + 0.2 * rng.standard_normal(n)
    return X, y


def test_reference_values():
    # From mutual_info_score of scikit-learn on states cut at mean -/+ sd/2.
    X, y = load_iris(return_X_y=True)
    found = MRMR(3).fit(X, y)
    np.testing.assert_array_equal(found.order_, [3, 2, 1, 0])
    np.testing.assert_allclose(
        found.relevance_, [0.676626382, 0.338493738, 1.265060217, 1.318712692], atol=1e-9
    )
    np.testing.assert_allclose(
        found.selection_scores_, [1.318712692, 0.017248847, -0.035962052], atol=1e-9
    )


def test_reference_values_on_published_data(benchmark_data):
    X, y = benchmark_data("srbct")
    # Those of mrmr-selection 0.2.8.
    expected = [741, 1027, 730, 1388, 122, 1954, 1385, 1002, 152, 845]
    np.testing.assert_array_equal(MRMR(10, criterion="fcq").fit(X, y).order_[:10], expected)


@pytest.mark.parametrize("criterion", ["mid", "fcd"])
def test_planted_features_are_found(criterion):
    X, y = planted()
    found = MRMR(6, criterion=criterion).fit(X, y)
    assert len({0, 1, 2, 3, 4} & set(found.order_[:6])) >= 4


def test_a_repeated_feature_waits():
    X, y = planted()
    by_relevance = np.argsort(-MRMR(1).fit(X, y).relevance_)
    twins = {0, 5}
    assert len(twins & set(by_relevance[:5])) == 2
    assert len(twins & set(MRMR(4).fit(X, y).order_[:4])) == 1


def test_attributes_tell_the_order_of_selection():
    X, y = planted()
    found = MRMR(6, criterion="miq").fit(X, y)
    chosen, others = found.order_[:6], found.order_[6:]
    np.testing.assert_array_equal(found.scores_[chosen], np.arange(6, 0, -1))
    assert set(chosen) == set(np.flatnonzero(found.support_))
    np.testing.assert_array_equal(found.ranking_[chosen], 1)
    np.testing.assert_array_equal(found.ranking_[others], np.arange(2, 26))
    assert np.all((found.scores_[others] > 0) & (found.scores_[others] < 1))
    assert np.all(np.diff(found.relevance_[others]) <= 0)
    assert found.selection_scores_.shape == (6,)
    assert found.criterion_ == "miq"


def test_more_features_continue_the_order():
    X, y = planted()
    for criterion in CRITERIA:
        few, many = (MRMR(k, criterion=criterion).fit(X, y).order_ for k in (4, 9))
        np.testing.assert_array_equal(few[:4], many[:4])


# ------------------------------------------------------------------------- invariances
@pytest.mark.parametrize("criterion", CRITERIA)
def test_columns_in_another_order(criterion):
    X, y = planted()
    order = np.random.default_rng(1).permutation(30)
    found = MRMR(6, criterion=criterion).fit(X, y)
    permuted = MRMR(6, criterion=criterion).fit(X[:, order], y)
    np.testing.assert_array_equal(order[permuted.order_[:6]], found.order_[:6])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_factors_offsets_and_constant_columns_change_nothing(criterion):
    X, y = planted()
    rng = np.random.default_rng(2)
    moved = X * rng.uniform(0.01, 100, 30) + rng.uniform(-10, 10, 30)
    moved = np.c_[moved, np.full(90, 3.0)]
    found = MRMR(6, criterion=criterion).fit(X, y)
    again = MRMR(6, criterion=criterion).fit(moved, y)
    np.testing.assert_array_equal(again.order_[:6], found.order_[:6])
    np.testing.assert_allclose(again.selection_scores_, found.selection_scores_, rtol=1e-8)
    assert again.relevance_[30] == again.scores_[30] == 0.0
    assert again.order_[-1] == 30


@pytest.mark.parametrize("criterion", CRITERIA)
def test_sparse_data_and_extreme_magnitudes(criterion):
    X, y = planted()
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    found = MRMR(6, criterion=criterion).fit(X, y)
    for other in (sp.csr_array(X), sp.csc_matrix(X), X * 2.0**300, X * 2.0**-300):
        again = MRMR(6, criterion=criterion).fit(other, y)
        np.testing.assert_array_equal(again.order_[:6], found.order_[:6])
        np.testing.assert_allclose(again.relevance_, found.relevance_, rtol=1e-8)


# ----------------------------------------------------------------------------- options
def test_discretisations_differ_and_none_takes_states_as_they_are():
    X, y = planted()
    values = {
        how: MRMR(4, discretize=how).fit(X, y).relevance_
        for how in ("mean_std", "mdl", "equal_width")
    }
    assert not np.allclose(values["mean_std"], values["mdl"])
    assert not np.allclose(values["mean_std"], values["equal_width"])
    narrow = MRMR(4, bin_width=1.0).fit(X, y).relevance_
    assert not np.allclose(values["mean_std"], narrow)
    few = MRMR(4, discretize="equal_width", bins=3).fit(X, y).relevance_
    assert not np.allclose(values["equal_width"], few)
    states = (X > 0.5).astype(int) + (X > -0.5) - 1.0
    named = np.array([7.0, -2.0, 0.5])[states.astype(int) + 1]
    plain = MRMR(4, discretize="none").fit(states, y)
    other = MRMR(4, discretize="none").fit(named, y)
    np.testing.assert_array_equal(plain.relevance_, other.relevance_)
    np.testing.assert_array_equal(plain.order_, other.order_)


def test_the_pool_is_at_least_what_is_selected():
    X, y = planted()
    most_relevant = np.argsort(-MRMR(1).fit(X, y).relevance_, kind="stable")
    for pool, size in ((2, 6), (8, 8)):
        chosen = MRMR(6, pool=pool).fit(X, y).order_[:6]
        assert set(chosen) <= set(most_relevant[:size])


def test_labels_and_their_aggregates():
    X, y = planted()
    Y = np.column_stack([y == 0, y == 1, X[:, 9] > 0.8, np.zeros(90)]).astype(int)
    mean, largest = (MRMR(4, aggregate=rule).fit(X, Y) for rule in ("mean", "max"))
    assert not np.allclose(mean.relevance_, largest.relevance_)
    by_rank = MRMR(4, aggregate="mean_rank").fit(X, Y)
    assert not hasattr(by_rank, "selection_scores_")
    assert np.all(np.diff(by_rank.scores_[by_rank.order_]) <= 0)
    one = MRMR(4, discretize="mdl", task="multilabel").fit(X, Y[:, :1])
    two = MRMR(4, discretize="mdl").fit(X, Y[:, 0])
    np.testing.assert_array_equal(one.order_, two.order_)


def test_one_target_has_nothing_to_aggregate():
    X, y = planted()
    for rule in ("mean", "max", "mean_rank"):
        np.testing.assert_array_equal(
            MRMR(4, aggregate=rule).fit(X, y).order_, MRMR(4).fit(X, y).order_
        )


def test_numbers():
    X, _ = planted()
    y = X[:, 2] + 0.5 * X[:, 7]
    found = MRMR(2).fit(X, y)
    assert found.criterion_ == "fcq"
    assert set(found.order_[:2]) == {2, 7}
    assert MRMR(2, criterion="fcd").fit(X, np.column_stack([y, 2 - y])).order_[0] == 2
    exact = MRMR(2, criterion="fcd").fit(X, X[:, 4])
    assert exact.order_[0] == 4
    assert exact.relevance_[4] == np.inf


def test_perfect_separation_is_no_nan():
    X, y = planted()
    X[:, 3] = y
    X[:, 8] = 2.0 * (y == 1)
    for criterion in CRITERIA:
        found = MRMR(4, criterion=criterion).fit(X, y)
        assert found.order_[0] in (3, 8)
        assert np.isfinite(found.scores_).all()
        assert not np.isnan(found.selection_scores_).any()
        if criterion in ("fcd", "fcq"):
            # Without scatter within the classes: the larger scatter between them first.
            np.testing.assert_array_equal(found.order_[:2], [8, 3])
            assert np.isinf(found.relevance_[[3, 8]]).all()
    one_each = MRMR(2, criterion="fcd").fit(X[:5], np.arange(5))
    assert np.isfinite(one_each.scores_).all()


# ------------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"criterion": "max"}, "criterion must be one of 'auto', 'mid'"),
        ({"discretize": "median"}, "discretize must be one of"),
        ({"bin_width": -0.1}, "bin_width must be a number of at least 0"),
        ({"bin_width": "wide"}, "bin_width must be a number"),
        ({"bins": 1}, "bins must be an integer of at least 2"),
        ({"pool": 0}, "pool must be an integer of at least 1"),
        ({"pool": 2.5}, "pool must be an integer"),
        ({"aggregate": "median"}, "aggregate must be one of"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    X, y = planted()
    with pytest.raises((ValueError, TypeError), match=message):
        MRMR(3, **params).fit(X, y)


@pytest.mark.parametrize("criterion", ["mid", "miq"])
def test_information_needs_classes_or_labels(criterion):
    X, _ = planted()
    with pytest.raises(ValueError, match="y is for regression: pass criterion='fcd' or 'fcq'"):
        MRMR(3, criterion=criterion).fit(X, X[:, 0])


def test_targets_that_tell_nothing_are_refused():
    X, _ = planted()
    for target, task in ((np.full(90, 2.5), "regression"), (np.ones((90, 2)), "multilabel")):
        with pytest.raises(ValueError, match="y is the same for all samples"):
            MRMR(3, task=task).fit(X, target)


@pytest.mark.parametrize("discretize", ["mdl", "weka"])
def test_cuts_by_labels_take_several_labels_one_by_one_only(discretize):
    X, y = planted()
    labels = np.column_stack([y == 0, y == 1]).astype(int)
    with pytest.raises(ValueError, match=f"discretize='{discretize}' cuts for one target at a"):
        MRMR(3, discretize=discretize).fit(X, labels)
    by_rank = MRMR(3, discretize=discretize, aggregate="mean_rank")
    found = by_rank.fit(X, labels).relevance_
    swapped = by_rank.fit(X, labels[:, ::-1]).relevance_
    np.testing.assert_allclose(found, swapped)


# --------------------------------------------------------------------------- other code
@pytest.mark.peer
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_choice_is_that_of_mrmr_selection(task):
    peer = pytest.importorskip("mrmr")
    pandas = pytest.importorskip("pandas")
    for seed in range(3):
        X, y = planted(seed)
        X[:, 11] = 1.0
        if task == "regression":
            y = X[:, 1] + X[:, 6] ** 2
        call = peer.mrmr_classif if task == "classification" else peer.mrmr_regression
        theirs = call(pandas.DataFrame(X), pandas.Series(y), 12, n_jobs=1, show_progress=False)
        ours = MRMR(12, criterion="fcq").fit(X, y).order_[:12]
        np.testing.assert_array_equal(ours, np.array(theirs, dtype=int))


@pytest.mark.peer
@pytest.mark.parametrize("name", ["glioma", "lung_discrete"])
def test_the_choice_on_published_data_is_that_of_mrmr_selection(benchmark_data, name):
    peer = pytest.importorskip("mrmr")
    pandas = pytest.importorskip("pandas")
    X, y = benchmark_data(name)
    X = X[:, :800]
    frame, target = pandas.DataFrame(X), pandas.Series(y)
    theirs = peer.mrmr_classif(frame, target, 10, n_jobs=1, show_progress=False)
    ours = MRMR(10, criterion="fcq").fit(X, y).order_[:10]
    np.testing.assert_array_equal(ours, np.array(theirs, dtype=int))
