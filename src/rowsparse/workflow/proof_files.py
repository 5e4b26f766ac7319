"""Proofs in files: written with how the table was read, and checked against a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rowsparse.certificate import OtherDataError, Proof, Verification, verify
from rowsparse.workflow.loading import check_is_file
from rowsparse.workflow.messages import InputError, quoted
from rowsparse.workflow.settings import TableSettings
from rowsparse.workflow.table import Table, read_table

# Relative difference from what the file claims that rounding explains.
_ROUNDING = 1e-8


@dataclass(frozen=True)
class CheckedProof:
    """A proof, as it was read, after its check against a table.

    ``features`` are the names of the columns chosen, and ``checked`` is what the proof proves of
    the table: None if it is about another one, and then ``difference`` says how that table differs.
    """

    proof: Proof
    features: tuple[str, ...]
    checked: Verification | None
    difference: str = ""

    @property
    def holds(self) -> bool:
        """Whether all that the file claims is proven for this table."""
        if self.checked is None:
            return False
        enough = self.checked.bound >= self.proof.lower_bound * (1.0 - _ROUNDING)
        # An objective below that of the file is a claim that nothing supports.
        claim = self.proof.objective * (1.0 + _ROUNDING)
        return enough and self.checked.objective <= claim


def write_proof(path: Path, proof: Proof, table: Table, settings: TableSettings) -> Path:
    """Write a proof, with the names of the columns and how the table was read."""
    about: dict[str, object] = {"table": table.path.name, "columns": list(table.names)}
    about |= {"reading": asdict(settings)}
    return replace(proof, about=about).save(path)


def check_proof(path: Path, data: Path, *, exact: bool = False) -> CheckedProof:
    """Check a proof that :func:`write_proof` wrote against a table, perhaps in exact arithmetic.

    The table is read as it was read for the selection.
    """
    check_is_file(path)
    proof = Proof.load(path)
    if not {"columns", "reading"} <= proof.about.keys():
        raise InputError(
            f"{path.name} does not say how its table was read: check it in Python with "
            "rowsparse.certificate.verify."
        )
    try:
        settings = TableSettings.taken(dict(proof.about["reading"]))
        known = [str(name) for name in proof.about["columns"]]
    except TypeError:
        raise InputError(f"{path.name} is damaged: it does not say how to read a table.") from None
    table = read_table(data, settings)
    if list(table.names) != known:
        other = sorted(set(known) ^ set(table.names))
        which = f": they differ in {quoted(other[:3])}" if other else ", or in another order"
        raise InputError(f"{data.name} has other columns than the proof is about{which}.")
    support = proof.support.tolist()
    names = tuple(known[j] for j in support if 0 <= j < len(known))
    try:
        return CheckedProof(proof, names, verify(table.X, table.y, proof, exact=exact))
    except OtherDataError as error:
        columns = [known[j] for j in error.columns]
        difference = f"its column {quoted(columns[:3])}" if columns else str(error).split(": ")[1]
        if len(columns) > 1:
            difference = f"its columns {quoted(columns[:3])}" + (" ..." if columns[3:] else "")
        return CheckedProof(proof, names, None, difference.removesuffix("."))
