"""Tables with a row for each feature and a column for each sample."""

from __future__ import annotations

from typing import Any

from rowsparse.workflow.cells import whole_as_text
from rowsparse.workflow.messages import quoted
from rowsparse.workflow.naming import numbered
from rowsparse.workflow.polars_errors import require_polars

__all__ = ["SAMPLE", "transpose_frame"]

# Name of the column with the names of the samples.
SAMPLE = "sample"


def transpose_frame(frame: Any) -> tuple[Any, list[str]]:
    """A row for each column but the first, which has the names of the new columns.

    Returns
    -------
    frame : polars.DataFrame
        The names of the samples first. All other columns are text if any column was.
    notes : list of str
    """
    polars = require_polars()
    first, *samples = frame.columns
    given = whole_as_text(frame[first]).to_list()
    filled = [name or f"row {j + 1}" for j, name in enumerate(given)]
    # The first of the names is that of the samples, so that no feature keeps it.
    (sample, *names), _ = numbered([SAMPLE, *filled])
    rest = frame.select(samples)
    if all(kind.is_numeric() for kind in rest.dtypes):
        values = rest.cast(polars.Float64).to_numpy().T
        turned = polars.from_numpy(values, schema=names, orient="row")
    else:
        turned = rest.cast(polars.String).transpose(column_names=names)
    notes = []
    renamed = [name for name, old in zip(names, filled, strict=True) if name != old]
    if renamed:
        notes.append(f"Names that come several times got a number: {quoted(renamed)}.")
    return turned.insert_column(0, polars.Series(sample, samples, dtype=polars.String)), notes
