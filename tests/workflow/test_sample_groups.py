"""The column with the groups of rows, or why it cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from .files import N, X, csv, frame, read, refusal


def test_values_of_any_kind_are_groups(tmp_path: Path) -> None:
    codes = np.arange(N) % 7
    path = csv(tmp_path / "t.csv", frame(batch=codes.astype(float), site=[f"s{c}" for c in codes]))
    for name in ("batch", "site"):
        table = read(path, "outcome", groups_column=name)
        np.testing.assert_array_equal(table.sample_groups, codes)
        assert name not in table.names
        assert table.n_groups == 7
    assert read(path, "outcome").sample_groups is None


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("bach", "--groups-column: there is no column 'bach' in the table; did you mean 'batch'?"),
        ("outcome", "'outcome' cannot be both in --target and in --groups-column."),
        ("f*", "--groups-column names one column, not 'f0', 'f1', 'f2', 'f3', 'f4' and 5 more."),
        ("batch", "--groups-column: 'batch' is missing in 1 of 90 rows, the first in line 5."),
    ],
)
def test_refusals(column: str, words: str, tmp_path: Path) -> None:
    batch = [1.0, 2.0, 3.0, None, *X[4:, 0].round()]
    path = csv(tmp_path / "t.csv", frame(batch=batch))
    assert refusal(path, groups_column=column) == words


def test_it_cannot_be_selected(tmp_path: Path) -> None:
    table = read(
        csv(tmp_path / "t.csv", frame(batch=np.arange(N) % 5)), "outcome", groups_column="batch"
    )
    with pytest.raises(ValueError, match="--include: 'batch' is the --groups-column"):
        table.columns_of("include", "batch")
