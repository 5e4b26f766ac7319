"""The page of a path has every feature that was ever selected."""

from __future__ import annotations

from . import samples
from .made import parsed


def test_the_path_names_every_feature_that_was_ever_in() -> None:
    result = samples.path()
    ever = {result.names[j] for support in result.supports for j in support}
    words = parsed("path").text["main"]
    assert all(name in words for name in ever)
    rows = [a for a in parsed("path").every("th") if a.get("class") == "feature"]
    assert len(rows) == len(ever)
