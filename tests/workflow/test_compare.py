"""Several methods on one table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rowsparse.workflow.compare import compare
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.settings import CompareSettings
from rowsparse.workflow.table import Table


def test_comparison(classes: Table) -> None:
    settings = CompareSettings(k=(1, 3), methods=("topk", "relieff"), cv=2)
    result = compare(classes, settings)
    assert result.curve.selectors == ["TopK", "ReliefF"]
    assert result.curve.ks == [1, 3]
    assert result.curve.mean("accuracy").shape == (2, 2)
    assert result.warnings == ()
    again = compare(classes, settings)
    np.testing.assert_array_equal(again.curve.mean("accuracy"), result.curve.mean("accuracy"))


def test_comparison_of_the_usual_methods_and_its_refusals(classes: Table, numbers: Table) -> None:
    assert "TopK" in compare(classes, CompareSettings(k=(2,), cv=2)).curve.selectors
    assert "TopK" in compare(numbers, CompareSettings(k=(2,), cv=2)).curve.selectors
    with pytest.raises(InputError, match="k=99 is more than the 12 columns"):
        compare(classes, CompareSettings(k=(2, 99)))
    with pytest.raises(InputError, match="at least one method"):
        compare(classes, CompareSettings(k=(2,), methods=()))
    with pytest.raises(ValueError, match="nosuch"):
        compare(classes, CompareSettings(k=(2,), methods=("nosuch",)))


def test_a_method_that_fails_is_told(classes: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    from rowsparse import ReliefF

    def fail(self: Any, X: Any, y: Any = None) -> None:
        raise ValueError("no neighbours.\nmore")

    monkeypatch.setattr(ReliefF, "fit", fail)
    result = compare(classes, CompareSettings(k=(2,), methods=("topk", "relieff"), cv=2))
    assert result.warnings == ("ReliefF failed: ValueError: no neighbours.",)
    assert np.isfinite(result.curve.mean("accuracy")[0, 0])
