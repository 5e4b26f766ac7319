"""X on a device: every product and moment is that of NumPy, and X itself stays where it is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rowsparse import _arrays
from rowsparse.design import DeviceDesign, build, device, make_design

from .cases import D, N, assert_all, explicit, raw_matrix, strict


def torch_tensor(X):
    return pytest.importorskip("torch").asarray(X.copy())


HELD = {"strict": strict, "torch": torch_tensor}


@pytest.fixture
def tensors_are_on_a_device(monkeypatch):
    """Tensors in host memory are treated as those of a GPU are; blocks are small."""
    monkeypatch.setattr(build, "on_device", lambda X: True)
    monkeypatch.setattr(device, "_BLOCK_ENTRIES", 4 * D)


@pytest.mark.usefixtures("tensors_are_on_a_device")
@pytest.mark.parametrize(
    ("kind", "dtype", "center", "scale"),
    [*product(HELD, (np.float64, np.float32), (False, True), (False, True))],
)
def test_products_are_those_of_the_explicit_matrix(kind, dtype, center, scale):
    X = raw_matrix().astype(dtype)
    design, _ = make_design(HELD[kind](X), center=center, scale=scale)
    assert isinstance(design, DeviceDesign)
    assert design.dtype == dtype
    assert_all(design, explicit(X, center, scale), 1e-9 if dtype == np.float64 else 2e-5)


@pytest.mark.usefixtures("tensors_are_on_a_device")
@pytest.mark.parametrize(
    ("kind", "factor"), [*product(HELD, (1.0, 1e-130, 1e150)), *product(HELD, ("offset",))]
)
def test_moments_are_those_of_numpy(kind, factor):
    X, w = raw_matrix(), np.random.default_rng(1).uniform(0.5, 2.0, N)
    X, factor = (X + 1e7, 1.0) if factor == "offset" else (X * factor, factor)
    found = DeviceDesign(HELD[kind](X), mean=None, inv_scale=np.ones(D)).moments(w)
    X = X / factor
    mean = np.average(X, axis=0, weights=w)
    sd = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    np.testing.assert_allclose(found.mean / factor, mean, rtol=1e-12, atol=1e-15)
    rounding = 1e-15 * np.abs(mean).max()
    np.testing.assert_allclose(found.sd / factor, sd, rtol=1e-11, atol=1e-15 + rounding)
    assert np.all(found.largest / factor >= np.abs(X).max(axis=0) * (1 - 1e-12))


@pytest.mark.usefixtures("tensors_are_on_a_device")
@pytest.mark.parametrize("kind", HELD)
def test_held_rows_of_the_gram_matrix_stay_on_the_device(kind):
    held = HELD[kind](raw_matrix().astype(np.float32))
    design, _ = make_design(held, center=True, scale=True)
    rows = design.held_gram_rows(np.array([2, 0]))
    assert type(rows) is type(held)
    assert rows.dtype == held.dtype
    expected = design.gram()[[2, 0]]
    np.testing.assert_allclose(_arrays.to_host(rows), expected, atol=1e-5 * np.abs(expected).max())
    one = _arrays.to_host(design.held_gram_rows(np.array([2])))
    np.testing.assert_allclose(one, expected[:1], atol=1e-5 * np.abs(expected).max())


@pytest.mark.usefixtures("tensors_are_on_a_device")
@pytest.mark.parametrize("kind", HELD)
def test_a_large_offset_makes_a_standardised_copy_with_all_digits(kind):
    X = (np.random.default_rng(3).standard_normal((N, D)) + 5000.0).astype(np.float32)
    design, _ = make_design(HELD[kind](X), center=True, scale=True)
    Z = explicit(X, True, True)
    columns = np.arange(D)
    np.testing.assert_allclose(design.double_columns(columns), Z, atol=1e-7)
    np.testing.assert_allclose(design.columns(columns), Z, atol=1e-5)
    np.testing.assert_array_equal(design.stored_columns(columns), X)
