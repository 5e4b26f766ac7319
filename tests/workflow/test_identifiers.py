"""Columns that name or number the rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.workflow.identifiers import find_identifiers, is_id_name

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", ["id", "PATIENT_ID", "sampleId", "GeneID", "sampleid", "column 1"])
def test_names_of_identifiers(name: str) -> None:
    assert is_id_name(name)


@pytest.mark.parametrize("name", ["lipid", "Lipid", "width", "column 2"])
def test_names_of_measurements(name: str) -> None:
    assert not is_id_name(name)


def test_numbers_that_identify_the_rows() -> None:
    columns = {
        "counting": np.arange(30.0),
        "id": RNG.permutation(30).astype(float),
        "other_id": np.repeat(np.arange(15.0), 2),
        "shuffled": RNG.permutation(30).astype(float),
        "rising": np.arange(30) + 0.5,
        "account": RNG.integers(10**9, 10**10, 30).astype(float),
        "huge": np.repeat(10.0**19, 30),
        "counts": RNG.integers(10**8, 10**11, 30).astype(float),
        "rises_at_first": np.append(np.arange(29.0), 0.0),
    }
    X = np.column_stack(list(columns.values()))
    found = find_identifiers(X, list(columns))
    assert found.tolist() == [True, True, False, False, False, True, True, False, False]
    assert not find_identifiers(sp.csr_array(X), list(columns)).any()
    assert not find_identifiers(X[:9, [0]], ["counting"]).any()
