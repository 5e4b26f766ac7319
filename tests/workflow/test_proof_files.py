"""Proofs in files: what is written holds, and what was changed is found out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rowsparse.certificate import Proof
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.settings import TableSettings
from rowsparse.workflow.writing import check_proof, write_proof

from .files import X, Y, csv, frame, read
from .planted import selected


@pytest.fixture
def proof(tmp_path: Path) -> Path:
    table = read(csv(tmp_path / "a.csv", frame()), "outcome", drop="f0")
    result = selected(table, 3, certify=True, alpha=1.0, cv=0, stability=0)
    assert result.proof is not None
    settings = TableSettings(target="outcome", drop="f0")
    return write_proof(tmp_path / "proof.npz", result.proof, table, settings)


def test_a_proof_holds_for_its_table_in_any_order_of_rows(proof: Path, tmp_path: Path) -> None:
    checked = check_proof(proof, tmp_path / "a.csv")
    assert checked.holds
    assert checked.features == ("f1", "f4", "f6")
    assert checked.checked is not None
    assert 0 < checked.checked.bound <= checked.checked.objective
    mixed = csv(tmp_path / "b.csv", frame().sample(fraction=1.0, shuffle=True, seed=0))
    assert check_proof(proof, mixed).holds


def test_another_table_and_too_large_a_claim_are_told_apart(proof: Path, tmp_path: Path) -> None:
    other = csv(tmp_path / "b.csv", frame().with_columns(f1=np.roll(X[:, 1], 1)))
    found = check_proof(proof, other)
    assert not found.holds
    assert found.checked is None
    assert found.difference == "its rows go together in another way"
    kept = Proof.load(proof)
    replace(kept, lower_bound=1.01 * kept.lower_bound).save(proof)
    checked = check_proof(proof, tmp_path / "a.csv")
    assert checked.checked is not None
    assert not checked.holds


def test_what_cannot_be_checked(proof: Path, tmp_path: Path) -> None:
    fewer = csv(tmp_path / "b.csv", frame().drop("f1", "f2"))
    with pytest.raises(InputError, match=r"other columns .* they differ in 'f1' and 'f2'\."):
        check_proof(proof, fewer)
    np.savez(tmp_path / "c.npz", X=X[:, 1:], y=Y)
    with pytest.raises(InputError, match="target: there is no column 'outcome'"):
        check_proof(proof, tmp_path / "c.npz")
    replace(Proof.load(proof), about={}).save(proof)
    with pytest.raises(InputError, match="does not say how its table was read"):
        check_proof(proof, tmp_path / "a.csv")
    with pytest.raises(InputError, match="There is no file"):
        check_proof(tmp_path / "absent.npz", tmp_path / "a.csv")
