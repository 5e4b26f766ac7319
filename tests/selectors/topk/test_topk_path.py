"""topk_path: the best features of every number up to k_max."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from rowsparse import TopK, TopKCV, topk_path
from rowsparse._deadline import Deadline
from rowsparse.certificate import verify
from rowsparse.plotting import PathDisplay
from rowsparse.selectors.topk import search_report
from rowsparse.selectors.topk.topk_problem import TopKProblem
from rowsparse.solvers.proof.prover import prove
from rowsparse.solvers.search.search import states_of
from tests.selectors.cases import classes_of_two, numbers_of_three


def test_path_finds_planted_features_and_says_when_they_entered():
    path = topk_path(*numbers_of_three(), 5, random_state=0)
    assert path.ks.tolist() == [1, 2, 3, 4, 5]
    assert path.supports[2].tolist() == [2, 7, 11]
    inside = path.membership
    assert inside.shape == (5, 15)
    assert inside.sum(axis=1).tolist() == [1, 2, 3, 4, 5]
    for j in range(15):
        at = path.ks[inside[:, j]]
        assert path.entered[j] == (at.min() if at.size else 0)
    assert np.all(np.diff(path.objectives) <= 0)


def grouped():
    """Numbers that depend on the group of columns 2 and 3, and on column 6."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 7))
    return X, X[:, 2] - X[:, 3] + 0.5 * X[:, 6] + 0.3 * rng.standard_normal(80)


def survival():
    """Events and times that depend on column 6."""
    X, y = grouped()
    return X, np.column_stack([np.arange(80) % 4 > 0, np.exp(X[:, 6] + 0.1 * y)])


def duplicated():
    """A column twice, more columns than two and no ridge: proven by trying all choices."""
    X, y = numbers_of_three()
    return np.hstack([X[:, :6], X[:, 2:3]]), y


@pytest.mark.parametrize(
    ("made", "options"),
    [
        (numbers_of_three, {"alpha": 0.3}),
        (numbers_of_three, {"alpha": 0.0}),
        (numbers_of_three, {"alpha": 0.3, "include": [4], "exclude": [2], "n_jobs": 2}),
        (duplicated, {"alpha": 0.0}),
        (grouped, {"feature_groups": [0, 0, 1, 1, 2, 2, 3]}),
        (classes_of_two, {"loss": "squared", "class_weight": "balanced", "n_restarts": 0}),
        (classes_of_two, {"loss": "logistic", "alpha": 0.05}),
        (lambda: load_iris(return_X_y=True), {"loss": "logistic", "feature_groups": [0, 1, 0, 2]}),
        (lambda: (grouped()[0], np.arange(80) % 5), {"loss": "poisson"}),
        (survival, {"loss": "cox"}),
    ],
)
def test_every_size_of_a_path_is_topk_with_and_without_a_proof(made, options):
    X, y = made()
    plain, path = (topk_path(X, y, 3, certify=c, random_state=0, **options) for c in (False, True))
    assert path.ks.tolist() == plain.ks.tolist() == [1, 2, 3]
    assert path.statuses == ["optimal"] * 3
    assert "3 of 3 proven" in repr(path)
    np.testing.assert_allclose(path.gaps, 1 - path.lower_bounds / path.objectives, atol=1e-15)
    assert np.all((path.gaps >= 0) & (path.gaps <= 1e-6))
    np.testing.assert_allclose(path.objectives, plain.objectives, rtol=1e-6)
    for k in (1, 2, 3):
        topk = TopK(k, certify=True, random_state=0, **options).fit(X, y)
        for one in (plain, path):
            np.testing.assert_array_equal(one.supports[k - 1], topk.get_support(indices=True))
            assert one.objectives[k - 1] == pytest.approx(topk.objective_, rel=1e-6)
            np.testing.assert_allclose(one.coef(k), np.atleast_2d(topk.coef_), atol=1e-5)
            np.testing.assert_allclose(one.intercepts[k - 1], topk.intercept_, atol=1e-5)
        assert path.proofs[k - 1].support.tolist() == path.supports[k - 1].tolist()
        for exact in (False, True):
            checked = verify(X, y, path.proofs[k - 1], exact=exact, k=k)
            assert checked.bound == pytest.approx(path.lower_bounds[k - 1], rel=1e-6)
            assert checked.objective == pytest.approx(path.objectives[k - 1], rel=1e-9)


