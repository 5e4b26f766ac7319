"""Arrays of other libraries: the answer of NumPy, from X where it is."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from rowsparse import FStatistic, ReliefF, StabilitySelection, TopK, TopKCV
from rowsparse._arrays import to_host
from rowsparse.design import make_design
from rowsparse.selectors.base.source import as_floats, is_foreign
from rowsparse.solvers.filters import class_statistics
from rowsparse.solvers.search.gram import GramProblem
from rowsparse.solvers.search.gram_state import GramState

from ..cases import all_selectors

strict = pytest.importorskip("array_api_strict")
ON_DEVICE = {name: make for name, make in all_selectors(4).items() if make().takes_device_arrays}
LOSSES = {"squared": {}, "l21": {"loss": "l21"}, "logistic": {"loss": "logistic"}}


def sample(task="classes", dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 12)).astype(dtype)
    score = X[:, :3].astype(np.float64) @ np.array([[3.0, 0.5], [0.0, 2.0], [-1.0, 1.0]])
    score += 0.3 * rng.standard_normal(score.shape)
    if task == "numbers":
        return X, score
    return X, (score > 0).astype(int) if task == "labels" else score.argmax(axis=1)


def assert_same_fit(made, expected, rtol=1e-6):
    np.testing.assert_array_equal(made.support_, expected.support_)
    assert isinstance(made.scores_, np.ndarray)
    np.testing.assert_allclose(made.scores_, expected.scores_, rtol=rtol, atol=rtol)
    if hasattr(expected, "coef_"):
        np.testing.assert_allclose(made.coef_, expected.coef_, rtol=rtol, atol=rtol)


LIBRARIES = ["strict", *(pytest.param(name, marks=pytest.mark.gpu) for name in ("torch", "cupy"))]


def held_by(library, *arrays):
    """The arrays in this library; those of PyTorch and CuPy on a GPU."""
    if library == "strict":
        return [strict.asarray(array) for array in arrays]
    if library == "cupy":
        return [pytest.importorskip("cupy").asarray(array) for array in arrays]
    return [pytest.importorskip("torch").asarray(array, device="cuda") for array in arrays]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ON_DEVICE)
def test_the_answer_is_that_of_numpy(name, library):
    X, y = sample()
    expected = ON_DEVICE[name]().fit(X, y)
    held, labels = held_by(library, X, y)
    for targets in (y, labels):
        made = ON_DEVICE[name]().fit(held, targets)
        assert_same_fit(made, expected)
    reduced = made.transform(held)
    assert type(reduced) is type(held)
    assert reduced.device == held.device
    np.testing.assert_array_equal(to_host(reduced), expected.transform(X))
    restored = to_host(made.inverse_transform(reduced))
    np.testing.assert_array_equal(restored, expected.inverse_transform(expected.transform(X)))


DISPATCH = """
import sys
import numpy as np, array_api_strict as strict, sklearn
from rowsparse import get_selector
sklearn.set_config(array_api_dispatch=True)
rng = np.random.default_rng(0)
X, y = rng.standard_normal((20, 5)), np.arange(20) % 2
for name in sys.argv[1:]:
    made = get_selector(name, 2).fit(strict.asarray(X), strict.asarray(y))
    assert made.transform(strict.asarray(X)).shape == (20, 2), name
    assert made.transform(X).shape == (20, 2), name
