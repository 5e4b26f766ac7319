"""Proofs that hold, and proofs that do not."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from rowsparse import TopK
from rowsparse.certificate import objective, verify
from rowsparse.certificate.steps import Dual, Kind

from .proofs import kept_proof


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
        loss="squared",
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


def test_a_proof_with_a_step_missing_does_not_hold():
    X, y, selector = kept_proof()
    proof = selector.proof_
    for steps in (proof.steps[:-1], proof.steps[1:], [*proof.steps, proof.steps[-1]]):
        with pytest.raises(ValueError, match="the proof does not hold"):
            verify(X, y, replace(proof, steps=steps))


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


def test_checking_imports_no_solver_and_the_workers_of_a_proof_no_sklearn():
    code = (
        "import sys, rowsparse.certificate\n"
        "print(any('.solvers' in name for name in sys.modules))\n"
        "import rowsparse.solvers.proof.workers\n"
        "print('sklearn' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False"]


def test_the_objective_is_recomputed_from_the_data():
    X, y, selector = kept_proof()
    assert objective(X, y, selector.proof_) == pytest.approx(selector.objective_, rel=1e-10)


@pytest.mark.parametrize(
    "change",
    [
        lambda support: np.append(support[:-1], support[0]),
        lambda support: support[:-1],
        lambda support: np.append(support[:-1], 30),
        lambda support: np.setdiff1d(np.arange(30), support)[:4],
    ],
    ids=["twice", "too few", "outside", "without the included one"],
)
def test_a_proof_about_columns_that_are_no_choice_does_not_hold(change):
    X, y, selector = kept_proof()
    included = replace(selector.proof_.problem, include=selector.proof_.support[:1].tolist())
    proof = replace(selector.proof_, problem=included, support=change(selector.proof_.support))
    for check in (verify, objective):
        with pytest.raises(ValueError, match="not about 4 different columns"):
            check(X, y, proof)