def test_a_path_that_runs_out_of_time_says_which_sizes_are_proven():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 300)), rng.normal(size=40)
    path = topk_path(X, y, 9, alpha=0.1, certify=True, time_limit=1.0, random_state=0)
    assert path.statuses[0] == "optimal"
    assert path.statuses[-1] == "gap"
    assert 0 < path.lower_bounds[-1] < path.objectives[-1]
    assert np.all(np.diff(path.objectives) <= 0)
    bar = PathDisplay.from_path(path).line_[2][0].get_segments()[-1]
    np.testing.assert_allclose(bar[:, 1], [path.lower_bounds[-1], path.objectives[-1]])
    # Open nodes count with the bounds of their parents; the checker has those of their own choices.
    late = verify(X, y, path.proofs[-1])
    assert path.lower_bounds[-1] * (1 - 1e-9) <= late.bound <= path.objectives[-1]


def test_ctrl_c_ends_the_proofs_of_all_sizes(monkeypatch):
    X, y = numbers_of_three()
    calls = []

    def interrupted(problem, fit, options, *more):
        calls.append(problem.choices.k)
        if calls == [1, 2]:
            raise KeyboardInterrupt
        return prove(problem, fit, options, *more)

    monkeypatch.setattr(search_report, "prove", interrupted)
    path = topk_path(X, y, 4, certify=True, time_limit=60.0, random_state=0)
    assert calls == [1, 2, 2, 3, 4]
    assert path.statuses == ["optimal", "gap", "gap", "gap"]
    assert path.lower_bounds[1:].tolist() == [0.0, 0.0, 0.0]
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        topk_path(X, y, 4, certify=True, random_state=0)


def test_what_a_proof_finds_for_one_size_is_tried_with_one_feature_more(monkeypatch):
    X, y = numbers_of_three()
    best = topk_path(X, y, 3, random_state=0)

    def poor(self, alpha, k_max, options):
        states = states_of(self.problem(alpha, k_max))
        return {k: states.fit(np.array([0, 1, 3])[:k]) for k in range(1, k_max + 1)}

    monkeypatch.setattr(TopKProblem, "solve", poor)
    path = topk_path(X, y, 3, certify=True, n_restarts=0, random_state=0)
    assert path.statuses == ["optimal"] * 3
    np.testing.assert_allclose(path.objectives, best.objectives)

    def first_alone(problem, fit, options, *more):
        late = replace(options, deadline=Deadline(0.0))
        return prove(problem, fit, options if problem.choices.k == 1 else late, *more)

    monkeypatch.setattr(search_report, "prove", first_alone)
    late = topk_path(X, y, 3, certify=True, n_restarts=0, random_state=0)
    assert late.statuses == ["optimal", "gap", "gap"]
    np.testing.assert_allclose(late.objectives, best.objectives)


def test_path_weights_repeat_samples():
    X, y = classes_of_two(n=40)
    weights = np.random.default_rng(1).integers(0, 4, 40)
    rows = np.repeat(np.arange(40), weights)
    weighted = topk_path(X, y, 4, sample_weight=weights, random_state=0)
    repeated = topk_path(X[rows], y[rows], 4, random_state=0)
    np.testing.assert_allclose(weighted.objectives, repeated.objectives)
    np.testing.assert_allclose(weighted.coef(4), repeated.coef(4), atol=1e-10)


