"""Proofs of groups of columns: both checkers, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.attack import _partition
from benchmarks.exact import ExactProblem
from rowsparse import Moments, TopK
from rowsparse.certificate import Proof, verify
from rowsparse.certificate import exact as exact_module
from rowsparse.certificate.proof import Kind, Step

needs_balls = pytest.mark.skipif(exact_module.flint is None, reason="needs python-flint")
GROUPS = [[0, 3], [1], [2, 5, 7], [4, 6], [8, 9]]


def data(seed=0, n=30, d=10, classes=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    y = X[:, 0] - X[:, -1] + rng.standard_normal(n)
    return X, (y > 0).astype(int) if classes else y


def proven(X, y, k=2, groups=GROUPS, **options):
    options = {"alpha": 0.05, "certify": True, "random_state": 0} | options
    return TopK(k, feature_groups=groups, **options).fit(X, y)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_both_checkers_prove_no_more_than_enumeration(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 9))
    X, y = data(seed, int(rng.integers(3, 20)), d)
    groups = _partition(rng, d)
    k = int(rng.integers(1, len(groups) + 1))
    alpha = 10.0 ** rng.uniform(-4, 1) if rng.random() < 0.8 else 0.0
    about = {"alpha": alpha, "standardize": bool(rng.random() < 0.6)}
    selector = proven(X, y, k, groups, task="regression", **about)
    best = ExactProblem.of(X, y[:, None], k, groups=groups, **about).best()
    for exact in (False, True):
        checked = verify(X, y, selector, exact=exact, feature_groups=groups)
        assert checked.bound <= best
        slack = 1e-9 * selector.objective_ + 1e-10 * float(y @ y)
        assert checked.bound >= selector.lower_bound_ - slack or alpha < 1e-3
        assert checked.objective >= float(best) * (1 - 1e-12)


@needs_balls
@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_logistic_loss_too(k):
    X, y = data(3, classes=True)
    selector = proven(X, y, k, loss="logistic")
    bounds = [verify(X, y, selector, exact=exact).bound for exact in (False, True)]
    assert selector.status_ == "optimal"
    assert bounds == pytest.approx([selector.lower_bound_] * 2, rel=2e-6)


def test_the_groups_are_a_part_of_the_statement():
    X, y = data()
    selector = proven(X, y, include=[2], exclude=[4])
    checked = verify(X, y, selector, feature_groups=GROUPS, include=[2], k=2)
    assert checked.confirmed == ("feature_groups", "include", "k")
    assert "No 2 of the 5 groups of 10 columns with column 2 and without column 4" in str(checked)
    labels = ["a", "b", "c", "a", "d", "c", "d", "c", "e", "e"]
    verify(X, y, selector, feature_groups=labels)
    verify(X, y, selector, feature_groups=[group for group in GROUPS[::-1] if len(group) > 1])
    for other in (None, [[0, 1]], labels[::-1]):
        with pytest.raises(ValueError, match="the proof is about feature_groups="):
            verify(X, y, selector, feature_groups=other)


@pytest.mark.parametrize("form", ["sparse", "float32", "moments", "processes", "wide"])
def test_data_of_every_form(form):
    X, y = data(5, n=40) if form != "wide" else data(5, n=8)
    if form == "sparse":
        X = np.where(np.abs(X) > 0.7, X, 0.0)
        selector = proven(sp.csr_array(X), y)
    elif form == "moments":
        selector = TopK(2, alpha=0.05, certify=True, feature_groups=GROUPS).fit_moments(
            Moments("regression").update(X, y)
        )
    elif form == "float32":
        X = X.astype(np.float32)
        selector = proven(X, y)
    else:
        selector = proven(X, y, n_jobs=2 if form == "processes" else None)
    best = ExactProblem.of(X.astype(float), y[:, None], 2, 0.05, groups=GROUPS).best()
    assert selector.lower_bound_ <= best
    assert selector.status_ == "optimal"
    assert float(verify(X, y, selector)) <= best


def test_a_saved_proof_is_the_same(tmp_path):
    X, y = data()
    selector = proven(X, y)
    path = selector.proof_.save(tmp_path / "groups.npz")
    assert Proof.load(path).statement.feature_groups == GROUPS
    assert float(verify(X, y, path)) == float(verify(X, y, selector))


@pytest.mark.parametrize("exact", [False, True])
def test_steps_that_fit_no_groups_are_refused(exact):
    X, y = data()
    proof = proven(X, y).proof_

    def refused(reason, **changes):
        with pytest.raises(ValueError, match=reason):
            verify(X, y, replace(proof, **changes), exact=exact)

    refused("LAST step|one group", steps=[Step(Kind.LAST)])
    # There are ten columns, and five groups.
    refused("there are not|not in its set", steps=[Step(Kind.SPLIT, feature=7), Step(Kind.OPEN)])
    refused("2 different groups", support=proof.support[:-1])
    for groups in ([[0, 1]], [], [[0], [0, *range(1, 10)]], [list(range(10)), []], [[0.0]], 3):
        refused("groups|choice", statement=replace(proof.statement, feature_groups=groups))
    every = replace(proof, steps=[Step(Kind.ALL)])
    assert verify(X, y, every, exact=exact).bound == pytest.approx(proof.objective, rel=1e-6)
    chosen = proof.support.tolist()
    other = [sorted({*range(10)} - {*chosen}), *([j] for j in chosen)]
    about = replace(proof.statement, feature_groups=other, k=len(chosen))
    changed = replace(proof, statement=about, steps=[Step(Kind.OPEN)])
    assert verify(X, y, changed, exact=exact).bound == 0.0
