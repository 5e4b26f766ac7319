"""Proofs that hold, and proofs that do not."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from rowsparse import Moments, TopK
from rowsparse.certificate import OtherDataError, Proof, verify
from rowsparse.certificate.proof import Dual, Kind, Step
from rowsparse.solvers.proof import tree

from .proofs import kept_proof, statement


def sample(form, seed=0, n=40, d=25):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    scores = X[:, :4] @ rng.standard_normal((4, 3)) + rng.standard_normal((n, 3))
    if form == "labels":
        return X, (scores > 0).astype(int)
    return X, scores.argmax(axis=1) if form == "classes" else (scores[:, 0] > 0).astype(int)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 2.0, 2: 0.5}])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_checked_bound_is_that_of_the_fit(loss, standardize, fit_intercept, class_weight):
    X, y = sample("classes", d=40)
    weights = np.random.default_rng(0).integers(0, 3, 40).astype(float)
    options = {
        "alpha": 0.5,
        "loss": loss,
        "standardize": standardize,
        "fit_intercept": fit_intercept,
        "class_weight": class_weight,
        "include": [3],
        "exclude": [0, 1],
    }
    selector = TopK(4, certify=True, random_state=0, **options)
    selector.fit(X, y, sample_weight=weights)
    checked = verify(X, y, selector, weights, k=4, **options)
    assert selector.status_ == "optimal"
    assert checked.confirmed == ("k", *options)
    assert checked.same_data
    # Sets of choices that were closed as good enough may be bounded by more than that.
    assert selector.lower_bound_ * (1 - 1e-9) <= float(checked) <= selector.objective_
    assert checked.objective == pytest.approx(selector.objective_, rel=1e-10)


@pytest.mark.parametrize("form", ["binary", "labels"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_two_classes_and_labels_with_the_logistic_loss(form, fit_intercept):
    X, y = sample(form)
    options = {"loss": "logistic", "alpha": 0.05, "fit_intercept": fit_intercept}
    selector = TopK(3, certify=True, random_state=0, **options).fit(X, y)
    assert selector.status_ == "optimal"
    assert selector.lower_bound_ * (1 - 1e-9) <= float(verify(X, y, selector))
    assert verify(X, y, selector).gap <= 1e-6


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, np.float32])
def test_sparse_clipped_and_single_precision_data(loss, kind):
    X = sp.random(60, 30, density=0.3, random_state=2, format="csr").toarray()
    y = np.where(X[:, 4] + X[:, 7] > 0.3, "yes", "no")
    X = kind(X)
    options = {"loss": loss, "alpha": 0.1, "clip": 2.0, "class_weight": "balanced"}
    selector = TopK(3, certify=True, random_state=0, **options).fit(X, y)
    assert selector.status_ == "optimal"
    assert selector.lower_bound_ * (1 - 1e-9) <= float(verify(X, y, selector))
    assert float(verify(X, y, selector)) <= selector.objective_


def test_a_proof_needs_certify():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="certify=True"):
        verify(X, y, TopK(2).fit(X, y))


def test_the_statement_is_a_sentence():
    X, y = sample("classes")
    options = {"loss": "logistic", "alpha": 0.5, "include": [3], "exclude": [0, 1]}
    selector = TopK(3, certify=True, class_weight="balanced", **options).fit(X, y)
    words = verify(X, y, selector).statement
    assert words.startswith(
        "No 3 of the 25 columns with column 3 and without columns 0, 1 have a logistic loss for "
        "classes (ridge 0.5 n on standardised columns; balanced classes) below "
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 5}, "the proof is about k=4, and not 5"),
        ({"alpha": 0.5}, "the proof is about alpha=0.05, and not 0.5"),
        ({"loss": "logistic"}, "the proof is about loss='squared', and not 'logistic'"),
        ({"include": [1]}, r"the proof is about include=\[\], and not \[1\]"),
        ({"standardize": 1}, "the proof is about standardize=True, and not 1"),
    ],
)
def test_another_statement_than_the_callers_is_refused(given, message):
    X, y, selector = kept_proof()
    with pytest.raises(ValueError, match=message):
        verify(X, y, selector, **given)


def test_what_no_statement_has_is_refused():
    X, y, selector = kept_proof()
    with pytest.raises(TypeError, match="a statement has no 'ridge'"):
        verify(X, y, selector, ridge=1.0)


# ---------------------------------------------------------------------------------- other data
def test_other_data_are_refused_by_name_of_the_difference():
    X, y, selector = kept_proof()
    changed = X.copy()
    changed[3, 7] = np.nextafter(X[3, 7], 9.0)
    with pytest.raises(OtherDataError, match="column 7 of X differs") as caught:
        verify(changed, y, selector)
    assert caught.value.columns == [7]
    with pytest.raises(OtherDataError, match=r"columns 0, 1, 2, 3, 4, \.\.\. of X differ"):
        verify(X + 1.0, y, selector)
    with pytest.raises(OtherDataError, match="y differs"):
        verify(X, 2.0 * y, selector)
    with pytest.raises(OtherDataError, match="sample_weight differs"):
        verify(X, y, selector, np.full(len(X), 2.0))
    rolled = X.copy()
    rolled[:, 2] = np.roll(X[:, 2], 1)
    with pytest.raises(OtherDataError, match="its rows go together in another way"):
        verify(rolled, y, selector)
    with pytest.raises(ValueError, match="about 30 columns"):
        verify(X[:, :-1], y, selector.proof_)
    with pytest.raises(ValueError, match="another number of them"):
        verify(X, y[:-1], selector.proof_)


def test_the_order_of_the_rows_does_not_matter():
    X, y, selector = kept_proof()
    order = np.random.default_rng(0).permutation(len(X))
    mixed = verify(sp.csr_array(X[order]), y[order], selector)
    assert mixed.bound == pytest.approx(verify(X, y, selector).bound, rel=1e-12)


def test_without_a_hash_other_data_give_their_own_bound():
    X, y, selector = kept_proof()
    proof = replace(selector.proof_, data=None)
    other = y + np.random.default_rng(9).standard_normal(y.shape)
    again = TopK(4, alpha=0.05, certify=True, random_state=0).fit(X, other)
    checked = verify(X, other, proof)
    assert float(checked) < again.objective_
    assert not checked.same_data


def test_proofs_from_moments_are_checked_against_the_samples():
    X, y, selector = kept_proof(n=60, d=12)
    moments = Moments("regression").update(X[:20], y[:20]).update(X[20:], y[20:])
    streamed = TopK(4, alpha=0.05, certify=True, random_state=0).fit_moments(moments)
    assert streamed.proof_.data is None
    checked = float(verify(X, y, streamed))
    assert streamed.lower_bound_ * (1 - 1e-9) <= checked <= selector.objective_


@pytest.mark.parametrize("exact", [False, True])
def test_class_labels_that_are_missing_are_refused(exact):
    y = np.array([0.0, 1.0, np.nan, 1.0])
    about = statement(2, 1, task="classification")
    proof = Proof(about, np.array([0]), 0.0, 0.0, None, None, [Step(Kind.ALL)])
    with pytest.raises(ValueError, match="class labels, none of them missing"):
        verify(np.eye(4)[:, :2], y, proof, exact=exact)


# ------------------------------------------------------------------------------ damaged proofs
@pytest.mark.parametrize("part", ["dual", "fixed", "out"])
def test_a_proof_that_counts_a_column_twice_does_not_hold(part):
    X, y, selector = kept_proof(d=12, seed=2)

    def doubled(step):
        if step.kind != Kind.SCREEN or (part != "dual" and not getattr(step, part).size):
            return step
        if part == "dual":
            twice = np.repeat(np.arange(step.dual.features.size), 2)
            return replace(step, dual=Dual(step.dual.features[twice], step.dual.V[twice]))
        return replace(step, **{part: np.repeat(getattr(step, part), 2)})

    steps = [doubled(step) for step in selector.proof_.steps]
    assert any(new is not old for new, old in zip(steps, selector.proof_.steps, strict=True))
    with pytest.raises(ValueError, match="counts a column twice"):
        verify(X, y, replace(selector.proof_, steps=steps))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("seed", range(3))
def test_a_proof_with_other_numbers_still_gives_a_true_bound(seed, loss):
    X, y = sample("classes")
    selector = TopK(3, alpha=0.05, loss=loss, certify=True, random_state=0).fit(X, y)
    rng = np.random.default_rng(seed)

    def spoiled(step):
        if step.dual is None:
            return step
        V = step.dual.V * rng.uniform(0.5, 1.5, step.dual.V.shape)
        return replace(step, dual=replace(step.dual, V=V))

    proof = replace(selector.proof_, steps=[spoiled(step) for step in selector.proof_.steps])
    assert 0.0 <= float(verify(X, y, proof)) < selector.lower_bound_


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
    proof = selector.proof_
    included = replace(proof.statement, include=proof.support[:1].tolist())
    proof = replace(proof, statement=included, support=change(proof.support))
    with pytest.raises(ValueError, match="not about 4 different columns"):
        verify(X, y, proof)


@pytest.mark.parametrize("exact", [False, True])
def test_what_would_take_far_more_memory_than_the_data_is_refused(exact):
    X, y = np.arange(10.0**4 * 2).reshape(-1, 2), np.arange(10.0**4)
    about = statement(2, 1, task="classification")
    proof = Proof(about, np.array([0]), 0.0, 0.0, None, None, [Step(Kind.OPEN)])
    with pytest.raises(ValueError, match="y has 10,000 values: too many for classes"):
        verify(X, y, proof, exact=exact)
    wide = replace(proof, statement=statement(9000, 9000), support=np.arange(9000))
    with pytest.raises(ValueError, match="choices of 9,000 are too large"):
        verify(np.zeros((2, 9000)), np.arange(2.0), wide, exact=exact)


# --------------------------------------------------------------------------------- the making
def test_of_a_proof_too_large_the_root_is_kept(monkeypatch):
    X, y, whole = kept_proof()
    monkeypatch.setattr(tree, "_MAX_PROOF_BYTES", 1 << 10)
    _, _, selector = kept_proof()
    assert selector.lower_bound_ == whole.lower_bound_
    assert len(selector.proof_) == 1 < len(whole.proof_)
    assert float(verify(X, y, selector)) == pytest.approx(selector.root_bound_, rel=1e-9)


def test_the_checker_imports_neither_solvers_nor_scikit_learn():
    code = (
        "import sys, rowsparse.certificate, rowsparse.certificate.exact\n"
        "print([m for m in sys.modules if '.solvers' in m or '.design' in m or 'sklearn' in m])\n"
        "import rowsparse.solvers.proof.workers\n"
        "print('sklearn' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["[]", "False"]