def test_path_takes_names_sparse_data_and_extreme_units():
    pd = pytest.importorskip("pandas")
    X, y = numbers_of_three()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(15)])
    path = topk_path(frame, y, 3, include=["c0"], exclude=["c2"], random_state=0)
    assert path.ks.tolist() == [1, 2, 3]
    assert path.supports[0].tolist() == [0]
    assert all(0 in S and 2 not in S for S in path.supports)
    plain = topk_path(X, y, 4, random_state=0)
    sparse = topk_path(sp.csr_matrix(X), y, 4, random_state=0)
    np.testing.assert_allclose(plain.objectives, sparse.objectives)
    small = topk_path(X * 1e-90, y * 1e-80, 4, standardize=False, alpha=0.0, random_state=0)
    large = topk_path(X, y, 4, standardize=False, alpha=0.0, random_state=0)
    np.testing.assert_allclose(small.objectives, large.objectives * 1e-160)
    np.testing.assert_allclose(small.coef(4), large.coef(4) * 1e10, rtol=1e-6, atol=1.0)


def test_path_caps_k_max_with_a_warning():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="k_max=9 .* taken as 4"):
        assert topk_path(X, y, 9).ks.tolist() == [1, 2, 3, 4]
    with pytest.warns(UserWarning, match="taken as 3"):
        assert topk_path(X, y, 4, exclude=[1]).ks.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k_max": 0}, "k_max must be an integer of at least 1"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"n_restarts": -1}, "n_restarts must be"),
        ({"include": [0], "exclude": [0]}, "overlap in column 0"),
        ({"include": [0, 1, 2]}, "include has 3 columns, more than k_max=2"),
        ({"exclude": [0, 1, 2, 3]}, "leaves no columns"),
        ({"exclude": [7]}, "index 7"),
        ({"loss": "l21"}, "loss must be"),
    ],
)
def test_path_refuses_bad_input(options, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        topk_path(X, y, **({"k_max": 2} | options))


def test_path_refuses_a_k_it_does_not_have():
    path = topk_path(*load_iris(return_X_y=True), 2)
    with pytest.raises(ValueError, match="k must be an integer of at least 1 and at most 2"):
        path.coef(3)


def test_path_over_groups_of_columns():
    pd = pytest.importorskip("pandas")
    X, y = grouped()
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    groups = [["a", "b"], ["c", "d"], ["e", "f"]]
    path = topk_path(frame, y, 3, feature_groups=groups, random_state=0)
    assert path.ks.tolist() == [1, 2, 3]
    assert path.supports[0].tolist() == [2, 3]
    assert path.supports[1].tolist() == [2, 3, 6]
    assert path.coefs[1].shape == (1, 3)
    one = TopK(2, feature_groups=groups, random_state=0).fit(frame, y)
    assert path.objectives[1] == pytest.approx(one.objective_)
    with pytest.warns(UserWarning, match="number of groups to select from: it is taken as 4"):
        assert topk_path(frame, y, 9, feature_groups=groups).ks[-1] == 4
    with pytest.raises(ValueError, match="include has 2 groups, more than k_max=1"):
        topk_path(frame, y, 1, feature_groups=groups, include=["a", "g"])
    with pytest.raises(ValueError, match=r"overlap in the group of columns \[0, 1\]"):
        topk_path(frame, y, 2, feature_groups=groups, include=["a"], exclude=["b"])


def test_a_path_knows_the_names_of_the_columns_and_is_shown_in_one_line():
    pd = pytest.importorskip("pandas")
    X, y = numbers_of_three()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(15)])
    path = topk_path(frame, y, 3, random_state=0)
    assert path.feature_names(3) == ["c2", "c7", "c11"]
    assert topk_path(X, y, 3, random_state=0).feature_names(3) == ["x2", "x7", "x11"]
    chosen = TopKCV(k_max=3, rule="ebic", random_state=0).fit(frame, y)
    assert chosen.path_.feature_names(3) == ["c2", "c7", "c11"]
    assert "\n" not in repr(path)
    assert repr(path).startswith("TopKPath(1 to 3 of 15 features, objective ")
