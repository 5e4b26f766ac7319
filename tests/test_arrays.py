"""Arrays of other libraries and devices, to NumPy and back."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import rankdata

from rowsparse._arrays import largest_places, on_device, ranks, to_device, to_host, wide_dtype


def strict(values):
    return pytest.importorskip("array_api_strict").asarray(values)


@pytest.mark.parametrize("held", [np.ones(2), [1.0], sp.csr_array(np.eye(2)), "text", None])
def test_what_numpy_reads_is_on_no_device(held):
    assert not on_device(held)
    assert to_host(held) is held


def test_other_arrays_come_to_numpy_and_back():
    held = strict(np.arange(3.0))
    assert on_device(held)
    values = to_host(held)
    assert isinstance(values, np.ndarray)
    back = to_device(values[::-1], held)
    assert type(back) is type(held)
    assert to_host(back).tolist() == [2.0, 1.0, 0.0]
    assert wide_dtype(held) == np.float64


def test_tensors_in_host_memory_are_read_in_place():
    torch = pytest.importorskip("torch")
    tensor = torch.ones(3, requires_grad=True)
    assert not on_device(tensor)
    values = to_host(tensor)
    with torch.no_grad():
        tensor[0] = 7.0
    assert values.tolist() == [7.0, 1.0, 1.0]
    halves = to_host(torch.ones(2, dtype=torch.bfloat16))
    assert halves.dtype == np.float32


@pytest.mark.parametrize("library", ["numpy", "strict", "torch"])
def test_largest_places(library):
    values = np.random.default_rng(0).permutation(20.0 * np.arange(9))
    held = {"numpy": lambda v: v, "strict": strict}.get(library)
    held = held(values) if held else pytest.importorskip("torch").asarray(values)
    for count in (1, 4, 9, 12):
        places = np.asarray(to_host(largest_places(held, count)))
        assert sorted(places.tolist()) == sorted(np.argsort(-values)[:count].tolist())


@pytest.mark.parametrize("shape", [(0,), (1,), (40,), (0, 3), (30, 5), (1, 4)])
def test_ranks_are_those_of_scipy(shape):
    values = np.random.default_rng(0).integers(-4, 5, shape).astype(float)
    values[values == -4] = -np.inf
    np.testing.assert_array_equal(ranks(values), rankdata(values, axis=0))
