"""A proof on the command line: written beside a selection, and checked by another command."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from rowsparse import NearOptimal, TopK
from rowsparse._text import joined
from rowsparse.certificate import Proof

from .commands import call

X, Y = load_wine(return_X_y=True)
# Without folds, subsamples and report.
BARE = "--cv 0 --stability 0 --no-report"


def write_table(path: Path, X: np.ndarray, y: np.ndarray) -> Path:
    header = ",".join([*(f"v{j}" for j in range(X.shape[1])), "kind"])
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header=header, comments="")
    return path


@pytest.fixture
def wine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_table(tmp_path / "wine.csv", X, Y)


@pytest.fixture
def proof(wine: Path) -> Path:
    certify = "--certify --loss squared --proof proof --task classification"
    done = call(f"select wine.csv -t kind -k 3 {certify} {BARE}")
    assert "rowsparse verify proof.npz wine.csv" in done.stdout
    return wine.with_name("proof.npz")


def test_a_proof_is_written_and_holds(proof: Path) -> None:
    kept = Proof.load(proof)
    assert kept.about["columns"] == [f"v{j}" for j in range(13)]
    said = call("verify proof.npz wine.csv").stdout
    assert "No 3 of the 13 columns have a" in said
    assert f"Chosen: {', '.join(f'v{j}' for j in kept.support)}." in said
    assert "were checked against the table" in said


def test_a_proof_is_found_by_the_name_that_was_typed(proof: Path) -> None:
    assert proof.name == "proof.npz"
    assert call("verify proof wine.csv").stdout == call("verify proof.npz wine.csv").stdout
    assert "There is no file 'proofs'." in call("verify proofs wine.csv", code=2).output


def test_alternatives_are_listed_proven_and_checked(wine: Path) -> None:
    given = "--certify --loss squared --alternatives 2% --proof list --cv 0 --stability 0"
    done = call(f"select wine.csv -t kind -k 5 {given} --out out")
    near = NearOptimal(TopK(5, loss="squared", random_state=0), tolerance=0.02).fit(X, Y)
    n, some = len(near.choices_), int((near.share_ > 0).sum())
    text = " ".join(done.stdout.split())
    assert f"Within 2 % of the best there are exactly {n} choices, from {some} of 13 feat" in text
    must = joined([f"v{j}" for j in np.flatnonzero(near.in_all_)])
    assert f"Indispensable: {must}. No other choice comes that close: proven." in text
    out = wine.with_name("out")
    record = json.loads((out / "result.json").read_text())["alternatives"]
    assert record["choices"][0] == [
        one["name"] for one in record["features"] if one["name"][1:] in map(str, near.choices_[0])
    ]
    assert (record["is_complete"], record["tolerance"]) == (True, 0.02)
    with (out / "features.csv").open() as stream:
        verdicts = {row["feature"]: row for row in csv.DictReader(stream)}
    for j in near.get_support(indices=True):
        row = verdicts[f"v{j}"]
        assert row["in_choices"] == ("all" if near.in_all_[j] else "some")
        assert float(row["share_of_choices"]) == near.share_[j]
        assert float(row["cost_without"]) == near.cost_without_[j]
        assert row["cost_without_is"] == ("exact" if near.cost_without_exact_[j] else "at least")
    assert (out / "alternatives.csv").read_text().count("\n") == 1 + some
    assert "<h2>Are they the only ones?</h2>" in (out / "report.html").read_text()
    said = " ".join(call("verify list.npz wine.csv").stdout.split())
    assert f"Exactly {n} choices of 5 of the 13 columns" in said


def test_a_list_that_is_not_complete_says_so_first(wine: Path) -> None:
    given = f"--certify --loss squared --alternatives 90% {BARE}"
    text = " ".join(call(f"select wine.csv -t kind -k 6 {given}").stdout.split())
    assert "The list is not complete: there may be more within 90 %" in text
    assert "exactly" not in text


def test_a_proof_for_counts(wine: Path) -> None:
    visits = np.round(X[:, 9])
    write_table(wine.with_name("visits.csv"), X[:, :6], visits)
    asked = "--loss poisson --certify --proof p --cv 2 --stability 0 --out out"
    done = call(f"select visits.csv -t kind -k 2 {asked}")
    assert "of the deviance in samples it had not seen" in done.stdout
    for how in ("", "--exact"):
        assert "poisson loss for counts" in call(f"verify p.npz visits.csv {how}").stdout
    call("select --settings out/settings.toml visits.csv --out out --force")
    predicted = call("apply out visits.csv --predict --out rates")
    assert "predicted from 2 columns by the Poisson regression" in predicted.stdout
    with Path("rates/predictions.csv").open() as stream:
        rates = np.array([float(row["predicted kind"]) for row in csv.DictReader(stream)])
    assert rates.min() > 0
    assert rates.mean() == pytest.approx(visits.mean(), rel=0.02)


def test_a_proof_for_survival_times(wine: Path) -> None:
    died = np.random.default_rng(0).random(len(Y)) < 0.7
    words = np.where(died, "yes", "no").tolist()
    lines = [",".join(map(str, [*row, word])) for row, word in zip(X, words, strict=True)]
    header = ",".join(f"v{j}" for j in range(12))
    wine.with_name("deaths.csv").write_text("\n".join([f"{header},months,died", *lines]) + "\n")
    asked = "--time months --event died --cv 3"
    more = "--stability 0 --certify --proof p --out out --figures"
    done = call(f"select deaths.csv -k 2 {asked} {more}")
    assert "a simple Cox model of 2 features" in done.stdout
    assert Path("out/figures/survival.svg").exists()
    for how in ("", "--exact"):
        assert "cox loss for survival times" in call(f"verify p.npz deaths.csv {how}").stdout
    for command in ("path --k-max 3", "compare -k 2"):
        assert "concordance" in call(f"{command} deaths.csv {asked}").stdout
    call("select --settings out/settings.toml deaths.csv --out out --force")
    done = call("apply out deaths.csv --predict --out risks")
    assert "predicted from 2 columns by the Cox regression" in done.stdout
    with Path("risks/predictions.csv").open() as stream:
        assert next(csv.reader(stream)) == ["row", "months", "died", "predicted risk"]
    call("select deaths.csv --time months -k 2", code=2)


def test_a_proof_of_limited_columns_says_so(wine: Path) -> None:
    call(f"select wine.csv -t kind -k 2 --certify --clip 1.5 --proof limited {BARE}")
    said = " ".join(call("verify limited.npz wine.csv").stdout.split())
    assert "standardised columns within 1.5 standard deviations" in said
    assert "were checked against the table" in said


@pytest.mark.parametrize("dependent", [False, True])
def test_another_table_is_told_from_the_one_that_the_proof_is_about(
    proof: Path, dependent: bool
) -> None:
    """With dependent columns even the diagonal that takes the place of the ridge is too large."""
    assert Proof.load(proof).diagonal is not None
    other = X.copy()
    other[0] += 1.0
    if dependent:
        other[:, 1] = other[:, 0]
    write_table(proof.with_name("other.csv"), other, Y)
    said = call("verify proof.npz other.csv", code=1).stdout
    assert "another table" in said
    assert "its columns 'v0', 'v1' and 'v2'" in said


def test_a_proof_that_claims_too_much_is_told(proof: Path) -> None:
    kept = Proof.load(proof)
    replace(kept, lower_bound=1.01 * kept.lower_bound).save(proof)
    assert "do not give" in call("verify proof.npz wine.csv", code=1).stdout


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
    proof: Path, damage: str, message: str
) -> None:
    if damage == "columns":
        write_table(proof.with_name("wine.csv"), X[:, 1:], Y)
    elif damage == "cut":
        proof.write_bytes(proof.read_bytes()[:-200])
    elif damage == "absent":
        proof.unlink()
    else:
        replace(Proof.load(proof), about={}).save(proof)
    done = call("verify proof.npz wine.csv", code=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_proof_overwrites_neither_the_table_nor_an_earlier_one(proof: Path) -> None:
    table = proof.with_name("wine.npz")
    np.savez(table, X=X, y=Y)
    before = table.read_bytes(), proof.read_bytes()
    for name, words in (("wine", "would overwrite the table"), ("proof", "with --force")):
        for path in (name, f"{name}.npz"):
            done = call(f"select wine.npz -k 3 --certify --proof {path}", code=2)
            assert words in done.stderr
    assert (table.read_bytes(), proof.read_bytes()) == before
