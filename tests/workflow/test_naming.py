"""Names made unique."""

from __future__ import annotations

from rowsparse.workflow.naming import numbered


def test_repeated_names_get_a_number_that_is_free() -> None:
    assert numbered(["a", "b"]) == (["a", "b"], 0)
    assert numbered(["a", "a (2)", "a", "a"]) == (["a", "a (2)", "a (3)", "a (4)"], 2)
