"""Proofs in memory and in files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rowsparse.certificate import Proof, verify

from .proofs import kept_proof


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


@pytest.mark.parametrize(
    "change", [{"k": "x"}, {"k": 99}, {"k": 0}, {"alpha": -1.0}, {"x_unit": 0.0}, {"y_unit": None}]
)
def test_a_problem_with_invalid_values_is_refused(change):
    X, y, selector = kept_proof()
    proof = selector.proof_
    with pytest.raises(ValueError, match="are invalid"):
        verify(X, y, replace(proof, problem=replace(proof.problem, **change)))
