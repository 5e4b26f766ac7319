"""A device and random numbers for the tests of the networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rowsparse.deep.torch_tools import Backend


@pytest.fixture
def backend(torch: Any) -> Backend:
    return Backend.seeded(torch, "cpu", np.random.default_rng(0))
