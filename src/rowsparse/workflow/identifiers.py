"""Columns that name or number the rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array, Mask

__all__ = ["find_identifiers", "is_id_name"]

# Names of columns that identify the rows.
_ID_NAME = re.compile(
    r"^((?i:id|ids|idx|index|uuid|guid|row|rownames?|row_?(id|number|num|nr|no)|column 1"
    r"|(sample|patient|subject|participant|case|record|user)id|.*[ _.-](id|idx|uuid|guid))"
    r"|[A-Za-z]+ID|[A-Za-z]*[a-z]Id)$"
)
# Whole numbers that rise from row to row are identifiers if there are at least this many rows.
_COUNTING_ROWS = 10
# Whole numbers of so many digits, all of one length, are identifiers.
_LONG_DIGITS = 10


def is_id_name(name: str) -> bool:
    """Whether a column has the name of an identifier.

    >>> is_id_name("patient_id"), is_id_name("plasmid")
    (True, False)
    """
    return _ID_NAME.match(name) is not None


def find_identifiers(X: Any, names: list[str]) -> Mask:
    """Columns of whole numbers that identify the rows.

    They are distinct and have the name of an identifier, or they rise from row to row, or they are
    long, all of one length, and more than half of them are distinct.
    """
    found = np.zeros(len(names), dtype=bool)
    if sp.issparse(X) or X.shape[0] < 2:
        return found
    head = X[:_COUNTING_ROWS]
    with np.errstate(invalid="ignore"):
        rises = (np.diff(head, axis=0) > 0).all(axis=0) if len(X) >= _COUNTING_ROWS else found
        whole = (head == np.floor(head)).all(axis=0)
        long = (head >= 10.0 ** (_LONG_DIGITS - 1)).all(axis=0)
    for j in np.flatnonzero(whole).tolist():
        named = is_id_name(names[j])
        if not (rises[j] or named or long[j]):
            continue
        column = X[:, j]
        if not np.all(column == np.floor(column)):
            continue
        n_distinct = np.unique(column).size
        found[j] = (
            (named and n_distinct == len(X))
            or (rises[j] and bool(np.all(np.diff(column) > 0)))
            or (long[j] and len(X) >= _COUNTING_ROWS and _is_long(column, n_distinct))
        )
    return found


def _is_long(column: Array, n_distinct: int) -> bool:
    """Whether whole numbers are long and all of one length, as numbers of accounts are."""
    n_digits = np.floor(np.log10(np.maximum(column, 1.0))) + 1
    one_length = n_digits.min() == n_digits.max() >= _LONG_DIGITS
    # Floats do not tell all whole numbers from 2**53 on apart.
    return bool(one_length and (2 * n_distinct > column.size or column.min() >= 2.0**53))
