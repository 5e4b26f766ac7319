"""Proofs of lists: all choices nearly as good as the best one, by both checkers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.exact import ExactProblem
from rowsparse import NearOptimal, TopK
from rowsparse.certificate import Proof, verify
from rowsparse.certificate.proof import Dual, Kind, Step

from .proofs import statement

BOTH = pytest.mark.parametrize("exact", [False, True])
# The table of docs/certificate_format.md: the objectives of single columns are 12, 18 and 20.
X = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
Y = np.array([3.0, 1, -1, -3])


def proof_of(listed, *steps, X=X, **changes):
    about = {"k": 1, "alpha": 1.0, "tolerance": 0.5} | changes
    about = statement(X.shape[1], about.pop("k"), **about)
    listed = np.array(listed)
    support = np.array(about.columns_of(listed[0].tolist()))
    return Proof(about, support, 0.0, 0.0, None, None, steps, listed=listed)


@BOTH
def test_the_list_to_check_by_hand(exact, tmp_path):
    proof = proof_of([[0], [1]], Step(Kind.ALL))
    path = proof.save(tmp_path / "list")
    for kept in (proof, path, proof_of([[0], [1]], Step(Kind.LAST))):
        checked = verify(X, Y, kept, exact=exact, tolerance=0.5)
        assert checked.bound == pytest.approx(20.0, rel=1e-11)
        assert checked.tolerance == pytest.approx(8 / 12)
        np.testing.assert_allclose(checked.listed, [[12.0] * 2, [18.0] * 2], rtol=1e-11)
        assert all(low <= high for low, high in checked.listed)
        assert checked.gap <= 1e-11
        # Rounding decides whether 18 is at most 1.5 times 12.
        assert checked.statement.startswith(
            "At least 1 and at most 2 choices of 1 of the 3 columns have a squared loss for numbers"
            " (ridge 1 n on standardised columns) within 50 % of the least, 12: those listed."
        )


@BOTH
@pytest.mark.parametrize(
    ("listed", "tolerance", "words"),
    [
        ([[0], [1]], 0.6, "Exactly 2 choices of 1 of the 3 columns have "),
        ([[0], [1]], 0.2, "Exactly 1 choice of 1 of the 3 columns has "),
        ([[0], [1], [2]], 9.0, "Exactly 3 choices of 1 of the 3 columns have "),
        ([[0], [1]], 0.7, "below 20, apart from the 2 listed: the list is complete within 66.66"),
        ([[0]], 0.6, "below 18, apart from the 1 listed: the list is complete within 50 % of "),
        ([[1]], 0.6, "below 12, apart from the 1 listed: nothing is proven of others within 60 %"),
    ],
)
def test_a_list_says_for_which_tolerance_it_is_complete(listed, tolerance, words, exact):
    checked = verify(X, Y, proof_of(listed, Step(Kind.ALL), tolerance=tolerance), exact=exact)
    text = checked.statement.replace("19.99999999", "20").replace("17.99999999", "18")
    text = text.replace("11.99999999", "12").replace("within 49.99999", "within 50")
    assert words in text or text.startswith(words)
    assert (checked.tolerance >= tolerance) == ("those listed" in checked.statement)
    assert (checked.bound == np.inf) == (len(listed) == 3)


@BOTH
def test_lists_that_are_none_are_refused(exact):
    good = proof_of([[0], [1]], Step(Kind.ALL))
    for listed in (
        *(
            np.array(rows)
            for rows in ([[0], [0]], [[0], [3]], [[-1], [0]], [[0, 1]], [[0.5], [1.5]])
        ),
        *(np.zeros((0, 1), dtype=int), np.zeros(2, dtype=int), None),
    ):
        with pytest.raises(ValueError, match=r"the proof does not hold: "):
            verify(X, Y, replace(good, listed=listed), exact=exact)
    without = replace(good, statement=replace(good.statement, tolerance=None))
    with pytest.raises(ValueError, match="without a tolerance"):
        verify(X, Y, without, exact=exact)
    for tolerance in (-0.1, np.nan, "x", True):
        other = replace(good, statement=replace(good.statement, tolerance=tolerance))
        with pytest.raises(ValueError, match="values that are invalid"):
            verify(X, Y, other, exact=exact)


# ------------------------------------------------------------------------------------- copies
@BOTH
@pytest.mark.parametrize(
    ("factor", "about", "copies"),
    [
        (-2.0, {}, True),
        (3.0, {}, False),
        (-2.0, {"standardize": False}, False),
        (-1.0, {"standardize": False}, True),
        (0.5, {"standardize": False, "alpha": 0.0}, True),
    ],
)
def test_copies_of_columns_count_once(factor, about, copies, exact):
    # Listed is the first column; the second is its copy or a choice of its own.
    wide = np.column_stack([X[:, 0], factor * X[:, 0], X[:, 1]])
    proof = proof_of([[0]], Step(Kind.ALL), X=wide, tolerance=0.1, **about)
    checked = verify(wide, Y, proof, exact=exact)
    assert (checked.tolerance >= 0.1) == copies
    exchange = Step(Kind.EXCHANGE, feature=0, out=np.array([1]))
    split = replace(proof, steps=[exchange, Step(Kind.ALL), Step(Kind.ALL)])
    if copies and about.get("alpha") != 0.0:  # without a ridge the pool has no copies
        assert verify(wide, Y, split, exact=exact).bound == checked.bound
        assert "columns, copies of columns counted once, has" in checked.statement
        twice = replace(proof, listed=np.array([[0], [1]]))
        again = verify(wide, Y, twice, exact=exact)
        assert (again.statement, again.tolerance) == (checked.statement, checked.tolerance)
    else:
        with pytest.raises(ValueError, match=r"no copies|outside its pool|not in its set"):
            verify(wide, Y, split, exact=exact)


@BOTH
def test_an_exchange_is_of_columns_that_may_still_be_chosen(exact):
    wide = np.column_stack([X, X[:, 0]])
    proof = proof_of([[0, 3]], X=wide, k=2)
    first = Step(Kind.SPLIT, feature=3)
    rest = [Step(Kind.ALL)] * 4
    for out in ([0], [3], [3, 3], [7], [1]):
        steps = [first, Step(Kind.EXCHANGE, feature=0, out=np.array(out)), *rest]
        with pytest.raises(ValueError, match=r"the proof does not hold: "):
            verify(wide, Y, replace(proof, steps=steps), exact=exact)


# ------------------------------------------------------------------------- against enumeration
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_lists_are_those_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 25)), int(rng.integers(2, 8))
    wide = rng.standard_normal((n, d))
    if rng.random() < 0.4:
        wide[:, -1] = wide[:, 0] * rng.choice([1.0, -2.0])
    y, k = wide[:, 0] + rng.standard_normal(n), int(rng.integers(1, d + 1))
    alpha, tolerance = 10.0 ** rng.uniform(-2, 1), 10.0 ** rng.uniform(-3, 0)
    near = NearOptimal(
        TopK(k, alpha=alpha, task="regression", n_restarts=0, random_state=0), tolerance=tolerance
    ).fit(wide, y)
    problem = ExactProblem.of(wide, y[:, None], k, alpha)
    values = {S: problem.objective(S) for S in problem.choices()}
    kinds = np.arange(d)
    for j, copies in near.copies_.items():
        kinds[j] = min(j, *copies)

    def kind(S):
        return tuple(sorted(kinds[list(S)].tolist()))

    listed = {kind(choice): values[tuple(choice.tolist())] for choice in near.choices_}
    assert len(listed) == len(near.choices_)
    for exact in (False, True):
        checked = verify(wide, y, near, exact=exact, tolerance=tolerance)
        assert checked.tolerance >= tolerance
        for S, value in values.items():
            assert kind(S) in listed or checked.bound <= value
        for (low, high), value in zip(checked.listed, listed.values(), strict=True):
            assert low <= value <= high


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
@pytest.mark.parametrize("groups", [None, [[0, 3], [1], [2, 4], [5], [6], [7, 8]]])
def test_both_checkers_agree_on_every_loss_and_on_groups(loss, groups):
    pytest.importorskip("flint") if loss != "squared" else None
    rng = np.random.default_rng(4)
    wide = rng.standard_normal((40, 9))
    scores = wide[:, 0] - wide[:, 2] + rng.standard_normal(40)
    y = {"squared": scores, "logistic": (scores > 0).astype(int), "poisson": rng.poisson(3.0, 40)}
    near = NearOptimal(
        TopK(3, alpha=0.1, loss=loss, feature_groups=groups, random_state=0), tolerance=0.2
    ).fit(wide, y[loss])
    fast, exact = (verify(wide, y[loss], near, exact=exact) for exact in (False, True))
    assert len(near.choices_) > 1
    assert near.complete_
    assert fast.statement == exact.statement or near.within_rounding_.any()
    assert fast.tolerance == pytest.approx(exact.tolerance, rel=1e-6)
    np.testing.assert_allclose(fast.listed, exact.listed, rtol=1e-9)
    np.testing.assert_allclose([low for low, _ in exact.listed], near.objectives_, rtol=1e-9)
    for (low, high), (least, most) in zip(fast.listed, exact.listed, strict=True):
        assert low <= most
        assert high >= least


def test_a_bound_of_a_set_with_listed_choices_is_about_them_too():
    point = Dual(np.array([0]), np.ones((1, 1)))
    proof = proof_of([[0], [1]], Step(Kind.BOUND, point))
    assert verify(X, Y, proof, exact=True).bound == 12.0
