"""Pictures are drawn without a screen and closed after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _no_screen() -> Iterator[None]:
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")
