"""A proof in a file, beside the table that it is about: written, and checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rowsparse.certificate import Proof, objective, verify
from rowsparse.workflow.errors import InputError, listed, shown
from rowsparse.workflow.table import Table, read_table

__all__ = ["CheckedProof", "check_proof", "write_proof"]

# How far from what was claimed a figure may be before that is said.
_ROUNDING = 1e-8


@dataclass(frozen=True)
class CheckedProof:
    """What became of a proof.

    Attributes
    ----------
    proof : Proof
        As it was read.
    features : tuple of str
        Names of the columns chosen.
    objective, lower_bound : float
        Of these columns, and of every choice, computed anew from the table.
    """

    proof: Proof
    features: tuple[str, ...]
    objective: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """What lies between them, as a share of the objective."""
        left = max(self.objective - self.lower_bound, 0.0)
        return left / self.objective if self.objective > 0 else 0.0

    @property
    def is_same_data(self) -> bool:
        """Whether the columns chosen have the objective that they had then."""
        return abs(self.objective - self.proof.objective) <= _ROUNDING * self.proof.objective

    @property
    def holds(self) -> bool:
        """Whether all that was claimed of this table is proven."""
        enough = self.lower_bound >= self.proof.lower_bound * (1.0 - _ROUNDING)
        return self.is_same_data and enough


def write_proof(path: Path, proof: Proof, table: Table, reading: dict[str, Any]) -> Path:
    """Write a proof, with the names of the columns and how the table was read."""
    about = {"table": table.path.name, "columns": list(table.names), "reading": reading}
    return replace(proof, about=about).save(path)


def check_proof(path: Path, data: Path) -> CheckedProof:
    """Check a proof that ``rowsparse select --proof`` wrote against a table.

    Parameters
    ----------
    path : Path
        The proof.
    data : Path
        The table, in any format; it is read as it was read for the selection.
    """
    if not path.is_file():
        raise InputError(f"There is no file {shown(str(path))}.")
    proof = Proof.load(path)
    if not {"columns", "reading"} <= proof.about.keys():
        raise InputError(
            f"{path.name} does not say how its table was read: check it in Python with "
            "rowsparse.certificate.verify."
        )
    table = read_table(data, **proof.about["reading"])
    known = proof.about["columns"]
    if list(table.names) != known:
        other = sorted(set(known) ^ set(table.names))
        which = f": they differ in {listed(other[:3])}" if other else ", or in another order"
        raise InputError(f"{data.name} has other columns than the proof is about{which}.")
    bound = verify(table.X, table.y, proof)
    names = tuple(known[j] for j in proof.support.tolist())
    return CheckedProof(proof, names, objective(table.X, table.y, proof), bound)
