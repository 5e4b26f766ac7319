"""Lists of the methods and data sets."""

from __future__ import annotations

from rowsparse import list_selectors

from .commands import invoke


def test_methods_lists_the_registry() -> None:
    done = invoke("methods")
    assert done.exit_code == 0
    for name in list_selectors():
        assert name in done.stdout
    for word in ("Kind", "Targets", "Reference", "What it does", "Xu et al. 2023", "deep ("):
        assert word in done.stdout


def test_datasets_lists_the_catalogue() -> None:
    done = invoke("datasets")
    assert done.exit_code == 0
    assert "allaml" in done.stdout
    assert "7,129" in done.stdout
