"""Proofs in files: written with how the table was read, and checked against a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rowsparse.certificate import Proof, objective, verify
from rowsparse.workflow.loading import check_is_file
from rowsparse.workflow.messages import InputError, quoted
from rowsparse.workflow.settings import TableSettings
from rowsparse.workflow.table import Table, read_table

__all__ = ["CheckedProof", "check_proof", "write_proof"]

# Relative difference from what the file claims that rounding explains.
_ROUNDING = 1e-8


@dataclass(frozen=True)
class CheckedProof:
    """A proof after its check against a table.

    Attributes
    ----------
    proof : Proof
        As it was read.
    features : tuple of str
        Names of the columns chosen.
    objective, lower_bound : float
        The objective of these columns, and the lower bound on that of every choice, computed from
        the table. The bound is 0 if this is another table and the proof cannot hold for it.
    """

    proof: Proof
    features: tuple[str, ...]
    objective: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """The difference between the two, relative to the objective."""
        left = max(self.objective - self.lower_bound, 0.0)
        return left / self.objective if self.objective > 0 else 0.0

    @property
    def is_same_data(self) -> bool:
        """Whether the chosen columns have the objective that the file claims."""
        return abs(self.objective - self.proof.objective) <= _ROUNDING * self.proof.objective

    @property
    def holds(self) -> bool:
        """Whether all that the file claims is proven for this table."""
        enough = self.lower_bound >= self.proof.lower_bound * (1.0 - _ROUNDING)
        return self.is_same_data and enough


def write_proof(path: Path, proof: Proof, table: Table, settings: TableSettings) -> Path:
    """Write a proof, with the names of the columns and how the table was read."""
    about: dict[str, object] = {"table": table.path.name, "columns": list(table.names)}
    about |= {"reading": asdict(settings)}
    return replace(proof, about=about).save(path)


def check_proof(path: Path, data: Path) -> CheckedProof:
    """Check a proof that :func:`write_proof` wrote against a table.

    Parameters
    ----------
    path : Path
        The proof.
    data : Path
        The table, in any format; it is read as it was read for the selection.
    """
    check_is_file(path)
    proof = Proof.load(path)
    if not {"columns", "reading"} <= proof.about.keys():
        raise InputError(
            f"{path.name} does not say how its table was read: check it in Python with "
            "rowsparse.certificate.verify."
        )
    table = read_table(data, TableSettings(**proof.about["reading"]))
    known = proof.about["columns"]
    if list(table.names) != known:
        other = sorted(set(known) ^ set(table.names))
        which = f": they differ in {quoted(other[:3])}" if other else ", or in another order"
        raise InputError(f"{data.name} has other columns than the proof is about{which}.")
    names = tuple(known[j] for j in proof.support.tolist())
    unproven = CheckedProof(proof, names, objective(table.X, table.y, proof), 0.0)
    try:
        return replace(unproven, lower_bound=verify(table.X, table.y, proof))
    except ValueError:
        if unproven.is_same_data:
            raise
        return unproven
