"""What the tests of the networks need: PyTorch, or a reason to be skipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rowsparse.deep.torch_tools import Backend


@pytest.fixture(scope="session")
def torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def backend(torch: Any) -> Backend:
    return Backend.seeded(torch, "cpu", np.random.default_rng(0))
