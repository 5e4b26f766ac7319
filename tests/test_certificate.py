"""The certificate of TopK, recomputed by other means."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris, load_wine

from rowsparse import TopK
from rowsparse.certificate import Proof, verify
from rowsparse.certificate.steps import Dual, Kind


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("load", [load_wine, load_iris])
def test_proven_choice_is_the_best_of_all(load, alpha):
    X, y = load(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    Y = np.eye(3)[y] - np.eye(3)[y].mean(axis=0)
    selector = TopK(2, alpha=alpha, certify=True, random_state=0).fit(X, y)

    def objective(S):
        A = Z[:, S].T @ Z[:, S] + alpha * len(Z) * np.eye(len(S))
        B = Z[:, S].T @ Y
        return np.vdot(Y, Y) - np.vdot(B, np.linalg.solve(A, B))

    values = {S: objective(list(S)) for S in combinations(range(X.shape[1]), 2)}
    best = min(values, key=values.get)
    assert selector.status_ == "optimal"
    assert tuple(selector.get_support(indices=True)) == best
    assert selector.objective_ == pytest.approx(values[best], rel=1e-9)
    assert selector.lower_bound_ <= values[best]
    assert 0 <= selector.gap_ <= 1e-6


@pytest.mark.parametrize("keep_proof", [True, False])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 2.0, 2: 0.5}])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_checked_bound_is_that_of_the_fit(standardize, fit_intercept, class_weight, keep_proof):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 50)) + 0.5
    y = rng.integers(0, 3, 30)
    weights = rng.integers(0, 3, 30).astype(float)
    selector = TopK(
        4,
        alpha=0.5,
        certify=True,
        keep_proof=keep_proof,
        standardize=standardize,
        fit_intercept=fit_intercept,
        class_weight=class_weight,
        include=[3],
        exclude=[0, 1],
        random_state=0,
    ).fit(X, y, sample_weight=weights)
    bound = verify(X, y, selector, sample_weight=weights)
    assert selector.status_ == "optimal"
    assert selector.root_bound_ < 0.99 * selector.lower_bound_
    expected = selector.lower_bound_ if keep_proof else selector.root_bound_
    # Sets of choices that were closed as good enough may be bounded by more than that.
    assert expected * (1 - 1e-9) <= bound <= selector.objective_
    assert keep_proof or bound == pytest.approx(expected, rel=1e-9)
    assert selector.proof_.complete == keep_proof
    assert selector.support_[3]
    assert not selector.support_[:2].any()


def test_a_proof_takes_sparse_data_and_numbers():
    rng = np.random.default_rng(1)
    X = sp.random(40, 60, density=0.2, random_state=2, format="csr")
    y = X[:, [4]].toarray().ravel() * 3 + 0.1 * rng.standard_normal(40)
    selector = TopK(3, certify=True, keep_proof=True, random_state=0).fit(X, y)
    assert selector.lower_bound_ * (1 - 1e-8) <= verify(X, y, selector) <= selector.objective_


def test_a_proof_needs_certify():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="certify=True"):
        verify(X, y, TopK(2).fit(X, y))


def kept_proof(n=40, d=30, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal((n, 2))
    options = {"alpha": 0.05, "certify": True, "keep_proof": True, "random_state": 0}
    return X, y, TopK(k, **options).fit(X, y)


def test_a_saved_proof_is_the_same_proof(tmp_path):
    X, y, selector = kept_proof()
    path = selector.proof_.save(tmp_path / "proof")
    assert path.name == "proof.npz"
    loaded = Proof.load(path)
    assert len(loaded) == len(selector.proof_) > 20
    assert loaded.problem == selector.proof_.problem
    assert verify(X, y, path) == verify(X, y, selector.proof_)
    assert selector.lower_bound_ * (1 - 1e-9) <= verify(X, y, loaded) <= selector.objective_


def test_a_file_that_is_no_proof_is_refused_in_one_sentence(tmp_path):
    _, _, selector = kept_proof()
    path = selector.proof_.save(tmp_path / "proof.npz")
    good = path.read_bytes()
    other = tmp_path / "other.npz"
    np.savez(other, X=np.zeros(3))
    text = tmp_path / "text.npz"
    text.write_text("hello")
    cut = tmp_path / "cut.npz"
    cut.write_bytes(good[: len(good) // 2])
    for bad in (other, text, cut):
        with pytest.raises(ValueError, match="is not a proof") as caught:
            Proof.load(bad)
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        Proof.load(tmp_path / "absent.npz")


def test_a_proof_with_a_step_missing_does_not_hold():
    X, y, selector = kept_proof()
    proof = selector.proof_
    for steps in (proof.steps[:-1], proof.steps[1:], [*proof.steps, proof.steps[-1]]):
        with pytest.raises(ValueError, match="the proof does not hold"):
            verify(X, y, replace(proof, steps=steps))


@pytest.mark.parametrize(
    "change", [{"k": "x"}, {"k": 99}, {"k": 0}, {"alpha": -1.0}, {"x_unit": 0.0}, {"y_unit": None}]
)
def test_a_question_that_nobody_asked_is_refused(change):
    X, y, selector = kept_proof()
    proof = selector.proof_
    with pytest.raises(ValueError, match="are not possible"):
        verify(X, y, replace(proof, problem=replace(proof.problem, **change)))


def test_a_proof_that_leaves_out_columns_does_not_hold():
    X, y, selector = kept_proof()
    with pytest.raises(ValueError, match="leaves out columns"):
        verify(X, y, replace(selector.proof_, pool=selector.proof_.pool[:-1]))


@pytest.mark.parametrize("part", ["dual", "fixed", "out"])
def test_a_proof_that_counts_a_column_twice_does_not_hold(part):
    X, y, selector = kept_proof(d=12, seed=2)

    def doubled(step):
        if step.kind != Kind.SCREEN or (part != "dual" and not getattr(step, part).size):
            return step
        if part == "dual":
            twice = np.repeat(np.arange(step.dual.features.size), 2)
            return replace(step, dual=Dual(step.dual.features[twice], step.dual.W[twice]))
        return replace(step, **{part: np.repeat(getattr(step, part), 2)})

    steps = [doubled(step) for step in selector.proof_.steps]
    assert any(new is not old for new, old in zip(steps, selector.proof_.steps, strict=True))
    with pytest.raises(ValueError, match="counts a column twice"):
        verify(X, y, replace(selector.proof_, steps=steps))


def test_a_diagonal_that_is_too_large_does_not_hold():
    X, y, selector = kept_proof(n=60, d=12)
    assert selector.proof_.diagonal is not None
    with pytest.raises(ValueError, match="diagonal is too large"):
        verify(X, y, replace(selector.proof_, diagonal=2.0 * selector.proof_.diagonal))


@pytest.mark.parametrize("seed", range(5))
def test_a_proof_with_other_numbers_still_gives_a_true_bound(seed):
    X, y, selector = kept_proof()
    rng = np.random.default_rng(seed)

    def spoiled(step):
        if step.dual is None:
            return step
        W = step.dual.W * rng.uniform(0.5, 1.5, step.dual.W.shape)
        return replace(step, dual=replace(step.dual, W=W))

    proof = replace(selector.proof_, steps=[spoiled(step) for step in selector.proof_.steps])
    assert verify(X, y, proof) < selector.lower_bound_


def test_a_proof_is_checked_against_the_data_at_hand():
    X, y, selector = kept_proof()
    other = y + np.random.default_rng(9).standard_normal(y.shape)
    again = TopK(4, alpha=0.05, certify=True, random_state=0).fit(X, other)
    assert again.status_ == "optimal"
    assert verify(X, other, selector.proof_) < again.objective_
    with pytest.raises(ValueError, match="30 columns"):
        verify(X[:, :-1], y, selector.proof_)
    with pytest.raises(ValueError, match="1 targets"):
        verify(X, y[:, 0], selector.proof_)


def test_checking_imports_no_solver():
    code = (
        "import sys, rowsparse.certificate; print(sum('.solvers' in name for name in sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "0"


def test_without_a_proof_nothing_is_claimed():
    X, y = load_iris(return_X_y=True)
    selector = TopK(2, random_state=0).fit(X, y)
    assert (selector.status_, selector.lower_bound_, selector.gap_) == ("heuristic", 0.0, 1.0)


def test_no_ridge_and_more_samples_than_columns_is_proven_by_a_bound():
    X, y = load_diabetes(return_X_y=True)
    selector = TopK(3, alpha=0.0, certify=True, task="regression").fit(X, y)
    assert selector.status_ == "optimal"
    values = []
    for S in combinations(range(10), 3):
        A = np.column_stack([X[:, S], np.ones(len(X))])
        values.append(np.linalg.lstsq(A, y, rcond=None)[1][0])
    assert selector.objective_ == pytest.approx(min(values), rel=1e-9)


def test_no_ridge_and_few_columns_is_proven_by_trying_all():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((8, 12)), rng.standard_normal(8)
    selector = TopK(3, alpha=0.0, certify=True, random_state=0).fit(X, y)
    assert selector.status_ == "optimal"
    assert selector.n_nodes_ == 220


def test_no_ridge_and_many_columns_proves_nothing_and_says_so():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((20, 300)), rng.standard_normal(20)
    with pytest.warns(UserWarning, match="proves nothing here without a ridge"):
        selector = TopK(5, alpha=0.0, certify=True, random_state=0).fit(X, y)
    assert (selector.status_, selector.lower_bound_, selector.gap_) == ("gap", 0.0, 1.0)
    assert verify(X, y, selector) == 0.0


def test_time_limit_leaves_a_valid_bound():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((60, 400)), rng.integers(0, 3, 60)
    selector = TopK(8, alpha=0.1, certify=True, time_limit=1.0, random_state=0).fit(X, y)
    assert selector.status_ == "gap"
    assert 0 < selector.lower_bound_ < selector.objective_
    assert selector.gap_ == pytest.approx(1 - selector.lower_bound_ / selector.objective_)


def test_interrupt_keeps_the_best_answer_if_a_time_limit_was_set(monkeypatch):
    from rowsparse.solvers.proof import tree

    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((60, 200)), rng.integers(0, 3, 60)
    original, calls = tree.Subtree._expand, []

    def interrupted(self, node):
        calls.append(node)
        if len(calls) == 5:
            raise KeyboardInterrupt
        original(self, node)

    monkeypatch.setattr(tree.Subtree, "_expand", interrupted)
    selector = TopK(6, alpha=0.1, certify=True, time_limit=60.0, random_state=0).fit(X, y)
    assert selector.status_ == "gap"
    assert 0 < selector.lower_bound_ < selector.objective_
    calls.clear()
    other = TopK(6, alpha=0.1, certify=True, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        other.fit(X, y)
    assert not hasattr(other, "support_")


def test_callback_hears_of_bound_and_nodes_and_can_stop():
    pytest.importorskip("sklearn.callback")

    class Watcher:
        def __init__(self):
            self.heard = []

        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...
        def on_fit_task_end(self, estimator, context, *, metadata=None):
            self.heard.append(metadata)
            return metadata is not None and metadata.get("nodes", 0) >= 5

    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((60, 200)), rng.integers(0, 3, 60)
    watcher = Watcher()
    selector = TopK(6, alpha=0.1, certify=True, random_state=0)
    selector.set_callbacks(watcher)
    selector.fit(X, y)
    bounds = [m["lower_bound"] for m in watcher.heard if m and "lower_bound" in m]
    assert selector.status_ == "gap"
    assert selector.n_nodes_ == 5
    assert np.all(np.diff(bounds) >= 0)
    assert selector.lower_bound_ == pytest.approx(bounds[-1])
