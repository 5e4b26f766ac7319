"""States on a device are those in host memory, and few numbers come back."""

import numpy as np
import pytest

from rowsparse.design import build, make_design
from rowsparse.solvers.search import device_residuals, gram
from rowsparse.solvers.search.device_residuals import DeviceResiduals
from rowsparse.solvers.search.gram import GramProblem
from rowsparse.solvers.search.gram_state import GramState

from .problems import data, grow_to, problem_of


def strict_array(X):
    return pytest.importorskip("array_api_strict").asarray(X)


def tensor(X):
    return pytest.importorskip("torch").asarray(X)


HELD = {"strict": strict_array, "torch": tensor}


@pytest.fixture(params=HELD)
def device_problem(request, monkeypatch):
    """A problem on arrays of that library, each treated as if it were on a GPU."""
    monkeypatch.setattr(build, "on_device", lambda X: True)
    monkeypatch.setattr(device_residuals, "_BLOCK_ENTRIES", 32)

    def make(X, Y, ridge=0.0):
        design, _ = make_design(HELD[request.param](X), center=True, scale=False)
        return GramProblem.from_design(design, Y, ridge=ridge)

    return make


def assert_same(state, other, rtol=1e-8):
    assert isinstance(state._residuals, DeviceResiduals)
    assert (state.basis, state.inert) == (other.basis, other.inert)
    for name in ("M", "V", "T", "s", "R", "A_S"):
        expected = getattr(other, name)
        np.testing.assert_allclose(getattr(state, name), expected, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(state.addition_gains(), other.addition_gains(), rtol, rtol)
    np.testing.assert_allclose(state.exchange_gains(), other.exchange_gains(), rtol, rtol)


@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_changes_lead_to_the_states_in_host_memory(device_problem, ridge):
    X, Y = data(0, n=30, d=14)
    X[:, 6] = X[:, 3]  # inert beside it
    problems = device_problem(X, Y, ridge), problem_of(X, Y, ridge)
    states = [GramState(problem, [1, 3]) for problem in problems]
    for change, *features in [
        ("add", 9),
        ("add", 6),
        ("exchange", 1, 12),
        ("add", 0),
        ("remove", 3),
        ("remove", 9),
        ("add", 5),
        ("refresh",),
    ]:
        for state in states:
            getattr(state, change)(*features)
        assert_same(*states)
    twin = states[0].copy()
    twin.remove(0)
    assert_same(*states)
    assert twin.nbytes > 0


@pytest.mark.parametrize("effort", ["best", "quick", "glance"])
def test_growth_and_descent_find_the_same_features(device_problem, monkeypatch, effort):
    monkeypatch.setattr(device_residuals, "FIRST", 8)
    X, Y = data(5, n=40, d=60, c=3)
    allowed = np.ones(60, dtype=bool)
    allowed[[7, 20]] = False
    found = []
    for problem in (device_problem(X, Y), problem_of(X, Y)):
        state = GramState(problem, [2], capacity=9, n_fixed=1)
        assert grow_to(state, 8, allowed)
        grown = list(state.basis)
        state.descend(allowed, effort=effort)
        found.append((grown, sorted(state.basis), state.objective))
    assert found[0][0] == found[1][0]
    assert found[0][2] == pytest.approx(found[1][2])
    assert found[0][1] == found[1][1]


@pytest.mark.parametrize("ahead", [False, True])
def test_a_step_of_the_growth_waits_for_the_device_once(device_problem, monkeypatch, ahead):
    monkeypatch.setattr(gram, "_AHEAD_ENTRIES", 0 if ahead else 1 << 60)
    X, Y = data(6, n=30, d=700, c=2)
    problem = device_problem(X, Y)
    state = GramState(problem, capacity=12)
    waits = []
    real = device_residuals.to_host
    monkeypatch.setattr(
        device_residuals, "to_host", lambda array: waits.append(array.shape) or real(array)
    )
    assert grow_to(state, 12, np.ones(700, dtype=bool))
    assert len(waits) == 12
    assert max(int(np.prod(shape)) for shape in waits) < 100
