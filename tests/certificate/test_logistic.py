"""The checker of proofs with the logistic loss: true bounds, recomputed from saved proofs."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.exact_logistic import LogisticProblem
from rowsparse import TopK
from rowsparse.certificate import Proof, objective, verify
from rowsparse.certificate.choices import Choices
from rowsparse.certificate.data import Data
from rowsparse.certificate.logistic import LogisticBounds, logistic_objective
from rowsparse.certificate.steps import Kind


def kept(X, y, k=3, weights=None, **options):
    given_options = {"loss": "logistic", "alpha": 0.05, "certify": True, "keep_proof": True}
    selector = TopK(k, random_state=0, **given_options | options)
    return selector.fit(X, y, sample_weight=weights)


def sample(form, seed=0, n=40, d=25):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    scores = X[:, :4] @ rng.standard_normal((4, 3)) + rng.standard_normal((n, 3))
    if form == "labels":
        return X, (scores > 0).astype(int)
    return X, scores.argmax(axis=1) if form == "classes" else (scores[:, 0] > 0).astype(int)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_bounds_are_below_every_choice(seed):
    rng = np.random.default_rng(seed)
    n, c = int(rng.integers(4, 15)), int(rng.integers(1, 3))
    X, weights = rng.standard_normal((n, 6)), rng.uniform(0.3, 2.0, n)
    T = (rng.random((n, c)) < 0.5).astype(float)
    T[0], T[1] = 0, 1
    ridge, intercept = 10.0 ** rng.uniform(-4, 3), bool(rng.random() < 0.6)
    root = np.sqrt(weights)[:, None]
    data = Data(root * X, root * T, ridge, X, T, weights, intercept)
    bounds = LogisticBounds(data, np.arange(6))
    choices = Choices(np.array([1]), np.arange(6) != 1, 2)
    wide = [part.astype(np.longdouble) for part in (X, T, weights)]
    oracle = LogisticProblem(*wide, np.longdouble(ridge), intercept, 3, frozenset([1]), frozenset())
    best = oracle.best()
    W = 10.0 ** rng.uniform(-2, 2) * rng.standard_normal((2, c))
    assert bounds.bound(np.array([0, 1]), W, choices)[0] <= best
    tried = bounds.every(choices)
    assert tried <= best
    assert tried == pytest.approx(float(best), rel=1e-6, abs=1e-7 * float(oracle.total))
    value = logistic_objective(data, np.array([1, 2, 3]))
    assert value == pytest.approx(float(oracle.objective([1, 2, 3])), rel=1e-8)


@pytest.mark.parametrize("form", ["binary", "classes", "labels"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("keep_proof", [True, False])
def test_the_checked_bound_is_that_of_the_fit(form, fit_intercept, keep_proof, tmp_path):
    X, y = sample(form)
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    options = {"include": [3], "exclude": [0, 1], "keep_proof": keep_proof}
    selector = kept(X, y, weights=weights, fit_intercept=fit_intercept, **options)
    assert selector.status_ == "optimal"
    proof = Proof.load(selector.proof_.save(tmp_path / "proof"))
    bound = verify(X, y, proof, sample_weight=weights)
    expected = selector.lower_bound_ if keep_proof else selector.root_bound_
    assert expected * (1 - 1e-9) <= bound <= selector.objective_
    assert objective(X, y, proof, weights) == pytest.approx(selector.objective_, rel=1e-10)


def test_sparse_clipped_data_and_class_weights_are_checked_too():
    X = sp.random(60, 30, density=0.3, random_state=2, format="csr")
    y = np.asarray(X[:, [4]].toarray().ravel() + X[:, [7]].toarray().ravel() > 0.3)
    selector = kept(X, y, class_weight="balanced", clip=2.0)
    assert selector.status_ == "optimal"
    assert selector.lower_bound_ * (1 - 1e-9) <= verify(X, y, selector) <= selector.objective_


def test_other_numbers_give_a_lower_bound_and_other_steps_none():
    X, y = sample("classes")
    selector = kept(X, y)
    proof = selector.proof_

    def spoiled(step):
        if step.dual is None:
            return step
        return replace(step, dual=replace(step.dual, W=0.7 * step.dual.W))

    weaker = verify(X, y, replace(proof, steps=[spoiled(step) for step in proof.steps]))
    assert weaker < selector.lower_bound_
    with pytest.raises(ValueError, match="leaves out some choices"):
        verify(X, y, replace(proof, steps=proof.steps[:-1]))
    last = [replace(step, kind=Kind.LAST) for step in proof.steps]
    with pytest.raises(ValueError, match="a step of another loss"):
        verify(X, y, replace(proof, steps=last))
    with pytest.raises(ValueError, match="its loss is unknown"):
        verify(X, y, replace(proof, problem=replace(proof.problem, loss="other")))


def test_the_bound_of_the_guide_is_that_of_the_root():
    X, y = sample("binary")
    selector = kept(X, y, keep_proof=False)
    k, ridge = 3, 0.05 * len(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    dual = next(step.dual for step in selector.proof_.steps if step.dual is not None)
    F = Z[:, dual.features] @ dual.W[:, 0]
    low, high = -50.0, 50.0
    for _ in range(100):
        b = (low + high) / 2
        low, high = (low, b) if np.mean(1 / (1 + np.exp(-F - b))) > y.mean() else (b, high)
    p = 1 / (1 + np.exp(-F - b))
    entropy = -np.sum(p * np.log(p) + (1 - p) * np.log(1 - p))
    q = np.sort((Z.T @ (p - y)) ** 2)[::-1] / (2 * ridge)
    assert entropy - q[:k].sum() == pytest.approx(selector.root_bound_, rel=1e-9)
    # It is below the objective of every choice.
    for S in list(combinations(range(6), 3)):
        alone = kept(X[:, S], y, certify=False, keep_proof=False)
        assert entropy - q[:k].sum() <= alone.objective_
