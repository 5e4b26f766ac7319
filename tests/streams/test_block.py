"""Errors that name a block."""

from __future__ import annotations

import pytest

from rowsparse.streams.block import in_block


@pytest.mark.parametrize(
    ("error", "kind"), [(ValueError, ValueError), (TypeError, TypeError), (OSError, ValueError)]
)
def test_an_error_names_its_block_in_one_line(
    error: type[Exception], kind: type[Exception]
) -> None:
    found = in_block(3, error("no rows\nmore"))
    assert (type(found), str(found)) == (kind, "Block 3: no rows")
    assert str(in_block(3, error("no rows"), "Partition")) == "Partition 3: no rows"
