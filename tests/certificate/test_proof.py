"""Proofs in memory and in files, and the format's own example."""

from __future__ import annotations

import json
import zipfile
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from rowsparse.certificate import Proof, verify
from rowsparse.certificate.proof import Dual, Kind, Step

from .proofs import kept_proof, statement

# The table of docs/certificate_format.md.
X = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
Y = np.array([3.0, 1, -1, -3])
ONE, NOTHING = Dual(np.array([0]), np.ones((1, 1))), Dual(np.zeros(0, int), np.zeros((0, 1)))


@pytest.mark.parametrize(
    "steps",
    [
        [Step(Kind.BOUND, ONE)],
        [Step(Kind.SPLIT, None, 0), Step(Kind.BOUND, ONE), Step(Kind.BOUND, NOTHING)],
        [Step(Kind.LAST)],
        [Step(Kind.ALL)],
        [Step(Kind.SCREEN, ONE, -1, np.array([2]), np.zeros(0, int)), Step(Kind.LAST)],
    ],
    ids=["bound", "split", "last", "all", "screen"],
)
def test_the_proof_to_check_by_hand(steps, tmp_path):
    proof = Proof(statement(3, 1, alpha=1.0), np.array([0]), 12.0, 12.0, None, None, steps)
    assert verify(X, Y, proof, exact=True).bound == 12.0
    checked = verify(X, Y, Proof.load(proof.save(tmp_path / "a")))
    assert checked.bound == pytest.approx(12.0, rel=1e-11)
    assert checked.bound <= 12.0 <= checked.objective
    assert checked.objective == pytest.approx(12.0, rel=1e-11)


def test_a_saved_proof_is_the_same_proof(tmp_path):
    X, y, selector = kept_proof()
    path = selector.proof_.save(tmp_path / "proof")
    assert path.name == "proof.npz"
    loaded = Proof.load(path)
    assert len(loaded) == len(selector.proof_) > 20
    assert loaded.statement == selector.proof_.statement
    assert verify(X, y, path) == verify(X, y, selector.proof_)
    assert selector.lower_bound_ * (1 - 1e-9) <= float(verify(X, y, loaded)) <= selector.objective_


def test_a_file_that_is_no_proof_is_refused_in_one_sentence(tmp_path):
    _, _, selector = kept_proof()
    good = selector.proof_.save(tmp_path / "proof.npz").read_bytes()
    other, text, cut = (tmp_path / name for name in ("other.npz", "text.npz", "cut.npz"))
    np.savez(other, X=np.zeros(3))
    text.write_text("hello")
    cut.write_bytes(good[: len(good) // 2])
    for bad in (other, text, cut):
        with pytest.raises(ValueError, match="is not a proof") as caught:
            Proof.load(bad)
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        Proof.load(tmp_path / "absent.npz")


def in_version(path, version):
    """The file with another version in its header; version 2 knows no groups, and 4 no lists."""
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes()) | {"version": version}
    del header["statement"]["feature_groups"], header["statement"]["tolerance"]
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    return path


def test_another_version_is_named_and_earlier_ones_are_read(tmp_path):
    X, y, selector = kept_proof()
    path = selector.proof_.save(tmp_path / "proof.npz")
    with pytest.raises(ValueError, match="version 1 of the format, and this is version 6"):
        Proof.load(in_version(path, 1))
    for version in (2, 3, 4, 5):
        selector.proof_.save(path)
        before = Proof.load(in_version(path, version))
        assert before.statement == selector.proof_.statement
        assert float(verify(X, y, before)) == float(verify(X, y, selector))


def test_damaged_bytes_end_in_one_sentence(tmp_path):
    X, y, selector = kept_proof(n=12, d=6, k=2)
    path = selector.proof_.save(tmp_path / "proof.npz")
    rng = np.random.default_rng(0)
    # Not compressed, so that damage reaches the arrays themselves and not their checksums.
    with zipfile.ZipFile(path) as file:
        parts = {name: bytearray(file.read(name)) for name in file.namelist()}
    for trial in range(60):
        name = sorted(parts)[trial % len(parts)]
        damaged = {key: bytes(value) for key, value in parts.items()}
        content = bytearray(parts[name])
        content[int(rng.integers(len(content)))] = int(rng.integers(256))
        damaged[name] = bytes(content)
        with zipfile.ZipFile(tmp_path / "damaged.npz", "w") as file:
            for key, value in damaged.items():
                file.writestr(key, value)
        with suppress(ValueError):
            assert 0 <= float(verify(X, y, tmp_path / "damaged.npz")) <= selector.objective_


@pytest.mark.parametrize(
    "change",
    [
        {"k": "x"},
        {"k": 99},
        {"k": 0},
        {"alpha": -1.0},
        {"alpha": np.nan},
        {"alpha": np.inf},
        {"loss": "other"},
        {"task": 3},
        {"clip": 0.0},
        {"standardize": 1},
        {"class_weight": [1.0, 1.0]},
        {"class_weight": [-1.0, 1.0], "task": "classification"},
        {"class_weight": [np.nan, 1.0], "task": "classification"},
        {"include": [0, 0]},
        {"include": [-1]},
        {"exclude": "all"},
        {"exclude": list(range(30))},
    ],
)
def test_a_statement_with_invalid_values_is_refused(change):
    X, y, selector = kept_proof()
    proof = selector.proof_
    with pytest.raises(ValueError, match=r"the proof does not hold: "):
        verify(X, y, replace(proof, statement=replace(proof.statement, **change)))


def test_a_number_of_columns_beyond_memory_is_refused_at_once():
    X, y, selector = kept_proof()
    about = replace(selector.proof_.statement, n_features=2**70)
    with pytest.raises(ValueError, match="X has 30 columns"):
        verify(X, y, replace(selector.proof_, statement=about))
