"""What the selectors that train a network owe their user, on the CPU and on a GPU."""

import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from rowsparse import FIRDL, ConcreteAutoencoder
from rowsparse._compat import HAS_CALLBACKS
from tests.selectors.cases import Listener

from ...deep.cases import PLANTED, SHORT_CONCRETE, SHORT_FIRDL, classes, low_rank, unexplained

SHORT = [ConcreteAutoencoder(3, **SHORT_CONCRETE), FIRDL(3, **SHORT_FIRDL)]

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")
both = pytest.mark.parametrize("selector", SHORT, ids=lambda selector: type(selector).__name__)


def fresh(selector: Any, **params: Any) -> Any:
    return type(selector)(**(selector.get_params() | params))


@both
def test_without_pytorch_the_extra_is_named(selector, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    X, y = classes()
    name = type(selector).__name__
    message = f'{name} needs PyTorch: pip install "rowsparse\\[deep\\]"\\.$'
    with pytest.raises(ImportError, match=message):
        fresh(selector).fit(X, y)


# ------------------------------------------------------------------- what both must keep
@both
def test_no_global_state_is_touched(torch, selector):
    X, y = classes()
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), torch.get_num_threads()  # noqa: NPY002
    fresh(selector).fit(X, y)
    assert torch.equal(torch.get_rng_state(), before[0])
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
    assert torch.get_num_threads() == before[2]


@both
def test_no_global_state_matters(torch, selector):
    X, y = classes()
    expected = fresh(selector).fit(X, y)
    torch.manual_seed(123)
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.inference_mode():
            again = fresh(selector).fit(X, y)
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_num_threads(threads)
    np.testing.assert_array_equal(again.scores_, expected.scores_)


@both
def test_the_seed_matters(torch, selector):
    X, y = classes()
    first = fresh(selector, random_state=1).fit(X, y)
    same = fresh(selector, random_state=1).fit(X, y)
    other = fresh(selector, random_state=2).fit(X, y)
    np.testing.assert_array_equal(first.history_, same.history_)
    assert not np.array_equal(first.scores_, other.scores_)


@both
def test_time_limit_ends_the_training(torch, selector):
    X, y = classes()
    with pytest.warns(
        ConvergenceWarning, match=r"did not converge: time_limit=1e-09 ended it after 1"
    ):
        ended = fresh(selector, time_limit=1e-9).fit(X, y)
    assert ended.stopped_ == "time_limit"
    assert ended.n_iter_ == 1
    assert ended.support_.sum() == 3
    unlimited = fresh(selector, time_limit=1e6).fit(X, y)
    assert unlimited.stopped_ == "max_iter"


@both
def test_max_iter_says_what_to_raise(torch, selector):
    with pytest.warns(ConvergenceWarning, match=r"did not converge in \d+ (epochs|batches): raise"):
        assert not fresh(selector).fit(*classes()).converged_


@both
def test_units_matter_only_without_standardize(torch, selector):
    X, y = classes()
    # Powers of two, and no offset: the standardised columns are the same to the last bit.
    scaled = X * 2.0 ** np.arange(-7, 7)
    np.testing.assert_array_equal(
        fresh(selector).fit(X, y).scores_, fresh(selector).fit(scaled, y).scores_
    )
    plain = [fresh(selector, standardize=False).fit(data, y).scores_ for data in (X, scaled)]
    assert not np.array_equal(*plain)


@both
def test_diverged_training_is_an_error(torch, selector):
    X, _ = classes()
    with pytest.raises(ValueError, match=r"The training diverged: lower learning_rate"):
        fresh(selector, learning_rate=1e30).fit(X, X[:, 0])


@both
def test_as_many_features_as_there_are(torch, selector):
    X, y = classes()
    X[:, 4] = 2.0
    everything = fresh(selector, n_features_to_select=13).fit(X, y)
    assert everything.support_.tolist() == [j != 4 for j in range(14)]


@both
def test_devices(torch, selector):
    X, y = classes()
    assert fresh(selector).fit(X, y).device_ == "cpu"
    assert fresh(selector, device=torch.device("cpu")).fit(X, y).device_ == "cpu"
    for device in ("gpu", "meta", "cuda:99"):
        with pytest.raises(ValueError, match=f"device='{device}' is not a device that PyTorch can"):
            fresh(selector, device=device).fit(X, y)
    with pytest.raises(TypeError, match="device must be None, 'auto' or the name of a device"):
        fresh(selector, device=0).fit(X, y)


@both
def test_tensors_are_arrays(torch, selector):
    X, y = classes()
    expected = fresh(selector).fit(X, y)
    tensor = fresh(selector).fit(torch.tensor(X), torch.tensor(y))
    np.testing.assert_array_equal(tensor.scores_, expected.scores_)


@both
@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks")
def test_a_callback_can_stop_the_training(torch, selector):
    watched, listener = fresh(selector), Listener(stop_after=2)
    watched.set_callbacks(listener).fit(*classes())
    assert watched.stopped_ == "callback"
    np.testing.assert_array_equal(watched.history_, listener.objectives)


# -------------------------------------------------------------------------------- a GPU
@pytest.fixture
def gpu(torch: Any) -> str:
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU")
    return "cuda"


@pytest.mark.gpu
def test_a_gpu_reconstructs_as_well(gpu):
    X = low_rank()
    rng = np.random.default_rng(0)
    random = [unexplained(X, rng.choice(30, 3, replace=False)) for _ in range(200)]
    for device in ("cpu", gpu):
        selector = ConcreteAutoencoder(
            3,
            hidden=(),
            learning_rate=0.03,
            max_iter=80,
            max_tries=1,
            device=device,
            random_state=0,
        ).fit(X)
        assert selector.device_ == device
        assert unexplained(X, selector.support_) < np.quantile(random, 0.05)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_gpu_finds_what_matters(gpu, kind):
    X, y = classes(n=150)
    for device in ("cpu", gpu):
        selector = FIRDL(4, device=device, **SHORT_FIRDL).fit(kind(X), y)
        assert len(set(PLANTED) & set(selector.get_support(indices=True))) >= 2


@pytest.mark.gpu
@both
def test_tensors_on_a_gpu_are_trained_there(torch, gpu, selector):
    X, y = classes()
    there = torch.tensor(X, device=gpu), torch.tensor(y, device=gpu)
    assert fresh(selector).fit(*there).device_.startswith("cuda")
    assert fresh(selector, device="cpu").fit(*there).device_ == "cpu"
    assert fresh(selector, device="auto").fit(X, y).device_ == "cuda"


@pytest.mark.gpu
@both
def test_a_gpu_repeats_itself(gpu, selector):
    X, y = classes()
    first, second = (fresh(selector, device=gpu).fit(X, y) for _ in range(2))
    np.testing.assert_allclose(first.scores_, second.scores_, rtol=1e-3, atol=1e-4)
