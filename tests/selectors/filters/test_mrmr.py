"""MRMR: the greedy choice against scikit-learn, brute force, reference values and a peer."""

import tracemalloc
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.feature_selection import f_classif, f_regression
from sklearn.metrics import mutual_info_score

from rowsparse import MRMR
from rowsparse.solvers.filters import mrmr_solver as module
from rowsparse.solvers.filters.discretize import discretize
from rowsparse.solvers.filters.mrmr_solver import States, greedy_mrmr

Array = np.ndarray
D = 12
STATES = {"bins": 10, "bin_width": 0.5}
mrmr = partial(module.mrmr, discretization="mean_std", **STATES, pool=None, aggregate="mean")


def bits(a: Array, b: Array) -> float:
    return mutual_info_score(a, b) / np.log(2)


def redundancies(codes: Array) -> Array:
    """The information that every two columns share."""
    R = np.empty((D, D))
    for f, s in combinations_with_replacement(range(D), 2):
        R[f, s] = R[s, f] = bits(codes[:, f], codes[:, s])
    return R


def planted(seed: int = 0, n: int = 90, d: int = D, noise: float = 0.01) -> tuple[Array, Array]:
    """Three classes in columns 0 to 4; column 5 repeats column 0 but for noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d))
    X[:, :5] += 1.5 * rng.standard_normal((3, 5))[y]
    X[:, 5] = X[:, 0] + noise * rng.standard_normal(n)
    return X, y


def brute_force(V: Array, R: Array, k: int, criterion: str) -> tuple[list[int], list[float]]:
    """Every criterion computed anew for every feature in every step."""
    chosen, scores = [int(np.argmax(V))], [float(V.max())]
    while len(chosen) < k:
        values = {}
        for f in set(range(V.size)) - set(chosen):
            r = np.mean([R[f, s] for s in chosen])
            values[f] = {
                "mid": V[f] - r,
                "miq": V[f] / (r + 0.01),
                "fcd": V[f] - r,
                "fcq": V[f] / np.mean([max(R[f, s], 1e-3) for s in chosen]),
            }[criterion]
        best = max(values, key=lambda f: (values[f], -f))
        chosen.append(best)
        scores.append(values[best])
    return chosen, scores


# ------------------------------------------------------------------------------------------- greedy
@pytest.mark.parametrize("discretization", ["mean_std", "mdl", "equal_width"])
def test_information_criteria_choose_as_brute_force(discretization):
    X, y = planted()
    codes = discretize(X, discretization, labels=y, **STATES)
    V = np.array([bits(f, y) for f in codes.T])
    R = redundancies(codes)
    for criterion in ("mid", "miq"):
        found = mrmr(
            X, np.eye(3)[y], "classification", 8, criterion=criterion, discretization=discretization
        )
        chosen, scores = brute_force(np.round(V, 12), np.round(R, 12), 8, criterion)
        np.testing.assert_array_equal(found.order[:8], chosen)
        np.testing.assert_allclose(found.scores, scores, atol=1e-9)
        np.testing.assert_array_equal(found.places[chosen], np.arange(8, 0, -1))


@pytest.mark.parametrize("criterion", ["fcd", "fcq"])
def test_correlation_criteria_choose_as_brute_force(criterion):
    X, y = planted(3)
    for task, Y, V in (
        ("classification", np.eye(3)[y], f_classif(X, y)[0]),
        ("regression", X[:, [0]] + X[:, [1]], f_regression(X, X[:, 0] + X[:, 1])[0]),
    ):
        found = mrmr(X, Y, task, 8, criterion=criterion)
        chosen, scores = brute_force(V, np.abs(np.corrcoef(X.T)), 8, criterion)
        np.testing.assert_array_equal(found.order[:8], chosen)
        np.testing.assert_allclose(found.scores, scores, rtol=1e-8)


def test_perfect_features_come_first_the_least_redundant_one_each_time():
    relevance = np.array([1.0, np.inf, 5.0, np.inf, np.inf])
    R = np.eye(5)
    R[1, 3] = R[3, 1] = 0.9
    order = np.array([1, 3, 4, 2, 0])
    for criterion in ("fcd", "fcq"):
        found = greedy_mrmr(relevance, order, lambda j: R[j], 4, criterion=criterion)
        np.testing.assert_array_equal(found.order, [1, 4, 3, 2])
        assert np.isinf(found.scores[:3]).all()


def test_the_pool_bounds_what_is_chosen_from():
    X, y = planted(4)
    Y = np.eye(3)[y]
    relevance = mrmr(X, Y, "classification", 1, criterion="mid").relevance
    best = np.argsort(-relevance, kind="stable")
    for criterion in ("miq", "fcq"):
        V = relevance if criterion == "miq" else f_classif(X, y)[0]
        top = np.argsort(-V, kind="stable")[:10]
        inside = mrmr(X, Y, "classification", 6, criterion=criterion, pool=10)
        assert set(inside.order[:6]) <= set(top)
        alone = mrmr(X[:, np.sort(top)], Y, "classification", 6, criterion=criterion)
        np.testing.assert_array_equal(inside.order[:6], np.sort(top)[alone.order[:6]])
        everything = mrmr(X, Y, "classification", 6, criterion=criterion, pool=10**6)
        free = mrmr(X, Y, "classification", 6, criterion=criterion)
        np.testing.assert_array_equal(everything.order, free.order)
    # A pool of no more than k: the k most relevant ones, in some order.
    small = mrmr(X, Y, "classification", 6, criterion="mid", pool=2)
    assert set(small.order[:6]) == set(best[:6])
    np.testing.assert_array_equal(small.order[6:], [f for f in best if f not in best[:6]])


# ---------------------------------------------------------------------------------- several targets
def test_labels_share_their_relevance_or_choose_one_by_one():
    X, y = planted(5)
    Y = np.column_stack([y == 0, y == 1, (y == 2) | (X[:, 9] > 0)]).astype(float)
    codes = discretize(X, "mean_std", labels=None, **STATES)
    V = np.array([[bits(f, label) for f in codes.T] for label in Y.T])
    R = redundancies(codes)
    for rule, relevance in (("mean", V.mean(axis=0)), ("max", V.max(axis=0))):
        found = mrmr(X, Y, "multilabel", 5, criterion="mid", aggregate=rule)
        chosen, _ = brute_force(np.round(relevance, 12), np.round(R, 12), 5, "mid")
        np.testing.assert_array_equal(found.order[:5], chosen)
    found = mrmr(X, Y, "multilabel", 5, criterion="mid", aggregate="mean_rank")
    rank = np.full((3, D), 6.0)
    for label in range(3):
        chosen, _ = brute_force(np.round(V[label], 12), np.round(R, 12), 5, "mid")
        rank[label, chosen] = np.arange(1, 6)
    np.testing.assert_allclose(found.places, 6.0 - rank.mean(axis=0))
    assert found.scores is None
    assert np.all(np.diff(found.places[found.order]) <= 0)


def test_complementary_labels_are_one_binary_target():
    X, y = planted(6)
    y = (y == 1).astype(int)
    Y = np.column_stack([y, 1 - y]).astype(float)
    for criterion in ("mid", "miq", "fcd", "fcq"):
        labels = mrmr(X, Y, "multilabel", 6, criterion=criterion)
        classes = mrmr(X, np.eye(2)[y], "classification", 6, criterion=criterion)
        np.testing.assert_array_equal(labels.order[:6], classes.order[:6])
        np.testing.assert_allclose(labels.scores, classes.scores, rtol=1e-9)


@pytest.mark.parametrize("rule", ["mdl", "weka"])
def test_cuts_are_made_for_each_label_of_its_own(rule):
    X, y = planted(7)
    Y = (y[:, None] == np.arange(3)).astype(float)
    found = mrmr(X, Y, "multilabel", 4, criterion="mid", discretization=rule, aggregate="mean_rank")
    places = np.zeros(D)
    for label in range(3):
        classes = np.eye(2)[Y[:, label].astype(int)]
        own = mrmr(X, classes, "classification", 4, criterion="mid", discretization=rule)
        places += own.places / 3
    np.testing.assert_allclose(found.places, places)


# ------------------------------------------------------------------------------------------- memory
def test_memory_is_a_byte_an_entry_and_blocks():
    rng = np.random.default_rng(0)
    X = sp.random(300, 15_000, density=0.02, format="csr", random_state=rng)
    Y = np.eye(2)[rng.integers(0, 2, 300)]
    tracemalloc.start()
    mrmr(X, Y, "classification", 3, criterion="mid")
    peak = tracemalloc.get_traced_memory()[1]
    mrmr(X, Y, "classification", 3, criterion="fcq")
    tracemalloc.stop()
    # The codes come as blocks that are put together and turned round.
    assert peak < 4 * 300 * 15_000 + (16 << 20) < 300 * 15_000 * 8


# ------------------------------------------------------------------------------- mutual information
@pytest.mark.parametrize("n_states", [2, 3, 25, 90])
@pytest.mark.parametrize("n_classes", [2, 30])
def test_information_is_that_of_scikit_learn(n_states, n_classes):
    rng = np.random.default_rng(n_states)
    codes = rng.integers(0, n_states, (90, 12)).astype(np.uint8)
    y = rng.integers(0, n_classes, 90)
    states = States(codes)
    np.testing.assert_allclose(
        states.with_classes(y), [bits(column, y) for column in codes.T], atol=1e-13
    )
    np.testing.assert_allclose(
        states.with_column(4), [bits(column, codes[:, 4]) for column in codes.T], atol=1e-13
    )


def test_counting_and_sorting_give_the_same_to_the_bit(monkeypatch):
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, m, 70) for m in (2, 5, 9, 30, 70)])
    y = rng.integers(0, 6, 70)
    by_products = States(codes).with_classes(y)
    monkeypatch.setattr(module, "_PRODUCT_CELLS", 0)
    by_counts = States(codes).with_classes(y)
    monkeypatch.setattr(module, "_SORTED_SHARE", 0)
    by_sorting = States(codes).with_classes(y)
    np.testing.assert_array_equal(by_products, by_counts)
    np.testing.assert_array_equal(by_products, by_sorting)


# ------------------------------------------------------------------------------- MRMR as a selector
CRITERIA = ("mid", "miq", "fcd", "fcq")


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


def test_attributes_tell_the_order_of_selection():
    X, y = planted(d=30, noise=0.2)
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


# ------------------------------------------------------------------------------------------ options
def test_perfect_separation_is_no_nan():
    X, y = planted(d=30, noise=0.2)
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


# ------------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize("criterion", ["mid", "miq"])
def test_information_needs_classes_or_labels(criterion):
    X, _ = planted(d=30, noise=0.2)
    with pytest.raises(ValueError, match="y is for regression: pass criterion='fcd' or 'fcq'"):
        MRMR(3, criterion=criterion).fit(X, X[:, 0])


def test_targets_that_tell_nothing_are_refused():
    X, _ = planted(d=30, noise=0.2)
    for target, task in ((np.full(90, 2.5), "regression"), (np.ones((90, 2)), "multilabel")):
        with pytest.raises(ValueError, match="y is the same for all samples"):
            MRMR(3, task=task).fit(X, target)


@pytest.mark.parametrize("discretize", ["mdl", "weka"])
def test_cuts_by_labels_take_several_labels_one_by_one_only(discretize):
    X, y = planted(d=30, noise=0.2)
    labels = np.column_stack([y == 0, y == 1]).astype(int)
    with pytest.raises(ValueError, match=f"discretize='{discretize}' cuts for one target at a"):
        MRMR(3, discretize=discretize).fit(X, labels)
    by_rank = MRMR(3, discretize=discretize, aggregate="mean_rank")
    found = by_rank.fit(X, labels).relevance_
    swapped = by_rank.fit(X, labels[:, ::-1]).relevance_
    np.testing.assert_allclose(found, swapped)


# --------------------------------------------------------------------------------------- other code
@pytest.mark.peer
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_choice_is_that_of_mrmr_selection(task):
    peer = pytest.importorskip("mrmr")
    pandas = pytest.importorskip("pandas")
    for seed in range(3):
        X, y = planted(seed, d=30, noise=0.2)
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
