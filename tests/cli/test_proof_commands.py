"""A proof on the command line: written beside a selection, and checked by another command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from rowsparse.certificate import Proof

from .commands import invoke


def write_table(path: Path, X: np.ndarray, y: np.ndarray) -> Path:
    header = ",".join([*(f"v{j}" for j in range(X.shape[1])), "kind"])
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header=header, comments="")
    return path


@pytest.fixture
def wine(tmp_path: Path) -> Path:
    X, y = load_wine(return_X_y=True)
    return write_table(tmp_path / "wine.csv", X, y)


@pytest.fixture
def proof(wine: Path) -> Path:
    path = wine.with_name("proof.npz")
    quick = ["--cv", "0", "--stability", "0", "--no-report", "--out", str(wine.with_name("out"))]
    done = invoke(
        "select",
        str(wine),
        "-t",
        "kind",
        "-k",
        "3",
        "--certify",
        "--loss",
        "squared",
        "--proof",
        str(path),
        "--task",
        "classification",
        *quick,
    )
    assert done.exit_code == 0, done.output
    assert "rowsparse verify" in done.stdout
    return path


def test_a_proof_is_written_and_holds(wine: Path, proof: Path) -> None:
    kept = Proof.load(proof)
    assert kept.about["columns"] == [f"v{j}" for j in range(13)]
    done = invoke("verify", str(proof), str(wine))
    assert done.exit_code == 0, done.output
    chosen = ", ".join(f"v{j}" for j in kept.support)
    assert "No 3 of the 13 columns have a" in done.stdout
    assert f"Chosen: {chosen}." in done.stdout
    assert "were checked against the table" in done.stdout


def test_a_proof_of_limited_columns_says_so(wine: Path) -> None:
    path = wine.with_name("limited.npz")
    given = f"-t kind -k 2 --certify --clip 1.5 --proof {path} --cv 0 --stability 0 --no-report"
    done = invoke("select", str(wine), *given.split(), "--out", str(wine.with_name("out")))
    assert done.exit_code == 0, done.output
    done = invoke("verify", str(path), str(wine))
    assert done.exit_code == 0, done.output
    assert "standardised columns within 1.5 standard deviations" in " ".join(done.stdout.split())
    assert "were checked against the table" in done.stdout


@pytest.mark.parametrize("dependent", [False, True])
def test_another_table_is_told_from_the_one_that_the_proof_is_about(
    proof: Path, dependent: bool
) -> None:
    """With dependent columns even the diagonal that takes the place of the ridge is too large."""
    assert Proof.load(proof).diagonal is not None
    X, y = load_wine(return_X_y=True)
    X[0] += 1.0
    if dependent:
        X[:, 1] = X[:, 0]
    other = write_table(proof.with_name("other.csv"), X, y)
    done = invoke("verify", str(proof), str(other))
    assert done.exit_code == 1
    assert "another table" in done.stdout
    assert "its columns 'v0', 'v1' and 'v2'" in done.stdout


def test_a_proof_that_claims_too_much_is_told(wine: Path, proof: Path) -> None:
    from dataclasses import replace

    kept = Proof.load(proof)
    replace(kept, lower_bound=1.01 * kept.lower_bound).save(proof)
    done = invoke("verify", str(proof), str(wine))
    assert done.exit_code == 1
    assert "do not give" in done.stdout


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("columns", "other columns than the proof is about"),
        ("cut", "is not a proof that rowsparse wrote"),
        ("absent", "There is no file"),
        ("unknown", "does not say how its table was read"),
    ],
)
def test_what_cannot_be_checked_is_refused_in_one_sentence(
    wine: Path, proof: Path, damage: str, message: str
) -> None:
    if damage == "columns":
        X, y = load_wine(return_X_y=True)
        write_table(wine, X[:, 1:], y)
    elif damage == "cut":
        proof.write_bytes(proof.read_bytes()[:-200])
    elif damage == "absent":
        proof.unlink()
    else:
        from dataclasses import replace

        replace(Proof.load(proof), about={}).save(proof)
    done = invoke("verify", str(proof), str(wine))
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_proof_needs_certify_and_a_folder(wine: Path) -> None:
    done = invoke("select", str(wine), "-t", "kind", "-k", "3", "--proof", "x.npz")
    assert done.exit_code == 2
    assert "--proof needs --certify" in done.stderr
    absent = str(wine.with_name("absent") / "x.npz")
    done = invoke("select", str(wine), "-t", "kind", "-k", "3", "--certify", "--proof", absent)
    assert done.exit_code == 2
    assert "there is no folder" in done.stderr


def test_a_proof_overwrites_neither_the_table_nor_an_earlier_one(proof: Path) -> None:
    table = proof.with_name("wine.npz")
    X, y = load_wine(return_X_y=True)
    np.savez(table, X=X, y=y)
    before = table.read_bytes(), proof.read_bytes()
    command = ["select", str(table), "-k", "3", "--certify", "--proof"]
    for path, words in ((table, "would overwrite the table"), (proof, "with --force")):
        for name in (path, path.with_suffix("")):
            done = invoke(*command, str(name))
            assert done.exit_code == 2
            assert words in done.stderr
    assert (table.read_bytes(), proof.read_bytes()) == before
