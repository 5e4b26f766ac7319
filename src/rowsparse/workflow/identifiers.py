"""Columns that name or number the rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Mask

__all__ = ["find_identifiers", "is_id_name"]

# Names of columns that identify the rows.
_ID_NAME = re.compile(
    r"^((?i:id|ids|idx|index|uuid|guid|row|rownames?|row_?(id|number|num|nr|no)|column 1"
    r"|(sample|patient|subject|participant|case|record|user)id|.*[ _.-](id|idx|uuid|guid))"
    r"|[A-Za-z]+ID|[A-Za-z]*[a-z]Id)$"
)
# Whole numbers that rise from row to row are identifiers if there are at least this many rows.
_COUNTING_ROWS = 10


def is_id_name(name: str) -> bool:
    """Whether a column has the name of an identifier.

    >>> is_id_name("patient_id"), is_id_name("plasmid")
    (True, False)
    """
    return _ID_NAME.match(name) is not None


def find_identifiers(X: Any, names: list[str]) -> Mask:
    """Columns of distinct whole numbers that have the name of an identifier, or count the rows."""
    found = np.zeros(len(names), dtype=bool)
    if sp.issparse(X) or X.shape[0] < 2:
        return found
    head = X[:_COUNTING_ROWS]
    with np.errstate(invalid="ignore"):
        rises = (np.diff(head, axis=0) > 0).all(axis=0) if len(X) >= _COUNTING_ROWS else found
        whole = (head == np.floor(head)).all(axis=0)
    for j in np.flatnonzero(whole).tolist():
        named = is_id_name(names[j])
        if not (rises[j] or named):
            continue
        column = X[:, j]
        if not np.all(column == np.floor(column)):
            continue
        found[j] = np.all(np.diff(column) > 0) if not named else np.unique(column).size == len(X)
    return found
