"""Warnings, seconds and versions of a run."""

from __future__ import annotations

import warnings

import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning

import rowsparse
from rowsparse.workflow.run_log import StepTimer, collect_warnings, versions


def test_convergence_trouble_is_told() -> None:
    with collect_warnings() as found:
        warnings.warn("RFS did not converge.\nmore", ConvergenceWarning, stacklevel=1)
        warnings.warn("RFS did not converge.\nmore", ConvergenceWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert found.sentences == ["RFS did not converge."]
    assert not found.converged


def test_seconds_of_a_step_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([1.0, 3.0, 10.0, 10.5])
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    timer = StepTimer()
    for _ in range(2):
        with timer.step("fit"):
            pass
    assert timer.seconds == {"fit": 2.5}


def test_versions_are_those_of_the_packages() -> None:
    found = versions()
    assert list(found) == ["python", "rowsparse", "numpy", "scipy", "scikit-learn"]
    assert found["scikit-learn"] == sklearn.__version__
    assert found["rowsparse"] == rowsparse.__version__
