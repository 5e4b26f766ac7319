"""Groups of rows that stay together in folds and subsamples, as those of one patient."""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Index
from rowsparse.workflow.loading import Loaded
from rowsparse.workflow.messages import InputError, quoted, setting, shown
from rowsparse.workflow.target_columns import find_columns, missing_in

__all__ = ["find_groups"]


def find_groups(
    wanted: str | None, loaded: Loaded, targets: list[str]
) -> tuple[list[str], Index | None]:
    """The column with the groups, if one is wanted, and the group of each row as a number."""
    if not wanted:
        return [], None
    found = find_columns("groups_column", wanted, loaded.candidates)
    if len(found) > 1:
        raise InputError(f"{setting('groups_column')} names one column, not {quoted(found)}.")
    name = found[0]
    if name in targets:
        raise InputError(
            f"{shown(name)} cannot be both {setting('target')} and {setting('groups_column')}."
        )
    columns = loaded.labels if loaded.frame is None else loaded.frame
    values = np.array(list(columns[name]), dtype=object)
    missing = missing_in(values)
    if missing.any():
        raise InputError(
            f"{setting('groups_column')}: {shown(name)} is missing in {int(missing.sum()):,} of "
            f"{values.size:,} rows, the first in {loaded.place(int(np.argmax(missing)))}."
        )
    return found, np.unique(values.astype(str), return_inverse=True)[1]