print(len(sys.argv[1:]))
"""


@pytest.mark.long
def test_under_the_global_switch_of_scikit_learn():
    names = [name.lower() for name in ON_DEVICE if name != "AllFeatures"]
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", DISPATCH, *names], capture_output=True, text=True, env=environment
    )
    assert done.stdout.split() == [str(len(names))], done.stderr


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_topk_with_every_loss(loss, library, dtype):
    X, y = sample(dtype=dtype)
    options = {"n_restarts": 3, "random_state": 0, **LOSSES[loss]}
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    held, held_weights = held_by(library, X, weights)
    rtol = 1e-6 if dtype == np.float64 else 1e-3
    for w, own in ((None, None), (weights, held_weights)):
        expected = TopK(4, **options).fit(X, y, w)
        assert_same_fit(TopK(4, **options).fit(held, y, own), expected, rtol)


@pytest.mark.parametrize("task", ["numbers", "labels"])
@pytest.mark.parametrize("name", ["TopK", "FStatistic", "RFS"])
def test_numbers_and_labels(name, task):
    X, y = sample(task)
    made = ON_DEVICE[name]().fit(strict.asarray(X), strict.asarray(y))
    assert_same_fit(made, ON_DEVICE[name]().fit(X, y))


@pytest.mark.parametrize("name", ["TopK", "FStatistic"])
def test_columns_of_extreme_magnitude_and_constant_ones(name):
    X, y = sample()
    X[:, 1] *= 1e-120
    X[:, 2] *= 1e130
    X[:, 5], X[:, 6] = 7.0, 0.0
    made = ON_DEVICE[name]().fit(strict.asarray(X), y)
    expected = ON_DEVICE[name]().fit(X, y)
    np.testing.assert_array_equal(made.support_, expected.support_)
    np.testing.assert_allclose(made.scores_, expected.scores_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_in_small_blocks_are_those_of_numpy(weighted, monkeypatch):
    monkeypatch.setattr(class_statistics, "_BLOCK_ENTRIES", 12)
    rng = np.random.default_rng(0)
    X, rows = rng.standard_normal((20, 4)) + 1e6, np.array([0, 3, 4, 8, 15, 16, 19])
    weights = rng.uniform(0.5, 2, rows.size) if weighted else np.ones(rows.size)
    held = strict.asarray(X)
    mean, scatter = class_statistics.device_moments(held, rows, weights if weighted else None)
    expected = np.average(X[rows], axis=0, weights=weights)
    np.testing.assert_allclose(mean, expected, rtol=1e-14)
    np.testing.assert_allclose(scatter, weights @ (X[rows] - expected) ** 2, rtol=1e-8)
    V, unit = rng.standard_normal((20, 2)), np.array([1.0, 2.0, 4.0, 0.5])
    found = class_statistics.device_products(held, unit, expected, V)
    np.testing.assert_allclose(found, V.T @ (X / unit - expected))


def test_columns_are_divided_by_powers_of_two():
    X = np.array([[3e200, 0.0, 1.0], [-5e200, 0.0, 1.0]])
    block, unit = class_statistics.rescaled_device_columns(strict.asarray(X), np.array([0, 1]))
    assert np.log2(unit[0]) % 1 == 0
    np.testing.assert_array_equal(np.from_dlpack(block) * unit, X[:, :2])
    none = class_statistics.rescaled_device_columns(strict.asarray(X), np.array([1]))[0]
    assert none is None


@pytest.mark.parametrize(
    "options",
    [{"feature_groups": [[0, 1], [2, 3, 4]]}, {"include": [7]}, {"certify": True}],
)
def test_groups_included_columns_and_a_certificate(options):
    X, y = sample()
    made, expected = (
        TopK(3, random_state=0, n_restarts=3, **options).fit(A, y) for A in (strict.asarray(X), X)
    )
    assert_same_fit(made, expected)
    assert made.status_ == expected.status_ == ("optimal" if "certify" in options else "heuristic")


def test_single_precision_stays_and_integers_become_floats():
    X, y = sample(dtype=np.float32)
    held = strict.asarray(X)
    assert as_floats(held) is held
    whole = strict.asarray(np.rint(10 * X).astype(np.int64))
    assert as_floats(whole).dtype == strict.float64
    assert_same_fit(TopK(4).fit(held, y), TopK(4).fit(X, y), rtol=1e-3)
    made = TopK(4).fit(whole, y)
    assert_same_fit(made, TopK(4).fit(np.rint(10 * X), y))
    assert made.transform(whole).dtype == strict.int64


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(5), r"^X: Expected 2D array, got 1D array instead[^\n]*$"),
        (np.ones((1, 3)), r"^X: Found array with 1 sample\(s\)[^\n]*minimum of 2 is required\.$"),
        (np.ones((3, 0)), r"^X: Found array with 0 feature\(s\)[^\n]*$"),
        (np.array([[1.0, 2.0], [1.0, np.nan]]), r"^X contains NaN in column 1: [^\n]*$"),
        (np.array([[np.inf, 2.0], [1.0, 3.0]]), r"^X contains infinity \(inf\) in column 0: "),
        (np.ones((3, 2), dtype=complex), r"^Complex data not supported in X: [^\n]*$"),
        (np.ones((3, 2)), r"^Every column of X is constant"),
    ],
)
def test_bad_input_gets_one_sentence(X, message):
    y = np.arange(len(X)) % 2 if len(X) > 1 else [0]
    for selector in (TopK(2), FStatistic(2)):
        with pytest.raises(ValueError, match=message):
            selector.fit(strict.asarray(X), y)


def test_selectors_that_work_in_host_memory_say_so():
    X, y = sample()
    for selector in (ReliefF(2), TopKCV(k_max=2), StabilitySelection(TopK(2), n_subsamples=2)):
        with pytest.raises(TypeError, match="works in host memory, but X is a"):
            selector.fit(strict.asarray(X), y)
        reduced = selector.fit(X, y).transform(strict.asarray(X))
        assert type(reduced) is type(strict.asarray(X))


def test_tensors_in_host_memory():
    torch = pytest.importorskip("torch")
    X, y = sample()
    tensor = torch.asarray(X).requires_grad_()
    assert is_foreign(tensor)
    for name in ("TopK", "ReliefF", "FStatistic"):
        make = all_selectors(4)[name]
        made, expected = make().fit(tensor, torch.asarray(y)), make().fit(X, y)
        assert_same_fit(made, expected, rtol=1e-12)
        reduced = made.transform(tensor)
        assert isinstance(reduced, torch.Tensor)
        np.testing.assert_array_equal(to_host(reduced), expected.transform(X))
    with pytest.raises(ValueError, match="X has 11 features"):
        made.transform(tensor[:, 1:])


@pytest.mark.gpu
def test_a_growth_on_a_gpu_waits_once_a_feature():
    torch = pytest.importorskip("torch")
    X, y = sample("numbers", np.float32)
    wide = torch.asarray(np.tile(X, (1, 40)), device="cuda")
    wide += 0.1 * torch.randn_like(wide)
    design, _ = make_design(wide, center=True, scale=True)
    problem = GramProblem.from_design(design, y - y.mean(axis=0))
    state = GramState(problem, capacity=8)
    allowed = np.ones(wide.shape[1], dtype=bool)
    state.grow(allowed)
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            while state.size < 8 and state.grow(allowed):
                pass
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert sum("synchroniz" in str(w.message) for w in caught) <= 7
