"""A missing package is named, with the extra that brings it."""

from __future__ import annotations

import pytest

from rowsparse.report import extra
from rowsparse.report.page import render


@pytest.mark.parametrize(
    ("module", "name"), [("jinja2", "Jinja2"), ("matplotlib", "matplotlib"), ("PIL", "Pillow")]
)
def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda wanted: None if wanted == module else object())
    with pytest.raises(ImportError, match=rf'need {name}: pip install "rowsparse\[report\]"'):
        render("selection.html.j2")
